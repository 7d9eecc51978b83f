"""The example of a plugin, installed into a throw-away environment."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
STANDIN = ROOT / "tests" / "standin_examples"


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment that sees this one's packages, and has the plugin installed beside them."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    site = next(folder.glob("lib/python*/site-packages"))
    here = sysconfig.get_path("purelib")
    # `addsitedir`, where a plain path would not process the .pth files of editable installs.
    (site / "parent.pth").write_text(f"import site; site.addsitedir({here!r})\n")
    install = ["-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--disable-pip-version-check"]
    copy = tmp_path_factory.mktemp("source") / "external-plugin"
    subprocess.run(["cp", "-r", str(ROOT / "examples" / "external-plugin"), str(copy)], check=True)
    subprocess.run([str(folder / "bin" / "python"), *install, str(copy)], check=True)
    return site


def test_it_is_short() -> None:
    source = (ROOT / "examples" / "external-plugin" / "wilds_camera_tint.py").read_text()
    assert len(source.splitlines()) <= 45


def test_it_is_listed(environment: Path) -> None:
    python = environment.parents[2] / "bin" / "python"
    code = "from wilds_targeted.cli import main; main()"
    finished = subprocess.run(
        [str(python), "-c", code, "plugins", "show", "camera_tint"], capture_output=True, text=True, check=False
    )
    assert finished.returncode == 0, finished.stderr
    assert "distribution: wilds-camera-tint 1.0" in finished.stdout
    assert "strength (a number from 0 to 1; default 0.3)" in finished.stdout


@pytest.mark.slow
def test_a_fresh_process_of_that_environment_offers_it(environment: Path, tmp_path: Path) -> None:
    python = environment.parents[2] / "bin" / "python"
    finished = subprocess.run(
        [str(python), str(STANDIN / "run_expt.py"), "--help"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "COLUMNS": "200"},
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    assert "camera_tint" in finished.stdout


def test_it_is_offered_and_runs(
    environment: Path, run: Callable, examples: Path, miniature: Path, tmp_path: Path
) -> None:
    offered = run(examples / "run_expt.py", "--help", path=(environment,), COLUMNS="200")
    assert "camera_tint" in offered.output
    flags = (
        "--dataset iwildcam --algorithm ERM --model resnet18 --model_kwargs pretrained=False --target_resolution 32 32 "
        "--n_epochs 1 --loader_kwargs num_workers=0 pin_memory=False --frac 0.5 --log_dir logs "
        "--transform camera_tint --transform_kwargs strength=0.5 --transform_p 0.9"
    ).split()
    finished = run(examples / "run_expt.py", "--root_dir", miniature, *flags, path=(environment,))
    assert finished.status == 0, finished.output
    assert "Transform kwargs: {'strength': 0.5}" in finished.output
    assert (tmp_path / "logs" / "iwildcam_split:test_seed:0_epoch:last_pred.csv").stat().st_size > 0


def test_it_keeps_the_contract(environment: Path, miniature: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from wilds_targeted import get_dataset
    from wilds_targeted.registry import get_registry
    from wilds_targeted.testing import check_registered

    monkeypatch.syspath_prepend(str(environment))
    get_registry.cache_clear()
    try:
        dataset = get_dataset("iwildcam", root_dir=miniature)
        assert check_registered(dataset, distribution="wilds-camera-tint") == ["camera_tint"]
    finally:
        get_registry.cache_clear()
        sys.modules.pop("wilds_camera_tint", None)
