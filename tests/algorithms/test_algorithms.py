"""The algorithms' arithmetic, by hand."""

from __future__ import annotations

import copy
import math
from argparse import Namespace
from typing import Any

import pytest
import torch
from torch import nn
from wilds.common.metrics.all_metrics import Accuracy, multiclass_logits_to_pred
from wilds.common.metrics.loss import ElementwiseLoss

from wilds_targeted.algorithms.adversarial import CDAN, DANN, MultilinearMap, number_domains, reverse_gradient
from wilds_targeted.algorithms.deep_coral import DeepCORAL, moment_distance
from wilds_targeted.algorithms.erm import ERM
from wilds_targeted.algorithms.group_dro import GroupDRO
from wilds_targeted.algorithms.irm import IRM
from wilds_targeted.errors import ConfigError
from wilds_targeted.mends import mend_wilds
from wilds_targeted.specs import AlgorithmInputs

CLASSES, FEATURES = 3, 2


class ByFirstColumn:
    """Groups are the first column of the metadata."""

    n_groups = 4

    def metadata_to_group(self, metadata: torch.Tensor) -> torch.Tensor:
        return metadata[:, 0]

    def group_str(self, group: int) -> str:
        return f"domain = {group}"


class Training:
    metadata_array = torch.tensor([[0], [2], [2], [3]])


def inputs(**changes: Any) -> AlgorithmInputs:
    mend_wilds()
    settings: dict[str, Any] = {
        "device": torch.device("cpu"),
        "model": "by-hand",
        "optimizer": "SGD",
        "lr": 0.1,
        "weight_decay": 0.0,
        "optimizer_kwargs": {},
        "scheduler": None,
        "scheduler_kwargs": {},
        "scheduler_metric_name": None,
        "no_group_logging": True,
        "use_data_parallel": False,
        "gradient_accumulation_steps": 1,
        "max_grad_norm": None,
        "irm_lambda": 10.0,
        "irm_penalty_anneal_iters": 2,
        "coral_penalty_weight": 0.5,
        "group_dro_step_size": 0.1,
        "dann_penalty_weight": 2.0,
        "dann_featurizer_lr": 0.01,
        "dann_classifier_lr": 0.1,
        "dann_discriminator_lr": 0.2,
        "cdan_penalty_weight": 1.5,
        "cdan_classifier_lr": None,
        "cdan_featurizer_lr": None,
        "cdan_discriminator_lr": None,
        **changes,
    }

    def build_model(is_featurizer: bool) -> Any:
        torch.manual_seed(0)
        featurizer: Any = nn.Linear(FEATURES, FEATURES)
        featurizer.d_out = FEATURES
        parts = (featurizer, nn.Linear(FEATURES, CLASSES))
        return parts if is_featurizer else nn.Sequential(*parts)

    return AlgorithmInputs(
        config=Namespace(**settings),
        d_out=CLASSES,
        grouper=ByFirstColumn(),
        loss=ElementwiseLoss(nn.CrossEntropyLoss(reduction="none")),
        metric=Accuracy(prediction_fn=multiclass_logits_to_pred),
        n_train_steps=10,
        datasets={"train": {"dataset": Training()}},
        build_model=build_model,
    )


def batch() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(8, FEATURES, generator=generator)
    return x, torch.tensor([0, 1, 2, 0, 1, 2, 0, 1]), torch.tensor([[0], [0], [0], [0], [2], [2], [2], [2]])


def loss_of(model: nn.Module) -> torch.Tensor:
    x, y, _ = batch()
    return nn.functional.cross_entropy(model(x), y, reduction="none")


def test_erm_takes_a_gradient_step_on_the_mean_loss() -> None:
    algorithm = ERM(inputs())
    weights = algorithm.model[1].weight
    loss = loss_of(algorithm.model).mean()
    (gradient,) = torch.autograd.grad(loss, weights)
    before = weights.detach().clone()
    results = algorithm.update(batch())
    assert torch.allclose(weights, before - 0.1 * gradient)
    assert results["objective"] == pytest.approx(loss.item())
    assert algorithm.get_log()["loss_avg"] == pytest.approx(loss.item())
    assert algorithm.get_log()["count"] == 8


def test_gradients_accumulate_until_it_is_time() -> None:
    algorithm = ERM(inputs(gradient_accumulation_steps=3))
    weights = algorithm.model[1].weight
    before = weights.detach().clone()
    algorithm.update(batch())
    algorithm.update(batch())
    assert torch.equal(weights, before)
    algorithm.update(batch(), is_epoch_end=True)
    assert not torch.equal(weights, before)
    assert algorithm.batch_idx == 0


@pytest.mark.parametrize("kind", [ERM, IRM, GroupDRO])
def test_a_loss_that_is_no_number_is_told_as_such(kind: type) -> None:
    algorithm = kind(inputs(no_group_logging=False))
    with torch.no_grad():
        algorithm.model[1].weight.fill_(float("nan"))
    algorithm.eval()
    assert math.isnan(algorithm.evaluate(batch())["objective"])
    algorithm.train()
    assert math.isnan(algorithm.update(batch())["objective"])


def test_irm_by_hand() -> None:
    algorithm = IRM(inputs())
    x, y, _ = batch()
    outputs = algorithm.model(x).detach()
    expected, penalties = [], []
    for rows in (slice(0, 4), slice(4, 8)):
        # d/ds of the cross entropy of s * f at s = 1 is sum_k softmax_k f_k - f_y.
        f = outputs[rows]
        slopes = (f.softmax(1) * f).sum(1) - f.gather(1, y[rows][:, None])[:, 0]
        penalties.append(slopes[0::2].mean() * slopes[1::2].mean())
        expected.append(nn.functional.cross_entropy(f, y[rows]))
    penalty = torch.stack(penalties).mean()
    loss = torch.stack(expected).mean()
    algorithm.train()
    results = algorithm.update(batch())
    assert results["penalty"] == pytest.approx(penalty.item(), rel=1e-4)
    assert results["objective"] == pytest.approx((loss + penalty).item(), rel=1e-4)


def test_irm_changes_weight_and_optimizer_after_annealing() -> None:
    algorithm = IRM(inputs(optimizer="Adam"))
    algorithm.train()
    first = algorithm.optimizer
    for _ in range(2):
        algorithm.update(batch())
    assert algorithm.optimizer is first
    results = algorithm.update(batch())
    assert algorithm.optimizer is not first
    difference = results["objective"] - 10 * results["penalty"]
    assert difference > 0
    algorithm.eval()
    assert algorithm.evaluate(batch())["penalty"] == 0


def test_moments_by_hand() -> None:
    a = torch.tensor([[0.0, 0.0], [2.0, 4.0]])  # mean (1, 2), covariance ((2, 4), (4, 8))
    b = torch.tensor([[1.0, 1.0], [1.0, 3.0]])  # mean (1, 2), covariance ((0, 0), (0, 2))
    assert moment_distance(a, b).item() == pytest.approx((4 + 16 + 16 + 36) / 4)
    assert moment_distance(a, a + 3).item() == pytest.approx(9)


def test_deep_coral_adds_the_weighted_distance() -> None:
    algorithm = DeepCORAL(inputs())
    x, _, _ = batch()
    features = algorithm.featurizer(x)
    distance = moment_distance(features[:4], features[4:]).item()
    loss = loss_of(algorithm.model).mean().item()
    algorithm.train()
    results = algorithm.update(batch())
    assert results["penalty"] == pytest.approx(distance)
    assert results["objective"] == pytest.approx(loss + 0.5 * distance)


def test_group_dro_by_hand() -> None:
    algorithm = GroupDRO(inputs(no_group_logging=False))
    assert algorithm.group_weights.tolist() == pytest.approx([1 / 3, 0, 1 / 3, 1 / 3])
    losses = loss_of(algorithm.model).detach()
    means = torch.tensor([losses[:4].mean(), 0, losses[4:].mean(), 0])
    weights = torch.tensor([1.0, 0, 1, 1]) / 3 * torch.exp(0.1 * means)
    weights /= weights.sum()
    algorithm.train()
    results = algorithm.update(batch())
    assert results["group_weight"].tolist() == pytest.approx(weights.tolist())
    assert results["objective"] == pytest.approx((weights @ means).item())
    log = algorithm.get_log()
    assert log["weight_group:2"] == pytest.approx(weights[2].item())
    assert log["count_group:0"] == 4
    assert math.isnan(log["loss_group:1"])
    assert "domain = 2" in algorithm.get_pretty_log_str()


def test_the_gradient_is_reversed() -> None:
    x = torch.tensor([2.0], requires_grad=True)
    (reverse_gradient(x) * 3).sum().backward()
    assert x.grad is not None
    assert x.grad.item() == -3


def test_domains_are_numbered_over_the_training_groups() -> None:
    numbers, count = number_domains(inputs())
    assert count == 3
    assert numbers[[0, 2, 3]].tolist() == [0, 1, 2]


@pytest.mark.parametrize("kind", [DANN, CDAN])
def test_featurizer_and_discriminator_pull_apart(kind: type) -> None:
    """One step: the discriminator's own weights lower its loss, the featurizer's would raise it."""
    algorithm = kind(inputs(dann_classifier_lr=0.0, dann_discriminator_lr=0.0, cdan_classifier_lr=0.0))
    algorithm.train()
    results = algorithm.process_batch(batch())
    domain_loss = nn.functional.cross_entropy(results["domains_pred"], results["domains_true"])
    assert results["domains_true"].tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
    network = algorithm.network
    honest = torch.autograd.grad(domain_loss, network.domain_classifier[0].weight, retain_graph=True)[0]
    reversed_ = torch.autograd.grad(domain_loss, network.featurizer.weight, retain_graph=True)[0]

    # The same without the reversal: compute the discriminator's loss as a plain function of the featurizer.
    x, y, _ = batch()
    features = network.featurizer(x)
    plain = nn.functional.cross_entropy(algorithm.discriminate(features, y), results["domains_true"])
    assert torch.allclose(torch.autograd.grad(plain, network.featurizer.weight, retain_graph=True)[0], -reversed_)
    assert torch.allclose(torch.autograd.grad(plain, network.domain_classifier[0].weight)[0], honest)


def test_the_adversaries_learning_rates() -> None:
    rates = [group["lr"] for group in DANN(inputs()).optimizer.param_groups]
    assert rates == [0.01, 0.1, 0.2]
    # The paper: the featurizer's rate is a tenth of the classifier's.
    assert [group["lr"] for group in CDAN(inputs()).optimizer.param_groups] == pytest.approx([0.01, 0.1, 0.1])
    given = CDAN(inputs(cdan_classifier_lr=0.5, cdan_discriminator_lr=0.3))
    assert [group["lr"] for group in given.optimizer.param_groups] == pytest.approx([0.05, 0.5, 0.3])


def test_the_objective_of_the_adversaries() -> None:
    for kind, weight in ((DANN, 2.0), (CDAN, 1.5)):
        algorithm = kind(inputs())
        algorithm.train()
        results = algorithm.update(batch())
        parts = results["classification_loss"] + weight * results["domain_classification_loss"]
        assert results["objective"] == pytest.approx(parts, rel=1e-5)
        algorithm.eval()
        evaluated = algorithm.evaluate(batch())
        assert evaluated["domain_classification_loss"] == 0
        assert "domains_pred" not in evaluated


def test_the_multilinear_map_by_hand() -> None:
    product = MultilinearMap(2, 3)(torch.tensor([[2.0, 5.0]]), torch.tensor([[0.0, 1.0, 0.0]]))
    assert product.tolist() == [[0, 2, 0, 0, 5, 0]]


def test_the_projected_map_keeps_inner_products_on_average() -> None:
    """<T(f, g), T(f', g')> is <f, f'> <g, g'> in expectation."""
    torch.manual_seed(0)
    f, g = torch.randn(2, 80), torch.eye(60)[:2] + torch.eye(60)[1:3]
    found = []
    for _ in range(100):
        map_ = MultilinearMap(80, 60)
        assert map_.d_out == 1024
        one, other = map_(f, g)
        found.append(torch.stack([one @ other, one @ one]))
    exact = torch.stack([(f[0] @ f[1]) * (g[0] @ g[1]), (f[0] @ f[0]) * (g[0] @ g[0])])
    spread = torch.stack(found).std(0) / math.sqrt(len(found))
    assert ((torch.stack(found).mean(0) - exact).abs() < 4 * spread).all()


def test_the_label_is_the_condition_of_cdan() -> None:
    algorithm = CDAN(inputs())
    algorithm.train()
    x, y, _ = batch()
    shown: list[torch.Tensor] = []
    algorithm.network.domain_classifier.register_forward_pre_hook(lambda module, given: shown.append(given[0]))
    algorithm.process_batch(batch())
    features = algorithm.network.featurizer(x)
    expected = torch.zeros(8, FEATURES, CLASSES)
    expected[torch.arange(8), :, y] = features
    assert torch.allclose(shown[0], expected.flatten(1))


@pytest.mark.parametrize("kind", [ERM, IRM, DeepCORAL, GroupDRO, DANN, CDAN])
def test_a_restored_algorithm_goes_on_the_same(kind: type) -> None:
    one, other = kind(inputs(optimizer="Adam")), kind(inputs(optimizer="Adam"))
    for algorithm in (one, other):
        algorithm.train()
    for _ in range(4):
        one.update(batch())
    other.load_state_dict(one.state_dict())
    other.load_training_state(copy.deepcopy(one.training_state()))
    for _ in range(3):
        assert one.update(batch())["objective"] == other.update(batch())["objective"]
    assert one.get_log() == other.get_log()


def test_wrong_keywords_get_one_line() -> None:
    with pytest.raises(ConfigError, match=r"--optimizer SGD with .*'momentun'"):
        ERM(inputs(optimizer_kwargs={"momentun": 0.9}))
    with pytest.raises(ConfigError, match="--scheduler StepLR with"):
        ERM(inputs(scheduler="StepLR", scheduler_kwargs={"stepsize": 1}))
    with pytest.raises(ConfigError, match="needs --scheduler_metric_name"):
        ERM(inputs(scheduler="ReduceLROnPlateau"))


@pytest.mark.parametrize(
    ("name", "keywords"),
    [
        ("linear_schedule_with_warmup", {"num_warmup_steps": 3}),
        ("cosine_schedule_with_warmup", {"num_warmup_steps": 0}),
        ("cosine_schedule_with_warmup", {"num_warmup_steps": 4, "num_cycles": 1.5}),
    ],
)
def test_schedules_are_those_of_transformers(name: str, keywords: dict[str, Any]) -> None:
    from transformers import optimization

    ours = ERM(inputs(scheduler=name, scheduler_kwargs=keywords))
    theirs = ERM(inputs())
    schedule = getattr(optimization, f"get_{name}")(theirs.optimizer, num_training_steps=10, **keywords)
    for _ in range(12):
        assert ours.optimizer.param_groups[0]["lr"] == theirs.optimizer.param_groups[0]["lr"]
        ours.update(batch())
        theirs.optimizer.step()
        schedule.step()


def test_unlabeled_data_is_refused() -> None:
    with pytest.raises(ConfigError, match="takes no unlabeled data"):
        ERM(inputs()).update(batch(), unlabeled_batch=batch())
