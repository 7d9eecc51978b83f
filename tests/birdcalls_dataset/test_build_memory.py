"""A recording streams through the build: its length hardly matters to the memory."""

from __future__ import annotations

import pytest

from benchmarks.birdcalls_build import measure


@pytest.mark.slow
def test_an_hour_needs_no_more_memory_than_six_minutes() -> None:
    """An hour of sound is 220 MB of samples."""
    short, long = measure(6), measure(60)
    assert (short["clips"], long["clips"]) == (72, 720)
    assert long["cut_mb"] < short["cut_mb"] + 30
    assert long["all_mb"] < short["all_mb"] + 50
