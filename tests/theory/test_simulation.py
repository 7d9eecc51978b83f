"""The fast way draws what the definition draws: same laws, and the same results for given products."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from wilds_targeted.theory import definition, simulation
from wilds_targeted.theory.bounds import theorem_1, theorem_2_general, theorem_4
from wilds_targeted.theory.estimators import expected_id_risk, oracle_risk
from wilds_targeted.theory.experiment import Plan, Unit, run, simulate, summarize
from wilds_targeted.theory.setting import Augmentation, Domains, Floats, LinearSetting
from wilds_targeted.theory.simulation import Products, ridge_path
from wilds_targeted.theory.wishart import draw_eigenvalues, draw_noise

SMALL = LinearSetting(p_obj=1, p_noise=2, p_robust=2, p_spurious=3, sigma2=0.4, tau2=1.5, sigma_epsilon=0.3)
DRAWS = 1500


def same_law(one: Floats, other: Floats, *, least: float = 1e-4) -> None:
    """Every column of two tables of independent draws: equal distributions, by Kolmogorov and Smirnov.

    Wrong laws are noticed: degrees of freedom off by one, a pass too few, a deviation five per cent too large.
    """
    chances = [stats.ks_2samp(a, b).pvalue for a, b in zip(one.T, other.T, strict=True)]
    assert min(chances) > least / len(chances), min(chances)


def functionals(matrix: Floats, size: int) -> Floats:
    """Numbers that depend on a whole matrix of products: entries, its square's, the logarithm of its volume."""
    squared = matrix @ matrix
    volume = np.linalg.slogdet(matrix + 0.1 * np.eye(size))[1]
    return np.concatenate([matrix[np.triu_indices(size)], np.diag(squared), squared[0, 1:], [volume]])


@pytest.mark.parametrize("count", [2, 4, 5, 30])
def test_noise_has_wisharts_law(count: int) -> None:
    """Fewer rows than columns, as many, one more, many more."""
    rng = np.random.default_rng(count)

    def draw(rows: Callable[[], Floats]) -> Floats:
        tables = [rows() for _ in range(DRAWS)]
        return np.array([functionals(table.T @ table, 4) for table in tables])

    same_law(draw(lambda: draw_noise(count, 4, rng)), draw(lambda: rng.standard_normal((count, 4))))
    assert len(draw_noise(count, 4, rng)) == min(count, 4)


@pytest.mark.parametrize("count", [1, 3, 4, 5, 40])
def test_eigenvalues_have_wisharts_law(count: int) -> None:
    """One by one, and jointly: their sum and their product."""
    rng = np.random.default_rng(count)

    def sampled() -> Floats:
        rows = rng.standard_normal((count, 4))
        return np.asarray(np.linalg.eigvalsh(rows.T @ rows / count))

    def draw(values: Callable[[], Floats]) -> Floats:
        found = np.sort([values() for _ in range(DRAWS)], axis=1)
        found[:, : max(0, 4 - count)] = 0  # rounding makes of these anything near 0
        assert (found >= 0).all()
        return np.column_stack([found, found.sum(axis=1), np.prod(0.1 + found, axis=1)])

    assert (draw_eigenvalues(count, 4, rng) == 0).sum() == max(0, 4 - count)
    same_law(draw(lambda: draw_eigenvalues(count, 4, rng)), draw(sampled))


# Many examples a domain; more domains than examples; fewer examples than features.
SIZES = [(3, 40), (12, 6), (2, 5)]


@pytest.mark.parametrize(("domain_count", "count"), SIZES)
def test_products_have_the_law_of_the_definition(domain_count: int, count: int) -> None:
    """For the same domains: the joint law of products of inputs with inputs and labels, with every augmentation."""
    rng = np.random.default_rng((domain_count, count))
    domains = SMALL.draw_domains(domain_count, rng)

    def numbers(products: Products) -> Floats:
        model = np.linalg.solve(products.xx + np.eye(SMALL.p), products.xy)
        return np.concatenate([functionals(products.xx, SMALL.p), products.xy, model])

    def draw(way: object) -> Floats:
        rows = []
        for _ in range(DRAWS):
            drawn = way.train_products(SMALL, domains, count, 2, rng)  # type: ignore[attr-defined]
            each = [numbers(products) for products in drawn.values()]
            # The augmentations share their examples: their models err together.
            models = [entries[-SMALL.p :] for entries in each]
            rows.append(np.concatenate([*each, models[1] - models[2], models[2] - models[3]]))
        return np.array(rows)

    same_law(draw(simulation), draw(definition))


def test_counts_and_exact_parts() -> None:
    rng = np.random.default_rng(0)
    domains = SMALL.draw_domains(3, rng)
    for way in (simulation, definition):
        products = way.train_products(SMALL, domains, 40, 5, rng)
        counts = {augmentation.value: products[augmentation].count for augmentation in Augmentation}
        assert counts == {"unaugmented": 40, "generic": 200, "targeted": 200, "domain-invariant": 200}
        # What an augmentation leaves alone is repeated, to the last bits.
        once = products[Augmentation.NONE]
        for augmentation in list(Augmentation)[1:]:
            stays = ~SMALL.replaced(augmentation)
            block = np.ix_(stays, stays)
            np.testing.assert_allclose(products[augmentation].xx[block], 5 * once.xx[block], rtol=1e-9)
            np.testing.assert_allclose(products[augmentation].xy[stays], 5 * once.xy[stays], rtol=1e-9)


# Where examples of a domain are almost alike, errors tell which domains were drawn.
@pytest.mark.parametrize("setting", [SMALL, replace(SMALL, p_obj=0, p_noise=0, sigma2=1e-4)], ids=["wide", "narrow"])
def test_errors_have_the_law_of_the_definition(setting: LinearSetting) -> None:
    """Jointly for several models, two of them almost alike, on one test set."""
    rng = np.random.default_rng(1)
    domains = setting.draw_domains(4, rng)
    thetas = rng.standard_normal((setting.p, 3))
    thetas[:, 2] = thetas[:, 1] + 0.01

    def draw(way: object) -> Floats:
        errors = [way.mean_squared_errors(setting, domains, 25, thetas, rng) for _ in range(DRAWS)]  # type: ignore[attr-defined]
        table = np.array(errors)
        return np.column_stack([table, table[:, 0] - table[:, 1], table[:, 1] - table[:, 2], table.max(axis=1)])

    same_law(draw(simulation), draw(definition))


def test_a_ridge_path_solves_the_normal_equations() -> None:
    rng = np.random.default_rng(2)
    x, y = rng.standard_normal((30, 6)), rng.standard_normal(30)
    penalties = [1e-3, 0.1, 7.0]
    thetas = ridge_path(Products(x.T @ x, x.T @ y, 30), penalties)
    for theta, penalty in zip(thetas.T, penalties, strict=True):
        expected = np.linalg.solve(x.T @ x / 30 + penalty * np.eye(6), x.T @ y / 30)
        np.testing.assert_allclose(theta, expected, rtol=1e-9)


def test_a_ridge_path_bears_fewer_examples_than_features() -> None:
    rng = np.random.default_rng(3)
    x, y = rng.standard_normal((3, 6)), rng.standard_normal(3)
    (theta,) = ridge_path(Products(x.T @ x, x.T @ y, 3), [1e-6]).T
    np.testing.assert_allclose(x @ theta, y, atol=1e-4)


@pytest.mark.parametrize("samples", [60, 400])
def test_whole_simulations_agree(samples: int) -> None:
    """Errors in and out of domain of all four models, penalties chosen on validation: all of a draw, 300 times."""
    plan = Plan(
        setting=SMALL,
        sample_sizes=(samples,),
        domain_counts=(5,),
        validation=50,
        test=50,
        ood_domains=20,
        ood_test=60,
        penalties=(1e-4, 1e-2, 1.0),
    )

    def draw(way: object, first: int) -> Floats:
        rows = []
        for seed in range(first, first + 300):
            results = simulate(plan, Unit(samples, 5, seed), way)  # type: ignore[arg-type]
            rows.append([number for each in results for number in (each.id_rmse, each.ood_rmse, each.penalty)])
        return np.array(rows)

    same_law(draw(simulation, 0), draw(definition, 1000))


def test_every_step_gets_what_the_plan_says() -> None:
    """Validation and one test set are of the training domains, the other test set is of new ones."""
    calls: list[tuple[Any, ...]] = []

    def train(setting: LinearSetting, domains: Domains, count: int, copies: int, rng: Any) -> Any:
        calls.append(("train", domains, count, copies))
        return simulation.train_products(setting, domains, count, copies, rng)

    def measure(setting: LinearSetting, domains: Domains, count: int, thetas: Floats, rng: Any) -> Floats:
        errors = simulation.mean_squared_errors(setting, domains, count, thetas, rng)
        calls.append(("measure", domains, count, thetas, errors))
        return errors

    way: Any = SimpleNamespace(train_products=train, mean_squared_errors=measure)
    plan = Plan(setting=SMALL, copies=3, validation=31, test=32, ood_domains=33, ood_test=34, penalties=(1e-3, 1.0))
    results = simulate(plan, Unit(35, 4, 0), way)
    trained, validation, test, ood = calls
    assert trained[2:] == (35, 3)
    assert len(trained[1]) == 4
    assert [call[2] for call in (validation, test, ood)] == [31, 32, 34]
    assert validation[1] is trained[1]
    assert test[1] is trained[1]
    assert len(ood[1]) == 33
    assert [each.id_rmse**2 for each in results] == pytest.approx(test[4])
    assert [each.ood_rmse**2 for each in results] == pytest.approx(ood[4])
    for position, result in enumerate(results):
        errors = validation[4][2 * position : 2 * position + 2]
        assert result.penalty == plan.penalties[int(errors.argmin())]


def test_the_penalty_is_chosen_in_domain() -> None:
    """Two domains, far along their attributes: shrinking them all would do good on new domains, and harm on these."""
    setting = LinearSetting(p_obj=0, p_noise=0, p_robust=1, p_spurious=30, sigma2=4)
    for seed in range(5):
        alone = {
            penalty: simulate(Plan(setting=setting, penalties=(penalty,)), Unit(5000, 2, seed))[0]
            for penalty in (1e-3, 60.0)
        }
        both = simulate(Plan(setting=setting, penalties=(1e-3, 60.0)), Unit(5000, 2, seed))[0]
        assert alone[1e-3].id_rmse < 0.9 * alone[60.0].id_rmse
        assert alone[1e-3].ood_rmse > 1.001 * alone[60.0].ood_rmse
        assert both.penalty == 1e-3


def test_the_papers_sizes_agree_with_the_exact_risk() -> None:
    """100,000 examples are nearly infinite data: errors near those of the infinite-data models, at full dimensions."""
    plan = Plan(domain_counts=(50,))
    results = {each.augmentation: each for each in simulate(plan, Unit(100_000, 50, 0))}
    assert results["unaugmented"].ood_rmse == pytest.approx(0.96, abs=0.03)
    assert results["generic"].ood_rmse == pytest.approx(results["unaugmented"].ood_rmse, abs=0.005)
    assert results["targeted"].ood_rmse == pytest.approx(0.319, abs=0.015)
    assert results["domain-invariant"].ood_rmse == pytest.approx(1.005, abs=0.06)
    rng = np.random.default_rng(0)
    for augmentation in (Augmentation.NONE, Augmentation.TARGETED):
        expected = expected_id_risk(plan.setting, 50, augmentation, rng).mean ** 0.5
        assert results[augmentation].id_rmse == pytest.approx(expected, rel=0.1)


@pytest.mark.slow
def test_the_papers_findings_at_its_sizes(tmp_path: Path) -> None:
    """Section 4.3, from two seeds and three numbers of domains."""
    plan = Plan(domain_counts=(25, 400, 1600), seeds=2)
    points = summarize(run(plan, tmp_path, progress=False))
    ood = {(point.samples, point.domains, point.augmentation): point.ood_rmse for point in points}
    best = oracle_risk(plan.setting)
    for domains in plan.domain_counts:
        none, generic, targeted, invariant = (ood[100_000, domains, each] for each in Augmentation)
        # With many examples a generic augmentation does nothing.
        assert generic == pytest.approx(none, abs=0.002)
        # Two seeds know a mean square to about five per cent.
        assert none**2 > 0.9 * (best + theorem_1(plan.setting, domains))
        if domains > 108:
            assert targeted**2 < 1.1 * (best + theorem_2_general(plan.setting, domains))
        assert invariant**2 == pytest.approx(best + theorem_4(plan.setting), rel=0.15)
    for samples in plan.sample_sizes:
        # Targeted is far below where domains are few, domain-invariant is as bad with many as with few.
        assert ood[samples, 25, Augmentation.TARGETED] < 0.4 < 0.9 < ood[samples, 25, Augmentation.NONE]
        assert ood[samples, 400, Augmentation.TARGETED] < 0.36 < 0.5 < ood[samples, 400, Augmentation.NONE]
        flat = [ood[samples, domains, Augmentation.DOMAIN_INVARIANT] for domains in plan.domain_counts]
        assert max(flat) - min(flat) < 0.12
    # With few examples a generic augmentation helps, where something but pairs of attributes is left to learn.
    for domains, least in ((400, 0.003), (1600, 0.01)):
        gain = ood[5_000, domains, Augmentation.NONE] - ood[5_000, domains, Augmentation.GENERIC]
        assert gain > least
