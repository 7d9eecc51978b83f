"""Everything registered keeps the contract; and the contract notices who does not."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pluggy
import pytest
import torch
from PIL import Image

from wilds_targeted import (
    Augmentation,
    Example,
    Kind,
    TransformSpec,
    get_dataset,
    hookimpl,
    hookspecs,
    registry,
    testing,
)
from wilds_targeted.algorithms.erm import ERM
from wilds_targeted.miniatures import MINIATURES
from wilds_targeted.registry import Plugin, Registry, get_registry

CASES = testing.served_miniatures()


@pytest.fixture(scope="module")
def dataset(miniature: Path) -> Any:
    return get_dataset("iwildcam", root_dir=miniature)


@pytest.fixture(scope="module")
def datasets(dataset: Any, camelyon_miniature: Path, birdcalls_miniature: Path) -> dict[str, Any]:
    return {
        "iwildcam": dataset,
        "camelyon17": get_dataset("camelyon17", root_dir=camelyon_miniature),
        "birdcalls": get_dataset("birdcalls", root_dir=birdcalls_miniature),
    }


def test_every_transform_has_a_miniature(datasets: dict[str, Any]) -> None:
    assert {name for name, _ in CASES} == set(get_registry().transforms)
    assert set(datasets) == set(MINIATURES)


@pytest.mark.parametrize(("name", "served"), CASES)
def test_every_registered_transform(name: str, served: str, datasets: dict[str, Any]) -> None:
    testing.check_transform(get_registry().transforms[name], datasets[served])


def test_check_registered_goes_over_everything(dataset: Any) -> None:
    loaded = get_registry()
    serving = {name for name, spec in loaded.transforms.items() if spec.serves("iwildcam")}
    assert set(testing.check_registered(dataset)) == {*serving, *loaded.models, *loaded.algorithms, *loaded.datasets}
    with pytest.raises(AssertionError, match="nothing registered by nobody could be checked"):
        testing.check_registered(dataset, distribution="nobody")


class NeverLearns(ERM):
    def learn(self, results: Any, *, should_step: bool) -> None:
        super().learn(results, should_step=False)


class Amnesic(ERM):
    def training_state(self) -> dict[str, Any]:
        return {**super().training_state(), "optimizer": torch.optim.Adam(self.model.parameters()).state_dict()}


class LearnsFromTheTest(ERM):
    def evaluate(self, batch: Any) -> Any:
        next(self.model.parameters()).data += 1
        return super().evaluate(batch)


@pytest.mark.parametrize(
    ("kind", "promise"),
    [
        (NeverLearns, "must change the weights"),
        (Amnesic, "must learn alike"),
        (LearnsFromTheTest, "must not change the weights"),
    ],
)
def test_the_contract_notices_an_algorithm(
    kind: type[ERM], promise: str, dataset: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf = get_registry().algorithms
    wrong = dataclasses.replace(shelf["ERM"], build=kind)
    monkeypatch.setitem(shelf._specs, "ERM", wrong)
    with pytest.raises(AssertionError, match=promise):
        testing.check_algorithm(wrong, dataset)


def test_the_contract_notices_settings_that_no_flag_sets() -> None:
    spec = dataclasses.replace(get_registry().datasets["iwildcam"], defaults={"learning_rate": 1})
    with pytest.raises(AssertionError, match=r"no flag sets \['learning_rate'\]"):
        testing.check_settings(spec)


class Noise(Augmentation):
    """Keeps the contract; the classes below each break one promise."""

    def draw(self, example: Example, rng: np.random.Generator) -> Any:
        return rng.integers(0, 5, np.asarray(example.x).shape)

    def apply(self, example: Example, drawn: Any) -> Any:
        return Image.fromarray((np.asarray(example.x) // 2 + drawn).astype(np.uint8))


class Forgetful(Noise):
    def draw(self, example: Example, rng: np.random.Generator) -> Any:
        return np.random.default_rng().integers(0, 5, np.asarray(example.x).shape)


class Constant(Noise):
    def draw(self, example: Example, rng: np.random.Generator) -> Any:
        return 1


class Cropping(Noise):
    def apply(self, example: Example, drawn: Any) -> Any:
        return super().apply(example, drawn).crop((0, 0, 5, 5))


class Array(Noise):
    def apply(self, example: Example, drawn: Any) -> Any:
        return np.asarray(super().apply(example, drawn))


class Destructive(Noise):
    def apply(self, example: Example, drawn: Any) -> Any:
        example.x.paste((1, 2, 3), (0, 0, 4, 4))
        return super().apply(example, drawn)


class Unpicklable(Noise):
    def __init__(self) -> None:
        self.function = lambda: None


class Stateful(Noise):
    def __getstate__(self) -> dict[str, int]:
        return {"sent": 1}

    def apply(self, example: Example, drawn: Any) -> Any:
        return super().apply(example, drawn * (2 if hasattr(self, "sent") else 1))


Check = Callable[[type[Noise], Any], list[str]]


def registry_with(build: Callable[[Any], Augmentation]) -> Registry:
    class Module:
        @hookimpl
        def register_transforms(self) -> list[TransformSpec]:
            return [TransformSpec("mine", build, Kind.GENERIC, "grain", "all else")]

    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    manager.register(Module(), name="module")
    return Registry(manager, {"module": Plugin("module", "mine", "1.0")})


@pytest.fixture
def check(monkeypatch: pytest.MonkeyPatch) -> Iterator[Check]:
    """Check an augmentation, as if a plugin had registered it; the names that were checked."""

    def check(kind: type[Noise], dataset: Any) -> list[str]:
        monkeypatch.setattr(registry, "load", lambda: registry_with(lambda dataset: kind()))
        get_registry.cache_clear()
        return testing.check_registered(dataset, distribution="mine")

    yield check
    get_registry.cache_clear()


@pytest.mark.parametrize(
    ("kind", "promise"),
    [
        (Forgetful, "the same seed must repeat"),
        (Constant, "another seed must differ"),
        (Cropping, "gave"),
        (Array, "took JpegImageFile, gave ndarray"),
        (Destructive, "the example's own x was written to"),
        (Unpicklable, "a loader's worker can't get it"),
        (Stateful, "pickling must not change it"),
    ],
)
def test_the_contract_notices(kind: type[Noise], promise: str, dataset: Any, check: Check) -> None:
    with pytest.raises(AssertionError, match=promise):
        check(kind, dataset)


def test_the_contract_lets_pass_who_keeps_it(dataset: Any, check: Check) -> None:
    assert check(Noise, dataset) == ["mine"]
