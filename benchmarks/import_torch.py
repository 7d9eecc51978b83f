"""What the entry point adds to ``import torch`` outside WILDS: ``python -m benchmarks.import_torch``.

Each measurement is a fresh interpreter, which imports torch with its entry points switched off and then does what torch
would have done: load ours and call it.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys

PROGRAM = """
import json, sys, time
start = time.perf_counter()
import torch
torch_seconds = time.perf_counter() - start
from importlib.metadata import entry_points
ours = [each for each in entry_points(group="torch.backends") if each.name == "wilds_targeted"][0]
modules, finders = set(sys.modules), list(sys.meta_path)
start = time.perf_counter()
ours.load()()
added = time.perf_counter() - start
assert sys.meta_path == finders
print(json.dumps({"torch": torch_seconds, "added": added, "modules": sorted(set(sys.modules) - modules)}))
"""
RUNS = 7


def main() -> None:
    """Measure and print."""
    environment = {**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode beside it
    runs = []
    for _ in range(1 + RUNS):
        output = subprocess.run(
            [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, env=environment
        )
        runs.append(json.loads(output.stdout))
    del runs[0]  # this one wrote the bytecode
    added = [1000 * run["added"] for run in runs]
    print(f"import torch: {statistics.median(run['torch'] for run in runs):.2f} s")
    print(f"our entry point: {statistics.median(added):.3f} ms (from {min(added):.3f} to {max(added):.3f})")
    print(f"it imports: {', '.join(runs[0]['modules'])}")


if __name__ == "__main__":
    main()
