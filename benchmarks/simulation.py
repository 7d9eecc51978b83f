"""One draw of the paper's simulation, as it is defined and by our way: ``python -m benchmarks.simulation``.

Both ways draw domains, training examples and test sets, train all four models for every penalty, and choose. The
definition draws and multiplies every example, five times for each augmentation; ours draws the products. Each gets all
cores.
"""

from __future__ import annotations

import argparse
import time

from benchmarks._timing import promise
from wilds_targeted.theory import definition, simulation
from wilds_targeted.theory.experiment import Plan, Unit, simulate


def main() -> None:
    """Measure one draw each way, and print the ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, nargs="+", default=[100_000, 5_000])
    parser.add_argument("--domains", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3, help="Of our way; the definition's is measured once.")
    arguments = parser.parse_args()
    plan = Plan()
    held = []
    for samples in arguments.samples:
        unit = Unit(samples, arguments.domains, 0)
        start = time.perf_counter()
        slow = simulate(plan, unit, definition)
        defined = time.perf_counter() - start
        spent = []
        for _ in range(arguments.rounds):
            start = time.perf_counter()
            fast = simulate(plan, unit, simulation)
            spent.append(time.perf_counter() - start)
        print(f"N = {samples:,}, D = {arguments.domains}: as defined {defined:.1f} s, ours {min(spent):.2f} s a draw")
        for one, other in zip(slow, fast, strict=True):
            print(f"  {one.augmentation:>16}: OOD RMSE {one.ood_rmse:.3f} and {other.ood_rmse:.3f}, of different draws")
        print(f"  ours / as defined: {min(spent) / defined:.3f} ({defined / min(spent):.0f} times as fast)")
        held.append(promise("faster", min(spent) < defined))
    print(f"{sum(held)} of {len(held)} promises hold in this run")


if __name__ == "__main__":
    main()
