"""What is found out about a section's methods: differences, effective robustness, who gains and who loses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from wilds_targeted.errors import ConfigError, DataError, WildsTargetedError, one_line
from wilds_targeted.experiments.report.answers import Answers, can_score, open_dataset, read_answers
from wilds_targeted.experiments.report.breakdown import Breakdown, by_class, by_domain
from wilds_targeted.experiments.report.comparison import Difference, difference, wider_interval
from wilds_targeted.experiments.report.fits import TESTBED, Fit, fit_line, given_fit, read_points
from wilds_targeted.experiments.report.gathering import find_method
from wilds_targeted.experiments.report.methods import Method, Section
from wilds_targeted.experiments.results import Estimate

_WITH_PUBLISHED_FIT = "iwildcam"
"""The data set whose line the paper draws."""


@dataclass(frozen=True)
class FitChoice:
    """Which line effective robustness is measured against; none by default.

    Args:
        given: Slope and intercept.
        methods: Whose runs are fitted.
        points: A file of points to fit.
        scale: Of both axes.
    """

    given: tuple[float, float] | None = None
    methods: tuple[str, ...] = ()
    points: Path | None = None
    scale: str = "linear"

    def __post_init__(self) -> None:
        if sum(map(bool, (self.given, self.methods, self.points))) > 1:
            raise ConfigError("--fit, --fit-to and --fit-points are three ways to one line: give one of them.")
        if self.scale != "linear" and not self:
            raise ConfigError(f"--fit-scale {self.scale} is of a line: give one with --fit, --fit-to or --fit-points.")

    def __bool__(self) -> bool:
        return bool(self.given or self.methods or self.points)


@dataclass(frozen=True)
class Comparison:
    """One method against another.

    Args:
        method: The one.
        baseline: The other.
        differences: By split.
        breakdowns: By domain and by class, on the out-of-domain split; empty without the data set.
    """

    method: Method
    baseline: Method
    differences: Mapping[str, Difference]
    breakdowns: tuple[Breakdown, ...] = ()


@dataclass(frozen=True)
class Findings:
    """A section with all that was found.

    Args:
        section: The methods; its notes are all there are.
        comparisons: Pairs of methods.
        fit: The line; None where there is none.
        robustness: For each method its effective robustness; empty without a line.
        units: What the wider intervals resample beside seeds; empty where there are none.
    """

    section: Section
    comparisons: tuple[Comparison, ...]
    fit: Fit | None
    robustness: tuple[Estimate, ...]
    units: str


def analyse(section: Section, compare: Sequence[tuple[str, str]], root_dir: Path | None, choice: FitChoice) -> Findings:
    """Compare the methods of a section.

    Args:
        section: The methods.
        compare: Names of methods, each with that of its baseline; every one against the unaugmented one by default.
        root_dir: Where the data set is; None where breakdowns are not wanted.
        choice: The line for effective robustness.
    """
    notes = list(section.notes)
    pairs = _pairs(section, compare, notes)
    comparisons = [_compare(section, *pair) for pair in pairs]
    notes += [note for comparison in comparisons for note in _about_pairs(comparison)]
    answers = _answers(section, root_dir, notes) if pairs else None
    if answers is not None:
        comparisons = _looked_into(section, comparisons, answers)
    fit = _fit(section, choice)
    if fit is None and section.dataset == _WITH_PUBLISHED_FIT:
        notes.append(
            "No line for effective robustness: Miller et al. print no coefficients, and none are made up here. Their "
            f"points are in results.csv of {TESTBED}: give --fit-points results.csv, or a line of your own (--fit, "
            "--fit-to)."
        )
    robustness = [_robustness(section, method, fit) for method in section.methods] if fit else []
    wider = answers is not None and can_score(section.metric)
    return Findings(
        replace(section, notes=tuple(notes)),
        tuple(comparisons),
        fit,
        tuple(robustness),
        answers.units if answers is not None and wider else "",
    )


def _pairs(section: Section, compare: Sequence[tuple[str, str]], notes: list[str]) -> list[tuple[Method, Method]]:
    if compare:
        return [(find_method(section, one), find_method(section, other)) for one, other in compare]
    plain = [method for method in section.methods if method.is_unaugmented]
    if len(plain) != 1:
        if len(section.methods) > 1:
            notes.append(
                f"No differences between methods: {len(plain)} of them are unaugmented ones to compare with; choose "
                f"with --compare."
            )
        return []
    return [(method, plain[0]) for method in section.methods if method is not plain[0]]


def _compare(section: Section, method: Method, baseline: Method) -> Comparison:
    found = {
        split: difference(method.values(split, section.metric), baseline.values(split, section.metric))
        for split in section.splits
    }
    return Comparison(method, baseline, found)


def _about_pairs(comparison: Comparison) -> list[str]:
    """What a reader must know of the pairs."""
    found = next(iter(comparison.differences.values()))
    title = f"{comparison.method.title} against {comparison.baseline.title}"
    if not found.is_paired:
        return [f"{title}: fewer than two seeds are the same, so the runs are not compared in pairs."]
    left_out = set(comparison.method.seeds).symmetric_difference(comparison.baseline.seeds)
    if left_out:
        return [f"{title}: compared on the {len(found.seeds)} seeds that both have."]
    return []


def _answers(section: Section, root_dir: Path | None, notes: list[str]) -> Answers | None:
    if root_dir is None:
        notes.append(
            "No breakdown by domain and class, and no intervals over test domains: they need the data set (--root_dir)."
        )
        return None
    try:
        return read_answers(section, open_dataset(section, root_dir), section.out_of_domain)
    except WildsTargetedError as error:
        notes.append(f"The breakdown by domain and class is left out: {one_line(error)}")
        return None


def _looked_into(section: Section, comparisons: Sequence[Comparison], answers: Answers) -> list[Comparison]:
    """With breakdowns, and intervals over what the test split consists of."""
    split, scores = section.out_of_domain, {}
    if can_score(section.metric):
        members = [member for method in section.methods for member in method.members]
        scores = answers.resampled(members, section.metric)
    looked_into = []
    for comparison in comparisons:
        found = comparison.differences[split]
        sides = [
            [
                scores[member.run.path]
                for member in method.members
                if scores and (not found.is_paired or member.run.seed in found.seeds)
            ]
            for method in (comparison.method, comparison.baseline)
        ]
        if all(sides):
            found = replace(found, wider=wider_interval(*sides, is_paired=found.is_paired))
        pair = answers, comparison.baseline, comparison.method
        looked_into.append(
            replace(
                comparison,
                differences={**comparison.differences, split: found},
                breakdowns=(by_domain(*pair), by_class(*pair)),
            )
        )
    return looked_into


def _fit(section: Section, choice: FitChoice) -> Fit | None:
    if choice.given:
        return given_fit(*choice.given, choice.scale)
    splits = section.in_domain, section.out_of_domain
    if choice.points:
        points = read_points(choice.points, section.dataset, *splits, section.metric)
        return fit_line(points, choice.scale, str(choice.points))
    if choice.methods:
        methods = [find_method(section, name) for name in choice.methods]
        points = [_point(section, method, seed) for method in methods for seed in method.seeds]
        return fit_line(points, choice.scale, f"runs of {', '.join(method.title for method in methods)}")
    return None


def _point(section: Section, method: Method, seed: int) -> tuple[float, float]:
    in_domain, out_of_domain = (
        method.values(split, section.metric)[seed] for split in (section.in_domain, section.out_of_domain)
    )
    return in_domain, out_of_domain


def _robustness(section: Section, method: Method, fit: Fit) -> Estimate:
    """Mean and standard error over seeds of each run's distance from the line."""
    points = [_point(section, method, seed) for seed in method.seeds]
    if any(not 0 <= value <= 1 for point in points for value in point):
        raise DataError(f"{method.title}: {section.metric} is no share from 0 to 1, so there is no line for it")
    for in_domain, _ in points:
        if not -1 <= fit(in_domain) <= 2:
            raise ConfigError(
                f"the line with the slope {fit.slope:g} and the intercept {fit.intercept:g} predicts "
                f"{fit(in_domain):g} where {method.title} has {in_domain:g} in-domain: a line of shares from 0 to 1 "
                f"is expected, not of per cent"
            )
    return Estimate.of([fit.robustness(*point) for point in points])
