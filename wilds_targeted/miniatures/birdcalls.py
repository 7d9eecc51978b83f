"""A miniature of BirdCalls: generated recordings with annotations, put through the real build.

In the paper's words: the *object* is the call, sweeps and trills that each species varies; *noise* is when it sounds,
how often, and how far away the bird sits; the *robust* feature is the region's habitat, its insects, wind, surf and
rain; *spurious* is the microphone with its hiss, hum and frequency response, and which species happens to sing near it.
Each region has a whistler, and these sound alike: one song, drawn by the same code from the same distribution, so only
the habitat tells which species it is. The other nine species sing like no other. Few microphones train, one species
makes most of the bouts at each, and other microphones test.

Nothing here knows of any method that will be trained on the data.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import soundfile
from tqdm.auto import tqdm

from birdcalls_dataset.build import Rules, build_birdcalls
from birdcalls_dataset.build.recordings import FOLDER as DATA_FOLDER
from birdcalls_dataset.build.writing import RELEASE_FILE
from birdcalls_dataset.download import AUDIO_FOLDER
from birdcalls_dataset.releases import ANNOTATIONS_FILE, RELEASES, SPECIES_FILE, Release
from wilds_targeted.experiments.processes import core_count
from wilds_targeted.miniatures._aviary import REGIONS, SAMPLING_RATE, SPECIES, SPECIES_PER_REGION
from wilds_targeted.miniatures._recordings import annotate, record, sing
from wilds_targeted.miniatures._stations import Recording, Station, place_stations, plan_recordings
from wilds_targeted.miniatures._writing import Layout, write_csv

RECORDINGS_FOLDER = "birdcalls_recordings"
MOST_THREADS = 8
"""Each takes about 150 MB."""
# In fewer than two minutes a training microphone has no time for all species of its region.
_LAYOUT = Layout(
    title="BirdCalls",
    parts=(RECORDINGS_FOLDER, DATA_FOLDER),
    release_file=RELEASE_FILE,
    ranges={
        "training_microphones": (1, 30),
        "unseen_microphones": (1, 30),
        "minutes_per_microphone": (2, 1000),
        "minutes_per_unseen_microphone": (1, 1000),
        "seed": (0, 2**63 - 1),
    },
    optional=(RECORDINGS_FOLDER,),
)


def write_birdcalls(
    root_dir: str | Path,
    *,
    seed: int = 0,
    training_microphones: int = 3,
    unseen_microphones: int = 4,
    minutes_per_microphone: int = 15,
    minutes_per_unseen_microphone: int = 5,
    keep_recordings: bool = False,
    overwrite: bool = False,
    progress: bool = True,
) -> Path:
    """Write a miniature BirdCalls, whole or not at all.

    The same arguments give the same bytes. Below `root_dir` appears ``birdcalls_v1.0/``, which
    `birdcalls_dataset.build.build_birdcalls` makes of generated recordings.

    Args:
        root_dir: The folder to write into; made if it is not there. WILDS's ``--root_dir``.
        seed: Which world.
        training_microphones: In each of the three regions; for the splits train, id_val and id_test.
        unseen_microphones: Others in each region; for the splits ood_train, ood_val and test.
        minutes_per_microphone: Of each training microphone. A minute has twelve clips.
        minutes_per_unseen_microphone: Of each of the others.
        keep_recordings: Leave the recordings and their annotations in ``birdcalls_recordings/``, a folder for each
            release.
        overwrite: Replace a miniature that is there. Anything else is never replaced.
        progress: Show progress bars when the output is a terminal.

    Returns:
        The folder ``birdcalls_v1.0``.

    Raises:
        ParameterError: A number is out of its range.
        DataError: Something is there already.
    """
    numbers = {
        "training_microphones": training_microphones,
        "unseen_microphones": unseen_microphones,
        "minutes_per_microphone": minutes_per_microphone,
        "minutes_per_unseen_microphone": minutes_per_unseen_microphone,
        "seed": seed,
    }
    _LAYOUT.check_ranges(numbers)
    root = Path(root_dir)
    stations = place_stations(seed, training_microphones, unseen_microphones)
    plans: list[Recording] = []
    for station in stations:
        minutes = minutes_per_microphone if station.trains else minutes_per_unseen_microphone
        plans += plan_recordings(seed, station, minutes)
    with _LAYOUT.written_whole(root, numbers, overwrite=overwrite) as new:
        folders = [_write_release(new / RECORDINGS_FOLDER, release, seed, plans) for release in RELEASES]
        _write_sound(new / RECORDINGS_FOLDER, seed, plans, progress=progress)
        _build(folders, new, _rules(seed, stations), progress=progress)
        if not keep_recordings:
            shutil.rmtree(new / RECORDINGS_FOLDER)
    return root / DATA_FOLDER


def _rules(seed: int, stations: Sequence[Station]) -> Rules:
    """Every species and every microphone stays, and every clip except where a call is barely touched."""
    return Rules(
        min_call_seconds=0.3,
        microphones=len(stations),
        test_microphones=tuple(station.name for station in stations if not station.trains),
        species=REGIONS * SPECIES_PER_REGION,
        min_per_class=1,
        clips=10**9,
        train_shares=(0.7, 0.1, 0.2),
        seed=seed,
    )


def _build(folders: Sequence[Path], new: Path, rules: Rules, *, progress: bool) -> None:
    # The build makes the data folder itself. What it reports are the calls that nobody can name, which are meant to be.
    (new / DATA_FOLDER).rmdir()
    build_birdcalls(folders, new, rules, progress=progress, report=lambda line: None)


def _write_release(folder: Path, release: Release, seed: int, plans: Sequence[Recording]) -> Path:
    """Write the tables of a release, as Zenodo has them; returns its folder."""
    region = RELEASES.index(release)
    (folder / release.name / AUDIO_FOLDER).mkdir(parents=True)
    mine = [plan for plan in plans if plan.station.region == region]
    rows = [row for plan in mine for row in annotate(seed, plan, sing(seed, plan))]
    write_csv(folder / release.name / ANNOTATIONS_FILE, rows)
    names = [
        {
            "Species eBird Code": species.code,
            "Scientific Name": species.scientific_name,
            "Common Name": species.common_name,
        }
        for species in SPECIES[region]
    ]
    write_csv(folder / release.name / SPECIES_FILE, names)
    return folder / release.name


def _write_sound(folder: Path, seed: int, plans: Sequence[Recording], *, progress: bool) -> None:
    """Write the recordings, several at a time; nearly all work is in numpy, which lets other threads run."""
    with ThreadPoolExecutor(min(core_count(), MOST_THREADS)) as pool:
        jobs = [pool.submit(_write_recording, folder, seed, plan) for plan in plans]
        bar = tqdm(
            as_completed(jobs),
            desc="miniature birdcalls",
            unit="recording",
            total=len(jobs),
            disable=None if progress else True,
        )
        try:
            for job in bar:
                job.result()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _write_recording(folder: Path, seed: int, plan: Recording) -> None:
    path = folder / RELEASES[plan.station.region].name / AUDIO_FOLDER / plan.file_name
    soundfile.write(path, record(seed, plan, sing(seed, plan)), SAMPLING_RATE, subtype="PCM_16")
