"""RandAugment: each operation on images small enough for a hand, the draws, and the square that is cut out."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

import wilds_targeted
from wilds_targeted import Example, Kind
from wilds_targeted.augmentations.cutout import CUTOUT_FILL
from wilds_targeted.augmentations.rand_augment import POOL, Drawn, RandAugment
from wilds_targeted.errors import DataError, ParameterError
from wilds_targeted.registry import get_registry

NO_CUT = (0, 0, 0, 0)


def grey(*rows: list[int]) -> Image.Image:
    return Image.fromarray(np.array(rows, dtype=np.uint8)).convert("RGB")


def example(x: Any) -> Example:
    return Example(x, torch.tensor(1), None, 0)


def applied(image: Image.Image, name: str, strength: float = 0.0) -> list[list[int]]:
    pixels = np.asarray(RandAugment(1).apply(example(image), Drawn((name,), (strength,), NO_CUT)))
    assert (pixels == pixels[..., :1]).all(), "a grey image stays grey"
    values: list[list[int]] = pixels[..., 0].tolist()
    return values


ROW = [0, 50, 100, 200]


@pytest.mark.parametrize(
    ("name", "strength", "expected"),
    [
        # (v - 0) * 255 / (200 - 0), rounded down
        ("AutoContrast", 0, [0, 63, 127, 254]),
        ("Brightness", 0.5, [0, 25, 50, 100]),
        # a grey image has no colour to lose
        ("Color", 0.5, [0, 50, 100, 200]),
        # the mean is 87.5, rounded up to 88: half of the way to it, rounded down
        ("Contrast", 0.5, [44, 69, 94, 144]),
        ("Identity", 0, [0, 50, 100, 200]),
        # 4 bits: multiples of 16; the strength is rounded down
        ("Posterize", 4.9, [0, 48, 96, 192]),
        # 255 - v from the threshold on
        ("Solarize", 99.5, [0, 50, 155, 55]),
        ("Solarize", 100, [0, 50, 155, 55]),
        ("Solarize", 100.5, [0, 50, 100, 55]),
        ("Solarize", 256, [0, 50, 100, 200]),
        # a quarter of four pixels to the left, black behind it
        ("TranslateX", 0.25, [50, 100, 200, 0]),
        ("TranslateX", -0.25, [0, 0, 50, 100]),
        ("TranslateY", 0.3, [0, 50, 100, 200]),
    ],
)
def test_an_operation_on_a_row(name: str, strength: float, expected: list[int]) -> None:
    assert applied(grey(ROW), name, strength) == [expected]


def test_equalize_spreads_the_values() -> None:
    # The histogram's step is (4 - 1) // 255 = 0 for so few pixels, which PIL leaves alone; 512 pixels have step 1.
    assert applied(grey(ROW), "Equalize") == [ROW]
    many = grey(*[[10] * 16] * 16, *[[11] * 16] * 16)
    # step = (512 - 256) // 255 = 1; the first value maps to 1 // 2 // 1 = 0, the second to 256, cut to 255
    assert {value for row in applied(many, "Equalize") for value in row} == {0, 255}


def test_rotation_is_about_the_centre_and_shows_black_behind() -> None:
    square = grey(*[[200] * 9] * 9)
    turned = np.array(applied(square, "Rotate", 30))
    assert turned[4, 4] == 200
    assert turned[0, 0] == turned[0, 8] == turned[8, 0] == turned[8, 8] == 0
    marked = np.zeros((9, 9), dtype=np.uint8)
    marked[4, 8] = 255
    # Each pixel asks where it comes from: (3, 2) and (4, 2), right of and above the centre, turned back by 30 degrees
    # are (3.6, 0.2) and (4.5, -0.3), next to the mark at (4, 0).
    up = np.array(applied(Image.fromarray(marked).convert("RGB"), "Rotate", 30))
    assert np.argwhere(up).tolist() == [[2, 7], [2, 8]]


def test_sharpness_below_one_smooths() -> None:
    spot = grey([0, 0, 0], [0, 130, 0], [0, 0, 0])
    # PIL's smoothing kernel weighs the centre 5 of 13: 50; half of the way from 50 to 130 is 90. Borders stay.
    assert applied(spot, "Sharpness", 0.5) == [[0, 0, 0], [0, 90, 0], [0, 0, 0]]


def test_shears_move_rows_and_columns_by_their_distance() -> None:
    rows = grey(*[ROW] * 5)
    # The centre of row r takes from x + 0.25 (r + 0.5): a whole pixel further from r = 2 on (0.625 rounds up).
    assert applied(rows, "ShearX", 0.25) == [ROW, ROW, [50, 100, 200, 0], [50, 100, 200, 0], [50, 100, 200, 0]]
    columns = grey([10] * 4, [20] * 4, [30] * 4)
    assert applied(columns, "ShearY", 0.25) == [[10, 10, 20, 20], [20, 20, 30, 30], [30, 30, 0, 0]]


def test_colour_fades_towards_the_grey_of_the_same_luminance() -> None:
    red = Image.new("RGB", (1, 1), (100, 0, 0))
    # luminance 0.299 * 100 = 30; half of the way: (65, 15, 15)
    faded = RandAugment(1).apply(example(red), Drawn(("Color",), (0.5,), NO_CUT))
    assert faded.getpixel((0, 0)) == (65, 15, 15)


def test_operations_follow_one_another() -> None:
    drawn = Drawn(("Brightness", "TranslateX", "Solarize"), (0.5, 0.25, 60.0), NO_CUT)
    result = RandAugment(3).apply(example(grey(ROW)), drawn)
    # halved: 0 25 50 100; moved: 25 50 100 0; from 60 on inverted: 25 50 155 0
    assert np.asarray(result)[0, :, 0].tolist() == [25, 50, 155, 0]


def test_the_square_is_filled_after_the_operations() -> None:
    image = Image.new("RGB", (4, 3), (255, 255, 255))
    cut = np.asarray(RandAugment(1).apply(example(image), Drawn(("Solarize",), (0.0,), (1, 0, 3, 2))))
    filled = (cut == CUTOUT_FILL).all(axis=-1)
    assert filled.tolist() == [[False, True, True, False], [False, True, True, False], [False] * 4]
    assert (cut[~filled] == 0).all()


def test_the_draws_cover_the_pool_evenly_and_keep_to_its_ranges() -> None:
    rng = np.random.default_rng(0)
    image = Image.new("RGB", (40, 30))
    draws = [RandAugment(2).draw(example(image), rng) for _ in range(2800)]
    counts = Counter(name for drawn in draws for name in drawn.operations)
    assert set(counts) == set(POOL)
    assert len(POOL) == 14
    # 5600 draws of 14: 400 each, with a standard deviation of about 19
    assert all(300 < count < 500 for count in counts.values()), counts
    for name, operation in POOL.items():
        pairs = (pair for drawn in draws for pair in zip(drawn.operations, drawn.strengths, strict=True))
        strengths = [strength for each, strength in pairs if each == name]
        span = operation.high - operation.low
        assert operation.low <= min(strengths) <= operation.low + 0.05 * span
        assert operation.high - 0.05 * span <= max(strengths) <= operation.high
    widths = [right - left for left, _, right, _ in (drawn.cutout for drawn in draws)]
    assert min(widths) == 0
    assert 18 <= max(widths) <= 20, "at most half of the width"
    assert {drawn.cutout[0] for drawn in draws} >= set(range(35))


@pytest.mark.parametrize("k", [1, 2, 5])
def test_k_is_the_number_of_operations(k: int) -> None:
    drawn = RandAugment(k).draw(example(Image.new("RGB", (8, 8))), np.random.default_rng(0))
    assert len(drawn.operations) == len(drawn.strengths) == k


def test_the_draw_is_all_the_randomness() -> None:
    image = Image.fromarray(np.random.default_rng(0).integers(0, 256, (20, 30, 3), dtype=np.uint8))
    before = image.tobytes()
    augmentation = RandAugment(2)
    for seed in range(30):
        drawn = augmentation.draw(example(image), np.random.default_rng(seed))
        assert drawn == augmentation.draw(example(image), np.random.default_rng(seed))
        once, again = (augmentation.apply(example(image), drawn).tobytes() for _ in range(2))
        assert once == again
    assert image.tobytes() == before


@pytest.mark.parametrize("mode", ["RGB", "L", "RGBA", "LA", "P", "1", "CMYK"])
def test_any_mode_comes_back_as_it_was(mode: str) -> None:
    image = Image.new(mode, (30, 20))
    for seed in range(15):
        result = RandAugment(2)(example(image), np.random.default_rng(seed))
        assert (result.mode, result.size) == (mode, (30, 20))


def test_what_is_no_image_is_told_in_one_line() -> None:
    with pytest.raises(DataError, match="works on PIL images; this data set gives a Tensor"):
        RandAugment()(example(torch.zeros(8, 4, 4)), np.random.default_rng(0))


def test_it_is_registered_for_any_data_set() -> None:
    spec = get_registry().transforms["randaugment"]
    assert spec.kind is Kind.GENERIC
    assert spec.serves("camelyon17")
    assert spec.check({}) == {"k": 2}
    assert spec.parameters[0].search == "k in {1, 2}"
    with pytest.raises(ParameterError, match="at least 1"):
        spec.check({"k": 0})


def test_k_reaches_it_by_name(miniature: Any) -> None:
    dataset = wilds_targeted.get_dataset("iwildcam", root_dir=miniature)
    pipeline: Any = wilds_targeted.build_transform("randaugment", dataset, k=1)
    assert pipeline.augmentations[0].k == 1
    assert pipeline.flip, "the flip beside it is the pipeline's"
