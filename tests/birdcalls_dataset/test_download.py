"""The records of Zenodo, from a server on this machine."""

from __future__ import annotations

import collections
import hashlib
import io
import json
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from file_server import FileServer, answer, break_off_after, hang, serving

from birdcalls_dataset import download
from birdcalls_dataset.cli import cli
from birdcalls_dataset.download import download_releases, known_files, published_files
from birdcalls_dataset.releases import ANNOTATIONS_FILE, AUDIO_ARCHIVE, RELEASES, SPECIES_FILE, Release
from wilds_targeted.downloads import Patience, part_of
from wilds_targeted.errors import DataError, DownloadError, RunError, WildsTargetedError
from wilds_targeted.files import locked

HURRIED = Patience(attempts=3, first_wait_s=0.001, longest_wait_s=0.01, timeout_s=0.3)
EXTRA = "recording_location.csv"


def md5(content: bytes) -> str:
    return hashlib.md5(content).hexdigest()


def archive_of(name: str) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as opened:
        for number in range(3):
            opened.writestr(f"{name}_{number}.flac", random.Random(f"{name}{number}").randbytes(5000))
    return content.getvalue()


class Zenodo:
    """A stand-in with small records in place of the real ones."""

    def __init__(self, server: FileServer) -> None:
        self.server = server
        self.address = server.address
        self.contents: dict[str, dict[str, bytes]] = {}
        self.releases: list[Release] = []
        for real in RELEASES:
            contents = {
                AUDIO_ARCHIVE: archive_of(real.prefix),
                ANNOTATIONS_FILE: f"annotations of {real.name}".encode(),
                SPECIES_FILE: f"species of {real.name}".encode(),
                EXTRA: f"locations of {real.name}".encode(),
            }
            known = {name: md5(contents[name]) for name in real.md5}
            self.contents[real.name] = contents
            self.releases.append(Release(real.name, real.record, real.prefix, real.region, known))
            for name, content in contents.items():
                server.files[self.file(real, name)] = content
                server.files[self.other_file(real, name)] = content
            self.publish(real, self.record(real))

    def file(self, release: Release, name: str) -> str:
        return f"/api/records/{release.record}/files/{name}/content"

    def other_file(self, release: Release, name: str) -> str:
        return f"/records/{release.record}/files/{name}?download=1"

    def listing(self, release: Release) -> str:
        return f"/api/records/{release.record}"

    def record(self, release: Release) -> dict[str, Any]:
        return {
            "id": release.record,
            "files": [
                {
                    "id": "0000",
                    "key": name,
                    "size": len(content),
                    "checksum": f"md5:{md5(content)}",
                    "links": {"self": self.address + self.file(release, name)},
                }
                for name, content in self.contents[release.name].items()
            ],
        }

    def publish(self, release: Release, record: Any) -> None:
        self.server.files[self.listing(release)] = json.dumps(record).encode()

    def asked_files(self) -> list[str]:
        return [path for path, _ in self.server.requests if "/files/" in path]


@pytest.fixture
def zenodo(monkeypatch: pytest.MonkeyPatch) -> Iterator[Zenodo]:
    monkeypatch.setenv("no_proxy", "*")
    with serving() as server:
        yield Zenodo(server)


def get(standin: Zenodo, out: Path, count: int = 1, **options: Any) -> list[Path]:
    options = {"zenodo": standin.address, "progress": False, "patience": HURRIED, **options}
    return download_releases(out, standin.releases[:count], **options)


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def expected(zenodo: Zenodo, release: Release) -> dict[str, bytes]:
    files = dict(zenodo.contents[release.name])
    with zipfile.ZipFile(io.BytesIO(files.pop(AUDIO_ARCHIVE))) as opened:
        files |= {f"soundscape_data/{name}": opened.read(name) for name in opened.namelist()}
    return files


def check_complete(zenodo: Zenodo, out: Path, count: int = 1) -> None:
    for release in zenodo.releases[:count]:
        assert tree(out / release.name) == expected(zenodo, release)


# --- when all is well


def test_three_releases(zenodo: Zenodo, tmp_path: Path) -> None:
    assert get(zenodo, tmp_path, 3, zenodo=zenodo.address + "/") == [
        tmp_path / name for name in ("hawaii", "amazon", "northeast")
    ]
    check_complete(zenodo, tmp_path, 3)
    assert len(zenodo.asked_files()) == 12


def test_the_second_call_fetches_nothing(zenodo: Zenodo, tmp_path: Path) -> None:
    get(zenodo, tmp_path)
    zenodo.server.requests.clear()
    get(zenodo, tmp_path)
    assert zenodo.asked_files() == []
    check_complete(zenodo, tmp_path)


def test_archives_can_be_kept(zenodo: Zenodo, tmp_path: Path) -> None:
    get(zenodo, tmp_path, keep_archives=True)
    hawaii = zenodo.releases[0]
    archive = {AUDIO_ARCHIVE: zenodo.contents["hawaii"][AUDIO_ARCHIVE]}
    assert tree(tmp_path / "hawaii") == expected(zenodo, hawaii) | archive
    get(zenodo, tmp_path)  # what was not unpacked by this call is not removed by it
    assert (tmp_path / "hawaii" / AUDIO_ARCHIVE).exists()


@pytest.mark.parametrize("keep", [False, True])
def test_an_archive_that_an_interrupted_call_left_is_told(
    zenodo: Zenodo, tmp_path: Path, capsys: pytest.CaptureFixture[str], keep: bool
) -> None:
    get(zenodo, tmp_path)
    archive = tmp_path / "hawaii" / AUDIO_ARCHIVE
    archive.write_bytes(zenodo.contents["hawaii"][AUDIO_ARCHIVE])
    get(zenodo, tmp_path, progress=True, keep_archives=keep)
    told = f"{archive}: is not needed beside it; remove it to free 15." in capsys.readouterr().err
    assert told == (not keep)


def test_the_archive_comes_last(zenodo: Zenodo, tmp_path: Path) -> None:
    get(zenodo, tmp_path)
    assert AUDIO_ARCHIVE in zenodo.asked_files()[-1]


def test_the_real_releases_can_be_asked_for_without_their_records() -> None:
    for release in RELEASES:
        files = {file.name: file for file in known_files(release)}
        assert {ANNOTATIONS_FILE, AUDIO_ARCHIVE} <= set(files)
        assert files[ANNOTATIONS_FILE].url == f"{release.page}/files/annotations.csv?download=1"


# --- the network fails


def test_a_broken_connection_goes_on(zenodo: Zenodo, tmp_path: Path) -> None:
    path = zenodo.file(zenodo.releases[0], AUDIO_ARCHIVE)
    zenodo.server.plans[path] = [break_off_after(4000)]
    get(zenodo, tmp_path)
    check_complete(zenodo, tmp_path)
    assert [headers.get("Range") for headers in zenodo.server.headers_of(path)] == [None, "bytes=4000-"]


@pytest.mark.parametrize("failure", [hang, answer(503), answer(404)])
def test_the_message_says_what_is_done_what_is_missing_and_what_to_type(
    zenodo: Zenodo, tmp_path: Path, failure: Any
) -> None:
    amazon = zenodo.releases[1]
    path = zenodo.file(amazon, AUDIO_ARCHIVE)
    zenodo.server.plans[path] = [break_off_after(4000)] + [failure] * 9
    out = tmp_path / "my recordings"
    with pytest.raises(DownloadError) as caught:
        get(zenodo, out, 3)
    message = str(caught.value)
    assert "\n" not in message
    assert re.search(rf"{re.escape(path)} could not be fetched: (timed out|the server answered)", message)
    assert "Done: hawaii/soundscape_data.zip, hawaii/annotations.csv" in message
    assert "amazon/annotations.csv" in message.partition("Missing")[0]
    assert "Missing: amazon/soundscape_data.zip, northeast/annotations.csv, northeast/soundscape_data.zip." in message
    assert f"(from {amazon.page} into {out}/amazon, from {RELEASES[2].page} into {out}/northeast)" in message
    lines = [shlex.split(line) for line in caught.value.__notes__[0].splitlines()]
    assert lines[0] == ["curl", *"-fL -C - -o".split(), f"{out}/amazon/soundscape_data.zip.part", zenodo.address + path]
    assert len(lines) == 3
    # Nothing half-written has its final name, and what is there is kept.
    assert set(tree(out / "amazon")) == {ANNOTATIONS_FILE, SPECIES_FILE, EXTRA} | {
        f"{AUDIO_ARCHIVE}.part",
        f"{AUDIO_ARCHIVE}.part.json",
    }
    assert tree(out / "northeast") == {}


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_lines_to_type_work(zenodo: Zenodo, tmp_path: Path) -> None:
    path = zenodo.file(zenodo.releases[0], AUDIO_ARCHIVE)
    zenodo.server.plans[path] = [break_off_after(4000), answer(404)]
    with pytest.raises(DownloadError) as caught:
        get(zenodo, tmp_path, 3)
    for line in caught.value.__notes__[0].splitlines():
        subprocess.run(shlex.split(line), check=True, capture_output=True, env={**os.environ, "no_proxy": "*"})
    assert zenodo.server.headers_of(path)[-1]["Range"] == "bytes=4000-"
    zenodo.server.requests.clear()
    get(zenodo, tmp_path, 3)
    check_complete(zenodo, tmp_path, 3)
    assert not [path for path in zenodo.asked_files() if AUDIO_ARCHIVE in path]


def test_files_from_a_browser_are_verified_and_unpacked_without_a_network(zenodo: Zenodo, tmp_path: Path) -> None:
    hawaii = zenodo.releases[0]
    (tmp_path / "hawaii").mkdir()
    for name, content in zenodo.contents["hawaii"].items():
        (tmp_path / "hawaii" / name).write_bytes(content)
    with serving() as gone:
        pass
    get(zenodo, tmp_path, zenodo=gone.address)
    assert tree(tmp_path / "hawaii") == expected(zenodo, hawaii)


def test_a_broken_file_from_a_browser(zenodo: Zenodo, tmp_path: Path) -> None:
    (tmp_path / "hawaii").mkdir()
    archive = tmp_path / "hawaii" / AUDIO_ARCHIVE
    archive.write_bytes(zenodo.contents["hawaii"][AUDIO_ARCHIVE][:-1])
    with pytest.raises(DataError, match=r"bytes where .* are published\. Remove it"):
        get(zenodo, tmp_path)
    assert archive.exists()
    assert not (tmp_path / "hawaii" / "soundscape_data").exists()


@pytest.mark.parametrize("failure", [answer(500), answer(404), hang])
def test_without_the_record_the_known_files_are_fetched(
    zenodo: Zenodo, tmp_path: Path, failure: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    amazon = zenodo.releases[1]
    zenodo.server.plans[zenodo.listing(amazon)] = [failure] * 9
    get(zenodo, tmp_path, 2, progress=True)
    whole = expected(zenodo, amazon)
    assert tree(tmp_path / "amazon") == {name: whole[name] for name in whole if name not in (SPECIES_FILE, EXTRA)}
    told = capsys.readouterr().err
    assert f"whose checksums are known: {ANNOTATIONS_FILE}, {AUDIO_ARCHIVE}. The others are at {amazon.page}" in told
    check_complete(zenodo, tmp_path, 1)


def test_the_record_is_not_waited_for_as_long_as_a_file(zenodo: Zenodo, tmp_path: Path) -> None:
    listing = zenodo.listing(zenodo.releases[0])
    zenodo.server.plans[listing] = [answer(500)] * 9
    get(zenodo, tmp_path, patience=Patience(attempts=9, first_wait_s=0.001, longest_wait_s=0.001))
    assert len(zenodo.server.headers_of(listing)) == 3


def test_without_the_record_and_without_known_files(zenodo: Zenodo, tmp_path: Path) -> None:
    unknown = Release("hawaii", 1, "UHH", "Hawaii")
    with pytest.raises(DownloadError, match="/api/records/1 could not be fetched: the server answered 404"):
        download_releases(tmp_path, [unknown], zenodo=zenodo.address, progress=False, patience=HURRIED)


# --- what arrives is wrong


def test_wrong_bytes(zenodo: Zenodo, tmp_path: Path) -> None:
    path = zenodo.file(zenodo.releases[0], AUDIO_ARCHIVE)
    content = zenodo.server.files[path]
    zenodo.server.files[path] = bytes([content[0] ^ 1]) + content[1:]
    with pytest.raises(DownloadError, match=r"has the md5 .* It was removed.* Done: .*Missing: hawaii/soundscape"):
        get(zenodo, tmp_path)
    assert set(tree(tmp_path / "hawaii")) == {ANNOTATIONS_FILE, SPECIES_FILE, EXTRA}


def test_a_wrong_size(zenodo: Zenodo, tmp_path: Path) -> None:
    zenodo.server.files[zenodo.file(zenodo.releases[0], ANNOTATIONS_FILE)] += b"more"
    with pytest.raises(DownloadError, match="offers 25 bytes where 21 are published"):
        get(zenodo, tmp_path)
    assert tree(tmp_path / "hawaii") == {}


def test_an_archive_that_is_published_broken(zenodo: Zenodo, tmp_path: Path) -> None:
    hawaii = Release("hawaii", RELEASES[0].record, "UHH", "Hawaii")
    zenodo.contents["hawaii"][AUDIO_ARCHIVE] = content = b"no archive"
    zenodo.server.files[zenodo.file(hawaii, AUDIO_ARCHIVE)] = content
    zenodo.publish(hawaii, zenodo.record(hawaii))
    with pytest.raises(DataError, match="no whole zip archive"):
        download_releases(tmp_path, [hawaii], zenodo=zenodo.address, progress=False, patience=HURRIED)
    assert set(tree(tmp_path / "hawaii")) == {ANNOTATIONS_FILE, SPECIES_FILE, EXTRA, AUDIO_ARCHIVE}


NO_RECORDS = {
    "login page": b"<html>Please log in</html>",
    "nothing": b"",
    "half of it": b'{"files": [',
    "no text": b"\xff\xfe",
    "nested": b"[" * 100_000,
    "endless number": b'{"files": ' + b"9" * 5000 + b"}",
}


@pytest.mark.parametrize("kind", NO_RECORDS)
def test_an_answer_that_is_no_record(
    zenodo: Zenodo, tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The files that are known are fetched; what is there needs no network."""
    zenodo.server.files[zenodo.listing(zenodo.releases[0])] = NO_RECORDS[kind]
    get(zenodo, tmp_path, progress=True)
    assert set(expected(zenodo, zenodo.releases[0])) - set(tree(tmp_path / "hawaii")) == {EXTRA}
    assert re.search(r"did not answer with a record: .*login page.* Going on with", capsys.readouterr().err)
    zenodo.server.requests.clear()
    get(zenodo, tmp_path)
    assert zenodo.asked_files() == []


def test_a_login_page_for_everything(zenodo: Zenodo, tmp_path: Path) -> None:
    """What could not be looked at yet is not said to be done."""
    for path in zenodo.server.files:
        zenodo.server.files[path] = b"<html>Please log in</html>"
    (tmp_path / "amazon").mkdir()
    (tmp_path / "amazon" / ANNOTATIONS_FILE).write_bytes(b"from who knows where")
    with pytest.raises(DownloadError) as caught:
        get(zenodo, tmp_path, 2)
    text = "Done: nothing yet. There, but not looked at yet: amazon/annotations.csv. Missing: hawaii/annotations.csv"
    assert text in str(caught.value)
    assert len(caught.value.__notes__[0].splitlines()) == 4


@pytest.mark.usefixtures("shown_releases")
def test_nothing_is_known_to_be_missing(zenodo: Zenodo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unknown = Release("hawaii", 1, "UHH", "Hawaii")
    monkeypatch.setattr("birdcalls_dataset.cli.download.RELEASES", (unknown,))
    zenodo.server.files[zenodo.listing(unknown)] = b"<html>Please log in</html>"
    result = call("--out", tmp_path, "--zenodo", zenodo.address)
    assert isinstance(result.exception, DownloadError)
    assert str(result.exception).endswith("Done: nothing yet. Type the same command again to go on.")


@pytest.mark.parametrize("record", [None, [], "files", {}, {"files": None}, {"files": {}}])
def test_a_record_without_files(zenodo: Zenodo, tmp_path: Path, record: Any) -> None:
    zenodo.publish(zenodo.releases[0], record)
    with pytest.raises(DataError, match="without a list of files"):
        get(zenodo, tmp_path)


WRONG_FIELDS = {
    "path": ({"key": "../annotations.csv"}, "can't be a file's name"),
    "absolute": ({"key": "/tmp/a"}, "can't be a file's name"),
    "backslash": ({"key": "..\\a"}, "can't be a file's name"),
    "hidden": ({"key": ".bashrc"}, "can't be a file's name"),
    "empty": ({"key": ""}, "can't be a file's name"),
    "number as name": ({"key": 3}, "is no text"),
    "same in other case": ({"key": "Annotations.CSV"}, "twice"),
    "negative size": ({"size": -1}, "no number of bytes"),
    "size beyond measure": ({"size": 10**400}, "no number of bytes"),
    "size as text": ({"size": "12"}, "no number of bytes"),
    "true as size": ({"size": True}, "no number of bytes"),
    "no checksum": ({"checksum": None}, "is no text"),
    "unknown checksum": ({"checksum": "crc:00"}, "no checksum"),
    "short checksum": ({"checksum": "md5:00"}, "no checksum"),
    "no link": ({"links": {}}, "without key, size, checksum or link"),
    "link of another kind": ({"links": {"self": ["http://a"]}}, "is no text"),
    "local link": ({"links": {"self": "file:///etc/hostname"}}, "no web address"),
}


@pytest.mark.parametrize("kind", WRONG_FIELDS)
def test_a_record_with_a_wrong_field(zenodo: Zenodo, tmp_path: Path, kind: str) -> None:
    fields, reason = WRONG_FIELDS[kind]
    record = zenodo.record(zenodo.releases[0])
    record["files"][-1] |= fields
    zenodo.publish(zenodo.releases[0], record)
    with pytest.raises(DataError, match=reason) as caught:
        get(zenodo, tmp_path / "out")
    assert "\n" not in str(caught.value)
    assert zenodo.asked_files() == []
    assert tree(tmp_path) == {}


def test_a_record_with_an_entry_of_another_kind(zenodo: Zenodo, tmp_path: Path) -> None:
    record = zenodo.record(zenodo.releases[0])
    record["files"].append("annotations.csv")
    zenodo.publish(zenodo.releases[0], record)
    with pytest.raises(DataError, match="without key, size, checksum or link"):
        get(zenodo, tmp_path)


def test_a_record_that_does_not_agree_with_what_is_known(zenodo: Zenodo, tmp_path: Path) -> None:
    hawaii = zenodo.releases[0]
    replaced = b"replaced"
    zenodo.contents["hawaii"][ANNOTATIONS_FILE] = replaced
    zenodo.publish(hawaii, zenodo.record(hawaii))
    with pytest.raises(DataError, match=f"md5:{md5(replaced)}, and md5:{hawaii.md5[ANNOTATIONS_FILE]} is known"):
        get(zenodo, tmp_path)
    assert zenodo.asked_files() == []


def test_a_record_that_lacks_a_file(zenodo: Zenodo, tmp_path: Path) -> None:
    del zenodo.contents["hawaii"][AUDIO_ARCHIVE]
    zenodo.publish(zenodo.releases[0], zenodo.record(zenodo.releases[0]))
    with pytest.raises(DataError, match=f"does not list {AUDIO_ARCHIVE}; it lists {ANNOTATIONS_FILE}"):
        get(zenodo, tmp_path)


def test_an_endless_record(zenodo: Zenodo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "LARGEST_RECORD", 100)
    hawaii = zenodo.releases[0]
    assert published_files(hawaii, zenodo.address, progress=False) == known_files(hawaii, zenodo.address)


# --- here


def test_room_for_the_recordings_twice_is_demanded_first(
    zenodo: Zenodo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = len(zenodo.contents["hawaii"][AUDIO_ARCHIVE])
    usage = collections.namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10**9, 0, 2 * size - 100))
    with pytest.raises(DataError, match=r"fetching and unpacking soundscape_data\.zip takes"):
        get(zenodo, tmp_path)
    assert not [path for path in zenodo.asked_files() if AUDIO_ARCHIVE in path]
    part_of(tmp_path / "hawaii" / AUDIO_ARCHIVE).write_bytes(zenodo.contents["hawaii"][AUDIO_ARCHIVE][:100])
    get(zenodo, tmp_path)
    check_complete(zenodo, tmp_path)


def test_recordings_that_are_there_are_taken_as_they_are(
    zenodo: Zenodo, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    audio = tmp_path / "hawaii" / "soundscape_data"
    audio.mkdir(parents=True)
    (audio / "mine.flac").write_text("mine")
    get(zenodo, tmp_path, progress=True)
    assert tree(audio) == {"mine.flac": b"mine"}
    assert f"{audio}: is there, and is taken as it is" in capsys.readouterr().err


def test_two_downloads_do_not_share_a_folder(zenodo: Zenodo, tmp_path: Path) -> None:
    (tmp_path / "hawaii").mkdir()
    with locked(tmp_path / "hawaii"), pytest.raises(RunError, match="hawaii: another run"):
        get(zenodo, tmp_path)
    assert zenodo.server.requests == []


@pytest.mark.parametrize("address", ["zenodo.org", "file:///etc", "", "http://"])
def test_an_address_that_cannot_be_zenodos(tmp_path: Path, address: str) -> None:
    with pytest.raises(DataError, match="must begin with http"):
        download_releases(tmp_path, zenodo=address)
    assert list(tmp_path.iterdir()) == []


# --- the command


def call(*words: object) -> Any:
    return CliRunner().invoke(cli, ["download", *map(str, words)])


@pytest.fixture
def shown_releases(zenodo: Zenodo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("birdcalls_dataset.cli.download.RELEASES", tuple(zenodo.releases))


@pytest.mark.usefixtures("shown_releases")
def test_the_command_says_what_comes_next(zenodo: Zenodo, tmp_path: Path) -> None:
    result = call(
        "--out", tmp_path, "--zenodo", zenodo.address, "--release", "amazon", "--release", "hawaii", "--keep-archive"
    )
    assert result.exit_code == 0, result.output
    assert f"build --recordings {tmp_path}/hawaii --recordings {tmp_path}/amazon --out data" in result.output
    assert {path.name for path in tmp_path.iterdir()} == {"hawaii", "amazon"}
    assert (tmp_path / "amazon" / AUDIO_ARCHIVE).exists()


@pytest.mark.usefixtures("shown_releases")
def test_the_command_shows_the_lines_to_type(zenodo: Zenodo, tmp_path: Path) -> None:
    zenodo.server.files.clear()
    result = call("--out", tmp_path, "--zenodo", zenodo.address + "/")
    assert isinstance(result.exception, WildsTargetedError)
    lines = [line for line in result.output.splitlines() if line.startswith("curl")]
    known = sum(len(release.md5) for release in RELEASES)
    assert len(lines) == known
    assert shlex.split(lines[-1])[-2:] == [
        f"{tmp_path}/northeast/soundscape_data.zip.part",
        f"{zenodo.address}/records/7079380/files/soundscape_data.zip?download=1",
    ]


def test_the_command_refuses_other_releases(tmp_path: Path) -> None:
    result = call("--out", tmp_path, "--release", "sahara")
    assert result.exit_code == 2
    assert "'hawaii', 'amazon', 'northeast'" in result.output


def test_a_failure_is_one_line_and_lines_to_type(zenodo: Zenodo, tmp_path: Path) -> None:
    """The whole program, with the real releases and a server that has none of them."""
    zenodo.server.files.clear()
    command = [sys.executable, "-m", "birdcalls_dataset", "download", "--zenodo", zenodo.address, "--out", "recordings"]
    finished = subprocess.run(
        command, capture_output=True, text=True, cwd=tmp_path, env={**os.environ, "no_proxy": "*"}
    )
    assert finished.returncode == 1
    assert "Traceback" not in finished.stderr
    *_, last = finished.stderr.splitlines()
    assert last.startswith("birdcalls_dataset: error: ")
    assert "Missing: hawaii/annotations.csv, hawaii/soundscape_data.zip" in last
    assert sum(line.startswith("curl -fL -C - -o recordings/") for line in finished.stderr.splitlines()) == 7
    assert tree(tmp_path) == {}


def test_the_command_imports_what_it_needs_when_it_is_called() -> None:
    program = "import sys, birdcalls_dataset.cli.download; print('birdcalls_dataset.download' in sys.modules)"
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert finished.stdout == "False\n"
