"""The three versions of a picture, pixel by pixel."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from PIL import Image

from wilds_targeted import Example
from wilds_targeted.augmentations.background_challenge import BackgroundChallenge, Version, show
from wilds_targeted.foreground import Foreground

PICTURE = 1 + np.arange(4 * 5 * 3, dtype=np.uint8).reshape(4, 5, 3)
OBJECT = np.array(
    [
        [0, 0, 0, 0, 0],
        [0, 1, 0, 0, 0],
        [0, 0, 0, 1, 0],
        [0, 0, 0, 0, 0],
    ],
    dtype=bool,
)
RECTANGLE = np.array(
    [
        [0, 0, 0, 0, 0],
        [0, 1, 1, 1, 0],
        [0, 1, 1, 1, 0],
        [0, 0, 0, 0, 0],
    ],
    dtype=bool,
)
BLACK_IN = {Version.ONLY_FG: ~OBJECT, Version.NO_FG: OBJECT, Version.ONLY_BG_B: RECTANGLE}


class Masks:
    """The same object in every row but 2; the foreground's box is wider than the object, as with people left out."""

    def foreground(self, row: int, size: tuple[int, int]) -> Foreground | None:
        assert size == (5, 4)
        return None if row == 2 else Foreground(Image.fromarray(OBJECT[:, 1:]), (1, 0, 5, 4), size)


@pytest.mark.parametrize("version", Version)
def test_each_version_is_black_where_it_should_be(version: Version) -> None:
    picture = Image.fromarray(PICTURE)
    shown = BackgroundChallenge(Masks(), version)(Example(picture, 1, None, 0), np.random.default_rng(0))
    expected = np.where(BLACK_IN[version][..., None], 0, PICTURE)
    assert np.array_equal(np.asarray(shown), expected)
    assert np.array_equal(np.asarray(picture), PICTURE), "the picture itself is left as it was"
    assert (shown.mode, shown.size) == ("RGB", (5, 4))


@pytest.mark.parametrize("version", Version)
def test_a_foreground_with_the_tightest_box_looks_the_same(version: Version) -> None:
    foreground = Foreground.of(Image.fromarray(OBJECT))
    assert foreground is not None
    shown = show(Image.fromarray(PICTURE), foreground, version)
    assert np.array_equal(np.asarray(shown), np.where(BLACK_IN[version][..., None], 0, PICTURE))


@pytest.mark.parametrize("version", Version)
def test_grey_pictures_stay_grey(version: Version) -> None:
    foreground = Foreground.of(Image.fromarray(OBJECT))
    assert foreground is not None
    shown = show(Image.fromarray(PICTURE[..., 0]), foreground, version)
    assert shown.mode == "L"
    assert np.array_equal(np.asarray(shown), np.where(BLACK_IN[version], 0, PICTURE[..., 0]))


@pytest.mark.parametrize("version", Version)
@pytest.mark.parametrize("mode", ["P", "CMYK", "RGBA"])
def test_black_is_black_in_any_mode(mode: str, version: Version) -> None:
    foreground = Foreground.of(Image.fromarray(OBJECT))
    assert foreground is not None
    white = Image.new("RGB", (5, 4), "white").convert(mode)
    shown = show(white, foreground, version)
    assert shown.mode == mode
    assert np.array_equal(np.asarray(shown.convert("L")) == 0, BLACK_IN[version])


@pytest.mark.parametrize("version", Version)
def test_an_unknown_foreground_leaves_the_picture_as_it_is(version: Version) -> None:
    example = Example(Image.fromarray(PICTURE), 1, None, 2)
    assert BackgroundChallenge(Masks(), version)(example, np.random.default_rng(0)) is example.x


def test_nothing_is_drawn() -> None:
    rng = np.random.default_rng(0)
    before = rng.bit_generator.state
    challenge = BackgroundChallenge(Masks(), Version.NO_FG)
    assert challenge.draw(Example(Image.fromarray(PICTURE), 1, None, 0), rng) is None
    assert rng.bit_generator.state == before


def test_it_travels_to_a_worker() -> None:
    copied = pickle.loads(pickle.dumps(BackgroundChallenge(Masks(), Version.ONLY_BG_B)))
    assert copied.version is Version.ONLY_BG_B
