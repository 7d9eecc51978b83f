"""Log folders, as WILDS's `run_expt.py` and the built-in runner write them, and where to find those that count."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from wilds_targeted.errors import DataError
from wilds_targeted.runner.versions import read_versions

LOG_FILE = "log.txt"
LIST_FILE = "runs.json"
_TABLE_ENDING = "_eval.csv"
_NEEDED = ("dataset", "algorithm", "seed", "val_metric", "val_metric_decreasing")


@dataclass(frozen=True)
class RunList:
    """What a ``runs.json`` says: the runs that count, and those that failed.

    Args:
        path: The file.
        recipe: The recipe that was run; None for a sweep of one's own.
        title: The method, for people; None where none is given.
        runs: Log folders.
        failed: For each unit that failed, its name and its seed.
    """

    path: Path
    recipe: str | None
    title: str | None
    runs: tuple[Path, ...]
    failed: tuple[tuple[str, int | None], ...]


@dataclass(frozen=True)
class RunFolder:
    """A log folder that WILDS's run_expt.py or the built-in runner wrote.

    Args:
        path: The folder.
        config: The head of ``log.txt``: flag names in lower case, values as text.
        versions: Of the software that wrote it, where ``versions.json`` tells; several, with commas between, where the
            run went on with others.
        splits: Those that have a table of metrics.
        changed: What a resumed run went on with, where that differs from `config`, as WILDS's script lets it.
        listed: The list that named this run; None where it was found by itself.
    """

    path: Path
    config: Mapping[str, str]
    versions: Mapping[str, str]
    splits: tuple[str, ...]
    changed: Mapping[str, str] = field(default_factory=dict)
    listed: RunList | None = None

    @property
    def dataset(self) -> str:
        """The data set's name."""
        return self.config["dataset"]

    @property
    def algorithm(self) -> str:
        """The algorithm's name."""
        return self.config["algorithm"]

    @property
    def transform(self) -> str:
        """The transform's name; ``None`` in letters where there was none."""
        return self.config.get("transform", "None")

    @property
    def seed(self) -> int:
        """The run's seed."""
        return int(self.config["seed"])

    @property
    def val_metric(self) -> str:
        """The column by which epochs are selected."""
        return self.config["val_metric"]

    @property
    def val_metric_decreasing(self) -> bool:
        """Whether the smallest value is the best."""
        return self.config["val_metric_decreasing"] == "True"

    def table(self, split: str) -> dict[int, dict[str, float]]:
        """The metrics of a split by epoch; of an epoch that was repeated, the last row."""
        if split not in self._tables:
            self._tables[split] = _read_table(self.path / f"{split}{_TABLE_ENDING}")
        return self._tables[split]

    def best_epoch(self) -> int:
        """The epoch that WILDS selects: the first with the best value of `val_metric` on the split ``val``."""
        chosen, best = None, math.nan
        sign = -1 if self.val_metric_decreasing else 1
        for epoch, row in sorted(self.table("val").items()):
            if self.val_metric not in row:
                raise DataError(
                    f"{self.path}/val{_TABLE_ENDING} has no column {self.val_metric!r}, by which log.txt says that "
                    f"epochs were selected; its columns: {', '.join(row)}"
                )
            value = row[self.val_metric]
            if not math.isnan(value) and (chosen is None or sign * value > sign * best):
                chosen, best = epoch, value
        if chosen is None:
            raise DataError(f"{self.path}: no epoch was validated, so none can be selected; run it again")
        return chosen

    def predictions(self, split: str, epoch: int | str = "best") -> Path:
        """Where the predictions of a split stand; the file need not be there."""
        return self.path / f"{self.dataset}_split:{split}_seed:{self.seed}_epoch:{epoch}_pred.csv"

    @cached_property
    def _tables(self) -> dict[str, dict[int, dict[str, float]]]:
        """The tables that were read already."""
        return {}


def read_run(path: str | Path) -> RunFolder:
    """Read what a log folder says of its run; its tables are read when they are asked for.

    Raises:
        DataError: It is none, or its log has no beginning.
    """
    folder = Path(path)
    log = folder / LOG_FILE
    if not log.is_file():
        raise DataError(f"{folder} is no log folder of a run: it has no {LOG_FILE}")
    heads = [head for head in _heads(log) if head.get("eval_only") != "True"] or list(_heads(log))
    if not heads:
        raise DataError(f"{log} does not begin with a run's configuration, as WILDS's run_expt.py writes it")
    config, last = heads[0], heads[-1]
    missing = [name for name in _NEEDED if name not in config]
    if missing:
        raise DataError(f"{log}: the configuration is cut off or not WILDS's; it lacks {', '.join(missing)}")
    if not re.fullmatch(r"-?[0-9]+", config["seed"]):
        raise DataError(f"{log}: the seed is {config['seed']!r}, a whole number is expected")
    changed = {name: value for name, value in last.items() if config.get(name) != value and name != "resume"}
    # WILDS makes a file for every split of the data set; that of one which is not evaluated stays empty.
    tables = sorted(file.name for file in folder.glob(f"*{_TABLE_ENDING}") if file.stat().st_size)
    splits = [name.removesuffix(_TABLE_ENDING) for name in tables]
    return RunFolder(folder, config, _versions(folder), tuple(splits), changed)


def find_runs(paths: Iterable[str | Path], broken: list[DataError] | None = None) -> list[RunFolder]:
    """All runs in these folders, each once, in the order of their paths.

    A path is a log folder; a folder with a ``runs.json``, which lists those that count; or one that holds such at any
    depth.

    Args:
        paths: The folders.
        broken: Takes what is wrong with log folders that can't be read, such as those of runs that were killed at
            once; without it the first such error is raised.

    Raises:
        DataError: There is no run, or one is broken.
    """
    folders: dict[Path, tuple[Path, RunList | None]] = {}
    for path in map(Path, paths):
        if not path.is_dir():
            raise DataError(f"{path} is not a folder; give log folders of runs, or folders that hold some")
        here = list(_log_folders(path, set()))
        if not here:
            raise DataError(f"{path} holds no run: no folder in it has a {LOG_FILE} or a {LIST_FILE}")
        for folder, listed in here:
            folders.setdefault(folder.resolve(), (folder, listed))
    found = []
    for folder, listed in folders.values():
        try:
            found.append(replace(read_run(folder), listed=listed))
        except DataError as error:
            if broken is None:
                raise
            broken.append(error)
    if broken and not found:
        raise broken[0]
    return found


def read_list(path: Path) -> RunList:
    """Read a ``runs.json``; the paths in it are relative to it."""
    contents = _read_json(path)
    try:
        runs = tuple(path.parent / str(each) for each in contents["runs"])
        failed = tuple((str(each["unit"]), each.get("seed")) for each in contents.get("failed", ()))
        recipe, title = (_text_of(contents, name) for name in ("recipe", "title"))
    except (AttributeError, KeyError, TypeError) as error:
        raise DataError(f"{path} is no list of runs as `sweep` and `reproduce` write it ({error!r})") from error
    if not runs:
        raise DataError(f"{path} lists no finished run ({len(failed)} failed); see `wilds-targeted sweep status`")
    return RunList(path, recipe, title, runs, failed)


def _text_of(contents: Mapping[str, Any], name: str) -> str | None:
    """A text on one line; None where there is none."""
    text = contents.get(name)
    if not isinstance(text, str | None):
        raise TypeError(f"{name}: {text!r}")
    return " ".join(text.split()) if text else None


def _log_folders(folder: Path, visited: set[Path]) -> Iterator[tuple[Path, RunList | None]]:
    """The log folders that a folder lists, itself, or those inside, also behind links; each with the list it is from.

    Args:
        folder: Where to look.
        visited: Folders where nobody looks again: links may lead in circles.
    """
    if folder.resolve() in visited:
        return
    visited.add(folder.resolve())
    if (folder / LIST_FILE).is_file():
        listed = read_list(folder / LIST_FILE)
        yield from ((path, listed) for path in listed.runs)
    elif (folder / LOG_FILE).is_file():
        yield folder, None
    else:
        for path in sorted(Path(entry.path) for entry in os.scandir(folder) if entry.is_dir()):
            yield from _log_folders(path, visited)


def _heads(log: Path) -> Iterator[dict[str, str]]:
    """Each configuration in a log: the lines from ``Dataset: …`` to an empty one. A run that goes on writes another."""
    head: dict[str, str] | None = None
    with log.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            if head is None and line.startswith("Dataset: "):
                head = {}
            if head is None:
                continue
            name, colon, value = line.rstrip("\n").partition(":")
            if colon:
                head[name.strip().lower().replace(" ", "_")] = value.strip()
            else:
                yield head
                head = None
    if head:
        yield head


def _read_table(path: Path) -> dict[int, dict[str, float]]:
    """Rows by epoch, without their epochs; what is empty is not a number."""
    rows: dict[int, dict[str, float]] = {}
    try:
        text = path.read_text(encoding="utf-8")
        if not text:
            raise DataError(f"{path} is empty: the split was not evaluated")
        if not text.endswith("\n"):
            raise DataError(f"{path} is cut off: its last line has no end")
        reader = csv.reader(io.StringIO(text))
        columns = next(reader, [])
        if "epoch" not in columns:
            raise DataError(f"{path}: a first line with a column 'epoch' is expected, got {','.join(columns)!r}")
        for cells in reader:
            if len(cells) != len(columns):
                raise DataError(
                    f"{path}, line {reader.line_num}: {len(columns)} values are expected, got {len(cells)}; the file "
                    f"is broken"
                )
            row = {name: float(cell) if cell else math.nan for name, cell in zip(columns, cells, strict=True)}
            rows[int(row.pop("epoch"))] = row
    except FileNotFoundError:
        raise DataError(f"{path} is missing: the run has no metrics of that split") from None
    except OSError as error:
        raise DataError(f"{path} can't be read ({error.strerror})") from error
    except (csv.Error, OverflowError, ValueError) as error:
        raise DataError(f"{path} is broken: numbers are expected below the first line ({error})") from error
    return rows


def _versions(folder: Path) -> dict[str, str]:
    """Versions by name; none where nobody noted them."""
    entries = read_versions(folder)
    names = dict.fromkeys(name for entry in entries for name in entry)
    return {name: ", ".join(dict.fromkeys(entry[name] for entry in entries if name in entry)) for name in names}


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise DataError(f"{path} is broken or cut off: {error}") from error
