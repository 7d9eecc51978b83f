"""Stain Color Jitter (Tellez et al., 2018) in the stains of Ruifrok and Johnston (2001): the paper's Algorithm 2.

With the stains' matrix M, S = -log((x + eps) / white) M^-1 and P = white exp(-(alpha S + beta) M) - eps, the two
products with M and M^-1 are one: log P = log x A + b. What is drawn enters only the twelve numbers of A and b.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image

from wilds_targeted.augmentation import Augmentation
from wilds_targeted.augmentations._stain_tables import map_pixels
from wilds_targeted.augmentations.stains import EPS, INVERSE, OD_MATRIX
from wilds_targeted.errors import DataError, ParameterError
from wilds_targeted.example import Example

_T = TypeVar("_T", Image.Image, NDArray[np.uint8], torch.Tensor)


@dataclass(frozen=True)
class Drawn:
    """What happens to one picture: each stain's density is multiplied by its alpha, then its beta is added."""

    alpha: tuple[float, ...]
    beta: tuple[float, ...]


class StainColorJitter(Augmentation):
    """Vary how strongly each stain colours the picture.

    Args:
        sigma: The strength: alpha is uniform from 1 - sigma to 1 + sigma, beta from -sigma to sigma.
        white_level: The value of unstained glass: 1 for the paper's form, 255 for the textbook's.
    """

    def __init__(self, sigma: float = 0.1, white_level: float = 1.0) -> None:
        self.sigma = sigma
        self.white_level = white_level

    def draw(self, example: Example, rng: np.random.Generator) -> Drawn:
        """Alpha and beta for each of the three stains."""
        alpha, beta = draw_jitter(rng, self.sigma)
        return Drawn(tuple(alpha.tolist()), tuple(beta.tolist()))

    def apply(self, example: Example, drawn: Drawn) -> Any:
        """The picture with its stains jittered, in its own type and mode."""
        return jitter_stains(example.x, drawn.alpha, drawn.beta, self.white_level)


def draw_jitter(
    rng: np.random.Generator, sigma: float, count: int | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Alpha and beta for the three stains of one picture, or, with a count, a row of three for each of so many."""
    drawn = rng.uniform(-sigma, sigma, 6 if count is None else (count, 6))
    return 1 + drawn[..., :3], drawn[..., 3:]


def jitter_stains(x: _T, alpha: Any, beta: Any, white_level: float = 1.0) -> _T:
    """One picture, or a batch, with its stains' densities multiplied by alpha and beta added to them.

    Args:
        x: A PIL image; a uint8 array (H, W, 3) or (N, H, W, 3); or a tensor (3, H, W) or (N, 3, H, W) on any device,
            uint8 or floating-point from 0 to 1. It is left as it was. No gradient passes through.
        alpha: Three numbers; for a batch also (N, 3), a row for each picture.
        beta: The same.
        white_level: The value of unstained glass: 1 for the paper's form, 255 for the textbook's.

    Returns:
        The same type, shape, data type, mode and device as ``x``; whole values are rounded to the nearest.

    Raises:
        DataError: ``x`` is none of these.
        ParameterError: Alpha, beta or the white level does not fit.
    """
    if isinstance(x, Image.Image):
        return _jitter_image(x, _maps(alpha, beta, white_level, None))
    if isinstance(x, np.ndarray):
        _check_form(x, "uint8 array (H, W, 3) or (N, H, W, 3)", channels=-1, fits=x.dtype == np.uint8)
        maps = _maps(alpha, beta, white_level, len(x) if x.ndim == 4 else None)
        pixels = x.reshape(math.prod(x.shape[:-3]), x.shape[-3] * x.shape[-2], 3)
        jittered = np.empty_like(pixels)
        map_pixels(pixels, maps, jittered)
        return jittered.reshape(x.shape)
    if isinstance(x, torch.Tensor):
        fits = x.dtype == torch.uint8 or x.is_floating_point()
        _check_form(x, "uint8 or floating-point tensor (3, H, W) or (N, 3, H, W)", channels=-3, fits=fits)
        maps = _maps(alpha, beta, white_level, len(x) if x.ndim == 4 else None)
        return _jitter_tensor(x if x.ndim == 4 else x[None], maps).reshape(x.shape)
    raise DataError(
        f"stain_color_jitter works on PIL images, uint8 arrays and tensors, and got a {type(x).__name__}: "
        f"convert it to one of these."
    )


def _check_form(x: Any, expected: str, channels: int, fits: bool) -> None:
    if not fits or x.ndim not in (3, 4) or x.shape[channels] != 3:
        raise DataError(
            f"stain_color_jitter expects a {expected}, and got {str(x.dtype).removeprefix('torch.')} of shape "
            f"{tuple(x.shape)}: convert it, and put the three colours where they are expected."
        )


def _maps(alpha: Any, beta: Any, white_level: float, count: int | None) -> NDArray[np.float64]:
    """For each picture the nine numbers of A, row by row, and the three of b; one row for all if alpha is one row."""
    rows = []
    for name, given in (("alpha", alpha), ("beta", beta)):
        values = np.array(given.tolist() if isinstance(given, torch.Tensor) else given, dtype=np.float64)
        if values.shape != (3,) and (count is None or values.shape != (count, 3)):
            allowed = "(3,)" if count is None else f"(3,) or ({count}, 3)"
            raise ParameterError(
                f"{name} has the shape {values.shape}: expected is {allowed}, a number for each of the three stains."
            )
        if not np.isfinite(values).all():
            raise ParameterError(f"{name} has a number that is not finite: expected are factors and shifts of stains.")
        rows.append(values)
    coefficients, constant = _coefficients(white_level)
    maps: NDArray[np.float64] = rows[0] @ coefficients[:3] + rows[1] @ coefficients[3:] + constant
    return maps.reshape(-1, 12)


@functools.lru_cache(maxsize=8)
def _coefficients(white_level: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """How A and b depend on alpha and beta: linearly, as ``[alpha, beta] @ coefficients + constant``.

    A = M^-1 diag(alpha) M, and b = log(white) (1 - 1 A) - beta M.
    """
    if not white_level > 0:
        raise ParameterError(f"white_level={white_level}: expected is a number above 0, such as 1 or 255.")
    coefficients, constant = np.zeros((6, 12)), np.zeros(12)
    for stain in range(3):
        matrix = np.outer(INVERSE[:, stain], OD_MATRIX[stain])
        coefficients[stain, :9] = matrix.ravel()
        coefficients[stain, 9:] = -math.log(white_level) * matrix.sum(axis=0)
    coefficients[3:, 9:] = -OD_MATRIX
    constant[9:] = math.log(white_level)
    return coefficients, constant


def _jitter_image(image: Image.Image, maps: NDArray[np.float64]) -> Image.Image:
    if image.mode != "RGB":
        return _jitter_image(image.convert("RGB"), maps).convert(image.mode)
    # Bytes: a little faster for so small a picture than PIL's way from and to arrays.
    pixels = np.frombuffer(image.tobytes(), dtype=np.uint8).reshape(1, -1, 3)
    jittered = np.empty_like(pixels)
    map_pixels(pixels, maps, jittered)
    return Image.frombytes("RGB", image.size, jittered)


@torch.no_grad()
def _jitter_tensor(x: torch.Tensor, maps: NDArray[np.float64]) -> torch.Tensor:
    """A batch of tensors, channels first."""
    if x.is_floating_point() and x.numel():
        low, high = (float(value) for value in torch.aminmax(x))
        if not (low >= 0 and high <= 1):
            raise DataError(
                f"stain_color_jitter expects floating-point values from 0 to 1, and got {low:g} to {high:g}: apply it "
                f"before the normalization."
            )
    if x.device.type != "cpu":
        return _jitter_values(x, maps)
    if x.dtype == torch.uint8:
        planes = x.flatten(2)
        mapped = torch.empty_like(planes)
        map_pixels(planes.mT.numpy(), maps, mapped.mT.numpy())
        return mapped.reshape(x.shape)
    jittered = torch.empty_like(x)
    for number in range(len(x)):  # one by one: a whole batch of them would not stay in the processor's cache
        chosen = number if len(maps) > 1 else 0
        jittered[number] = _jitter_values(x[number : number + 1], maps[chosen : chosen + 1])[0]
    return jittered


def _jitter_values(x: torch.Tensor, maps: NDArray[np.float64]) -> torch.Tensor:
    """The formula as it stands, for any device."""
    kind = torch.float64 if x.dtype == torch.float64 else torch.float32
    on_device = torch.from_numpy(maps).to(x.device, kind)
    matrices, shifts = on_device[:, :9].reshape(-1, 3, 3).mT, on_device[:, 9:, None]
    values = x.flatten(2).to(kind)
    values = values.add(EPS) if x.dtype == torch.uint8 else values.mul(255).add_(EPS)
    values = (matrices @ values.log_()).add_(shifts).exp_().sub_(EPS).clamp_(0, 255)
    values = values.round_() if x.dtype == torch.uint8 else values.div_(255)
    jittered: torch.Tensor = values.to(x.dtype).reshape(x.shape)
    return jittered
