"""Stain Color Jitter against the straightforward tensor version: ``python -m benchmarks.stain_color_jitter``.

Generates 96x96 patches with the colours of stained tissue, then measures, one thread, one run:

- one PIL patch, draws included, against the straightforward tensor version (ToTensor, logarithm, two 3x3 products,
  exponential, back to PIL), with the colours moved last and with all three axes reversed, as the authors' code does;
- the same against a version in numpy: a table of logarithms, one 3x3 product, exponential, and nothing else;
- a batch of 128 on the CPU, by patch, against a single patch of the same kind.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torchvision.transforms.functional import to_pil_image, to_tensor

from benchmarks._timing import Milliseconds, best, interleaved, promise, ratio
from wilds_targeted import Example
from wilds_targeted.augmentations.stain_color_jitter import StainColorJitter, draw_jitter, jitter_stains
from wilds_targeted.augmentations.stains import EPS, OD_MATRIX

SIZE, BATCH, SIGMA = 96, 128, 0.1
MATRIX = torch.tensor(OD_MATRIX, dtype=torch.float32)
INVERSE = torch.linalg.inv(MATRIX)
LOGARITHMS = np.log(np.arange(256) + EPS).astype(np.float32)


def main() -> None:
    """Generate, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--patches", type=int, default=BATCH, help="Patches a round.")
    parser.add_argument("--rounds", type=int, default=15)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    patches = np.stack([patch(rng) for _ in range(arguments.patches)])
    held = [measure_single(patches, rng, arguments.rounds), *measure_batches(patches[:BATCH], rng, arguments.rounds)]
    print(f"{sum(held)} of {len(held)} promises hold in this run")


def patch(rng: np.random.Generator) -> NDArray[np.uint8]:
    """Random densities of hematoxylin and eosin, smooth and grainy, on white."""
    coarse = rng.uniform(0, 0.9, (8, 8, 3)) * (1, 0.8, 0.1)
    density = np.kron(coarse, np.ones((SIZE // 8, SIZE // 8, 1))) + rng.uniform(0, 0.2, (SIZE, SIZE, 3))
    pixels: NDArray[np.uint8] = (255 * np.exp(-density @ OD_MATRIX)).astype(np.uint8)
    return pixels


def straightforward(image: Image.Image, axes: tuple[int, int, int], back: tuple[int, int, int]) -> Image.Image:
    """Algorithm 2, line by line, on what ToTensor gives."""
    x = 255 * to_tensor(image).permute(axes)
    stains = -torch.log(x + EPS) @ INVERSE
    alpha = 1 + SIGMA * (2 * torch.rand(3) - 1)
    beta = SIGMA * (2 * torch.rand(3) - 1)
    jittered = torch.exp(-(alpha * stains + beta) @ MATRIX) - EPS
    picture: Image.Image = to_pil_image((jittered.permute(back) / 255).clip(0, 1))
    return picture


def in_numpy(pixels: NDArray[np.uint8], matrix: NDArray[np.float32]) -> NDArray[np.uint8]:
    """A table, a product, an exponential: no draw, no picture made of it."""
    values = np.take(LOGARITHMS, pixels.reshape(-1, 3)) @ matrix
    np.exp(values, out=values)
    return np.minimum(values, 255, out=values).astype(np.uint8)


def measure_single(patches: NDArray[np.uint8], rng: np.random.Generator, rounds: int) -> bool:
    """One PIL patch, draws included."""
    images = [Image.fromarray(each) for each in patches]
    jitter = StainColorJitter(SIGMA)
    matrix = np.diag([1.01, 0.99, 1.0]).astype(np.float32)
    work: dict[str, Callable[[int], object]] = {
        "ours": lambda item: jitter(Example(images[item], None, None, item), rng),
        "straightforward": lambda item: straightforward(images[item], (1, 2, 0), (2, 0, 1)),
        "axes reversed": lambda item: straightforward(images[item], (2, 1, 0), (2, 1, 0)),
        "numpy": lambda item: in_numpy(patches[item], matrix),
    }
    spent = interleaved(work, range(len(images)), rounds)
    for name, values in spent.items():
        print(f"{name:>16}: {1000 * best(values):.0f} µs a patch")
    print(f"ours / straightforward, axes reversed as in the authors' code: {compare(spent, 'axes reversed')}")
    print(f"ours / numpy: {compare(spent, 'numpy')}")
    print(f"ours / straightforward: {compare(spent, 'straightforward')}")
    return promise("at most a quarter of the straightforward version", quotient(spent, "straightforward") <= 0.25)


def measure_batches(patches: NDArray[np.uint8], rng: np.random.Generator, rounds: int) -> list[bool]:
    """A batch, by patch, against single calls for the same patches with the same draws."""
    count = len(patches)
    alpha, beta = draw_jitter(rng, SIGMA, count)
    tensors = torch.from_numpy(patches).permute(0, 3, 1, 2).contiguous()
    held = []
    for name, batch in {"uint8 array": patches, "uint8 tensor": tensors, "float tensor": tensors / 255}.items():
        spent: dict[str, Milliseconds] = interleaved(
            {
                "ours": lambda _, batch=batch: jitter_stains(batch, alpha, beta),  # type: ignore[misc]
                "single": lambda _, batch=batch: [  # type: ignore[misc]
                    jitter_stains(batch[number], alpha[number], beta[number]) for number in range(count)
                ],
            },
            range(1),
            rounds,
        )
        each = 1000 * best(spent["ours"]) / count
        print(f"batch of {count} / single, {name}: {compare(spent, 'single')}; {each:.0f} µs a patch")
        held.append(promise("a batch costs less by patch than a single patch", quotient(spent, "single") < 1))
    return held


def compare(spent: dict[str, Milliseconds], other: str) -> str:
    """The ratio of ours to another kind of work, in words."""
    return ratio(spent["ours"], spent[other])


def quotient(spent: dict[str, Milliseconds], other: str) -> float:
    """The same as a number."""
    return best(spent["ours"]) / best(spent[other])


if __name__ == "__main__":
    main()
