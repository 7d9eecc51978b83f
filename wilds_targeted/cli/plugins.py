"""``wilds-targeted plugins``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from wilds_targeted.registry import Registry


@click.group(invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="As JSON, for programs.")
@click.pass_context
def command(context: click.Context, as_json: bool) -> None:
    """List what is registered: transforms, data sets, models, algorithms and options, and who brought them."""
    if context.invoked_subcommand is not None:
        return
    from wilds_targeted.registry import get_registry

    registry = get_registry()
    click.echo(json.dumps(listing(registry), indent=2) if as_json else table(registry))


@command.command("show")
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="As JSON, for programs.")
def show(name: str, as_json: bool) -> None:
    """Tell all of what is registered under NAME."""
    from wilds_targeted.errors import UnknownNameError, closest
    from wilds_targeted.registry import get_registry
    from wilds_targeted.specs import describe

    registry = get_registry()
    found = [row for row in listing(registry)["registered"] if row["name"].lstrip("-") == name.lstrip("-")]
    if not found and name in registry.models:  # the member of a family
        found = [{"sort": "models", **describe(registry.models[name])}]
    if not found:
        names = [row["name"] for row in listing(registry)["registered"]]
        raise UnknownNameError(
            f"nothing is registered as {name!r}{closest(name, names)}. `wilds-targeted plugins` lists what there is."
            f"{registry.transforms.why_missing()}"
        )
    click.echo(json.dumps(found, indent=2) if as_json else "\n\n".join(map(_page, found)))


def listing(registry: Registry) -> dict[str, Any]:
    """All that is registered, as plain data."""
    from wilds_targeted.specs import describe

    registered = [
        {
            "sort": sort,
            **describe(spec),
            "plugin": shelf.plugin_of[name].name,
            "distribution": str(shelf.plugin_of[name]),
        }
        for sort, shelf in registry.shelves.items()
        for name, spec in shelf.items()
    ]
    plugins = [
        {"name": plugin.name, "distribution": plugin.distribution, "version": plugin.version}
        for plugin in registry.plugins
    ]
    return {
        "registered": registered,
        "plugins": plugins,
        "broken": [str(broken) for broken in registry.broken],
    }


def table(registry: Registry) -> str:
    """The listing for people: a table for each sort that has anything."""
    lines = []
    for sort, shelf in registry.shelves.items():
        if not shelf:
            continue
        specs = shelf.values()
        rows: list[tuple[str, ...]]
        header: tuple[str, ...]
        details: list[tuple[str, ...]]
        if sort == "transforms":
            rows = [(spec.name, spec.kind.value, ", ".join(spec.datasets) or "any") for spec in specs]
            header = ("name", "kind", "serves", "from")
            details = [(f"randomizes {spec.randomizes}", f"preserves {spec.preserves}") for spec in specs]
        else:
            rows = [(spec.name,) for spec in specs]
            header = ("name", "from")
            details = [(getattr(spec, "summary", "") or getattr(spec, "help", ""),) for spec in specs]
        rows = [(*row, shelf.plugin_of[row[0]].distribution) for row in rows]
        first, *others = _columns([header, *rows])
        lines += [sort.replace("datasets", "data sets").upper(), first]
        for line, detail in zip(others, details, strict=True):
            lines += [line, *(f"      {each}" for each in detail if each)]
        lines.append("")
    return "\n".join(lines).rstrip()


def _columns(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]


def _page(row: dict[str, Any]) -> str:
    lines = []
    for key, value in row.items():
        if key == "parameters":
            lines.append("parameters:" if value else "parameters: none")
            lines += [f"  {_parameter(each)}" for each in value]
        elif isinstance(value, dict):
            lines += [f"{key}:", *(f"  {name}: {each}" for name, each in value.items())] if value else []
        elif value not in ("", None, []):
            lines.append(f"{key}: {', '.join(map(str, value)) if isinstance(value, list) else value}")
    return "\n".join(lines)


def _parameter(described: dict[str, Any]) -> str:
    search = f" The paper searches {described['search']}." if described["search"] else ""
    return f"{described['name']} ({described['allowed']}; default {described['default']}): {described['help']}{search}"
