"""docs/theory.md: its commands are real, print what it shows and make the figures that it names."""

from __future__ import annotations

import doctest
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

from PIL import Image

PAGE = Path(__file__).parent.parent.parent / "docs" / "theory.md"
TEXT = PAGE.read_text(encoding="utf-8")
BLOCKS = [block.strip() for block in re.findall(r"```(?:text)?\n(.*?)```", TEXT, re.DOTALL)]
COMMANDS = [block for block in BLOCKS if block.startswith("wilds-targeted ")]

SMALLER = "--p-noise 5 --p-spurious 20 --domains 3,30 --samples 500,60 --seeds 2 --ood-domains 20".split()


def test_the_advice_is_what_the_command_says(run: Callable[..., Any]) -> None:
    (command,) = [command for command in COMMANDS if "--advise" in command]
    shown = BLOCKS[BLOCKS.index(command) + 1]
    finished = run(*shlex.split(command), how="command")
    assert finished.status == 0, finished.output
    assert finished.output.strip() == shown


def test_the_command_makes_the_figures(run: Callable[..., Any], tmp_path: Path) -> None:
    """With smaller sizes, which the page's own figures were made without."""
    (command,) = [command for command in COMMANDS if "--advise" not in command]
    finished = run(*shlex.split(command), *SMALLER, how="command")
    assert finished.status == 0, finished.output
    named = re.findall(r"`(simulation/\w+\.png)`", TEXT)
    shown = re.findall(r"!\[[^]]+\]\((images/\w+\.png)\)", TEXT)
    assert [f"images/{name.replace('/', '_')}" for name in named] == shown
    assert len(shown) == 2
    for made, kept in zip(named, shown, strict=True):
        with Image.open(tmp_path / made) as one, Image.open(PAGE.parent / kept) as other:
            assert one.size == other.size
        assert (PAGE.parent / kept).stat().st_size < 60_000
    assert (tmp_path / "simulation" / "results.csv").is_file()
    assert (tmp_path / "simulation" / "index.html").is_file()


def test_the_lines_in_python() -> None:
    assert doctest.testfile(str(PAGE), module_relative=False).failed == 0


def test_every_option_named_is_one(run: Callable[..., Any]) -> None:
    known = run("wilds-targeted", "simulate", "--help", how="command").output
    named = set(re.findall(r"--[a-z][\w-]+", TEXT))
    assert named
    assert {option for option in named if f"{option} " not in known.replace(",", " ")} == set()
