"""MixUp by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from wilds_targeted import Batch
from wilds_targeted.augmentations.mixup import MixUp, Pairing


def batch(*values: float) -> Batch:
    x = torch.tensor(values, dtype=torch.float32).reshape(-1, 1, 1, 1).expand(-1, 3, 2, 2).clone()
    return Batch(x, torch.arange(len(values)), torch.zeros(len(values), 1))


def test_by_hand() -> None:
    original = batch(0, 10, 20)
    mixed = MixUp(0.2).apply(original, Pairing(np.array([2, 0, 1]), 0.75))
    # 0.75 * 0 + 0.25 * 20; 0.75 * 10 + 0.25 * 0; 0.75 * 20 + 0.25 * 10
    assert mixed.x[:, 1, 1, 0].tolist() == [5.0, 7.5, 17.5]
    assert mixed.partner.tolist() == [2, 0, 1]
    assert mixed.share == 0.75
    assert torch.equal(original.x, batch(0, 10, 20).x)


@pytest.mark.parametrize("alpha", [0.2, 0.4, 1.0])
def test_partners_are_a_permutation_and_shares_a_beta_variable(alpha: float) -> None:
    rng = np.random.default_rng(0)
    draws = [MixUp(alpha).draw(batch(*range(5)), rng) for _ in range(3000)]
    assert all(sorted(draw.partner) == list(range(5)) for draw in draws)
    shares = np.array([draw.share for draw in draws])
    assert shares.mean() == pytest.approx(0.5, abs=0.03)
    assert shares.var() == pytest.approx(1 / (4 * (2 * alpha + 1)), abs=0.01)  # the variance of Beta(alpha, alpha)
    firsts = np.bincount([draw.partner[0] for draw in draws], minlength=5) / len(draws)
    assert firsts == pytest.approx(np.full(5, 0.2), abs=0.03)
