"""The miniature BirdCalls: the real build reads its recordings, and the world is what its documentation says."""

from __future__ import annotations

import csv
import hashlib
import itertools
import shutil
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import soundfile
from click.testing import CliRunner

import wilds_targeted
from birdcalls_dataset.build import build_birdcalls
from birdcalls_dataset.releases import RELEASES, microphone_of
from wilds_targeted.cli.miniature import command
from wilds_targeted.errors import DataError, ParameterError
from wilds_targeted.miniatures._aviary import SAMPLING_RATE, SPECIES, UNKNOWN, WHISTLER, Phrase, Voice, draw_stranger
from wilds_targeted.miniatures._microphones import Microphone
from wilds_targeted.miniatures._recordings import Sung, annotate, record, sing
from wilds_targeted.miniatures._soundscapes import FREQUENCIES, HABITATS, compose, draw_noise
from wilds_targeted.miniatures._stations import Recording, _cast, place_stations, plan_recordings
from wilds_targeted.miniatures.birdcalls import _rules, _write_sound, write_birdcalls

SIZES = {
    "training_microphones": 3,
    "unseen_microphones": 1,
    "minutes_per_microphone": 2,
    "minutes_per_unseen_microphone": 1,
}
TINY = SIZES | {"training_microphones": 1}
WORLDS = (0, 1, 2)
FOLDERS = [release.name for release in RELEASES]


def make(root: Path, **changes: Any) -> Path:
    return write_birdcalls(root, **({"progress": False} | TINY | changes))


def checksums(root: Path) -> dict[str, str]:
    files = (path for path in root.rglob("*") if path.is_file())
    return {str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With three training microphones and an unseen one in each region, and the recordings."""
    root = tmp_path_factory.mktemp("birdcalls")
    make(root, **SIZES, keep_recordings=True)
    return root


@pytest.fixture(scope="module")
def table(root: Path) -> pd.DataFrame:
    return pd.read_csv(root / "birdcalls_v1.0" / "combined.csv", keep_default_na=False)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tiny")
    make(root)
    return root


def energy(sound: np.ndarray, low: float, high: float) -> float:
    samples = 2 ** len(sound).bit_length()
    power = np.abs(np.fft.rfft(sound, samples)) ** 2
    hertz = np.fft.rfftfreq(samples, 1 / SAMPLING_RATE)
    return float(power[(hertz >= low) & (hertz <= high)].sum() / power.sum())


def test_recordings_and_tables_are_those_of_the_releases(root: Path) -> None:
    for release, species in zip(RELEASES, SPECIES, strict=True):
        folder = root / "birdcalls_recordings" / release.name
        header, *rows = csv.reader((folder / "annotations.csv").open())
        assert header == [
            "Filename",
            "Start Time (s)",
            "End Time (s)",
            "Low Freq (Hz)",
            "High Freq (Hz)",
            "Species eBird Code",
        ]
        files = {path.name: path for path in (folder / "soundscape_data").iterdir()}
        assert {row[0] for row in rows} == set(files)
        assert {row[5] for row in rows} - {UNKNOWN} == {kind.code for kind in species}
        names = list(csv.reader((folder / "species.csv").open()))
        assert names[0] == ["Species eBird Code", "Scientific Name", "Common Name"]
        assert [name[0] for name in names[1:]] == [kind.code for kind in species]
        seconds = Counter(_check_sound(path) for path in files.values())
        assert seconds == {120: 3, 60: 1}
        assert {microphone_of(name) for name in files} == {f"{release.prefix}_S{k:02d}" for k in range(1, 5)}


def _check_sound(path: Path) -> float:
    info = soundfile.info(path)
    assert (info.format, info.subtype, info.samplerate, info.channels) == ("FLAC", "PCM_16", 32_000, 1)
    return float(info.duration)


def test_the_build_finds_no_fault_and_repeats_itself(root: Path, tmp_path: Path) -> None:
    folders = [root / "birdcalls_recordings" / name for name in FOLDERS]
    lines: list[str] = []
    build_birdcalls(folders, tmp_path, _rules(0, place_stations(0, 3, 1)), progress=False, report=lines.append)
    faults = [line for line in lines if "annotations.csv" in line]
    assert all("unknown code: '????'" in line for line in faults)
    strangers = sum((folder / "annotations.csv").read_text().count(UNKNOWN) for folder in folders)
    assert len(faults) == strangers > 0
    again, first = (checksums(at / "birdcalls_v1.0") for at in (tmp_path, root))
    assert {name for name in first if again.get(name) != first[name]} == {"RELEASE_v1.0.txt"}


def test_the_data_set_class_reads_it(root: Path, table: pd.DataFrame) -> None:
    dataset = wilds_targeted.get_dataset("birdcalls", root_dir=root)
    assert len(dataset) == len(table)
    assert dataset.n_classes == 13
    for split in ("train", "val", "id_test", "test"):
        assert len(dataset.get_subset(split)) > 0


def test_every_region_has_its_microphones_and_species(table: pd.DataFrame) -> None:
    trains = table.split.isin(["train", "id_val", "id_test"])
    for release, species in zip(RELEASES, SPECIES, strict=True):
        here = table.dataset == release.region
        assert set(table[here].Location) == {f"{release.prefix}_S{k:02d}" for k in range(1, 5)}
        assert table[here & trains].Location.nunique() == 3
        assert not set(table[here & trains].Location) & set(table[here & ~trains].Location)
        codes = {kind.code for kind in species} | {"empty"}
        assert set(table[here & (table.split == "train")]["Species eBird Code"]) == codes
        assert set(table[here]["Species eBird Code"]) == codes


def test_a_quarter_to_a_third_of_the_clips_is_empty(table: pd.DataFrame) -> None:
    empty = (table["Species eBird Code"] == "empty").groupby(table.Location).mean()
    assert empty.min() > 0
    assert 0.22 < (table["Species eBird Code"] == "empty").mean() < 0.36


@pytest.mark.parametrize("seed", WORLDS)
def test_training_stations_have_favourites_and_the_others_none(seed: int) -> None:
    heard: Counter[int] = Counter()
    for region in range(3):
        stations = [station for station in place_stations(seed, 3, 4) if station.region == region]
        favourites = []
        for station in stations:
            bouts = [bout for plan in plan_recordings(seed, station, 15) for bout in plan.bouts]
            species = Counter(bout.species for bout in bouts)
            assert min(species.values()) >= 3
            assert len(species) == 4
            if station.trains:
                [(favourite, count)] = species.most_common(1)
                assert 0.70 <= max(station.shares) <= 0.85
                assert 0.55 < count / len(bouts) < 0.95
                favourites.append(favourite)
            else:
                heard += species
        assert len(set(favourites)) == len(favourites) == 3
    assert all(0.19 < heard[k] / heard.total() < 0.31 for k in range(4)), heard


def test_whistlers_sound_alike_and_nothing_else_does() -> None:
    assert [species[0].song for species in SPECIES] == [WHISTLER] * 3
    songs = [kind.song for species in SPECIES for kind in species[1:]]
    assert len({song.notes for song in (*songs, WHISTLER)}) == 10
    codes = [kind.code for species in SPECIES for kind in species]
    assert len(set(codes)) == 12
    # Neither the bird nor the phrase is told anything but the song.
    sounds = []
    for species in SPECIES:
        rng = np.random.default_rng(0)
        sounds.append(Phrase.draw(species[0].song, Voice.draw(rng), rng).render(np.ones_like))
    assert np.array_equal(sounds[0], sounds[1])
    assert np.array_equal(sounds[0], sounds[2])


def test_phrases_vary() -> None:
    rng = np.random.default_rng(0)
    phrases = [Phrase.draw(WHISTLER, Voice.draw(rng), rng) for _ in range(300)]
    pitches = [phrase.pitch for phrase in phrases]
    assert 0.94 <= min(pitches) < 0.95
    assert 1.05 < max(pitches) <= 1.061
    assert {phrase.repeats for phrase in phrases} == {1, 2}
    levels = [phrase.level_db for phrase in phrases]
    assert max(levels) - min(levels) > 10


def test_boxes_hold_the_calls() -> None:
    """All of a call in time, and most of its energy in frequency; and not much more than that."""
    rng = np.random.default_rng(0)
    songs = [(kind.code, kind.song) for species in SPECIES for kind in species for _ in range(2)]
    songs += [(UNKNOWN, draw_stranger(rng)) for _ in range(4)]
    sung = [Sung(4.0 * k + 1, code, Phrase.draw(song, Voice.draw(rng), rng)) for k, (code, song) in enumerate(songs)]
    plan = Recording(place_stations(0, 1, 1)[0], 0, "a.flac", 120, ())
    for each, row in zip(sung, annotate(0, plan, sung), strict=True):
        start, end, low, high = (float(value) for value in list(row.values())[1:5])
        sound = each.phrase.render(np.ones_like)
        assert start <= each.start - 0.009
        assert each.start + len(sound) / SAMPLING_RATE + 0.009 <= end
        assert end - start < each.phrase.seconds + 0.17
        assert energy(sound, low, high) > 0.9, each.code
        assert energy(sound, low + 300, high) < 0.999, each.code
        assert energy(sound, low, high - 300) < 0.999, each.code


def test_nobody_sings_into_another() -> None:
    together = 0
    for station in place_stations(0, 3, 4):
        for plan in plan_recordings(0, station, 6):
            rows = list(annotate(0, plan, sing(0, plan)))
            for one, two in itertools.pairwise(rows):
                assert one["End Time (s)"] < two["Start Time (s)"]
            together += sum(bout.company is not None for bout in plan.bouts)
    assert together > 5


def test_calls_stand_out_from_their_surroundings() -> None:
    """In their boxes, the loudest line over what is there without it: visible, and not overwhelming."""
    contrasts = []
    for station in place_stations(1, 3, 4)[::4]:
        plan = plan_recordings(1, station, 1)[0]
        sung = sing(1, plan)
        loud, quiet = (record(1, plan, phrases).astype(float) for phrases in (sung, []))
        for each in sung:
            span = slice(round(each.start * SAMPLING_RATE), round((each.start + each.phrase.seconds) * SAMPLING_RATE))
            windows = [np.lib.stride_tricks.sliding_window_view(x[span], 2048)[::512] for x in (loud, quiet)]
            with_call, without = (np.abs(np.fft.rfft(w * np.hanning(2048))).max(0) ** 2 for w in windows)
            low, high = (round(hertz * 2048 / SAMPLING_RATE) for hertz in each.phrase.band)
            contrasts.append(10 * np.log10(with_call[low:high].max() / np.median(without[low:high])))
    assert 12 < np.median(contrasts) < 30
    assert np.percentile(contrasts, 5) > 5


def test_a_region_is_recognized_in_any_recording() -> None:
    """By its mean level in octaves, and above 4 kHz in narrower bands, compared with the regions' other recordings."""
    edges = np.searchsorted(FREQUENCIES, [60, 125, 250, 500, 1000, 2000, 4000, *range(5000, 15_000, 1000)])

    def levels(region: int, k: int) -> np.ndarray:
        layers = compose(HABITATS[region], 2000, np.random.default_rng((region, k)))
        power = 1 + sum(strength.mean() * spectrum.astype(float) for strength, spectrum in layers)
        return np.array([np.log(power[low:high].mean()) for low, high in itertools.pairwise(edges)])

    usual = np.array([np.mean([levels(region, k) for k in range(20)], 0) for region in range(3)])
    for region in range(3):
        found = [int(((usual - levels(region, k)) ** 2).sum(1).argmin()) for k in range(20, 40)]
        assert found == [region] * 20


def test_noise_has_the_density_that_is_asked_for() -> None:
    power = np.where(FREQUENCIES < 4000, 2, 0).astype(np.float32)
    noise = draw_noise(np.tile(power, (2000, 1)), np.random.default_rng(0))
    assert len(noise) == 512 * 1999
    assert noise.var() == pytest.approx(2 * 4000, rel=0.02)
    assert energy(noise, 0, 4100) > 0.99


def test_a_microphone_hums_at_its_mains_and_hears_its_resonance_best() -> None:
    rng = np.random.default_rng(0)
    for _ in range(10):
        microphone = Microphone.draw(rng)
        tones = microphone.tones(2 * SAMPLING_RATE, rng)
        power = np.abs(np.fft.rfft(tones[:SAMPLING_RATE])) ** 2
        lines = [microphone.mains_hz * k for k in range(1, 41)]
        assert power[[*lines, microphone.whine_hz]].sum() > 0.999 * power.sum()
        assert np.array_equal(tones[:SAMPLING_RATE], tones[SAMPLING_RATE:])
        hertz = np.geomspace(20, 16_000, 2000)
        best = hertz[microphone.response(hertz).argmax()]
        assert abs(np.log2(best / microphone.resonance_hz)) < 0.5


def test_a_recording_does_not_depend_on_the_others() -> None:
    plans = [plan for station in place_stations(4, 1, 1) for plan in plan_recordings(4, station, 1)]
    alone = record(4, plans[1], sing(4, plans[1]))
    again = [record(4, plan, sing(4, plan)) for plan in reversed(plans)][-2]
    assert np.array_equal(alone, again)
    assert 0 < np.abs(alone.astype(int)).max() < 32_000


def test_the_same_seed_gives_the_same_bytes(tiny: Path, tmp_path: Path) -> None:
    make(tmp_path)
    assert checksums(tmp_path) == checksums(tiny)


def test_a_miniature_is_replaced_only_when_asked_and_another_seed_gives_another(tiny: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny, tmp_path, dirs_exist_ok=True)
    with pytest.raises(DataError, match=r"BirdCalls already.*--overwrite"):
        make(tmp_path, seed=1)
    assert checksums(tmp_path) == checksums(tiny)
    assert make(tmp_path, seed=1, overwrite=True) == tmp_path / "birdcalls_v1.0"
    assert not set(checksums(tmp_path).values()) & set(checksums(tiny).values())
    assert [path.name for path in tmp_path.iterdir()] == ["birdcalls_v1.0"]


def test_recordings_go_with_their_miniature_and_those_of_others_stay(tiny: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny, tmp_path, dirs_exist_ok=True)
    mine = tmp_path / "birdcalls_recordings" / "dear_to_me.flac"
    mine.parent.mkdir()
    mine.write_text("song")
    before = checksums(tmp_path)
    for overwrite in (False, True):
        with pytest.raises(DataError, match=r"holds birdcalls_recordings without the mark.*another --root_dir"):
            make(tmp_path, overwrite=overwrite)
    assert checksums(tmp_path) == before
    shutil.rmtree(mine.parent)
    make(tmp_path, overwrite=True, keep_recordings=True)
    assert (mine.parent / "MINIATURE.txt").read_text().startswith("wilds-targeted miniature of BirdCalls\n")
    make(tmp_path, overwrite=True)
    assert checksums(tmp_path) == checksums(tiny)


def test_threads_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def pool(threads: int) -> ThreadPoolExecutor:
        asked.append(threads)
        return ThreadPoolExecutor(1)

    monkeypatch.setattr("wilds_targeted.miniatures.birdcalls.core_count", lambda: 64)
    monkeypatch.setattr("wilds_targeted.miniatures.birdcalls.ThreadPoolExecutor", pool)
    _write_sound(tmp_path, 0, [], progress=False)
    assert asked == [8]


@pytest.mark.parametrize("bouts", [3, 8, 12, 13, 40])
def test_no_species_is_rare_where_there_are_bouts_enough(bouts: int) -> None:
    for seed in range(200):
        cast = _cast(bouts, (0.25, 0.25, 0.25, 0.25), np.random.default_rng(seed))
        assert len(cast) == bouts
        assert np.bincount(cast, minlength=4).min() >= min(3, bouts // 4)


@pytest.mark.parametrize("part", ["birdcalls_v1.0/RELEASE_v1.0.txt", "birdcalls_v1.0/a.csv", "birdcalls_recordings/a"])
def test_real_data_is_never_replaced(tmp_path: Path, part: str) -> None:
    real = tmp_path / part
    real.parent.mkdir()
    real.write_text("BirdCalls v1.0, built from annotated recordings")
    for overwrite in (False, True):
        with pytest.raises(DataError, match="another --root_dir"):
            make(tmp_path, overwrite=overwrite)
    assert list(checksums(tmp_path)) == [part]


@pytest.mark.parametrize("former", [False, True])
@pytest.mark.parametrize("trouble", [OSError("disk full"), KeyboardInterrupt()])
@pytest.mark.parametrize("step", ["record", "build_birdcalls"])
def test_a_failed_run_leaves_what_was_there(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, former: bool, trouble: BaseException, step: str
) -> None:
    if former:
        shutil.copytree(tiny, tmp_path, dirs_exist_ok=True)
    before = checksums(tmp_path)
    calls = itertools.count()

    def break_down(seed: int, plan: Recording, sung: Any) -> Any:
        if next(calls) == 1 or step != "record":
            raise trouble
        return np.zeros(SAMPLING_RATE, np.int16)

    def break_off(*arguments: Any, **options: Any) -> Any:
        raise trouble

    monkeypatch.setattr("wilds_targeted.miniatures.birdcalls.record", break_down)
    if step != "record":
        monkeypatch.setattr("wilds_targeted.miniatures.birdcalls._write_sound", lambda *a, **k: None)
        monkeypatch.setattr("wilds_targeted.miniatures.birdcalls.build_birdcalls", break_off)
    with pytest.raises(type(trouble)):
        make(tmp_path, seed=1, overwrite=True)
    assert checksums(tmp_path) == before
    assert [path.name for path in tmp_path.iterdir()] == ["birdcalls_v1.0"] * former


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("training_microphones", 0, "1 to"),
        ("unseen_microphones", 31, "to 30"),
        ("minutes_per_microphone", 1, "2 to"),
        ("minutes_per_unseen_microphone", 0, "1 to"),
        ("seed", -1, "0 to"),
    ],
)
def test_numbers_out_of_range_are_refused(tmp_path: Path, name: str, value: int, why: str) -> None:
    with pytest.raises(ParameterError, match=rf"{name} is {value}; .*{why}"):
        make(tmp_path / "new", **{name: value})
    assert not (tmp_path / "new").exists()


def test_the_command_says_what_it_wrote_and_what_to_try(tmp_path: Path) -> None:
    options = "--training-microphones 1 --unseen_microphones 1 --minutes-per-microphone 2 --seed 2 --keep-recordings"
    words = [*options.split(), "--minutes_per_unseen_microphone", "1"]
    result = CliRunner().invoke(command, ["birdcalls", "--root_dir", str(tmp_path), *words])
    assert result.exit_code == 0, result.output
    table = pd.read_csv(tmp_path / "birdcalls_v1.0" / "combined.csv")
    assert f"Wrote {len(table)} clips" in result.output
    assert f"train {(table.split == 'train').sum()}, id_val" in result.output
    assert f"preview --dataset birdcalls --root_dir {tmp_path} --transform copypaste_sameregion" in result.output
    assert f"The recordings are in {tmp_path / 'birdcalls_recordings'}" in result.output
    parts = {path.name for path in (tmp_path / "birdcalls_recordings").iterdir()}
    assert parts == {*FOLDERS, "MINIATURE.txt"}
