"""The picture, and the command that writes it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner, Result
from PIL import Image

from wilds_targeted import get_dataset
from wilds_targeted.cli.preview import command
from wilds_targeted.errors import ParameterError, UnknownNameError
from wilds_targeted.example import load_example
from wilds_targeted.preview import build_augmenter, spread_over_classes


def preview(miniature: Path, out: Path, *more: str) -> Result:
    arguments = [
        "--dataset",
        "iwildcam",
        "--root_dir",
        str(miniature),
        "--out",
        str(out),
        "--rows",
        "3",
        "--draws",
        "2",
    ]
    return CliRunner().invoke(command, [*arguments, *more])


@pytest.mark.parametrize("name", ["copypaste_samey", "copypaste_all", "copypaste_samecountry"])
def test_originals_and_draws_side_by_side(name: str, miniature: Path, tmp_path: Path) -> None:
    out = tmp_path / "folder" / "grid.png"
    finished = preview(miniature, out, "--transform", name)
    assert finished.exit_code == 0, finished.output
    picture = np.asarray(Image.open(out)).astype(int)
    tile = picture[110:260, 6:206]
    draws = [picture[110:260, left : left + 200] for left in (224, 430)]
    assert tile.std() > 5, "the original is not blank"
    assert all(np.abs(tile - draw).mean() > 3 for draw in draws), "the draws are not the original"
    assert [path.name for path in out.parent.iterdir()] == ["grid.png"]


def test_a_mix_shows_the_batch_of_its_rows(miniature: Path, tmp_path: Path) -> None:
    dataset = get_dataset("iwildcam", root_dir=miniature)
    examples = [load_example(dataset, index) for index in spread_over_classes(dataset, 3, np.random.default_rng(0))]
    pictures = np.stack([np.asarray(example.x.convert("RGB")).astype(float) for example in examples])
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        mixed = build_augmenter("mixup", dataset, {"alpha": 5.0})(examples)
    for own, picture in zip(pictures, mixed, strict=True):
        # A blend with one of the batch: for some share it fits to a rounding error.
        fits = [
            np.abs(share * own + (1 - share) * other - np.asarray(picture)).max()
            for other in pictures
            for share in np.linspace(0, 1, 1001)
        ]
        assert min(fits) < 1.2
    out = tmp_path / "one.png"
    assert preview(miniature, out, "--transform", "mixup", "--rows", "1").exit_code == 0
    assert out.exists()


def test_it_repeats_with_its_seed(miniature: Path, tmp_path: Path) -> None:
    files = [tmp_path / f"{number}.png" for number in range(3)]
    for file, seed in zip(files, ("1", "1", "2"), strict=True):
        preview(miniature, file, "--transform", "copypaste_all", "--seed", seed)
    one, same, other = (file.read_bytes() for file in files)
    assert one == same != other


def test_wrong_words(miniature: Path, tmp_path: Path) -> None:
    unknown = preview(miniature, tmp_path / "a.png", "--transform", "copypaste")
    assert isinstance(unknown.exception, UnknownNameError)
    ending = preview(miniature, tmp_path / "a.picture", "--transform", "copypaste_all")
    assert isinstance(ending.exception, ParameterError)
    value = preview(
        miniature, tmp_path / "a.png", "--transform", "copypaste_all", "--transform_kwargs", "soft_edges=-1"
    )
    assert isinstance(value.exception, ParameterError)
    assert not list(tmp_path.glob("a.*"))
