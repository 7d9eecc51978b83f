"""How each body plan is drawn: looking to the right, standing at y = 0.97, in a pose drawn afresh."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wilds_targeted.miniatures._painting import Canvas, Colour, Point, mix, vary

_WHITE: Colour = (0.92, 0.90, 0.86)
_BLACK: Colour = (0.08, 0.07, 0.06)


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
    def draw(cls, rng: np.random.Generator, fur: Colour) -> Coat:
        """An individual of a body plan whose fur has that colour on average."""
        fur = vary(fur, rng, 0.16)
        return cls(fur, mix(fur, _WHITE, 0.6), mix(fur, _BLACK, 0.7), int(rng.integers(2**31)))


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


def antelope(canvas: Canvas, coat: Coat, rng: np.random.Generator) -> None:
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


def cat(canvas: Canvas, coat: Coat, rng: np.random.Generator) -> None:
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


def fowl(canvas: Canvas, coat: Coat, rng: np.random.Generator) -> None:
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


def person(canvas: Canvas, coat: Coat, rng: np.random.Generator) -> None:
    """Somebody who services the camera. The coat is theirs."""
    swing = float(rng.uniform(0.02, 0.08))
    for step in (-swing, swing):
        _leg(canvas, (0.22, 0.52), 0.97, step, 0.085, vary((0.22, 0.25, 0.33), rng))
    canvas.polygon([(0.13, 0.18), (0.31, 0.18), (0.30, 0.56), (0.14, 0.56)], coat.fur)
    canvas.line([(0.15, 0.22), (0.12, 0.40), (0.18 + swing, 0.52)], 0.06, coat.dark)
    canvas.blob((0.22, 0.09), (0.06, 0.075), (0.72, 0.53, 0.42))
    canvas.blob((0.22, 0.045), (0.065, 0.04), coat.dark)


def pig(canvas: Canvas, coat: Coat, rng: np.random.Generator) -> None:
    """A barrel on short legs, a wedge of a head, a mane along the back."""
    _four_legs(canvas, coat, rng, hips=(0.45, 1.02), y=0.70, width=0.11)
    canvas.line([(0.22, 0.42), (0.12, 0.62)], 0.03, coat.dark)
    canvas.blob((0.72, 0.50), (0.52, 0.32), coat.fur)
    canvas.blob((0.70, 0.24), (0.40, 0.07), coat.pale)
    nod = float(rng.uniform(0.0, 0.22))
    canvas.polygon([(1.02, 0.26), (1.02, 0.74), (1.52, 0.72 + nod), (1.54, 0.58 + nod)], coat.fur)
    canvas.blob((1.52, 0.65 + nod), (0.05, 0.09), coat.dark)
    canvas.line([(1.38, 0.70 + nod), (1.46, 0.58 + nod)], 0.035, _WHITE)
    canvas.polygon([(1.05, 0.34), (1.12, 0.10), (1.20, 0.36)], coat.dark)


def zebra(canvas: Canvas, coat: Coat, rng: np.random.Generator) -> None:
    """A horse in stripes, its neck up or grazing."""
    pale = mix(coat.pale, _WHITE, 0.6)
    _four_legs(canvas, Coat(pale, pale, coat.dark, 0), rng, hips=(0.34, 0.80), y=0.58, width=0.07)
    canvas.line([(0.22, 0.44), (0.14, 0.70)], 0.05, _BLACK)
    canvas.blob((0.56, 0.48), (0.36, 0.18), pale)
    for x in np.linspace(0.28, 0.84, 8).tolist():
        tall = 0.17 * np.sqrt(1 - ((x - 0.56) / 0.36) ** 2)
        canvas.line([(x, 0.48 - tall), (x - 0.03, 0.48 + tall)], 0.03, _BLACK)
    neck = float(rng.uniform(-1.0, 0.7))
    head = (0.84 + 0.28 * float(np.cos(neck)), 0.44 + 0.28 * float(np.sin(neck)))
    canvas.line([(0.78, 0.46), head], 0.16, pale)
    for along in (0.25, 0.55, 0.85):
        x, y = 0.78 + along * (head[0] - 0.78), 0.46 + along * (head[1] - 0.46)
        across = (0.07 * float(np.sin(neck)), -0.07 * float(np.cos(neck)))
        canvas.line([(x - across[0], y - across[1]), (x + across[0], y + across[1])], 0.03, _BLACK)
    canvas.blob((head[0] + 0.06, head[1] + 0.05), (0.13, 0.07), pale, angle=0.7)
    canvas.blob((head[0] + 0.14, head[1] + 0.13), (0.05, 0.045), _BLACK)


def ostrich(canvas: Canvas, coat: Coat, rng: np.random.Generator) -> None:
    """A ball of feathers on two long legs, a long bare neck."""
    bare = mix(coat.pale, (0.85, 0.55, 0.48), 0.6)
    swing = float(0.14 * np.sin(rng.uniform(0, 2 * np.pi)))
    for x, step in ((0.36, -swing), (0.42, swing)):
        _leg(canvas, (x, 0.58), 0.97, step, 0.045, bare)
    canvas.blob((0.14, 0.44), (0.09, 0.10), _WHITE)
    canvas.blob((0.38, 0.46), (0.26, 0.17), mix(coat.dark, _BLACK, 0.5))
    canvas.blob((0.34, 0.57), (0.14, 0.05), _WHITE)
    neck = float(rng.uniform(-0.10, 0.16))
    head = (0.62 + neck, 0.08 + 0.5 * abs(neck))
    canvas.line([(0.54, 0.46), (0.64, 0.30), head], 0.05, bare)
    canvas.blob(head, (0.05, 0.04), bare)
    canvas.line([head, (head[0] + 0.11, head[1] + 0.02)], 0.025, (0.80, 0.62, 0.35))


def camel(canvas: Canvas, coat: Coat, rng: np.random.Generator) -> None:
    """Two humps, long legs, a neck that dips and rises."""
    _four_legs(canvas, coat, rng, hips=(0.32, 0.72), y=0.60, width=0.075)
    canvas.line([(0.18, 0.48), (0.14, 0.66)], 0.04, coat.dark)
    for x in (0.38, 0.64):
        canvas.blob((x, 0.34), (0.11, 0.18), mix(coat.fur, _BLACK, 0.25))
    canvas.blob((0.52, 0.50), (0.34, 0.16), coat.fur)
    lift = float(rng.uniform(-0.08, 0.16))
    head = (1.08, 0.22 + lift)
    canvas.line([(0.78, 0.50), (0.92, 0.56), (1.00, 0.40 + lift / 2), head], 0.10, coat.fur)
    canvas.line([(0.86, 0.60), (0.97, 0.56)], 0.06, coat.dark)
    canvas.blob((head[0] + 0.05, head[1] + 0.01), (0.11, 0.06), coat.fur, angle=0.25)
    canvas.blob((head[0] + 0.13, head[1] + 0.04), (0.03, 0.03), coat.dark)


def hare(canvas: Canvas, coat: Coat, rng: np.random.Generator) -> None:
    """A crouching ball with long ears and a white scut."""
    stretch = float(rng.uniform(0.0, 0.12))
    canvas.blob((0.14 - stretch / 3, 0.70), (0.09, 0.09), _WHITE)
    canvas.blob((0.44, 0.68), (0.32 + stretch, 0.24), coat.fur)
    canvas.blob((0.30, 0.80), (0.17, 0.15), mix(coat.fur, _BLACK, 0.2))
    canvas.blob((0.36, 0.94), (0.17, 0.04), coat.pale)
    canvas.line([(0.68, 0.74), (0.72 + stretch, 0.96)], 0.09, coat.fur)
    head = (0.80 + stretch / 2, 0.48 + float(rng.uniform(-0.05, 0.08)))
    for lean in (-0.20, -0.06):
        ear = lean - float(rng.uniform(0.0, 0.12))
        canvas.line([(head[0] - 0.04, head[1] - 0.08), (head[0] + ear, head[1] - 0.40)], 0.085, coat.pale)
        canvas.line([(head[0] + 0.8 * ear, head[1] - 0.32), (head[0] + ear, head[1] - 0.40)], 0.085, coat.dark)
    canvas.blob(head, (0.17, 0.13), coat.fur)
    canvas.blob((head[0] + 0.12, head[1] + 0.04), (0.06, 0.05), coat.pale)
    canvas.blob((head[0] + 0.04, head[1] - 0.03), (0.03, 0.03), _BLACK)


def elephant(canvas: Canvas, coat: Coat, rng: np.random.Generator) -> None:
    """A grey mass on pillars, a large ear, a trunk that hangs or swings."""
    _four_legs(canvas, coat, rng, hips=(0.36, 0.82), y=0.60, width=0.19)
    canvas.line([(0.16, 0.36), (0.10, 0.66)], 0.03, coat.dark)
    canvas.blob((0.58, 0.42), (0.44, 0.32), coat.fur)
    swing = float(rng.uniform(-0.06, 0.16))
    canvas.blob((1.04, 0.36), (0.20, 0.21), coat.fur)
    canvas.line([(1.18, 0.40), (1.24, 0.64), (1.22 + swing, 0.92)], 0.09, coat.fur)
    canvas.line([(1.14, 0.52), (1.32, 0.64)], 0.04, _WHITE)
    canvas.blob((0.92, 0.36), (0.13, 0.22), mix(coat.fur, _BLACK, 0.3))


def giraffe(canvas: Canvas, coat: Coat, rng: np.random.Generator) -> None:
    """All legs and neck, with dark patches."""
    _four_legs(canvas, coat, rng, hips=(0.22, 0.46), y=0.66, width=0.055)
    canvas.line([(0.14, 0.54), (0.10, 0.72)], 0.025, coat.dark)
    canvas.blob((0.34, 0.58), (0.22, 0.12), coat.fur, angle=-0.25)
    _spots(canvas, coat, 16, ((0.34, 0.58), (0.20, 0.09)), 0.04, coat.dark)
    lean = float(rng.uniform(-0.02, 0.18))
    head = (0.62 + lean, 0.10 + lean)
    canvas.line([(0.46, 0.56), head], 0.12, coat.fur)
    for along in (0.2, 0.45, 0.7):
        canvas.blob((0.48 + along * (head[0] - 0.48), 0.56 + along * (head[1] - 0.56)), (0.035, 0.04), coat.dark)
    for x in (-0.02, 0.02):
        canvas.line([(head[0] + x, head[1]), (head[0] + x - 0.02, head[1] - 0.07)], 0.018, coat.dark)
    canvas.blob((head[0] + 0.05, head[1] + 0.02), (0.10, 0.05), coat.fur, angle=0.35)
