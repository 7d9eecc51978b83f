"""A recording streams through the build: its length hardly matters to the memory."""

from __future__ import annotations

import pytest

from benchmarks.birdcalls_build import measure


@pytest.mark.slow
def test_an_hour_needs_no_more_memory_than_six_minutes() -> None:
    """An hour of sound is 220 MB of samples."""
    short, long = measure(6), measure(60)
    assert (short["clips"], long["clips"]) == (72, 720)
    assert long["peak_mb"] < short["peak_mb"] + 30
