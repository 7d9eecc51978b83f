"""Differences, bootstrap intervals and lines, against values by hand and by brute force."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from wilds_targeted.errors import ConfigError, DataError
from wilds_targeted.experiments.report.analysis import FitChoice
from wilds_targeted.experiments.report.answers import Answers, score
from wilds_targeted.experiments.report.breakdown import by_class, by_domain
from wilds_targeted.experiments.report.comparison import Interval, difference, wider_interval
from wilds_targeted.experiments.report.fits import Fit, fit_line, given_fit, read_points


def test_pairs_by_hand() -> None:
    found = difference({0: 0.44, 1: 0.52, 7: 0.9}, {0: 0.40, 1: 0.50, 2: 0.1})
    assert found.seeds == (0, 1)
    assert found.mean == pytest.approx(0.03)
    assert found.error == pytest.approx(0.01)  # differences 0.04 and 0.02: deviation 0.02/sqrt(2), over sqrt(2)
    assert found.counts == (2, 2)
    # Of the four equally likely resamples one has twice the smaller difference and one twice the larger.
    assert found.interval == Interval(pytest.approx(0.02), pytest.approx(0.04))


def test_few_pairs_are_resampled_in_every_way() -> None:
    differences = [0.01, 0.05, -0.02, 0.11, 0.03]
    found = difference(dict(enumerate(differences)), dict.fromkeys(range(5), 0.0))
    everything = [np.mean(each) for each in itertools.product(differences, repeat=5)]
    assert found.interval is not None
    assert (found.interval.low, found.interval.high) == pytest.approx(
        np.quantile(everything, [0.025, 0.975], method="inverted_cdf")
    )


def test_many_pairs_are_resampled_at_random_and_always_the_same() -> None:
    differences = [0.013, 0.051, -0.022, 0.117, 0.034, 0.071]
    found = difference(dict(enumerate(differences)), dict.fromkeys(range(6), 0.0))
    everything = [np.mean(each) for each in itertools.product(differences, repeat=6)]
    assert found.interval is not None
    assert (found.interval.low, found.interval.high) == pytest.approx(
        np.quantile(everything, [0.025, 0.975]), abs=0.002
    )
    assert found == difference(dict(enumerate(differences)), dict.fromkeys(range(6), 0.0))


def test_without_pairs_both_sides_are_drawn() -> None:
    found = difference({0: 0.5, 1: 0.7}, {2: 0.1, 3: 0.3, 4: 0.2})
    assert not found.is_paired
    assert found.mean == pytest.approx(0.4)
    assert found.error == pytest.approx(math.sqrt(0.02 / 2 + 0.01 / 3))
    assert found.interval is not None
    everything = [
        np.mean(one) - np.mean(other)
        for one in itertools.product([0.5, 0.7], repeat=2)
        for other in itertools.product([0.1, 0.3, 0.2], repeat=3)
    ]
    assert found.interval.low == pytest.approx(np.quantile(everything, 0.025), abs=0.02)
    assert found.interval.high == pytest.approx(np.quantile(everything, 0.975), abs=0.02)
    single = difference({0: 0.5}, {0: 0.1})
    assert (single.mean, single.error, single.interval) == (pytest.approx(0.4), None, None)


def test_scores_are_wilds_own() -> None:
    import torch
    from wilds.common.metrics.all_metrics import F1, Accuracy, Recall

    generator = np.random.default_rng(3)
    truth, answers = generator.integers(0, 6, 80), generator.integers(0, 8, 80)  # two classes nobody has
    right, present, named = (
        np.bincount(each, weights, minlength=8)[None].astype(float)
        for each, weights in ((truth, truth == answers), (truth, None), (answers, None))
    )
    metrics = {"acc_avg": Accuracy(), "F1-macro_all": F1(average="macro"), "recall-macro_all": Recall(average="macro")}
    for name, metric in metrics.items():
        expected = metric.compute(torch.tensor(answers), torch.tensor(truth))[metric.agg_metric_field]
        assert score(name, right, present, named)[0] == pytest.approx(expected, abs=1e-6), name


def made_answers(domains: list[int], labels: list[int], *predictions: list[int]) -> tuple[Answers, list[Any]]:
    members = [SimpleNamespace(run=SimpleNamespace(path=Path(str(number)))) for number in range(len(predictions))]
    view: Any = SimpleNamespace(
        domains=np.array(domains),
        labels=np.array(labels),
        domain_names=tuple(f"camera {number}" for number in range(max(domains) + 1)),
        class_names=("empty", "cow", "pig", "nobody"),
        field="camera",
    )
    predicted = {member.run.path: np.array(each) for member, each in zip(members, predictions, strict=True)}
    return Answers(view, predicted), members


LABELS = [0, 1, 2, 0, 1, 1, 2, 2, 0, 1]
FIVE = [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
BEFORE = [0, 0, 0, 0, 1, 2, 2, 0, 0, 0]
AFTER = [0, 1, 0, 0, 1, 1, 2, 2, 1, 1]


def macro_f1(labels: list[int], predicted: list[int]) -> float:
    scores = []
    for label in set(labels):
        right = sum(one == label == other for one, other in zip(labels, predicted, strict=True))
        scores.append(2 * right / (labels.count(label) + predicted.count(label)))
    return sum(scores) / len(scores)


def test_resampled_domains_are_those_of_brute_force() -> None:
    answers, members = made_answers(FIVE, LABELS, BEFORE, AFTER)
    assert answers.units == "5 test cameras"
    scores = answers.resampled(members, "F1-macro_all")
    found = wider_interval([scores[Path("1")]], [scores[Path("0")]], is_paired=True)
    everything = []
    for drawn in itertools.product(range(5), repeat=5):
        rows = [2 * domain + example for domain in drawn for example in (0, 1)]
        labels, before, after = ([each[row] for row in rows] for each in (LABELS, BEFORE, AFTER))
        everything.append(macro_f1(labels, after) - macro_f1(labels, before))
    assert found.low == pytest.approx(np.quantile(everything, 0.025), abs=0.05)
    assert found.high == pytest.approx(np.quantile(everything, 0.975), abs=0.05)
    mean = np.mean(scores[Path("1")] - scores[Path("0")])
    assert len(scores[Path("0")]) == 10_000
    assert mean == pytest.approx(np.mean(everything), abs=4 * np.std(everything) / math.sqrt(10_000))


def test_seeds_are_drawn_in_pairs_or_on_their_own() -> None:
    # Two runs on a side, the second 0.2 better in every resample; the other method is always 0.1 worse.
    one = [np.full(4_000, 0.5), np.full(4_000, 0.7)]
    other = [scores - 0.1 for scores in one]
    assert wider_interval(one, other, is_paired=True) == Interval(pytest.approx(0.1), pytest.approx(0.1))
    # On their own each side's mean is 0, 0.1 or 0.2 above its lowest: with 1 in 16 the best against the worst.
    assert wider_interval(one, other, is_paired=False) == Interval(pytest.approx(-0.1), pytest.approx(0.3))
    assert wider_interval(one, [np.zeros(4_000)], is_paired=False) == Interval(pytest.approx(0.5), pytest.approx(0.7))


def test_few_domains_let_examples_be_drawn() -> None:
    answers, members = made_answers([0] * 5 + [1] * 5, LABELS, BEFORE)
    assert answers.units == "10 examples"
    scores = answers.resampled(members, "acc_avg")[Path("0")]
    assert np.mean(scores) == pytest.approx(0.5, abs=0.02)
    assert np.std(scores) == pytest.approx(math.sqrt(0.5 * 0.5 / 10), rel=0.1)  # the binomial's


def test_who_gains_by_hand() -> None:
    answers, (before, after) = made_answers(FIVE, LABELS, BEFORE, AFTER)
    pair: Any = SimpleNamespace(members=[before]), SimpleNamespace(members=[after])
    domains = by_domain(answers, *pair)
    assert [(line.name, line.examples, line.baseline, line.method) for line in domains.lines] == [
        ("camera 0", 2, 0.5, 1.0),
        ("camera 2", 2, 0.5, 1.0),
        ("camera 3", 2, 0.5, 1.0),
        ("camera 1", 2, 0.5, 0.5),
        ("camera 4", 2, 0.5, 0.5),
    ]
    assert domains.summary == (
        "Of 5 cameras 3 gain, 0 lose, 2 stay the same. The greatest gain: camera 0, 50.0 → 100.0 (2 examples)."
    )
    classes = by_class(answers, *pair)
    # cow, 4 examples: 1 right of 1 named, 2/5; then 4 of 5, 8/9. empty, 3 examples: 3 of 7, 6/10; then 2 of 3, 4/6.
    assert [(line.name, line.examples) for line in classes.lines] == [("cow", 4), ("pig", 3), ("empty", 3)]
    assert [line.baseline for line in classes.lines] == pytest.approx([2 / 5, 2 / 5, 6 / 10])
    assert [line.method for line in classes.lines] == pytest.approx([8 / 9, 4 / 5, 4 / 6])


def test_effective_robustness_by_hand() -> None:
    assert given_fit(0.5, 0.1, "linear").robustness(0.4, 0.36) == pytest.approx(0.06)
    probit = given_fit(2, 0.5, "probit")
    assert probit(0.3) == pytest.approx(norm.cdf(2 * norm.ppf(0.3) + 0.5))
    assert given_fit(1, 1, "logit")(0.5) == pytest.approx(1 / (1 + math.exp(-1)))


@pytest.mark.parametrize("scale", ["linear", "probit", "logit"])
def test_a_fit_finds_the_line_again(scale: str) -> None:
    line = Fit(0.8, -0.1, scale, "")
    found = fit_line([(x, line(x)) for x in (0.2, 0.3, 0.5, 0.8)] + [(0.0, 0.0)] * (scale != "linear"), scale, "points")
    assert (found.slope, found.intercept, found.r_squared) == (
        pytest.approx(0.8),
        pytest.approx(-0.1),
        pytest.approx(1),
    )
    assert found.source == "points, 4 points"


def test_a_fit_of_scattered_points_by_hand() -> None:
    found = fit_line([(0.1, 0.1), (0.2, 0.3), (0.3, 0.2)], "linear", "hand")
    assert (found.slope, found.intercept) == (pytest.approx(0.5), pytest.approx(0.1))
    assert found.r_squared == pytest.approx(0.25)
    with pytest.raises(DataError, match="needs points with different in-domain scores, got 2 without"):
        fit_line([(0.1, 0.1), (0.1, 0.3)], "linear", "hand")


def test_points_are_read_from_both_forms(tmp_path: Path) -> None:
    path = tmp_path / "points.csv"
    path.write_text("model,id,ood\na,0.5,0.25\nb,0.7,0.5\n")
    assert read_points(path, "iwildcam", "id_test", "test", "F1-macro_all") == [(0.5, 0.25), (0.7, 0.5)]
    path.write_text(
        "train_set,test_set,shift_set,test_macro_f1,shift_macro_f1,test_accuracy,shift_accuracy\n"
        "IWildCamOfficialV2-train,IWildCamOfficialV2-id_test,IWildCamOfficialV2-ood_test,0.4,0.3,0.8,0.7\n"
        "IWildCamOfficialV2-train,IWildCamOfficialV2-id_val,IWildCamOfficialV2-ood_test,0.9,0.9,0.9,0.9\n"
        "Camelyon17-train,Camelyon17-id_val,Camelyon17-ood_test,,,0.95,0.85\n"
    )
    assert read_points(path, "iwildcam", "id_test", "test", "F1-macro_all") == [(0.4, 0.3)]
    assert read_points(path, "iwildcam", "id_test", "test", "acc_avg") == [(0.8, 0.7)]
    assert read_points(path, "camelyon17", "id_val", "test", "acc_avg") == [(0.95, 0.85)]
    with pytest.raises(DataError, match=r"Miller et al\.'s file, has no F1-macro_all of birdcalls"):
        read_points(path, "birdcalls", "id_test", "test", "F1-macro_all")
    for text, message in {
        "x,y\n1,2\n": "columns id and ood are expected, got x, y",
        "id,ood\n0.5,much\n": "numbers are expected",
        "id,ood\n50,25\n": "shares from 0 to 1 are expected",
    }.items():
        path.write_text(text)
        with pytest.raises(DataError, match=message):
            read_points(path, "iwildcam", "id_test", "test", "F1-macro_all")


def test_points_at_the_ends_have_no_place_on_scaled_axes() -> None:
    inside = [(norm.cdf(x), norm.cdf(2 * x - 1)) for x in (-0.5, 0.0, 0.5)]
    found = fit_line([*inside, (1.0, 0.5), (0.5, 0.0)], "probit", "by hand")
    assert (found.slope, found.intercept) == pytest.approx((2, -1))
    assert found.source == "by hand, 3 points"


def test_one_line_at_a_time() -> None:
    with pytest.raises(ConfigError, match="three ways to one line"):
        FitChoice(given=(1, 0), methods=("a",))
    with pytest.raises(ConfigError, match="--fit-scale probit is of a line: give one"):
        FitChoice(scale="probit")
    with pytest.raises(ConfigError, match="two finite numbers"):
        given_fit(math.nan, 0, "linear")
