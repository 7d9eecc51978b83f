"""The ways in: torch's entry point in a fresh process, `wilds-targeted run`; and what must not happen elsewhere."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from wilds_targeted.bridge import checkout
from wilds_targeted.errors import CheckoutError

STANDIN = Path(__file__).parent.parent / "standin_examples"
NOT_WILDS = """
import argparse, sys
parse, finders, excepthook = argparse.ArgumentParser.parse_args, list(sys.meta_path), sys.excepthook
import torch
assert "wilds_targeted" in sys.modules and "wilds_targeted.bridge.install" not in sys.modules
assert argparse.ArgumentParser.parse_args is parse and sys.excepthook is excepthook
assert [finder for finder in sys.meta_path if type(finder).__module__.startswith("wilds_targeted")] == []
print("nothing patched")
"""


def python(*arguments: object, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, "COLUMNS": "200", **environment},
    )


@pytest.fixture
def wilds(tmp_path: Path) -> Path:
    """A checkout whose scripts are the stand-in's."""
    folder = tmp_path / "wilds"
    folder.mkdir()
    (folder / "examples").symlink_to(STANDIN)
    return folder


def test_a_fresh_process_picks_the_registry_up(wilds: Path, tmp_path: Path) -> None:
    finished = python("wilds/examples/run_expt.py", "--help", cwd=tmp_path)
    assert finished.returncode == 0, finished.stderr
    assert "copypaste_samey" in finished.stdout
    assert "--transform_p" in finished.stdout


@pytest.mark.parametrize("name", ["train.py", "run_expt.py"])
def test_other_programs_are_left_alone(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(NOT_WILDS)
    finished = python(name, cwd=tmp_path)
    assert finished.stdout == "nothing patched\n", finished.stderr


def test_a_broken_install_costs_one_line(wilds: Path, tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "pluggy.py").write_text("raise ImportError('half of it is gone')\n")
    finished = python("wilds/examples/run_expt.py", "--help", cwd=tmp_path, PYTHONPATH=str(tmp_path / "site"))
    assert finished.returncode == 0, finished.stderr  # WILDS goes on without us, with the mends
    lines = [line for line in finished.stderr.splitlines() if line.startswith("wilds-targeted")]
    assert len(lines) == 1
    assert "not active in this run (ImportError: half of it is gone)" in lines[0]
    assert "`wilds-targeted run`" in lines[0]
    assert "copypaste_samey" not in finished.stdout


def test_import_torch_survives_whatever_is_broken(wilds: Path, tmp_path: Path) -> None:
    # As if the installation had lost half of its files: the bridge itself can't be imported.
    program = (
        "import sys; sys.argv = ['wilds/examples/run_expt.py']; sys.modules['wilds_targeted.bridge'] = None; "
        "import torch; print(torch.ones(1).item())"
    )
    finished = python("-c", program, cwd=tmp_path)
    assert finished.stdout == "1.0\n", finished.stderr
    assert "not active in this run (ModuleNotFoundError: " in finished.stderr
    assert "`wilds-targeted run`" in finished.stderr


def test_the_command_tells_of_a_broken_install(run: Callable, wilds: Path, tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "pluggy.py").write_text("raise ImportError('half of it is gone')\n")
    finished = run("wilds-targeted", "run", "--", "--help", how="command", path=(tmp_path / "site",))
    assert finished.status == 1
    assert "this installation is broken (half of it is gone)" in finished.last_line


def test_no_arguments_at_all_are_no_trouble(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import wilds_targeted

    for argv in ([], [""], ["-c"]):
        monkeypatch.setattr(sys, "argv", argv)
        wilds_targeted._autoload()
    monkeypatch.delattr(sys, "argv")
    wilds_targeted._autoload()
    assert capsys.readouterr().err == ""


def test_the_command_runs_the_checkout_it_finds(run: Callable, wilds: Path, tmp_path: Path) -> None:
    finished = run("wilds-targeted", "run", "--", "--help", how="command", COLUMNS="200", WILDS_CHECKOUT="")
    assert finished.status == 0, finished.output
    assert f"running {Path('wilds/examples/run_expt.py')}" in finished.output
    assert "copypaste_samey" in finished.output


def test_the_command_trains(run: Callable, wilds: Path, miniature: Path, tmp_path: Path) -> None:
    flags = (
        "--dataset iwildcam --algorithm ERM --model resnet18 --model_kwargs pretrained=False --target_resolution 32 32 "
        "--n_epochs 1 --loader_kwargs num_workers=0 pin_memory=False --frac 0.2 --transform copypaste_samey"
    ).split()
    finished = run("wilds-targeted", "run", "--wilds", wilds, *flags, "--root_dir", miniature, how="command")
    assert finished.status == 0, finished.output
    assert (tmp_path / "logs" / "iwildcam_split:test_seed:0_epoch:last_pred.csv").stat().st_size > 0


def test_the_command_tells_of_errors_in_one_line(run: Callable, tmp_path: Path) -> None:
    finished = run("wilds-targeted", "run", "--wilds", "nowhere", "--dataset", "iwildcam", how="command")
    assert finished.status == 1
    assert finished.output.strip().splitlines() == [
        "wilds-targeted: error: --wilds is nowhere, which is no WILDS checkout: there is no examples/run_expt.py with "
        f"its modules. Give the folder that `git clone {checkout.REPOSITORY}` makes."
    ]


def test_where_a_checkout_is_looked_for(wilds: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = tmp_path / "cache"
    monkeypatch.chdir(tmp_path)
    environment = {"WILDS_TARGETED_CACHE": str(cache)}
    assert checkout.find_checkout(environ=environment) == Path("wilds")
    assert checkout.find_checkout(wilds, environ=environment) == wilds
    assert checkout.find_checkout(environ={**environment, "WILDS_CHECKOUT": str(wilds)}) == wilds
    with pytest.raises(CheckoutError, match=r"^\$WILDS_CHECKOUT is elsewhere, which is no WILDS checkout"):
        checkout.find_checkout(environ={**environment, "WILDS_CHECKOUT": "elsewhere"})
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    with pytest.raises(CheckoutError, match=r"`wilds-targeted fetch-wilds` makes one"):
        checkout.find_checkout(environ=environment)
    cache.mkdir()
    wilds.rename(cache / "wilds")
    assert checkout.find_checkout(environ=environment) == cache / "wilds"


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A git repository that holds the stand-in, its commit taken for the pinned one."""
    import shutil

    folder = tmp_path / "repository"
    shutil.copytree(STANDIN, folder / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    for command in ("init -q", "add .", "-c user.name=t -c user.email=t@t commit -qm all"):
        subprocess.run(["git", "-C", str(folder), *command.split()], check=True)
    head = subprocess.run(["git", "-C", str(folder), "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    monkeypatch.setattr(checkout, "PINNED_COMMIT", head.stdout.strip())
    return folder


def test_fetching_clones_the_pinned_commit(repository: Path, tmp_path: Path) -> None:
    environment = {"WILDS_TARGETED_CACHE": str(tmp_path / "cache")}
    (repository / "examples" / "run_expt.py").write_text("a change that is not committed")
    folder = checkout.fetch_checkout(str(repository), environment)
    assert folder == tmp_path / "cache" / "wilds"
    assert (folder / "examples" / "run_expt.py").read_text() == (STANDIN / "run_expt.py").read_text()
    assert checkout.fetch_checkout(None, environment) == folder  # it is there: no second time, no network


def test_fetching_takes_a_copy_without_git(repository: Path, tmp_path: Path) -> None:
    (repository / ".git").rename(tmp_path / "put-away")
    folder = checkout.fetch_checkout(str(repository), {"WILDS_TARGETED_CACHE": str(tmp_path / "cache")})
    assert checkout.is_checkout(folder)


def test_fetching_without_a_network_fails_with_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkout, "REPOSITORY", f"file://{tmp_path}/not-there.git")
    with pytest.raises(CheckoutError) as caught:
        checkout.fetch_checkout(None, {"WILDS_TARGETED_CACHE": str(tmp_path / "cache")})
    assert "\n" not in str(caught.value)
    assert "could not be cloned from" in str(caught.value)
    assert "fetch-wilds --from PATH" in str(caught.value)
    assert list((tmp_path / "cache").iterdir()) == []


def test_fetching_something_else_is_refused(tmp_path: Path, repository: Path) -> None:
    environment = {"WILDS_TARGETED_CACHE": str(tmp_path / "cache")}
    with pytest.raises(CheckoutError, match="there is no such folder"):
        checkout.fetch_checkout(str(tmp_path / "nowhere"), environment)
    (tmp_path / "cache" / "wilds").mkdir(parents=True)
    with pytest.raises(CheckoutError, match="remove it and try again"):
        checkout.fetch_checkout(str(repository), environment)
