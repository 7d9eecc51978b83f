"""CutMix by hand, and the one property that matters: the label's share is the area's."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from wilds_targeted import Batch
from wilds_targeted.augmentations.cutmix import Cut, CutMix, draw_cut
from wilds_targeted.errors import DataError


def numbered(count: int, height: int, width: int) -> Batch:
    """Each picture is filled with its own position in the batch."""
    x = torch.arange(count, dtype=torch.float32).reshape(-1, 1, 1, 1).expand(-1, 3, height, width).clone()
    return Batch(x, torch.arange(count), torch.zeros(count, 1))


def test_by_hand() -> None:
    original = numbered(2, height=3, width=4)
    mixed = CutMix(1.0).apply(original, Cut(np.array([1, 0]), (1, 0, 3, 2)))  # columns 1 and 2 of rows 0 and 1
    assert mixed.x[0, 0].tolist() == [[0, 1, 1, 0], [0, 1, 1, 0], [0, 0, 0, 0]]
    assert mixed.x[1, 2].tolist() == [[1, 0, 0, 1], [1, 0, 0, 1], [1, 1, 1, 1]]
    assert mixed.share == pytest.approx(1 - 4 / 12)
    assert mixed.partner.tolist() == [1, 0]
    assert torch.equal(original.x, numbered(2, 3, 4).x)


class Centre:
    def __init__(self, x: float, y: float) -> None:
        self.numbers = [x, y]

    def uniform(self, low: float, high: float) -> float:
        return self.numbers.pop(0)


def test_the_box_by_hand() -> None:
    # a share of 0.75 leaves sides of sqrt(0.25) = half: 10 wide, 5 high
    assert draw_cut((20, 10), 0.75, Centre(10, 5)) == (5, 2, 15, 8)  # type: ignore[arg-type]  # 2.5 and 7.5 go to even
    assert draw_cut((20, 10), 0.75, Centre(0, 4)) == (0, 2, 5, 6)  # type: ignore[arg-type]
    assert draw_cut((20, 10), 1.0, Centre(3, 4)) == (3, 4, 3, 4)  # type: ignore[arg-type]
    assert draw_cut((20, 10), 0.0, Centre(10, 5)) == (0, 0, 20, 10)  # type: ignore[arg-type]


@settings(deadline=None, max_examples=300)
@given(
    height=st.integers(1, 70),
    width=st.integers(1, 70),
    alpha=st.sampled_from([0.5, 1.0]),
    seed=st.integers(0, 2**32 - 1),
)
def test_the_label_share_is_the_area_that_stays(height: int, width: int, alpha: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    batch = numbered(4, height, width)
    mixed = CutMix(alpha)(batch, rng)
    own = batch.y.reshape(-1, 1, 1)
    for position in range(4):
        partner = int(mixed.partner[position])
        stays = int((mixed.x[position, 0] == own[position]).sum())
        pasted = int((mixed.x[position, 0] == partner).sum())
        if partner == position:
            assert stays == height * width
        else:
            assert stays + pasted == height * width
            assert abs(mixed.share * height * width - stays) < 1e-6, "to well within one pixel"


def test_boxes_reach_every_corner_and_never_beyond() -> None:
    rng = np.random.default_rng(0)
    boxes = np.array([draw_cut((30, 20), 0.5, rng) for _ in range(2000)])
    assert boxes.min(axis=0)[:2].tolist() == [0, 0]
    assert boxes.max(axis=0)[2:].tolist() == [30, 20]
    assert (boxes[:, 2] >= boxes[:, 0]).all()
    assert (boxes[:, 3] >= boxes[:, 1]).all()


def test_batches_that_are_no_pictures_are_refused() -> None:
    vectors = Batch(torch.zeros(4, 9), torch.zeros(4), torch.zeros(4, 1))
    with pytest.raises(DataError, match=r"cutmix works on batches of pictures .* gives the shape \(4, 9\)"):
        CutMix(1.0).draw(vectors, np.random.default_rng())
