"""The picture of a spectrogram, pixel for pixel as the authors drew it, without drawing a figure.

The authors' pictures come from `librosa.display.specshow` with ``y_axis='mel'`` and ``cmap=None`` on a matplotlib
figure of 500 x 500 pixels. Their colours are viridis, from the clip's own minimum to its maximum. Their frequency axis
is "symlog": linear below 1000 Hz and logarithmic (base 2) above, so mel bands are not evenly spaced in them. Every
pixel shows the band and frame whose place its centre falls into; so the whole picture is two lists of indices.
"""

from __future__ import annotations

import functools
import math

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from wilds_targeted.audio.mel import HOP, MELS, Floats, decibels, mel_power
from wilds_targeted.foreground import Box

SIZE = 500
"""Width and height in pixels."""

SAMPLE_RATE = 32_000
CLIP_SECONDS = 5.0
_LINEAR_BELOW = 1000.0

Indices = NDArray[np.uint8]
RelativeBox = tuple[float, float, float, float]
"""Left, top, width and height, as shares of the picture's width and height."""


def draw_waveform(waveform: Floats, sample_rate: int = SAMPLE_RATE) -> Image.Image:
    """The picture of a clip."""
    return draw_power(mel_power(waveform, sample_rate), sample_rate)


def draw_power(power: Floats, sample_rate: int = SAMPLE_RATE) -> Image.Image:
    """The picture of a mel spectrogram, as `mel_power` gives it."""
    return draw_colors(color_indices(decibels(power)), sample_rate)


def color_indices(level_db: Floats) -> Indices:
    """For each band and frame its place among the 256 colours, from the smallest level to the largest.

    This is all that the picture shows of a clip, and what is kept of it on disk.
    """
    low, high = level_db.min(), level_db.max()
    if low == high:
        return np.zeros(level_db.shape, dtype=np.uint8)
    # In the very order and precision of matplotlib: another one moves some values into a neighbouring colour.
    share = (level_db - low) / (high - low)
    indices: Indices = np.minimum(share * 256, 255).astype(np.uint8)
    return indices


def draw_colors(indices: Indices, sample_rate: int = SAMPLE_RATE) -> Image.Image:
    """The picture whose bands and frames have these colours."""
    bands, frames = indices.shape
    shown = indices.take(_frame_of_column(frames), axis=1).take(_band_of_row(bands, sample_rate), axis=0)
    picture = Image.fromarray(shown)
    picture.putpalette(palette())
    return picture.convert("RGB")


def find_colors(picture: Image.Image) -> Indices | None:
    """For each pixel its place among the 256 colours; None for a picture that has any other colour.

    A few pixels are looked at first: any other picture is told from a spectrogram at once.
    """
    pixels = _packed(picture)
    colors = _packed(Image.frombytes("RGB", (256, 1), palette())).reshape(-1)
    some = pixels.reshape(-1)[:: max(1, pixels.size // 100)]
    if not np.array_equal(colors.take(_places(some)), some):
        return None
    places = _places(pixels)
    return places if np.array_equal(colors.take(places), pixels) else None


def _packed(picture: Image.Image) -> NDArray[np.uint32]:
    """Each pixel as one number."""
    return np.asarray(picture.convert("RGBA")).view(np.uint32)[..., 0]


def _places(pixels: NDArray[np.uint32]) -> Indices:
    """The place of each pixel's colour, if it has one."""
    return _place_of_key().take(_keys(pixels))


def _keys(pixels: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """A number of 16 bits for each pixel, by which viridis's colours can be told apart."""
    return (pixels ^ (pixels >> 12)) & 0xFFFF


@functools.cache
def _place_of_key() -> Indices:
    table = np.zeros(1 << 16, dtype=np.uint8)
    table[_keys(_packed(Image.frombytes("RGB", (256, 1), palette())).reshape(-1))] = np.arange(256)
    return table


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
    frames = 1 + math.floor(seconds * sample_rate / HOP)
    left, right = ((time + hop / 2) / (frames * hop) for time in (start_s, end_s))
    edges = _band_edges(MELS, sample_rate)
    low, high = (float(value) for value in _on_axis(np.array([low_hz, high_hz])))
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


def _on_axis(hertz: NDArray[np.float64]) -> NDArray[np.float64]:
    """Where frequencies are on the axis: matplotlib's symmetric logarithm of base 2, linear below 1000 Hz."""
    octaves = np.log2(np.maximum(hertz, _LINEAR_BELOW) / _LINEAR_BELOW)
    return np.where(hertz <= _LINEAR_BELOW, 2 * hertz, _LINEAR_BELOW * (2 + octaves))


@functools.cache
def _band_edges(bands: int, sample_rate: int) -> NDArray[np.float64]:
    """Where on the axis the bands meet."""
    from librosa import mel_frequencies  # takes seconds, once in a process

    return _on_axis(_edges(mel_frequencies(bands, fmin=0.0, fmax=sample_rate / 2)))


@functools.cache
def _band_of_row(bands: int, sample_rate: int) -> NDArray[np.intp]:
    """For each row of pixels, from the top, the band that it shows."""
    return _nearest(_band_edges(bands, sample_rate))[::-1].copy()


@functools.cache
def _frame_of_column(frames: int) -> NDArray[np.intp]:
    """For each column of pixels the frame that it shows."""
    return _nearest(_edges(np.arange(frames, dtype=np.float64)))


def _edges(centres: NDArray[np.float64]) -> NDArray[np.float64]:
    """Half way between neighbours; at both ends as far outside as the last ones are inside."""
    if len(centres) < 2:
        return np.array([centres[0] - 0.5, centres[0] + 0.5])
    middles = (centres[1:] + centres[:-1]) / 2
    return np.concatenate([[2 * centres[0] - middles[0]], middles, [2 * centres[-1] - middles[-1]]])


def _nearest(edges: NDArray[np.float64]) -> NDArray[np.intp]:
    """For each pixel the interval between edges that its centre falls into."""
    places = (edges - edges[0]) / (edges[-1] - edges[0]) * SIZE
    found = np.searchsorted(places, np.arange(SIZE) + 0.5, side="right") - 1
    return np.clip(found, 0, len(edges) - 2)


@functools.cache
def palette() -> bytes:
    """The 256 colours, three bytes each: viridis, rounded as matplotlib's renderer rounds them."""
    from matplotlib import colormaps

    colors = colormaps["viridis"](np.arange(256))[:, :3]
    return np.round(colors * 255).astype(np.uint8).tobytes()
