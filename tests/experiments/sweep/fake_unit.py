"""Stands in for ``wilds-targeted`` in the sweep's tests: ``fake_unit.py FOLDER sweep unit PARAMS``.

All but the training is real. That takes SECONDS (FOLDER/behaviour.json) an epoch, writes made-up scores, goes on where
an earlier start of it was killed, and notes in FOLDER/calls.txt when it starts and when it has finished. What the file
says of a unit (its name without the hash) happens to it: "fail", "fail once", "die once", "hang", "hang once" or
"nan".
"""

import json
import os
import signal
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from wilds_targeted.experiments.space import flag_values
from wilds_targeted.experiments.sweep.work import do_unit

SPLITS = ("val", "id_test", "test")


def scores(lr: float, seed: int, epoch: int) -> dict[str, float]:
    """Best on validation at a rate of 0.001, in the last epoch but one."""
    base = 1 / (1 + abs(lr - 0.001) * 1000) - 0.01 * seed
    return {"val": base - 0.1 * abs(epoch - 1), "id_test": base + 0.01 * epoch, "test": base / 2 + 0.01 * epoch}


def train(folder: Path, words: Sequence[str]) -> None:
    flags = {name: values[0] for name, values in flag_values(words[1:]).items() if values}
    log_dir, seed, lr = Path(flags["--log_dir"]), int(flags["--seed"]), float(flags.get("--lr", "0.001"))
    asked = json.loads((folder / "behaviour.json").read_text())
    name = log_dir.name.rpartition("-")[0]
    earlier = [call for call in read_calls(folder) if call["unit"] == log_dir.name]
    note(folder, log_dir, "start", words)
    print("training", name, flush=True)
    behaviour = asked.get(name)
    if behaviour == "fail" or (behaviour == "fail once" and not earlier):
        raise ValueError("the disk   is full")
    if behaviour == "die once" and not earlier:
        os.kill(os.getpid(), signal.SIGKILL)
    if behaviour == "hang" or (behaviour == "hang once" and not earlier):
        time.sleep(600)
    head = "Dataset: iwildcam\nAlgorithm: ERM\nSeed: {}\nVal metric: acc_avg\nVal metric decreasing: False\n\n"
    (log_dir / "log.txt").write_text(head.format(seed))
    state = log_dir / "state.txt"
    for epoch in range(int(state.read_text()) if state.exists() else 0, 3):
        time.sleep(asked["seconds"])
        for split in SPLITS:
            odd = behaviour == "nan" and split == "test"
            rows = [f"{each},{'nan' if odd else scores(lr, seed, each)[split]}\n" for each in range(epoch + 1)]
            (log_dir / f"{split}_eval.csv").write_text("".join(["epoch,acc_avg\n", *rows]))
        state.with_suffix(".new").write_text(str(epoch + 1))
        state.with_suffix(".new").replace(state)
    note(folder, log_dir, "end", words)


def note(folder: Path, log_dir: Path, what: str, words: Sequence[str]) -> None:
    gpus = os.environ.get("CUDA_VISIBLE_DEVICES")
    call = {"unit": log_dir.name, "what": what, "pid": os.getpid(), "gpus": gpus, "time": time.time()}
    with (folder / "calls.txt").open("a") as file:
        file.write(json.dumps({**call, "words": list(words)}) + "\n")


def read_calls(folder: Path) -> list[dict]:
    path = folder / "calls.txt"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


if __name__ == "__main__":
    assert sys.argv[2:4] == ["sweep", "unit"]
    do_unit(json.loads(sys.argv[4]), partial(train, Path(sys.argv[1])))
