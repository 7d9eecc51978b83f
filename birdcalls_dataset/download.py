"""Fetch the public recordings that BirdCalls is built from: three records of Zenodo, verified and unpacked."""

from __future__ import annotations

import dataclasses
import json
import shlex
import urllib.parse
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from birdcalls_dataset.releases import ANNOTATIONS_FILE, AUDIO_ARCHIVE, RELEASES, Release
from wilds_targeted._http import is_web_address
from wilds_targeted.archives import name_fault, unpack_zip
from wilds_targeted.disk import demand_space, parse_checksum, readable_size, say
from wilds_targeted.downloads import DEFAULT_PATIENCE, Patience, fetch, fetch_bytes, part_of
from wilds_targeted.errors import DataError, DownloadError
from wilds_targeted.files import locked

ZENODO = "https://zenodo.org"

AUDIO_FOLDER = Path(AUDIO_ARCHIVE).stem
"""The folder of a release that takes the unpacked recordings."""

LARGEST_RECORD = 10_000_000


@dataclass(frozen=True)
class PublishedFile:
    """A file of a record.

    Args:
        name: Its name there and here.
        url: Where it is.
        checksum: As Zenodo writes it: ``md5:…``.
        size: In bytes; None where only this package's own list is at hand.
    """

    name: str
    url: str
    checksum: str
    size: int | None


def download_releases(
    out: Path,
    releases: Sequence[Release] = RELEASES,
    *,
    zenodo: str = ZENODO,
    progress: bool = True,
    keep_archives: bool = False,
    patience: Patience = DEFAULT_PATIENCE,
) -> list[Path]:
    """Fetch releases, each to a folder of its name, with its recordings unpacked in ``soundscape_data``.

    What is there is verified and not fetched again; what was broken off goes on.

    Args:
        out: The folder to make their folders in.
        releases: Which.
        zenodo: Where Zenodo, or a mirror of it, is.
        progress: Whether bars and messages are shown.
        keep_archives: Whether the archives stay when they are unpacked.
        patience: How long to keep trying when the network fails.

    Returns:
        The folders, in the order of the releases.

    Raises:
        DownloadError: Something could not be fetched. The message tells what is done and what is missing; its note
            (``__notes__``) has a line to type for each missing file, where there is one.
        DataError: What is there, or what arrived, is broken; the record is not the one known; the disk is full.
        RunError: Another download is writing there.
    """
    zenodo = zenodo.rstrip("/")
    if not is_web_address(zenodo):
        raise DataError(f"{zenodo!r} can't be Zenodo's address: it must begin with http:// or https://.")
    folders = [out / release.name for release in releases]
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
    # What is to be fetched, for the message: as far as is known now, and as the records tell, later.
    files = {release.name: known_files(release, zenodo) for release in releases}
    settled: set[Path] = set()
    try:
        for release, folder in zip(releases, folders, strict=True):
            with locked(folder):
                files[release.name] = published_files(release, zenodo, progress=progress, patience=patience)
                _complete(folder, files[release.name], settled, keep_archives, progress, patience)
    except DownloadError as error:
        raise _with_advice(error, out, releases, files, settled) from None
    return folders


def known_files(release: Release, zenodo: str = ZENODO) -> list[PublishedFile]:
    """The files of a release whose checksums are known without asking."""
    address = f"{zenodo}/records/{release.record}/files"
    return [
        PublishedFile(name, f"{address}/{urllib.parse.quote(name)}?download=1", f"md5:{md5}", None)
        for name, md5 in release.md5.items()
    ]


def published_files(
    release: Release, zenodo: str = ZENODO, *, progress: bool = True, patience: Patience = DEFAULT_PATIENCE
) -> list[PublishedFile]:
    """The files of a release as its record tells them; where that can't be read, those that are known anyway.

    Raises:
        DownloadError: The record can't be read, and nothing is known.
        DataError: The record does not agree with what is known.
    """
    address = f"{zenodo}/api/records/{release.record}"
    hurried = dataclasses.replace(patience, attempts=min(3, patience.attempts))  # there is another way
    try:
        answer = fetch_bytes(address, limit=LARGEST_RECORD, progress=progress, patience=hurried)
        return _read_record(answer, release, address)
    except DownloadError as error:
        known = known_files(release, zenodo)
        if not known:
            raise
        names = ", ".join(file.name for file in known)
        say(
            f"{error} Going on with the files of {release.name} whose checksums are known: {names}. The others are at "
            f"{release.page}.",
            progress,
        )
        return known


def _read_record(answer: bytes, release: Release, address: str) -> list[PublishedFile]:
    try:
        return _checked_record(json.loads(answer), release, address)
    except (ValueError, RecursionError):
        beginning = answer[:40].decode("utf-8", "replace")
        raise DownloadError(
            f"{address} did not answer with a record: what came begins {beginning!r}. Is there a login page between "
            f"here and Zenodo?"
        ) from None


def _checked_record(record: Any, release: Release, address: str) -> list[PublishedFile]:
    """The files that a record lists, every field looked at: names become files here, addresses are asked."""
    entries = record.get("files") if isinstance(record, Mapping) else None
    if not isinstance(entries, list):
        raise DataError(f"{address} answered without a list of files. Is it Zenodo, and is {release.record} there?")
    files = [_checked_entry(entry, address) for entry in entries]
    names = [file.name.casefold() for file in files]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise DataError(f"{address} lists the file {twice!r} twice.")
    published = {file.name: file.checksum for file in files}
    missing = sorted({*release.md5, ANNOTATIONS_FILE, AUDIO_ARCHIVE} - set(published))
    if missing:
        raise DataError(
            f"{address} does not list {', '.join(missing)}; it lists {', '.join(published) or 'nothing'}. Look at "
            f"{release.page}."
        )
    for name, md5 in release.md5.items():
        if published[name] != f"md5:{md5}":
            raise DataError(
                f"{address} publishes {name} with {published[name]}, and md5:{md5} is known of it: it was replaced, or "
                f"this is not Zenodo. Look at {release.page}."
            )
    return files


def _checked_entry(entry: Any, address: str) -> PublishedFile:
    try:
        name, size, checksum, url = entry["key"], entry["size"], entry["checksum"], entry["links"]["self"]
    except (KeyError, TypeError):
        raise DataError(f"{address} lists a file without key, size, checksum or link: {str(entry)[:200]}.") from None
    if not isinstance(name, str) or not isinstance(checksum, str) or not isinstance(url, str):
        raise DataError(f"{address} lists a file whose key, checksum or link is no text: {str(entry)[:200]}.")
    if name_fault(name) is not None or name.startswith("."):
        raise DataError(f"{address} lists a file {name!r}, which can't be a file's name here.")
    if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size < 1 << 63:
        raise DataError(f"{address} lists {name} with the size {size!r}, which is no number of bytes.")
    if not is_web_address(url):
        raise DataError(f"{address} lists {name} with the link {url!r}, which is no web address.")
    parse_checksum(checksum)
    return PublishedFile(name, url, checksum.lower(), size)


def _complete(
    folder: Path,
    files: Iterable[PublishedFile],
    settled: set[Path],
    keep_archives: bool,
    progress: bool,
    patience: Patience,
) -> None:
    """Fetch what a release's folder lacks, the archive last, and unpack it; `settled` takes the paths that are done."""
    audio, archive = folder / AUDIO_FOLDER, folder / AUDIO_ARCHIVE
    for file in sorted(files, key=lambda file: (file.name == AUDIO_ARCHIVE, file.name)):
        target = folder / file.name
        if target == archive and audio.exists():
            say(f"{audio}: is there, and is taken as it is", progress)
            if archive.exists() and not keep_archives:
                say(
                    f"{archive}: is not needed beside it; remove it to free {readable_size(archive.stat().st_size)}",
                    progress,
                )
            settled.add(target)
            continue
        if target == archive and file.size is not None and not archive.exists():
            # Recordings hardly get smaller in an archive: for a while they are there twice.
            here = part_of(archive).stat().st_size if part_of(archive).exists() else 0
            demand_space(folder, 2 * file.size - here, f"fetching and unpacking {AUDIO_ARCHIVE}")
        fetch(file.url, target, size=file.size, checksum=file.checksum, progress=progress, patience=patience)
        say(f"{target}: verified", progress)
        settled.add(target)
    if not audio.exists():
        count = unpack_zip(archive, audio, progress=progress)
        say(f"{audio}: {count} files unpacked", progress)
        if not keep_archives:
            archive.unlink()


def _with_advice(
    error: DownloadError,
    out: Path,
    releases: Sequence[Release],
    files: Mapping[str, Sequence[PublishedFile]],
    settled: Set[Path],
) -> DownloadError:
    """The same error, with what is done, what is missing, and what to type."""
    done: list[str] = []
    unseen: list[str] = []
    missing, lines, places = [], [], {}
    for release in releases:
        folder = out / release.name
        for file in files[release.name]:
            target = folder / file.name
            is_unpacked = file.name == AUDIO_ARCHIVE and (folder / AUDIO_FOLDER).exists()
            if target in settled or target.exists() or is_unpacked:
                (done if target in settled else unseen).append(f"{release.name}/{file.name}")
                continue
            missing.append(f"{release.name}/{file.name}")
            lines.append(f"curl -fL -C - -o {shlex.quote(str(part_of(target)))} {shlex.quote(file.url)}")
            places[release.page] = folder
    text = f"{error} Done: {', '.join(done) or 'nothing yet'}."
    if unseen:
        text += f" There, but not looked at yet: {', '.join(unseen)}."
    if not missing:
        return DownloadError(f"{text} Type the same command again to go on.")
    advised = DownloadError(
        f"{text} Missing: {', '.join(missing)}. Type the same command again to go on; or fetch what is missing with "
        f"the curl lines that come with this message, or in a browser "
        f"({', '.join(f'from {page} into {folder}' for page, folder in places.items())}), and type it again to verify "
        f"and unpack it."
    )
    advised.add_note("\n".join(lines))
    return advised
