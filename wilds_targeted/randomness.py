"""One draw from torch seeds a generator for one example."""

from __future__ import annotations

import numpy as np
import torch


class ExampleGenerator:
    """A numpy generator that starts anew for every example.

    Torch's global generator is the one that a loader seeds per worker, and that a run saves and restores; each example
    takes a single 63-bit draw from it. Philox is keyed by that number: any two keys give independent streams, and
    setting the key takes microseconds, where `numpy.random.default_rng` takes a tenth of a millisecond between
    two images, as long as pasting the animal.
    """

    def __init__(self) -> None:
        self._bits = np.random.Philox(key=0)
        self._fresh = self._bits.state
        self._generator = np.random.Generator(self._bits)

    def restart(self) -> np.random.Generator:
        """The generator, keyed by a new draw from torch."""
        self._fresh["state"]["key"][0] = torch.empty((), dtype=torch.int64).random_().item()
        self._bits.state = self._fresh
        return self._generator
