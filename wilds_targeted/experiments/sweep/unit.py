"""A unit: one run of a sweep, and the folder that holds all of it.

The folder is the run's log folder. Its name is made of what decides about the run's numbers, so the same run has the
same folder wherever it is asked for, and a finished one is found again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from wilds_targeted.errors import DataError
from wilds_targeted.experiments.space import flag_values, is_number
from wilds_targeted.files import written_whole

UNITS_FOLDER = "units"
UNIT_FILE = "unit.json"
RESULT_FILE = "result.json"
FAILURE_FILE = "failure.json"
STARTS_FILE = "starts.txt"
OUTPUT_FILE = "output.txt"

T = TypeVar("T", "Result", "Failure")


@dataclass(frozen=True)
class Unit:
    """One run.

    Args:
        method: The recipe's name.
        label: What people call the draw; it decides about nothing.
        flags: What follows ``wilds-targeted run`` and changes numbers, the draw's values included, without the seed.
        seed: The run's seed.
    """

    method: str
    label: str
    flags: tuple[str, ...]
    seed: int

    @cached_property
    def key(self) -> str:
        """The name of its folder: a readable beginning, and a hash of method, flags and seed."""
        flags = {flag: list(values) for flag, values in sorted(flag_values(self.flags).items())}
        identity = json.dumps([self.method, flags, self.seed])
        return f"{self.label}-seed{self.seed}-{hashlib.sha256(identity.encode()).hexdigest()[:10]}"

    @property
    def place(self) -> str:
        """Its folder, relative to the sweep's."""
        return f"{UNITS_FOLDER}/{self.key}"

    @property
    def epochs(self) -> int:
        """How many epochs it has, for the progress; 1 where the flags do not say."""
        return epochs_of(self.flags) or 1

    def described(self) -> dict[str, Any]:
        """What stands in ``unit.json``."""
        return {"method": self.method, "label": self.label, "flags": list(self.flags), "seed": self.seed}


def epochs_of(flags: tuple[str, ...]) -> int | None:
    """What ``--n_epochs`` says; None where that is nothing, or no number, of which the run will tell."""
    values = flag_values(flags).get("--n_epochs", ())
    return int(values[0]) if values and values[0].isdecimal() else None


@dataclass(frozen=True)
class Result:
    """How a unit ended that ended well; scores are shares, of the epoch that validation selects.

    Args:
        epoch: The selected epoch.
        val: The metric on ``val``.
        in_domain: On the in-domain split.
        out_of_domain: On the out-of-domain split.
        seconds: How long the last start took.
        starts: How often it was started.
        versions: With which versions of the software it was computed; several, where it went on with others.
    """

    epoch: int
    val: float
    in_domain: float
    out_of_domain: float
    seconds: float
    starts: int
    versions: list[dict[str, str]]


@dataclass(frozen=True)
class Failure:
    """How a unit ended that failed as often as it was tried.

    Args:
        message: The last that it said.
        attempts: How often it was tried in a row.
    """

    message: str
    attempts: int


def read_result(folder: Path) -> Result | None:
    """The result of the unit in that folder; None where there is none yet."""
    return _read(folder / RESULT_FILE, Result)


def read_failure(folder: Path) -> Failure | None:
    """How the unit in that folder failed; None where it did not."""
    return _read(folder / FAILURE_FILE, Failure)


def write_outcome(folder: Path, outcome: Result | Failure) -> None:
    """Write how it ended, whole or not at all; a result takes the place of a failure."""
    write_json(folder / (RESULT_FILE if isinstance(outcome, Result) else FAILURE_FILE), asdict(outcome))
    if isinstance(outcome, Result):
        forget_failure(folder)


def forget_failure(folder: Path) -> None:
    """It is tried again."""
    with contextlib.suppress(FileNotFoundError):
        (folder / FAILURE_FILE).unlink()


def write_json(path: Path, contents: Any) -> None:
    """Write it whole or not at all."""
    with written_whole(path) as arriving:
        arriving.write_text(json.dumps(contents, indent=2) + "\n", encoding="utf-8")


def read_json(path: Path) -> Any:
    """What such a file holds; None where there is none."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise DataError(f"{path} can't be read ({error}): remove it, and give the same command again") from error


def _read(path: Path, kind: type[T]) -> T | None:
    contents = read_json(path)
    if contents is None:
        return None
    names = {field.name for field in fields(kind)}
    odd = not isinstance(contents, Mapping) or set(contents) != names
    if odd or not all(is_number(contents[name]) for name in names - {"message", "versions"}):
        raise DataError(
            f"{path} is not what a unit writes ({', '.join(sorted(names))} expected): remove it, and give the same "
            f"command again; its run then goes on from its own checkpoint"
        )
    return kind(**contents)
