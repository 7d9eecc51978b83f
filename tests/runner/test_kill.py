"""SIGKILL at random moments, again and again: the files are those of a run that nobody disturbed."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from compare_outputs import assert_same_outputs, load

SMALL = (
    "--dataset iwildcam --model miniature-cnn --target_resolution 24 24 --n_epochs 3 --batch_size 8 --lr 1e-3 "
    "--save_step 2 --log_every 3 --frac 0.5"
).split()
CASES = {
    # Saved after every batch, only at the end of each epoch, and with workers and a sampler that draws by itself.
    "every batch": "--algorithm ERM --transform copypaste_samey --checkpoint_every 0 --loader_kwargs num_workers=0",
    "every epoch": "--algorithm ERM --transform copypaste_all --loader_kwargs num_workers=0",
    "workers": "--algorithm IRM --irm_penalty_anneal_iters 20 --additional_train_transform none "
    "--loader_kwargs num_workers=2 --checkpoint_every 0.2",
}
KILLS = 8
"""For each case; at least 20 in all."""


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_killed_at_random_moments(case: str, run: Callable, miniature: Path, tmp_path: Path) -> None:
    chance = random.Random(case)
    flags = ["--root_dir", miniature, *SMALL, *CASES[case].split()]

    def train(folder: str, **keywords: object) -> object:
        (tmp_path / folder).mkdir(exist_ok=True)
        command = ("wilds-targeted", "run", "--runner", "builtin", *flags, "--resume", "--log_dir", "logs")
        return run(*command, how="command", cwd=tmp_path / folder, **keywords)

    finished = train("undisturbed")
    assert finished.status == 0, finished.output
    seconds = finished.seconds
    kills = campaign = 0
    while kills < KILLS:
        campaign += 1
        folder = f"killed-{campaign}"
        # Moments over the whole length of a run, the start included; each next attempt gets further.
        while (killed := train(folder, kill_after=chance.uniform(0.05, 0.9) * seconds)).status == -9:
            kills += 1
            for path in (tmp_path / folder).glob("logs/*.p*t*"):
                if not path.name.startswith("."):
                    load(path)  # whatever has its final name is whole
            assert kills < 100, "the run does not get on"
        assert killed.status == 0, killed.output
        assert_same_outputs(tmp_path / "undisturbed" / "logs", tmp_path / folder / "logs")


def test_there_are_enough_kills() -> None:
    assert KILLS * len(CASES) >= 20
