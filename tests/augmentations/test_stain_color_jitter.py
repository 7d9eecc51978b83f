"""Stain Color Jitter: pixels worked out by hand, scikit-image's stains, and every kind of input against the others."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from skimage.color import hed2rgb, rgb2hed

from wilds_targeted import Example, Kind
from wilds_targeted.augmentations.stain_color_jitter import StainColorJitter, draw_jitter, jitter_stains
from wilds_targeted.augmentations.stains import EPS, OD_MATRIX, separate_stains
from wilds_targeted.errors import DataError, ParameterError
from wilds_targeted.registry import get_registry

ONES, ZEROS = (1.0, 1.0, 1.0), (0.0, 0.0, 0.0)
ALPHA, BETA = (1.07, 0.94, 1.02), (0.06, -0.08, 0.03)
SCALE = -math.log(1e-6)
"""scikit-image gives densities as shares of that of its darkest value."""


def example(x: Any) -> Example:
    return Example(x, torch.tensor(1), None, 0)


def noise(*shape: int) -> Any:
    return np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)


def planes(array: Any) -> torch.Tensor:
    """Channels first."""
    return torch.from_numpy(array).movedim(-1, -3).contiguous()


def pixel(colour: tuple[int, int, int], alpha: Any, beta: Any, white_level: float = 1.0) -> list[int]:
    values: list[int] = jitter_stains(np.full((1, 1, 3), colour, np.uint8), alpha, beta, white_level)[0, 0].tolist()
    return values


def algorithm_2(x: Any, alpha: Any, beta: Any, white: float = 1.0) -> Any:
    """The formula as it stands, in double precision, not yet rounded."""
    stains = -np.log((x.astype(float) + EPS) / white) @ np.linalg.inv(OD_MATRIX)
    return np.clip(white * np.exp(-(alpha * stains + beta) @ OD_MATRIX) - EPS, 0, 255)


@pytest.mark.parametrize(
    ("colour", "alpha", "beta", "white_level", "expected"),
    [
        # Beta alone is a factor for each colour, exp(-beta M): for hematoxylin exp(-0.065), exp(-0.07), exp(-0.029),
        # that is 0.93707, 0.93239, 0.97142.
        ((200, 100, 50), ONES, (0.1, 0, 0), 1, [187, 93, 49]),
        ((200, 100, 50), ONES, (0.1, 0, 0), 255, [187, 93, 49]),
        # ... and for eosin, less of it, exp(0.007), exp(0.099), exp(0.011), that is 1.00702, 1.10407, 1.01106.
        ((200, 100, 50), ONES, (0, -0.1, 0), 1, [201, 110, 51]),
        # 240 * 1.10407 = 264.98: cut.
        ((240, 240, 240), ONES, (0, -0.1, 0), 1, [242, 255, 243]),
        # One alpha for all stains is a power: 100 ** 1.1 = 158.49, 50 ** 1.1 = 73.94, 20 ** 1.1 = 26.99.
        ((100, 50, 20), (1.1, 1.1, 1.1), ZEROS, 1, [158, 74, 27]),
        # The same relative to white: 255 * (100 / 255) ** 1.1 = 91.06, 42.49, 15.51.
        ((100, 50, 20), (1.1, 1.1, 1.1), ZEROS, 255, [91, 42, 16]),
        # 1 has the logarithm 0 in the paper's form, and stays.
        ((1, 1, 1), ALPHA, ZEROS, 1, [1, 1, 1]),
        # White brightens or darkens in the paper's form (255 ** 0.95 = 193.30), and stays in the textbook's.
        ((255, 255, 255), (0.95, 0.95, 0.95), ZEROS, 1, [193, 193, 193]),
        ((255, 255, 255), (0.95, 0.95, 0.95), ZEROS, 255, [255, 255, 255]),
        # Pure hematoxylin of density 1 is 255 exp(-M[0]) = 133.12, 126.63, 190.81, here in whole values. Half as much
        # again of it is 255 exp(-1.5 M[0]) = 96.18, 89.23, 165.05; from the whole values it is 96.02, 89.42, 165.16.
        ((133, 127, 191), (1.5, 1, 1), ZEROS, 255, [96, 89, 165]),
    ],
)
def test_a_pixel_by_hand(
    colour: tuple[int, int, int], alpha: Any, beta: Any, white_level: float, expected: list[int]
) -> None:
    assert pixel(colour, alpha, beta, white_level) == expected


@pytest.mark.parametrize("white_level", [1, 255])
def test_no_jitter_is_the_identity_for_every_value_of_every_colour(white_level: float) -> None:
    ramp = np.arange(256, dtype=np.uint8)
    grey = np.stack([ramp] * 3, axis=-1)[None]
    mixed = np.stack([ramp, np.roll(ramp, 85), ramp[::-1]], axis=-1)[None]
    augmentation = StainColorJitter(0, white_level)
    for x in (grey, mixed, noise(96, 96, 3)):
        for each in (x, planes(x)):
            result = augmentation(example(each), np.random.default_rng(0))
            assert np.array_equal(result, each)
        image = Image.fromarray(x)
        assert augmentation(example(image), np.random.default_rng(0)).tobytes() == image.tobytes()


@pytest.mark.parametrize("white_level", [1.0, 240.0, 255.0])
@pytest.mark.parametrize("seed", range(5))
def test_the_formula_as_it_stands(seed: int, white_level: float) -> None:
    x = noise(96, 96, 3)
    alpha, beta = draw_jitter(np.random.default_rng(seed), 0.1)
    exact = algorithm_2(x, alpha, beta, white_level)
    # Rounded to the nearest: off by a half at most, and a hair for single precision.
    assert np.abs(jitter_stains(x, alpha, beta, white_level) - exact).max() < 0.501
    double = jitter_stains(planes(x).double() / 255, alpha, beta, white_level)
    assert np.allclose(255 * double.movedim(0, -1).numpy(), exact, atol=1e-6)


def test_the_stains_are_those_of_scikit_image() -> None:
    x = noise(40, 50, 3).clip(1)
    ours = separate_stains(x, white_level=255)
    # It cuts negative densities off.
    assert np.allclose(ours.clip(0) / SCALE, rgb2hed(x), atol=1e-7)
    # The paper's form differs by a constant: log(255) of every colour.
    constant = math.log(255) * np.linalg.inv(OD_MATRIX).sum(axis=0)
    assert np.allclose(separate_stains(x), ours - constant)


def test_jitter_in_the_textbook_form_is_scikit_image_there_and_back() -> None:
    rng = np.random.default_rng(0)
    # Densities of 0.2 and more stay positive after rounding, so scikit-image does not cut them off.
    x = np.rint(255 * np.exp(-rng.uniform(0.2, 0.8, (30, 30, 3)) @ OD_MATRIX)).astype(np.uint8)
    stains = rgb2hed(x) * SCALE
    assert stains.min() > 0
    expected = 255 * hed2rgb((np.array(ALPHA) * stains + np.array(BETA)) / SCALE)
    assert np.abs(jitter_stains(x, ALPHA, BETA, white_level=255) - expected).max() < 0.501


def test_the_matrix_is_normalized_up_to_its_two_decimals() -> None:
    assert np.allclose(np.linalg.norm(OD_MATRIX, axis=1), 1, atol=0.005)


def test_draws_keep_to_their_ranges_and_fill_them() -> None:
    rng = np.random.default_rng(0)
    drawn = [StainColorJitter(0.1).draw(example(None), rng) for _ in range(4000)]
    alpha, beta = np.array([each.alpha for each in drawn]), np.array([each.beta for each in drawn])
    for values, centre in ((alpha, 1), (beta, 0)):
        assert values.shape == (4000, 3)
        assert centre - 0.1 <= values.min() < centre - 0.099
        assert centre + 0.099 < values.max() <= centre + 0.1
        # uniform: mean within four standard errors (0.0577 / sqrt(4000)), quarters of 1000 with a deviation of 27
        assert np.abs(values.mean(axis=0) - centre).max() < 0.004
        quarters = [np.histogram(column, 4, (centre - 0.1, centre + 0.1))[0] for column in values.T]
        assert np.abs(np.array(quarters) - 1000).max() < 130
    correlations = np.corrcoef(np.concatenate([alpha, beta], axis=1).T) - np.eye(6)
    assert np.abs(correlations).max() < 0.08, "each stain has draws of its own"


def test_draws_for_a_batch() -> None:
    alpha, beta = draw_jitter(np.random.default_rng(0), 0.05, 7)
    assert alpha.shape == beta.shape == (7, 3)
    assert len(np.unique(alpha)) == len(np.unique(beta)) == 21


def test_the_draw_is_all_the_randomness() -> None:
    x = Image.fromarray(noise(20, 30, 3))
    augmentation = pickle.loads(pickle.dumps(StainColorJitter()))
    drawn = augmentation.draw(example(x), np.random.default_rng(5))
    assert drawn == StainColorJitter().draw(example(x), np.random.default_rng(5))
    assert drawn != augmentation.draw(example(x), np.random.default_rng(6))
    assert augmentation.apply(example(x), drawn).tobytes() == augmentation.apply(example(x), drawn).tobytes()


@pytest.mark.parametrize("white_level", [1, 255])
@pytest.mark.parametrize(("height", "width"), [(96, 96), (224, 224), (37, 101), (1, 1), (97, 96), (300, 5)])
def test_all_kinds_agree_at_any_size(height: int, width: int, white_level: float) -> None:
    x = noise(height, width, 3)
    array = jitter_stains(x, ALPHA, BETA, white_level)
    image = jitter_stains(Image.fromarray(x), ALPHA, BETA, white_level)
    tensor = jitter_stains(planes(x), ALPHA, BETA, white_level)
    single = jitter_stains(planes(x) / 255, ALPHA, BETA, white_level)
    assert (image.mode, image.size) == ("RGB", (width, height))
    assert (array.dtype, tensor.dtype, single.dtype) == (np.uint8, torch.uint8, torch.float32)
    assert array.shape == x.shape
    assert tensor.shape == single.shape == (3, height, width)
    assert np.array_equal(np.asarray(image), array)
    assert np.array_equal(tensor.movedim(0, -1), array)
    assert (single - tensor / 255).abs().max() < 0.502 / 255


@pytest.mark.parametrize("kind", ["array", "uint8", "float32", "float64", "float16", "channels_last"])
def test_a_batch_equals_its_pictures(kind: str) -> None:
    x = noise(5, 20, 31, 3)
    batch: Any = x if kind == "array" else planes(x)
    if kind.startswith("float"):
        batch = (batch / 255).to(getattr(torch, kind))
    if kind == "channels_last":
        batch = batch.to(memory_format=torch.channels_last)
    alpha, beta = draw_jitter(np.random.default_rng(1), 0.1, 5)
    result = jitter_stains(batch, alpha, beta)
    assert (result.shape, result.dtype) == (batch.shape, batch.dtype)
    for number in range(5):
        single = jitter_stains(batch[number], alpha[number], beta[number])
        # Only double precision is fine enough to show that one row is multiplied in another order than many.
        assert np.allclose(result[number], single, rtol=1e-12 if kind == "float64" else 0, atol=0)
    shared = jitter_stains(batch, alpha[2], beta)
    single = jitter_stains(batch[4], alpha[2], beta[4])
    assert np.allclose(shared[4], single, rtol=1e-12 if kind == "float64" else 0, atol=0)
    assert np.array_equal(jitter_stains(batch, torch.tensor(alpha), torch.tensor(beta)), result)
    assert len(jitter_stains(batch[:0], ALPHA, BETA)) == 0


def test_the_path_of_other_devices_gives_the_same() -> None:
    from wilds_targeted.augmentations.stain_color_jitter import _jitter_values, _maps

    x = planes(noise(4, 30, 21, 3))
    alpha, beta = draw_jitter(np.random.default_rng(1), 0.1, 4)
    for maps, ours in (
        (_maps(alpha, beta, 1, 4), jitter_stains(x, alpha, beta)),
        (_maps(ALPHA, BETA, 255, 4), jitter_stains(x, ALPHA, BETA, 255)),
    ):
        whole = _jitter_values(x, maps)
        assert whole.dtype == torch.uint8
        difference = (whole.int() - ours.int()).abs()
        assert difference.max() <= 1
        assert (difference > 0).float().mean() < 0.001


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_on_a_gpu() -> None:
    x = planes(noise(4, 30, 21, 3))
    alpha, beta = draw_jitter(np.random.default_rng(1), 0.1, 4)
    result = jitter_stains(x.cuda(), torch.tensor(alpha).cuda(), beta)
    assert result.is_cuda
    assert (result.cpu().int() - jitter_stains(x, alpha, beta).int()).abs().max() <= 1


def test_white_stays_white_in_the_textbook_form_without_beta() -> None:
    white = np.full((96, 96, 3), 255, np.uint8)
    rng = np.random.default_rng(0)
    for _ in range(50):
        alpha, _ = draw_jitter(rng, 0.5)
        for x in (white, planes(white)):
            assert (np.asarray(jitter_stains(x, alpha, ZEROS, white_level=255)) == 255).all()


@pytest.mark.parametrize("mode", ["RGB", "L", "RGBA", "LA", "P", "1", "CMYK"])
def test_any_mode_comes_back_as_it_was(mode: str) -> None:
    image = Image.fromarray(noise(20, 30, 3)).convert(mode)
    before = image.tobytes()
    result = jitter_stains(image, ALPHA, BETA)
    assert (result.mode, result.size) == (mode, (30, 20))
    assert image.tobytes() == before


def test_the_input_is_left_as_it_was() -> None:
    x = noise(2, 8, 9, 3)
    kinds: list[Any] = [x, planes(x), planes(x) / 255, planes(x).double() / 255]
    for each in kinds:
        before = each.copy() if isinstance(each, np.ndarray) else each.clone()
        result = jitter_stains(each, (1, 1, 1), (0, 0, 0))
        assert np.array_equal(before, each)
        assert not np.shares_memory(np.asarray(result), np.asarray(each))


def test_read_only_and_sliced_arrays() -> None:
    x = noise(20, 30, 3)
    expected = jitter_stains(x, ALPHA, BETA)
    x.flags.writeable = False
    assert np.array_equal(jitter_stains(x, ALPHA, BETA), expected)
    assert np.array_equal(jitter_stains(x[::2, ::-3], ALPHA, BETA), expected[::2, ::-3])


@pytest.mark.parametrize(
    ("x", "words"),
    [
        (np.zeros((8, 8, 4), np.uint8), r"uint8 array \(H, W, 3\).* got uint8 of shape \(8, 8, 4\): convert"),
        (np.zeros((3, 8, 8), np.uint8), r"got uint8 of shape \(3, 8, 8\)"),
        (np.zeros((8, 8), np.uint8), r"got uint8 of shape \(8, 8\)"),
        (np.zeros((8, 8, 3)), r"got float64 of shape \(8, 8, 3\)"),
        (torch.zeros(8, 8, 3), r"tensor \(3, H, W\).* got float32 of shape \(8, 8, 3\)"),
        (torch.zeros(1, 8, 8), r"got float32 of shape \(1, 8, 8\)"),
        (torch.zeros(3, 8, 8, dtype=torch.int64), r"got int64 of shape \(3, 8, 8\)"),
        (torch.full((3, 8, 8), 1.5), "from 0 to 1, and got 1.5 to 1.5: apply it before the normalization"),
        (torch.full((3, 8, 8), -0.1), "got -0.1 to -0.1"),
        (torch.full((3, 8, 8), math.nan), "got nan to nan"),
        ("text", "works on PIL images, uint8 arrays and tensors, and got a str"),
    ],
)
def test_what_it_cannot_take_is_told_in_one_line(x: Any, words: str) -> None:
    with pytest.raises(DataError, match=words) as caught:
        jitter_stains(x, ALPHA, BETA)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("alpha", "beta", "white_level", "words"),
    [
        ((1, 1), ZEROS, 1, r"alpha has the shape \(2,\): expected is \(3,\) or \(2, 3\)"),
        (ONES, 0.1, 1, r"beta has the shape \(\)"),
        (np.ones((5, 3)), ZEROS, 1, r"alpha has the shape \(5, 3\)"),
        ((1, np.nan, 1), ZEROS, 1, "alpha has a number that is not finite"),
        (ONES, (0, 0, np.inf), 1, "beta has a number that is not finite"),
        (ONES, ZEROS, 0, "white_level=0: expected is a number above 0"),
        (ONES, ZEROS, -255, "white_level=-255"),
    ],
)
def test_numbers_that_do_not_fit_are_told_in_one_line(alpha: Any, beta: Any, white_level: float, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        jitter_stains(noise(2, 8, 8, 3), alpha, beta, white_level)


def test_one_picture_takes_one_row() -> None:
    with pytest.raises(ParameterError, match=r"shape \(1, 3\): expected is \(3,\), a number"):
        jitter_stains(noise(8, 8, 3), np.ones((1, 3)), ZEROS)


def test_it_is_registered_for_camelyon17() -> None:
    spec = get_registry().transforms["stain_color_jitter"]
    assert spec.kind is Kind.TARGETED
    assert spec.serves("camelyon17")
    assert not spec.serves("iwildcam")
    assert spec.check({}) == {"sigma": 0.1, "white_level": 1.0}
    assert spec.parameters[0].search == "augmentation strength in [0.05, 0.1]"
    with pytest.raises(ParameterError, match="from 0 to 1"):
        spec.check({"sigma": -0.1})
    augmentation: Any = spec.build(None, **spec.check({"sigma": "0.05", "white_level": "255"}))
    assert (augmentation.sigma, augmentation.white_level) == (0.05, 255.0)
