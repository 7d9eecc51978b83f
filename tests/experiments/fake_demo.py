"""A demo whose commands are fake."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wilds_targeted.experiments.demo import Outcome, run_demo

FAKE = Path(__file__).with_name("fake_runner.py")


@dataclass
class FakeDemo:
    """Runs the demo with `fake_runner.py` and remembers its calls."""

    folder: Path
    out: Path

    def command(self, words: Sequence[str]) -> list[str]:
        return [sys.executable, "-S", str(FAKE), str(self.folder), *words]

    def behave(self, **behaviour: str) -> None:
        (self.folder / "behaviour.json").write_text(json.dumps(behaviour))

    def run(self, **options: Any) -> Outcome:
        return run_demo(self.out, command=self.command, **{"seeds": (0,), "jobs": 2, **options})

    def calls(self) -> list[dict[str, Any]]:
        path = self.folder / "calls.txt"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def forget_calls(self) -> None:
        (self.folder / "calls.txt").unlink()
