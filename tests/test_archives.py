"""Archives: good ones, broken ones, and ones that mean harm."""

from __future__ import annotations

import collections
import contextlib
import os
import random
import shutil
import signal
import stat
import struct
import subprocess
import sys
import textwrap
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from wilds_targeted.archives import Limits, unpack_zip
from wilds_targeted.errors import DataError

SOUND = random.Random(0).randbytes(20_000)


def write_zip(path: Path, *entries: str | zipfile.ZipInfo, method: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", method) as opened:
        for entry in entries:
            name = entry if isinstance(entry, str) else entry.filename
            opened.writestr(entry, b"" if name.endswith("/") else SOUND)
    return path


def unpack(archive: Path, **options: object) -> int:
    return unpack_zip(archive, archive.with_name("recordings"), progress=False, **options)  # type: ignore[arg-type]


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    (tmp_path / "inner").mkdir()
    return tmp_path / "inner" / "archive.zip"


# --- good ones


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_good_archive(archive: Path, method: int) -> None:
    write_zip(archive, "a.flac", "sub/", "sub/b.flac", "sub/deep/c.flac", "Ä ö.flac", method=method)
    assert unpack(archive) == 4
    folder = archive.with_name("recordings")
    assert tree(folder) == dict.fromkeys(["a.flac", "sub/b.flac", "sub/deep/c.flac", "Ä ö.flac"], SOUND)
    assert {path.name for path in archive.parent.iterdir()} == {"archive.zip", "recordings"}


def test_one_folder_of_the_same_name_is_that_folder(archive: Path) -> None:
    write_zip(archive, "recordings/", "recordings/a.flac", "__MACOSX/recordings/._a.flac")
    assert unpack(archive) == 1
    assert list(tree(archive.with_name("recordings"))) == ["a.flac"]


@pytest.mark.parametrize("names", [("recordings/a", "b"), ("recordings",), ("other/a", "other/b")])
def test_other_folders_stay(archive: Path, names: tuple[str, ...]) -> None:
    write_zip(archive, *names)
    unpack(archive)
    assert set(tree(archive.with_name("recordings"))) == set(names)


def test_the_bar_counts_bytes(
    archive: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    write_zip(archive, "a", "b")
    unpack_zip(archive, archive.with_name("recordings"))
    assert "unpacking archive.zip" in capsys.readouterr().err


def test_permissions_are_not_taken_over(archive: Path) -> None:
    program = zipfile.ZipInfo("a.sh")
    program.external_attr = (stat.S_IFREG | stat.S_ISUID | 0o777) << 16
    write_zip(archive, program)
    unpack(archive)
    assert archive.with_name("recordings").joinpath("a.sh").stat().st_mode & 0o7111 == 0


# --- hostile ones


def special(kind: int, name: str = "a") -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name)
    entry.external_attr = (kind | 0o644) << 16
    return entry


def raw(name: str) -> zipfile.ZipInfo:
    """An entry whose name is written as it is."""
    entry = zipfile.ZipInfo("a")
    entry.filename = name
    return entry


HOSTILE: dict[str, tuple[list[str | zipfile.ZipInfo], str]] = {
    "absolute": (["/tmp/a"], "absolute path"),
    "parent": (["../a"], r"'\.\.'"),
    "parent within": (["sub/../../a"], r"'\.\.'"),
    "parent at the end": (["sub/.."], r"'\.\.'"),
    "this folder": (["./a"], r"'\.'"),
    "empty part": (["sub//a"], "''"),
    "drive": (["C:/a"], "':'"),
    "stream": (["a:b"], "':'"),
    "backslashes": ([raw("..\\a")], "can't be a path"),
    "network share": ([raw("\\\\host\\a")], "can't be a path"),
    "newline": (["a\nb"], "can't be a path"),
    "dots and a space": (["a/.. /b"], "ends with a dot or a space"),
    "long name": (["x" * 300], "too long"),
    "link": ([special(stat.S_IFLNK)], "link"),
    "link to a folder": ([special(stat.S_IFLNK, "sub"), "sub/a"], "link"),
    "device": ([special(stat.S_IFCHR)], "device"),
    "pipe": ([special(stat.S_IFIFO)], "device"),
    "file as a folder": ([special(stat.S_IFDIR)], "link, a device or the like"),
    "same in other case": (["Sub/a", "sub/A"], "overwrite"),
    "same with another accent": (["\u00e9", "e\u0301"], "overwrite"),
    "file in a file": (["a", "a/b"], "overwrite"),
    "file over a folder": (["a/b", "A"], "overwrite"),
    "file over an empty folder": (["a/", "a"], "overwrite"),
    "hostile beside macOS's": (["a", "__MACOSX/../../b"], r"'\.\.'"),
    "nothing": ([], "no files"),
    "only macOS's": (["__MACOSX/a"], "no files"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_archive_is_refused(archive: Path, kind: str) -> None:
    entries, reason = HOSTILE[kind]
    # A good file first: it must not appear either.
    write_zip(archive, *(["good.flac", *entries] if "no files" not in reason else entries))
    check_refused(archive, reason)


def check_refused(archive: Path, reason: str, **options: object) -> None:
    with pytest.raises(DataError, match=reason) as caught:
        unpack(archive, **options)
    assert str(archive) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert list(archive.parent.iterdir()) == [archive]
    assert list(archive.parent.parent.iterdir()) == [archive.parent]


def patched(archive: Path, central: Callable[[bytearray, int], None], local: bool = True) -> None:
    """Change the first entry's header in the directory and, at the same fields, before its data."""
    content = bytearray(archive.read_bytes())
    central(content, content.index(b"PK\x01\x02") + 2)  # from the flags on, both headers have the same fields
    if local:
        central(content, 0)
    archive.write_bytes(content)


def test_two_entries_of_one_name(archive: Path) -> None:
    with pytest.warns(UserWarning, match="Duplicate"):
        write_zip(archive, "a", "b", "a")
    check_refused(archive, "overwrite")


def test_a_name_with_a_nul(archive: Path) -> None:
    """zipfile would cut it there, and show another name than the one that was checked."""
    write_zip(archive, "aXb")
    archive.write_bytes(archive.read_bytes().replace(b"aXb", b"a\0b"))
    check_refused(archive, "can't be a path")


def test_an_encrypted_entry(archive: Path) -> None:
    write_zip(archive, "a", "b")
    patched(archive, lambda content, at: struct.pack_into("<H", content, at + 6, 1))
    check_refused(archive, "its entry 'a' is encrypted")


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_methods_that_cannot_be_bounded(archive: Path, method: int) -> None:
    write_zip(archive, "a", method=method)
    check_refused(archive, f"method {method}")


@pytest.mark.parametrize("announced", [5, 19_999, 20_001])
@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_an_entry_of_another_size_than_announced(archive: Path, announced: int, method: int) -> None:
    write_zip(archive, "a", method=method)
    patched(archive, lambda content, at: struct.pack_into("<I", content, at + 22, announced))
    check_refused(archive, "no whole zip archive")


def test_wrong_bytes(archive: Path) -> None:
    write_zip(archive, "a", "b")
    content = bytearray(archive.read_bytes())
    content[content.index(SOUND) + 7] ^= 1
    archive.write_bytes(content)
    check_refused(archive, "Bad CRC-32")


def test_another_name_before_the_data_than_in_the_directory(archive: Path) -> None:
    write_zip(archive, "aXb")
    archive.write_bytes(archive.read_bytes().replace(b"aXb", b"/xy", 1))
    check_refused(archive, "differ")


@pytest.mark.parametrize("kept", [0.0, 0.3, 0.9, 0.999])
def test_a_truncated_archive(archive: Path, kept: float) -> None:
    write_zip(archive, "a", "b")
    archive.write_bytes(archive.read_bytes()[: int(kept * archive.stat().st_size)])
    check_refused(archive, "no whole zip archive")


def test_no_archive(archive: Path) -> None:
    archive.write_text("<html>Please log in</html>")
    check_refused(archive, "no whole zip archive")
    archive.unlink()
    with pytest.raises(DataError, match="no such file"):
        unpack(archive)


@pytest.mark.parametrize("seed", range(60))
def test_damage_anywhere_ends_in_an_error_or_in_the_right_files(archive: Path, seed: int) -> None:
    write_zip(archive, "a", "sub/b", method=zipfile.ZIP_DEFLATED)
    content = bytearray(archive.read_bytes())
    generator = random.Random(seed)
    directory = content.index(b"PK\x01\x02")
    for _ in range(3):  # mostly in the directory: data is guarded by its checksum
        content[generator.choice([generator.randrange(len(content)), generator.randrange(directory, len(content))])] = (
            generator.randrange(256)
        )
    archive.write_bytes(content)
    with contextlib.suppress(DataError):
        unpack(archive)
    folder = archive.with_name("recordings")
    assert set(tree(folder).values()) <= {SOUND}
    assert set(archive.parent.iterdir()) <= {archive, folder}
    assert list(archive.parent.parent.iterdir()) == [archive.parent]


# --- limits


def test_too_many_entries(archive: Path) -> None:
    write_zip(archive, "a", "b", "c")
    check_refused(archive, "3 entries, more than 2", limits=Limits(entries=2))


def test_too_many_bytes(archive: Path) -> None:
    write_zip(archive, "a", "b")
    check_refused(archive, r"40\.0 kB, more than 39\.0 kB", limits=Limits(total_bytes=39_000))


def test_a_bomb(archive: Path) -> None:
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as opened:
        opened.writestr("zeros", bytes(10_000_000))
    check_refused(archive, r"would come to 10\.0 MB")


def test_a_full_disk_is_noticed_first(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_zip(archive, "a", "b")
    usage = collections.namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10**6, 0, 39_999))
    with pytest.raises(DataError, match=r"unpacking archive\.zip takes 40\.0 kB more"):
        unpack(archive)
    assert list(archive.parent.iterdir()) == [archive]


# --- what is there


def test_a_folder_that_is_there_is_left_alone(archive: Path) -> None:
    write_zip(archive, "a")
    folder = archive.with_name("recordings")
    folder.mkdir()
    (folder / "mine").write_text("mine")
    with pytest.raises(DataError, match="there already"):
        unpack(archive)
    assert tree(folder) == {"mine": b"mine"}


PROGRAM = """
    import sys, time
    from pathlib import Path
    from wilds_targeted import archives
    unpack = archives._unpack
    def slowly(*arguments):
        unpack(*arguments)
        time.sleep(0.05)
    archives._unpack = slowly
    archives.unpack_zip(Path(sys.argv[1]), Path(sys.argv[2]))
"""


def test_a_killed_unpacking_is_done_again(archive: Path) -> None:
    names = [f"{number}.flac" for number in range(100)]
    write_zip(archive, *names)
    folder = archive.with_name("recordings")
    command = [sys.executable, "-c", textwrap.dedent(PROGRAM), archive, folder]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 15
        while len(tree(archive.parent)) < 5:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    assert not folder.exists()
    assert len(os.listdir(archive.parent)) == 2  # noqa: PTH208 - the archive and what the killed process left
    assert unpack(archive) == 100
    assert set(tree(folder)) == set(names)
    assert {path.name for path in archive.parent.iterdir()} == {"archive.zip", "recordings"}
