"""Fetch one file whole: it goes on where it was broken off, and takes its name when size and checksum are right.

While it arrives it is called ``NAME.part``, beside the target. A killed process, Ctrl-C or a lost connection leave that
file, and the next call asks the server for the rest only.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tqdm import tqdm

from wilds_targeted._http import HttpFault, open_url, read_pieces, told_length
from wilds_targeted._patience import DEFAULT_PATIENCE, Patience, persist
from wilds_targeted.disk import byte_bar, demand_space, fault_of, parse_checksum, readable_size
from wilds_targeted.errors import DataError, DownloadError

__all__ = ["DEFAULT_PATIENCE", "Patience", "fetch", "fetch_bytes", "part_of"]


def part_of(target: Path) -> Path:
    """What the file is called while it arrives."""
    return target.with_name(target.name + ".part")


def fetch(
    url: str,
    target: Path,
    *,
    size: int | None = None,
    checksum: str | None = None,
    progress: bool = True,
    patience: Patience = DEFAULT_PATIENCE,
) -> Path:
    """Fetch a file, unless it is there and right; the target's path.

    Args:
        url: Where it is.
        target: Its name here. The caller keeps other processes from fetching the same file at the same time.
        size: Its size in bytes, where it is published.
        checksum: ``md5:…`` or ``sha256:…`` of it, where it is published.
        progress: Whether bars and messages are shown.
        patience: How long to keep trying.

    Raises:
        DownloadError: The network or the server failed, or something else arrived. What is half there stays for the
            next call; what is whole and wrong is removed.
        DataError: The target is there and is not what was published, there is no room for it, or the checksum is of
            no known kind.
    """
    if checksum is not None:
        parse_checksum(checksum)  # before gigabytes arrive that it could not check
    if target.exists():
        fault = fault_of(target, size, checksum, progress)
        if fault is not None:
            raise DataError(
                f"{target} is there, but {fault}. Remove it to fetch it again; if it is the beginning of a download, "
                f"rename it to {part_of(target).name} and it goes on from there."
            )
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with byte_bar(target.name, size, progress) as bar:
        arriving = _Arriving(url, target, size, checksum, bar)
        if not arriving.is_complete(progress):
            persist(lambda: arriving.attempt(patience.timeout_s), url, patience, progress, lambda: arriving.length)
    arriving.finish(progress)
    return target


def fetch_bytes(url: str, *, limit: int, progress: bool = True, patience: Patience = DEFAULT_PATIENCE) -> bytes:
    """The answer to a request, whole, in memory.

    Args:
        url: What to ask for.
        limit: The most bytes to accept.
        progress: Whether messages are shown.
        patience: How long to keep trying.

    Raises:
        DownloadError: The network or the server failed, or the answer is longer.
    """

    def attempt() -> bytes:
        body = b""
        with open_url(url, {}, patience.timeout_s) as response:
            announced = told_length(response.headers.get("Content-Length", ""))
            for piece in read_pieces(response):
                body += piece
                if len(body) > limit:
                    raise DownloadError(f"{url} answers with more than {readable_size(limit)}, which can't be right.")
        if announced is not None and len(body) < announced:
            raise HttpFault("the connection broke off", may_pass=True)
        return body

    return persist(attempt, url, patience, progress)


class _Arriving:
    """A file on its way: the part, and where it comes from.

    A small file beside the part remembers the address and the ETag that the part came with, so that the rest is asked
    for on the condition that the file is still the same (If-Range).
    """

    def __init__(self, url: str, target: Path, size: int | None, checksum: str | None, bar: tqdm[Any]) -> None:
        self._url = url
        self._target = target
        self._size = size
        self._checksum = checksum
        self._bar = bar
        self._part = part_of(target)
        self._origin = self._part.with_name(self._part.name + ".json")

    @property
    def length(self) -> int:
        """How many bytes are here."""
        return self._part.stat().st_size if self._part.exists() else 0

    def is_complete(self, progress: bool) -> bool:
        """Whether all is here: a part that another program has completed needs no network."""
        if self._size is not None:
            return self.length >= self._size
        return (
            self.length > 0 and self._checksum is not None and not fault_of(self._part, None, self._checksum, progress)
        )

    def attempt(self, timeout_s: float) -> None:
        """Ask for what is missing, and write it as it comes.

        Raises:
            HttpFault: It ended before all was here.
            DownloadError: Something else is offered.
        """
        have, etag = self.length, self._remembered_etag()
        if etag is None and self._checksum is None:
            have = 0  # nothing would tell whether the rest is of the same file
        headers = {"Range": f"bytes={have}-"} if have else {}
        if have and etag is not None:
            headers["If-Range"] = etag
        try:
            response = open_url(self._url, headers, timeout_s)
        except HttpFault as fault:
            if fault.status != 416 or not have:
                raise
            total = _content_range(fault.headers.get("Content-Range", ""))[1]
            if total != have:
                raise self._wrong(f"has nothing after byte {have}, where {self._part} ends; remove that") from None
            return
        with response:
            goes_on = response.status == 206 and have > 0
            if goes_on:
                start, total = _content_range(response.headers.get("Content-Range", ""))
                if start != have:
                    raise self._wrong(f"sends what follows byte {start}, and what follows byte {have} was asked for")
            else:
                total = told_length(response.headers.get("Content-Length", ""))
            self._look_at_total(total, have)
            if not goes_on:
                have = 0
                self._begin(response.headers.get("ETag", ""))
            self._write(read_pieces(response), have, self._size if total is None else total)

    def finish(self, progress: bool) -> None:
        """Check what is here and give it its name.

        Raises:
            DownloadError: It is not what was published; it is removed.
        """
        self._part.touch()  # an empty file needs no request
        fault = fault_of(self._part, self._size, self._checksum, progress)
        if fault is not None:
            self._forget()
            raise DownloadError(
                f"what arrived as {self._target.name} from {self._url} {fault}. It was removed: try again; if it stays "
                f"so, something between here and there changes it, or it was replaced."
            )
        with self._part.open("rb") as file:
            os.fsync(file.fileno())
        self._part.replace(self._target)
        self._forget()

    def _look_at_total(self, total: int | None, have: int) -> None:
        """Compare the announced size before anything is overwritten: a login page must not cost what is here."""
        if total is None:
            return
        if self._size is not None and total != self._size:
            raise self._wrong(f"offers {total} bytes where {self._size} are published")
        if self._checksum is not None and total < have:
            raise self._wrong(f"offers {total} bytes, fewer than the {have} that are here in {self._part}")
        demand_space(self._part.parent, total - have, self._target.name)

    def _wrong(self, what: str) -> DownloadError:
        return DownloadError(f"{self._target.name} could not be fetched: {self._url} {what}.")

    def _begin(self, etag: str) -> None:
        """Start from the first byte, and remember what the bytes belong to."""
        self._part.write_bytes(b"")
        self._origin.unlink(missing_ok=True)
        if etag.startswith('"'):  # weak ones (W/"…") promise the meaning, not the bytes
            self._origin.write_text(json.dumps({"url": self._url, "etag": etag}), encoding="utf-8")

    def _remembered_etag(self) -> str | None:
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            origin = json.loads(self._origin.read_text(encoding="utf-8"))
            if origin["url"] == self._url:
                return str(origin["etag"])
        return None

    def _write(self, pieces: Iterator[bytes], have: int, total: int | None) -> None:
        self._bar.total = total
        self._bar.n = self._bar.initial = have
        self._bar.refresh()
        with self._part.open("ab") as file:
            for piece in pieces:
                file.write(piece)
                self._bar.update(len(piece))
                have += len(piece)
                if total is not None and have > total:
                    return  # too much: the check that follows says so
        if total is not None and have < total:
            raise HttpFault("the connection broke off", may_pass=True)

    def _forget(self) -> None:
        self._part.unlink(missing_ok=True)
        self._origin.unlink(missing_ok=True)


def _content_range(header: str) -> tuple[int | None, int | None]:
    """The first byte and the whole length that a Content-Range tells; None for what it does not.

    >>> [_content_range(header) for header in ("bytes 5-9/10", "bytes 5-9/*", "bytes */10", "")]
    [(5, 10), (5, None), (None, 10), (None, None)]
    """
    match = re.fullmatch(r"\s*bytes\s+(?:(\d+)-\d+|\*)/(\d+|\*)\s*", header)
    start, total = ("", "") if match is None else match.groups("")
    return told_length(start), told_length(total)
