"""A run that is stopped anywhere and resumed ends like one that was not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from compare_outputs import assert_same_outputs, load

from wilds_targeted.errors import ConfigError, DataError, RunError
from wilds_targeted.runner import loop, versions
from wilds_targeted.runner.state import STATE_FILE

GROUPS = "--additional_train_transform none --n_groups_per_batch 4"
CASES = {
    "ERM": "--algorithm ERM --transform copypaste_samey --transform_p 0.7",
    "mixed": "--algorithm ERM --transform lisa_mixup --additional_train_transform cutmix --transform_p 0.7",
    "AdamW": "--algorithm ERM --optimizer AdamW --gradient_accumulation_steps 3 "
    "--scheduler cosine_schedule_with_warmup",
    "plateau": "--algorithm ERM --scheduler ReduceLROnPlateau --scheduler_metric_name acc_avg "
    "--scheduler_kwargs mode=max patience=0",
    "StepLR": "--algorithm ERM --scheduler StepLR --optimizer SGD --optimizer_kwargs momentum=0.9",
    "FixMatchLR": "--algorithm ERM --scheduler FixMatchLR",
    "IRM": f"--algorithm IRM --irm_penalty_anneal_iters 4 {GROUPS}",
    "deepCORAL": f"--algorithm deepCORAL {GROUPS}",
    "DANN": f"--algorithm DANN {GROUPS}",
    "CDAN": f"--algorithm CDAN {GROUPS}",
    "groupDRO": "--algorithm groupDRO --additional_train_transform none --no_group_logging false",
    "workers": f"--algorithm deepCORAL {GROUPS} --transform copypaste_all --loader_kwargs num_workers=2",
    "bf16": "--algorithm ERM --amp bf16",
}


class Stopped(Exception):
    """Stands for the end of a process."""


@pytest.fixture
def stop_after(monkeypatch: pytest.MonkeyPatch) -> Callable[[int | None], None]:
    """Let the next run end after so many batches of any phase; None for never."""
    original = loop.Loop._check_finite
    left: list[int | None] = [None]

    def check_finite(self: loop.Loop, results: dict[str, Any], split: Any) -> None:
        original(self, results, split)
        if left[0] is not None:
            left[0] -= 1
            if left[0] < 0:
                raise Stopped

    monkeypatch.setattr(loop.Loop, "_check_finite", check_finite)

    def stop_after(batches: int | None) -> None:
        left[0] = batches

    return stop_after


@pytest.mark.parametrize("case", CASES)
def test_stopped_and_resumed_equals_undisturbed(
    case: str, train: Callable, stop_after: Callable, request: pytest.FixtureRequest
) -> None:
    if case == "bf16":
        request.getfixturevalue("bf16")
    # Workers are started for every phase of every attempt, which takes time: fewer stops there.
    strides = (4, 9) if case == "workers" else (1, 3, 7)
    check_stops(train, stop_after, strides, *CASES[case].split())


def check_stops(train: Callable, stop_after: Callable, strides: tuple[int, ...], *flags: str, **keywords: Any) -> None:
    """Stop a run again and again, after so many batches each time, and compare its end with an undisturbed run's."""
    flags = (*flags, "--checkpoint_every", "0")
    undisturbed = train(*flags, name="undisturbed", **keywords)
    for attempt in range(60):
        stop_after(strides[attempt % len(strides)])
        try:
            stopped = train(*flags, "--resume", name="stopped", **keywords)
            break
        except Stopped:
            continue
    else:
        pytest.fail("the run never came to its end")
    assert attempt >= 2
    assert_same_outputs(undisturbed, stopped)


@pytest.mark.parametrize("algorithm", ["ERM", "deepCORAL"])
def test_a_clip_tower_resumes(
    algorithm: str, train: Callable, stop_after: Callable, tiny_tower: Path, camelyon_miniature: Path
) -> None:
    model = f"--dataset camelyon17 --model clip:{tiny_tower} --model_kwargs pretrained=False --optimizer AdamW"
    more = "--gradient_checkpointing --additional_train_transform none --batch_size 8"
    flags = [*model.split(), *more.split(), "--algorithm", algorithm]
    check_stops(train, stop_after, (2, 9, 5), *flags, root=camelyon_miniature)


def test_by_default_a_run_goes_on_from_its_last_epoch(train: Callable, stop_after: Callable, tmp_path: Path) -> None:
    undisturbed = train("--n_epochs", "3", name="undisturbed")
    stop_after(15)
    with pytest.raises(Stopped):
        train("--n_epochs", "3", name="stopped")
    assert load(tmp_path / "stopped" / "logs" / STATE_FILE)["position"]["batches"] == 0
    stop_after(None)
    assert_same_outputs(undisturbed, train("--n_epochs", "3", "--resume", name="stopped"))


def test_a_finished_run_stays_and_can_be_prolonged(train: Callable, capsys: pytest.CaptureFixture[str]) -> None:
    undisturbed = train("--n_epochs", "3", name="undisturbed")
    folder = train("--n_epochs", "2", name="short")
    train("--n_epochs", "2", "--resume", name="short")
    assert "is finished: nothing to resume" in capsys.readouterr().err
    train("--n_epochs", "3", "--resume", name="short")
    for name in ("test_eval.csv", "iwildcam_split:test_seed:0_epoch:last_pred.csv"):
        assert (folder / name).read_bytes() == (undisturbed / name).read_bytes()


def test_other_settings_are_refused(train: Callable, stop_after: Callable) -> None:
    stop_after(3)
    with pytest.raises(Stopped):
        train()
    stop_after(None)
    with pytest.raises(ConfigError, match=r"began with lr = 3e-05, not 0\.5\. Give the same settings, or another"):
        train("--resume", "--lr", "0.5")


def test_a_schedule_by_length_fixes_the_length(train: Callable) -> None:
    train("--scheduler", "linear_schedule_with_warmup")
    with pytest.raises(ConfigError, match="n_epochs = 2, not 3"):
        train("--scheduler", "linear_schedule_with_warmup", "--n_epochs", "3", "--resume")


def test_persistent_workers_are_refused_with_resume(train: Callable) -> None:
    with pytest.raises(ConfigError, match="persistent_workers=True: such workers keep random states"):
        train("--resume", "--loader_kwargs", "num_workers=1", "persistent_workers=True")


def test_a_folder_of_wilds_own_script_is_refused(train: Callable, tmp_path: Path) -> None:
    (tmp_path / "run" / "logs").mkdir(parents=True)
    (tmp_path / "run" / "logs" / "iwildcam_seed:0_epoch:last_model.pth").write_bytes(b"weights")
    with pytest.raises(DataError, match="written by WILDS's own script, or by a run that can't be resumed, and hold"):
        train("--resume")


def test_a_state_that_is_no_state_is_refused(train: Callable, tmp_path: Path) -> None:
    (tmp_path / "run" / "logs").mkdir(parents=True)
    (tmp_path / "run" / "logs" / STATE_FILE).write_bytes(b"not a zip archive")
    with pytest.raises(DataError, match=rf"{STATE_FILE}: can't be read as a file of weights"):
        train("--resume")


def test_a_start_that_was_killed_early_can_be_resumed(train: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder that an earlier run has filled: its models are no longer this run's business."""
    undisturbed = train(name="undisturbed")
    train("--seed", "1")

    def killed(*arguments: Any) -> None:
        raise Stopped

    with monkeypatch.context() as patch:
        patch.setattr("wilds_targeted.runner.run.build_algorithm", killed)
        with pytest.raises(Stopped):
            train()
    resumed = train("--resume")
    for path in undisturbed.glob("*.csv"):
        assert path.read_bytes() == (resumed / path.name).read_bytes()


def test_an_algorithm_that_tells_nothing_cannot_be_resumed(
    train: Callable, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delattr("wilds_targeted.algorithms.single_model.SingleModelAlgorithm.training_state")
    folder = train("--n_epochs", "1")
    assert "this run can't be resumed: ERM has no training_state" in capsys.readouterr().err
    assert (folder / "test_eval.csv").stat().st_size > 0
    with pytest.raises(ConfigError, match="--resume: the algorithm 'ERM' has no training_state to go on from"):
        train("--resume", name="other")


def test_a_shortened_log_is_refused(train: Callable, stop_after: Callable, tmp_path: Path) -> None:
    stop_after(3)
    with pytest.raises(Stopped):
        train()
    stop_after(None)
    (tmp_path / "run" / "logs" / "log.txt").write_text("")
    with pytest.raises(DataError, match=r"log\.txt is shorter than when the run was saved"):
        train("--resume")


def test_a_state_runs_no_code(tmp_path: Path, train: Callable) -> None:
    class Evil:
        def __reduce__(self) -> tuple[Any, ...]:
            return (Path.touch, (tmp_path / "executed",))

    (tmp_path / "run" / "logs").mkdir(parents=True)
    torch.save({"format": 1, "settings": Evil()}, tmp_path / "run" / "logs" / STATE_FILE)
    with pytest.raises(DataError, match="can't be read as a file of weights"):
        train("--resume")
    assert not (tmp_path / "executed").exists()


def test_two_runs_in_one_folder_are_refused(train: Callable, tmp_path: Path) -> None:
    from wilds_targeted.files import locked

    (tmp_path / "run" / "logs").mkdir(parents=True)
    with locked(tmp_path / "run" / "logs"), pytest.raises(RunError, match="another run is writing there"):
        train()


def test_what_a_killed_process_left_is_removed(train: Callable, tmp_path: Path) -> None:
    folder = tmp_path / "run" / "logs"
    folder.mkdir(parents=True)
    (folder / ".resume_state.0123456789abcdef.pt").write_bytes(b"half")
    (folder / ".notes.txt").write_text("somebody's own")
    train("--n_epochs", "1")
    assert (folder / ".notes.txt").is_file()
    assert not list(folder.glob(".resume_state*"))


def test_the_state_holds_plain_data(train: Callable) -> None:
    state = load(train("--n_epochs", "1") / STATE_FILE)
    assert state["position"]["epoch"] == 1
    assert json.dumps(state["settings"])


def test_a_run_notes_its_versions_and_those_it_goes_on_with(train: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = train("--n_epochs", "1")
    first = json.loads((folder / "versions.json").read_text())
    assert len(first) == 1
    assert first[0] == versions.installed_versions()
    train("--n_epochs", "2", "--resume", "true")
    assert json.loads((folder / "versions.json").read_text()) == first
    monkeypatch.setattr(versions, "__version__", "99")
    train("--n_epochs", "2", "--eval_only", "true")
    assert json.loads((folder / "versions.json").read_text()) == first
    train("--n_epochs", "3", "--resume", "true")
    assert json.loads((folder / "versions.json").read_text()) == [*first, {**first[0], "wilds-targeted": "99"}]
    train("--n_epochs", "1")
    assert json.loads((folder / "versions.json").read_text()) == [{**first[0], "wilds-targeted": "99"}]
