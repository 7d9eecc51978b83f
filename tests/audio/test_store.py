"""Kept spectrograms: what was written comes back, anything else counts as absent."""

from __future__ import annotations

import multiprocessing
import stat
from pathlib import Path

import numpy as np
import pytest

from wilds_targeted.audio.store import SpectrogramStore

ROWS = 20


def spectrogram(row: int, frames: int = 313) -> np.ndarray:
    return np.random.default_rng(row).integers(0, 256, (128, frames), dtype=np.uint8)


@pytest.fixture
def store(tmp_path: Path) -> SpectrogramStore:
    store = SpectrogramStore(tmp_path / "deep" / "kept.bin", ROWS)
    store.prepare()
    return store


def test_keeps_what_was_put(store: SpectrogramStore) -> None:
    assert store.get(3) is None
    store.put(3, spectrogram(3))
    store.put(19, spectrogram(19, frames=100))
    assert np.array_equal(store.get(3), spectrogram(3))
    assert np.array_equal(store.get(19), spectrogram(19, frames=100))
    assert [row for row in range(ROWS) if store.get(row) is not None] == [3, 19]


@pytest.mark.parametrize("place", [0, 4, 6, 1000, 40_069])
def test_a_changed_byte_is_noticed(store: SpectrogramStore, place: int) -> None:
    store.put(0, spectrogram(0))
    store.put(1, spectrogram(1))
    content = bytearray(store.path.read_bytes())
    content[place] ^= 1
    store.path.write_bytes(content)
    assert store.get(0) is None
    assert np.array_equal(store.get(1), spectrogram(1))
    store.put(0, spectrogram(0))
    assert np.array_equal(store.get(0), spectrogram(0)), "mended by the next one who computes it"


def test_a_record_in_anothers_place_is_noticed(store: SpectrogramStore) -> None:
    store.put(0, spectrogram(0))
    content = store.path.read_bytes()
    size = len(content) // ROWS
    store.path.write_bytes(content[:size] * ROWS)
    assert [row for row in range(ROWS) if store.get(row) is not None] == [0]


def test_a_truncated_file_is_filled_again(store: SpectrogramStore) -> None:
    for row in range(ROWS):
        store.put(row, spectrogram(row))
    content = store.path.read_bytes()
    store.path.write_bytes(content[: len(content) // 2 + 77])
    kept = [row for row in range(ROWS) if store.get(row) is not None]
    assert kept == list(range(ROWS // 2))
    store.put(15, spectrogram(15))
    assert np.array_equal(store.get(15), spectrogram(15))


def test_what_does_not_fit_is_not_kept(store: SpectrogramStore) -> None:
    store.put(0, spectrogram(0, frames=400))
    assert store.get(0) is None


def _fill(path: Path) -> None:
    store = SpectrogramStore(path, ROWS)
    store.prepare()
    for row in range(ROWS):
        store.put(row, spectrogram(row))
        assert store.get(row) is None or np.array_equal(store.get(row), spectrogram(row))


def test_processes_share_it(store: SpectrogramStore) -> None:
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=_fill, args=(store.path,)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0, 0, 0]
    assert all(np.array_equal(store.get(row), spectrogram(row)) for row in range(ROWS))


def test_a_disk_that_refuses_is_told_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    store = SpectrogramStore(tmp_path / "file" / "kept.bin", ROWS)
    store.prepare()
    store.put(0, spectrogram(0))
    store.put(1, spectrogram(1))
    told = capsys.readouterr().err
    assert told.count("can't be kept") == 1
    assert "WILDS_TARGETED_CACHE" in told
    assert not stat.S_ISDIR((tmp_path / "file").stat().st_mode)
