"""Whatever is wrong with recordings and annotations is told in one line with file and row, and stops a strict build."""

from __future__ import annotations

import io
import os
import shutil
import time
from pathlib import Path

import numpy as np
import pytest
import soundfile
from handmade import HEADER, Row, write_annotations, write_recording
from tqdm import tqdm

from birdcalls_dataset.build import Rules, build_birdcalls, pipeline
from birdcalls_dataset.build.annotations import Call
from birdcalls_dataset.build.calls import fitting_calls
from birdcalls_dataset.build.problems import Kind, Problems
from birdcalls_dataset.build.recordings import Recording
from birdcalls_dataset.table import read_table
from wilds_targeted.errors import DataError

NAME = "UHH_001_S01_a.flac"
RULES = Rules(min_per_class=1, test_microphones=0)
GOOD: Row = (NAME, 1, 2, 2000, 4000, "apapan")

Clips = dict[int, str]


def build(folder: Path, **keywords: object) -> tuple[Clips, list[str]]:
    """The species of each clip by its start, and the problems without the folder before them."""
    lines: list[str] = []
    built = build_birdcalls([folder], folder.parent / "data", report=lines.append, **{"rules": RULES, **keywords})
    table = read_table(built / "combined.csv")
    clips = {int(start): species for start, species in zip(table["start_s"], table["Species eBird Code"], strict=True)}
    return clips, [line.removeprefix(f"{folder}/") for line in lines if line.startswith(str(folder))]


ROWS: dict[str, tuple[Row, Kind, str, Clips]] = {
    # The second row, its kind of problem, what is said of it, and the clips of a recording of 20 s: the first row
    # makes the first one.
    "a bird that nobody could tell": (
        (NAME, 6, 7, 2000, 4000, "????"),
        Kind.UNKNOWN_CODE,
        f"'????' in {NAME}",
        {0: "apapan", 10: "empty", 15: "empty"},
    ),
    "a species called empty": (
        (NAME, 6, 7, 2000, 4000, "empty"),
        Kind.UNKNOWN_CODE,
        f"'empty' in {NAME}",
        {0: "apapan", 10: "empty", 15: "empty"},
    ),
    "overlap": (
        (NAME, 1.5, 7, 3000, 5000, "apapan"),
        Kind.OVERLAP,
        f"overlaps with row 2 ({NAME})",
        {0: "apapan", 5: "apapan", 10: "empty", 15: "empty"},
    ),
    "repetition": (
        GOOD,
        Kind.OVERLAP,
        f"repeats row 2; counted once ({NAME})",
        {0: "apapan", 5: "empty", 10: "empty", 15: "empty"},
    ),
    "a time that is none": (
        (NAME, "six", 7, 2000, 4000, "apapan"),
        Kind.NOT_A_NUMBER,
        f"Start Time (s) 'six' in {NAME}",
        {0: "apapan", 5: "empty", 10: "empty", 15: "empty"},
    ),
    "a frequency that is none": (
        (NAME, 6, 7, "", "nan", "apapan"),
        Kind.NOT_A_NUMBER,
        f"Low Freq (Hz) '', High Freq (Hz) 'nan' in {NAME}",
        {0: "apapan", 10: "empty", 15: "empty"},  # something calls in the second chunk: it is no empty one
    ),
    "frequencies in the wrong order": (
        (NAME, 6, 7, 4000, 2000, "apapan"),
        Kind.BAD_FREQUENCIES,
        f"from 4000 Hz to 2000 Hz in {NAME}; chunks with this call are left out",
        {0: "apapan", 10: "empty", 15: "empty"},
    ),
    "frequencies that the recording can't hold": (
        (NAME, 6, 7, 16000, 20000, "apapan"),
        Kind.BAD_FREQUENCIES,
        f"from 16000 Hz to 20000 Hz in {NAME}; chunks with this call are left out",
        {0: "apapan", 10: "empty", 15: "empty"},
    ),
    "times in the wrong order": (
        (NAME, 7, 6, 2000, 4000, "apapan"),
        Kind.BAD_TIMES,
        f"from 7 s to 6 s in {NAME}; ignored",
        {0: "apapan", 5: "empty", 10: "empty", 15: "empty"},
    ),
    "a start before the start": (
        (NAME, -1, 0.5, 2000, 4000, "omao"),
        Kind.BAD_TIMES,
        f"from -1 s to 0.5 s in {NAME}; taken from its start",
        {5: "empty", 10: "empty", 15: "empty"},
    ),
    "an end past the end": (
        (NAME, 16, 25, 2000, 4000, "apapan"),
        Kind.PAST_END,
        f"from 16 s to 25 s in {NAME}, which ends at 20 s; clipped",
        {0: "apapan", 5: "empty", 10: "empty", 15: "apapan"},
    ),
    "wholly past the end": (
        (NAME, 20, 25, 2000, 4000, "apapan"),
        Kind.PAST_END,
        f"from 20 s to 25 s in {NAME}, which ends at 20 s; ignored",
        {0: "apapan", 5: "empty", 10: "empty", 15: "empty"},
    ),
    "no such recording": (
        ("UHH_009_S01_a.flac", 1, 2, 2000, 4000, "apapan"),
        Kind.NO_RECORDING,
        "'UHH_009_S01_a.flac', named by 1 row from here on, is not in {folder}",
        {0: "apapan", 5: "empty", 10: "empty", 15: "empty"},
    ),
}


@pytest.mark.parametrize("case", ROWS)
def test_a_row_with_a_problem(case: str, tmp_path: Path) -> None:
    row, kind, text, expected = ROWS[case]
    rows = [GOOD, row]
    if case == "a start before the start":  # two species in the first chunk leave nothing else to build from
        rows.append((NAME, 16, 17, 2000, 4000, "apapan"))
        expected = {**expected, 15: "apapan"}
    folder = write_annotations(tmp_path / "rec", rows)
    write_recording(folder / NAME, 20)
    with pytest.raises(DataError) as error:
        build(folder, strict=True)
    line = f"annotations.csv, row 3: {kind}: {text.format(folder=folder)}"
    assert str(error.value) == f"{folder}/{line} (--strict stops here)."
    assert not (tmp_path / "data").exists()
    assert build(folder) == (expected, [line])


def test_codes_that_the_release_does_not_list(tmp_path: Path) -> None:
    folder = write_annotations(tmp_path / "rec", [GOOD, (NAME, 6, 7, 2000, 4000, "apapam")])
    (folder / "species.csv").write_text("Common Name,Species eBird Code\nApapane,apapan\n")
    write_recording(folder / NAME, 20)
    clips, lines = build(folder)
    assert clips == {0: "apapan", 10: "empty", 15: "empty"}
    expected = f"annotations.csv, row 3: unknown code: 'apapam' in {NAME} (did you mean 'apapan'?)"
    assert lines == [expected]


def test_recordings_with_problems_are_left_out(tmp_path: Path) -> None:
    others = {
        "UHH_002_S01_rate.flac": f"{Kind.WRONG_RATE}: 16000 Hz where 32000 Hz are expected (--sample-rate); left out",
        "UHH_003_S01_stereo.wav": f"{Kind.CHANNELS}: 2 channels; left out",
        "UHH_004_S01_broken.flac": f"{Kind.UNREADABLE}: ",
        "UHH_005_S01_endless.flac": f"{Kind.UNREADABLE}: its header tells no length; left out",
        "unnamed.flac": f"{Kind.NO_MICROPHONE}: the file's name does not fit --microphone-pattern; left out",
    }
    folder = write_annotations(tmp_path / "rec", [GOOD, *((name, 1, 2, 2000, 4000, "omao") for name in others)])
    write_recording(folder / NAME, 10)
    write_recording(folder / "UHH_002_S01_rate.flac", 10, rate=16000)
    soundfile.write(str(folder / "UHH_003_S01_stereo.wav"), np.zeros((320_000, 2)), 32_000)
    (folder / "UHH_004_S01_broken.flac").write_bytes(b"fLaC and no more")
    endless = bytearray(write_recording(folder / "UHH_005_S01_endless.flac", 10).read_bytes())
    endless[21] &= 0xF0
    endless[22:26] = bytes(4)  # how many samples there are: nobody knows
    (folder / "UHH_005_S01_endless.flac").write_bytes(endless)
    write_recording(folder / "unnamed.flac", 10)
    write_recording(folder / "UHH_006_S01_nobody.flac", 10)
    (folder / "._UHH_001_S01_a.flac").write_bytes(b"what another system keeps beside a file")
    clips, lines = build(folder)
    assert clips == {0: "apapan", 5: "empty"}
    others["UHH_006_S01_nobody.flac"] = (
        f"{Kind.NO_ANNOTATION}: no row of {folder / 'annotations.csv'} names it; left out"
    )
    assert len(lines) == len(others)
    for line, (name, expected) in zip(lines, sorted(others.items()), strict=True):
        assert line.startswith(f"{name}: {expected}")


def test_recordings_without_calls_can_be_taken_as_empty(tmp_path: Path) -> None:
    folder = write_annotations(tmp_path / "rec", [GOOD])
    write_recording(folder / NAME, 5)
    write_recording(folder / "UHH_002_S01_b.flac", 15)
    rules = Rules(min_per_class=1, test_microphones=0, unannotated="empty")
    _, lines = build(folder, rules=rules, strict=True)
    assert not lines
    table = read_table(tmp_path / "data" / "birdcalls_v1.0" / "combined.csv")
    assert list(table["Species eBird Code"]) == ["apapan", "empty", "empty", "empty"]


def test_sound_that_cannot_be_decoded(tmp_path: Path) -> None:
    folder = write_annotations(tmp_path / "rec", [GOOD])
    path = write_recording(folder / NAME, 30)
    content = bytearray(path.read_bytes())
    middle = len(content) * 7 // 12  # in the fourth chunk of six
    content[middle : middle + 2000] = bytes(2000)
    path.write_bytes(content)
    clips, lines = build(folder)
    assert {0: "apapan", 5: "empty", 10: "empty", 25: "empty"}.items() <= clips.items()
    assert 15 not in clips
    assert lines[0].startswith(f"{NAME}: {Kind.UNREADABLE}: the clip at 15 s (")
    audio = tmp_path / "data" / "birdcalls_v1.0" / "audio"
    assert len(list(audio.iterdir())) == len(clips)
    with pytest.raises(DataError, match="the clip at 15 s"):
        build_birdcalls([folder], tmp_path / "strict", RULES, strict=True, report=lambda line: None)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_samples_that_are_not_numbers(bad: float, tmp_path: Path) -> None:
    name = "UHH_001_S01_a.wav"
    folder = write_annotations(tmp_path / "rec", [(name, 1, 2, 2000, 4000, "apapan")])
    samples = np.full(15 * 32_000, 0.25, np.float32)
    samples[6 * 32_000] = bad
    samples[11 * 32_000] = 1.5
    soundfile.write(str(folder / name), samples, 32_000, subtype="FLOAT")
    clips, lines = build(folder)
    assert clips == {0: "apapan", 10: "empty"}
    assert lines == [f"{name}: {Kind.UNREADABLE}: the clip at 5 s (some samples are not numbers); left out"]
    # What is beyond full scale is clipped, as the page tells.
    clip, _ = soundfile.read(str(tmp_path / "data" / "birdcalls_v1.0" / "audio" / "UHH_001_S01_a_00010.flac"))
    assert clip.max() == pytest.approx(1, abs=1e-6)
    assert clip.min() == 0.25


def test_a_class_that_train_loses_is_told(tmp_path: Path) -> None:
    name = "UHH_001_S01_a.wav"
    folder = write_annotations(tmp_path / "rec", [(name, 1, 2, 900, 4000, "apapan"), (name, 6, 7, 900, 4000, "omao")])
    samples = np.zeros(15 * 32_000, np.float32)
    samples[6 * 32_000] = np.nan
    soundfile.write(str(folder / name), samples, 32_000, subtype="FLOAT")
    lines: list[str] = []
    built = build_birdcalls([folder], tmp_path / "data", RULES, report=lines.append)
    assert lines[-1] == "Split train has no clip of omao: none of those meant for it could be read."
    assert lines[-1] in (built / "RELEASE_v1.0.txt").read_text()


def test_names_that_are_not_text(tmp_path: Path) -> None:
    folder = write_annotations(tmp_path / "rec", [GOOD])
    write_recording(folder / NAME, 5)
    other = os.fsencode(folder) + b"/UHH_002_S01_\xff.flac"
    try:
        shutil.copy(folder / NAME, other)
    except OSError:
        pytest.skip("this disk takes no such names")
    rules = Rules(min_per_class=1, test_microphones=0, unannotated="empty")
    clips, lines = build(folder, rules=rules)
    assert clips == {0: "apapan"}
    assert lines == [f"UHH_002_S01_\\udcff.flac: {Kind.BAD_NAME}: the file's name is not UTF-8; left out"]
    renamed = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff"))
    folder.rename(renamed)
    with pytest.raises(DataError, match=r"rename it") as error:
        build_birdcalls([renamed], tmp_path / "other", rules)
    str(error.value).encode()


@pytest.mark.parametrize("name", ["a\nb.flac", "a\0b.flac", "a\x1b[31mb.flac", "a\u2028b.flac"])
def test_a_problem_is_one_line_whatever_the_name(name: str, tmp_path: Path) -> None:
    folder = write_annotations(tmp_path / "rec", [GOOD, (name, 1, "", 2000, 4000, "apapan")])
    write_recording(folder / NAME, 5)
    _, lines = build(folder)
    assert len(lines) == 1
    assert lines[0].isprintable()
    assert name.encode("unicode_escape").decode() in lines[0]


def test_a_build_within_the_folder_of_recordings(tmp_path: Path) -> None:
    folder = write_annotations(tmp_path / "rec", [GOOD])
    write_recording(folder / NAME, 10)
    for place in ("birdcalls_v1.0.partial", "data/birdcalls_v1.0"):
        (folder / place / "audio").mkdir(parents=True)
        shutil.copy(folder / NAME, folder / place / "audio" / "UHH_001_S01_a_00000.flac")
    clips, lines = build(folder, strict=True)
    assert clips == {0: "apapan", 5: "empty"}
    assert not lines


def test_a_folder_given_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_annotations(tmp_path / "rec", [GOOD])
    write_recording(folder / "more" / NAME, 5)
    write_annotations(folder / "more", [GOOD])
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match=r"rec and rec/\.\./rec are the same folder: give each"):
        build_birdcalls([Path("rec"), Path("rec/../rec")], tmp_path / "data", RULES)
    for folders in ([Path("rec"), folder / "more"], [folder / "more", Path("rec")]):
        with pytest.raises(DataError, match="lie one inside the other"):
            build_birdcalls(folders, tmp_path / "data", RULES)


def test_bars_count_recordings_and_then_clips(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bars = []

    class Shown(tqdm):  # type: ignore[type-arg]
        def __init__(self, **keywords: object) -> None:
            super().__init__(**{**keywords, "disable": False, "file": io.StringIO()})
            bars.append(self)

    monkeypatch.setattr(pipeline, "tqdm", Shown)
    folder = write_annotations(tmp_path / "rec", [GOOD])
    write_recording(folder / NAME, 10)
    write_recording(folder / "UHH_002_S01_b.flac", 10)
    build(folder)
    assert [(bar.unit, bar.n, bar.total) for bar in bars] == [("recording", 2, 2), ("clip", 2, 2)]


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    folder = write_annotations(tmp_path / "rec", [GOOD], [*HEADER[:5], "Species eBird Cod"])
    write_recording(folder / NAME, 10)
    with pytest.raises(
        DataError, match=r"no column 'Species eBird Code'.*did you mean 'Species eBird Cod'.*Filename, "
    ):
        build(folder)


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b'Filename,"'], ids=["nothing", "bytes", "quote"])
def test_a_table_that_is_none(content: bytes, tmp_path: Path) -> None:
    folder = write_annotations(tmp_path / "rec", [])
    (folder / "annotations.csv").write_bytes(content)
    write_recording(folder / NAME, 10)
    with pytest.raises(DataError, match=r"annotations\.csv"):
        build(folder)


def test_folders_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"has no annotations.csv: expected .* download"):
        build(tmp_path)
    folder = write_annotations(tmp_path / "rec", [GOOD])
    with pytest.raises(DataError, match="has no recordings"):
        build(folder)
    write_recording(folder / "a" / NAME, 10)
    write_recording(folder / "b" / NAME.replace(".flac", ".wav"), 10)
    with pytest.raises(DataError, match="have the same name"):
        build(folder)


def test_an_overlap_names_the_first_row() -> None:
    """Row 7 begins before all others. Row 5 is above the others, row 6 begins where row 4 ends."""
    times = [
        (0.5, 9, 0, 900),
        (1, 3, 0, 900),
        (2.5, 6, 500, 2000),
        (1, 9, 2000, 3000),
        (6, 7, 1000, 1500),
        (0.2, 2.2, 0, 900),
    ]
    calls = [Call(row, NAME, *told, "omao") for row, told in enumerate(times, start=2)]
    lines: list[str] = []
    recording = Recording(Path(NAME), 32_000 * 60, 32_000, "UHH_S01", "Hawaii")
    assert fitting_calls(calls, recording, Path("a.csv"), Problems(lines.append)) == calls
    assert lines == [f"a.csv, row {row}: {Kind.OVERLAP}: overlaps with row 2 ({NAME})" for row in (3, 4, 7)]


def test_overlaps_of_many_rows_are_found_quickly() -> None:
    """As many as the largest release has, in one recording; every tenth one lasts for a minute."""
    count = 50_000
    calls = [
        Call(row, NAME, row * 0.07, row * 0.07 + (60 if row % 10 == 0 else 0.05), row % 7 * 1000.0, 6500.0, "apapan")
        for row in range(2, count + 2)
    ]
    lines: list[str] = []
    recording = Recording(Path(NAME), 32_000 * 3600, 32_000, "UHH_S01", "Hawaii")
    start = time.perf_counter()
    kept = fitting_calls(calls, recording, Path("annotations.csv"), Problems(lines.append))
    assert time.perf_counter() - start < 30
    assert len(kept) == count
    assert len(lines) > count // 2
