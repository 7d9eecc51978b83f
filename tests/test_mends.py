"""Each mend, by hand."""

from __future__ import annotations

import sys
import types
import warnings

import pytest
import torch

from wilds_targeted import mends


def test_adamw_keeps_the_defaults_of_transformers() -> None:
    optimizer = mends.AdamW([torch.nn.Parameter(torch.ones(1))])
    group = optimizer.param_groups[0]
    assert (group["lr"], group["betas"], group["eps"], group["weight_decay"]) == (1e-3, (0.9, 0.999), 1e-6, 0.0)
    with pytest.raises(ValueError, match="correct_bias=False is not offered"):
        mends.AdamW([torch.nn.Parameter(torch.ones(1))], correct_bias=False)


def test_adamw_first_step_by_hand() -> None:
    weight = torch.nn.Parameter(torch.tensor([2.0]))
    weight.grad = torch.tensor([0.5])
    mends.AdamW([weight], lr=0.1, weight_decay=0.01).step()
    # The first step is the sign of the gradient, up to epsilon: 2 (1 - 0.1 * 0.01) - 0.1 * 0.5 / (0.5 + 1e-6).
    assert weight.item() == pytest.approx(2 * (1 - 0.001) - 0.1 * 0.5 / (0.5 + 1e-6), abs=1e-6)


def test_transformers_gets_its_name_back_only_where_it_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = types.ModuleType("transformers")
    monkeypatch.setitem(sys.modules, "transformers", fake)
    mends.mend_transformers()
    assert fake.AdamW is mends.AdamW
    fake.AdamW = "their own"
    mends.mend_transformers()
    assert fake.AdamW == "their own"


def test_group_averages_by_hand() -> None:
    values, groups = torch.tensor([1.0, 2.0, 6.0, 5.0]), torch.tensor([0, 2, 2, 0])
    averages, counts = mends.average_over_groups(values, groups, 4)
    assert averages.tolist() == [3.0, 0.0, 4.0, 0.0]
    assert counts.tolist() == [2.0, 0.0, 2.0, 0.0]
    with pytest.raises(ValueError, match="do not match"):
        mends.average_over_groups(values, groups[:2], 4)


def test_group_averages_reach_modules_that_hold_them_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def original() -> None: ...

    utils, holder, other = (types.ModuleType(f"wilds.{name}") for name in ("utils", "holder", "other"))
    utils.avg_over_groups = holder.avg_over_groups = original
    other.avg_over_groups = "something else"
    for module in (utils, holder, other):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    mends.mend_group_averages(utils)
    assert utils.avg_over_groups is holder.avg_over_groups is mends.average_over_groups
    assert other.avg_over_groups == "something else"


def test_torch_scatter_is_used_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    utils = types.ModuleType("wilds.utils")
    utils.avg_over_groups = "the original"
    monkeypatch.setattr(mends.importlib.util, "find_spec", lambda name: object())
    mends.mend_group_averages(utils)
    assert utils.avg_over_groups == "the original"


def test_wilds_group_metrics_work() -> None:
    mends.mend_wilds()
    from wilds.common.metrics.all_metrics import Accuracy

    results = Accuracy().compute_group_wise(
        torch.tensor([1, 0, 1]), torch.tensor([1, 1, 1]), torch.tensor([0, 0, 1]), 2
    )
    assert results["acc_group:0"] == 0.5
    assert results["acc_group:1"] == 1.0
    assert results["acc_wg"] == 0.5


def test_read_only_columns_are_nothing_to_warn_of_in_wilds() -> None:
    mends.mend_wilds()
    words = "The given NumPy array is not writable, and PyTorch does not support non-writable tensors."
    with warnings.catch_warnings(record=True) as told:
        for module in ("wilds.datasets.camelyon17_dataset", "somebody.else"):
            warnings.warn_explicit(words, UserWarning, "file.py", 74, module=module)
    assert len(told) == 1, "only where somebody else says so"


def test_the_worst_of_groups_that_are_all_nan_is_nan() -> None:
    mends.mend_wilds()
    mends.mend_wilds()  # a second time changes nothing
    from wilds.common.metrics.loss import ElementwiseLoss
    from wilds.common.utils import maximum, minimum

    nan = float("nan")
    assert torch.isnan(maximum(torch.tensor([nan, nan])))
    assert torch.isnan(minimum(torch.tensor([nan])))
    assert (maximum(torch.tensor([1.0, nan, 3.0])), minimum(torch.tensor([2.0, nan]))) == (3.0, 2.0)
    assert (maximum(torch.tensor([])), maximum([1, 2])) == (0.0, 2)
    assert not hasattr(maximum.__wrapped__, "__wrapped__")
    loss = ElementwiseLoss(torch.nn.CrossEntropyLoss(reduction="none"))
    outputs, labels, groups = torch.full((2, 3), nan), torch.tensor([0, 1]), torch.tensor([0, 1])
    assert torch.isnan(loss.compute_group_wise(outputs, labels, groups, 2, return_dict=False)[2])
