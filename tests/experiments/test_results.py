"""Selection, means and standard errors, computed by hand."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from wilds_targeted.errors import DataError
from wilds_targeted.experiments.results import Estimate, Row, Score, read_scores, table


def write(folder: Path, val: list[str], id_test: list[str], test: list[str]) -> Path:
    for split, lines in {"val": val, "id_test": id_test, "test": test}.items():
        (folder / f"{split}_eval.csv").write_text("\n".join(["epoch,acc_avg,F1-macro_all,other", *lines]) + "\n")
    return folder


def test_the_best_validation_epoch_is_reported(tmp_path: Path) -> None:
    write(
        tmp_path,
        ["0,0.9,0.10,x", "1,0.1,0.30,x", "2,0.8,0.20,x"],
        ["0,0.5,0.61,x", "1,0.5,0.62,x", "2,0.5,0.63,x"],
        ["0,0.5,0.41,x", "1,0.5,0.42,x", "2,0.5,0.99,x"],
    )
    assert read_scores(tmp_path, 7, "F1-macro_all", "id_test") == Score(7, 1, 0.30, 0.62, 0.42)


def test_of_ties_the_first_epoch_counts_as_in_wilds(tmp_path: Path) -> None:
    rows = ["0,0.5,0.2,x", "1,0.5,0.4,x", "2,0.5,0.4,x"]
    write(tmp_path, rows, rows, ["0,0.5,0.1,x", "1,0.5,0.2,x", "2,0.5,0.3,x"])
    assert read_scores(tmp_path, 0, "F1-macro_all", "id_test").epoch == 1


def test_a_repeated_epoch_counts_as_it_was_last(tmp_path: Path) -> None:
    write(
        tmp_path,
        ["0,0.5,0.2,x", "1,0.5,0.9,x", "1,0.5,0.3,x", "2,0.5,nan,x"],
        ["0,0.5,0.1,x", "1,0.5,0.2,x", "1,0.5,0.5,x", "2,0.5,0.1,x"],
        ["0,0.5,0.1,x", "1,0.5,0.2,x", "1,0.5,0.6,x", "2,0.5,0.1,x"],
    )
    assert read_scores(tmp_path, 0, "F1-macro_all", "id_test") == Score(0, 1, 0.3, 0.5, 0.6)


def test_unfinished_and_broken_files(tmp_path: Path) -> None:
    one = ["0,0.5,0.2,x"]
    with pytest.raises(OSError, match=r"val_eval\.csv"):
        read_scores(tmp_path, 0, "F1-macro_all", "id_test")
    with pytest.raises(DataError, match="no epoch has a score"):
        read_scores(write(tmp_path, [*one, "1,0.5,0.3,x"], one, one), 0, "F1-macro_all", "id_test")
    with pytest.raises(DataError, match="no epoch has a score"):
        read_scores(write(tmp_path, [], [], []), 0, "F1-macro_all", "id_test")
    with pytest.raises(DataError, match=r"id_test_eval\.csv: columns 'epoch' and 'F1-macro_all'"):
        read_scores(write(tmp_path, one, ["0,0.5,half,x"], one), 0, "F1-macro_all", "id_test")
    (tmp_path / "val_eval.csv").write_text("epoch,acc_avg\n0,0.5\n")
    with pytest.raises(DataError, match=r"val_eval\.csv: columns"):
        read_scores(tmp_path, 0, "F1-macro_all", "id_test")


def test_standard_errors_by_hand() -> None:
    # deviations -2, 0, 2: variance (4 + 0 + 4) / 2 = 4, error 2 / sqrt(3)
    estimate = Estimate.of([0.38, 0.40, 0.42])
    assert estimate.mean == pytest.approx(0.40)
    assert estimate.error == pytest.approx(0.02 / math.sqrt(3))
    assert str(estimate) == "40.0 (1.2)"
    # two values: half of their distance
    assert Estimate.of([0.1, 0.2]).error == pytest.approx(0.05)
    assert str(Estimate.of([0.4567])) == "45.7 (—)"


def test_the_table() -> None:
    def row(title: str, kind: str, *pairs: tuple[float, float]) -> Row:
        scores = [Score(seed, 0, 0.5, one, other) for seed, (one, other) in enumerate(pairs)]
        return Row(title, "t", kind, tuple(scores))

    rows = [
        row("Plain", "—", (0.5, 0.08), (0.7, 0.1)),
        row("A longer title", "generic", (0.5, 0.4)),
    ]
    assert table(rows, "macro F1").splitlines() == [
        "method          kind     ID macro F1  OOD macro F1",
        "Plain           —        60.0 (10.0)     9.0 (1.0)",
        "A longer title  generic     50.0 (—)      40.0 (—)",
    ]
