"""What a plugin registers: small frozen records that describe a thing and say how to build it."""

from __future__ import annotations

import copy
import dataclasses
import enum
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from wilds_targeted.errors import ParameterError, PluginError, closest

if TYPE_CHECKING:
    from torch import nn

    from wilds_targeted.augmentation import Augmentation, BatchAugmentation
    from wilds_targeted.normalization import Normalization

_NOTHING: Mapping[str, Any] = MappingProxyType({})


class Kind(enum.StrEnum):
    """The paper's three kinds of augmentation (section 3), and one that is none."""

    GENERIC = "generic"
    """Varies noise features only; leaves what depends on the domain as it is."""
    DOMAIN_INVARIANT = "domain-invariant"
    """Randomizes robust and spurious domain-dependent features alike."""
    TARGETED = "targeted"
    """Randomizes the spurious domain-dependent features and preserves the robust ones."""
    DIAGNOSTIC = "diagnostic"
    """Takes features out, to see how far a model leans on them; it varies nothing."""


class Level(enum.StrEnum):
    """What one call of the augmentation sees."""

    EXAMPLE = "example"
    BATCH = "batch"


@dataclass(frozen=True)
class Parameter:
    """One parameter of a transform: its type, range and default, checked wherever a value arrives.

    Args:
        name: The keyword under which the builder receives it.
        type: ``int``, ``float``, ``bool`` or ``str``.
        default: Its value when nobody says otherwise.
        help: One sentence, with the unit.
        minimum: The smallest value allowed.
        maximum: The largest value allowed.
        choices: The only values allowed, where there are few.
        search: The paper's search range, as the paper writes it.
    """

    name: str
    type: type[int] | type[float] | type[bool] | type[str]
    default: Any
    help: str
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[Any, ...] = ()
    search: str = ""

    def check(self, value: object) -> Any:
        """The value in this parameter's type, from a string (command line) or from Python.

        >>> Parameter("alpha", float, 0.2, "strength", minimum=0).check("0.4")
        0.4
        """
        converted = self._convert(value)
        if self.choices and converted not in self.choices:
            raise ParameterError(f"{self.name}={value}: allowed is {self.allowed}")
        if isinstance(converted, int | float) and not isinstance(converted, bool):
            too_small = self.minimum is not None and converted < self.minimum
            too_large = self.maximum is not None and converted > self.maximum
            if too_small or too_large or not math.isfinite(converted):
                raise ParameterError(f"{self.name}={value}: allowed is {self.allowed}")
        return converted

    def _convert(self, value: object) -> Any:
        if value is None and self.default is None:
            return None
        try:
            if self.type is bool:
                return value if isinstance(value, bool) else _parse_bool(str(value))
            if self.type is int:
                if isinstance(value, bool) or (isinstance(value, float) and not value.is_integer()):
                    raise ValueError
                return int(value)  # type: ignore[call-overload]
            if self.type is float:
                if isinstance(value, bool):
                    raise ValueError
                return float(value)  # type: ignore[arg-type]
            return str(value)
        except (TypeError, ValueError):
            raise ParameterError(f"{self.name}={value}: allowed is {self.allowed}") from None

    @property
    def allowed(self) -> str:
        """What may be given, in words.

        >>> Parameter("k", int, 1, "how many", minimum=1, maximum=4).allowed
        'an integer from 1 to 4'
        """
        if self.choices:
            return "one of " + ", ".join(map(str, self.choices))
        words = {int: "an integer", float: "a number", bool: "true or false", str: "text"}[self.type]
        if self.minimum is not None and self.maximum is not None:
            return f"{words} from {self.minimum:g} to {self.maximum:g}"
        if self.minimum is not None:
            return f"{words} of at least {self.minimum:g}"
        if self.maximum is not None:
            return f"{words} of at most {self.maximum:g}"
        return words

    def __str__(self) -> str:
        return f"{self.name} ({self.allowed}; default {self.default})"


def _parse_bool(text: str) -> bool:
    lowered = text.lower()
    if lowered in ("true", "1", "yes"):
        return True
    if lowered in ("false", "0", "no"):
        return False
    raise ValueError(text)


@dataclass(frozen=True)
class TransformSpec:
    """An augmentation: what it does to which features, and how to build it.

    Args:
        name: The word for ``--transform`` and ``--additional_train_transform``.
        build: ``build(dataset, **parameters)`` returns the `Augmentation`, or the `BatchAugmentation` for that level;
            ``dataset`` is the full `WILDSDataset`.
        kind: Generic, domain-invariant or targeted; or diagnostic.
        randomizes: The features that it randomizes, in words.
        preserves: The features that it preserves, in words.
        summary: One sentence.
        datasets: The data sets that it serves; empty for any.
        level: Whether a call sees an example or a batch; batches are mixed around ERM only.
        parameters: What may be set with ``--transform_kwargs``.
        paper: Where in the paper (or in which publication) it stands.
        in_evaluation: Whether it applies in evaluation, too, to every example and without the flip: a diagnostic.
    """

    name: str
    build: Callable[..., Augmentation | BatchAugmentation]
    kind: Kind
    randomizes: str
    preserves: str
    summary: str = ""
    datasets: tuple[str, ...] = ()
    level: Level = Level.EXAMPLE
    parameters: tuple[Parameter, ...] = ()
    paper: str = ""
    in_evaluation: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.kind, Kind) or not isinstance(self.level, Level):
            raise PluginError(
                f"transform {self.name!r}: kind must be a wilds_targeted.Kind and level a wilds_targeted.Level, "
                f"got {self.kind!r} and {self.level!r}"
            )

    def serves(self, dataset_name: str) -> bool:
        """Whether this transform is made for that data set."""
        return not self.datasets or dataset_name in self.datasets

    def check(self, values: Mapping[str, object]) -> dict[str, Any]:
        """Every parameter with its value: those given, converted and checked, and the defaults of the rest."""
        known = {parameter.name: parameter for parameter in self.parameters}
        for name in values:
            if name not in known:
                allowed = "; ".join(map(str, self.parameters)) or "none: it has no parameters"
                raise ParameterError(
                    f"transform {self.name!r} has no parameter {name!r}{closest(name, known)}. Allowed: {allowed}"
                )
        checked = {name: parameter.default for name, parameter in known.items()}
        for name, value in values.items():
            try:
                checked[name] = known[name].check(value)
            except ParameterError as error:
                raise ParameterError(f"transform {self.name!r}: {error}") from None
        return checked


@dataclass(frozen=True)
class DatasetSpec:
    """A data set, or what the augmentations must know about one of WILDS's own.

    Args:
        name: The word for ``--dataset``.
        build: ``build(version=…, root_dir=…, download=…, split_scheme=…, **kwargs)`` returns the `WILDSDataset`;
            None for a data set that WILDS builds.
        summary: One sentence.
        defaults: What `run_expt.py` fills in where the command line is silent (``batch_size``, ``model``, …). For a
            data set of WILDS's own, a checkout uses its own values, and these serve the built-in runner.
        split_defaults: The same by split scheme.
        flip: Whether a random horizontal flip accompanies every augmentation (the paper: iWildCam and BirdCalls).
    """

    name: str
    build: Callable[..., Any] | None
    summary: str = ""
    defaults: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)
    split_defaults: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: _NOTHING)
    flip: bool = False


@dataclass(frozen=True)
class ModelSpec:
    """A model, or a family of models.

    Args:
        name: The word for ``--model``; for a family ``PREFIX:NAME``, literally.
        build: ``build(d_out, **model_kwargs)`` returns the module: with a number, a classifier of so many outputs;
            with None, a featurizer whose attribute ``d_out`` tells how many features it gives.
        summary: One sentence.
        defaults: What `run_expt.py` fills in for this model (``target_resolution``, ``model_kwargs``, …).
        parameter_groups: ``parameter_groups(model, config)`` returns the optimizer's groups, for models that ask for
            their own; None for one group.
        paper: Where in the paper it stands.
        takes_resolution: Whether the model is built for one resolution: ``build`` gets ``image_size``, the (height,
            width) of ``--target_resolution``. Its own default resolution then goes before the data set's, which
            is that of the data set's default model.
        normalization: ``normalization(model_kwargs)`` gives what its images are normalized with; None for ImageNet's.
        member: For a family: ``member(NAME)`` gives the model ``PREFIX:NAME``; raises `UnknownNameError`.
        example: For a family: the NAME of a small member, which the contract is checked on.
    """

    name: str
    build: Callable[..., nn.Module]
    summary: str = ""
    defaults: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)
    parameter_groups: Callable[[nn.Module, Any], list[dict[str, Any]]] | None = None
    paper: str = ""
    takes_resolution: bool = False
    normalization: Callable[[Mapping[str, Any]], Normalization] | None = None
    member: Callable[[str], ModelSpec] | None = None
    example: str = ""


@dataclass(frozen=True)
class AlgorithmInputs:
    """What a registered algorithm is built from; the same in a WILDS checkout and in any other loop.

    Args:
        config: The final configuration (`argparse.Namespace`).
        d_out: How many outputs the model must have.
        grouper: The grouper of the training loader.
        loss: The loss, a WILDS metric.
        metric: The metric to log, or None.
        n_train_steps: How many optimizer steps the run will take.
        datasets: By split, WILDS's dictionary with ``dataset`` and ``loader``.
        build_model: ``build_model(is_featurizer)`` makes the configured model, whole or as (featurizer, classifier).
        unlabeled_dataset: The same for unlabeled data, or None.
    """

    config: Any
    d_out: int
    grouper: Any
    loss: Any
    metric: Any
    n_train_steps: int
    datasets: Mapping[str, Any]
    build_model: Callable[[bool], Any]
    unlabeled_dataset: Any = None


@dataclass(frozen=True)
class AlgorithmSpec:
    """A training algorithm that speaks the protocol of WILDS's training loop.

    Args:
        name: The word for ``--algorithm``.
        build: Makes the algorithm from `AlgorithmInputs`.
        summary: One sentence.
        defaults: What `run_expt.py` fills in for this algorithm (``train_loader``, …).
        paper: Where in the paper it stands.
    """

    name: str
    build: Callable[[AlgorithmInputs], Any]
    summary: str = ""
    defaults: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)
    paper: str = ""


@dataclass(frozen=True)
class OptionSpec:
    """A command-line option added to `run_expt.py`.

    Args:
        name: The flag with its dashes, in WILDS's underscore spelling: ``--transform_p``.
        help: What it does, with range and default.
        type: Turns the word into a value; raises ValueError with a message that a person can act on.
        default: Its value when it is not given.
        nargs: As in `argparse`.
        const: As in `argparse`: the value of a flag that stands alone, with nargs ``"?"``.
        metavar: What the help shows for the value.
    """

    name: str
    help: str
    type: Callable[[str], Any] = str
    default: Any = None
    nargs: str | int | None = None
    const: Any = None
    metavar: str | None = None

    @property
    def destination(self) -> str:
        """The attribute of the configuration that holds the value."""
        return self.name.lstrip("-").replace("-", "_")


def thaw(mapping: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of a spec's defaults that may be written to."""
    return {key: thaw(value) if isinstance(value, Mapping) else copy.deepcopy(value) for key, value in mapping.items()}


Spec = TransformSpec | DatasetSpec | ModelSpec | AlgorithmSpec | OptionSpec


def describe(spec: Spec) -> dict[str, Any]:
    """A spec as plain data, for ``--json`` and for listings."""
    described: dict[str, Any] = {}
    for item in dataclasses.fields(spec):
        value = getattr(spec, item.name)
        if item.name == "parameters":
            described[item.name] = [
                {
                    **{f.name: getattr(parameter, f.name) for f in dataclasses.fields(parameter)},
                    "type": parameter.type.__name__,
                    "allowed": parameter.allowed,
                }
                for parameter in value
            ]
        elif callable(value):
            function = getattr(value, "func", value)  # a partial stands for its function
            described[item.name] = f"{function.__module__}:{getattr(function, '__qualname__', repr(function))}"
        elif isinstance(value, Mapping):
            described[item.name] = {key: _plain(each) for key, each in value.items()}
        else:
            described[item.name] = _plain(value)
    return described


def _plain(value: Any) -> Any:
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    return value
