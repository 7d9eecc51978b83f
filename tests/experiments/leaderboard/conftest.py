"""Runs to submit: made once, and copied by tests that break them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from made_runs import Copy, make_runs

from wilds_targeted.api import get_dataset
from wilds_targeted.bridge.checkout import CHECKOUT_VARIABLE, find_checkout
from wilds_targeted.errors import CheckoutError
from wilds_targeted.files import CACHE_VARIABLE


@pytest.fixture(scope="session")
def camelyon(camelyon_miniature: Path) -> Any:
    return get_dataset("camelyon17", root_dir=camelyon_miniature)


@pytest.fixture(scope="session")
def camelyon_runs(camelyon: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty runs on Camelyon17, ``seed0`` to ``seed19``."""
    return make_runs(tmp_path_factory.mktemp("camelyon-runs"), camelyon, range(20), "--transform", "stain_color_jitter")


@pytest.fixture
def copy(camelyon_runs: Path, tmp_path: Path) -> Copy:
    """Copy the runs of some seeds, 0-9 unless told otherwise, into one folder."""

    def copy(*seeds: int, name: str = "runs") -> Path:
        for seed in seeds or range(10):
            shutil.copytree(camelyon_runs / f"seed{seed}", tmp_path / name / f"seed{seed}")
        return tmp_path / name

    return copy


@pytest.fixture
def no_checkout(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No WILDS checkout is to be found."""
    monkeypatch.delenv(CHECKOUT_VARIABLE, raising=False)
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="session")
def real_checkout() -> Path:
    """A real WILDS checkout."""
    try:
        return find_checkout().resolve()
    except CheckoutError:
        pytest.skip(f"no real WILDS checkout; set {CHECKOUT_VARIABLE}")


@pytest.fixture
def checkout(examples: Path, tmp_path: Path) -> Path:
    """A checkout with our stand-in's scripts, or with WILDS's own."""
    (tmp_path / "wilds").mkdir()
    (tmp_path / "wilds" / "examples").symlink_to(examples)
    return tmp_path / "wilds"
