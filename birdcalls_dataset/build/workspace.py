"""The folder that a build works in, and how a build that was killed goes on in it."""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from birdcalls_dataset.build.extraction import AUDIO_FOLDER
from birdcalls_dataset.build.recordings import FOLDER, PARTIAL, Source
from birdcalls_dataset.build.rules import Rules
from birdcalls_dataset.facts import sha256_of
from wilds_targeted import __version__
from wilds_targeted.errors import DataError, one_line
from wilds_targeted.files import locked, remove_leftovers, written_whole

BUILD_FILE = "build.json"
_ENDS = 1 << 16


def fingerprint(sources: Sequence[Source], rules: Rules) -> dict[str, Any]:
    """What a build is made of: the same of it, the same data set.

    Recordings are too big to be read whole: their size and both ends stand for them. (A FLAC file's beginning holds
    a checksum of all its sound.) No path and no date is in it, so data may be moved while a build is unfinished.
    """
    return {
        "version": __version__,
        "rules": json.loads(json.dumps(asdict(rules))),
        "files": {
            f"{number} {source.folder.resolve().name}/{path.relative_to(source.folder).as_posix()}": content
            for number, source in enumerate(sources, start=1)
            for path, content in _contents(source)
        },
    }


def _contents(source: Source) -> Iterator[tuple[Path, str]]:
    for table in (source.annotations, source.species):
        if table.is_file():
            yield table, sha256_of(table)
    for path in source.files:
        size = path.stat().st_size
        with path.open("rb") as file:
            digest = hashlib.sha256(file.read(_ENDS))
            file.seek(max(size - _ENDS, 0))
            digest.update(file.read(_ENDS))
        yield path, f"{size} bytes, {digest.hexdigest()}"


def refuse_finished(out: Path) -> None:
    """Refuse to build where a data set is.

    Raises:
        DataError: One is there.
    """
    if (out / FOLDER).exists():
        raise DataError(f"{out / FOLDER} is there already: choose another --out, or move it away.")


@contextlib.contextmanager
def workspace(out: Path, made_of: Mapping[str, Any], *, restart: bool) -> Iterator[Path]:
    """A folder to build in, with the clips that an unfinished build left; takes its final name when the block ends.

    Args:
        out: Where the data set will be; made if it is not there.
        made_of: The fingerprint of this build.
        restart: Throw an unfinished build away.

    Raises:
        DataError: What is there is of another build, or a finished one.
        RunError: Another process is building there.
    """
    partial = out / PARTIAL
    partial.mkdir(parents=True, exist_ok=True)
    with locked(partial):
        refuse_finished(out)  # the former owner of the lock may just have finished
        remove_leftovers(partial)
        if restart:
            _clear(partial)
        if (partial / AUDIO_FOLDER).is_dir():
            _compare(partial, made_of)
            remove_leftovers(partial / AUDIO_FOLDER)
        with written_whole(partial / BUILD_FILE) as arriving:
            arriving.write_text(json.dumps(made_of, indent=2) + "\n", encoding="utf-8")
        yield partial
        partial.rename(out / FOLDER)


def _compare(partial: Path, made_of: Mapping[str, Any]) -> None:
    """Refuse to go on with a build of something else."""
    path = partial / BUILD_FILE
    try:
        before = json.loads(path.read_text(encoding="utf-8"))
        for part in made_of:
            _compare_part(partial, part, before[part], made_of[part])
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(
            f"{partial} is not an unfinished build ({one_line(error)}): remove it, or choose another --out."
        ) from error


def _compare_part(partial: Path, part: str, before: Any, now: Any) -> None:
    if before == now:
        return
    text = f"{part} {before} then, {now} now"
    if isinstance(now, Mapping):
        name = min(name for name in {*before, *now} if before.get(name) != now.get(name))
        text = f"{name}: {before.get(name, 'absent')} then, {now.get(name, 'absent')} now"
    raise DataError(
        f"{partial} holds an unfinished build with other {part} ({text}). Give the same to go on, or --restart to "
        "throw away what is there."
    )


def _clear(partial: Path) -> None:
    """Remove an unfinished build, and nothing that is not one."""
    if any(partial.iterdir()) and not (partial / BUILD_FILE).is_file():
        raise DataError(f"{partial} is not an unfinished build: look at it, and remove it yourself.")
    for path in sorted(partial.iterdir(), key=lambda path: path.name == BUILD_FILE):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
