"""BirdCalls from annotated recordings: which chunks are clips, which of them stay, and in which split each is.

from birdcalls_dataset.build import Rules, build_birdcalls

build_birdcalls([Path("recordings/hawaii"), Path("recordings/amazon")], Path("data"), Rules(test_microphones=2))
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from birdcalls_dataset.build.rules import Rules

if TYPE_CHECKING:
    from birdcalls_dataset.build.pipeline import build_birdcalls

__all__ = ["Rules", "build_birdcalls"]


def __getattr__(name: str) -> Any:
    """The function is imported when it is asked for: the command's help needs the rules alone, not pandas."""
    if name == "build_birdcalls":
        from birdcalls_dataset.build.pipeline import build_birdcalls

        return build_birdcalls
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
