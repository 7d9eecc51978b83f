"""Finds plugins, refuses conflicts, and answers which transforms, data sets, models and algorithms there are.

The built-in plugins and those of other distributions enter through the same hooks (`wilds_targeted.hookspecs`). Two
environment variables serve people who look for a fault:

- ``WILDS_TARGETED_PLUGINS``: comma-separated names of the entry points to load; empty loads none of other
  distributions. Unset loads all.
- ``WILDS_TARGETED_TRACE``: set to 1, every hook call is written to standard error.
"""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import os
import pkgutil
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import pluggy

from wilds_targeted import __version__, hookspecs, plugins
from wilds_targeted.errors import PluginError, UnknownNameError, WildsTargetedError, closest
from wilds_targeted.specs import AlgorithmSpec, DatasetSpec, ModelSpec, OptionSpec, TransformSpec

SELECT_VARIABLE = "WILDS_TARGETED_PLUGINS"
TRACE_VARIABLE = "WILDS_TARGETED_TRACE"
OWN_DISTRIBUTION = "wilds-targeted"

SpecT = TypeVar("SpecT", TransformSpec, DatasetSpec, ModelSpec, AlgorithmSpec, OptionSpec)


@dataclass(frozen=True)
class Plugin:
    """A plugin that was loaded: the name of its entry point (or module), and the distribution that brought it."""

    name: str
    distribution: str
    version: str

    def __str__(self) -> str:
        return f"{self.distribution} {self.version}"


@dataclass(frozen=True)
class BrokenPlugin:
    """A plugin that could not be loaded, and why."""

    plugin: Plugin
    reason: str

    def __str__(self) -> str:
        return f"plugin {self.plugin.name!r} of {self.plugin} could not be loaded: {self.reason}"


class Shelf(Mapping[str, SpecT], Generic[SpecT]):
    """The registered things of one sort, by name; asking for an unknown one explains itself.

    A family of models is one entry, ``clip:NAME``, and its members are found by name: ``shelf["clip:ViT-B-32"]``.
    """

    def __init__(self, sort: str, broken: list[BrokenPlugin]) -> None:
        self.sort = sort
        self.plugin_of: dict[str, Plugin] = {}
        self._specs: dict[str, SpecT] = {}
        self._broken = broken

    def add(self, spec: SpecT, plugin: Plugin) -> None:
        """Register, refusing a name that is taken."""
        if spec.name in self._specs:
            first = self.plugin_of[spec.name]
            raise PluginError(
                f"{self.sort} {spec.name!r} is registered twice: by plugin {first.name!r} of {first} and by plugin "
                f"{plugin.name!r} of {plugin}. Uninstall one of them, or choose with {SELECT_VARIABLE}."
            )
        self._specs[spec.name] = spec
        self.plugin_of[spec.name] = plugin

    def __getitem__(self, name: str) -> SpecT:
        if name in self._specs:
            return self._specs[name]
        family, _, member = name.partition(":")
        spec: Any = self._specs.get(f"{family}:NAME")
        if spec is None or spec.member is None:
            raise KeyError(name)
        return spec.member(member)  # type: ignore[no-any-return]

    def __iter__(self) -> Iterator[str]:
        return iter(self._specs)

    def __len__(self) -> int:
        return len(self._specs)

    def find(self, name: str) -> SpecT:
        """The spec of that name, or an error that lists what there is and what could not be loaded."""
        try:
            return self[name]
        except KeyError:
            known = ", ".join(sorted(self._specs)) or "none"
        raise UnknownNameError(
            f"there is no {self.sort} {name!r}{closest(name, self._specs)}. Registered: {known}.{self.why_missing()}"
        )

    def why_missing(self) -> str:
        """What a name might be missing for: the plugins that could not be loaded. Empty where all were."""
        return "".join(f" It may be missing because {broken}." for broken in self._broken)


class Registry:
    """Everything that the loaded plugins registered.

    Args:
        manager: A plugin manager in which all plugins are registered.
        plugin_of: For each name in that manager, where the plugin comes from.
        broken: The plugins that could not be loaded.
    """

    def __init__(
        self,
        manager: pluggy.PluginManager,
        plugin_of: Mapping[str, Plugin],
        broken: Iterable[BrokenPlugin] = (),
    ) -> None:
        self.manager = manager
        self.plugins = tuple(plugin_of.values())
        self.broken = list(broken)
        self.datasets: Shelf[DatasetSpec] = Shelf("data set", self.broken)
        self.transforms: Shelf[TransformSpec] = Shelf("transform", self.broken)
        self.models: Shelf[ModelSpec] = Shelf("model", self.broken)
        self.algorithms: Shelf[AlgorithmSpec] = Shelf("algorithm", self.broken)
        self.options: Shelf[OptionSpec] = Shelf("option", self.broken)
        for name, plugin in plugin_of.items():
            self._collect(name, plugin)

    @property
    def shelves(self) -> dict[str, Shelf[Any]]:
        """The five sorts, by the word that listings use."""
        return {
            "datasets": self.datasets,
            "transforms": self.transforms,
            "models": self.models,
            "algorithms": self.algorithms,
            "options": self.options,
        }

    def check_config(self, config: Any) -> None:
        """Let every plugin look at the final configuration."""
        self.manager.hook.check_config(config=config)

    def _collect(self, name: str, plugin: Plugin) -> None:
        others = [each for each in self.manager.get_plugins() if self.manager.get_name(each) != name]
        wanted: list[tuple[str, Shelf[Any], type]] = [
            ("register_datasets", self.datasets, DatasetSpec),
            ("register_transforms", self.transforms, TransformSpec),
            ("register_models", self.models, ModelSpec),
            ("register_algorithms", self.algorithms, AlgorithmSpec),
            ("register_options", self.options, OptionSpec),
        ]
        for hook, shelf, spec_type in wanted:
            # One plugin at a time, so that each spec is known to be its plugin's.
            try:
                answers = self.manager.subset_hook_caller(hook, others)()
            except WildsTargetedError as error:
                raise PluginError(f"{hook} of plugin {name!r} of {plugin}: {error}") from None
            except Exception as error:  # whatever a stranger's hook raises
                self.broken.append(BrokenPlugin(plugin, f"{hook} raised {_one_line(error)}"))
                continue
            for specs in answers:
                for spec in _as_specs(specs, spec_type, f"{hook} of plugin {name!r} of {plugin}"):
                    shelf.add(spec, plugin)


def _as_specs(specs: Any, spec_type: type, origin: str) -> list[Any]:
    if isinstance(specs, spec_type):
        specs = [specs]
    if not isinstance(specs, list | tuple) or not all(isinstance(each, spec_type) for each in specs):
        raise PluginError(f"{origin} must return a list of {spec_type.__name__}, got {specs!r}")
    return list(specs)


def load(environ: Mapping[str, str] = os.environ, warn: Callable[[str], None] | None = None) -> Registry:
    """Load the built-in plugins and those of the installed distributions, and collect what they register.

    Args:
        environ: Where the two environment switches are read.
        warn: Receives one line for each plugin that cannot be loaded; standard error by default.
    """
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    if environ.get(TRACE_VARIABLE, "") not in ("", "0"):
        manager.trace.root.setwriter(lambda message: print(f"wilds-targeted: {message}", end="", file=sys.stderr))
        manager.enable_tracing()
    plugin_of: dict[str, Plugin] = {}
    for module in pkgutil.iter_modules(plugins.__path__, f"{plugins.__name__}."):
        plugin_of[module.name] = Plugin(module.name, OWN_DISTRIBUTION, __version__)
        _register(manager, importlib.import_module(module.name), plugin_of[module.name])
    broken = _load_entry_points(manager, plugin_of, environ.get(SELECT_VARIABLE))
    registry = Registry(manager, plugin_of, broken)
    for each in registry.broken:
        (warn or _warn)(f"wilds-targeted: warning: {each}")
    return registry


def _load_entry_points(
    manager: pluggy.PluginManager, plugin_of: dict[str, Plugin], selected: str | None
) -> list[BrokenPlugin]:
    """Load the entry points of other distributions one by one, so that one that fails costs only itself."""
    wanted = None if selected is None else {name.strip() for name in selected.split(",") if name.strip()}
    installed = list(_entry_points())
    names = {entry_point.name for entry_point, _ in installed}
    if wanted is not None and wanted - names:
        missing = min(wanted - names)
        raise PluginError(
            f"{SELECT_VARIABLE} names {missing!r}{closest(missing, names)}, but no installed distribution has a "
            f"plugin of that name. Installed: {', '.join(sorted(names)) or 'none'}."
        )
    found: dict[str, tuple[importlib.metadata.EntryPoint, Plugin]] = {}
    for entry_point, plugin in installed:
        if wanted is not None and entry_point.name not in wanted:
            continue
        if entry_point.name in found:
            raise PluginError(
                f"two plugins are named {entry_point.name!r}: one of {found[entry_point.name][1]} and one of {plugin}. "
                f"Uninstall one of them."
            )
        found[entry_point.name] = (entry_point, plugin)
    broken = []
    for name, (entry_point, plugin) in found.items():
        try:
            module = entry_point.load()
        except (Exception, SystemExit) as error:  # whatever a stranger's module raises while it is imported
            broken.append(BrokenPlugin(plugin, _one_line(error)))
            continue
        _register(manager, module, plugin)
        plugin_of[name] = plugin
    return broken


def _entry_points() -> Iterator[tuple[importlib.metadata.EntryPoint, Plugin]]:
    """The entry points of our group; of a distribution that is found twice the first counts, as for `import`."""
    seen = set()
    for distribution in importlib.metadata.distributions():
        name = distribution.metadata["Name"] or "unknown"
        normalized = re.sub(r"[-_.]+", "-", name).lower()
        if normalized in seen:
            continue
        seen.add(normalized)
        for entry_point in distribution.entry_points.select(group=hookspecs.PROJECT):
            yield entry_point, Plugin(entry_point.name, name, distribution.version)


def _register(manager: pluggy.PluginManager, module: object, plugin: Plugin) -> None:
    """Register, refusing hooks that do not exist or have other arguments."""
    try:
        manager.register(module, name=plugin.name)
        manager.check_pending()
    except pluggy.PluginValidationError as error:
        hooks = [name for name in vars(hookspecs) if name.startswith(("register_", "check_"))]
        misspelt = [
            name
            for name in dir(module)
            if getattr(getattr(module, name), f"{hookspecs.PROJECT}_impl", None) and name not in hooks
        ]
        if misspelt:
            problem = f"has a hook {misspelt[0]!r}{closest(misspelt[0], hooks)}; the hooks are {', '.join(hooks)}"
        else:
            problem = f"is refused: {_one_line(error)}"
        raise PluginError(f"plugin {plugin.name!r} of {plugin} {problem}.") from None
    except ValueError as error:
        raise PluginError(f"plugin {plugin.name!r} of {plugin} is refused: {_one_line(error)}") from None


def _one_line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _warn(line: str) -> None:
    print(line, file=sys.stderr)


@functools.cache
def get_registry() -> Registry:
    """The registry of this process, loaded on first use."""
    return load()
