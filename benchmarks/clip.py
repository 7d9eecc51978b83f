"""Memory and time of a finetuning step of CLIP: ``python -m benchmarks.clip``.

Each way of fitting the model runs in a process of its own: random weights, random images, a few steps of AdamW on the
CPU (or ``--device cuda``). Printed are the best step's time and the most memory that the process held, both also as
ratios to plain float32, and the memory that weights, gradients and the optimizer's state take in any case. On the CPU
the time is the processor's, of all threads together: other programs beside do not count.
"""

from __future__ import annotations

import argparse
import json
import resource
import signal
import subprocess
import sys
import time
from types import SimpleNamespace
from typing import Any

WAYS: dict[str, dict[str, Any]] = {
    "float32": {},
    "float32, checkpointing": {"gradient_checkpointing": True},
    "bf16": {"amp": "bf16"},
    "bf16, checkpointing": {"amp": "bf16", "gradient_checkpointing": True},
    "float32, lower blocks frozen": {"freeze": True},
}


def main() -> None:
    """Measure every way and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="clip-vit-large-patch14", help="Any of the CLIP models.")
    parser.add_argument("--batch_size", type=int, default=8)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--freeze", type=int, default=12, help="How many blocks keep their weights in the last way.")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--way", choices=list(WAYS), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.way is not None:
        print(json.dumps(measure(arguments)))
        return
    print(f"{arguments.model}, batches of {arguments.batch_size}, {arguments.device}")
    first: dict[str, float] | None = None
    for way in WAYS:
        command = [sys.executable, "-m", "benchmarks.clip", *sys.argv[1:], "--way", way]
        finished = subprocess.run(command, stdout=subprocess.PIPE, text=True)
        if finished.returncode < 0:
            name = signal.Signals(-finished.returncode).name
            print(f"{way:>30}: killed by {name}; torch can't compute this on this processor")
            continue
        finished.check_returncode()
        measured: dict[str, float] = json.loads(finished.stdout.splitlines()[-1])
        first = measured if first is None else first
        print(
            f"{way:>30}: {measured['seconds']:.2f} s a step ({measured['seconds'] / first['seconds']:.2f}), "
            f"{measured['peak'] / 1e9:.2f} GB at most ({measured['peak'] / first['peak']:.2f}), "
            f"{measured['fixed'] / 1e9:.2f} GB of it weights, gradients and AdamW's state"
        )


def measure(arguments: argparse.Namespace) -> dict[str, float]:
    """Time and memory of one way, in this process."""
    import torch

    from wilds_targeted.models.assemble import make_it_fit
    from wilds_targeted.registry import get_registry

    way = WAYS[arguments.way]
    spec = get_registry().models.find(arguments.model)
    height, width = spec.defaults["target_resolution"]
    model: Any = spec.build(10, freeze=arguments.freeze if way.get("freeze") else 0)
    config = SimpleNamespace(
        model=spec.name,
        amp=way.get("amp"),
        gradient_checkpointing=way.get("gradient_checkpointing", False),
    )
    model = make_it_fit(model, config).to(arguments.device).train()
    assert spec.parameter_groups is not None
    optimizer = torch.optim.AdamW(spec.parameter_groups(model, config), lr=1e-5)
    x = torch.randn(arguments.batch_size, 3, height, width, device=arguments.device)
    y = torch.arange(arguments.batch_size, device=arguments.device) % 10
    clock = time.process_time if arguments.device == "cpu" else time.perf_counter
    spent = []
    for _ in range(arguments.steps):
        start = clock()
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        if arguments.device != "cpu":
            torch.cuda.synchronize()
        spent.append(clock() - start)
    learning = sum(each.numel() for each in model.parameters() if each.requires_grad)
    everything = sum(each.numel() for each in model.parameters())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    if arguments.device != "cpu":
        peak = torch.cuda.max_memory_allocated()
    return {"seconds": min(spent), "peak": peak, "fixed": 4 * (everything + 3 * learning)}


if __name__ == "__main__":
    main()
