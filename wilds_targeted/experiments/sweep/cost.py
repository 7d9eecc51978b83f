"""What a recipe takes: its commands, its images, and an estimate of its hours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from wilds_targeted.experiments.recipes import Recipe
from wilds_targeted.experiments.space import flag_values
from wilds_targeted.experiments.sweep.status import seconds_of_a_unit
from wilds_targeted.experiments.sweep.unit import UNITS_FOLDER, Unit, epochs_of, read_result
from wilds_targeted.runner.progress import duration

ASSUMED_RATE = 100.0
"""Training images a second, where nobody gives a rate and nothing was measured."""

EVALUATION_SPEED = 3.0
"""How much faster an image is evaluated than trained on: a training step goes forward once and backward twice."""


@dataclass(frozen=True)
class Cost:
    """What one run takes.

    Args:
        epochs: How many it has; None where its flags do not say.
        training: How many images it trains on, every epoch counted; None where the data set's size is not known.
        evaluation: How many it evaluates.
    """

    epochs: int | None
    training: int | None
    evaluation: int | None

    def seconds(self, rate: float) -> float | None:
        """How long it takes at so many training images a second."""
        if self.training is None or self.evaluation is None:
            return None
        return (self.training + self.evaluation / EVALUATION_SPEED) / rate


def cost_of(recipe: Recipe) -> Cost:
    """The cost of one of its runs: after every epoch all splits are evaluated but ``train``, unless flags say less."""
    epochs = epochs_of(recipe.flags)
    if epochs is None or "train" not in recipe.images:
        return Cost(epochs, None, None)
    flags = flag_values(recipe.flags)
    evaluated = [split for split in recipe.images if split != "train"]
    if [word.lower() for word in flags.get("--evaluate_all_splits", ())] == ["false"]:
        chosen = ("val", *flags.get("--eval_splits", ()))
        evaluated = [split for split in evaluated if split in chosen]
    images = sum(recipe.images[split] for split in evaluated)
    return Cost(epochs, epochs * recipe.images["train"], epochs * images)


def cost_lines(
    recipe: Recipe, units: Sequence[Unit], later: int, folder: Path, rate: float | None, at_a_time: int
) -> list[str]:
    """The estimate, in words.

    Args:
        recipe: What is trained.
        units: The runs that are known.
        later: How many come after them.
        folder: Where they are or will be; those that are finished there tell how long one takes.
        rate: Training images a second, if the user gave that.
        at_a_time: How many runs at a time.
    """
    cost = cost_of(recipe)
    total = len(units) + later
    each = "?" if cost.epochs is None else str(cost.epochs)
    if cost.training is None or cost.evaluation is None:
        images = "how many images is not known here"
    else:
        images = f"{total * cost.training:,} images to train on and {total * cost.evaluation:,} to evaluate"
    lines = [f"{total} runs of {each} epochs: {images}"]
    measured = _measured(folder)
    if measured is not None and rate is None:
        seconds: float | None = measured
        basis = "as long as the finished runs here took"
    else:
        seconds = cost.seconds(rate or ASSUMED_RATE)
        origin = "as given" if rate else "an assumption, not a measurement: give yours with --images-per-second"
        basis = f"at {rate or ASSUMED_RATE:g} training images a second ({origin}), evaluation {EVALUATION_SPEED:g} "
        basis += "times as fast"
    done = sum(read_result(folder / unit.place) is not None for unit in units)
    if done:
        lines.append(f"{done} runs are done already")
    if seconds is None:
        lines.append("no estimate of the hours: it takes a finished run in that folder, or a recipe with `images`")
    else:
        left = seconds * (total - done)
        lines.append(f"{basis}: {duration(left)} of computing, {duration(left / at_a_time)} with {at_a_time} at a time")
    return lines


def _measured(folder: Path) -> float | None:
    """The mean time of the finished runs in that folder."""
    if not (folder / UNITS_FOLDER).is_dir():
        return None
    results = [read_result(place) for place in sorted((folder / UNITS_FOLDER).iterdir())]
    return seconds_of_a_unit([result for result in results if result is not None])
