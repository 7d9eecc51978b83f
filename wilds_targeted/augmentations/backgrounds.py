"""Which empty pictures an object may be pasted onto, chosen in constant time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray


class BackgroundPools:
    """Empty images in pools, each pool the images of a set of cameras.

    The empty rows are sorted by camera once, so a pool is a list of runs; a draw finds its run by bisection over the
    pool's cameras (at most a few hundred), whatever the number of images. Every image of a pool is equally likely.

    Args:
        empty_rows: The rows of the empty images.
        cameras: The camera of each of these rows.
        pools: For each key the cameras whose empty images form its pool.
    """

    def __init__(self, empty_rows: ArrayLike, cameras: ArrayLike, pools: Mapping[int, Iterable[int]]) -> None:
        rows = np.asarray(empty_rows, dtype=np.int64)
        camera_of_row = np.asarray(cameras, dtype=np.int64)
        order = np.argsort(camera_of_row, kind="stable")
        self._rows = rows[order]
        known, first, count = np.unique(camera_of_row[order], return_index=True, return_counts=True)
        runs = {int(camera): (int(start), int(size)) for camera, start, size in zip(known, first, count, strict=True)}
        self._pools: dict[int, tuple[NDArray[np.int64], NDArray[np.int64]]] = {}
        for key, members in pools.items():
            mine = [runs[camera] for camera in sorted(set(members)) if camera in runs]
            if mine:
                starts, sizes = np.array(mine, dtype=np.int64).T
                self._pools[int(key)] = (starts, np.cumsum(sizes))

    def size(self, key: int) -> int:
        """How many images are in that pool; 0 where there is none."""
        return int(self._pools[key][1][-1]) if key in self._pools else 0

    def rows(self, key: int) -> NDArray[np.int64]:
        """All rows of that pool."""
        if key not in self._pools:
            return np.empty(0, dtype=np.int64)
        starts, ends = self._pools[key]
        sizes = np.diff(ends, prepend=0)
        return np.concatenate([self._rows[start : start + size] for start, size in zip(starts, sizes, strict=True)])

    def draw(self, key: int, rng: np.random.Generator) -> int | None:
        """A row of that pool, each equally likely; None where the pool is empty."""
        pool = self._pools.get(key)
        if pool is None:
            return None
        starts, ends = pool
        position = int(rng.integers(ends[-1]))
        run = int(np.searchsorted(ends, position, side="right"))
        before = int(ends[run - 1]) if run else 0
        return int(self._rows[int(starts[run]) + position - before])
