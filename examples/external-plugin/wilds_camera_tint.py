"""A targeted augmentation for camera traps: every camera has a colour cast of its own, so randomize that."""

import numpy as np
from PIL import Image

from wilds_targeted import Augmentation, Example, Kind, Parameter, TransformSpec, hookimpl


class CameraTint(Augmentation):
    """Multiply each colour channel by a factor drawn from U(1 - strength, 1 + strength)."""

    def __init__(self, strength: float) -> None:
        self.strength = strength

    def draw(self, example: Example, rng: np.random.Generator) -> np.ndarray:
        return rng.uniform(1 - self.strength, 1 + self.strength, size=3)

    def apply(self, example: Example, drawn: np.ndarray) -> Image.Image:
        pixels = np.asarray(example.x.convert("RGB"), dtype=np.float32) * drawn.astype(np.float32)
        return Image.fromarray(pixels.clip(0, 255).round().astype(np.uint8))


@hookimpl
def register_transforms() -> list[TransformSpec]:
    return [
        TransformSpec(
            name="camera_tint",
            build=lambda dataset, strength: CameraTint(strength),
            kind=Kind.TARGETED,
            randomizes="the colour cast of the camera (spurious)",
            preserves="the animal (object), scenery and habitat (robust)",
            summary="Scale each colour channel by a factor of its own.",
            datasets=("iwildcam",),
            parameters=(Parameter("strength", float, 0.3, "Half the width of the factors' range.", 0, 1),),
        )
    ]
