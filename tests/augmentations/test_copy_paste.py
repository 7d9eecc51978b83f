"""Algorithm 1, pixel by pixel."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from wilds_targeted import Example
from wilds_targeted.augmentations.backgrounds import BackgroundPools
from wilds_targeted.augmentations.copy_paste import CopyPaste, paste
from wilds_targeted.foreground import Foreground

FOREGROUND = np.arange(4 * 3 * 3, dtype=np.uint8).reshape(3, 4, 3)
BACKGROUND = 200 + np.arange(4 * 3 * 3, dtype=np.uint8).reshape(3, 4, 3)
MASK = np.array([[0, 255, 255, 0], [0, 0, 255, 0], [0, 0, 0, 0]], dtype=np.uint8)
PASTED = np.where(MASK[..., None] == 255, FOREGROUND, BACKGROUND)


class Masks:
    """The same mask for every row but 2."""

    def foreground(self, row: int, size: tuple[int, int]) -> Foreground | None:
        return None if row == 2 else Foreground.of(Image.fromarray(MASK))


def pool_of(example: Example) -> int | None:
    return None if example.y == 0 else int(example.y)


def load(row: int) -> Image.Image:
    return Image.fromarray(BACKGROUND)


@pytest.fixture
def copy_paste() -> CopyPaste:
    return CopyPaste(BackgroundPools([40, 41], [7, 7], {1: [7]}), pool_of, Masks(), load)


def example(y: int = 1, index: int = 0) -> Example:
    return Example(Image.fromarray(FOREGROUND), y, None, index)


def test_the_object_stays_and_the_rest_is_the_background(copy_paste: CopyPaste) -> None:
    pasted = copy_paste(example(), np.random.default_rng(0))
    assert np.array_equal(np.asarray(pasted), PASTED)


@pytest.mark.parametrize(
    "unchanged",
    [example(y=0), example(y=2), example(index=2)],
    ids=["empty image", "empty pool", "no annotation"],
)
def test_what_algorithm_1_returns_unchanged(copy_paste: CopyPaste, unchanged: Example) -> None:
    assert copy_paste(unchanged, np.random.default_rng(0)) is unchanged.x


def test_the_draw_is_all_the_randomness(copy_paste: CopyPaste) -> None:
    assert copy_paste.draw(example(), np.random.default_rng(3)) in (40, 41)
    assert {copy_paste.draw(example(), np.random.default_rng(seed)) for seed in range(20)} == {40, 41}
    assert copy_paste.draw(example(y=0), np.random.default_rng(0)) is None
    once, again = (np.asarray(copy_paste.apply(example(), 41)) for _ in range(2))
    assert np.array_equal(once, again)


def test_the_example_itself_is_not_written_to(copy_paste: CopyPaste) -> None:
    original = example()
    copy_paste(original, np.random.default_rng(0))
    assert np.array_equal(np.asarray(original.x), FOREGROUND)


def test_a_background_of_another_size_or_mode_is_fitted() -> None:
    background = Image.new("L", (8, 6), 77)
    pasted = paste(Image.fromarray(FOREGROUND), background, Foreground.of(Image.fromarray(MASK)))
    assert (pasted.size, pasted.mode) == ((4, 3), "RGB")
    assert np.array_equal(np.asarray(pasted), np.where(MASK[..., None] == 255, FOREGROUND, 77))


def test_hard_edges_are_whole_pixels_and_soft_ones_blend() -> None:
    size = (21, 21)
    white, black = Image.new("L", size, 255), Image.new("L", size, 0)
    mask = Image.new("L", size, 0)
    mask.paste(255, (0, 0, 10, 21))
    foreground = Foreground.of(mask)
    assert foreground is not None
    hard = np.asarray(paste(white, black.copy(), foreground))
    soft = np.asarray(paste(white, black.copy(), foreground, soft_edges=2.0))
    assert set(np.unique(hard)) == {0, 255}
    middle = soft[10]
    assert middle[0] == 255
    assert middle[-1] == 0
    assert 60 < middle[9] < 200
    assert (np.diff(middle.astype(int)) <= 0).all()
