"""The picture of a spectrogram, pixel for pixel as the authors drew it, without drawing a figure.

The authors' pictures are matplotlib figures of 500 x 500 pixels. Their colours are viridis, from the clip's own minimum
to its maximum; `wilds_targeted.audio.axes` tells their axes. So a picture is a table of colours and two lists of
indices.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from wilds_targeted.audio.axes import SAMPLE_RATE, band_of_row, frame_of_column

Floats = NDArray[np.float32]
Indices = NDArray[np.uint8]


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
    shown = indices.take(frame_of_column(frames), axis=1).take(band_of_row(bands, sample_rate), axis=0)
    picture = Image.fromarray(shown)
    picture.putpalette(palette())
    return picture.convert("RGB")


def find_colors(picture: Image.Image) -> Indices | None:
    """For each pixel its place among the 256 colours; None for a picture that has any other colour.

    A few pixels are looked at first: nearly any other picture is told from a spectrogram at once.
    """
    few = picture.resize((8, 8), Image.Resampling.NEAREST)
    if _all_places(few) is None:
        return None
    return _all_places(picture)


def _all_places(picture: Image.Image) -> Indices | None:
    pixels = _packed(picture)
    places = _place_of_key().take(_keys(pixels))
    return places if np.array_equal(_colors().take(places), pixels) else None


def _packed(picture: Image.Image) -> NDArray[np.uint32]:
    """Each pixel as one number."""
    return np.asarray(picture.convert("RGBA")).view(np.uint32)[..., 0]


def _keys(pixels: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """A number of 16 bits for each pixel, by which viridis's colours can be told apart."""
    return (pixels ^ (pixels >> np.uint32(12))) & np.uint32(0xFFFF)


@functools.cache
def _place_of_key() -> Indices:
    table = np.zeros(1 << 16, dtype=np.uint8)
    table[_keys(_colors())] = np.arange(256)
    return table


@functools.cache
def _colors() -> NDArray[np.uint32]:
    return _packed(Image.frombytes("RGB", (256, 1), palette())).reshape(-1)


@functools.cache
def palette() -> bytes:
    """The 256 colours, three bytes each: viridis, rounded as matplotlib's renderer rounds them."""
    from matplotlib import colormaps

    colors = colormaps["viridis"](np.arange(256))[:, :3]
    return np.round(colors * 255).astype(np.uint8).tobytes()
