"""Stain Color Jitter (Tellez et al., 2018) in the stains of Ruifrok and Johnston (2001): the paper's Algorithm 2.

With the stains' matrix M, S = -log((x + eps) / white) M^-1 and P = white exp(-(alpha S + beta) M) - eps, the two
products with M and M^-1 are one: log P = log x A + b. So a picture takes one logarithm, one 3x3 product and one
exponential, and what is drawn enters only the twelve numbers of A and b.
"""

from __future__ import annotations

import functools
import math
import threading
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from PIL import Image

from wilds_targeted.augmentation import Augmentation
from wilds_targeted.errors import DataError, ParameterError
from wilds_targeted.example import Example

OD_MATRIX = np.array([[0.65, 0.70, 0.29], [0.07, 0.99, 0.11], [0.27, 0.57, 0.78]])
"""Optical densities of hematoxylin, eosin and DAB (rows) in red, green and blue, as published, to two decimals.

The rows have length one up to that rounding (0.998, 0.999 and 1.003): this is the normalized matrix.
"""

EPS = 1e-6
"""Keeps black from having an infinite density."""

_INVERSE = np.linalg.inv(OD_MATRIX)

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


def separate_stains(pixels: ArrayLike, white_level: float = 1.0) -> NDArray[np.float64]:
    """The densities of hematoxylin, eosin and DAB in pixels (..., 3) with values from 0 to 255.

    >>> separate_stains(255 * np.exp(-OD_MATRIX[0]), white_level=255).round(3).tolist() == [1, 0, 0]
    True
    """
    density: NDArray[np.float64] = -np.log((np.asarray(pixels, dtype=np.float64) + EPS) / white_level)
    return density @ _INVERSE


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
        return _jitter_image(x, _maps(alpha, beta, white_level, None)[0])
    if isinstance(x, np.ndarray):
        _check_form(x, "uint8 array (H, W, 3) or (N, H, W, 3)", channels=-1, fits=x.dtype == np.uint8)
        maps = _maps(alpha, beta, white_level, len(x) if x.ndim == 4 else None)
        return _jitter_bytes(x if x.ndim == 4 else x[None], maps, channels_last=True).reshape(x.shape)
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
        matrix = np.outer(_INVERSE[:, stain], OD_MATRIX[stain])
        coefficients[stain, :9] = matrix.ravel()
        coefficients[stain, 9:] = -math.log(white_level) * matrix.sum(axis=0)
    coefficients[3:, 9:] = -OD_MATRIX
    constant[9:] = math.log(white_level)
    return coefficients, constant


def _jitter_image(image: Image.Image, row: NDArray[np.float64]) -> Image.Image:
    if image.mode != "RGB":
        return _jitter_image(image.convert("RGB"), row).convert(image.mode)
    # Bytes: a little faster for so small a picture than PIL's way from and to arrays.
    pixels = np.frombuffer(image.tobytes(), dtype=np.uint8)
    jittered = np.empty_like(pixels)
    _SCRATCH.jitter_pixels(pixels, row, jittered)
    return Image.frombytes("RGB", image.size, jittered)


def _jitter_bytes(x: NDArray[np.uint8], maps: NDArray[np.float64], channels_last: bool) -> NDArray[np.uint8]:
    """A batch, picture by picture: a whole batch of floating-point numbers would not stay in the processor's cache."""
    area = math.prod(x.shape[1:]) // 3
    pictures = x.reshape(len(x), *((3 * area,) if channels_last else (3, area)))
    jittered = np.empty_like(pictures, order="C")
    jitter = _SCRATCH.jitter_pixels if channels_last else _SCRATCH.jitter_planes
    for number, picture in enumerate(pictures):
        jitter(picture, maps[number if len(maps) > 1 else 0], jittered[number])
    return jittered.reshape(x.shape)


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
        return torch.from_numpy(_jitter_bytes(x.numpy(), maps, channels_last=False))
    jittered = torch.empty_like(x)
    for number in range(len(x)):  # one by one for the cache, as with bytes
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


_CHUNK = 96 * 96
"""How many pixels are worked on at a time: a patch of Camelyon17."""

_BLOCK = 4
"""Four pixels in a row of twelve numbers: a 12x12 product is twice as fast as a 3x3 one with its narrow rows."""

_WIDE = 96
"""Pixels in a row when a number for each colour meets all pixels: long rows, for the same reason."""


class _Scratch(threading.local):
    """The room for one chunk, kept from call to call: asking for it anew makes a patch about a fifth slower.

    A chunk that is not full leaves old values behind it, which are positive and finite and so disturb nothing.
    """

    def __init__(self) -> None:
        self.values, self.logs = torch.ones(3 * _CHUNK), torch.empty(3 * _CHUNK)
        self.blocks = torch.zeros(3 * _BLOCK, 3 * _BLOCK)
        self.block_values, self.block_logs = (each.view(-1, 3 * _BLOCK) for each in (self.values, self.logs))
        self.wide_values = self.values.view(-1, 3 * _WIDE)
        self.factors = torch.empty(3 * _WIDE)
        self.half = torch.full((3 * _WIDE,), 0.5 - EPS)  # with what the conversion cuts off, this rounds
        # The same memory as arrays: numpy makes bytes of numbers faster than torch.
        self.array = self.values.numpy()
        self.diagonal = np.einsum("kckj->kcj", self.blocks.numpy().reshape(_BLOCK, 3, _BLOCK, 3))
        self.factor_rows = self.factors.numpy().reshape(_WIDE, 3)

    def jitter_pixels(self, x: NDArray[np.uint8], row: NDArray[np.float64], out: NDArray[np.uint8]) -> None:
        """The colours of one pixel after those of another, as in PIL images and arrays; flat."""
        self.diagonal[:] = row[:9].reshape(3, 3)
        self.factor_rows[:] = np.exp(row[9:])
        for start in range(0, len(x), 3 * _CHUNK):
            part = slice(start, start + 3 * _CHUNK)
            chunk = self.array[: len(x) - start]
            np.copyto(chunk, x[part])
            torch.log(self.values.add_(EPS), out=self.logs)
            torch.mm(self.block_logs, self.blocks, out=self.block_values).exp_()
            torch.addcmul(self.half, self.wide_values, self.factors, out=self.wide_values).clamp_max_(255)
            np.copyto(out[part], chunk, casting="unsafe")

    def jitter_planes(self, x: NDArray[np.uint8], row: NDArray[np.float64], out: NDArray[np.uint8]) -> None:
        """One colour of all pixels after another, as in tensors; (3, P)."""
        matrix = torch.from_numpy(row[:9].reshape(3, 3).T.astype(np.float32))
        shift = torch.from_numpy(row[9:, None].astype(np.float32))
        logs, values = self.logs.view(3, -1), self.values.view(3, -1)
        for start in range(0, x.shape[1], _CHUNK):
            part = slice(start, start + _CHUNK)
            chunk = self.array.reshape(3, -1)[:, : x.shape[1] - start]
            np.copyto(chunk, x[:, part])
            torch.log(self.values.add_(EPS), out=self.logs)
            torch.mm(matrix, logs, out=values).add_(shift).exp_().add_(0.5 - EPS).clamp_max_(255)
            np.copyto(out[:, part], chunk, casting="unsafe")


_SCRATCH = _Scratch()
