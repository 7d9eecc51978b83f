"""The numbers of a report in full precision, as shares, for other programs."""

from __future__ import annotations

from collections.abc import Sequence

from wilds_targeted.experiments.data_figures.drawing import Table
from wilds_targeted.experiments.report.analysis import Findings
from wilds_targeted.experiments.report.methods import Section


def results_csv(sections: Sequence[Section]) -> Table:
    """Every mean in full precision, as shares."""
    lines = []
    for section in sections:
        for method in section.methods:
            for split in section.splits:
                found, printed = method.estimate(split, section.metric), method.printed(split, section.metric)
                lines.append(
                    (
                        section.title,
                        method.title,
                        method.algorithm,
                        method.transform,
                        method.recipe.name if method.recipe else "",
                        split,
                        section.metric,
                        len(method.seeds),
                        " ".join(map(str, method.seeds)),
                        found.mean,
                        "" if found.error is None else found.error,
                        "" if printed is None else printed.mean,
                        "" if printed is None else printed.error,
                        "" if printed is None else printed.table,
                    )
                )
    return Table(
        (
            *("data", "method", "algorithm", "transform", "recipe", "split", "metric", "n_seeds", "seeds", "mean"),
            *("standard_error", "published_per_cent", "published_error_per_cent", "published_table"),
        ),
        lines,
    )


def runs_csv(sections: Sequence[Section]) -> Table:
    """Every run that counts, in its selected epoch."""
    lines = [
        (
            section.title,
            method.title,
            member.run.seed,
            member.epoch,
            split,
            section.metric,
            member.value(split, section.metric),
            str(member.run.path),
        )
        for section in sections
        for method in section.methods
        for member in method.members
        for split in section.splits
    ]
    return Table(("data", "method", "seed", "epoch", "split", "metric", "value", "log_dir"), lines)


def comparisons_csv(findings: Sequence[Findings]) -> Table:
    """Every difference, as shares."""
    lines = []
    for found in findings:
        for comparison in found.comparisons:
            for split, difference in comparison.differences.items():
                bounds = [
                    bound
                    for each in (difference.interval, difference.wider)
                    for bound in ((each.low, each.high) if each else ("", ""))
                ]
                error = "" if difference.error is None else difference.error
                seeds = " ".join(map(str, difference.seeds))
                names = comparison.method.title, comparison.baseline.title
                lines.append(
                    (found.section.title, *names, split, found.section.metric, difference.mean, error, seeds, *bounds)
                )
    header = ("data", "method", "baseline", "split", "metric", "difference", "standard_error", "paired_seeds")
    return Table((*header, "low_seeds", "high_seeds", "low_seeds_and_test", "high_seeds_and_test"), lines)


def robustness_csv(found: Findings) -> Table:
    """Effective robustness by method, as shares."""
    assert found.fit is not None
    line = found.fit.slope, found.fit.intercept, found.fit.scale, found.fit.source
    return Table(
        ("method", "effective_robustness", "standard_error", "slope", "intercept", "scale", "source"),
        [
            (method.title, each.mean, "" if each.error is None else each.error, *line)
            for method, each in zip(found.section.methods, found.robustness, strict=True)
        ],
    )


def breakdown_csv(found: Findings) -> Table:
    """Every domain and class of every comparison."""
    lines = [
        (
            *(comparison.method.title, comparison.baseline.title, broken.unit, line.name, line.examples),
            *(broken.score, line.baseline, line.method, line.gain),
        )
        for comparison in found.comparisons
        for broken in comparison.breakdowns
        for line in broken.lines
    ]
    return Table(
        ("method", "baseline", "unit", "name", "examples", "score", "baseline_score", "method_score", "gain"), lines
    )
