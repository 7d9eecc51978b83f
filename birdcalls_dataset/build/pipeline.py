"""The build, from folders of recordings to the data set."""

from __future__ import annotations

import contextlib
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tqdm import tqdm

from birdcalls_dataset.build.annotations import Call, read_annotations, read_species
from birdcalls_dataset.build.calls import fitting_calls
from birdcalls_dataset.build.chunks import Chunk, cut
from birdcalls_dataset.build.extraction import Outcome, extract
from birdcalls_dataset.build.problems import Kind, Problems
from birdcalls_dataset.build.recordings import FOLDER, Source, find_sources, read_header
from birdcalls_dataset.build.rules import Rules
from birdcalls_dataset.build.selection import select
from birdcalls_dataset.build.splitting import TRAIN_SPLITS, assign
from birdcalls_dataset.build.workspace import fingerprint, refuse_finished, workspace
from birdcalls_dataset.build.writing import write_release, write_table
from birdcalls_dataset.facts import write_facts
from wilds_targeted.errors import DataError, ParameterError
from wilds_targeted.experiments.processes import core_count


def to_stderr(line: str) -> None:
    """Show a line on standard error, above a progress bar if there is one."""
    tqdm.write(line, file=sys.stderr)


def build_birdcalls(
    recordings: Sequence[Path],
    out: Path,
    rules: Rules | None = None,
    *,
    jobs: int | None = None,
    strict: bool = False,
    restart: bool = False,
    progress: bool = True,
    report: Callable[[str], None] = to_stderr,
) -> Path:
    """Build BirdCalls; called again after it was killed, go on.

    Args:
        recordings: Folders with recordings and their `annotations.csv`.
        out: The folder in which `birdcalls_v1.0` will be.
        rules: What becomes a clip; by default what aims at the paper's counts.
        jobs: How many threads cut clips; as many as cores by default.
        strict: Stop at the first problem with recordings or annotations, instead of reporting it.
        restart: Throw away what an unfinished build left in `out`.
        progress: Show a bar on a terminal.
        report: Takes each line that tells of a problem, of the choices made, and the summary.

    Returns:
        The data set's folder.

    Raises:
        DataError: The recordings can't be used, or something is in the way in `out`.
        ParameterError: A rule does not fit the recordings.
        RunError: Another process is building there.
    """
    rules = rules or Rules()
    if jobs is not None and jobs < 1:
        raise ParameterError(f"jobs is {jobs}; it must be 1 or more.")
    refuse_finished(out)
    sources = find_sources(recordings)
    problems = Problems(report, strict=strict)
    # Everything that may be refused comes before the first file is written.
    files = sum(len(source.files) for source in sources)
    with tqdm(total=files, desc="looking", unit="recording", disable=None if progress else True) as bar:
        selection = select((chunk for source in sources for chunk in _survey(source, rules, problems, bar)), rules)
    split_of = assign(selection, rules)
    report(str(selection))
    with workspace(out, fingerprint(sources, rules), restart=restart) as folder:
        outcomes = list(_clips(selection.chunks, folder, jobs or core_count(), problems, progress=progress))
        if not outcomes:
            raise DataError("no clip could be read from its recording.")
        write_table(folder, outcomes, split_of)
        summary = [problems.summary(), *_lost_classes(split_of, outcomes)]
        write_release(folder, rules, [*str(selection).splitlines(), *summary])
        write_facts(folder)
    for line in summary:
        report(line)
    return out / FOLDER


def _lost_classes(split_of: Mapping[Chunk, str], outcomes: Iterable[Outcome]) -> Iterator[str]:
    """A line if there are classes of which train would have clips, and none could be read."""
    meant = {chunk.species for chunk, split in split_of.items() if split == TRAIN_SPLITS[0]}
    there = {outcome.chunk.species for outcome in outcomes if split_of[outcome.chunk] == TRAIN_SPLITS[0]}
    if lost := sorted(meant - there):
        yield f"Split {TRAIN_SPLITS[0]} has no clip of {', '.join(lost)}: none of those meant for it could be read."


def _survey(source: Source, rules: Rules, problems: Problems, bar: tqdm[Any]) -> Iterator[Chunk]:
    """The chunks of all recordings of a folder with one species or none."""
    known = read_species(source.species) if source.species.is_file() else None
    calls: defaultdict[str, list[Call]] = defaultdict(list)
    for call in read_annotations(source.annotations, known, problems):
        calls[call.file].append(call)
    for path in source.files:
        bar.update()
        mine = calls.pop(path.name, [])
        recording = read_header(source, path, rules, problems)
        if recording is None:
            continue
        if not mine and rules.unannotated == "skip":
            problems.add(Kind.NO_ANNOTATION, path, f"no row of {source.annotations} names it; left out")
            continue
        yield from cut(recording, fitting_calls(mine, recording, source.annotations, problems), rules)
    for name, missing in calls.items():
        text = (
            f"{name!r}, named by {len(missing)} row{'s' * (len(missing) > 1)} from here on, is not in {source.folder}"
        )
        problems.add(Kind.NO_RECORDING, source.annotations, text, row=missing[0].row)


def _clips(
    chunks: Iterable[Chunk], folder: Path, jobs: int, problems: Problems, *, progress: bool
) -> Iterator[Outcome]:
    """The clips, cut; those that can't be are reported."""
    chunks = list(chunks)
    with (
        contextlib.closing(extract(chunks, folder, jobs)) as outcomes,
        tqdm(total=len(chunks), desc="birdcalls", unit="clip", disable=None if progress else True) as bar,
    ):
        for outcome in outcomes:
            bar.update()
            if outcome.trouble:
                start = outcome.chunk.start_s
                text = f"the clip at {start:g} s ({outcome.trouble}); left out"
                problems.add(Kind.UNREADABLE, outcome.chunk.recording.path, text)
            else:
                yield outcome
