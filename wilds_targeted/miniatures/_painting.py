"""Drawing with smooth edges: a supersampled canvas, smooth noise, and colours as numbers in [0, 1]."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

Floats = npt.NDArray[np.float32]
Colour = tuple[float, float, float]
Point = tuple[float, float]

_CIRCLE = [(math.cos(turn), math.sin(turn)) for turn in (k * math.tau / 24 for k in range(24))]


def mix(first: Colour, second: Colour, share: float) -> Colour:
    """The colour that lies `share` of the way from `first` to `second`."""
    a, b, c = (x + share * (y - x) for x, y in zip(first, second, strict=True))
    return a, b, c


def vary(colour: Colour, rng: np.random.Generator, spread: float = 0.12) -> Colour:
    """The colour at another brightness and, by a third of that, another hue."""
    factor = np.exp(spread * (rng.standard_normal() + rng.standard_normal(3) / 3))
    a, b, c = (float(x * f) for x, f in zip(colour, factor, strict=True))
    return a, b, c


def smooth_noise(rng: np.random.Generator, height: int, width: int, *, cells: Point, octaves: int = 3) -> Floats:
    """Fractal value noise around 0, within [-1, 1].

    Args:
        rng: Where the values are drawn from.
        height: Rows of the result.
        width: Columns of the result.
        cells: How many blots the coarsest octave has across and down.
        octaves: How many times detail is added, each at half the size and half the strength.
    """
    total = np.zeros((height, width), np.float32)
    weights = 0.5 ** np.arange(octaves)
    for octave, weight in enumerate(weights):
        across, down = (max(2, round(count * 2**octave)) for count in cells)
        grid = Image.fromarray(rng.uniform(-1, 1, (down, across)).astype(np.float32))
        total += weight * np.asarray(grid.resize((width, height), Image.Resampling.BICUBIC))
    noise: Floats = np.clip(total / weights.sum(), -1, 1).astype(np.float32)
    return noise


class Canvas:
    """A picture that is drawn larger than wanted, so that edges come out smooth.

    Positions and sizes are in units of the picture's height: x runs from 0 to `aspect`, y from 0 (top) to 1. Nothing
    drawn depends on the number of pixels, so that a world looks the same at every size.

    Args:
        width: Columns of the finished picture.
        height: Rows of the finished picture.
        scale: How many times larger it is drawn.
    """

    def __init__(self, width: int, height: int, *, scale: int) -> None:
        self.size = (width, height)
        self.aspect = width / height
        self._unit = height * scale
        self.image = Image.new("RGBA", (width * scale, height * scale))
        self._draw = ImageDraw.Draw(self.image)

    def fill(self, pixels: Floats) -> None:
        """Cover the whole canvas with rows x columns x RGB, of the size at which it is drawn."""
        self.image.paste(Image.fromarray(to_bytes(pixels)))

    def polygon(self, points: Sequence[Point], colour: Colour) -> None:
        """A filled polygon."""
        self._draw.polygon([self._pixel(point) for point in points], fill=_rgb(colour))

    def blob(self, centre: Point, radii: Point, colour: Colour, *, angle: float = 0.0) -> None:
        """A filled ellipse, turned clockwise by `angle` radians."""
        (x, y), (along, across) = centre, radii
        if angle == 0:
            corners = [self._pixel((x - along, y - across)), self._pixel((x + along, y + across))]
            self._draw.ellipse(corners, fill=_rgb(colour))
            return
        cos, sin = math.cos(angle), math.sin(angle)
        rim = [(along * u, across * v) for u, v in _CIRCLE]
        self.polygon([(x + u * cos - v * sin, y + u * sin + v * cos) for u, v in rim], colour)

    def line(self, points: Sequence[Point], width: float, colour: Colour) -> None:
        """A line of round joints through the points."""
        pixels = max(1, round(width * self._unit))
        self._draw.line([self._pixel(p) for p in points], fill=_rgb(colour), width=pixels, joint="curve")

    def finish(self) -> Floats:
        """The picture at its own size, rows x columns x RGBA in [0, 1]."""
        # Pillow weighs colours by their alpha when it shrinks RGBA, so edges do not darken.
        shrunk = self.image.resize(self.size, Image.Resampling.BOX)
        return np.asarray(shrunk, dtype=np.float32) / np.float32(255)

    def _pixel(self, point: Point) -> Point:
        return point[0] * self._unit, point[1] * self._unit


def to_bytes(pixels: Floats) -> npt.NDArray[np.uint8]:
    """From [0, 1] to 0..255, clipped."""
    return (np.clip(pixels, 0, 1) * 255 + 0.5).astype(np.uint8)


def _rgb(colour: Colour) -> tuple[int, int, int]:
    red, green, blue = (round(255 * min(max(channel, 0.0), 1.0)) for channel in colour)
    return red, green, blue
