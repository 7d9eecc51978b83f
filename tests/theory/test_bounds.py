"""Every theorem of section 4.2: values worked out by hand, and its inequality over random domains."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from wilds_targeted.errors import ParameterError
from wilds_targeted.theory.bounds import (
    concentrated,
    eigenvalue_spread,
    theorem_1,
    theorem_2,
    theorem_2_general,
    theorem_3,
    theorem_3_applies,
    theorem_3_window,
    theorem_4,
)
from wilds_targeted.theory.estimators import domain_invariant, estimate, excess_ood_risk, expected_excess_risk
from wilds_targeted.theory.setting import Augmentation, LinearSetting

PAPER = LinearSetting()
HAND = LinearSetting(p_robust=2, p_spurious=18, sigma2=0.5, tau2=2, norm_robust=3)
"""gamma^2 = 4, p_dom = 20, and c = 2 * 4/5 * 9 = 14.4."""

SETTINGS = [
    HAND,
    LinearSetting(p_robust=1, p_spurious=1, sigma2=1.0, tau2=1.05),
    LinearSetting(p_robust=3, p_spurious=30, sigma2=0.2, tau2=0.5, norm_robust=0.7),
    LinearSetting(p_robust=6, p_spurious=6, sigma2=0.01, tau2=3.0),
]


def name(setting: LinearSetting) -> str:
    return f"{setting.p_robust}+{setting.p_spurious} features, gamma2={setting.gamma2:g}"


def test_theorem_1_by_hand() -> None:
    assert theorem_1(HAND, 1) == pytest.approx(14.4 * 0.95)
    assert theorem_1(HAND, 15) == pytest.approx(3.6)
    assert theorem_1(PAPER, 100) == pytest.approx(405 / 505 / 1.1)


def test_theorem_1_says_nothing_from_as_many_domains_as_features() -> None:
    assert theorem_1(HAND, 19) > 0
    assert theorem_1(HAND, 20) == theorem_1(HAND, 1000) == 0


@pytest.mark.parametrize(
    "setting", [*SETTINGS, LinearSetting(p_robust=2, p_spurious=8, sigma2=3.0, tau2=1.0)], ids=name
)
def test_theorem_1_holds(setting: LinearSetting) -> None:
    """For the expectation from eigenvalues, by a margin, and for sampled models as far as they can tell."""
    rng = np.random.default_rng(0)
    size = setting.p_domain
    for count in sorted({1, size // 2, size - 1}):
        bound = theorem_1(setting, count)
        expected = expected_excess_risk(setting, count, Augmentation.NONE, rng, draws=200)
        assert expected.mean - 4 * expected.standard_error > bound
        sampled = sample(setting, count, Augmentation.GENERIC, rng)
        assert sampled.mean() + 4 * sampled.std() / math.sqrt(len(sampled)) > bound


def test_theorem_1_is_close_where_domains_are_few_and_far_apart() -> None:
    rng = np.random.default_rng(0)
    expected = expected_excess_risk(PAPER, 50, Augmentation.NONE, rng, draws=3)
    assert theorem_1(PAPER, 50) < expected.mean < 1.001 * theorem_1(PAPER, 50)


def sample(setting: LinearSetting, count: int, augmentation: Augmentation, rng: np.random.Generator) -> Any:
    return np.array(
        [
            excess_ood_risk(setting, estimate(setting, setting.draw_domains(count, rng), augmentation))
            for _ in range(200)
        ]
    )


def test_theorem_2_by_hand() -> None:
    # 2 (2 + 2) log(4 * 400 * 2) = 8 * 8.0709 = 64.567, so eta = sqrt(64.567 / 400) = 0.40177
    assert eigenvalue_spread(HAND, 400) == pytest.approx(0.40177, abs=1e-5)
    # 14.4 (1/400 + 64.567 / (400 * (1 + 4 * 0.5)^2)) = 14.4 (0.0025 + 0.0179353)
    assert theorem_2(HAND, 400, r=0.5) == pytest.approx(0.294268, abs=1e-6)
    # 1 + 4 * 0.59823 = 3.39292, so 14.4 (0.0025 + 0.161417 / 11.51191)
    assert theorem_2_general(HAND, 400) == pytest.approx(0.237912, abs=1e-5)
    # r0 = 0.5 has log(6400) = 8.76405: eta^2 = 0.175281, eta = 0.418666, 14.4 (0.00125 + 0.175281 / 3.325336^2)
    assert eigenvalue_spread(HAND, 400, r0=0.5) == pytest.approx(0.418666, abs=1e-6)
    assert theorem_2_general(HAND, 400, r0=0.5) == pytest.approx(0.246260, abs=1e-5)


def test_theorem_2_needs_enough_domains() -> None:
    # D > 8 log(8 D): 8 log(8 * 47) = 47.44, 8 log(8 * 48) = 47.61
    assert math.isnan(theorem_2_general(HAND, 47))
    assert theorem_2_general(HAND, 48) > 0
    # With r = 1/2 four times as many: 32 log(8 * 242) = 242.20, 32 log(8 * 243) = 242.33
    assert math.isnan(theorem_2(HAND, 242))
    assert theorem_2(HAND, 243) > 0
    # With r0 = 0.1 8 log(80 D): 8 log(80 * 69) = 68.93, 8 log(80 * 68) = 68.81
    assert math.isnan(theorem_2_general(HAND, 68, r0=0.1))
    assert theorem_2_general(HAND, 69, r0=0.1) > 0


def test_theorem_2_needs_gamma2_above_1() -> None:
    for tau2 in (0.5, 0.4):
        setting = replace(HAND, tau2=tau2)
        assert math.isnan(theorem_2(setting, 10**6))
        assert math.isnan(theorem_2_general(setting, 10**6))
    assert theorem_2_general(replace(HAND, tau2=0.51), 10**6) > 0


def test_the_general_form_is_where_the_simple_one_comes_to() -> None:
    for count in (300, 1000, 30_000):
        best = 1 - eigenvalue_spread(HAND, count)
        assert theorem_2(HAND, count, r=best - 1e-9) == pytest.approx(theorem_2_general(HAND, count), rel=1e-6)
        assert theorem_2(HAND, count, r=best / 2) > theorem_2_general(HAND, count)
        assert math.isnan(theorem_2(HAND, count, r=best + 1e-9))


@pytest.mark.parametrize("setting", SETTINGS, ids=name)
def test_theorem_2_holds(setting: LinearSetting) -> None:
    rng = np.random.default_rng(0)
    first = next(count for count in range(1, 10_000) if not math.isnan(theorem_2_general(setting, count)))
    for count in (first, 3 * first, 10 * first):
        expected = expected_excess_risk(setting, count, Augmentation.TARGETED, rng, draws=200)
        most = expected.mean + 4 * expected.standard_error
        bounds = [theorem_2_general(setting, count, r0) for r0 in (1.0, 0.3, 0.01)]
        bounds += [theorem_2(setting, count, r) for r in (0.01, 0.3, 0.6)]
        assert not math.isnan(bounds[0])
        assert all(most < bound for bound in bounds if not math.isnan(bound))
        sampled = sample(setting, count, Augmentation.TARGETED, rng)
        assert sampled.mean() + 4 * sampled.std() / math.sqrt(len(sampled)) < bounds[0]
    assert sum(not math.isnan(bound) for bound in bounds) >= 5


def eigenvalues(setting: LinearSetting, count: int, draws: int) -> Any:
    """Of M_robust, one row a draw."""
    rng = np.random.default_rng(0)
    mu = math.sqrt(setting.tau2) * rng.standard_normal((draws, count, setting.p_robust))
    return np.linalg.eigvalsh(mu.transpose(0, 2, 1) @ mu / count)


def outside(setting: LinearSetting, values: Any, spread: float) -> float:
    """How often some eigenvalue is out of its bounds."""
    low, high = setting.tau2 * (1 - spread), setting.tau2 * (1 + spread + spread**2)
    return float(((values[:, 0] < low) | (values[:, -1] > high)).mean())


@pytest.mark.parametrize("setting", SETTINGS, ids=name)
@pytest.mark.parametrize("count", [1, 2, 5, 30, 100])
def test_eigenvalues_are_as_concentrated_as_the_lemma_says(setting: LinearSetting, count: int) -> None:
    values = eigenvalues(setting, count, 2000)
    for r0 in (1.0, 0.3):
        chance = r0 / count
        deviation = math.sqrt(chance * (1 - chance) / len(values))
        assert outside(setting, values, eigenvalue_spread(setting, count, r0)) <= chance + 4 * deviation


@pytest.mark.parametrize("setting", SETTINGS, ids=name)
def test_concentrated_eigenvalues_bound_the_risk(setting: LinearSetting) -> None:
    """With the chance as measured, for narrow bounds and wide ones: much tighter than Theorem 2."""
    for count in (5, 40, 200):
        values = eigenvalues(setting, count, 2000)
        risks = (setting.sigma2 * (setting.tau2 - values) / (values + setting.sigma2)) ** 2
        risk = setting.norm_robust**2 * risks.mean() / (setting.sigma2 + setting.tau2)
        for spread in (0.1, 0.3, 0.5, 0.9, 0.999):
            # Risk and chance are those of one sample, for which the inequality holds as well: no margin is needed.
            assert risk <= concentrated(setting, spread, outside(setting, values, spread))


def test_the_bound_for_concentrated_eigenvalues_by_hand() -> None:
    # 14.4 (0.25 / (1 + 4 * 0.5)^2 + 0.1)
    assert concentrated(HAND, 0.5, 0.1) == pytest.approx(14.4 * (1 / 36 + 0.1))
    # It is met where all eigenvalues are at their lower bound.
    v = (HAND.sigma2 * 1.0 / (1.0 + HAND.sigma2)) ** 2 / (HAND.sigma2 + HAND.tau2) * 9
    assert concentrated(HAND, 0.5, 0) == pytest.approx(v)


def test_theorem_3s_window_by_hand() -> None:
    # K = 7 log(1010) = 48.4239, 1 / 0.9^2 = 1.234568: 4 * 48.4239 * 1.234568 and 505 - 4 * 48.4239
    window = theorem_3_window(PAPER)
    assert window == pytest.approx((239.1306, 311.3042), abs=1e-3)
    assert [theorem_3_applies(PAPER, count) for count in (239, 240, 275, 311, 312)] == [False, True, True, True, False]
    # 1/1.1 (1 - 275/505 - 2 * 48.4239 / 275)
    assert theorem_3(PAPER, 275) == pytest.approx(0.0938831, abs=1e-6)
    assert math.isnan(theorem_3(PAPER, 239))
    assert math.isnan(theorem_3(PAPER, 312))


def test_theorem_3s_window_is_open_only_with_the_derivations_condition() -> None:
    """The main text's condition on p_robust lacks the "- 2": 7 < 8.19 holds where the window is closed."""
    for p_robust in range(1, 12):
        setting = replace(PAPER, p_robust=p_robust)
        stated = setting.p_domain / math.log(2 * setting.p_domain) / (4 * (1 + 10**2 / 9**2))
        assert (theorem_3_window(setting) is not None) == (p_robust < stated - 2) == (p_robust <= 6)
        assert (p_robust < stated) == (p_robust <= 8)
    assert not theorem_3_applies(replace(PAPER, p_robust=7), 280)


def test_theorem_3_needs_gamma2_above_1() -> None:
    large = LinearSetting(p_robust=1, p_spurious=10_000, sigma2=1.0)
    assert theorem_3_window(replace(large, tau2=1.0)) is None
    assert theorem_3_window(replace(large, tau2=0.9)) is None
    assert math.isnan(theorem_3(replace(large, tau2=0.9), 500))
    assert theorem_3_window(replace(large, tau2=2.0)) is not None


WINDOWS = [
    PAPER,
    LinearSetting(p_robust=1, p_spurious=250, sigma2=1.0, tau2=3.0, norm_robust=0.5),
    LinearSetting(p_robust=2, p_spurious=200, sigma2=0.02, tau2=0.5),
]


@pytest.mark.parametrize("setting", WINDOWS, ids=name)
def test_theorem_3_holds_in_its_window(setting: LinearSetting) -> None:
    rng = np.random.default_rng(0)
    window = theorem_3_window(setting)
    assert window is not None
    first, last = math.floor(window.low) + 1, math.ceil(window.high) - 1
    for count in (first, (first + last) // 2, last):
        assert theorem_3_applies(setting, count)
        without = expected_excess_risk(setting, count, Augmentation.NONE, rng, draws=4)
        with_targeted = expected_excess_risk(setting, count, Augmentation.TARGETED, rng, draws=100)
        error = math.hypot(without.standard_error, with_targeted.standard_error)
        assert without.mean - with_targeted.mean - 5 * error > theorem_3(setting, count) > 0


@pytest.mark.parametrize("setting", WINDOWS, ids=name)
def test_theorem_3_follows_from_the_first_two(setting: LinearSetting) -> None:
    window = theorem_3_window(setting)
    assert window is not None
    for count in range(math.floor(window.low) + 1, math.ceil(window.high)):
        proven = theorem_1(setting, count) - theorem_2(setting, count, r=1 / setting.gamma2)
        assert 0 < theorem_3(setting, count) < proven


def test_the_appendixs_lemma_fails_by_a_factor() -> None:
    """As it stands in the paper, for the paper's own setting in the middle; divided by D p_dom, it holds."""
    p, size, count = 5, 505, 252
    left = 1 - count / size - (2 + math.log(4 * size * p) * (p + 2)) / (2 * count)
    right = -((count - size / 2) ** 2) + size**2 / 4 - 2 * size * (p + 2) * math.log(2 * size)
    assert left == pytest.approx(0.36896, abs=1e-5)
    assert right == pytest.approx(14847.8, abs=0.1)
    assert left > right / (count * size)
    assert theorem_4(PAPER) * right / (count * size) == pytest.approx(theorem_3(PAPER, count))


def test_theorem_4_is_exact() -> None:
    assert theorem_4(HAND) == pytest.approx(14.4)
    assert theorem_4(PAPER) == pytest.approx(1 / 1.1)
    for setting in SETTINGS:
        assert theorem_4(setting) == pytest.approx(excess_ood_risk(setting, domain_invariant(setting)), rel=1e-12)


def test_theorem_4_is_what_examples_show() -> None:
    """New domains, and the model that uses object features alone, against the oracle on the same examples."""
    rng = np.random.default_rng(0)
    shrink = HAND.tau2 / (HAND.sigma2 + HAND.tau2)
    differences = []
    for _ in range(4000):
        examples = HAND.draw_examples(HAND.draw_domains(1, rng), 2, rng)
        by_object = examples.y - examples.x[:, HAND.obj] @ HAND.beta_obj
        by_oracle = by_object - shrink * examples.x[:, HAND.blocks["robust"]] @ HAND.beta_robust
        differences.append((by_object**2 - by_oracle**2).mean())
    error = np.std(differences) / math.sqrt(len(differences))
    assert abs(np.mean(differences) - theorem_4(HAND)) < 4 * error
    assert error < 0.05 * theorem_4(HAND)


def test_what_is_out_of_range_is_told_in_one_line() -> None:
    calls: list[tuple[Any, str]] = [
        (lambda: theorem_1(HAND, 0), "count=0: expected is a whole number from 1 up"),
        (lambda: theorem_2(HAND, 0), "count=0"),
        (lambda: theorem_2_general(HAND, -3), "count=-3"),
        (lambda: theorem_3(HAND, 0), "count=0"),
        (lambda: theorem_2(HAND, 100, r=1), "r=1: expected is a number between 0 and 1, both excluded"),
        (lambda: theorem_2(HAND, 100, r=0), "r=0: expected"),
        (lambda: theorem_2_general(HAND, 100, r0=0), "r0=0: expected is a number above 0 and at most 1"),
        (lambda: theorem_2_general(HAND, 100, r0=1.5), "r0=1.5: expected"),
        (lambda: concentrated(HAND, 1.0, 0.1), "gamma.2 = 4 and a spread of 1: expected are gamma.2 above 1"),
        (lambda: concentrated(replace(HAND, tau2=0.5), 0.5, 0.1), "gamma.2 = 1 and a spread of 0.5"),
    ]
    for call, words in calls:
        with pytest.raises(ParameterError, match=words) as caught:
            call()
        assert "\n" not in str(caught.value)
