"""A protocol on paper: every command, and what it will take."""

from __future__ import annotations

import shlex
from pathlib import Path

from wilds_targeted.experiments.plan import DATA_FOLDER
from wilds_targeted.experiments.protocol import Protocol
from wilds_targeted.experiments.reproduce import chosen_before
from wilds_targeted.experiments.sweep.cost import cost_lines
from wilds_targeted.experiments.sweep.search import units_of
from wilds_targeted.experiments.sweep.stage import Conduct
from wilds_targeted.experiments.sweep.unit import Unit
from wilds_targeted.experiments.sweep.work import run_words


def plan_lines(
    protocol: Protocol, out: Path, conduct: Conduct, at_a_time: int, images_per_second: float | None
) -> list[str]:
    """All commands of the protocol, and an estimate of what they cost as comments; nothing is run."""
    recipe, search, folder = protocol.recipe, protocol.search, protocol.folder(out)
    root_dir = str(out / DATA_FOLDER if protocol.miniature else conduct.root_dir)
    chosen = None if search is None else chosen_before(folder, search)
    tuning = protocol.tuning_units
    is_open = search is not None and chosen is None
    final = [] if is_open else protocol.final_units(chosen)
    known = list(dict.fromkeys([*tuning, *final]))
    later = protocol.later if is_open else 0

    def line(unit: Unit) -> str:
        words = run_words(unit.flags, conduct.runner, root_dir, unit.seed, str(folder / unit.place))
        return shlex.join(["wilds-targeted", *words])

    cost = cost_lines(recipe, known, later, folder, images_per_second, at_a_time)
    lines = [f"# {each}" for each in (f"{recipe.name}: {recipe.title}", *cost)]
    if protocol.miniature:
        words = [word if word != DATA_FOLDER else root_dir for word in protocol.miniature]
        lines += ["# The generated data:", shlex.join(["wilds-targeted", *words])]
    if search is not None:
        seeds = ", ".join(map(str, search.seeds))
        lines.append(f"# Tuning: {len(search.draws)} draws, seeds {seeds}; a draw that comes twice once:")
        lines += [line(unit) for unit in tuning]
    if is_open and search is not None:
        values = {name: f"CHOSEN_{name.replace('.', '_')}" for name in search.draws[0]}
        final = units_of(recipe, "CHOSEN", values, protocol.final_seeds)
        lines.append("# Final runs, with the values of the draw that is best on validation (CHOSEN_...):")
        lines += [line(unit).replace(unit.key, f"CHOSEN-seed{unit.seed}") for unit in final]
    else:
        lines += ["# Final runs:", *(line(unit) for unit in final)]
    return lines
