"""Compare what two runs have written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

TENSOR_FILES = (".pth", ".pt")


def assert_same_outputs(one: Path, other: Path) -> None:
    """The same files, models and states tensor by tensor, all others byte by byte."""
    names = sorted(path.name for path in one.iterdir())
    assert names == sorted(path.name for path in other.iterdir())
    for name in names:
        if name.endswith(TENSOR_FILES):
            assert_same(load(one / name), load(other / name), name)
        else:
            assert (one / name).read_bytes() == (other / name).read_bytes(), name


def load(path: Path) -> Any:
    return torch.load(path, weights_only=True)


def assert_same(one: Any, other: Any, where: str) -> None:
    assert type(one) is type(other), where
    if isinstance(one, torch.Tensor):
        assert one.dtype == other.dtype, where
        assert torch.equal(one, other), where
    elif isinstance(one, dict):
        assert list(one) == list(other), where
        for key in one:
            assert_same(one[key], other[key], f"{where}: {key}")
    elif isinstance(one, list | tuple):
        assert len(one) == len(other), where
        for position, (a, b) in enumerate(zip(one, other, strict=True)):
            assert_same(a, b, f"{where}: {position}")
    else:
        assert one == other, where
