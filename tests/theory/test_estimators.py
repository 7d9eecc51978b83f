"""Every proposition of appendix C, from least squares on drawn and augmented examples and from measured risks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from wilds_targeted.errors import ParameterError
from wilds_targeted.theory.estimators import (
    domain_invariant,
    estimate,
    excess_ood_risk,
    expected_excess_risk,
    expected_id_risk,
    id_risk,
    ood_risk,
    oracle,
    oracle_risk,
    targeted,
    unaugmented,
)
from wilds_targeted.theory.setting import Augmentation, Domains, LinearSetting

SMALL = LinearSetting(
    p_obj=2, p_noise=2, p_robust=2, p_spurious=3, sigma2=0.4, tau2=1.3, sigma_epsilon=0.3, norm_obj=1.2, norm_robust=1.6
)


def least_squares(x: Any, y: Any) -> tuple[Any, Any]:
    """Weights without an intercept, and their standard errors without assuming that the linear model is true."""
    inverse = np.linalg.inv(x.T @ x)
    weights = inverse @ (x.T @ y)
    scores = (x * (y - x @ weights)[:, None]) @ inverse
    return weights, np.sqrt((scores**2).sum(axis=0))


@pytest.mark.parametrize("count", [3, 8], ids=["fewer domains than features", "more domains than features"])
@pytest.mark.parametrize("augmentation", Augmentation)
def test_least_squares_on_many_examples_finds_each_estimator(augmentation: Augmentation, count: int) -> None:
    rng = np.random.default_rng(count)
    domains = SMALL.draw_domains(count, rng)
    examples = SMALL.augment(SMALL.draw_examples(domains, 200_000, rng), augmentation, rng)
    weights, errors = least_squares(examples.x, examples.y)
    expected = np.concatenate([SMALL.beta_obj, np.zeros(2), estimate(SMALL, domains, augmentation)])
    # 72 weights in all cases together: the chance that a right one is five errors away is one in 24,000.
    assert (np.abs(weights - expected) < 5 * errors).all()
    # ... while every other model is refused.
    others = [estimate(SMALL, domains, each) for each in Augmentation] + [oracle(SMALL)]
    distances = [np.abs((weights[4:] - other) / errors[4:]).max() for other in others]
    same = [np.array_equal(other, expected[4:]) for other in others]
    assert sum(same) == (2 if augmentation in (Augmentation.NONE, Augmentation.GENERIC) else 1)
    assert min(distance for distance, is_same in zip(distances, same, strict=True) if not is_same) > 10


def test_least_squares_over_all_domains_finds_the_oracle() -> None:
    rng = np.random.default_rng(5)
    # With as many domains as examples, one shares its domain with one other on average: that at most doubles variances.
    domains = SMALL.draw_domains(200_000, rng)
    examples = SMALL.draw_examples(domains, 200_000, rng)
    weights, errors = least_squares(examples.x, examples.y)
    expected = np.concatenate([SMALL.beta_obj, np.zeros(2), oracle(SMALL)])
    assert (np.abs(weights - expected) < 5 * np.sqrt(2) * errors).all()
    assert errors.max() < 0.01
    assert np.abs(unaugmented(SMALL, domains) - oracle(SMALL)).max() < 0.01


def test_estimators_by_hand() -> None:
    # Two domains, mu = (2, 0, 1) and (0, 0, 1): M = ((2, 0, 1), (0, 0, 0), (1, 0, 1)), and sigma^2 I + M has the
    # block ((3, 1), (1, 2)) with the inverse ((2, -1), (-1, 3)) / 5. M beta = (2, 0, 1) b for beta = b (1, 1, 0).
    setting = LinearSetting(p_robust=2, p_spurious=1, sigma2=1, tau2=3, norm_robust=np.sqrt(2))
    domains = Domains(np.array([[2.0, 0.0], [0.0, 0.0]]), np.array([[1.0], [1.0]]))
    assert unaugmented(setting, domains) == pytest.approx([3 / 5, 0, 1 / 5])
    assert targeted(setting, domains) == pytest.approx([2 / 3, 0, 0])
    assert oracle(setting) == pytest.approx([3 / 4, 3 / 4, 0])
    assert domain_invariant(setting).tolist() == [0, 0, 0]
    # beta - theta = (2/5, 1, -1/5) misses 3/5 and -1/5: 0.01 + 0.4 + (0.36 + 0.04) / 2, and 0.01 + 0.4 + 3 * 1.2
    assert id_risk(setting, unaugmented(setting, domains), domains) == pytest.approx(0.61)
    assert ood_risk(setting, unaugmented(setting, domains)) == pytest.approx(4.01)
    assert oracle_risk(setting) == pytest.approx(0.01 + 3 / 4 * 2)
    assert excess_ood_risk(setting, unaugmented(setting, domains)) == pytest.approx(4.01 - 1.51)


@pytest.mark.parametrize("count", [1, 4, 5, 6, 30])
def test_both_systems_of_equations_give_the_formula(count: int) -> None:
    domains = SMALL.draw_domains(count, np.random.default_rng(0))
    for attributes, beta, model in (
        (domains.attributes, SMALL.beta_domain, unaugmented(SMALL, domains)),
        (domains.robust, SMALL.beta_robust, targeted(SMALL, domains)[:2]),
    ):
        m = attributes.T @ attributes / count
        assert model == pytest.approx(np.linalg.inv(0.4 * np.eye(len(m)) + m) @ m @ beta, abs=1e-12)


def test_generic_and_unaugmented_models_are_the_same() -> None:
    domains = SMALL.draw_domains(4, np.random.default_rng(0))
    generic = estimate(SMALL, domains, Augmentation.GENERIC)
    assert np.array_equal(generic, estimate(SMALL, domains, Augmentation.NONE))


@pytest.mark.parametrize("seed", range(3))
def test_risks_are_what_examples_show(seed: int) -> None:
    """Of any model whatever, with the weights of object and noise features that all models learn."""
    rng = np.random.default_rng(seed)
    theta = rng.standard_normal(5)
    weights = np.concatenate([SMALL.beta_obj, np.zeros(2), theta])

    def losses(domains: Domains, count: int) -> Any:
        examples = SMALL.draw_examples(domains, count, rng)
        return (examples.y - examples.x @ weights) ** 2

    known = SMALL.draw_domains(3, rng)
    measured = losses(known, 200_000)
    error = measured.std() / np.sqrt(len(measured))
    assert abs(measured.mean() - id_risk(SMALL, theta, known)) < 5 * error
    # A new domain for each few examples: the mean of each such group is an independent draw.
    measured = np.array([losses(SMALL.draw_domains(1, rng), 5).mean() for _ in range(3000)])
    error = measured.std() / np.sqrt(len(measured))
    assert abs(measured.mean() - ood_risk(SMALL, theta)) < 5 * error
    assert error < 0.05 * ood_risk(SMALL, theta)
    assert abs(id_risk(SMALL, theta, known) - ood_risk(SMALL, theta)) > 10 * error, "they are told apart"


def test_the_oracle_is_the_best_model_out_of_domain() -> None:
    rng = np.random.default_rng(0)
    best = oracle(SMALL)
    assert ood_risk(SMALL, best) == pytest.approx(oracle_risk(SMALL), rel=1e-12)
    assert excess_ood_risk(SMALL, best) == 0
    for _ in range(20):
        theta = best + 0.1 * rng.standard_normal(5)
        excess = ood_risk(SMALL, theta) - oracle_risk(SMALL)
        assert excess > 0
        assert excess_ood_risk(SMALL, theta) == pytest.approx(excess, rel=1e-9)


def test_each_model_is_the_best_in_domain_of_those_it_may_be() -> None:
    rng = np.random.default_rng(0)
    domains = SMALL.draw_domains(4, rng)
    best = unaugmented(SMALL, domains)
    robust_only = targeted(SMALL, domains)
    for _ in range(20):
        step = 0.1 * rng.standard_normal(5)
        assert id_risk(SMALL, best + step, domains) > id_risk(SMALL, best, domains)
        step[2:] = 0
        assert id_risk(SMALL, robust_only + step, domains) > id_risk(SMALL, robust_only, domains)


@pytest.mark.parametrize(
    ("augmentation", "count"),
    [
        *[(Augmentation.NONE, count) for count in (1, 4, 5, 40)],
        *[(Augmentation.TARGETED, count) for count in (1, 2, 40)],
        (Augmentation.GENERIC, 4),
    ],
)
def test_the_expectation_from_eigenvalues_is_that_of_sampled_domains(augmentation: Augmentation, count: int) -> None:
    rng = np.random.default_rng(count)
    plain = np.array(
        [excess_ood_risk(SMALL, estimate(SMALL, SMALL.draw_domains(count, rng), augmentation)) for _ in range(2000)]
    )
    error = plain.std() / np.sqrt(len(plain))
    expected = expected_excess_risk(SMALL, count, augmentation, rng, draws=2000)
    assert abs(plain.mean() - expected.mean) < 4.5 * np.hypot(error, expected.standard_error)
    assert expected.standard_error < 0.9 * error, "it spreads less"
    assert error < 0.05 * plain.mean()


@pytest.mark.parametrize("count", [1, 4, 6])
@pytest.mark.parametrize("augmentation", Augmentation)
def test_the_expectation_in_domain_is_that_of_sampled_domains(augmentation: Augmentation, count: int) -> None:
    rng = np.random.default_rng(count)
    plain = []
    for _ in range(2000):
        domains = SMALL.draw_domains(count, rng)
        plain.append(id_risk(SMALL, estimate(SMALL, domains, augmentation), domains))
    error = np.std(plain) / np.sqrt(len(plain))
    expected = expected_id_risk(SMALL, count, augmentation, rng, draws=2000)
    assert abs(np.mean(plain) - expected.mean) < 4.5 * np.hypot(error, expected.standard_error)
    assert error < 0.05 * (np.mean(plain) - SMALL.sigma_epsilon**2)


def test_the_standard_error_is_the_spread_of_means() -> None:
    rng = np.random.default_rng(0)
    averages = [expected_excess_risk(SMALL, 6, Augmentation.NONE, rng, draws=20) for _ in range(200)]
    spread = np.std([average.mean for average in averages])
    # The deviation of 200 values is known to one part in sqrt(400), 5 %.
    assert np.sqrt(np.mean([average.standard_error**2 for average in averages])) == pytest.approx(spread, rel=0.2)


def test_the_mean_of_a_projection_does_not_depend_on_the_eigenvalue() -> None:
    """The lemma on eigenvectors, which the expectation rests on: (u' beta)^2 has the mean |beta|^2 / m for each."""
    rng = np.random.default_rng(0)
    projections, largest = [], []
    for _ in range(4000):
        z = rng.standard_normal((4, 3))
        values, vectors = np.linalg.eigh(z.T @ z)
        projections.append((vectors.T @ [3.0, 0.0, 0.0]) ** 2)
        largest.append(values[-1])
    shares, above = np.array(projections), np.array(largest) > np.median(largest)
    for rows in (shares, shares[above], shares[~above]):
        assert (np.abs(rows.mean(axis=0) - 3) < 4.5 * rows.std(axis=0) / np.sqrt(len(rows))).all()


def test_the_numbers_at_a_hundred_domains() -> None:
    """Infinite data, p_robust 5, p_spurious 500, sigma^2 0.1, tau^2 1, unit beta."""
    setting, rng = LinearSetting(), np.random.default_rng(0)
    without = expected_excess_risk(setting, 100, Augmentation.NONE, rng, draws=5)
    assert without.mean == pytest.approx(0.73, abs=0.0005)
    assert without.standard_error < 0.0001
    with_targeted = expected_excess_risk(setting, 100, Augmentation.TARGETED, rng, draws=2000)
    assert with_targeted.mean + 5 * with_targeted.standard_error < 0.001
    invariant = expected_excess_risk(setting, 100, Augmentation.DOMAIN_INVARIANT, rng)
    assert invariant.mean == pytest.approx(1 / 1.1)
    assert round(invariant.mean, 3) == 0.909
    assert invariant.standard_error == 0


def test_what_does_not_fit_is_told_in_one_line() -> None:
    rng = np.random.default_rng(0)
    foreign = replace(SMALL, p_robust=3).draw_domains(2, rng)
    calls: list[Any] = [
        lambda: unaugmented(SMALL, foreign),
        lambda: targeted(SMALL, foreign),
        lambda: id_risk(SMALL, oracle(SMALL), foreign),
    ]
    for call in calls:
        with pytest.raises(ParameterError, match="domains with 3 robust and 3 spurious attributes"):
            call()
    for risk in (ood_risk, excess_ood_risk, lambda s, theta: id_risk(s, theta, SMALL.draw_domains(2, rng))):
        with pytest.raises(ParameterError, match=r"shape \(9,\): expected is \(5,\).* leave object and noise .* out"):
            risk(SMALL, np.zeros(9))
    with pytest.raises(ParameterError, match="count=0: expected is a whole number from 1 up"):
        expected_excess_risk(SMALL, 0, Augmentation.DOMAIN_INVARIANT, rng)
    with pytest.raises(ParameterError, match="draws=1: expected is a whole number from 2 up"):
        expected_excess_risk(SMALL, 5, Augmentation.NONE, rng, draws=1)
