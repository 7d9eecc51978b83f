"""Animals, and the odd person, as cut-out sprites.

An animal's look is its body plan and its coat. Neither knows of species or habitats: species that share a body plan
are look-alikes because the very same code draws them from the very same distribution.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from wilds_targeted.miniatures._painting import Canvas, Colour, Floats, Point, mix, smooth_noise, vary

_SCALE = 3
_WHITE: Colour = (0.92, 0.90, 0.86)
_BLACK: Colour = (0.08, 0.07, 0.06)
_FURS: tuple[Colour, ...] = ((0.66, 0.48, 0.29), (0.34, 0.23, 0.15), (0.50, 0.48, 0.45))


@dataclass(frozen=True)
class Coat:
    """One individual's colours, the same in every frame of a sequence.

    Attributes:
        fur: The main colour.
        pale: The belly and other light parts.
        dark: Markings.
        markings: Seed of where its spots lie.
    """

    fur: Colour
    pale: Colour
    dark: Colour
    markings: int

    @classmethod
    def draw(cls, rng: np.random.Generator) -> Coat:
        """An individual of any body plan: they all share one distribution of coats."""
        shares = rng.dirichlet((0.7, 0.7, 0.7))
        red, green, blue = (shares @ np.array(_FURS)).tolist()
        fur = vary((red, green, blue), rng, 0.12)
        return cls(fur, mix(fur, _WHITE, 0.6), mix(fur, _BLACK, 0.65), int(rng.integers(2**31)))


@dataclass(frozen=True)
class BodyPlan:
    """A way to be built.

    Attributes:
        name: What species of this plan are called, after their habitat.
        height: Of an animal at the bottom of the picture, as a share of the picture's height.
        aspect: Width over height of the box that it is drawn in.
        paint: Draws it, looking to the right, standing at y = 0.97.
    """

    name: str
    height: float
    aspect: float
    paint: Callable[[Canvas, Coat, np.random.Generator], None]


def paint_sprite(plan: BodyPlan, coat: Coat, rng: np.random.Generator, rows: int) -> Floats:
    """Draw one animal in a fresh pose, looking left or right.

    Returns:
        `rows` x columns x RGBA in [0, 1]; the alpha is the animal's exact outline.
    """
    canvas = Canvas(max(2, round(rows * plan.aspect)), rows, scale=_SCALE)
    plan.paint(canvas, coat, rng)
    sprite = canvas.finish()
    lit_from_above = np.linspace(1.12, 0.80, rows, dtype=np.float32)[:, None]
    fur = lit_from_above + 0.10 * smooth_noise(rng, rows, sprite.shape[1], cells=(12, 12), octaves=1)
    sprite[..., :3] *= fur[..., None]
    return sprite[:, ::-1] if rng.random() < 0.5 else sprite


def _leg(canvas: Canvas, hip: Point, foot_y: float, swing: float, width: float, colour: Colour) -> None:
    knee = (hip[0] + 0.35 * swing, (hip[1] + foot_y) / 2)
    canvas.line([hip, knee, (hip[0] + swing, foot_y)], width, colour)


def _four_legs(
    canvas: Canvas, coat: Coat, rng: np.random.Generator, *, hips: tuple[float, float], y: float, width: float
) -> None:
    """Two pairs of legs somewhere in a stride; those on the far side are darker."""
    stride = 0.11 * np.sin(rng.uniform(0, 2 * np.pi, 2))
    for x, swing in zip(hips, stride, strict=True):
        _leg(canvas, (x + 0.03, y), 0.95, -float(swing), width, mix(coat.fur, _BLACK, 0.45))
        _leg(canvas, (x, y), 0.97, float(swing), width, mix(coat.fur, _BLACK, 0.15))


def _spots(canvas: Canvas, coat: Coat, count: int, body: tuple[Point, Point], size: float, colour: Colour) -> None:
    """Spots inside an ellipse (centre, radii), at the individual's own places."""
    (x, y), (rx, ry) = body
    rng = np.random.default_rng(coat.markings)
    angles, reach = rng.uniform(0, 2 * np.pi, count), np.sqrt(rng.uniform(0, 0.7, count))
    xs, ys = x + reach * rx * np.cos(angles), y + reach * ry * np.sin(angles)
    for centre, width in zip(np.stack([xs, ys], 1).tolist(), rng.uniform(0.7, 1.3, count).tolist(), strict=True):
        canvas.blob((centre[0], centre[1]), (size * width, 0.8 * size), colour)


def _antelope(canvas: Canvas, coat: Coat, rng: np.random.Generator) -> None:
    """Long legs, a neck that is up or grazing, horns."""
    _four_legs(canvas, coat, rng, hips=(0.36, 0.74), y=0.56, width=0.045)
    canvas.line([(0.27, 0.44), (0.22, 0.56)], 0.04, coat.dark)
    canvas.blob((0.55, 0.50), (0.31, 0.135), coat.fur)
    canvas.blob((0.55, 0.57), (0.23, 0.06), coat.pale)
    canvas.line([(0.36, 0.53), (0.72, 0.54)], 0.03, coat.dark)
    canvas.blob((0.28, 0.49), (0.045, 0.07), _WHITE)
    neck = rng.uniform(-1.2, 0.7)
    head = (float(0.80 + 0.26 * np.cos(neck)), float(0.46 + 0.28 * np.sin(neck)))
    canvas.line([(0.68, 0.50), (0.78, 0.46), head], 0.10, coat.fur)
    nod = neck / 3 + 0.5
    canvas.blob((head[0] + 0.04, head[1] + 0.02), (0.10, 0.05), coat.fur, angle=nod)
    canvas.blob((head[0] + 0.11, head[1] + 0.06), (0.03, 0.025), coat.dark)
    for back in (0.0, 0.035):
        horn = [
            (head[0] - back, head[1]),
            (head[0] - 0.05 - back, head[1] - 0.10),
            (head[0] - back, head[1] - 0.2),
        ]
        canvas.line(horn, 0.02, _BLACK)
    canvas.blob((head[0] - 0.05, head[1] - 0.01), (0.05, 0.02), coat.dark, angle=-0.4)


def _cat(canvas: Canvas, coat: Coat, rng: np.random.Generator) -> None:
    """A long low body with rosettes, a round head, a long tail."""
    lift = rng.uniform(-0.25, 0.25)
    canvas.line([(0.48, 0.48), (0.26, 0.60), (0.12, 0.42 + lift), (0.06, 0.30 + lift)], 0.08, coat.fur)
    canvas.line([(0.12, 0.42 + lift), (0.06, 0.30 + lift)], 0.08, coat.dark)
    _four_legs(canvas, coat, rng, hips=(0.60, 1.32), y=0.58, width=0.12)
    canvas.blob((0.96, 0.50), (0.54, 0.19), coat.fur)
    canvas.blob((0.96, 0.62), (0.40, 0.06), coat.pale)
    _spots(canvas, coat, 26, ((0.94, 0.47), (0.52, 0.17)), 0.045, coat.dark)
    head = (1.58, float(0.36 + 0.5 * abs(lift) + rng.uniform(-0.05, 0.1)))
    canvas.polygon([(1.25, 0.38), (1.38, 0.64), (head[0], head[1] + 0.10), (head[0], head[1] - 0.12)], coat.fur)
    for x in (-0.11, 0.07):
        canvas.blob((head[0] + x, head[1] - 0.15), (0.05, 0.07), coat.dark)
    canvas.blob(head, (0.17, 0.16), coat.fur)
    canvas.blob((head[0] + 0.12, head[1] + 0.06), (0.09, 0.07), coat.pale)
    canvas.blob((head[0] + 0.20, head[1] + 0.03), (0.025, 0.025), _BLACK)
    canvas.blob((head[0] + 0.06, head[1] - 0.04), (0.025, 0.025), _BLACK)


def _fowl(canvas: Canvas, coat: Coat, rng: np.random.Generator) -> None:
    """A round speckled body on two legs, a tail fan, a neck that is up or pecking."""
    swing = float(0.1 * np.sin(rng.uniform(0, 2 * np.pi)))
    for x, step in ((0.52, -swing), (0.58, swing)):
        _leg(canvas, (x, 0.70), 0.97, step, 0.035, (0.55, 0.42, 0.25))
    tilt = float(rng.uniform(-0.15, 0.25))
    canvas.polygon(
        [(0.35, 0.48), (0.03, 0.28 - tilt), (0.02, 0.44 - tilt), (0.10, 0.60 - tilt), (0.35, 0.68)], coat.dark
    )
    canvas.blob((0.50, 0.56), (0.32, 0.21), coat.fur, angle=tilt / 2)
    _spots(canvas, coat, 32, ((0.48, 0.54), (0.30, 0.19)), 0.018, coat.pale)
    canvas.blob((0.44, 0.54), (0.20, 0.09), mix(coat.fur, _BLACK, 0.3), angle=0.25)
    neck = rng.uniform(-1.3, 0.8)
    head = (float(0.76 + 0.27 * np.cos(neck)), float(0.50 + 0.32 * np.sin(neck)))
    canvas.line([(0.70, 0.52), (0.76, 0.50), head], 0.11, coat.fur)
    canvas.blob(head, (0.075, 0.07), (0.70, 0.30, 0.25))
    beak = [
        (head[0] + 0.05, head[1] - 0.03),
        (head[0] + 0.15, head[1] + 0.03),
        (head[0] + 0.05, head[1] + 0.04),
    ]
    canvas.polygon(beak, (0.85, 0.72, 0.35))
    canvas.line([(head[0] - 0.02, head[1] - 0.05), (head[0] - 0.05, head[1] - 0.13)], 0.04, coat.dark)


def _person(canvas: Canvas, coat: Coat, rng: np.random.Generator) -> None:
    """Somebody who services the camera. The coat is theirs."""
    swing = float(rng.uniform(0.02, 0.08))
    for step in (-swing, swing):
        _leg(canvas, (0.22, 0.52), 0.97, step, 0.085, vary((0.22, 0.25, 0.33), rng))
    canvas.polygon([(0.13, 0.18), (0.31, 0.18), (0.30, 0.56), (0.14, 0.56)], coat.fur)
    canvas.line([(0.15, 0.22), (0.12, 0.40), (0.18 + swing, 0.52)], 0.06, coat.dark)
    canvas.blob((0.22, 0.09), (0.06, 0.075), (0.72, 0.53, 0.42))
    canvas.blob((0.22, 0.045), (0.065, 0.04), coat.dark)


BODY_PLANS = (
    BodyPlan("antelope", 0.60, 1.25, _antelope),
    BodyPlan("cat", 0.38, 1.85, _cat),
    BodyPlan("fowl", 0.44, 1.20, _fowl),
)
PERSON = BodyPlan("person", 0.80, 0.44, _person)
