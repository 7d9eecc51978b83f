"""Mel spectrograms by librosa's definition, computed by torch: the same numbers in a fraction of the time."""

from __future__ import annotations

import functools

import numpy as np
import torch
from PIL import Image

from wilds_targeted.audio.axes import HOP, MELS, SAMPLE_RATE
from wilds_targeted.audio.picture import Floats, color_indices, draw_colors

N_FFT = 2048
"""The window in samples. It, the step and the number of bands are librosa's defaults, and the authors'."""

RANGE_DB = 80.0
"""What is fainter than the maximum by more than this is shown as this."""
_FAINTEST = 1e-10


def draw_waveform(waveform: Floats, sample_rate: int = SAMPLE_RATE) -> Image.Image:
    """The picture of a clip."""
    return draw_power(mel_power(waveform, sample_rate), sample_rate)


def draw_power(power: Floats, sample_rate: int = SAMPLE_RATE) -> Image.Image:
    """The picture of a mel spectrogram, as `mel_power` gives it."""
    return draw_colors(color_indices(decibels(power)), sample_rate)


def mel_power(waveform: Floats, sample_rate: int) -> Floats:
    """The power in each mel band and frame, as `librosa.feature.melspectrogram` gives it for these settings.

    Args:
        waveform: Samples of one channel. They are scaled to a peak of 1 first, as the authors do: it matters only to
            where silence ends.
        sample_rate: In hertz; the bands reach up to its half.

    Returns:
        An array (mels, frames) with a frame for every 512 samples, the first one centred on the first sample.
    """
    peak = float(np.abs(waveform).max(initial=0.0))
    samples = torch.from_numpy(np.ascontiguousarray(waveform / peak if peak > 0 else waveform, dtype=np.float32))
    spectrum = torch.stft(samples, N_FFT, HOP, window=_window(), pad_mode="constant", return_complex=True)
    squares = torch.view_as_real(spectrum).square()  # half of what `abs` takes, with its square root
    power = squares[..., 0] + squares[..., 1]
    result: Floats = torch.cat([filters @ power[bins] for bins, filters in filter_blocks(sample_rate)]).numpy()
    return result


def decibels(power: Floats) -> Floats:
    """Power in decibels relative to its maximum, from -80 to 0, as `librosa.power_to_db` with ``ref=np.max``."""
    level = 10.0 * np.log10(np.maximum(power, _FAINTEST))
    level -= level.max()
    return np.maximum(level, -RANGE_DB).astype(np.float32, copy=False)


@functools.cache
def _window() -> torch.Tensor:
    return torch.hann_window(N_FFT)


@functools.cache
def filter_blocks(sample_rate: int) -> tuple[tuple[slice, torch.Tensor], ...]:
    """The mel filters in blocks of neighbouring bands, each with the bins of the spectrum that it looks at.

    A band looks at few of the 1025 bins: multiplying by blocks takes a third of the time.
    """
    from librosa.filters import mel  # takes seconds: not needed where pictures are kept

    blocks = []
    for filters in np.split(mel(sr=sample_rate, n_fft=N_FFT, n_mels=MELS), 8):
        used = np.flatnonzero(filters.any(axis=0))
        bins = slice(int(used[0]), int(used[-1]) + 1)
        blocks.append((bins, torch.from_numpy(filters[:, bins].copy())))
    return tuple(blocks)
