"""Whole files, and where this tool keeps things."""

from __future__ import annotations

from pathlib import Path

import pytest

from wilds_targeted.files import cache_folder, written_whole


def test_the_file_appears_when_it_is_whole(tmp_path: Path) -> None:
    target = tmp_path / "folder" / "picture.png"
    with written_whole(target) as arriving:
        arriving.write_text("new")
        assert arriving.suffix == ".png"
        assert not target.exists()
    assert target.read_text() == "new"
    assert list(target.parent.iterdir()) == [target]


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "picture.png"
    target.write_text("old")

    def fail() -> None:
        with written_whole(target) as arriving:
            arriving.write_text("half of")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_the_cache_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert cache_folder({"WILDS_TARGETED_CACHE": "/a", "XDG_CACHE_HOME": "/b"}) == Path("/a")
    assert cache_folder({"XDG_CACHE_HOME": "/b"}) == Path("/b/wilds-targeted")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder({}) == tmp_path / ".cache" / "wilds-targeted"

    def expanduser(path: Path) -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "expanduser", expanduser)
    assert cache_folder({}).name == "wilds-targeted"
