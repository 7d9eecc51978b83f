"""Animals, and the odd person, as cut-out sprites.

An animal's look is its body plan and its coat. Neither knows of species or habitats: species that share a body plan
are look-alikes because the very same code draws them from the very same distribution.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from wilds_targeted.miniatures import _bodies
from wilds_targeted.miniatures._bodies import Coat
from wilds_targeted.miniatures._painting import Canvas, Colour, Floats, smooth_noise

_SCALE = 3


@dataclass(frozen=True)
class BodyPlan:
    """A way to be built.

    Attributes:
        name: What species of this plan are called.
        height: Of an animal at the bottom of the picture, as a share of the picture's height.
        aspect: Width over height of the box that it is drawn in.
        fur: The colour of its coat; individuals vary around it.
        paint: Draws it, looking to the right, standing at y = 0.97.
    """

    name: str
    height: float
    aspect: float
    fur: Colour
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


ANTELOPE = BodyPlan("antelope", 0.60, 1.25, (0.74, 0.38, 0.17), _bodies.antelope)
CAT = BodyPlan("cat", 0.46, 1.85, (0.88, 0.70, 0.36), _bodies.cat)
PIG = BodyPlan("pig", 0.46, 1.60, (0.18, 0.14, 0.12), _bodies.pig)
FOWL = BodyPlan("fowl", 0.54, 1.20, (0.24, 0.33, 0.52), _bodies.fowl)
ELEPHANT = BodyPlan("elephant", 0.72, 1.35, (0.46, 0.46, 0.48), _bodies.elephant)
ZEBRA = BodyPlan("zebra", 0.64, 1.30, (0.60, 0.55, 0.50), _bodies.zebra)
OSTRICH = BodyPlan("ostrich", 0.74, 0.85, (0.30, 0.26, 0.24), _bodies.ostrich)
GIRAFFE = BodyPlan("giraffe", 1.00, 0.80, (0.92, 0.74, 0.36), _bodies.giraffe)
CAMEL = BodyPlan("camel", 0.74, 1.25, (0.40, 0.27, 0.17), _bodies.camel)
HARE = BodyPlan("hare", 0.54, 1.15, (0.50, 0.44, 0.38), _bodies.hare)
PERSON = BodyPlan("person", 0.80, 0.44, (0.45, 0.42, 0.38), _bodies.person)
