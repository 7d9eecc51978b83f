"""One file over a network that fails in every way that can be staged on one machine."""

from __future__ import annotations

import collections
import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from email.utils import formatdate
from pathlib import Path

import pytest
from file_server import (
    FileServer,
    answer,
    break_off_after,
    break_off_without_ranges,
    etag_of,
    fall_silent_after,
    hang,
    serve,
    serve_without_length,
    serve_without_ranges,
    serving,
)

from wilds_targeted import _patience
from wilds_targeted.downloads import Patience, fetch, fetch_bytes, part_of
from wilds_targeted.errors import DataError, DownloadError

CONTENT = random.Random(0).randbytes(100_000)
HURRIED = Patience(attempts=3, first_wait_s=0.001, longest_wait_s=0.01, timeout_s=0.3)


def checksum_of(content: bytes) -> str:
    return f"md5:{hashlib.md5(content).hexdigest()}"


PUBLISHED = {"size": len(CONTENT), "checksum": checksum_of(CONTENT)}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FileServer]:
    monkeypatch.setenv("no_proxy", "*")
    with serving() as server:
        server.files["/data.bin"] = CONTENT
        yield server


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "data.bin"


def get(server: FileServer, target: Path, path: str = "/data.bin", **options: object) -> Path:
    options = {"progress": False, "patience": HURRIED, **PUBLISHED, **options}
    return fetch(server.address + path, target, **options)  # type: ignore[arg-type]


def names(target: Path) -> set[str]:
    return {path.name for path in target.parent.iterdir()} if target.parent.exists() else set()


def asked_ranges(server: FileServer) -> list[str | None]:
    return [headers.get("Range") for headers in server.headers_of("/data.bin")]


# --- when all is well


def test_a_file_arrives_whole_and_nothing_else_stays(server: FileServer, target: Path) -> None:
    assert get(server, target) == target
    assert target.read_bytes() == CONTENT
    assert names(target) == {"data.bin"}
    assert server.headers_of("/data.bin")[0]["User-Agent"].startswith("wilds-targeted/")


def test_what_is_there_and_right_is_not_fetched_again(server: FileServer, target: Path) -> None:
    get(server, target)
    server.requests.clear()
    get(server, target)
    assert server.requests == []


@pytest.mark.parametrize("checksum", [None, checksum_of(CONTENT), f"sha256:{hashlib.sha256(CONTENT).hexdigest()}"])
@pytest.mark.parametrize("size", [None, len(CONTENT)])
def test_what_is_not_published_is_not_demanded(
    server: FileServer, target: Path, size: int | None, checksum: str | None
) -> None:
    get(server, target, size=size, checksum=checksum)
    assert target.read_bytes() == CONTENT


def test_an_empty_file(server: FileServer, target: Path) -> None:
    server.files["/data.bin"] = b""
    get(server, target, size=None, checksum=checksum_of(b""))
    assert target.read_bytes() == b""


def test_a_server_that_tells_no_length(server: FileServer, target: Path) -> None:
    server.plans["/data.bin"] = [serve_without_length]
    get(server, target)
    assert target.read_bytes() == CONTENT


def test_a_redirect_is_followed_with_the_range(server: FileServer, target: Path) -> None:
    server.plans["/old"] = [answer(302, Location="/data.bin")]
    target.parent.mkdir()
    part_of(target).write_bytes(CONTENT[:500])
    get(server, target, "/old")
    assert target.read_bytes() == CONTENT
    assert asked_ranges(server) == ["bytes=500-"]


def test_the_bar_counts_from_what_is_there(
    server: FileServer, target: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    target.parent.mkdir()
    part_of(target).write_bytes(CONTENT[:50_000])
    get(server, target, progress=True)
    shown = capsys.readouterr().err
    assert "data.bin:  50%" in shown
    assert "50.0k/100k" in shown


# --- broken off


def test_it_goes_on_where_the_connection_broke_off(server: FileServer, target: Path) -> None:
    server.plans["/data.bin"] = [break_off_after(30_000), break_off_after(20_000)]
    get(server, target)
    assert target.read_bytes() == CONTENT
    assert asked_ranges(server) == [None, "bytes=30000-", "bytes=50000-"]
    assert server.sent == len(CONTENT)
    assert server.headers_of("/data.bin")[1]["If-Range"] == etag_of(CONTENT)
    assert names(target) == {"data.bin"}


def test_progress_renews_patience(server: FileServer, target: Path) -> None:
    server.plans["/data.bin"] = [break_off_after(10_000)] * 9
    get(server, target)
    assert target.read_bytes() == CONTENT
    assert len(server.requests) == 10 > HURRIED.attempts


def test_a_server_that_always_begins_anew_and_breaks_off_is_not_asked_for_ever(
    server: FileServer, target: Path
) -> None:
    server.plans["/data.bin"] = [break_off_without_ranges(10_000)] * 50
    with pytest.raises(DownloadError, match="broke off"):
        get(server, target)
    assert len(server.requests) == 1 + (HURRIED.attempts - 1)
    assert not target.exists()


def test_the_next_call_goes_on(server: FileServer, target: Path) -> None:
    server.plans["/data.bin"] = [break_off_after(30_000), answer(503), answer(503)]
    with pytest.raises(DownloadError, match=r"answered 503.*30\.0 kB of it are here and stay"):
        get(server, target)
    assert names(target) == {"data.bin.part", "data.bin.part.json"}
    server.requests.clear()
    get(server, target)
    assert asked_ranges(server) == ["bytes=30000-"]
    assert target.read_bytes() == CONTENT


def test_a_server_that_ignores_ranges_starts_over(server: FileServer, target: Path) -> None:
    server.plans["/data.bin"] = [break_off_after(30_000), serve_without_ranges]
    get(server, target)
    assert target.read_bytes() == CONTENT


def test_a_file_that_changed_meanwhile_starts_over(server: FileServer, target: Path) -> None:
    server.plans["/data.bin"] = [break_off_after(30_000), answer(503), answer(503)]
    with pytest.raises(DownloadError):
        get(server, target, size=None, checksum=None)
    changed = server.files["/data.bin"] = CONTENT[::-1]
    get(server, target, size=None, checksum=None)
    assert target.read_bytes() == changed


def test_a_part_of_unknown_origin_without_a_checksum_starts_over(server: FileServer, target: Path) -> None:
    target.parent.mkdir()
    part_of(target).write_bytes(b"of another file")
    get(server, target, size=None, checksum=None)
    assert target.read_bytes() == CONTENT
    assert asked_ranges(server) == [None]


def test_the_etag_of_another_address_is_no_condition(server: FileServer, target: Path) -> None:
    server.plans["/data.bin"] = [break_off_after(30_000), answer(404)]
    with pytest.raises(DownloadError, match="404"):
        get(server, target)
    server.files["/mirror"] = CONTENT
    get(server, target, "/mirror")
    (headers,) = server.headers_of("/mirror")
    assert headers["Range"] == "bytes=30000-"
    assert "If-Range" not in headers


def test_a_weak_etag_is_no_condition(server: FileServer, target: Path) -> None:
    server.plans["/data.bin"] = [
        answer(200, CONTENT[:9], ETag=f"W/{etag_of(CONTENT)}", Content_Length=str(len(CONTENT)))
    ]
    get(server, target)
    assert target.read_bytes() == CONTENT
    assert "If-Range" not in server.headers_of("/data.bin")[1]


@pytest.mark.parametrize("size", [len(CONTENT), None])
def test_a_part_that_is_complete_needs_no_network(server: FileServer, target: Path, size: int | None) -> None:
    target.parent.mkdir()
    part_of(target).write_bytes(CONTENT)
    get(server, target, size=size)
    assert target.read_bytes() == CONTENT
    assert server.requests == []


def test_a_complete_part_is_known_by_416(server: FileServer, target: Path) -> None:
    server.plans["/data.bin"] = [
        # All bytes come, then the connection breaks before its end is told.
        answer(200, CONTENT, ETag=etag_of(CONTENT), Content_Length=str(len(CONTENT) + 1)),
        serve,
    ]
    get(server, target, size=None, checksum=None)
    assert asked_ranges(server) == [None, f"bytes={len(CONTENT)}-"]
    assert target.read_bytes() == CONTENT


def test_a_part_that_is_longer_than_the_file(server: FileServer, target: Path) -> None:
    target.parent.mkdir()
    part_of(target).write_bytes(CONTENT + b"more")
    with pytest.raises(DownloadError, match="nothing after byte 100004"):
        get(server, target, size=None)
    assert names(target) == {"data.bin.part"}
    with pytest.raises(DownloadError, match=r"has 100004 bytes where 100000 are published\. It was removed"):
        get(server, target)
    assert names(target) == set()


def test_a_server_that_sends_another_range(server: FileServer, target: Path) -> None:
    target.parent.mkdir()
    part_of(target).write_bytes(CONTENT[:50])
    server.plans["/data.bin"] = [answer(206, CONTENT[40:], Content_Range=f"bytes 40-99999/{len(CONTENT)}")]
    with pytest.raises(DownloadError, match="follows byte 40, and what follows byte 50"):
        get(server, target)
    assert part_of(target).read_bytes() == CONTENT[:50]


# --- killed


PROGRAM = """
    import sys
    from pathlib import Path
    from wilds_targeted.downloads import fetch
    fetch(sys.argv[1], Path(sys.argv[2]), size=int(sys.argv[3]), checksum=sys.argv[4])
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_download_goes_on(server: FileServer, target: Path, how: signal.Signals) -> None:
    server.pause_s = 0.02  # about half a second for the whole
    command = [sys.executable, "-c", textwrap.dedent(PROGRAM), f"{server.address}/data.bin", target]
    command += [str(PUBLISHED["size"]), str(PUBLISHED["checksum"])]
    with subprocess.Popen(command, env={**os.environ, "no_proxy": "*"}, stderr=subprocess.PIPE) as process:
        deadline = time.monotonic() + 15
        while not (part_of(target).exists() and part_of(target).stat().st_size >= 20_000):
            assert time.monotonic() < deadline
            time.sleep(0.005)
        process.send_signal(how)
        process.communicate()
        assert process.returncode != 0
    assert not target.exists()
    kept = part_of(target).read_bytes()
    assert kept == CONTENT[: len(kept)]
    server.pause_s = 0.0
    server.requests.clear()
    get(server, target)
    assert target.read_bytes() == CONTENT
    assert asked_ranges(server) == [f"bytes={len(kept)}-"]


# --- failures


def test_a_server_in_trouble_is_asked_again(server: FileServer, target: Path) -> None:
    server.plans["/data.bin"] = [answer(500), answer(429)]
    get(server, target)
    assert target.read_bytes() == CONTENT


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    waits: list[float] = []
    monkeypatch.setattr(_patience.time, "sleep", waits.append)
    return waits


def test_waits_grow_up_to_a_bound(server: FileServer, target: Path, waits: list[float]) -> None:
    server.plans["/data.bin"] = [answer(503)] * 6
    with pytest.raises(DownloadError, match="503"):
        get(server, target, patience=Patience(attempts=6, first_wait_s=1, longest_wait_s=5, timeout_s=1))
    assert waits == [1, 2, 4, 5, 5]


@pytest.mark.parametrize(
    ("asked", "waited"), [("3", 3), ("9999", 5), ("-4", 1), ("soon", 1), ("nan", 1), ("9" * 400, 5), ("9" * 5000, 5)]
)
def test_retry_after_is_honoured_up_to_a_bound(
    server: FileServer, target: Path, waits: list[float], asked: str, waited: float
) -> None:
    server.plans["/data.bin"] = [answer(429, Retry_After=asked)]
    get(server, target, patience=Patience(first_wait_s=1, longest_wait_s=5, timeout_s=1))
    assert waits == [waited]


def test_retry_after_may_be_a_date(server: FileServer, target: Path, waits: list[float]) -> None:
    server.plans["/data.bin"] = [answer(503, Retry_After=formatdate(time.time() + 50, usegmt=True))]
    get(server, target, patience=Patience(first_wait_s=1, longest_wait_s=100, timeout_s=1))
    assert 40 < waits[0] <= 50


def test_a_failed_attempt_is_told(server: FileServer, target: Path, capsys: pytest.CaptureFixture[str]) -> None:
    server.plans["/data.bin"] = [answer(500)]
    get(server, target, progress=True)
    assert "answered 500 Internal Server Error; trying again" in capsys.readouterr().err
    get(server, target.with_name("other"), progress=False)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("status", [401, 403, 404, 410])
def test_a_refusal_is_not_asked_again(server: FileServer, target: Path, status: int) -> None:
    server.plans["/data.bin"] = [answer(status)] * 9
    with pytest.raises(DownloadError, match=f"{server.address}/data.bin could not be fetched: .* {status}"):
        get(server, target)
    assert len(server.requests) == 1
    assert names(target) == set()


def test_a_server_that_hangs(server: FileServer, target: Path) -> None:
    server.plans["/data.bin"] = [hang] * 9
    started = time.monotonic()
    with pytest.raises(DownloadError, match="timed out"):
        get(server, target)
    assert time.monotonic() - started < 5
    assert len(server.requests) == HURRIED.attempts
    assert names(target) == set()


def test_a_server_that_falls_silent_goes_on(server: FileServer, target: Path) -> None:
    server.plans["/data.bin"] = [fall_silent_after(30_000)]
    get(server, target)
    assert asked_ranges(server) == [None, "bytes=30000-"]
    assert target.read_bytes() == CONTENT


def test_nobody_listens(server: FileServer, target: Path) -> None:
    with serving() as gone:
        pass
    with pytest.raises(DownloadError, match="refused"):
        get(gone, target)
    assert names(target) == set()


def test_wrong_bytes_are_removed(server: FileServer, target: Path) -> None:
    server.files["/data.bin"] = CONTENT[:-1] + bytes([CONTENT[-1] ^ 1])
    with pytest.raises(DownloadError, match=r"has the md5 \w{32} where \w{32} is published. It was removed"):
        get(server, target)
    assert names(target) == set()


@pytest.mark.parametrize("content", [CONTENT[:-1], CONTENT + b"x", b"<html>Please log in</html>"])
def test_a_wrong_size_is_refused_before_it_is_fetched(server: FileServer, target: Path, content: bytes) -> None:
    target.parent.mkdir()
    part_of(target).write_bytes(CONTENT[:500])
    server.plans["/data.bin"] = [answer(200, content)]
    with pytest.raises(DownloadError, match=f"offers {len(content)} bytes where 100000 are published"):
        get(server, target)
    assert part_of(target).read_bytes() == CONTENT[:500]
    assert names(target) == {"data.bin.part"}


def test_a_login_page_does_not_cost_what_is_here(server: FileServer, target: Path) -> None:
    target.parent.mkdir()
    part_of(target).write_bytes(CONTENT[:500])
    server.plans["/data.bin"] = [answer(200, b"<html>Please log in</html>")]
    with pytest.raises(DownloadError, match="offers 26 bytes, fewer than the 500"):
        get(server, target, size=None)
    assert part_of(target).read_bytes() == CONTENT[:500]


def test_too_little_that_is_not_announced_is_kept(server: FileServer, target: Path) -> None:
    server.files["/data.bin"] = CONTENT[:-1]
    server.plans["/data.bin"] = [serve_without_length] * 9
    with pytest.raises(DownloadError, match="broke off"):
        get(server, target)
    assert names(target) == {"data.bin.part"}


def test_too_much_that_is_not_announced_is_not_waited_for(server: FileServer, target: Path) -> None:
    server.files["/data.bin"] = bytes(30_000_000)
    server.plans["/data.bin"] = [serve_without_length]
    with pytest.raises(DownloadError, match=r"bytes where 100000 are published\. It was removed"):
        get(server, target)
    assert names(target) == set()
    assert server.sent < 20_000_000


@pytest.mark.parametrize("place", ["ftp://127.0.0.1/data.bin", "file:///etc/hostname"])
def test_redirects_lead_to_the_web_only(server: FileServer, target: Path, place: str) -> None:
    server.plans["/data.bin"] = [answer(302, Location=place)]
    with pytest.raises(DownloadError, match="302"):
        get(server, target)
    assert names(target) == set()


@pytest.mark.parametrize("url", ["file:///etc/hostname", "ftp://127.0.0.1/a", "data:,a", "http://", "http://[", "a b"])
def test_only_web_addresses_are_fetched(target: Path, url: str) -> None:
    with pytest.raises(DownloadError, match="must begin with http"):
        fetch(url, target, progress=False, patience=HURRIED)
    assert names(target) == set()


def test_addresses_that_cannot_be_sent(server: FileServer, target: Path) -> None:
    for path in ("/a b", "/ä"):
        with pytest.raises(DownloadError, match="could not be fetched"):
            get(server, target, path)
    assert server.requests == []


def test_a_redirect_in_a_circle(server: FileServer, target: Path) -> None:
    server.plans["/data.bin"] = [answer(302, Location="/data.bin")] * 50
    with pytest.raises(DownloadError, match="302"):
        get(server, target)


def test_what_is_there_and_wrong_is_left_alone(server: FileServer, target: Path) -> None:
    target.parent.mkdir()
    target.write_bytes(CONTENT[:500])
    with pytest.raises(DataError, match=r"has 500 bytes where 100000 .* rename it to data\.bin\.part"):
        get(server, target)
    assert target.read_bytes() == CONTENT[:500]
    target.rename(part_of(target))
    get(server, target)
    assert target.read_bytes() == CONTENT


def test_a_full_disk_is_noticed_first(server: FileServer, target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = collections.namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10**6, 0, 99_000))
    with pytest.raises(DataError, match=r"takes 100\.0 kB more, and 99\.0 kB are free"):
        get(server, target)
    assert names(target) == set()
    part_of(target).write_bytes(CONTENT[:1500])
    get(server, target)  # what is missing fits
    assert target.read_bytes() == CONTENT


@pytest.mark.parametrize("checksum", ["md5", "md5:xyz", "md5:abc", "crc:00", "shake_128:00", ":", "md5:"])
def test_a_checksum_that_cannot_be_checked(server: FileServer, target: Path, checksum: str) -> None:
    with pytest.raises(DataError, match="no checksum that can be checked"):
        get(server, target, checksum=checksum)
    assert server.requests == []


@pytest.mark.parametrize("digits", [30, 400, 5000])
def test_lengths_beyond_measure_are_no_lengths(server: FileServer, target: Path, digits: int) -> None:
    """A server may tell what it likes; a traceback must not come of it."""
    huge = "9" * digits
    server.plans["/data.bin"] = [answer(200, CONTENT, Content_Length=huge)]
    get(server, target)
    assert target.read_bytes() == CONTENT
    other = target.with_name("other.bin")
    part_of(other).write_bytes(CONTENT[:500])
    server.plans["/data.bin"] = [answer(206, CONTENT[500:], Content_Range=f"bytes {huge}-{huge}/{huge}")]
    with pytest.raises(DownloadError, match="what follows byte 500 was asked for"):
        get(server, other)
    server.plans["/data.bin"] = [answer(200, CONTENT, Content_Length=huge)]
    assert fetch_bytes(f"{server.address}/data.bin", limit=100_000, progress=False, patience=HURRIED) == CONTENT


# --- in memory


def test_bytes(server: FileServer) -> None:
    address = f"{server.address}/data.bin"
    server.plans["/data.bin"] = [answer(500), break_off_after(9)]
    assert fetch_bytes(address, limit=100_000, progress=False, patience=HURRIED) == CONTENT
    with pytest.raises(DownloadError, match=r"more than 10\.0 kB"):
        fetch_bytes(address, limit=10_000, progress=False, patience=HURRIED)
