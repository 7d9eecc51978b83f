"""The contract that everything registered keeps, as checks for plugin authors and for our own suite.

    from wilds_targeted.testing import check_registered, miniature_dataset

    def test_my_plugin(tmp_path):
        check_registered(miniature_dataset("iwildcam", tmp_path), distribution="my-distribution")

Each check raises an AssertionError that says which promise is broken.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

from wilds_targeted import api
from wilds_targeted.augmentation import Mixed
from wilds_targeted.example import Batch, load_example, training_rows
from wilds_targeted.miniatures import MINIATURES, write_miniature
from wilds_targeted.mixing import Mixer
from wilds_targeted.pipeline import Pipeline, build_pipeline, image_base
from wilds_targeted.registry import Shelf, get_registry
from wilds_targeted.runner.data import load_data
from wilds_targeted.runner.defaults import complete
from wilds_targeted.runner.flags import build_parser, parse
from wilds_targeted.runner.run import build_algorithm
from wilds_targeted.specs import AlgorithmSpec, DatasetSpec, Level, ModelSpec, TransformSpec

EXAMPLES = 12
"""How many training examples a check looks at, of as many classes as there are."""

LOADER_SIZE = (32, 32)
"""To what the loaders' images are resized."""


_SMALL = {
    "iwildcam": {
        "train_cameras": 12,
        "val_cameras": 3,
        "test_cameras": 3,
        "images_per_camera": 20,
        "images_per_unseen_camera": 20,
        "width": 64,
        "height": 48,
    },
    "camelyon17": {"train_patches": 40, "id_val_patches": 8, "val_patches": 20, "test_patches": 20},
    "birdcalls": {
        "training_microphones": 2,
        "unseen_microphones": 1,
        "minutes_per_microphone": 2,
        "minutes_per_unseen_microphone": 1,
    },
}


def write_small(name: str, root_dir: str | Path) -> None:
    """Write the smallest miniature of that data set."""
    write_miniature(name, root_dir, **_SMALL.get(name, {}), progress=False)


def miniature_dataset(name: str, root_dir: str | Path) -> Any:
    """The smallest miniature of that data set, written into an empty folder and loaded."""
    write_small(name, root_dir)
    return api.get_dataset(name, root_dir=root_dir)


def served_miniatures() -> list[tuple[str, str]]:
    """Every registered transform with each of the miniatures that it serves, to parametrize a test."""
    transforms = get_registry().transforms
    return [
        (name, dataset) for name in sorted(transforms) for dataset in MINIATURES if transforms[name].serves(dataset)
    ]


def check_registered(dataset: Any, distribution: str | None = None) -> list[str]:
    """Check every registered transform that serves this data set, every model, algorithm and data set's settings.

    Args:
        dataset: A small data set, such as `miniature_dataset` gives.
        distribution: Only what this distribution registered; all by default.

    Returns:
        The names that were checked; never empty.
    """
    registry = get_registry()
    checked = []
    for name, spec in registry.transforms.items():
        wanted = distribution in (None, registry.transforms.plugin_of[name].distribution)
        if wanted and spec.serves(dataset.dataset_name):
            check_transform(spec, dataset)
            checked.append(name)
    checks: list[tuple[Shelf[Any], Callable[[Any], None]]] = [
        (registry.models, check_model),
        (registry.algorithms, lambda spec: check_algorithm(spec, dataset)),
        (registry.datasets, check_settings),
    ]
    for shelf, check in checks:
        for name, each in shelf.items():
            if distribution in (None, shelf.plugin_of[name].distribution):
                check(each)
                checked.append(name)
    assert checked, f"nothing registered by {distribution or 'anybody'} could be checked on {dataset.dataset_name}"
    return checked


def check_transform(spec: TransformSpec, dataset: Any) -> None:
    """A transform's contract, on examples (or a batch) of the training split.

    It says what it does; builds with its defaults; keeps the type, size and mode of ``x`` and leaves ``x`` itself
    alone; repeats with the same seed and differs with another (a diagnostic never differs); changes nothing with
    probability 0; survives the way to a loader's worker; and leaves evaluation untouched (a diagnostic does not).
    """
    assert spec.randomizes, f"{spec.name}: say what it randomizes"
    assert spec.preserves, f"{spec.name}: say what it preserves"
    if spec.level is Level.BATCH:
        _check_mixing(spec.name, dataset)
        return
    pipeline = build_pipeline([spec.name], dataset, base=None)
    pipeline.flip = False  # the flip is ours, and would hide an augmentation that draws nothing
    rows = _training_rows(dataset)
    first = _draws(pipeline, dataset, rows, seed=0)
    _check_form(spec.name, pipeline, dataset, rows)
    assert _same(first, _draws(pipeline, dataset, rows, seed=0)), f"{spec.name}: the same seed must repeat"
    repeats = _same(first, _draws(pipeline, dataset, rows, seed=1))
    if spec.in_evaluation:
        assert repeats, f"{spec.name}: evaluation must not depend on a seed"
    else:
        assert not repeats, f"{spec.name}: another seed must differ"
    try:
        copied = pickle.loads(pickle.dumps(pipeline))
    except Exception as error:
        raise AssertionError(f"{spec.name}: a loader's worker can't get it: {error}") from error
    assert _same(first, _draws(copied, dataset, rows, seed=0)), f"{spec.name}: pickling must not change it"
    never = Pipeline(pipeline.augmentations, p=0.0)
    plain = [np.asarray(dataset[row][0]) for row in rows]
    assert _same(plain, _draws(never, dataset, rows, seed=0)), f"{spec.name}: probability 0 must change nothing"
    _check_loaders(spec, pipeline, dataset)


def _check_mixing(name: str, dataset: Any) -> None:
    """Batches: ``x`` keeps its form, partners are in the batch, shares are shares, seeds do what they promise."""
    rows = _training_rows(dataset)
    base = image_base(dataset, LOADER_SIZE)
    examples = [load_example(dataset, row) for row in rows]
    batch = Batch(
        torch.stack([base(each.x) for each in examples]),
        torch.as_tensor(np.array([int(each.y) for each in examples])),
        torch.stack([each.metadata for each in examples]),
    )
    before = batch.x.clone()
    mixer = api.build_batch_transform(name, dataset)
    first, again, other = (_mixed(mixer, batch, seed) for seed in (0, 0, 1))
    assert torch.equal(batch.x, before), f"{name}: the batch's own x was written to"
    assert (first.x.shape, first.x.dtype) == (before.shape, before.dtype), f"{name}: x must keep its form"
    assert first.partner.shape == (len(rows),), f"{name}: one partner for each example"
    assert bool(((first.partner >= 0) & (first.partner < len(rows))).all()), f"{name}: partners are of the batch"
    assert 0 <= first.share <= 1, f"{name}: the share of a label is from 0 to 1, got {first.share}"
    assert torch.equal(first.x, again.x), f"{name}: the same seed must repeat"
    assert not torch.equal(first.x, other.x), f"{name}: another seed must differ"
    never = api.build_batch_transform(name, dataset, p=0.0)
    assert never(batch) is None, f"{name}: probability 0 must change nothing"


def _mixed(mixer: Mixer, batch: Batch, seed: int) -> Mixed:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        mixed = mixer(batch)
    assert mixed is not None, "probability 1 must mix every batch"
    return mixed


def _check_form(name: str, pipeline: Pipeline, dataset: Any, rows: list[int]) -> None:
    for row in rows:
        example = load_example(dataset, row)
        x = example.x
        before = np.array(x)
        after = pipeline.augment(example)
        expected = Image.Image if isinstance(x, Image.Image) else type(x)
        assert isinstance(after, expected), f"{name}: took {type(x).__name__}, gave {type(after).__name__}"
        form = (np.asarray(after).shape, np.asarray(after).dtype)
        assert form == (before.shape, before.dtype), f"{name}: took {(before.shape, before.dtype)}, gave {form}"
        assert np.array_equal(before, np.asarray(x)), f"{name}: the example's own x was written to"


def _check_loaders(spec: TransformSpec, pipeline: Pipeline, dataset: Any) -> None:
    """Through WILDS's own loaders: a worker for training, and evaluation with the base steps only."""
    from wilds.common.data_loaders import get_eval_loader, get_train_loader

    base = image_base(dataset, LOADER_SIZE)
    training = Pipeline(pipeline.augmentations, base, flip=True)
    subset = api.get_subset(dataset, "train", transform=training)
    loader = get_train_loader("standard", subset, batch_size=4, num_workers=1)
    with torch.random.fork_rng(devices=[]):
        x, y, metadata = next(iter(loader))
    name = spec.name
    assert (len(x), len(y), len(metadata)) == (4, 4, 4), f"{name}: a batch of 4 came out as {len(x)}"
    evaluation = api.build_transform(name, dataset, is_training=False, target_resolution=LOADER_SIZE)
    held_out = api.get_subset(dataset, "val", transform=evaluation)
    evaluated, _, _ = next(iter(get_eval_loader("standard", held_out, batch_size=4)))
    rows = [int(row) for row in held_out.indices[:4]]
    if spec.in_evaluation:
        expected = [base(pipeline.augment(load_example(dataset, row))) for row in rows]
    else:
        expected = [base(dataset[row][0]) for row in rows]
    shown = "this diagnostic and the base steps" if spec.in_evaluation else "the base steps only"
    assert torch.equal(evaluated, torch.stack(expected)), f"{name}: evaluation must get {shown}"


def check_model(spec: ModelSpec, shape: tuple[int, ...] = (3, 64, 64)) -> None:
    """A model's contract: whole and as a featurizer it maps a batch to outputs and features of the promised size.

    Of a family, its example is checked.
    """
    if spec.member is not None:
        spec = spec.member(spec.example)
    kwargs = dict(spec.defaults.get("model_kwargs", {}))
    if kwargs.get("pretrained"):
        kwargs["pretrained"] = False  # a check downloads nothing
    if spec.takes_resolution:
        kwargs["image_size"] = shape[1:]
    x = torch.zeros(2, *shape)
    outputs = spec.build(5, **kwargs).eval()(x)
    assert outputs.shape == (2, 5), f"{spec.name}: build(5) must give 5 outputs, gave {tuple(outputs.shape)}"
    featurizer: Any = spec.build(None, **kwargs).eval()
    assert hasattr(featurizer, "d_out"), f"{spec.name}: build(None) must have the attribute d_out"
    assert featurizer(x).shape == (2, featurizer.d_out), f"{spec.name}: d_out must be the number of features"


def check_algorithm(spec: AlgorithmSpec, dataset: Any) -> None:
    """An algorithm's contract: the protocol of WILDS's training loop, in the built-in runner.

    It learns in training and only there, tells labels, predictions and metadata of each batch, keeps a log of numbers,
    gives its weights and takes them back; and if it has a ``training_state``, it goes on from it exactly.
    """
    root = Path(dataset.data_dir).parent
    words = f"--algorithm {spec.name} --model miniature-cnn --target_resolution 32 32 --batch_size 16 --n_epochs 1"
    more = "--additional_train_transform none --loader_kwargs num_workers=0 --groupby_fields"
    flags = ["--dataset", dataset.dataset_name, "--root_dir", str(root), *words.split(), *more.split()]
    config = complete(parse([*flags, dataset.metadata_fields[0]]))
    config.device, config.use_data_parallel = torch.device("cpu"), False
    data = load_data(config)
    algorithm = build_algorithm(config, data)
    first, second, *_ = data.splits["train"].loader
    before = copy.deepcopy(algorithm.state_dict())
    algorithm.train()
    assert algorithm.is_training, f"{spec.name}: train() must set is_training"
    results = algorithm.update(first, is_epoch_end=False)
    assert not _same_weights(_learned(before), _learned(algorithm.state_dict())), (
        f"{spec.name}: update() must change the weights"
    )
    assert len(results["y_true"]) == len(results["y_pred"]) == len(results["metadata"]) == len(first[1])
    assert algorithm.has_log, f"{spec.name}: after a batch there must be a log"
    assert all(isinstance(value, int | float) for value in algorithm.get_log().values())
    assert isinstance(algorithm.get_pretty_log_str(), str)
    if hasattr(algorithm, "training_state"):
        other = build_algorithm(config, data)
        other.train()
        other.load_state_dict(copy.deepcopy(algorithm.state_dict()))
        other.load_training_state(copy.deepcopy(algorithm.training_state()))
        ours, theirs = (each.update(second, is_epoch_end=True)["y_pred"] for each in (algorithm, other))
        assert torch.equal(ours, theirs), f"{spec.name}: a restored algorithm must go on the same"
        assert _same_weights(algorithm.state_dict(), other.state_dict()), (
            f"{spec.name}: a restored one must learn alike"
        )
    algorithm.reset_log()
    assert not algorithm.has_log, f"{spec.name}: reset_log() must empty the log"
    algorithm.eval()
    assert not algorithm.is_training, f"{spec.name}: eval() must unset is_training"
    weights = copy.deepcopy(algorithm.state_dict())
    with torch.no_grad():
        algorithm.evaluate(second)
    assert _same_weights(weights, algorithm.state_dict()), f"{spec.name}: evaluate() must not change the weights"
    algorithm.step_schedulers(is_epoch=True, metrics={}, log_access=True)


def check_settings(spec: DatasetSpec) -> None:
    """A data set's settings: each is one that a flag could set."""
    flags = {action.dest for action in build_parser()._actions}
    for settings in (spec.defaults, *spec.split_defaults.values()):
        unknown = sorted(set(settings) - flags)
        assert not unknown, f"{spec.name}: no flag sets {unknown}"


def _learned(weights: dict[str, Any]) -> dict[str, Any]:
    """Without the statistics that batch normalization gathers in every forward pass."""
    return {name: value for name, value in weights.items() if "running_" not in name and "num_batches" not in name}


def _same_weights(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def _training_rows(dataset: Any) -> list[int]:
    """Some training rows, class by class in turn."""
    training = training_rows(dataset)
    labels = np.asarray(dataset.y_array)[training]
    turn = [int(np.sum(labels[:position] == label)) for position, label in enumerate(labels)]
    return [int(row) for row in training[np.argsort(turn, kind="stable")[:EXAMPLES]]]


def _draws(pipeline: Pipeline, dataset: Any, rows: list[int], seed: int) -> list[Any]:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return [np.asarray(pipeline.augment(load_example(dataset, row))) for row in rows]


def _same(one: list[Any], other: list[Any]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
