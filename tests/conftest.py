"""Shared fixtures: a miniature data set, processes that run WILDS scripts, and distributions that bring plugins."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from wilds_targeted.bridge.checkout import CHECKOUT_VARIABLE, find_checkout
from wilds_targeted.errors import CheckoutError

HERE = Path(__file__).parent
STANDIN = HERE / "standin_examples"


def real_examples() -> Path | None:
    """The scripts of a real WILDS checkout, where there is one."""
    try:
        return find_checkout().resolve() / "examples"
    except CheckoutError:
        if os.environ.get(CHECKOUT_VARIABLE):
            raise  # somebody asked for one that is not there
        return None


exercised: set[str] = set()
"""Which scripts the tests of this run have used."""


def pytest_configure() -> None:
    """Let the programs that tests start hear the signals that tests send them.

    Under nohup, or in the background of a shell, we ignore some, and what we start would, too; not where we catch them.
    """
    for number in (signal.SIGHUP, signal.SIGINT):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if "real" in exercised:
        terminalreporter.write_line(
            f"bridge: tested with our stand-in and with WILDS's own scripts in {real_examples()}"
        )
    elif "standin" in exercised:
        terminalreporter.write_line(
            f"bridge: tested with our stand-in only; comparisons with WILDS's own scripts skipped "
            f"(no checkout: set {CHECKOUT_VARIABLE}, or run `wilds-targeted fetch-wilds`)"
        )


@pytest.fixture(scope="session", params=["standin", "real"])
def examples(request: pytest.FixtureRequest) -> Path:
    """The scripts to test the bridge with: our stand-in always, WILDS's own where there is a checkout."""
    if request.param == "standin":
        exercised.add("standin")
        return STANDIN
    found = real_examples()
    if found is None:
        pytest.skip(f"no real WILDS checkout; set {CHECKOUT_VARIABLE}")
    exercised.add("real")
    return found


@dataclass
class Finished:
    """A program that has ended."""

    status: int
    output: str
    seconds: float

    @property
    def last_line(self) -> str:
        lines = self.output.strip().splitlines()
        return lines[-1] if lines else ""


Run = Callable[..., Finished]


@pytest.fixture(scope="session")
def fork_server() -> Iterator[subprocess.Popen[str]]:
    environment = {**os.environ, "OMP_NUM_THREADS": "2", "HF_HUB_OFFLINE": "1"}
    with subprocess.Popen(
        [sys.executable, str(HERE / "fork_server.py")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    ) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == "ready\n"
        yield server
        assert server.stdin is not None
        server.stdin.close()


@pytest.fixture
def run(fork_server: subprocess.Popen[str], tmp_path: Path) -> Run:
    """Run a script (or the console command) in a forked process, as `tests/fork_server.py` describes."""

    def run(
        *argv: object,
        how: str = "script",
        path: tuple[Path, ...] = (),
        cwd: Path = tmp_path,
        kill_after: float | None = None,
        **environment: str,
    ) -> Finished:
        output = tmp_path / "output.txt"
        request = {
            "argv": [str(word) for word in argv],
            "how": how,
            "path": [str(each) for each in path],
            "cwd": str(cwd),
            "environment": environment,
            "output": str(output),
            "kill_after": kill_after,
        }
        assert fork_server.stdin is not None
        assert fork_server.stdout is not None
        started = time.monotonic()
        print(json.dumps(request), file=fork_server.stdin, flush=True)
        status = int(fork_server.stdout.readline())
        return Finished(status, output.read_text(errors="replace"), time.monotonic() - started)

    return run


@pytest.fixture(scope="session")
def miniature(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The root directory of a small generated iWildCam; tests that write to it copy it first."""
    from wilds_targeted.testing import write_small

    root = tmp_path_factory.mktemp("miniature")
    write_small("iwildcam", root)
    return root


@pytest.fixture(scope="session")
def camelyon_miniature(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The root directory of a small generated Camelyon17; tests that write to it copy it first."""
    from wilds_targeted.testing import write_small

    root = tmp_path_factory.mktemp("camelyon-miniature")
    write_small("camelyon17", root)
    return root


@pytest.fixture(scope="session")
def birdcalls_miniature(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The root directory of a small generated BirdCalls; tests that write to it copy it first."""
    from wilds_targeted.testing import write_small

    root = tmp_path_factory.mktemp("birdcalls-miniature")
    write_small("birdcalls", root)
    return root


@pytest.fixture(scope="session")
def tiny_tower(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A CLIP model in open_clip's form, small enough to train in seconds."""
    path = tmp_path_factory.mktemp("towers") / "tiny.json"
    described = {
        "embed_dim": 48,
        "vision_cfg": {"image_size": 32, "layers": 2, "width": 64, "head_width": 32, "patch_size": 8},
        "text_cfg": {"context_length": 8, "vocab_size": 64, "width": 32, "heads": 1, "layers": 1},
    }
    path.write_text(json.dumps(described))
    return path


@pytest.fixture(scope="session")
def bf16() -> None:
    """Skip where torch's own arithmetic in bfloat16 ends the process: some hosts promise instructions they lack."""
    code = (
        "import torch\nwith torch.autocast('cpu', dtype=torch.bfloat16): torch.nn.Linear(192, 10)(torch.randn(16, 192))"
    )
    if subprocess.run([sys.executable, "-c", code], capture_output=True).returncode < 0:
        pytest.skip("torch alone, in bfloat16 on this processor, is killed by a signal")


@pytest.fixture
def distribution(tmp_path: Path) -> Iterator[Callable[..., Path]]:
    """Make an installed distribution by hand: a folder for `sys.path` with a module and its metadata."""
    modules = []

    def make(name: str, source: str, *, entry_point: str | None = None, version: str = "1.0") -> Path:
        module = name.replace("-", "_")
        modules.append(module)
        folder = tmp_path / f"site-{name}"
        info = folder / f"{module}-{version}.dist-info"
        info.mkdir(parents=True)
        (folder / f"{module}.py").write_text(source)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        (info / "entry_points.txt").write_text(f"[wilds_targeted]\n{entry_point or module} = {module}\n")
        return folder

    yield make
    for module in modules:
        sys.modules.pop(module, None)
