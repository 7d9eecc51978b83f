"""Run a checkout's script with the bridge installed by hand, where torch does not do it."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from pathlib import Path

from wilds_targeted.bridge.install import install
from wilds_targeted.registry import get_registry


def run_script(checkout: Path, arguments: Sequence[str]) -> None:
    """Run the checkout's ``examples/run_expt.py`` with these arguments, in this process.

    It is imported as a module and its ``main`` called, so that workers started by spawning, which import this
    process's main program again, do not import WILDS's whole script.
    """
    get_registry()  # what is broken there shall end the command, where `run_expt.py` by itself would go on without us
    examples = (checkout / "examples").resolve()
    sys.path.insert(0, str(examples))
    sys.argv = [str(examples / "run_expt.py"), *arguments]
    install(examples)
    importlib.import_module("run_expt").main()
