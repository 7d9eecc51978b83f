"""Places in a picture, for clips of any length."""

from __future__ import annotations

import pytest

from wilds_targeted.audio.axes import HOP, count_frames, relative_box


def test_no_sample_is_lost_by_rounding() -> None:
    """Of a clip that ends with a frame, one sample less would be a frame less."""
    lost = 0
    for rate in (22_050, 32_000, 44_100, 48_000):
        for frames in range(1, 1200):
            samples = frames * HOP
            seconds = samples / rate
            lost += seconds * rate < samples
            _, _, width, _ = relative_box(0, seconds, 0, rate / 2, seconds=seconds, sample_rate=rate)
            assert width == pytest.approx(samples / HOP / count_frames(samples), rel=1e-9)
    assert lost
