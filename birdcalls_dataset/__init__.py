"""BirdCalls: the paper's bird-call benchmark (appendix A.3) as a WILDS data set, and the build of its like.

`BirdCallsDataset` reads the authors' bundle and what ``python -m birdcalls_dataset build`` writes from the public
recordings, which ``python -m birdcalls_dataset download`` fetches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from birdcalls_dataset.dataset import BirdCallsDataset

__all__ = ["BirdCallsDataset"]


def __getattr__(name: str) -> Any:
    """The class is imported when it is asked for: the command line does without torch and WILDS."""
    if name == "BirdCallsDataset":
        from birdcalls_dataset.dataset import BirdCallsDataset

        return BirdCallsDataset
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
