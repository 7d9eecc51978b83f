"""The demo's page: one HTML file that needs nothing else, neither network nor scripts."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING

import jinja2
from markupsafe import Markup

from wilds_targeted.experiments.figure import color_of, scatter
from wilds_targeted.experiments.processes import core_count
from wilds_targeted.experiments.results import Row, per_cent
from wilds_targeted.registry import get_registry
from wilds_targeted.runner.progress import duration
from wilds_targeted.runner.versions import installed_versions

if TYPE_CHECKING:
    from wilds_targeted.experiments.demo import Outcome
    from wilds_targeted.experiments.plan import Plan
    from wilds_targeted.experiments.samples import Samples


@dataclass(frozen=True)
class Described:
    """What a method does, for the page."""

    title: str
    transform: str
    randomizes: str
    preserves: str


def render_page(outcome: Outcome, samples: Samples, images: Mapping[str, tuple[int, int]]) -> str:
    """The page's text.

    Args:
        outcome: What was run and found.
        samples: Pictures before and after.
        images: For each split, how many domains and images.
    """
    return load_template(__package__, "page.html").render(
        plan=outcome.plan,
        rows=outcome.rows,
        samples=samples,
        images=images,
        splits=describe_splits(outcome.plan.benchmark.in_domain, images),
        methods=describe_methods(outcome.rows),
        plot=Markup(scatter(outcome.rows, outcome.plan.benchmark.metric_title)),  # ours, with all texts as outlines
        plot_description=describe_plot(outcome.rows, outcome.plan.benchmark.metric_title),
        has_flip=get_registry().datasets[outcome.plan.dataset].flip,
        color_of=color_of,
        per_cent=per_cent,
        demo_command=f"wilds-targeted {shlex.join(outcome.plan.demo_words)}",
        commands=commands(outcome.plan),
        timing=_timing(outcome),
        versions=versions(),
    )


def load_template(package: str, name: str) -> jinja2.Template:
    """A page's template; it finds what all pages look like in ``style``."""
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, keep_trailing_newline=True)
    environment.filters["capitalize_first"] = lambda text: text[:1].upper() + text[1:]
    environment.globals["style"] = Markup(resources.files(__package__).joinpath("page.css").read_text(encoding="utf-8"))
    return environment.from_string(resources.files(package).joinpath(name).read_text(encoding="utf-8"))


def commands(plan: Plan) -> list[str]:
    """Every step as a line for the shell, with relative paths."""
    steps = [plan.miniature_words, *(run.words for run in plan.runs)]
    return [f"wilds-targeted {shlex.join(words)}" for words in steps]


def describe_methods(rows: Sequence[Row]) -> list[Described]:
    """What the registry says of each row's transform; one that is not registered is WILDS's own base steps."""
    registered = get_registry().transforms
    described = []
    for row in rows:
        spec = registered.get(row.transform)
        randomizes, preserves = (spec.randomizes, spec.preserves) if spec else ("nothing", "everything")
        described.append(Described(row.title, row.transform, randomizes, preserves))
    return described


def describe_splits(in_domain: str, images: Mapping[str, tuple[int, int]]) -> list[tuple[str, str]]:
    """Each split that there is, and what it serves for."""
    meanings = {
        "train": "training",
        "id_val": "in-domain validation, not used",
        "id_test": "in-domain test, not used",
        "val": "out-of-domain validation",
        "test": "out-of-domain test",
        in_domain: "in-domain test",
    }
    return [(split, meaning) for split, meaning in meanings.items() if split in images]


def describe_plot(rows: Sequence[Row], metric_title: str) -> str:
    """The plot in words, for people who do not see it."""
    points = "; ".join(f"{row.title}: ID {row.in_domain}, OOD {row.out_of_domain}" for row in rows)
    return f"Scatter plot of in-domain against out-of-domain {metric_title} in per cent. {points}."


def versions() -> list[tuple[str, str]]:
    """What the results depend on most."""
    return [(name, installed_versions()[name]) for name in ("wilds-targeted", "torch", "wilds", "Python")]


def _timing(outcome: Outcome) -> str:
    cores = core_count()
    text = (
        f"It took {duration(outcome.seconds)} on {cores} {'core' if cores == 1 else 'cores'}, "
        f"{outcome.jobs} {'run' if outcome.jobs == 1 else 'runs'} at a time."
    )
    if outcome.earlier:
        text += f" An earlier call had finished {outcome.earlier} of the {len(outcome.plan.runs)} runs."
    return text
