"""Where in a spectrogram's picture a band, a frame or a call is: the axes of the authors' pictures.

They come from `librosa.display.specshow` with ``y_axis='mel'``: the frequency axis is "symlog", linear below 1000 Hz
and logarithmic (base 2) above, so mel bands are not evenly spaced; every pixel shows the band and frame whose place its
centre falls into. Nothing heavy is imported here: the build maps boxes, and loaders draw kept spectrograms, without
torch and librosa.
"""

from __future__ import annotations

import functools
import math

import numpy as np
from numpy.typing import NDArray

from wilds_targeted.foreground import Box

SIZE = 500
"""Width and height of the picture in pixels."""

SAMPLE_RATE = 32_000
CLIP_SECONDS = 5.0

HOP, MELS = 512, 128
"""The step between frames in samples, and how many mel bands."""

_LINEAR_BELOW = 1000.0

Doubles = NDArray[np.float64]
RelativeBox = tuple[float, float, float, float]
"""Left, top, width and height, as shares of the picture's width and height."""


def count_frames(samples: int) -> int:
    """How many frames a clip of so many samples has: one for every step, the first centred on the first sample."""
    return 1 + samples // HOP


def relative_box(
    start_s: float,
    end_s: float,
    low_hz: float,
    high_hz: float,
    *,
    seconds: float = CLIP_SECONDS,
    sample_rate: int = SAMPLE_RATE,
) -> RelativeBox:
    """Where in the picture a call is.

    Args:
        start_s: When it begins, in seconds from the clip's start.
        end_s: When it ends.
        low_hz: Its lowest frequency.
        high_hz: Its highest frequency.
        seconds: The clip's duration.
        sample_rate: The clip's sampling rate.

    >>> [round(value, 3) for value in relative_box(0, 5, 0, 16_000)]
    [0.002, 0.003, 0.998, 0.992]
    """
    hop = HOP / sample_rate
    across = count_frames(round(seconds * sample_rate)) * hop
    left, right = ((time + hop / 2) / across for time in (start_s, end_s))
    edges = _band_edges(MELS, sample_rate)
    low, high = on_axis(np.array([low_hz, high_hz]))
    top, bottom = (float((edges[-1] - place) / (edges[-1] - edges[0])) for place in (high, low))
    return left, top, right - left, bottom - top


def pixel_box(relative: RelativeBox, size: tuple[int, int] = (SIZE, SIZE)) -> Box:
    """The pixels that a relative box touches, as far as they are in the picture.

    >>> pixel_box((0.1, 0.2, 0.3004, 0.4))
    (50, 100, 201, 300)
    """
    x, y, across, down = relative
    width, height = size
    # A box's corner is stated with some digits: what is on a pixel's edge but for them does not touch the next one.
    left, top = (math.floor(round(share * extent, 3)) for share, extent in ((x, width), (y, height)))
    right, bottom = (math.ceil(round(share * extent, 3)) for share, extent in ((x + across, width), (y + down, height)))
    return max(left, 0), max(top, 0), min(right, width), min(bottom, height)


def mel_frequencies(bands: int, highest_hz: float) -> Doubles:
    """The frequencies of the mel bands, from 0: Slaney's scale, as `librosa.mel_frequencies` has it.

    The scale is linear below 1000 Hz, 3 mels for 200 Hz; above, 27 mels are a factor of 6.4.
    """
    above = 27 / math.log(6.4)
    highest = highest_hz * 3 / 200 if highest_hz < 1000 else 15 + above * math.log(highest_hz / 1000)
    mels = np.linspace(0, highest, bands)
    return np.where(mels < 15, mels * 200 / 3, 1000 * np.exp((mels - 15) / above))


def on_axis(hertz: Doubles) -> Doubles:
    """Where frequencies are on the axis: matplotlib's symmetric logarithm of base 2, linear below 1000 Hz."""
    octaves = np.log2(np.maximum(hertz, _LINEAR_BELOW) / _LINEAR_BELOW)
    return np.where(hertz <= _LINEAR_BELOW, 2 * hertz, _LINEAR_BELOW * (2 + octaves))


@functools.cache
def band_of_row(bands: int, sample_rate: int) -> NDArray[np.intp]:
    """For each row of pixels, from the top, the band that it shows."""
    return _nearest(_band_edges(bands, sample_rate))[::-1].copy()


@functools.cache
def frame_of_column(frames: int) -> NDArray[np.intp]:
    """For each column of pixels the frame that it shows."""
    return _nearest(_edges(np.arange(frames, dtype=np.float64)))


@functools.cache
def _band_edges(bands: int, sample_rate: int) -> Doubles:
    """Where on the axis the bands meet."""
    return on_axis(_edges(mel_frequencies(bands, sample_rate / 2)))


def _edges(centres: Doubles) -> Doubles:
    """Half way between neighbours; at both ends as far outside as the last ones are inside."""
    if len(centres) < 2:
        return np.array([centres[0] - 0.5, centres[0] + 0.5])
    middles = (centres[1:] + centres[:-1]) / 2
    return np.concatenate([[2 * centres[0] - middles[0]], middles, [2 * centres[-1] - middles[-1]]])


def _nearest(edges: Doubles) -> NDArray[np.intp]:
    """For each pixel the interval between edges that its centre falls into."""
    places = (edges - edges[0]) / (edges[-1] - edges[0]) * SIZE
    found = np.searchsorted(places, np.arange(SIZE) + 0.5, side="right") - 1
    return np.clip(found, 0, len(edges) - 2)
