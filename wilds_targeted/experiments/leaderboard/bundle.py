"""The files to upload: a folder and an archive, whole or not at all, the same bytes for the same runs."""

from __future__ import annotations

import filecmp
import gzip
import io
import json
import os
import re
import tarfile
import tempfile
from collections.abc import Callable, Mapping
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
    _refuse_foreign(out, dataset)
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


def _refuse_foreign(out: Path, dataset: str) -> None:
    """A folder that holds anything but a whole bundle is not ours to replace."""
    if out.is_symlink():
        raise DataError(f"{out} is a link; choose a new folder as --out.")
    if not out.exists():
        return
    if not out.is_dir():
        raise DataError(f"{out} is a file; choose a folder as --out.")
    if out.samefile(Path.cwd()):
        raise DataError(f"{out} is the current folder, which can't be replaced; choose a new one inside it as --out.")
    ours = {dataset, results_name(dataset), ARCHIVE, SUBMISSION}
    there = {entry.name for entry in out.iterdir()}
    if foreign := sorted(there - ours) or _foreign_files(out / dataset):
        what = f"holds {', '.join(foreign[:3])}, which no bundle of these runs has"
    elif there and there != ours:
        what = f"holds no whole bundle: {', '.join(sorted(ours - there))} is not there"
    else:
        return
    raise DataError(f"{out} {what}; choose a new folder as --out.")


def _foreign_files(folder: Path) -> list[str]:
    """What a bundle's folder of predictions does not have."""
    if not folder.is_dir() or folder.is_symlink():
        return [folder.name] if os.path.lexists(folder) else []
    ours = re.compile(rf"{re.escape(folder.name)}_split:[^:]+_seed:\d+_epoch:best_pred\.csv")
    names = sorted(entry.name for entry in folder.iterdir())
    return [f"{folder.name}/{name}" for name in names if not ours.fullmatch(name)]


def _files(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def _same(one: Path, other: Path) -> bool:
    return all(
        filecmp.cmp(path, other / path.relative_to(one), shallow=False) for path in one.rglob("*") if path.is_file()
    )


def _put_in_place(new: Path, out: Path, old: Path) -> None:
    """Let the new folder take its place; a bundle that was there comes back if that fails, or is interrupted."""
    for path in new.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())
    try:
        if out.exists():
            out.rename(old)
        new.rename(out)
    except BaseException:
        if old.exists() and not out.exists():
            old.rename(out)
        raise
