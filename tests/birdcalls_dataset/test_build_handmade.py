"""A recording with known calls gives exactly the expected chunks, boxes and splits."""

from __future__ import annotations

import json
import zlib
from dataclasses import asdict, fields
from pathlib import Path

import numpy as np
import pytest
import soundfile
from click.testing import CliRunner
from handmade import Row, noise, write_annotations, write_recording

from birdcalls_dataset.build import Rules, build_birdcalls
from birdcalls_dataset.build.problems import Kind
from birdcalls_dataset.cli.build import command
from birdcalls_dataset.facts import Facts, check_facts
from birdcalls_dataset.table import BUILD_COLUMNS, parse_box, read_table
from wilds_targeted.audio.axes import relative_box
from wilds_targeted.errors import DataError

ONE, TWO = "UHH_001_S01_20161121_150000.flac", "UHH_002_S02_20161121_150000.flac"
CALLS: list[Row] = [
    (ONE, 1.0, 3.0, 2000, 4000, "apapan"),
    (ONE, 4.5, 6.0, 1000, 3000, "apapan"),  # reaches into the second chunk
    # 10 to 15 s: nothing
    (ONE, 15.0, 20.0, 500, 20000, "apapan"),  # the whole fourth chunk, and above what 32 kHz can hold
    (ONE, 21.0, 22.0, 2000, 4000, "apapan"),
    (ONE, 23.0, 24.0, 5000, 6000, "omao"),  # two species in the fifth
    (ONE, 29.0, 29.5, 2000, 4000, "apapan"),
    # 30 to 35 s: nothing
    (ONE, 36.0, 37.0, 2000, 4000, "????"),
    (ONE, 44.0, 46.5, 2000, 4000, "apapan"),  # reaches into the rest of 2 s at the end
    (TWO, 0.5, 9.5, 2000, 4000, "apapan"),
    (TWO, 10.0, 11.0, 2000, 4000, "????"),
    # 15 to 20 s: nothing
]
RULES = Rules(
    min_per_class=1, test_microphones=("UHH_S02",), train_shares=(4, 1, 2), test_shares=(2, 0, 1), microphones=2
)

# Recording, start, split, species, call: start, end, lowest and highest frequency.
EXPECTED = [
    # A run of four neighbours is the largest, and train has the largest share; then two and one.
    (ONE, 0, "train", "apapan", (1, 5, 1000, 4000)),
    (ONE, 5, "train", "apapan", (0, 1, 1000, 3000)),
    (ONE, 10, "train", "empty", None),
    (ONE, 15, "train", "apapan", (0, 5, 500, 16000)),
    (ONE, 25, "id_test", "apapan", (4, 4.5, 2000, 4000)),
    (ONE, 30, "id_test", "empty", None),
    (ONE, 40, "id_val", "apapan", (4, 5, 2000, 4000)),
    (TWO, 0, "ood_train", "apapan", (0.5, 5, 2000, 4000)),
    (TWO, 5, "ood_train", "apapan", (0, 4.5, 2000, 4000)),
    (TWO, 15, "test", "empty", None),
]


@pytest.fixture
def recordings(tmp_path: Path) -> Path:
    folder = write_annotations(tmp_path / "hawaii", CALLS)
    write_recording(folder / "soundscapes" / ONE, 47)
    write_recording(folder / "soundscapes" / TWO, 20)
    return folder


def test_the_expected_clips(recordings: Path, tmp_path: Path) -> None:
    lines: list[str] = []
    folder = build_birdcalls([recordings], tmp_path / "data", RULES, report=lines.append)
    assert folder == tmp_path / "data" / "birdcalls_v1.0"
    table = read_table(folder / "combined.csv")
    assert tuple(table.columns) == BUILD_COLUMNS
    found = []
    for row in table.to_dict("records"):
        call = None
        if row["Species eBird Code"] != "empty":
            low, high = row["Call Low Freq (Hz)"], row["Call High Freq (Hz)"]
            call = (float(row["call_start_s"]), float(row["call_end_s"]), low, high)
            assert parse_box(row["mel_bbox"]) == pytest.approx(relative_box(*call), abs=1e-6)
        else:
            assert parse_box(row["mel_bbox"]) is None
            assert np.isnan(row["Call Low Freq (Hz)"])
        found.append((row["recording"], row["start_s"], row["split"], row["Species eBird Code"], call))
    assert found == EXPECTED
    assert list(table["id"]) == [f"{name[:-5]}_{start:05d}" for name, start, *_ in EXPECTED]
    assert set(table["Location"]) == {"UHH_S01", "UHH_S02"}
    assert set(table["dataset"]) == {"Hawaii"}
    assert set(table["mel_img_path"]) == {""}
    assert [line for line in lines if "row" in line] == [
        f"{recordings / 'annotations.csv'}, row {row}: unknown code: '????' in {name}"
        for row, name in ((8, ONE), (11, TWO))
    ]
    assert lines[-1] == "Problems with the recordings and annotations: unknown code 2."


def test_the_clips_are_the_recordings_own_samples(recordings: Path, tmp_path: Path) -> None:
    folder = build_birdcalls([recordings], tmp_path / "data", RULES, report=lambda line: None)
    table = read_table(folder / "combined.csv")
    for row in table.to_dict("records"):
        path = folder / row["audio_path"]
        assert row["audio_crc32"] == f"{zlib.crc32(path.read_bytes()):08x}"
        samples, rate = soundfile.read(str(path), dtype="int16")
        start = int(row["start_s"]) * 32_000
        whole = noise(row["recording"], 47 if row["recording"] == ONE else 20)
        assert rate == 32_000
        assert np.array_equal(samples, whole[start : start + 160_000])
    assert {path.name for path in (folder / "audio").iterdir()} == {Path(path).name for path in table["audio_path"]}
    check_facts(folder, table)
    assert (folder / "RELEASE_v1.0.txt").is_file()
    assert json.loads((folder / "build.json").read_text())["rules"]["test_microphones"] == ["UHH_S02"]
    assert not (tmp_path / "data" / "birdcalls_v1.0.partial").exists()


@pytest.mark.parametrize("subtype", ["PCM_U8", "PCM_24", "FLOAT"])
def test_other_encodings(subtype: str, tmp_path: Path) -> None:
    name = "UHH_001_S01_x.WAV"
    folder = write_annotations(tmp_path / "rec", [(name, 1, 2, 2000, 4000, "apapan")])
    path = write_recording(folder / name, 6, subtype=subtype)
    rules = Rules(min_per_class=1, test_microphones=0)
    built = build_birdcalls([folder], tmp_path / "data", rules, report=lambda line: None)
    (clip,) = (built / "audio").iterdir()
    assert np.array_equal(soundfile.read(str(clip))[0], soundfile.read(str(path))[0][:160_000])


def test_the_command_prints_the_facts_and_its_options_are_the_rules(recordings: Path, tmp_path: Path) -> None:
    out = tmp_path / "data"
    options = "--min_per_class 1 --test-microphones UHH_S02 --train-shares 4 1 2 --test_shares 2 0 1 --microphones 2"
    run = CliRunner().invoke(command, ["--recordings", str(recordings), "--out", str(out), *options.split()])
    assert run.exit_code == 0, run.output
    facts = Facts(**json.loads((out / "birdcalls_v1.0" / "facts.json").read_text()))
    assert facts.splits == {"id_test": 2, "id_val": 1, "ood_train": 2, "test": 1, "train": 4}
    assert str(facts) in run.stdout
    built = json.loads((out / "birdcalls_v1.0" / "build.json").read_text())["rules"]
    assert built == json.loads(json.dumps(asdict(RULES)))
    assert "unknown code 2" in run.stderr


def test_several_folders_after_one_option_or_each_after_its_own(recordings: Path, tmp_path: Path) -> None:
    other = write_annotations(tmp_path / "mine", [("XYZ_001_S01_a.flac", 1, 2, 900, 4000, "omao")])
    write_recording(other / "XYZ_001_S01_a.flac", 6)
    rest = ["--min-per-class", "1", "--test-microphones", "1"]
    for out, folders in (("one", [recordings, other]), ("each", [recordings, "--recordings", other])):
        run = CliRunner().invoke(command, ["--recordings", *map(str, folders), "--out", str(tmp_path / out), *rest])
        assert run.exit_code == 0, run.output
        table = read_table(tmp_path / out / "birdcalls_v1.0" / "combined.csv")
        regions = dict(zip(table["Location"], table["dataset"], strict=True))
        assert regions == {"UHH_S01": "Hawaii", "UHH_S02": "Hawaii", "XYZ_S01": "mine"}


def test_every_rule_has_an_option_with_its_default() -> None:
    options = {option.name: option for option in command.params}
    for rule in fields(Rules):
        option = options[rule.name]
        assert {f"--{rule.name}", f"--{rule.name.replace('_', '-')}"} == set(option.opts)
    with command.make_context("build", ["--recordings", ".", "--out", "x"]) as context:
        given = {rule.name: context.params[rule.name] for rule in fields(Rules)}
    assert Rules(**given) == Rules()


def test_the_page_tells_every_rule_and_every_kind_of_problem() -> None:
    page = (Path(__file__).parents[2] / "docs" / "birdcalls-build.md").read_text(encoding="utf-8")
    for rule in fields(Rules):
        default = " ".join(map(str, rule.default)) if isinstance(rule.default, tuple) else str(rule.default or 0)
        (row,) = [line for line in page.splitlines() if line.startswith(f"| `--{rule.name.replace('_', '-')}` |")]
        assert rule.default is None or default in row.split(" | ")[1].strip("`"), rule.name
    for kind in Kind:
        assert f"\n| {kind} | " in page


def test_a_finished_data_set_is_not_touched(recordings: Path, tmp_path: Path) -> None:
    finished = tmp_path / "data" / "birdcalls_v1.0"
    finished.mkdir(parents=True)
    with pytest.raises(DataError, match="is there already"):
        build_birdcalls([recordings], tmp_path / "data", RULES, restart=True)
    assert list((tmp_path / "data").iterdir()) == [finished]
    assert not list(finished.iterdir())
