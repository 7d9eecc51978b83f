"""Stands in for ``wilds-targeted`` in the demo's tests: ``fake_runner.py FOLDER WORDS…``.

It notes each call in FOLDER/calls.txt, copies FOLDER/miniature for `miniature`, and writes made-up scores for `run`.
What FOLDER/behaviour.json says of a log folder's name happens to that run: "fail", "hang" or "silent" (no scores).
"""

import argparse
import csv
import json
import os
import shutil
import sys
import time
from pathlib import Path


def main() -> None:
    folder = Path(sys.argv[1])
    words = sys.argv[2:]
    with (folder / "calls.txt").open("a") as calls:
        calls.write(json.dumps({"words": words, "threads": os.environ.get("OMP_NUM_THREADS"), "pid": os.getpid()}))
        calls.write("\n")
    parser = argparse.ArgumentParser()
    for flag in ("--root_dir", "--log_dir", "--transform", "--seed"):
        parser.add_argument(flag)
    given, _ = parser.parse_known_args(words)
    if words[0] == "miniature":
        shutil.copytree(folder / "miniature", given.root_dir)
        return
    log_dir = Path(given.log_dir)
    behaviour = json.loads((folder / "behaviour.json").read_text()).get(log_dir.name)
    print("training", given.transform, flush=True)
    if behaviour == "fail":
        print("Traceback (most recent call last):\n  File somewhere\nValueError: the <b>disk</b>   is full", flush=True)
        sys.exit(3)
    if behaviour == "hang":
        time.sleep(600)
    if behaviour != "silent":
        write_scores(log_dir, len(given.transform), int(given.seed))


def write_scores(log_dir: Path, base: int, seed: int) -> None:
    """Epoch 1 is selected: 0.5; ID (base + seed + 20) per cent, OOD (base + seed) per cent."""
    scores = {
        "val": [0.4, 0.5, 0.5],
        "id_test": [0.9, (base + seed + 20) / 100, 0.9],
        "test": [0.9, (base + seed) / 100, 0.9],
    }
    for split, values in scores.items():
        with (log_dir / f"{split}_eval.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["epoch", "acc_avg", "F1-macro_all"])
            writer.writerows([epoch, 0.1, value] for epoch, value in enumerate(values))


if __name__ == "__main__":
    main()
