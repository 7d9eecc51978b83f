"""What ``SUBMISSION.md`` says: the form's answers, the method, why it is standard or not, and what is left open."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from click.testing import CliRunner
from made_runs import Copy, make_run

from wilds_targeted.cli.submit import command
from wilds_targeted.errors import DataError
from wilds_targeted.experiments.leaderboard.description import TO_FILL_IN
from wilds_targeted.experiments.leaderboard.selection import how_tuned
from wilds_targeted.experiments.leaderboard.settings import of_interest, reasons_against_standard
from wilds_targeted.experiments.leaderboard.submission import submit
from wilds_targeted.experiments.recipes import get_recipe
from wilds_targeted.experiments.runs import find_runs, read_run
from wilds_targeted.experiments.sweep.records import FINAL, TUNING, Record, write_results
from wilds_targeted.experiments.sweep.unit import Failure, Result, Unit
from wilds_targeted.runner.outputs import save_model

pytestmark = pytest.mark.usefixtures("no_checkout")


class Shared(torch.nn.Module):
    """A model in which one layer stands under two names, as in WILDS's algorithms with a featurizer."""

    def __init__(self) -> None:
        super().__init__()
        self.featurizer = torch.nn.Linear(3, 4)
        self.norm = torch.nn.BatchNorm1d(4)
        self.model = torch.nn.Sequential(self.featurizer, torch.nn.Linear(4, 2))


def test_with_everything_said_the_archives_place_stays_open(
    copy: Copy, camelyon_miniature: Path, tmp_path: Path
) -> None:
    runs = copy()
    for seed in range(10):
        (runs / f"seed{seed}" / "versions.json").write_text('[{"torch": "2.7.0"}]' if seed else '[{"torch": "2.6.0"}]')
    save_model(runs / "seed0" / "camelyon17_seed:0_epoch:best_model.pth", Shared(), 1, 0.8)
    told = {
        "--name": "Stains | jittered",
        "--authors": "A. Person\nB. Person",
        "--affiliation": "Somewhere",
        "--paper": "https://example.org/paper",
        "--code": "https://example.org/code",
        "--selection": "ten draws, by acc_avg on val",
        "--non-standard": "trained on a Tuesday",
    }
    words = [word for pair in told.items() for word in pair]
    place = ["--out", str(tmp_path / "bundle"), "--root_dir", str(camelyon_miniature)]
    result = CliRunner().invoke(command, [str(runs), *place, *words, "--unofficial"])
    assert result.exit_code == 0, result.output
    text = (tmp_path / "bundle" / "SUBMISSION.md").read_text()
    lines = text.splitlines()
    assert "SUBMISSION.md has 1 place to fill in.\n" in result.stdout
    (open_line,) = [line for line in lines if TO_FILL_IN in line and not line.startswith("To submit")]
    assert open_line.startswith("| Archive | ")
    assert r"| Method | Stains \| jittered |" in lines
    assert "| Authors | A. Person B. Person |" in lines
    assert "| Official | no, a re-implementation |" in lines
    assert "| Category | non-standard |" in lines
    assert "- the augmentation `stain_color_jitter` is made for camelyon17" in lines
    assert "- trained on a Tuesday" in lines
    assert "- It randomizes the stain's colour (spurious)." in lines
    # 3 * 4 + 4 of the featurizer, 4 + 4 of the norm, 4 * 2 + 2 of the last layer
    assert "Parameters of the trained model: 34." in lines
    assert "| `--weight_decay` | `0.01` |" in lines
    assert "| 4 | 1 | 62.50 | 60.00 | 80.00 |" in lines  # 9 of 24, 8 of 20 and 4 of 20 are wrong
    assert "- trained with (seeds 0) torch 2.6.0" in lines
    assert "- trained with (seeds 1-9) torch 2.7.0" in lines


def test_reasons_come_from_the_registry(camelyon: Any, tmp_path: Path) -> None:
    def reasons(*flags: str) -> list[str]:
        folder = tmp_path / "-".join(("run", *flags))
        return reasons_against_standard(read_run(make_run(folder, camelyon, 0, *flags)))

    assert reasons() == []
    assert reasons("--transform", "randaugment") == []
    assert reasons("--additional_train_transform", "mixup") == []
    assert reasons("--transform", "stain_color_jitter") == [
        "the augmentation `stain_color_jitter` is made for camelyon17"
    ]
    log = make_run(tmp_path / "iwildcam", camelyon, 0, "--transform", "stain_color_jitter") / "log.txt"
    log.write_text(log.read_text().replace("camelyon17", "iwildcam").replace("stain_color_jitter", "copypaste_samey"))
    assert reasons_against_standard(read_run(log.parent)) == [
        "the augmentation `copypaste_samey` is made for iwildcam",
        "`copypaste_samey` uses masks and boxes that are no part of WILDS's iwildcam",
    ]


def test_a_smallest_score_and_a_log_without_transform(copy: Copy, camelyon_miniature: Path, tmp_path: Path) -> None:
    """`--val_metric_decreasing` turns the choice around: epoch 0, of which half is wrong on `val`."""
    runs = copy()
    for seed in range(10):
        folder = runs / f"seed{seed}"
        log = (folder / "log.txt").read_text()
        log = log.replace("Val metric decreasing: False", "Val metric decreasing: True")
        (folder / "log.txt").write_text(log.replace("Transform: stain_color_jitter", "Transform: None"))
        for path in folder.glob("*_epoch:0_pred.csv"):
            path.replace(path.with_name(path.name.replace("epoch:0", "epoch:best")))
    bundle = submit([runs], tmp_path / "bundle", camelyon_miniature)
    assert {replicate.epoch for replicate in bundle.replicates} == {0}
    text = (tmp_path / "bundle" / "SUBMISSION.md").read_text()
    assert "in the epoch with the\nsmallest `acc_avg` on `val`." in text
    assert "No augmentation beyond WILDS's own base steps (`None`)." in text


def test_weights_from_elsewhere_are_named(copy: Copy, camelyon_miniature: Path, tmp_path: Path) -> None:
    runs = copy()
    for seed in range(10):
        log = runs / f"seed{seed}" / "log.txt"
        text = log.read_text().replace("{'pretrained': False}", "{'weights': '/models/clip.pt'}")
        log.write_text(text.replace("Pretrained model path: None", "Pretrained model path: first.pth"))
    submit([runs], tmp_path / "bundle", camelyon_miniature)
    text = (tmp_path / "bundle" / "SUBMISSION.md").read_text()
    assert "trained on other data: `first.pth`, those of `densenet121` (weights=/models/clip.pt)." in text
    assert "Weights from elsewhere\nare for the leaderboard's maintainers to judge" in text


def test_flags_of_other_algorithms_are_not_listed(camelyon: Any, tmp_path: Path) -> None:
    listed = {}
    for algorithm in ("ERM", "IRM", "CDAN"):
        run = read_run(make_run(tmp_path / algorithm, camelyon, 0, "--algorithm", algorithm))
        listed[algorithm] = {name for name in of_interest(run) if name.startswith(("irm", "cdan", "dann", "coral"))}
    assert listed["ERM"] == set()
    assert listed["IRM"] == {"irm_lambda", "irm_penalty_anneal_iters"}
    assert listed["CDAN"] >= {"cdan_penalty_weight"}
    assert not any(name.startswith(("irm", "dann", "coral")) for name in listed["CDAN"])


def test_the_folder_of_a_recipe_tells_method_and_selection(
    copy: Copy, camelyon_miniature: Path, tmp_path: Path
) -> None:
    runs = copy()
    listed = ", ".join(f'"seed{seed}"' for seed in range(10))
    (runs / "runs.json").write_text(
        f'{{"recipe": "camelyon17/stain_color_jitter", "title": "Stain Color Jitter", "runs": [{listed}]}}'
    )
    submit([runs], tmp_path / "untold", camelyon_miniature)
    assert f"{TO_FILL_IN}: what was searched" in (tmp_path / "untold" / "SUBMISSION.md").read_text()

    def record(stage: str, draw: int, seed: int) -> Record:
        unit = Unit(recipe.name, "draw", ("--lr", str(draw)), seed)
        ended = Failure("broken,\nin two lines", 1) if draw == 2 and seed == 1 else Result(2, 0.8, 0.8, 0.7, 1.0, 1, [])
        return Record(stage, draw, {"lr": 0.1 * draw, "transform_p": 0.5}, unit, ended)

    recipe = get_recipe("camelyon17/stain_color_jitter")
    tuning = [record(TUNING, draw, seed) for draw in range(3) for seed in (0, 1)]
    write_results(runs, recipe, [*tuning, *(record(FINAL, 1, seed) for seed in range(10))])
    submit([runs], tmp_path / "bundle", camelyon_miniature)
    text = (tmp_path / "bundle" / "SUBMISSION.md").read_text()
    assert text.startswith("# Stain Color Jitter on camelyon17\n")
    assert "the recipe `camelyon17/stain_color_jitter`" in text
    assert (
        "\nBy 3 random draws of `lr`, `transform_p`, each trained with seeds 0-1 (1 of these runs failed): the draw "
        "with the best mean `acc_avg` on `val` was chosen and trained with the seeds above.\n"
    ) in text
    assert "of the hyperparameters: told below |" in text
    # A sweep's runs are those of the chosen draw.
    write_results(runs, recipe, tuning[:2])
    (run, *_) = find_runs([runs])
    assert how_tuned(run) == (
        "By 1 random draw of `lr`, `transform_p`, each trained with seeds 0-1: the draw with the best mean `acc_avg` "
        "on `val` was chosen; the scores above are of its runs."
    )
    for text in ("", "stage,draw\n", "stage,draw,seed\ntuning,0\n", "stage,draw,seed,epoch\ntuning,0,0,1\n"):
        (runs / "results.csv").write_text(text)
        if "tuning" in text:
            with pytest.raises(DataError, match=r"results\.csv is not what a sweep writes"):
                how_tuned(run)
        else:
            assert how_tuned(run) is None
