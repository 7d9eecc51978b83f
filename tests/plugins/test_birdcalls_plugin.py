"""Copy-Paste + Jitter on BirdCalls: which backgrounds, which pixels; and what the audio augmentations are given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wilds_targeted import get_dataset
from wilds_targeted.audio.axes import pixel_box
from wilds_targeted.augmentations.color_jitter import ColorJitter, Drawn
from wilds_targeted.errors import ConfigError, ParameterError
from wilds_targeted.example import Example, load_example, training_rows
from wilds_targeted.pipeline import build_augmentations
from wilds_targeted.plugins import birdcalls


@pytest.fixture(scope="module")
def dataset(birdcalls_miniature: Path) -> Any:
    return get_dataset("birdcalls", root_dir=birdcalls_miniature)


def field(dataset: Any, name: str) -> np.ndarray:
    return np.asarray(dataset.metadata_array[:, dataset.metadata_fields.index(name)])


def build(name: str, dataset: Any, **parameters: Any) -> Any:
    return build_augmentations([name], dataset, 1.0, parameters, lambda spec: True)[0]


@pytest.mark.parametrize("name", ["copypaste_sameregion", "copypaste_allregions"])
def test_backgrounds(name: str, dataset: Any) -> None:
    paste = build(name, dataset).links[0]
    labels, regions = np.asarray(dataset.y_array), field(dataset, "region")
    training = training_rows(dataset)
    empty = set(training[labels[training] == 0].tolist())
    rng = np.random.default_rng(0)
    for region in range(3):
        row = int(training[(labels[training] > 0) & (regions[training] == region)][0])
        example = Example(None, dataset.y_array[row], dataset.metadata_array[row], row)
        drawn = {paste.draw(example, rng) for _ in range(600)}
        expected = {each for each in empty if name == "copypaste_allregions" or regions[each] == region}
        assert drawn == expected
    quiet = next(iter(empty))
    assert paste.draw(Example(None, dataset.y_array[quiet], dataset.metadata_array[quiet], quiet), rng) is None


def test_the_pixels_of_the_box_stay_and_the_hue_turns(dataset: Any) -> None:
    augmentation = build("copypaste_sameregion", dataset)
    row = int(training_rows(dataset)[np.asarray(dataset.y_array)[training_rows(dataset)] > 0][3])
    example = load_example(dataset, row)
    background, _ = augmentation.draw(example, np.random.default_rng(1))
    unturned = np.asarray(augmentation.apply(example, (background, Drawn(0.0, 1.0))))
    left, top, right, bottom = pixel_box(dataset.get_box(row))
    expected = np.asarray(dataset.get_input(background)).copy()
    expected[top:bottom, left:right] = np.asarray(example.x)[top:bottom, left:right]
    # A turn of nothing goes through Pillow's hues, which are rounded.
    plain = ColorJitter(0.5)
    from PIL import Image

    rounded = np.asarray(plain.apply(Example(Image.fromarray(expected), 1, None, 0), Drawn(0.0, 1.0)))
    assert np.array_equal(unturned, rounded)
    assert np.abs(unturned.astype(int) - expected).max() <= 8
    turned = np.asarray(augmentation.apply(example, (background, Drawn(0.4, 1.0))))
    assert not np.array_equal(turned, unturned)


def test_empty_clips_are_jittered_but_not_pasted(dataset: Any) -> None:
    augmentation = build("copypaste_sameregion", dataset)
    row = int(np.flatnonzero(np.asarray(dataset.y_array) == 0)[0])
    example = load_example(dataset, row)
    drawn = augmentation.draw(example, np.random.default_rng(0))
    assert drawn[0] is None
    alone = ColorJitter(0.5).apply(example, drawn[1])
    assert np.array_equal(np.asarray(augmentation.apply(example, drawn)), np.asarray(alone))


def test_a_clip_without_a_box_stays(dataset: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = birdcalls.CallBoxes(dataset)
    monkeypatch.setattr(dataset, "get_box", lambda row: None)
    assert calls.foreground(0, (500, 500)) is None
    monkeypatch.setattr(dataset, "get_box", lambda row: (0.5, 0.5, 0.0, 0.1))
    assert calls.foreground(0, (500, 500)) is None
    monkeypatch.setattr(dataset, "get_box", lambda row: (0.5, 0.5, 0.1, 0.2))
    assert calls.foreground(0, (100, 50)).box == (50, 25, 60, 35)


def test_noise_of_the_same_microphone(dataset: Any) -> None:
    augmentation = build("noisereduce", dataset)
    labels, microphones = np.asarray(dataset.y_array), field(dataset, "microphone")
    rows = training_rows(dataset)
    for row in rows[labels[rows] > 0][:20]:
        example = load_example(dataset, int(row))
        drawn = {augmentation.draw(example, np.random.default_rng(seed)) for seed in range(8)}
        assert all(microphones[each] == microphones[row] and labels[each] == 0 for each in drawn)
        assert drawn <= set(rows.tolist())


def test_a_microphone_without_empty_clips_is_told(dataset: Any, capsys: pytest.CaptureFixture[str]) -> None:
    class Noisy:
        metadata_fields = dataset.metadata_fields
        metadata_array = dataset.metadata_array
        split_array, split_dict = dataset.split_array, dataset.split_dict
        get_audio = dataset.get_audio
        y_array = dataset.y_array.clone()

    lonely = int(field(dataset, "microphone")[training_rows(dataset)[0]])
    Noisy.y_array[field(dataset, "microphone") == lonely] = 1
    birdcalls.build_noise_reduction(Noisy(), smooth_hz=500.0)
    assert "1 training microphones have no empty clip" in capsys.readouterr().err


def test_wrong_parameters_and_data_sets(dataset: Any, miniature: Path) -> None:
    with pytest.raises(ParameterError, match="min_hz=900 is above max_hz=100"):
        build("randompass", dataset, min_hz=900, max_hz=100)
    with pytest.raises(ParameterError, match="F=200: allowed is an integer from 1 to 128"):
        build("specaugment", dataset, F=200)
    with pytest.raises(ConfigError, match="serves birdcalls, not 'iwildcam'"):
        build("copypaste_sameregion", get_dataset("iwildcam", root_dir=miniature))
