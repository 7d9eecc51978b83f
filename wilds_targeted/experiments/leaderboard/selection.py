"""How hyperparameters were selected, where the folder of a tuned recipe or of a sweep tells."""

from __future__ import annotations

from wilds_targeted.experiments.leaderboard.rules import in_words
from wilds_targeted.experiments.runs import RunFolder
from wilds_targeted.experiments.sweep.records import read_search


def how_tuned(run: RunFolder) -> str | None:
    """The search in a sentence; None where none is told, or none was done."""
    told = read_search(run.listed.path.parent) if run.listed is not None else None
    if told is None:
        return None
    then = "chosen and trained with the seeds above" if told.has_final else "chosen; the scores above are of its runs"
    return (
        f"By {told.draws} random draw{'s' * (told.draws > 1)} of {', '.join(f'`{name}`' for name in told.searched)}, "
        f"each trained with seed{'s' * (len(told.seeds) > 1)} {in_words(told.seeds)}"
        f"{f' ({told.failed} of these runs failed)' if told.failed else ''}: the draw with the best mean "
        f"`{told.metric}` on `val` was {then}."
    )
