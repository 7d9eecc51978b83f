from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from wilds_targeted.annotations.masks import boxes_mask, load_mask
from wilds_targeted.errors import AnnotationError
from wilds_targeted.foreground import Foreground

NUMBERS = np.array([[0, 1, 1, 0], [0, 2, 3, 3]], np.uint8)
"""Two rows of four pixels with three instances."""


def ordinals(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.uint8)


def save(tmp_path: Path, image: Image.Image) -> Path:
    path = tmp_path / "mask.png"
    image.save(path)
    return path


def in_mode(mode: str) -> Image.Image:
    if mode == "P":
        image = Image.new("P", (4, 2))
        image.putdata(NUMBERS.ravel().tolist())
        image.putpalette(list(range(255, -1, -1)) * 3)  # colours that mislead whoever looks at them
        return image
    dtype = {"L": np.uint8, "I;16": np.uint16}[mode]
    return Image.fromarray(NUMBERS.astype(dtype))


def pixels(foreground: Foreground | None) -> list[list[int]]:
    assert foreground is not None
    assert foreground.mask.mode == "1"
    return np.asarray(foreground.whole()).tolist()


def error_of(path: Path, listed: int = -1) -> str:
    with pytest.raises(AnnotationError) as caught:
        load_mask(path, None, None, listed)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(f"{path}: ")
    return message.removeprefix(f"{path}: ")


@pytest.mark.parametrize("mode", ["L", "P", "I;16"])
class TestModes:
    def test_chosen_instances(self, tmp_path: Path, mode: str) -> None:
        path = save(tmp_path, in_mode(mode))
        assert pixels(load_mask(path, None, ordinals(1, 3), 3)) == [[0, 255, 255, 0], [0, 0, 255, 255]]

    def test_every_instance(self, tmp_path: Path, mode: str) -> None:
        path = save(tmp_path, in_mode(mode))
        assert pixels(load_mask(path, None, None, -1)) == [[0, 255, 255, 0], [0, 255, 255, 255]]

    def test_nothing_left(self, tmp_path: Path, mode: str) -> None:
        assert load_mask(save(tmp_path, in_mode(mode)), None, ordinals(4, 255), 4) is None

    def test_resized(self, tmp_path: Path, mode: str) -> None:
        mask = load_mask(save(tmp_path, in_mode(mode)), (8, 4), ordinals(2), 3)
        expected = np.kron(NUMBERS == 2, np.ones((2, 2))) * 255
        assert pixels(mask) == expected.astype(int).tolist()

    def test_an_instance_that_is_not_listed(self, tmp_path: Path, mode: str) -> None:
        assert error_of(save(tmp_path, in_mode(mode)), listed=2) == (
            "has instance 3, but the detections file lists 2 for this image: "
            "masks and detections are not of the same release"
        )


def test_one_bit_is_instance_one(tmp_path: Path) -> None:
    path = save(tmp_path, Image.fromarray(NUMBERS == 2))
    assert Image.open(path).mode == "1"
    assert pixels(load_mask(path, None, ordinals(1), 1)) == [[0, 0, 0, 0], [0, 255, 0, 0]]
    assert pixels(load_mask(path, (4, 2), None, -1)) == [[0, 0, 0, 0], [0, 255, 0, 0]]
    assert load_mask(path, None, ordinals(255), 255) is None
    assert "has instance 1, but the detections file lists 0" in error_of(path, listed=0)


def test_old_pillow_opens_sixteen_bits_as_mode_i(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = save(tmp_path, in_mode("I;16"))
    wide = Image.fromarray(NUMBERS.astype(np.int32))
    assert wide.mode == "I"
    monkeypatch.setattr(Image, "open", lambda *_, **__: wide)
    assert pixels(load_mask(path, (4, 2), ordinals(3), 3)) == [[0, 0, 0, 0], [0, 0, 255, 255]]


def test_numbers_past_a_byte_are_no_detection_but_an_instance(tmp_path: Path) -> None:
    path = save(tmp_path, Image.fromarray(np.array([[0, 255, 256, 511]], np.uint16)))
    assert pixels(load_mask(path, None, None, -1)) == [[0, 255, 255, 255]]
    assert pixels(load_mask(path, None, ordinals(255), -1)) == [[0, 255, 0, 0]]
    assert "has instance 511, but the detections file lists 255" in error_of(path, listed=255)


def test_numbers_are_not_interpolated(tmp_path: Path) -> None:
    """Between instances 2 and 6, any smooth resampling makes a 4."""
    path = save(tmp_path, Image.fromarray(np.repeat(np.array([[2, 6, 2, 6]], np.uint8), 4, axis=0)))
    for size in ((7, 7), (3, 3), (448, 448)):
        assert load_mask(path, size, ordinals(3, 4, 5), 6) is None


def test_the_check_comes_before_resizing(tmp_path: Path) -> None:
    numbers = np.ones((100, 100), np.uint8)
    numbers[99, 99] = 9  # one pixel of ten thousand, which resizing to one pixel loses
    with pytest.raises(AnnotationError, match="has instance 9, but the detections file lists 1"):
        load_mask(save(tmp_path, Image.fromarray(numbers)), (1, 1), ordinals(1), 1)


def test_without_ordinals_the_file_is_not_opened(tmp_path: Path) -> None:
    assert load_mask(tmp_path / "absent.png", None, ordinals(), 5) is None


def test_an_empty_mask(tmp_path: Path) -> None:
    path = save(tmp_path, Image.new("L", (4, 2)))
    assert load_mask(path, None, None, 0) is None
    assert load_mask(path, (8, 8), ordinals(1), 1) is None


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "LA"])
def test_several_channels(tmp_path: Path, mode: str) -> None:
    path = save(tmp_path, Image.new(mode, (4, 2)))
    assert error_of(path) == f"got an image of mode {mode}; expected one channel of instance numbers"


def test_unreadable_files(tmp_path: Path) -> None:
    noise = np.random.default_rng(0).integers(0, 9, (64, 64), np.uint8)
    whole = save(tmp_path, Image.fromarray(noise)).read_bytes()
    path = tmp_path / "broken.png"
    for content in (b"", b"no PNG", whole[:40], whole[: len(whole) // 2], whole[:60] + b"\0\0\0\0" + whole[64:]):
        path.write_bytes(content)
        assert error_of(path).startswith("cannot be read as PNG (")
    assert error_of(tmp_path / "absent.png").startswith("cannot be read as PNG (")


def test_a_jpeg_is_no_mask(tmp_path: Path) -> None:
    path = tmp_path / "mask.png"
    in_mode("L").save(path, format="JPEG")
    assert error_of(path).startswith("cannot be read as PNG (")


class TestBoxes:
    def filled(self, boxes: list[list[float]], size: tuple[int, int] = (8, 4)) -> list[list[int]]:
        mask = boxes_mask(np.array(boxes, float).reshape(-1, 4), size)
        assert mask is not None
        assert mask.size == size
        return (np.array(pixels(mask)) // 255).tolist()

    def test_edges_between_pixels(self) -> None:
        assert self.filled([[0.25, 0.25, 0.5, 0.5]]) == [
            [0, 0, 0, 0, 0, 0, 0, 0],
            [0, 0, 1, 1, 1, 1, 0, 0],
            [0, 0, 1, 1, 1, 1, 0, 0],
            [0, 0, 0, 0, 0, 0, 0, 0],
        ]

    def test_edges_within_pixels_round_outwards(self) -> None:
        assert self.filled([[0.3, 0.3, 0.4, 0.4]]) == self.filled([[0.25, 0.25, 0.5, 0.5]])

    def test_the_rounding_of_the_table_touches_no_further_pixel(self) -> None:
        stored = np.round(np.array([[0.25, 0.25, 0.5, 0.5]]) * 65535) / 65535
        assert self.filled(stored.tolist()) == self.filled([[0.25, 0.25, 0.5, 0.5]])

    def test_several_boxes(self) -> None:
        assert self.filled([[0, 0, 0.25, 1], [0.5, 0, 0.5, 0.5]], (4, 2)) == [[1, 0, 1, 1], [1, 0, 0, 0]]

    def test_at_least_one_pixel_and_within_the_image(self) -> None:
        assert self.filled([[0, 0, 0, 0]], (2, 2)) == [[1, 0], [0, 0]]
        assert self.filled([[1, 1, 0, 0]], (2, 2)) == [[0, 0], [0, 1]]
        assert self.filled([[0.5, 0.5, 1, 1]], (2, 2)) == [[0, 0], [0, 1]]

    def test_no_box(self) -> None:
        assert boxes_mask(np.empty((0, 4)), (2, 1)) is None
