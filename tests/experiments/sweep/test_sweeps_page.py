"""The page about sweeps shows a file that works, and a plan as it is."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from wilds_targeted.experiments.protocol import Protocol
from wilds_targeted.experiments.recipes import get_recipe
from wilds_targeted.experiments.space import SearchSpace
from wilds_targeted.experiments.sweep.cost import cost_lines
from wilds_targeted.experiments.sweep.sweep import search_of
from wilds_targeted.runner.flags import build_parser

PAGE = (Path(__file__).parents[3] / "docs" / "sweeps.md").read_text()


def test_the_file_of_ones_own(tmp_path: Path) -> None:
    text, tie = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "mine.toml").write_text(text)
    recipe = get_recipe(str(tmp_path / "mine.toml"))
    units = search_of(recipe, 20, (0, 1)).units
    assert len(units) == 40
    parsed = build_parser().parse_args([*units[0].flags, "--root_dir", "data"])
    assert parsed.gradient_accumulation_steps in (1, 2, 3, 4)
    assert SearchSpace.of(tomllib.loads(tie), "page").tied["cdan_featurizer_lr"].times == 0.1


def test_the_plan(tmp_path: Path) -> None:
    protocol = Protocol.of(get_recipe("iwildcam/copypaste_samey"))
    lines = cost_lines(protocol.recipe, protocol.tuning_units, protocol.later, tmp_path, None, 2)
    assert f"# {lines[0]}\n" in PAGE
    assert lines[1].partition(" of computing")[0] in PAGE
