"""Pools of backgrounds, against counts by hand."""

from __future__ import annotations

import numpy as np
import pytest

from wilds_targeted.augmentations.backgrounds import BackgroundPools

ROWS = [10, 11, 12, 20, 21, 30, 31, 32]
CAMERAS = [3, 1, 3, 1, 2, 3, 2, 1]


@pytest.fixture
def pools() -> BackgroundPools:
    return BackgroundPools(ROWS, CAMERAS, {0: [1, 2, 3], 5: [1, 3], 6: [2], 7: [9], 8: []})


@pytest.mark.parametrize(("key", "rows"), [(0, ROWS), (5, [10, 11, 12, 20, 30, 32]), (6, [21, 31]), (7, []), (4, [])])
def test_a_pool_holds_the_rows_of_its_cameras(pools: BackgroundPools, key: int, rows: list[int]) -> None:
    assert sorted(pools.rows(key)) == rows
    assert pools.size(key) == len(rows)


def test_every_image_of_a_pool_is_equally_likely(pools: BackgroundPools) -> None:
    rng = np.random.default_rng(0)
    drawn = [pools.draw(5, rng) for _ in range(12_000)]
    rows, counts = np.unique(drawn, return_counts=True)
    assert rows.tolist() == [10, 11, 12, 20, 30, 32]
    # Five standard deviations of a binomial with n = 12,000 and p = 1/6.
    assert np.abs(counts - 2000).max() < 5 * np.sqrt(12_000 * 1 / 6 * 5 / 6)


def test_an_empty_pool_gives_nothing_and_draws_nothing(pools: BackgroundPools) -> None:
    rng = np.random.default_rng(0)
    before = rng.bit_generator.state
    assert pools.draw(7, rng) is None
    assert pools.draw(99, rng) is None
    assert rng.bit_generator.state == before
