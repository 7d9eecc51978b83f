"""A build that is killed goes on to the very same data set: nothing is lost, nothing is doubled."""

from __future__ import annotations

import csv
import os
import random
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from handmade import Row, tree, write_annotations, write_recording
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from birdcalls_dataset.build import Rules, build_birdcalls
from birdcalls_dataset.table import read_table
from wilds_targeted.errors import DataError, RunError, WildsTargetedError
from wilds_targeted.files import locked

RATE = 8000
RULES = Rules(sample_rate=RATE, chunk_seconds=1.0, separation_seconds=1.0, min_per_class=1, test_microphones=1)
NAMES = [f"UHH_{number:03d}_S0{number % 2 + 1}_a.flac" for number in range(4)]
SECONDS = 6


def write_recordings(folder: Path, calls: list[Row]) -> Path:
    write_annotations(folder, calls)
    for name in NAMES:
        write_recording(folder / name, SECONDS, RATE)
    return folder


def some_calls(seed: int = 0) -> list[Row]:
    chance = random.Random(seed)
    return [
        (name, start, start + chance.uniform(0.1, 0.9), 500, 2000, chance.choice(["apapan", "omao"]))
        for name in NAMES
        for start in range(0, SECONDS, 2)
    ]


def build(recordings: Path, out: Path, rules: Rules = RULES, **keywords: Any) -> Path:
    return build_birdcalls([recordings], out, rules, report=lambda line: None, progress=False, **keywords)


def die_at(moment: int, how: str) -> None:
    """Kill this process at that write: in the middle of it, or at the renaming, just before or just after."""
    count = 0
    guard = threading.Lock()
    tables: list[Any] = []

    def wrapped(original: Callable[..., Any], is_writing: bool) -> Callable[..., Any]:
        def method(self: Path, *arguments: Any, **keywords: Any) -> Any:
            nonlocal count
            with guard:
                count += is_writing == (how == "writing")
                if count < moment:
                    return original(self, *arguments, **keywords)
                if how == "writing":
                    content = arguments[0] if isinstance(arguments[0], (str, bytes)) else list(arguments[0])
                    original(self, content[: len(content) // 2], *arguments[1:], **keywords)
                    for table in tables:
                        if not table.closed:
                            table.flush()
                elif how == "after":
                    original(self, *arguments, **keywords)
                os.kill(os.getpid(), signal.SIGKILL)

        return method

    def remembered(self: Path, mode: str = "r", *arguments: Any, **keywords: Any) -> Any:
        file = opened(self, mode, *arguments, **keywords)
        if self.suffix == ".csv" and "w" in mode:
            tables.append(file)
        return file

    opened, Path.open = Path.open, remembered  # type: ignore[assignment,method-assign]
    csv.DictWriter.writerows = wrapped(csv.DictWriter.writerows, True)  # type: ignore[method-assign]
    for name, is_writing in (("write_bytes", True), ("write_text", True), ("replace", False), ("rename", False)):
        setattr(Path, name, wrapped(getattr(Path, name), is_writing))


def build_and_die(recordings: Path, out: Path, moment: int, how: str, rules: Rules = RULES) -> bool:
    """Whether the build was killed; it ends by itself if that moment never comes."""
    child = os.fork()
    if not child:
        try:
            die_at(moment, how)
            build(recordings, out, rules, jobs=2)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert status in (0, signal.SIGKILL)
    return status != 0


@pytest.mark.parametrize("how", ["writing", "before", "after"])
def test_killed_at_every_single_write(how: str, tmp_path: Path) -> None:
    recordings = write_recordings(tmp_path / "rec", some_calls()[:4])
    expected = tree(build(recordings, tmp_path / "undisturbed"))
    moment, half_tables = 1, 0
    while build_and_die(recordings, tmp_path / f"killed-{moment}", moment, how):
        out = tmp_path / f"killed-{moment}"
        half_tables += any(path.stat().st_size for path in out.glob("*/.combined.*.csv"))
        if not (out / "birdcalls_v1.0").exists():  # it may have been killed just after the last renaming
            build(recordings, out)
        assert tree(out) == {f"birdcalls_v1.0/{name}": content for name, content in expected.items()}
        moment += 1
    assert moment > len(expected)
    assert half_tables == (how != "after")


calls = st.lists(
    st.builds(
        lambda name, start, seconds, species: (name, start, start + seconds, 500, 2000, species),
        st.sampled_from(NAMES),
        st.integers(-1, 4 * SECONDS).map(lambda quarters: quarters / 4),
        st.sampled_from([0.25, 0.5, 2.0]),
        st.sampled_from(["apapan", "omao", "????"]),
    ),
    min_size=6,
    max_size=30,
)
kills = st.lists(st.tuples(st.integers(1, 12), st.sampled_from(["writing", "before", "after"])), min_size=1, max_size=4)


@settings(
    deadline=None, max_examples=20, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
@given(calls, kills)
def test_random_annotations_killed_again_and_again(
    tmp_path_factory: pytest.TempPathFactory, calls: list[Row], kills: list[tuple[int, str]]
) -> None:
    folder = tmp_path_factory.mktemp("random")
    recordings = write_recordings(folder / "rec", calls)
    try:
        expected = tree(build(recordings, folder / "undisturbed"))
    except WildsTargetedError:
        return  # too few calls
    out = folder / "killed"
    for moment, how in kills:
        if not (out / "birdcalls_v1.0").exists():
            build_and_die(recordings, out, moment, how)
    if not (out / "birdcalls_v1.0").exists():
        build(recordings, out)
    assert tree(out) == {f"birdcalls_v1.0/{name}": content for name, content in expected.items()}
    table = read_table(out / "birdcalls_v1.0" / "combined.csv")
    clips = sorted(path.relative_to(out / "birdcalls_v1.0").as_posix() for path in out.glob("*/audio/*"))
    assert clips == sorted(table["audio_path"])


def test_finished_clips_are_kept_and_leftovers_removed(tmp_path: Path) -> None:
    recordings = write_recordings(tmp_path / "rec", some_calls())
    assert build_and_die(recordings, tmp_path / "out", 9, "after")
    partial = tmp_path / "out" / "birdcalls_v1.0.partial"
    before = {path.name: path.stat().st_mtime_ns for path in (partial / "audio").glob("[!.]*")}
    assert before
    (partial / "audio" / f".x.{'0' * 16}.flac").write_bytes(b"half a cl")
    built = build(recordings, tmp_path / "out")
    after = {path.name: path.stat().st_mtime_ns for path in (built / "audio").iterdir()}
    assert before.items() <= after.items()
    assert not [name for name in after if name.startswith(".")]


def test_an_unfinished_build_of_something_else_is_told_apart(tmp_path: Path) -> None:
    recordings = write_recordings(tmp_path / "rec", some_calls())
    out = tmp_path / "out"
    assert build_and_die(recordings, out, 9, "after")
    before = tree(out)
    other = Rules(**{**vars(RULES), "seed": 7})
    with pytest.raises(DataError, match=r"other rules \(seed: 0 then, 7 now\).*--restart"):
        build(recordings, out, other)
    write_annotations(recordings, some_calls(seed=1))
    with pytest.raises(DataError, match=r"other files \(1 rec/annotations\.csv: .* then, .* now\)"):
        build(recordings, out)
    write_recording(recordings / "UHH_009_S01_a.flac", 3, RATE)
    write_annotations(recordings, some_calls())
    with pytest.raises(DataError, match=r"other files \(1 rec/UHH_009_S01_a\.flac: absent then, \d+ bytes"):
        build(recordings, out)
    assert tree(out) == before
    assert tree(build(recordings, out, other, restart=True)) == tree(build(recordings, tmp_path / "fresh", other))


def test_what_is_not_a_build_is_not_removed(tmp_path: Path) -> None:
    recordings = write_recordings(tmp_path / "rec", some_calls())
    mine = tmp_path / "out" / "birdcalls_v1.0.partial" / "audio"
    mine.mkdir(parents=True)
    (mine / "song.flac").write_bytes(b"dear to me")
    for restart in (False, True):
        with pytest.raises(DataError, match="is not an unfinished build"):
            build(recordings, tmp_path / "out", restart=restart)
    assert [path.name for path in mine.iterdir()] == ["song.flac"]


def test_two_builds_do_not_work_in_one_folder(tmp_path: Path) -> None:
    recordings = write_recordings(tmp_path / "rec", some_calls())
    partial = tmp_path / "out" / "birdcalls_v1.0.partial"
    partial.mkdir(parents=True)
    with locked(partial), pytest.raises(RunError, match="another run is writing there"):
        build(recordings, tmp_path / "out")
    build(recordings, tmp_path / "out")


def test_another_build_finishes_in_the_meantime(tmp_path: Path) -> None:
    recordings = write_recordings(tmp_path / "rec", some_calls())
    finished = tmp_path / "out" / "birdcalls_v1.0"
    with pytest.raises(DataError, match="is there already"):
        build_birdcalls(
            [recordings], tmp_path / "out", RULES, report=lambda line: finished.mkdir(parents=True, exist_ok=True)
        )
    assert not list(finished.iterdir())


def test_one_job_or_many_recordings_elsewhere_the_same_data_set(tmp_path: Path) -> None:
    here = write_recordings(tmp_path / "here" / "rec", some_calls())
    there = write_recordings(tmp_path / "there" / "rec", some_calls())
    assert tree(build(here, tmp_path / "one", jobs=1)) == tree(build(there, tmp_path / "many", jobs=5))


@pytest.mark.slow
def test_the_command_killed_at_random_moments(tmp_path: Path) -> None:
    recordings = write_annotations(tmp_path / "rec", [])
    names = [f"UHH_{number:03d}_S0{number % 4 + 1}_a.flac" for number in range(8)]
    chance = random.Random(0)
    write_annotations(
        recordings,
        [(name, t, t + 2, 900, 4000, chance.choice(["apapan", "omao"])) for name in names for t in range(0, 300, 7)],
    )
    for name in names:
        write_recording(recordings / name, 300)

    def start(out: Path) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "birdcalls_dataset", "build", "--recordings", recordings, "--out", out]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    began = time.monotonic()
    undisturbed = start(tmp_path / "undisturbed")
    _, errors = undisturbed.communicate()
    assert undisturbed.returncode == 0, errors.decode()
    seconds = time.monotonic() - began
    expected = tree(tmp_path / "undisturbed")
    count = campaign = 0
    while count < 6:
        campaign += 1
        out = tmp_path / f"killed-{campaign}"
        while True:
            process = start(out)
            try:
                _, errors = process.communicate(timeout=chance.uniform(0.1, 0.9) * seconds)
                break
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
                count += 1
                assert count < 60, "the build does not get on"
        if b"is there already" not in errors:  # killed between the last renaming and the end of the program
            assert process.returncode == 0, errors.decode()
        assert tree(out) == expected
