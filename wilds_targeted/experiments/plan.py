"""What the demo runs: read from a file of ``demos/``, so that another set of flags is a change of data."""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib import resources
from typing import Any

from wilds_targeted.errors import ConfigError

DEFAULT_DATASET = "iwildcam"
DATASETS = (DEFAULT_DATASET, "camelyon17", "birdcalls")
"""Of which there is a demo."""

DATA_FOLDER = "data"
RUNS_FOLDER = "runs"
_EPOCHS = "--n_epochs"


@dataclass(frozen=True)
class Method:
    """One row of the table: a title and the value of ``--transform``."""

    title: str
    transform: str


@dataclass(frozen=True)
class Benchmark:
    """What is measured, and the words for it.

    Args:
        title: What the generated data set is.
        domains: What its domains are, in the plural.
        metric: The column of WILDS's tables by which epochs are selected, and which is reported.
        metric_title: That metric, for people.
        in_domain: The split of held-out pictures of the training domains.
        out_of_domain_note: What the split ``test`` holds.
    """

    title: str
    domains: str
    metric: str
    metric_title: str
    in_domain: str
    out_of_domain_note: str


@dataclass(frozen=True)
class Run:
    """One training run.

    Args:
        method: What it trains with.
        seed: Its seed.
        words: What follows ``wilds-targeted`` on the command line, with paths relative to the demo's folder.
    """

    method: Method
    seed: int
    words: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name of its log folder."""
        return f"{self.method.transform}-seed{self.seed}"

    @property
    def log_dir(self) -> str:
        """Its log folder, relative to the demo's folder."""
        return f"{RUNS_FOLDER}/{self.name}"


@dataclass(frozen=True)
class Plan:
    """All that decides about the results.

    Args:
        dataset: Of WILDS's data sets, one of which there is a miniature.
        algorithm: For all runs.
        methods: The rows of the table.
        seeds: Of the training runs.
        world: The seed of the generator.
        miniature: Further options of the generator.
        flags: The flags that all runs share.
        benchmark: What is measured.
        quick: Whether it is the short variant.
    """

    dataset: str
    algorithm: str
    methods: tuple[Method, ...]
    seeds: tuple[int, ...]
    world: int
    miniature: tuple[str, ...]
    flags: tuple[str, ...]
    benchmark: Benchmark
    quick: bool = False

    @property
    def demo_words(self) -> tuple[str, ...]:
        """What follows ``wilds-targeted`` to do all of it."""
        seeds = ",".join(map(str, self.seeds))
        chosen = () if self.dataset == DEFAULT_DATASET else ("--dataset", self.dataset)
        return ("demo", *chosen, "--world", str(self.world), "--seeds", seeds, *(("--quick",) if self.quick else ()))

    @property
    def miniature_words(self) -> tuple[str, ...]:
        """What follows ``wilds-targeted`` to write the data set."""
        return ("miniature", self.dataset, "--root_dir", DATA_FOLDER, "--seed", str(self.world), *self.miniature)

    @property
    def runs(self) -> list[Run]:
        """Every method with every seed; the first seed of all methods first."""
        return [Run(method, seed, self._words(method, seed)) for seed in self.seeds for method in self.methods]

    def _words(self, method: Method, seed: int) -> tuple[str, ...]:
        log_dir = Run(method, seed, ()).log_dir
        return (
            # What differs between runs comes first, where it is seen.
            *("run", "--runner", "builtin", "--dataset", self.dataset, "--transform", method.transform),
            *("--seed", str(seed), "--log_dir", log_dir, "--algorithm", self.algorithm, "--root_dir", DATA_FOLDER),
            *("--resume", *self.flags),
        )

    @property
    def epochs(self) -> int:
        """How many epochs a run has, for the progress; 1 where the flags do not say."""
        return next((int(word) for flag, word in zip(self.flags, self.flags[1:], strict=False) if flag == _EPOCHS), 1)

    @property
    def settings(self) -> dict[str, Any]:
        """The plan as plain data, for comparison with the one that a folder was begun with."""
        return {
            **asdict(self),
            "methods": {method.transform: method.title for method in self.methods},
            "seeds": list(self.seeds),
            "miniature": shlex.join(self.miniature),
            "flags": shlex.join(self.flags),
        }


def load_plan(
    dataset: str = DEFAULT_DATASET, *, world: int = 0, seeds: Sequence[int] | None = None, quick: bool = False
) -> Plan:
    """The demo's plan.

    Args:
        dataset: One of `DATASETS`.
        world: The seed of the generator.
        seeds: Of the training runs; those of the file by default.
        quick: The short variant.
    """
    if dataset not in DATASETS:
        raise ConfigError(f"there is no demo of {dataset!r}; there is one of {' and '.join(DATASETS)}.")
    text = resources.files(__package__).joinpath("demos", f"{dataset}.toml").read_text(encoding="utf-8")
    data = tomllib.loads(text)
    variant = data["quick" if quick else "full"]
    chosen = tuple(variant["seeds"] if seeds is None else seeds)
    if not chosen or len(set(chosen)) < len(chosen) or min(chosen) < 0:
        raise ConfigError(f"seeds {', '.join(map(str, chosen)) or '(none)'}: whole numbers from 0, each once, expected")
    return Plan(
        dataset=data["dataset"],
        algorithm=data["algorithm"],
        methods=tuple(Method(**method) for method in data["methods"]),
        seeds=chosen,
        world=world,
        miniature=tuple(shlex.split(variant["miniature"])),
        flags=tuple(shlex.split(variant["flags"])),
        benchmark=Benchmark(**data["benchmark"]),
        quick=quick,
    )
