"""What the build of BirdCalls takes for one long recording: memory and time, against one of a tenth of its length.

python -m benchmarks.birdcalls_build
"""

from __future__ import annotations

import csv
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import soundfile

RATE = 32_000
NAME = "UHH_001_S01_20161121_150000.flac"


def write_recording(folder: Path, minutes: int) -> None:
    """A recording of noise, written minute by minute, with a call every ten seconds."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    with soundfile.SoundFile(str(folder / NAME), "w", RATE, 1, "PCM_16") as file:
        for _ in range(minutes):
            file.write(rng.normal(0, 500, 60 * RATE).astype(np.int16))
    with (folder / "annotations.csv").open("w", newline="", encoding="utf-8") as table:
        writer = csv.writer(table)
        writer.writerow(
            ("Filename", "Start Time (s)", "End Time (s)", "Low Freq (Hz)", "High Freq (Hz)", "Species eBird Code")
        )
        species = ("apapan", "hawama", "omao")
        writer.writerows((NAME, t, t + 2, 1500, 6000, species[t % 3]) for t in range(2, minutes * 60 - 5, 10))


def measure(minutes: int) -> dict[str, float]:
    """Build from such a recording in a process of its own, and tell what it took."""
    with tempfile.TemporaryDirectory() as scratch:
        write_recording(Path(scratch, "rec"), minutes)
        command = [sys.executable, "-m", "benchmarks.birdcalls_build", scratch]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    result: dict[str, float] = json.loads(done.stdout)
    return result


def _build(scratch: Path) -> dict[str, float]:
    """In that process."""
    from birdcalls_dataset.build import Rules, build_birdcalls

    imported_mb, began = _peak_mb(), time.perf_counter()
    folder = build_birdcalls([scratch / "rec"], scratch / "out", Rules(test_microphones=0))
    seconds = time.perf_counter() - began
    clips = len(list((folder / "audio").iterdir()))
    return {"clips": clips, "imported_mb": imported_mb, "peak_mb": _peak_mb(), "seconds": seconds}


def _peak_mb() -> float:
    """The most memory that this process has held (Linux counts it in KB, macOS in bytes)."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def main() -> None:
    """Print the table."""
    print("minutes  clips  imported     peak    time")
    for minutes in (6, 60):
        told = measure(minutes)
        print(
            f"{minutes:7}  {told['clips']:5}  {told['imported_mb']:5.0f} MB  {told['peak_mb']:3.0f} MB  "
            f"{told['seconds']:4.1f} s"
        )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(_build(Path(sys.argv[1]))))
    else:
        main()
