"""One draw from torch, one stream an example."""

from __future__ import annotations

import pickle

import numpy as np
import torch

from wilds_targeted.randomness import ExampleGenerator


def test_the_stream_is_philox_with_torchs_draw_as_its_key() -> None:
    torch.manual_seed(7)
    key = torch.empty((), dtype=torch.int64).random_().item()
    expected = np.random.Generator(np.random.Philox(key=key)).random(5)
    torch.manual_seed(7)
    assert np.array_equal(ExampleGenerator().restart().random(5), expected)


def test_it_starts_anew_whatever_was_drawn_before() -> None:
    generator = ExampleGenerator()
    torch.manual_seed(7)
    first = generator.restart().random(3)
    generator.restart().integers(0, 5, 7, dtype=np.uint32)  # leaves half a word behind
    torch.manual_seed(7)
    assert np.array_equal(generator.restart().random(3), first)


def test_it_survives_pickling() -> None:
    generator = ExampleGenerator()
    generator.restart().random(3)
    copied = pickle.loads(pickle.dumps(generator))
    torch.manual_seed(7)
    first = generator.restart().random(3)
    torch.manual_seed(7)
    assert np.array_equal(copied.restart().random(3), first)


def test_streams_of_neighbouring_keys_are_unlike() -> None:
    streams = np.array([np.random.Generator(np.random.Philox(key=key)).random(1000) for key in range(8)])
    correlations = np.corrcoef(streams)[~np.eye(8, dtype=bool)]
    assert np.abs(correlations).max() < 5 / np.sqrt(1000)
