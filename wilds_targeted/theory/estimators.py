"""What least squares learns from infinitely many examples of finitely many domains, and its risk (appendix C).

All models here are vectors theta = [robust, spurious] of length p_dom. Object and noise features are left out: they are
independent of all others and of the domain, so every model's weights there are beta_obj and 0, which the law of the
labels has, too, and they add nothing to any risk (appendix C.1). Models have no intercept, as in the paper.

In all formulas M = 1/D sum_d mu_d mu_d' over the training domains, M_robust is the same of mu_robust alone, and beta is
[beta_robust, 0].
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from wilds_targeted.errors import ParameterError
from wilds_targeted.theory.setting import Augmentation, Domains, Floats, LinearSetting, check_count
from wilds_targeted.theory.wishart import draw_eigenvalues


class Average(NamedTuple):
    """A mean over random draws of the training domains, and its standard error (0 where it is exact)."""

    mean: float
    standard_error: float


def unaugmented(setting: LinearSetting, domains: Domains) -> Floats:
    """The model without augmentation: (sigma^2 I + M)^-1 M beta.

    A generic augmentation leaves it as it is, since it changes nothing that depends on the domain.
    """
    setting.check_domains(domains)
    return _shrunken(domains.attributes, setting.sigma2, setting.beta_domain)


def targeted(setting: LinearSetting, domains: Domains) -> Floats:
    """The model with targeted augmentation: [(sigma^2 I + M_robust)^-1 M_robust beta_robust, 0]."""
    setting.check_domains(domains)
    robust = _shrunken(domains.robust, setting.sigma2, setting.beta_robust)
    return np.concatenate([robust, np.zeros(setting.p_spurious)])


def domain_invariant(setting: LinearSetting) -> Floats:
    """The model with domain-invariant augmentation: 0, whatever the domains."""
    return np.zeros(setting.p_domain)


def oracle(setting: LinearSetting) -> Floats:
    """The best model out of domain, which infinitely many domains would give: tau^2 / (sigma^2 + tau^2) beta."""
    return setting.tau2 / (setting.sigma2 + setting.tau2) * setting.beta_domain


def estimate(setting: LinearSetting, domains: Domains, augmentation: Augmentation) -> Floats:
    """The model that training on these domains with that augmentation yields.

    >>> setting = LinearSetting()
    >>> domains = setting.draw_domains(100, np.random.default_rng(0))
    >>> for augmentation in Augmentation:
    ...     print(augmentation, round(excess_ood_risk(setting, estimate(setting, domains, augmentation)), 2))
    unaugmented 0.73
    generic 0.73
    targeted 0.0
    domain-invariant 0.91
    """
    if augmentation == Augmentation.DOMAIN_INVARIANT:
        return domain_invariant(setting)
    return (targeted if augmentation == Augmentation.TARGETED else unaugmented)(setting, domains)


def ood_risk(setting: LinearSetting, theta: Floats) -> float:
    """The mean squared error on new domains: sigma_epsilon^2 + sigma^2 |theta|^2 + tau^2 |beta - theta|^2."""
    _check_model(setting, theta)
    missing = setting.beta_domain - theta
    return float(setting.sigma_epsilon**2 + setting.sigma2 * (theta @ theta) + setting.tau2 * (missing @ missing))


def id_risk(setting: LinearSetting, theta: Floats, domains: Domains) -> float:
    """That on new examples of these domains: sigma_epsilon^2 + sigma^2 |theta|^2 + (beta - theta)' M (beta - theta)."""
    _check_model(setting, theta)
    setting.check_domains(domains)
    missed = domains.attributes @ (setting.beta_domain - theta)
    return float(setting.sigma_epsilon**2 + setting.sigma2 * (theta @ theta) + np.mean(missed**2))


def oracle_risk(setting: LinearSetting) -> float:
    """The oracle's, the lowest out of domain: sigma_epsilon^2 + tau^2 sigma^2 / (sigma^2 + tau^2) |beta_robust|^2."""
    shared = setting.tau2 * setting.sigma2 / (setting.sigma2 + setting.tau2)
    return setting.sigma_epsilon**2 + shared * setting.norm_robust**2


def excess_ood_risk(setting: LinearSetting, theta: Floats) -> float:
    """By how much a model's risk out of domain is above the oracle's: (sigma^2 + tau^2) |theta - oracle|^2.

    This is the difference of the two risks with the square completed, which loses no digits where it is small.
    """
    _check_model(setting, theta)
    away = theta - oracle(setting)
    return float((setting.sigma2 + setting.tau2) * (away @ away))


def expected_excess_risk(
    setting: LinearSetting,
    count: int,
    augmentation: Augmentation,
    rng: np.random.Generator,
    draws: int = 30,
) -> Average:
    """The expected excess risk out of domain over random training domains.

    With the eigenvalues lambda_i and eigenvectors u_i of M (m by m), the excess risk is sum_i v_i (u_i' beta)^2 with::

        v_i = sigma^4 (tau^2 - lambda_i)^2 / ((sigma^2 + tau^2) (lambda_i + sigma^2)^2)

    Whatever the eigenvalues are, the eigenvectors point anywhere with equal chance, and (u_i' beta)^2 has the mean
    |beta|^2 / m. So each draw contributes |beta|^2 / m sum_i v_i, which needs eigenvalues only and spreads less than
    the excess risk itself. Without augmentation and with a generic one m = p_dom; with a targeted one M_robust takes
    M's place, and m = p_robust. The domain-invariant model is the same for all domains.

    Args:
        setting: The law of the data.
        count: The number D of training domains.
        augmentation: What the model is trained with.
        rng: Where domains come from.
        draws: How often all domains are drawn.
    """
    sigma2, tau2 = setting.sigma2, setting.tau2

    def shares(eigenvalues: Floats) -> Floats:
        return np.asarray((sigma2 * (tau2 - eigenvalues) / (eigenvalues + sigma2)) ** 2 / (sigma2 + tau2))

    exact = excess_ood_risk(setting, domain_invariant(setting))
    return _expected(setting, count, augmentation, rng, draws, shares, exact)


def expected_id_risk(
    setting: LinearSetting,
    count: int,
    augmentation: Augmentation,
    rng: np.random.Generator,
    draws: int = 30,
) -> Average:
    """The expected risk in domain over random training domains.

    In the terms of `expected_excess_risk` the risk in domain is sigma_epsilon^2 + sum_i w_i (u_i' beta)^2 with::

        w_i = sigma^2 lambda_i / (lambda_i + sigma^2)

    The domain-invariant model leaves sigma_epsilon^2 + beta' M beta, with the mean sigma_epsilon^2 + tau^2 |beta|^2.

    Args:
        setting: The law of the data.
        count: The number D of training domains.
        augmentation: What the model is trained with.
        rng: Where domains come from.
        draws: How often all domains are drawn.
    """

    def shares(eigenvalues: Floats) -> Floats:
        return np.asarray(setting.sigma2 * eigenvalues / (eigenvalues + setting.sigma2))

    exact = setting.tau2 * setting.norm_robust**2
    above = _expected(setting, count, augmentation, rng, draws, shares, exact)
    return above._replace(mean=setting.sigma_epsilon**2 + above.mean)


def _expected(
    setting: LinearSetting,
    count: int,
    augmentation: Augmentation,
    rng: np.random.Generator,
    draws: int,
    shares: Callable[[Floats], Floats],
    exact: float,
) -> Average:
    """|beta|^2 times the mean over eigenvalues and draws of their shares; the exact value for the invariant model."""
    check_count("count", count, 1)
    check_count("draws", draws, 2)
    if augmentation == Augmentation.DOMAIN_INVARIANT:
        return Average(exact, 0.0)
    size = setting.p_robust if augmentation == Augmentation.TARGETED else setting.p_domain
    means = [shares(setting.tau2 * draw_eigenvalues(count, size, rng)).mean() for _ in range(draws)]
    values = setting.norm_robust**2 * np.array(means)
    return Average(float(np.mean(values)), float(np.std(values, ddof=1) / math.sqrt(draws)))


def _shrunken(attributes: Floats, sigma2: float, beta: Floats) -> Floats:
    """(sigma^2 I + M)^-1 M beta, from the smaller of two systems of equations: they agree for any A.

    (s I + A'A)^-1 A' = A' (s I + AA')^-1, here with one row of A for each domain and s = D sigma^2.
    """
    count, size = attributes.shape
    labels = attributes @ beta
    if count < size:
        gram = attributes @ attributes.T + count * sigma2 * np.eye(count)
        return np.asarray(attributes.T @ np.linalg.solve(gram, labels))
    gram = attributes.T @ attributes + count * sigma2 * np.eye(size)
    return np.linalg.solve(gram, attributes.T @ labels)


def _check_model(setting: LinearSetting, theta: Floats) -> None:
    if theta.shape != (setting.p_domain,):
        raise ParameterError(
            f"a model of shape {theta.shape}: expected is ({setting.p_domain},), weights of the {setting.p_robust} "
            f"robust and {setting.p_spurious} spurious features; leave object and noise features out."
        )
