"""Mixed batches around ERM: the objective by hand, what is logged, coins, and what is refused."""

from __future__ import annotations

import math
from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from wilds.common.metrics.all_metrics import Accuracy, multiclass_logits_to_pred

import wilds_targeted
from wilds_targeted import AlgorithmInputs, Batch, BatchAugmentation, Mixed
from wilds_targeted.algorithms.erm import ERM
from wilds_targeted.errors import ConfigError, DataError
from wilds_targeted.mixing import Mixer, mix_training_batches
from wilds_targeted.registry import get_registry
from wilds_targeted.runner.defaults import complete
from wilds_targeted.runner.flags import parse
from wilds_targeted.runner.supported import LOSSES


class Swap(BatchAugmentation):
    """Two examples, each with the other; a quarter of the other one's label."""

    def draw(self, batch: Batch, rng: np.random.Generator) -> None:
        return None

    def apply(self, batch: Batch, drawn: None) -> Mixed:
        return Mixed(0.75 * batch.x + 0.25 * batch.x.flip(0), torch.tensor([1, 0]), 0.75)


class NoGroups:
    n_groups = 1

    def metadata_to_group(self, metadata: torch.Tensor) -> torch.Tensor:
        return torch.zeros(len(metadata), dtype=torch.long)


def erm() -> ERM:
    """Its model gives the two inputs as logits, times a weight of 1."""
    model = nn.Linear(2, 2, bias=False)
    model.weight.data = torch.eye(2)
    config = Namespace(
        device="cpu",
        use_data_parallel=False,
        no_group_logging=True,
        optimizer="SGD",
        optimizer_kwargs={},
        lr=0.1,
        weight_decay=0.0,
        scheduler=None,
        scheduler_kwargs={},
        gradient_accumulation_steps=1,
        max_grad_norm=None,
        model="linear",
    )
    metric = Accuracy(prediction_fn=multiclass_logits_to_pred)
    return ERM(
        AlgorithmInputs(config, 2, NoGroups(), LOSSES["cross_entropy"](), metric, 1, {}, lambda is_featurizer: model)
    )


BATCH = (torch.tensor([[4.0, 0.0], [0.0, 0.0]]), torch.tensor([0, 1]), torch.zeros(2, 1))


def cross_entropy(logits: tuple[float, float], label: int) -> float:
    return math.log(sum(math.exp(each) for each in logits)) - logits[label]


def test_the_objective_by_hand_and_the_true_labels_in_the_log() -> None:
    algorithm = erm()
    mix_training_batches(algorithm, Mixer(Swap()))
    algorithm.train()
    results = algorithm.update(BATCH, is_epoch_end=True)
    # The inputs become (3, 0) and (1, 0); three quarters of each label stay.
    own = (cross_entropy((3, 0), 0) + cross_entropy((1, 0), 1)) / 2
    partners = (cross_entropy((3, 0), 1) + cross_entropy((1, 0), 0)) / 2
    assert results["y_pred"].tolist() == [[3.0, 0.0], [1.0, 0.0]]
    assert results["y_true"].tolist() == [0, 1], "the true labels"
    log = algorithm.get_log()
    assert log["objective"] == pytest.approx(0.75 * own + 0.25 * partners)
    assert log["loss_avg"] == pytest.approx(own), "the logged loss is that of the true labels"
    assert log["acc_avg"] == 0.5, "the second example is taken for class 0"


def test_the_gradient_is_that_of_the_mixed_labels() -> None:
    algorithm = erm()
    mix_training_batches(algorithm, Mixer(Swap()))
    algorithm.train()
    algorithm.update(BATCH, is_epoch_end=True)
    weight = torch.eye(2, requires_grad=True)
    x = torch.tensor([[3.0, 0.0], [1.0, 0.0]])
    soft = torch.tensor([[0.75, 0.25], [0.25, 0.75]])
    nn.functional.cross_entropy(x @ weight.T, soft).backward()  # type: ignore[no-untyped-call]
    assert weight.grad is not None
    torch.testing.assert_close(algorithm.model.weight.data, torch.eye(2) - 0.1 * weight.grad)


def test_evaluation_is_not_mixed() -> None:
    algorithm = erm()
    mix_training_batches(algorithm, Mixer(Swap()))
    algorithm.eval()
    with torch.no_grad():
        results = algorithm.evaluate(BATCH)
    assert results["y_pred"].tolist() == BATCH[0].tolist()
    assert results["objective"] == pytest.approx((cross_entropy((4, 0), 0) + cross_entropy((0, 0), 1)) / 2)


def test_one_coin_and_one_draw_a_batch() -> None:
    torch.manual_seed(0)
    mixer = Mixer(Swap(), p=0.7)
    mixed = [mixer(Batch(*BATCH)) is not None for _ in range(2000)]
    assert np.mean(mixed) == pytest.approx(0.7, abs=0.03)
    torch.manual_seed(0)
    mixer(Batch(*BATCH))
    after = torch.rand(1)
    torch.manual_seed(0)
    torch.empty((), dtype=torch.int64).random_()
    assert torch.equal(torch.rand(1), after)


def test_batches_that_can_not_be_mixed_are_refused() -> None:
    with pytest.raises(DataError, match="Swap mixes batches of pictures as tensors; this data set gives a list"):
        Mixer(Swap())(Batch([1, 2], None, None))
    with pytest.raises(DataError, match=r"gives a tensor \(2, 3\) of torch.int64"):
        Mixer(Swap())(Batch(torch.zeros(2, 3, dtype=torch.long), None, None))


@pytest.mark.parametrize("name", ["mixup", "cutmix"])
@pytest.mark.parametrize("algorithm", sorted(set(get_registry().algorithms) - {"ERM"}))
def test_only_erm_trains_on_mixed_batches(name: str, algorithm: str, tmp_path: Path) -> None:
    flags = f"--dataset camelyon17 --root_dir {tmp_path} --algorithm {algorithm} --transform {name}".split()
    flags += ["--additional_train_transform", "none"]  # WILDS gives some of them RandAugment, which is refused first
    with pytest.raises(ConfigError, match=rf"'{name}' mixes the labels of a batch, which only --algorithm ERM can.*"):
        complete(parse(flags))


def test_from_python(camelyon_miniature: Path) -> None:
    dataset = wilds_targeted.get_dataset("camelyon17", root_dir=camelyon_miniature)
    with pytest.warns(UserWarning, match="mixes nothing; batches are mixed by what build_batch_transform makes"):
        loaders_part = wilds_targeted.build_transform("mixup", dataset)
    subset = wilds_targeted.get_subset(dataset, "train", transform=loaders_part)
    x, y, metadata = torch.utils.data.default_collate([subset[position] for position in range(4)])
    mixed = wilds_targeted.build_batch_transform("mixup", dataset, alpha=0.4)(Batch(x, y, metadata))
    assert mixed is not None
    torch.testing.assert_close(mixed.x, mixed.share * x + (1 - mixed.share) * x[mixed.partner])
    with pytest.raises(ConfigError, match="'cutout' works on examples: use build_transform"):
        wilds_targeted.build_batch_transform("cutout", dataset)


def test_mixing_needs_classes(camelyon_miniature: Path) -> None:
    class Regression:
        dataset_name = "poverty"
        is_classification = False

    dataset: Any = Regression()
    with pytest.raises(ConfigError, match="'mixup' mixes class labels, and poverty has none"):
        wilds_targeted.build_batch_transform("mixup", dataset)
