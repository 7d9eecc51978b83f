"""Figure 3 of the paper: which simulations there are, and running them side by side."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import math
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from types import ModuleType

import numpy as np
from threadpoolctl import threadpool_limits

from wilds_targeted.errors import ConfigError, DataError, RunError
from wilds_targeted.experiments.processes import core_count
from wilds_targeted.experiments.warm import end_with_caller
from wilds_targeted.files import locked, remove_leftovers, written_whole
from wilds_targeted.runner.progress import show_progress
from wilds_targeted.theory import simulation
from wilds_targeted.theory.setting import Augmentation, LinearSetting
from wilds_targeted.theory.simulation import ridge_path

PENALTIES = tuple(float(value) for value in np.logspace(-6, 2, 33))
"""Four a decade; the best one has always been inside for the paper's settings."""

SECONDS_BETWEEN_SAVES = 5.0


@dataclass(frozen=True)
class Plan:
    """The simulations of a figure; the defaults are the paper's, and ours where the paper leaves a size open.

    Args:
        setting: The law of the data.
        sample_sizes: Training examples in all domains together, one panel each.
        domain_counts: Training domains.
        seeds: How often everything is drawn anew.
        copies: How often the augmentation runs over the training examples.
        validation: In-domain examples that the penalty is tuned on.
        test: In-domain test examples.
        ood_domains: New domains.
        ood_test: Test examples of these.
        penalties: What the penalty is chosen of.
    """

    setting: LinearSetting = field(default_factory=LinearSetting)
    sample_sizes: tuple[int, ...] = (100_000, 5_000)
    domain_counts: tuple[int, ...] = (5, 10, 25, 50, 100, 200, 400, 800, 1600)
    seeds: int = 10
    copies: int = 5
    validation: int = 10_000
    test: int = 10_000
    ood_domains: int = 1_000
    ood_test: int = 10_000
    penalties: tuple[float, ...] = PENALTIES

    def __post_init__(self) -> None:
        for name in ("seeds", "copies", "validation", "test", "ood_domains", "ood_test"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} is {getattr(self, name)}: a number of at least 1 is expected.")
        for name in ("sample_sizes", "domain_counts", "penalties"):
            values = getattr(self, name)
            if not values or min(values) <= 0 or len(set(values)) < len(values):
                raise ConfigError(f"{name} is {values}: different numbers above 0 are expected.")

    @property
    def units(self) -> list[Unit]:
        """What is drawn and computed independently; the longest first."""
        return [
            Unit(count, domains, seed)
            for count in sorted(self.sample_sizes, reverse=True)
            for domains in sorted(self.domain_counts, reverse=True)
            for seed in range(self.seeds)
        ]

    def as_json(self) -> str:
        """All of it, to recognize results by."""
        return json.dumps(dataclasses.asdict(self), indent=2) + "\n"


@dataclass(frozen=True, order=True)
class Unit:
    """One draw of domains and examples."""

    samples: int
    domains: int
    seed: int


@dataclass(frozen=True)
class Result:
    """One model of one unit: root mean squared errors, and the penalty that was chosen."""

    samples: int
    domains: int
    seed: int
    augmentation: str
    penalty: float
    id_rmse: float
    ood_rmse: float

    @property
    def unit(self) -> Unit:
        """Of which draw."""
        return Unit(self.samples, self.domains, self.seed)


def simulate(plan: Plan, unit: Unit, way: ModuleType = simulation) -> list[Result]:
    """One draw of domains, examples and test sets; every augmentation on the same examples.

    Args:
        plan: All sizes.
        unit: Which draw.
        way: `simulation`, or `definition` for the slow way.
    """
    setting, rng = plan.setting, np.random.default_rng((unit.seed, unit.samples, unit.domains))
    domains = setting.draw_domains(unit.domains, rng)
    products = way.train_products(setting, domains, unit.samples, plan.copies, rng)
    paths = [ridge_path(products[augmentation], plan.penalties) for augmentation in Augmentation]
    on_validation = way.mean_squared_errors(setting, domains, plan.validation, np.concatenate(paths, axis=1), rng)
    chosen = on_validation.reshape(len(paths), -1).argmin(axis=1)
    thetas = np.column_stack([path[:, best] for path, best in zip(paths, chosen, strict=True)])
    in_domain = way.mean_squared_errors(setting, domains, plan.test, thetas, rng)
    unseen = setting.draw_domains(plan.ood_domains, rng)
    out_of_domain = way.mean_squared_errors(setting, unseen, plan.ood_test, thetas, rng)
    return [
        Result(
            **dataclasses.asdict(unit),
            augmentation=augmentation.value,
            penalty=plan.penalties[best],
            id_rmse=math.sqrt(in_domain[position]),
            ood_rmse=math.sqrt(out_of_domain[position]),
        )
        for position, (augmentation, best) in enumerate(zip(Augmentation, chosen, strict=True))
    ]


def run(plan: Plan, folder: Path, *, jobs: int | None = None, progress: bool | None = None) -> list[Result]:
    """All units, each in a process with one thread; ``results.csv`` in the folder grows as they finish.

    Called again with the same plan, it goes on where it was. The numbers do not depend on ``jobs``.

    Args:
        plan: What to simulate.
        folder: Where results are kept.
        jobs: How many at a time; by default as many as there are cores.
        progress: True for a bar, False for nothing, None for a bar on a terminal and lines elsewhere.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder):
        remove_leftovers(folder)
        results = _load_results(folder, plan)
        done = {result.unit for result in results}
        open_units = [unit for unit in plan.units if unit not in done]
        saved_at = time.monotonic()
        for fresh in _in_processes(plan, open_units, jobs, progress):
            results += fresh
            if time.monotonic() - saved_at >= SECONDS_BETWEEN_SAVES:
                _save_results(folder, results)
                saved_at = time.monotonic()
        order = {augmentation.value: position for position, augmentation in enumerate(Augmentation)}
        results.sort(key=lambda result: (-result.samples, result.domains, result.seed, order[result.augmentation]))
        _save_results(folder, results)
    return results


def _in_processes(plan: Plan, units: Sequence[Unit], jobs: int | None, progress: bool | None) -> Iterator[list[Result]]:
    if not units:
        return
    workers = min(jobs or core_count(), len(units))
    with ProcessPoolExecutor(workers, get_context("spawn"), _settle) as pool:
        futures = [pool.submit(simulate, plan, unit) for unit in units]
        finished = (future.result() for future in as_completed(futures))
        try:
            done = len(plan.units) - len(units)
            yield from show_progress(finished, len(plan.units), "simulating", "draw", progress, done)
        except BrokenProcessPool:
            raise RunError(
                "a process died (for lack of memory?). The same command goes on; try fewer --jobs."
            ) from None
        except MemoryError as error:
            raise RunError(f"the memory does not do: {error}. Try fewer --jobs, or smaller numbers.") from None
        finally:
            pool.shutdown(cancel_futures=True)


def _settle() -> None:
    """In a process of the pool: one thread, since there is one process a core; and no longer life than the caller's."""
    end_with_caller()
    threadpool_limits(1)


def _load_results(folder: Path, plan: Plan) -> list[Result]:
    """What an earlier call with the same plan has finished."""
    described, table = folder / "plan.json", folder / "results.csv"
    same = described.exists() and described.read_text(encoding="utf-8") == plan.as_json()
    if described.exists() and table.exists() and not same:
        raise ConfigError(f"{folder} has results of other options (see plan.json there): choose another --out.")
    if not same:
        with written_whole(described) as arriving:
            arriving.write_text(plan.as_json(), encoding="utf-8")
    return read_results(table) if table.exists() else []


def _save_results(folder: Path, results: Iterable[Result]) -> None:
    text = io.StringIO()
    writer = csv.DictWriter(text, [each.name for each in dataclasses.fields(Result)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(dataclasses.asdict(result) for result in results)
    with written_whole(folder / "results.csv") as arriving:
        arriving.write_text(text.getvalue(), encoding="utf-8")


def read_results(path: Path) -> list[Result]:
    """The results that a file ``results.csv`` holds."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return [
                Result(
                    samples=int(row["samples"]),
                    domains=int(row["domains"]),
                    seed=int(row["seed"]),
                    augmentation=Augmentation(row["augmentation"]).value,
                    penalty=float(row["penalty"]),
                    id_rmse=float(row["id_rmse"]),
                    ood_rmse=float(row["ood_rmse"]),
                )
                for row in csv.DictReader(file)
            ]
    except (KeyError, ValueError, TypeError) as error:
        raise DataError(
            f"{path}: is no table of simulation results ({type(error).__name__}: {error}). Remove it, and the "
            f"simulations run again."
        ) from error


@dataclass(frozen=True)
class Point:
    """The mean over seeds, and its standard error (None of a single seed)."""

    samples: int
    domains: int
    augmentation: Augmentation
    id_rmse: float
    id_error: float | None
    ood_rmse: float
    ood_error: float | None


def summarize(results: Sequence[Result]) -> list[Point]:
    """Every curve's points, in the order of the results."""
    groups: dict[tuple[int, int, str], list[Result]] = {}
    for result in results:
        groups.setdefault((result.samples, result.domains, result.augmentation), []).append(result)
    points = []
    for (samples, domains, augmentation), members in groups.items():
        in_domain, out_of_domain = (
            _mean_and_error([getattr(member, name) for member in members]) for name in ("id_rmse", "ood_rmse")
        )
        points.append(Point(samples, domains, Augmentation(augmentation), *in_domain, *out_of_domain))
    return points


def _mean_and_error(values: Sequence[float]) -> tuple[float, float | None]:
    error = None if len(values) < 2 else float(np.std(values, ddof=1) / math.sqrt(len(values)))
    return float(np.mean(values)), error
