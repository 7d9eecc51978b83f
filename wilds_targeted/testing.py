"""The contract that everything registered keeps, as checks for plugin authors and for our own suite.

    from wilds_targeted.testing import check_registered, miniature_dataset

    def test_my_plugin(tmp_path):
        check_registered(miniature_dataset("iwildcam", tmp_path), distribution="my-distribution")

Each check raises an AssertionError that says which promise is broken.
"""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

from wilds_targeted import api
from wilds_targeted.errors import DataError
from wilds_targeted.pipeline import Pipeline, build_pipeline
from wilds_targeted.registry import Registry, get_registry
from wilds_targeted.specs import Level, ModelSpec, TransformSpec

EXAMPLES = 12
"""How many examples a check looks at; of these at least one must be changed by the augmentation."""


def miniature_dataset(name: str, root_dir: str | Path) -> Any:
    """A small generated data set of that name, written into the folder and loaded."""
    from wilds_targeted.miniatures.iwildcam import write_iwildcam

    writers = {"iwildcam": write_iwildcam}
    if name not in writers:
        raise DataError(f"there is no miniature of {name!r}; there is one of {', '.join(writers)}.")
    if not (Path(root_dir) / f"{name}_v2.0").exists():
        writers[name](root_dir, progress=False)
    return api.get_dataset(name, root_dir=root_dir)


def check_registered(dataset: Any, distribution: str | None = None, registry: Registry | None = None) -> list[str]:
    """Check every registered transform that serves this data set, and every registered model.

    Args:
        dataset: A small data set, such as `miniature_dataset` gives.
        distribution: Only what this distribution registered; all by default.
        registry: The registry to look at; the process's own by default.

    Returns:
        The names that were checked; never empty.
    """
    registry = registry or get_registry()
    checked = []
    for name, spec in registry.transforms.items():
        wanted = distribution in (None, registry.transforms.plugin_of[name].distribution)
        if wanted and spec.level is Level.EXAMPLE and spec.serves(dataset.dataset_name):
            check_transform(spec, dataset, registry)
            checked.append(name)
    for name, model in registry.models.items():
        if distribution in (None, registry.models.plugin_of[name].distribution):
            check_model(model)
            checked.append(name)
    assert checked, f"nothing registered by {distribution or 'anybody'} could be checked on {dataset.dataset_name}"
    return checked


def check_transform(spec: TransformSpec, dataset: Any, registry: Registry | None = None) -> None:
    """A transform's contract, on examples of the training split.

    It builds with its defaults; keeps the type, size and mode of ``x`` and leaves ``x`` itself alone; repeats with the
    same seed and differs with another; survives the way to a loader's worker; and leaves evaluation untouched.
    """
    assert spec.kind and spec.randomizes and spec.preserves, f"{spec.name}: say what it randomizes and preserves"
    pipeline = build_pipeline([spec.name], dataset, base=None, registry=registry)
    pipeline.flip = False
    indices = _training_rows(dataset)
    first = _outputs(pipeline, dataset, indices, seed=0)
    _check_shapes(spec.name, dataset, indices, first)
    assert _same(first, _outputs(pipeline, dataset, indices, seed=0)), f"{spec.name}: the same seed must repeat"
    assert not _same(first, _outputs(pipeline, dataset, indices, seed=1)), f"{spec.name}: another seed must differ"
    copied = pickle.loads(pickle.dumps(pipeline))
    assert _same(first, _outputs(copied, dataset, indices, seed=0)), f"{spec.name}: pickling must not change it"
    never = build_pipeline([spec.name], dataset, base=None, p=0.0, registry=registry)
    plain = [np.asarray(dataset[index][0]) for index in indices]
    assert _same(plain, _outputs(never, dataset, indices, seed=0)), f"{spec.name}: p=0 must change nothing"
    _check_loader(spec.name, dataset)


def _check_loader(name: str, dataset: Any) -> None:
    """Through WILDS's own loaders, with a worker, for training and for evaluation."""
    from wilds.common.data_loaders import get_eval_loader, get_train_loader

    training = api.build_transform(name, dataset, target_resolution=(32, 32))
    evaluation = api.build_transform(name, dataset, is_training=False, target_resolution=(32, 32))
    subset = api.get_subset(dataset, "train", transform=training)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        loader = get_train_loader("standard", subset, batch_size=4, num_workers=1)
        x, y, metadata = next(iter(loader))
    assert len(x) == len(y) == len(metadata) == 4, f"{name}: a batch of 4 came out of the loader as {len(x)}"
    held_out = api.get_subset(dataset, "val", transform=evaluation)
    augmented, _, _ = next(iter(get_eval_loader("standard", held_out, batch_size=4)))
    base = api.build_transform(name, dataset, is_training=False, target_resolution=(32, 32))
    assert base is not None
    plain = torch.stack([base(held_out.dataset[index][0]) for index in held_out.indices[:4]])
    assert torch.equal(augmented, plain), f"{name}: evaluation must get the base steps only"


def check_model(spec: ModelSpec, shape: tuple[int, ...] = (3, 64, 64)) -> None:
    """A model's contract: whole and as a featurizer it maps a batch to outputs and features of the promised size."""
    kwargs = dict(spec.defaults.get("model_kwargs", {}))
    x = torch.zeros(2, *shape)
    whole = spec.build(5, **kwargs).eval()
    assert whole(x).shape == (2, 5), f"{spec.name}: build(5) must give 5 outputs, gave {tuple(whole(x).shape)}"
    featurizer: Any = spec.build(None, **kwargs).eval()
    assert hasattr(featurizer, "d_out"), f"{spec.name}: build(None) must have the attribute d_out"
    features = featurizer(x)
    assert features.shape == (2, featurizer.d_out), f"{spec.name}: d_out is not the number of features"


def _training_rows(dataset: Any) -> list[int]:
    """Some training rows, of as many classes as possible."""
    training = np.flatnonzero(np.asarray(dataset.split_array) == dataset.split_dict["train"])
    labels = np.asarray(dataset.y_array)[training]
    by_turn = np.argsort([np.sum(labels[:position] == label) for position, label in enumerate(labels)], kind="stable")
    return [int(index) for index in training[by_turn[:EXAMPLES]]]


def _outputs(pipeline: Pipeline, dataset: Any, indices: list[int], seed: int) -> list[Any]:
    from wilds_targeted.example import Example

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return [np.asarray(pipeline.augment(Example(*dataset[index], index))) for index in indices]


def _check_shapes(name: str, dataset: Any, indices: list[int], outputs: list[Any]) -> None:
    pipeline = build_pipeline([name], dataset, base=None)
    for index, output in zip(indices, outputs, strict=True):
        from wilds_targeted.example import Example

        x, y, metadata = dataset[index]
        before = np.array(x)
        after = pipeline.augment(Example(x, y, metadata, index))
        assert isinstance(after, Image.Image if isinstance(x, Image.Image) else type(x)), (
            f"{name}: took {type(x).__name__}, gave {type(after).__name__}"
        )
        assert output.shape == before.shape, f"{name}: took shape {before.shape}, gave {output.shape}"
        assert output.dtype == before.dtype, f"{name}: took type {before.dtype}, gave {output.dtype}"
        assert np.array_equal(before, np.asarray(x)), f"{name}: the example's own x was written to"


def _same(one: list[Any], other: list[Any]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
