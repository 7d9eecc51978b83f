"""What a camera looks at when no animal is there.

The habitat decides what kind of things grow (the robust feature: the same for all its cameras); where they stand,
how large they are, and which landmark lies among them is each camera's own (the spurious feature). Landmarks are of
the same kinds everywhere, so that they tell cameras apart but not habitats.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from wilds_targeted.miniatures._painting import Canvas, Colour, Floats, mix, smooth_noise, vary

_SCALE = 2

_BARK: Colour = (0.30, 0.24, 0.18)
_LEAF: Colour = (0.20, 0.40, 0.16)
_LITTER: Colour = (0.42, 0.34, 0.22)
_STRAW: Colour = (0.76, 0.64, 0.36)
_ACACIA: Colour = (0.36, 0.42, 0.20)
_SNOW: Colour = (0.88, 0.90, 0.94)
_SAGE: Colour = (0.46, 0.50, 0.38)
_STONE: Colour = (0.50, 0.48, 0.46)


@dataclass(frozen=True)
class Scene:
    """A camera's view.

    Attributes:
        pixels: Rows x columns x RGB in [0, 1], in full light.
        ground_line: Where the ground begins, as a share of the height from the top.
    """

    pixels: Floats
    ground_line: float


@dataclass(frozen=True)
class _Site:
    canvas: Canvas
    rng: np.random.Generator
    ground_line: float

    def across(self) -> float:
        """Somewhere between the left and the right edge."""
        return float(self.rng.uniform(0, self.canvas.aspect))

    def depths(self, count: int, *, near: float = 1.0) -> list[float]:
        """Where on the ground `count` things stand, from far to near, so that near ones are drawn last."""
        return sorted(self.rng.uniform(self.ground_line + 0.02, near, count).tolist())

    def size_at(self, depth: float) -> float:
        """How large things are that stand there: 1 at the bottom of the picture, small at the horizon."""
        return 0.35 + 0.65 * (depth - self.ground_line) / (1 - self.ground_line)


def paint_scene(habitat: int, rng: np.random.Generator, width: int, height: int) -> Scene:
    """Draw one camera's view.

    Args:
        habitat: 0 rain forest, 1 savanna, 2 steppe.
        rng: The camera's own generator.
        width: Columns.
        height: Rows.
    """
    canvas = Canvas(width, height, scale=_SCALE)
    site = _Site(canvas, rng, float(rng.uniform(0.34, 0.56)))
    _PAINTERS[habitat](site)
    for kind in rng.permutation(len(_LANDMARKS))[: int(rng.integers(2, 4))].tolist():
        _LANDMARKS[kind](site)
    pixels = canvas.finish()[..., :3]
    # Light and shade lie over everything, so that flat shapes get some texture.
    shade = 1 + 0.16 * smooth_noise(rng, height, width, cells=(8, 6), octaves=4)
    return Scene(np.clip(pixels * shade[..., None], 0, 1, dtype=np.float32), site.ground_line)


def _backdrop(
    site: _Site, top: Colour, horizon: Colour, ground: Colour, *, grain: tuple[float, float], contrast: float = 0.25
) -> None:
    """A sky (or a wall of leaves) above the ground line, and textured ground below it."""
    width, height = site.canvas.image.size
    y = np.linspace(0, 1, height, dtype=np.float32)[:, None]
    fall = np.clip(y / site.ground_line, 0, 1)[..., None]
    sky = (1 - fall) * np.array(top) + fall * np.array(horizon)
    uneven = 0.015 * smooth_noise(site.rng, 1, width, cells=(4, 1))
    is_ground = (y > site.ground_line + uneven)[..., None]
    nearness = 0.85 + 0.3 * np.clip((y - site.ground_line) / (1 - site.ground_line), 0, 1)
    texture = nearness + contrast * smooth_noise(site.rng, height, width, cells=grain, octaves=4)
    clouds = 1 + 0.06 * smooth_noise(site.rng, height, width, cells=(3, 4))
    # Soils and seasons differ between cameras of one habitat.
    soil = np.array(vary(ground, site.rng, 0.08)) * np.exp(site.rng.normal(0, 0.16, 3)) * texture[..., None]
    sky = sky * np.exp(site.rng.normal(0, 0.08, 3))
    site.canvas.fill(np.where(is_ground, soil, sky * clouds[..., None]).astype(np.float32))


def _tuft(site: _Site, x: float, depth: float, length: float, colour: Colour, blades: int) -> None:
    """Blades of grass or fronds that fan out from one place."""
    for lean in site.rng.uniform(-0.7, 0.7, blades):
        reach = length * site.rng.uniform(0.6, 1.0)
        tip = (x + reach * np.sin(lean), depth - reach * np.cos(lean))
        bend = (x + 0.4 * reach * np.sin(lean), depth - 0.6 * reach)
        site.canvas.line([(x, depth), bend, tip], 0.006, vary(colour, site.rng, 0.15))


def _bush(site: _Site, x: float, depth: float, radius: float, colour: Colour) -> None:
    """A cushion of leaves, lighter towards the top."""
    rng = site.rng
    for height in np.sort(rng.uniform(0, 1, 14)):
        spread = radius * (1 - 0.6 * height)
        centre = (x + rng.uniform(-spread, spread), depth - height * 0.8 * radius)
        shade = vary(mix(colour, (0.9, 0.9, 0.7), 0.25 * height), rng, 0.1)
        site.canvas.blob(centre, (0.4 * radius, 0.28 * radius), shade)


def _rain_forest(site: _Site) -> None:
    """A wall of leaves without sky, trunks from top to bottom, leaf litter, ferns."""
    canvas, rng = site.canvas, site.rng
    _backdrop(site, mix(_LEAF, (0, 0, 0), 0.45), mix(_LEAF, (0, 0, 0), 0.15), _LITTER, grain=(16, 14))
    for _ in range(190):
        centre = (site.across(), float(rng.uniform(0, site.ground_line)))
        leaf = vary(mix(_LEAF, (0.55, 0.75, 0.35), float(rng.beta(1, 4))), rng, 0.25)
        canvas.blob(centre, (0.035, 0.016), leaf, angle=float(rng.uniform(0, np.pi)))
    for foot in site.depths(int(rng.integers(5, 10)), near=site.ground_line + 0.18):
        x, half = site.across(), 0.03 * site.size_at(foot) * rng.uniform(0.6, 1.8)
        top = x + rng.uniform(-0.08, 0.08)
        bark = vary(_BARK, rng, 0.2)
        canvas.polygon([(top - half, 0), (top + half, 0), (x + 1.3 * half, foot), (x - 1.3 * half, foot)], bark)
        lit = mix(bark, (0.8, 0.8, 0.6), 0.2)
        canvas.polygon([(top - half, 0), (top - half / 3, 0), (x - half / 3, foot), (x - 1.3 * half, foot)], lit)
    for depth in site.depths(60):
        canvas.blob((site.across(), depth), (0.022, 0.008), vary((0.42, 0.30, 0.15), rng, 0.3))
    for depth in site.depths(int(rng.integers(6, 12))):
        _tuft(site, site.across(), depth, 0.2 * site.size_at(depth), _LEAF, 11)


def _savanna(site: _Site) -> None:
    """Pale sky, umbrella trees, tall straw."""
    canvas, rng = site.canvas, site.rng
    _backdrop(site, (0.55, 0.70, 0.86), (0.90, 0.88, 0.80), _STRAW, grain=(5, 26))
    for _ in range(26):
        canvas.blob((site.across(), site.ground_line), (0.06, 0.018), vary((0.50, 0.54, 0.40), rng))
    for foot in site.depths(int(rng.integers(2, 4)), near=site.ground_line + 0.14):
        x, tall = site.across(), rng.uniform(0.3, 0.5) * (0.5 + site.size_at(foot))
        crown = foot - tall
        bark = vary(_BARK, rng)
        canvas.line([(x, foot), (x + 0.01, foot - 0.55 * tall), (x - 0.3 * tall, crown)], 0.018, bark)
        canvas.line([(x + 0.01, foot - 0.55 * tall), (x + 0.3 * tall, crown)], 0.014, bark)
        for _ in range(16):
            centre = (x + 0.5 * tall * rng.uniform(-1, 1), crown + 0.05 * tall * rng.uniform(-1, 1))
            canvas.blob(centre, (0.22 * tall, 0.06 * tall), vary(_ACACIA, rng, 0.15))
    for depth in site.depths(80):
        _tuft(site, site.across(), depth, 0.11 * site.size_at(depth), _STRAW, 5)


def _steppe(site: _Site) -> None:
    """The steppe in winter: a wide grey sky, a ridge of mountains, snow, stones, dry cushions of sage."""
    canvas, rng = site.canvas, site.rng
    _backdrop(site, (0.50, 0.56, 0.64), (0.70, 0.74, 0.78), _SNOW, grain=(4, 10), contrast=0.10)
    for haze in (0.55, 0.25):
        xs = np.linspace(0, canvas.aspect, 12)
        peaks = site.ground_line - rng.uniform(0.03, 0.20 * (0.5 + haze), 12)
        ridge = list(zip(xs.tolist(), peaks.tolist(), strict=True))
        colour = vary(mix((0.30, 0.31, 0.36), (0.60, 0.65, 0.72), haze), rng, 0.06)
        below = site.ground_line + 0.01
        canvas.polygon([(0, below), *ridge, (canvas.aspect, below)], colour)
    for depth in site.depths(40):
        radius = 0.012 * site.size_at(depth)
        canvas.blob((site.across(), depth), (radius, 0.6 * radius), vary(_STONE, rng, 0.3))
    for depth in site.depths(int(rng.integers(4, 9))):
        _bush(site, site.across(), depth, 0.07 * site.size_at(depth), _SAGE)


def _log(site: _Site) -> None:
    rng, (depth,) = site.rng, site.depths(1)
    x, half, tilt = site.across(), 0.25 * site.size_at(depth), rng.uniform(-0.3, 0.3)
    ends = [(x - half, depth - tilt * half), (x + half, depth + tilt * half)]
    thick, bark = 0.09 * site.size_at(depth), vary((0.36, 0.29, 0.22), rng, 0.2)
    site.canvas.line(ends, thick, mix(bark, (0, 0, 0), 0.35))
    site.canvas.line([(a, b - 0.25 * thick) for a, b in ends], 0.5 * thick, bark)
    site.canvas.blob(ends[1], (0.3 * thick, 0.5 * thick), mix(bark, (1, 0.9, 0.7), 0.45))


def _boulder(site: _Site) -> None:
    rng, (depth,) = site.rng, site.depths(1)
    x, radius, stone = site.across(), 0.16 * site.size_at(depth), vary(_STONE, rng, 0.15)
    angles = np.linspace(np.pi, 2 * np.pi, 8)
    rims = radius * rng.uniform(0.8, 1.1, 8)
    points = [(float(x + r * np.cos(a)), float(depth + 0.8 * r * np.sin(a))) for a, r in zip(angles, rims, strict=True)]
    site.canvas.polygon(points, mix(stone, (0, 0, 0), 0.3))
    site.canvas.polygon([(a - 0.1 * radius, b) for a, b in points[1:6]], stone)


def _post(site: _Site) -> None:
    rng, (depth,) = site.rng, site.depths(1)
    x, tall = site.across(), 0.38 * site.size_at(depth)
    wood = vary((0.52, 0.46, 0.40), rng, 0.2)
    site.canvas.line([(x, depth), (x + rng.uniform(-0.04, 0.04), depth - tall)], 0.035, wood)
    band = vary(((0.75, 0.25, 0.2), (0.9, 0.85, 0.3), (0.25, 0.4, 0.7))[int(rng.integers(3))], rng)
    site.canvas.line([(x - 0.02, depth - 0.7 * tall), (x + 0.02, depth - 0.7 * tall)], 0.05, band)


def _pool(site: _Site) -> None:
    rng, (depth,) = site.rng, site.depths(1)
    x, wide, water = site.across(), rng.uniform(0.2, 0.4) * site.size_at(depth), vary((0.36, 0.50, 0.62), rng, 0.2)
    site.canvas.blob((x, depth), (1.15 * wide, 0.30 * wide), mix(water, (0.25, 0.18, 0.10), 0.6))
    site.canvas.blob((x, depth), (wide, 0.24 * wide), water)
    site.canvas.blob((x - 0.2 * wide, depth - 0.06 * wide), (0.5 * wide, 0.08 * wide), mix(water, (1, 1, 1), 0.4))


def _mound(site: _Site) -> None:
    rng, (depth,) = site.rng, site.depths(1)
    x, tall, clay = site.across(), rng.uniform(0.25, 0.4) * site.size_at(depth), vary((0.58, 0.34, 0.22), rng, 0.2)
    left, right, top = (x - 0.4 * tall, depth), (x + 0.4 * tall, depth), (x, depth - tall)
    site.canvas.polygon([left, (x - 0.15 * tall, depth - 0.8 * tall), top, right], clay)
    site.canvas.polygon([top, right, (x + 0.05 * tall, depth)], mix(clay, (0, 0, 0), 0.3))


def _flowers(site: _Site) -> None:
    rng = site.rng
    colour = ((0.85, 0.75, 0.25), (0.80, 0.40, 0.60), (0.55, 0.45, 0.80), (0.90, 0.90, 0.88))[int(rng.integers(4))]
    centre, spread = site.across(), rng.uniform(0.15, 0.3)
    for depth in site.depths(30):
        radius = 0.016 * site.size_at(depth)
        site.canvas.blob((centre + rng.normal(0, spread), depth), (radius, radius), vary(colour, rng, 0.1))


_PAINTERS: tuple[Callable[[_Site], None], ...] = (_rain_forest, _savanna, _steppe)
_LANDMARKS: tuple[Callable[[_Site], None], ...] = (_log, _boulder, _post, _pool, _mound, _flowers)
