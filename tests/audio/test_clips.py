"""Clips: real files in real formats, and one clear line for broken ones."""

from __future__ import annotations

import zlib
from pathlib import Path

import numpy as np
import pytest
import soundfile

from wilds_targeted.audio.clips import read_clip
from wilds_targeted.errors import DataError


@pytest.fixture
def samples() -> np.ndarray:
    return np.random.default_rng(0).integers(-20_000, 20_000, 3200).astype(np.int16)


@pytest.mark.parametrize("ending", ["flac", "wav"])
def test_reads(ending: str, samples: np.ndarray, tmp_path: Path) -> None:
    path = tmp_path / f"clip.{ending}"
    soundfile.write(path, samples, 32_000)
    waveform, rate = read_clip(path, f"{zlib.crc32(path.read_bytes()):08x}")
    assert rate == 32_000
    assert waveform.dtype == np.float32
    assert np.array_equal(waveform, (samples / 32_768).astype(np.float32))


def test_channels_are_averaged(samples: np.ndarray, tmp_path: Path) -> None:
    path = tmp_path / "clip.wav"
    soundfile.write(path, np.stack([samples, np.zeros_like(samples)], axis=1), 32_000)
    waveform, _ = read_clip(path)
    assert waveform == pytest.approx(samples / 65_536, abs=1e-6)


def test_another_file_is_refused(samples: np.ndarray, tmp_path: Path) -> None:
    path = tmp_path / "clip.flac"
    soundfile.write(path, samples, 32_000)
    with pytest.raises(
        DataError, match=r"clip\.flac: the clip's checksum is [0-9a-f]{8}, where the table tells 00000000"
    ):
        read_clip(path, "00000000")


@pytest.mark.parametrize(
    ("content", "told"),
    [(None, "can't be read"), (b"", "no audio that can be decoded"), (b"fLaC" + bytes(200), "no audio")],
)
def test_what_is_no_clip(content: bytes | None, told: str, tmp_path: Path) -> None:
    path = tmp_path / "clip.flac"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DataError, match=told):
        read_clip(path)


def test_samples_that_are_no_numbers(tmp_path: Path) -> None:
    path = tmp_path / "clip.wav"
    soundfile.write(path, np.array([0.1, np.nan, 0.2], dtype=np.float32), 32_000, subtype="FLOAT")
    with pytest.raises(DataError, match="samples that are no numbers"):
        read_clip(path)


def test_no_samples(tmp_path: Path) -> None:
    path = tmp_path / "clip.wav"
    soundfile.write(path, np.zeros(0, dtype=np.int16), 32_000)
    with pytest.raises(DataError, match="has no samples"):
        read_clip(path)
