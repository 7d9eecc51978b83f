"""The stains' map for whole values from 0 to 255, compiled: three tables a colour instead of an exponential a pixel.

From log P = log x A + b follows P_j = exp(b_j) (x_1 ^ A_1j) (x_2 ^ A_2j) (x_3 ^ A_3j). A byte has 256 values, so nine
tables of that size hold all powers, and a pixel costs nine look-ups and six products.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numba
import numpy as np
from numpy.typing import NDArray

from wilds_targeted.augmentations.stains import EPS

_LOGARITHMS = np.log(np.arange(256) + EPS)


def _map_pixels(x: NDArray[np.uint8], maps: NDArray[np.float64], out: NDArray[np.uint8]) -> None:
    powers = np.empty((3, 3, 256))
    for picture in range(x.shape[0]):
        if picture < maps.shape[0]:
            for source in range(3):
                for target in range(3):
                    exponent = maps[picture, 3 * source + target]
                    constant = maps[picture, 9 + target] if source == 0 else 0.0
                    for value in range(256):
                        powers[target, source, value] = math.exp(exponent * _LOGARITHMS[value] + constant)
        for pixel in range(x.shape[1]):
            red, green, blue = x[picture, pixel, 0], x[picture, pixel, 1], x[picture, pixel, 2]
            for target in range(3):
                mapped = powers[target, 0, red] * powers[target, 1, green] * powers[target, 2, blue]
                # The conversion to a byte cuts off what is behind the point.
                out[picture, pixel, target] = np.uint8(min(mapped - EPS + 0.5, 255.0))


def _compiled() -> Callable[[NDArray[np.uint8], NDArray[np.float64], NDArray[np.uint8]], None]:
    bytes_in = numba.types.Array(numba.uint8, 3, "A", readonly=True)
    signature = numba.void(bytes_in, numba.float64[:, ::1], numba.uint8[:, :, :])
    try:
        compiled = numba.njit(signature, nogil=True, cache=True)(_map_pixels)
    except RuntimeError:  # nowhere to keep the compiled code: it is made anew in every process
        compiled = numba.njit(signature, nogil=True)(_map_pixels)
    return compiled  # type: ignore[no-any-return]


# Made on import and not at the first call: that would be in each of a loader's workers, in each epoch again.
map_pixels = _compiled()
"""``map_pixels(x, maps, out)`` maps pictures (N, P, 3), in any order in memory, and writes them to ``out``.

Each row of ``maps`` holds the nine numbers of A, row by row, and the three of b. Where there are fewer rows than
pictures, the last one serves the rest.
"""
