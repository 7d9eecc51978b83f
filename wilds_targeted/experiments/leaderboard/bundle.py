"""The files to upload: a folder and an archive, whole or not at all, the same bytes for the same runs."""

from __future__ import annotations

import filecmp
import gzip
import io
import json
import os
import shutil
import tarfile
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from wilds_targeted.errors import DataError
from wilds_targeted.experiments.leaderboard.scoring import Results

ARCHIVE = "predictions.tar.gz"
SUBMISSION = "SUBMISSION.md"
_TIME = 946_684_800  # 2000-01-01: the same bytes each time, and no warning about a date before there was tar


def results_name(dataset: str) -> str:
    """The results file, as WILDS's ``evaluate.py`` calls it."""
    return f"{dataset}_results.json"


def write_bundle(
    out: Path,
    dataset: str,
    predictions: Mapping[str, bytes],
    results: Results,
    text: str,
    *,
    archive: bytes,
    force: bool = False,
    check: Callable[[Path], None] = lambda folder: None,
) -> bool:
    """Write a bundle; gives False where the very same one is there already.

    Args:
        out: The bundle's folder.
        dataset: The data set's name.
        predictions: The files' contents by their names.
        results: Means and standard deviations.
        text: What ``SUBMISSION.md`` says.
        archive: What `pack` makes of the predictions.
        force: Replace another bundle. Anything else is never replaced.
        check: Called with the folder of the predictions before anything takes its place.

    Raises:
        DataError: Something else is there.
    """
    ours = {dataset, results_name(dataset), ARCHIVE, SUBMISSION}
    _refuse_foreign(out, ours)
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}-") as temporary:
        new = Path(temporary, "new")
        folder = new / dataset
        folder.mkdir(parents=True)
        for name, content in sorted(predictions.items()):
            (folder / name).write_bytes(content)
        (new / results_name(dataset)).write_text(json.dumps(results, indent=4), encoding="utf-8")
        (new / SUBMISSION).write_text(text, encoding="utf-8", newline="\n")
        (new / ARCHIVE).write_bytes(archive)
        check(folder)
        if out.exists() and any(out.iterdir()):
            if _files(out) == _files(new) and _same(out, new):
                return False
            if not force:
                raise DataError(f"{out} holds another bundle; choose another --out, or replace it with --force.")
        _put_in_place(new, out, Path(temporary, "old"))
    return True


def pack(dataset: str, predictions: Mapping[str, bytes]) -> bytes:
    """An archive with ``DATASET/FILE`` in it.

    A tar archive and no zip: names have colons, which many programs for zip can't write or change to something else.
    """
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in sorted(predictions.items()):
            entry = tarfile.TarInfo(f"{dataset}/{name}")
            entry.size, entry.mtime, entry.mode = len(content), _TIME, 0o644
            archive.addfile(entry, io.BytesIO(content))
    packed = io.BytesIO()
    with gzip.GzipFile(filename="", fileobj=packed, mode="wb", mtime=_TIME) as file:
        file.write(plain.getvalue())
    return packed.getvalue()


def _refuse_foreign(out: Path, ours: Iterable[str]) -> None:
    """A folder that holds anything but a bundle is not ours to replace."""
    if out.exists() and not out.is_dir():
        raise DataError(f"{out} is a file; choose a folder as --out.")
    foreign = sorted({entry.name for entry in out.iterdir()} - set(ours)) if out.exists() else []
    if foreign or out.is_symlink():
        what = f"holds {', '.join(foreign[:3])}" if foreign else "is a link"
        raise DataError(f"{out} {what}, which no bundle of these runs has; choose a new folder as --out.")


def _files(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def _same(one: Path, other: Path) -> bool:
    return all(
        filecmp.cmp(path, other / path.relative_to(one), shallow=False) for path in one.rglob("*") if path.is_file()
    )


def _put_in_place(new: Path, out: Path, old: Path) -> None:
    """Let the new folder take its place; a bundle that was there comes back if that fails."""
    for path in new.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())
    if not out.exists():
        new.rename(out)
        return
    out.rename(old)
    try:
        new.rename(out)
    except OSError:
        old.rename(out)
        raise
    shutil.rmtree(old)
