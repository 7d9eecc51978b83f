"""Four versions of each picture: a world and models made by hand, then a real run and every error."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image

from wilds_targeted import ModelSpec
from wilds_targeted.cli.background_reliance import CSV_FILE, as_text, write_csv
from wilds_targeted.errors import AnnotationError, ConfigError, DataError, ParameterError
from wilds_targeted.experiments.background_reliance import Reliance, measure_reliance
from wilds_targeted.normalization import IMAGENET
from wilds_targeted.registry import get_registry
from wilds_targeted.runner.run import run as run_builtin

STEP = 20
"""Class k looks like the grey 20 k: the animal's pixels show its class, the background's a class of its own."""

# split, class of the animal, class that the background looks like
ROWS = [
    ("train", 0, 0),
    ("train", 3, 3),
    ("val", 1, 1),
    ("id_val", 1, 1),
    ("id_test", 1, 1),
    ("id_test", 1, 1),
    ("id_test", 2, 2),
    ("id_test", 2, 1),
    ("id_test", 2, 2),  # its foreground is not known
    ("id_test", 0, 0),
    ("test", 1, 2),
    ("test", 1, 1),
    ("test", 3, 2),
]
UNKNOWN_ROW = 8
ANIMAL, BETWEEN, CORNER = (1, 1), (1, 2), (5, 0)
"""Places (y, x): on the animal; beside it, but in the rectangle around it; in the background."""


class OnePixel(torch.nn.Module):
    """Answers with the class that one pixel looks like."""

    def __init__(self, d_out: int | None) -> None:
        super().__init__()
        self.d_out = d_out or 1
        self.place = torch.nn.Parameter(torch.zeros(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y, x_ = (int(n) for n in self.place)
        grey = 255 * (x[:, 0, y, x_] * IMAGENET.std[0] + IMAGENET.mean[0])
        return -(grey[:, None] / STEP - torch.arange(self.d_out)).abs()


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The root directory of pictures of 6 x 8 pixels, with two-pixel animals."""
    monkeypatch.setitem(get_registry().models._specs, "one-pixel", ModelSpec("one-pixel", OnePixel))
    root = tmp_path / "data"
    data = root / "iwildcam_v2.0"
    (data / "train").mkdir(parents=True)
    (root / "instance_masks").mkdir()
    (data / "RELEASE_v2.0.txt").write_text("made by hand")
    table = pd.DataFrame(ROWS, columns=["split", "y", "looks_like"])
    table["location"] = table["location_remapped"] = range(len(ROWS))
    table["image_id"] = [f"image{row}" for row in range(len(ROWS))]
    table["filename"] = table["image_id"] + ".jpg"
    table["sequence_remapped"] = range(len(ROWS))
    table["datetime"] = "2020-01-01 10:00:00.000"
    table.to_csv(data / "metadata.csv", index=False)
    mask = np.zeros((6, 8), np.uint8)
    mask[ANIMAL], mask[2, 3] = 1, 1
    images = []
    for row, (_, y, looks_like) in enumerate(ROWS):
        picture = np.where(mask > 0, STEP * y, STEP * looks_like).astype(np.uint8)
        Image.fromarray(picture).convert("RGB").save(data / "train" / f"image{row}.jpg", format="PNG")
        found = [{"bbox": [0.125, 1 / 6, 0.375, 1 / 3], "conf": 0.9, "category": "1"}]
        known = y != 0 and row != UNKNOWN_ROW
        images.append({"id": f"image{row}", "detections": found if known else [], "max_detection_conf": 0.9})
        if known:
            Image.fromarray(mask).save(root / "instance_masks" / f"image{row}.png")
    (root / "megadetector_results.json").write_text(json.dumps({"images": images}))
    return root


def flags(root: Path, *more: str) -> list[str]:
    words = "--dataset iwildcam --algorithm ERM --model one-pixel --target_resolution 6 8 --batch_size 2"
    rest = "--loader_kwargs num_workers=0 --progress_bar false --log_dir"
    return [*words.split(), "--root_dir", str(root), *rest.split(), str(root.parent / "logs"), *more]


def save(root: Path, place: tuple[int, int], epoch: str = "best") -> Path:
    """A model file as a run writes it, of a model that looks at this place."""
    path = root.parent / "logs" / f"iwildcam_seed:0_epoch:{epoch}_model.pth"
    path.parent.mkdir(exist_ok=True)
    state = {"model.place": torch.tensor(place, dtype=torch.float32)}
    torch.save({"algorithm": state, "epoch": 4, "best_val_metric": 0.5}, path)
    return path


def accuracies(reliance: Reliance) -> list[list[float]]:
    return [[round(scores.accuracy, 6) for scores in split.scores.values()] for split in reliance.splits]


def test_a_model_that_looks_at_the_animal(world: Path) -> None:
    path = save(world, ANIMAL)
    reliance = measure_reliance(flags(world))
    assert (reliance.model, reliance.epoch) == (path, 4)
    id_test, test = reliance.splits
    assert (id_test.split, id_test.rows, id_test.animals, id_test.chance) == ("id_test", 4, 5, 0.5)
    assert (test.split, test.rows, test.animals, test.chance) == ("test", 3, 3, 2 / 3)
    assert list(test.scores) == ["original", "only_fg", "no_fg", "only_bg_b"]
    assert accuracies(reliance) == [[1, 1, 0, 0], [1, 1, 0, 0]]
    assert [scores.empty for scores in test.scores.values()] == [0, 0, 1, 1]
    assert [scores.macro_f1 for scores in test.scores.values()] == [1, 1, 0, 0]


def test_models_that_look_at_the_background(world: Path) -> None:
    save(world, CORNER)
    corner = measure_reliance(flags(world))
    third = round(1 / 3, 6)
    assert accuracies(corner) == [[0.75, 0, 0.75, 0.75], [third, 0, third, third]]
    # id_test: classes 1 1 2 2 are answered 1 1 2 1; F1 of class 1 is 4/5, of class 2 it is 2/3.
    assert corner.splits[0].scores["original"].macro_f1 == pytest.approx((4 / 5 + 2 / 3) / 2)
    # test: classes 1 1 3 are answered 2 1 2; F1 of class 1 is 2/3, of class 3 it is 0; class 2 is not there.
    assert corner.splits[1].scores["original"].macro_f1 == pytest.approx(1 / 3)
    assert corner.splits[1].scores["only_fg"].empty == 1
    save(world, BETWEEN)
    assert accuracies(measure_reliance(flags(world))) == [[0.75, 0, 0.75, 0], [third, 0, third, 0]]


def test_flags_choose_splits_epoch_and_annotations(world: Path) -> None:
    save(world, CORNER)
    save(world, ANIMAL, epoch="2")
    chosen = measure_reliance(flags(world, "--eval_splits", "val", "train", "--eval_epoch", "2", "--resume"))
    assert [(split.split, split.rows) for split in chosen.splits] == [("val", 1), ("train", 1)]
    assert chosen.splits[0].scores["only_fg"].accuracy == 1
    (world / "instance_masks").rename(world.parent / "instance_masks")
    boxes_only = measure_reliance(flags(world))
    assert boxes_only.splits[0].rows == 4
    masks_only = measure_reliance(flags(world), annotations=str(world.parent))
    assert accuracies(masks_only) == accuracies(boxes_only)
    with pytest.raises(DataError, match=r"the split 'id_test' has no animal whose place .* \(5 pictures"):
        measure_reliance(flags(world), min_confidence=0.95)


def test_the_text_and_the_table_of_numbers(world: Path, tmp_path: Path) -> None:
    save(world, CORNER)
    reliance = measure_reliance(flags(world, "--eval_splits", "id_test"))
    assert as_text(reliance).splitlines()[2:] == [
        "id_test: 4 of 5 pictures with an animal, those whose foreground is known; chance 50.0 %",
        "  version     accuracy  macro F1  said empty",
        "  original        75.0      73.3         0.0",
        "  only_fg          0.0       0.0       100.0",
        "  no_fg           75.0      73.3         0.0",
        "  only_bg_b       75.0      73.3         0.0",
        "The background adds +75.0 points of accuracy to the animal alone (original - only_fg).",
        "Without the animal the model is right in 75.0 % (no_fg) and 75.0 % (only_bg_b), +25.0 and +25.0 points "
        "against chance.",
    ]
    write_csv(reliance, tmp_path / CSV_FILE)
    lines = (tmp_path / CSV_FILE).read_text().splitlines()
    assert lines[0] == "split,version,epoch,rows,animals,accuracy,macro_f1,said_empty,chance"
    assert lines[2] == "id_test,only_fg,4,4,5,0.0,0.0,1.0,0.5"
    assert len(lines) == 5


def test_what_is_missing_is_told(world: Path) -> None:
    with pytest.raises(DataError, match=r"epoch:best_model\.pth: there is no such model\. There is no model in that"):
        measure_reliance(flags(world))
    path = save(world, ANIMAL)
    with pytest.raises(DataError, match=r"epoch:7_model\.pth: there is no such model\. Models there: iwildcam_seed:0"):
        measure_reliance(flags(world, "--eval_epoch", "7"))
    with pytest.raises(ConfigError, match=r"best_model\.pth does not fit --algorithm ERM --model miniature-cnn"):
        measure_reliance(flags(world, "--model", "miniature-cnn"))
    with pytest.raises(ConfigError, match="iwildcam has no split 'tset'"):
        measure_reliance(flags(world, "--eval_splits", "tset"))
    with pytest.raises(ConfigError, match="camelyon17 knows no foreground; it serves iwildcam"):
        measure_reliance(flags(world, "--dataset", "camelyon17"))
    with pytest.raises(ParameterError, match="min_confidence=2"):
        measure_reliance(flags(world), min_confidence=2)
    (world / "iwildcam_v2.0" / "train" / "image5.jpg").write_bytes(b"no picture")
    with pytest.raises(DataError, match=r"row 5 of iwildcam can't be read .* --on_bad_example skip"):
        measure_reliance(flags(world))
    assert measure_reliance(flags(world, "--on_bad_example", "skip")).splits[0].rows == 3
    (world / "megadetector_results.json").unlink()
    (world / "instance_masks").rename(world / "elsewhere")
    with pytest.raises(AnnotationError, match="needs the animals' masks or boxes"):
        measure_reliance(flags(world))
    assert [each.name for each in path.parent.iterdir()] == [path.name], "nothing is written"


def test_after_a_real_run(miniature: Path, run: Callable, tmp_path: Path) -> None:
    words = (
        "--dataset iwildcam --algorithm ERM --model miniature-cnn --target_resolution 24 32 --n_epochs 1 "
        "--batch_size 16 --transform copypaste_samey --transform_kwargs min_confidence=0.6 "
        "--loader_kwargs num_workers=1 --log_dir logs"
    )
    trained = [*words.split(), "--root_dir", str(miniature)]
    finished = run("wilds-targeted", "run", "--runner", "builtin", *trained, how="command")
    assert finished.status == 0, finished.output
    folder = tmp_path / "logs"
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    finished = run("wilds-targeted", "background-reliance", "--runner", "builtin", *trained, how="command")
    assert finished.status == 0, finished.output
    assert "Copy-Paste:" not in finished.output, "no augmentation is made for it"
    assert f"{Path('logs') / CSV_FILE} holds the numbers" in finished.output
    after = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert set(after) - set(before) == {CSV_FILE}
    assert all(after[name] == content for name, content in before.items())
    numbers = pd.read_csv(folder / CSV_FILE)
    assert numbers.version.tolist() == 2 * ["original", "only_fg", "no_fg", "only_bg_b"]
    metadata = pd.read_csv(miniature / "iwildcam_v2.0" / "metadata.csv")
    for split in ("id_test", "test"):
        predictions = pd.read_csv(folder / f"iwildcam_split:{split}_seed:0_epoch:best_pred.csv", header=None)[0]
        rows = metadata[metadata.split == split].reset_index(drop=True)
        detected = _detected(miniature, 0.6)
        known = (rows.y != 0) & rows.image_id.isin(detected)
        found = numbers[(numbers.split == split) & (numbers.version == "original")].iloc[0]
        assert (found.rows, found.animals) == (known.sum(), (rows.y != 0).sum())
        assert found.accuracy == pytest.approx((predictions == rows.y)[known].mean())
        assert found.said_empty == pytest.approx((predictions == 0)[known].mean())


def test_a_model_that_wilds_augmented(miniature: Path, run: Callable, tmp_path: Path) -> None:
    """WILDS gives deepCORAL RandAugment, unasked; the command takes the flags all the same."""
    words = (
        "--dataset iwildcam --algorithm deepCORAL --model miniature-cnn --target_resolution 24 32 --n_epochs 1 "
        "--batch_size 16 --frac 0.3 --loader_kwargs num_workers=0 --eval_splits test --log_dir logs"
    )
    trained = [*words.split(), "--root_dir", str(miniature)]
    off = ("--additional_train_transform", "none", "--evaluate_all_splits", "false")
    finished = run("wilds-targeted", "run", "--runner", "builtin", *trained, *off, how="command")
    assert finished.status == 0, finished.output
    finished = run("wilds-targeted", "background-reliance", *trained, how="command")
    assert finished.status == 0, finished.output
    assert pd.read_csv(tmp_path / "logs" / CSV_FILE).split.tolist() == 4 * ["test"]


def _detected(root: Path, confidence: float) -> set[str]:
    """The images with an animal of at least that confidence."""
    (file,) = root.rglob("*megadetector*.json")
    return {
        image["id"]
        for image in json.loads(file.read_text())["images"]
        if any(found["conf"] >= confidence and found["category"] != "2" for found in image["detections"])
    }


def test_the_command_ends_in_one_line(miniature: Path, run: Callable) -> None:
    words = "--dataset iwildcam --algorithm ERM --model miniature-cnn --log_dir nowhere --root_dir"
    finished = run("wilds-targeted", "background-reliance", *words.split(), miniature, how="command")
    assert finished.status == 1
    assert finished.last_line.startswith(
        "wilds-targeted: error: nowhere/iwildcam_seed:0_epoch:best_model.pth: there is"
    )
    assert "Traceback" not in finished.output


def test_help_tells_the_flags(run: Callable) -> None:
    finished = run("wilds-targeted", "background-reliance", "--help", how="command", COLUMNS="200")
    assert finished.status == 0
    for words in ("--min_confidence", "--eval_splits", "--log_dir"):
        assert words in finished.output


def test_a_run_with_a_registered_version_evaluates_alike(miniature: Path, tmp_path: Path) -> None:
    words = "--dataset iwildcam --algorithm ERM --model miniature-cnn --target_resolution 24 32 --n_epochs 1"
    more = "--transform only_bg_b --loader_kwargs num_workers=0 --progress_bar false --log_dir"
    trained = ["--root_dir", str(miniature), *words.split(), *more.split(), str(tmp_path)]
    try:
        run_builtin(trained)
    finally:
        torch.set_grad_enabled(True)
    measured = measure_reliance([*trained, "--eval_splits", "test"]).splits[0]
    assert torch.is_grad_enabled()
    predictions = pd.read_csv(tmp_path / "iwildcam_split:test_seed:0_epoch:best_pred.csv", header=None)[0]
    metadata = pd.read_csv(miniature / "iwildcam_v2.0" / "metadata.csv")
    rows = metadata[metadata.split == "test"].reset_index(drop=True)
    known = (rows.y != 0) & rows.image_id.isin(_detected(miniature, 0.5))
    assert measured.rows == known.sum()
    assert measured.scores["only_bg_b"].accuracy == pytest.approx((predictions == rows.y)[known].mean())
    assert measured.scores["only_bg_b"].empty == pytest.approx((predictions == 0)[known].mean())
