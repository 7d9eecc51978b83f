"""One draw of the paper's simulation, as it is defined and by our way: ``python -m benchmarks.simulation``.

Both ways draw domains, training examples and test sets, train all four models for every penalty, and choose. The
definition draws and multiplies every example, five times for each augmentation; ours draws the products. Both have one
thread, as each process of ``wilds-targeted simulate`` has. Compared is processor time, which other programs beside it
change little.
"""

from __future__ import annotations

import argparse
import time
from types import ModuleType

from threadpoolctl import threadpool_limits

from benchmarks._timing import promise
from wilds_targeted.theory import definition, simulation
from wilds_targeted.theory.experiment import Plan, Result, Unit, simulate


def main() -> None:
    """Measure one draw each way, and print the ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, nargs="+", default=[100_000, 5_000])
    parser.add_argument("--domains", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3, help="Of our way; the definition's is measured once.")
    arguments = parser.parse_args()
    held = []
    with threadpool_limits(1):
        for samples in arguments.samples:
            unit = Unit(samples, arguments.domains, 0)
            slow, defined = _measured(unit, definition)
            rounds = [_measured(unit, simulation) for _ in range(arguments.rounds)]
            fast, ours = min(rounds, key=lambda each: each[1])
            print(f"N = {samples:,}, D = {arguments.domains}: as defined {defined:.1f} s, ours {ours:.2f} s a draw")
            for one, other in zip(slow, fast, strict=True):
                errors = f"{one.ood_rmse:.3f} and {other.ood_rmse:.3f}"
                print(f"  {one.augmentation:>16}: OOD RMSE {errors}, of different draws")
            print(f"  ours / as defined: {ours / defined:.4f} ({defined / ours:.0f} times as fast)")
            held.append(promise("faster", ours < defined))
    print(f"{sum(held)} of {len(held)} promises hold in this run")


def _measured(unit: Unit, way: ModuleType) -> tuple[list[Result], float]:
    """What came out, and how many seconds of a processor it took."""
    start = time.process_time()
    results = simulate(Plan(), unit, way)
    return results, time.process_time() - start


if __name__ == "__main__":
    main()
