"""The linear setting: what is drawn has the moments of its definition, and augmentations replace what they should."""

from __future__ import annotations

import doctest
import importlib
import math
import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from wilds_targeted.errors import ParameterError
from wilds_targeted.theory.setting import REPLACED, Augmentation, Domains, LinearSetting

SMALL = LinearSetting(
    p_obj=2, p_noise=1, p_robust=2, p_spurious=3, sigma2=0.3, tau2=1.7, sigma_epsilon=0.5, norm_obj=2, norm_robust=1.5
)
MARGINAL = [1, 1, 1, 2, 2, 2, 2, 2]
"""Variances over all domains: 0.3 + 1.7 where the domain matters."""


def assert_moments(rows: Any, mean: Any, variances: Any) -> None:
    """Mean and covariance of independent Gaussian coordinates, each within five of its standard errors."""
    variances = np.array(variances, dtype=float)
    assert (np.abs(rows.mean(axis=0) - mean) < 5 * np.sqrt(variances / len(rows))).all()
    # Var(ab) is the product of variances for two coordinates, and twice its square for one with itself.
    errors = np.sqrt(np.outer(variances, variances) * (1 + np.eye(len(variances))) / len(rows))
    assert (np.abs(np.atleast_2d(np.cov(rows.T)) - np.diag(variances)) < 5 * errors).all()


def test_the_defaults_are_those_of_the_papers_simulations() -> None:
    setting = LinearSetting()
    assert (setting.p_robust, setting.p_spurious, setting.p_noise) == (5, 500, 500)
    assert (setting.sigma2, setting.tau2, setting.gamma2) == (0.1, 1.0, 10.0)
    assert (setting.p_domain, setting.p) == (505, 1010)
    # The paper leaves these open.
    assert (setting.p_obj, setting.sigma_epsilon, setting.norm_obj, setting.norm_robust) == (5, 0.1, 1, 1)
    assert np.linalg.norm(setting.beta_obj) == pytest.approx(1)
    assert np.linalg.norm(setting.beta_robust) == pytest.approx(1)


def test_dimensions_and_coefficients_by_hand() -> None:
    assert (SMALL.p_domain, SMALL.p) == (5, 8)
    assert SMALL.gamma2 == pytest.approx(17 / 3)
    assert SMALL.blocks == {"obj": slice(0, 2), "noise": slice(2, 3), "robust": slice(3, 5), "spurious": slice(5, 8)}
    assert (SMALL.obj, SMALL.domain_dependent) == (slice(0, 2), slice(3, 8))
    assert SMALL.beta_obj == pytest.approx([math.sqrt(2), math.sqrt(2)])
    assert SMALL.beta_robust == pytest.approx([1.5 / math.sqrt(2)] * 2)
    assert SMALL.beta_domain == pytest.approx([*SMALL.beta_robust, 0, 0, 0])
    assert SMALL.marginal_deviations**2 == pytest.approx(MARGINAL)


def test_object_and_noise_features_may_be_left_out() -> None:
    setting = replace(SMALL, p_obj=0, p_noise=0)
    rng = np.random.default_rng(0)
    examples = setting.draw_examples(setting.draw_domains(3, rng), 10, rng)
    assert examples.x.shape == (10, 5)
    assert setting.beta_obj.shape == (0,)
    assert setting.domain_dependent == slice(0, 5)


def test_domains_have_independent_attributes_of_variance_tau2() -> None:
    domains = SMALL.draw_domains(100_000, np.random.default_rng(0))
    assert len(domains) == 100_000
    assert np.array_equal(domains.attributes[:, :2], domains.robust)
    assert np.array_equal(domains.attributes[:, 2:], domains.spurious)
    assert_moments(domains.attributes, 0, [1.7] * 5)


def test_examples_follow_their_domains() -> None:
    rng = np.random.default_rng(1)
    domains = SMALL.draw_domains(3, rng)
    examples = SMALL.draw_examples(domains, 150_000, rng)
    assert len(examples) == 150_000
    # binomial: the deviation of each domain's count is sqrt(150000 * 1/3 * 2/3) = 183
    assert np.abs(np.bincount(examples.domain, minlength=3) - 50_000).max() < 5 * 183
    for number in range(3):
        chosen = examples.domain == number
        x = examples.x[chosen]
        assert_moments(x, [0, 0, 0, *domains.attributes[number]], [1, 1, 1, *[0.3] * 5])
        signal = math.sqrt(2) * (x[:, 0] + x[:, 1]) + 1.5 / math.sqrt(2) * domains.robust[number].sum()
        centred = x - [0, 0, 0, *domains.attributes[number]]
        # The label's noise is independent of everything that a model sees.
        assert_moments(np.column_stack([centred, examples.y[chosen] - signal]), 0, [1, 1, 1, *[0.3] * 5, 0.25])


def test_the_same_seed_draws_the_same() -> None:
    def draw(seed: int) -> Any:
        rng = np.random.default_rng(seed)
        examples = SMALL.draw_examples(SMALL.draw_domains(4, rng), 20, rng)
        augmented = SMALL.augment(examples, Augmentation.TARGETED, rng)
        return np.column_stack([augmented.x, augmented.y, augmented.domain])

    assert np.array_equal(draw(3), draw(3))
    assert not np.array_equal(draw(3), draw(4))


@pytest.mark.parametrize(
    ("augmentation", "columns"),
    [("unaugmented", []), ("generic", [2]), ("targeted", [5, 6, 7]), ("domain-invariant", [3, 4, 5, 6, 7])],
)
def test_an_augmentation_replaces_its_features_and_no_others(augmentation: str, columns: list[int]) -> None:
    rng = np.random.default_rng(2)
    domains = SMALL.draw_domains(2, rng)
    examples = SMALL.draw_examples(domains, 40_000, rng)
    before = examples.x.copy()
    augmented = SMALL.augment(examples, Augmentation(augmentation), rng, copies=3)
    assert np.array_equal(examples.x, before), "the examples are left as they are"
    assert not np.shares_memory(augmented.x, examples.x)
    kept = [column for column in range(8) if column not in columns]
    assert np.flatnonzero(SMALL.replaced(Augmentation(augmentation))).tolist() == columns
    assert np.array_equal(augmented.x[:, kept], np.concatenate([examples.x] * 3)[:, kept])
    assert np.array_equal(augmented.y, np.concatenate([examples.y] * 3))
    assert np.array_equal(augmented.domain, np.concatenate([examples.domain] * 3))
    passes = augmented.x.reshape(3, -1, 8)
    for first, second in ((examples.x, passes[0]), (passes[0], passes[1]), (passes[1], passes[2])):
        assert (first[:, columns] != second[:, columns]).all(), "each pass draws anew"
    for number in range(2):
        # The law over all domains, whatever the example's own one; independent of what was there and of the label.
        chosen = examples.domain == number
        former = examples.x[chosen] - [0, 0, 0, *domains.attributes[number]]
        label = examples.y[chosen] - domains.robust[number] @ SMALL.beta_robust
        rows = np.column_stack([passes[0][chosen][:, columns], former[:, columns], label])
        within = [1, 1, 1, *[0.3] * 5]
        assert_moments(
            rows, 0, [*[MARGINAL[each] for each in columns], *[within[each] for each in columns], 2**2 + 0.5**2]
        )


def test_the_table_covers_every_augmentation() -> None:
    assert set(REPLACED) == set(Augmentation)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"p_obj": -1}, "p_obj=-1: expected is a whole number from 0 up"),
        ({"p_noise": 2.5}, "p_noise=2.5: expected is a whole number from 0 up"),
        ({"p_robust": 0}, "p_robust=0: expected is a whole number from 1 up"),
        ({"p_spurious": 0}, "p_spurious=0: expected is a whole number from 1 up"),
        ({"sigma2": 0.0}, "sigma2=0.0: expected is a variance"),
        ({"tau2": -1.0}, "tau2=-1.0: expected is a variance"),
        ({"tau2": math.inf}, "tau2=inf: expected is a variance"),
        ({"sigma2": math.nan}, "sigma2=nan: expected is a variance"),
        ({"sigma_epsilon": -0.1}, "sigma_epsilon=-0.1: expected is a finite number from 0 up"),
        ({"norm_obj": math.inf}, "norm_obj=inf: expected is a finite number from 0 up"),
        ({"norm_robust": -1}, "norm_robust=-1: expected is a finite number from 0 up"),
    ],
)
def test_a_setting_that_cannot_be_is_told_in_one_line(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words) as caught:
        LinearSetting(**wrong)
    assert "\n" not in str(caught.value)


def test_counts_that_cannot_be_are_told_in_one_line() -> None:
    rng = np.random.default_rng(0)
    domains = SMALL.draw_domains(2, rng)
    with pytest.raises(ParameterError, match="count=0: expected is a whole number from 1 up"):
        SMALL.draw_domains(0, rng)
    with pytest.raises(ParameterError, match="count=-1: expected is a whole number from 0 up"):
        SMALL.draw_examples(domains, -1, rng)
    with pytest.raises(ParameterError, match="copies=0: expected is a whole number from 1 up"):
        SMALL.augment(SMALL.draw_examples(domains, 5, rng), Augmentation.NONE, rng, copies=0)
    assert len(SMALL.draw_examples(domains, 0, rng)) == 0


def test_domains_that_do_not_fit_are_told_in_one_line() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(ParameterError, match="2 robust and 4 spurious attributes: this setting has 2 and 3; draw them"):
        SMALL.draw_examples(replace(SMALL, p_spurious=4).draw_domains(2, rng), 5, rng)
    for shapes in (((2, 2), (3, 3)), ((0, 2), (0, 3)), ((2,), (2, 3))):
        with pytest.raises(ParameterError, match="one row for each domain, and at least one domain"):
            Domains(np.zeros(shapes[0]), np.zeros(shapes[1]))


@pytest.mark.parametrize("name", ["setting", "estimators", "bounds", "figures", "report"])
def test_the_examples_in_the_docstrings(name: str) -> None:
    assert doctest.testmod(importlib.import_module(f"wilds_targeted.theory.{name}")).failed == 0


def test_neither_torch_nor_wilds_is_needed() -> None:
    code = (
        "import sys, wilds_targeted.theory.advice, wilds_targeted.theory.definition, wilds_targeted.theory.report; "
        "sys.exit(bool({'torch', 'wilds', 'scipy'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
