"""The four theorems of section 4.2 of the paper as numbers, proven in appendix C.

All are about the expected excess risk out of domain, for D training domains with infinitely many examples each; D is
``count`` here. What a theorem does not speak of is nan, which plots leave out. Each is a multiple of what Theorem 4
gives, c = tau^2 gamma^2 / (1 + gamma^2) |beta_robust|^2.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from wilds_targeted.errors import ParameterError
from wilds_targeted.theory.setting import LinearSetting, check_count


class Window(NamedTuple):
    """Numbers of domains between these two, both excluded."""

    low: float
    high: float


def theorem_1(setting: LinearSetting, count: int) -> float:
    """At least this without augmentation, or with a generic one: c (1 - D / p_dom).

    The theorem is for D < p_dom. From there on this is 0, below which no excess risk is.
    """
    check_count("count", count, 1)
    return theorem_4(setting) * max(0.0, 1 - count / setting.p_domain)


def theorem_2(setting: LinearSetting, count: int, r: float = 0.5) -> float:
    """At most this with a targeted augmentation, in the form of the main text.

    c (1/D + 2 (p_robust + 2) log(4 D p_robust) / (D (1 + gamma^2 r)^2)), for gamma^2 > 1 and
    D > 2 (p_robust + 2) log(4 D p_robust) / (1 - r)^2, that is, `eigenvalue_spread` below 1 - r; nan otherwise.

    Args:
        setting: The law of the data.
        count: The number D of training domains.
        r: Between 0 and 1: the higher, the lower the bound, and the more domains it needs. Theorem 3 takes 1 / gamma^2.
    """
    if not 0 < r < 1:
        raise ParameterError(f"r={r}: expected is a number between 0 and 1, both excluded.")
    spread = eigenvalue_spread(setting, count)
    if not (setting.gamma2 > 1 and spread < 1 - r):
        return math.nan
    return theorem_4(setting) * (1 / count + (spread / (1 + setting.gamma2 * r)) ** 2)


def theorem_2_general(setting: LinearSetting, count: int, r0: float = 1.0) -> float:
    """At most this with a targeted augmentation, in the form of appendix C, which the paper plots.

    c (r0/D + eta^2 / (1 + gamma^2 (1 - eta))^2) with eta of `eigenvalue_spread`, for gamma^2 > 1 and eta < 1, that is,
    D > 2 (p_robust + 2) log(4 D p_robust / r0); nan otherwise. For r0 = 1 it is what `theorem_2` comes down to as r
    nears 1 - eta.

    Args:
        setting: The law of the data.
        count: The number D of training domains.
        r0: Above 0 and at most 1: D times the chance that eigenvalues are not within their spread.
    """
    spread = eigenvalue_spread(setting, count, r0)
    if not (setting.gamma2 > 1 and spread < 1):
        return math.nan
    return concentrated(setting, spread, r0 / count)


def theorem_3_window(setting: LinearSetting) -> Window | None:
    """For which numbers of domains a targeted augmentation provably lowers the expected risk out of domain.

    4 gamma^4 / (gamma^2 - 1)^2 K < D < p_dom - 4 K with K = (p_robust + 2) log(2 p_dom), for gamma^2 > 1.

    The window is open exactly where p_robust < p_dom / (4 log(2 p_dom) (1 + gamma^4 / (gamma^2 - 1)^2)) - 2, and the
    theorem needs nothing else. Its statement in the main text lacks the "- 2" that its proof has: where only the
    condition without it holds, there is no D that the theorem speaks of.

    Returns:
        None where there is none.
    """
    if not setting.gamma2 > 1:
        return None
    cost = _window_cost(setting)
    window = Window(4 * cost / (1 - 1 / setting.gamma2) ** 2, setting.p_domain - 4 * cost)
    return window if window.low < window.high else None


def theorem_3_applies(setting: LinearSetting, count: int) -> bool:
    """Whether this number of domains is in the window."""
    check_count("count", count, 1)
    window = theorem_3_window(setting)
    return window is not None and window.low < count < window.high


def theorem_3(setting: LinearSetting, count: int) -> float:
    """A targeted augmentation lowers the expected risk out of domain by more than this, which is above 0.

    c (1 - D / p_dom - 2 K / D) with K = (p_robust + 2) log(2 p_dom), in `theorem_3_window`; nan elsewhere. It is below
    the difference of `theorem_1` and `theorem_2` with r = 1 / gamma^2.

    The theorem itself says "above 0" only. The appendix has a bound, too, D p_dom times this one, which can't be: it
    is above what there is to gain. Its proof multiplies a negative number by D p_dom and calls it larger. The sign is
    right, and so is the theorem; the last step from the roots to the window needs sqrt(a (a - b)) > a - b with
    a = p_dom / 2, b = 4 K. The inequality that is named there, sqrt(x - y) > sqrt(x) - sqrt(y), gives a narrower
    window.
    """
    if not theorem_3_applies(setting, count):
        return math.nan
    return theorem_4(setting) * (1 - count / setting.p_domain - 2 * _window_cost(setting) / count)


def theorem_4(setting: LinearSetting) -> float:
    """Exactly this with a domain-invariant augmentation: c = tau^2 gamma^2 / (1 + gamma^2) |beta_robust|^2."""
    return setting.tau2 * setting.gamma2 / (1 + setting.gamma2) * setting.norm_robust**2


def eigenvalue_spread(setting: LinearSetting, count: int, r0: float = 1.0) -> float:
    """The eta of appendix C: sqrt(2 (p_robust + 2) log(4 D p_robust / r0) / D).

    With a probability above 1 - r0 / D, all eigenvalues of M_robust = 1/D sum_d mu_robust mu_robust' are between
    tau^2 (1 - eta) and tau^2 (1 + eta + eta^2). The more domains, the lower eta.
    """
    check_count("count", count, 1)
    if not 0 < r0 <= 1:
        raise ParameterError(f"r0={r0}: expected is a number above 0 and at most 1.")
    return math.sqrt(2 * (setting.p_robust + 2) * math.log(4 * count * setting.p_robust / r0) / count)


def concentrated(setting: LinearSetting, spread: float, chance: float) -> float:
    """What concentrated eigenvalues imply (the proposition that Theorem 2 rests on).

    If the eigenvalues of M_robust are all between tau^2 (1 - eta) and tau^2 (1 + eta + eta^2) with a probability of at
    least 1 - delta, and if gamma^2 > 1 and eta < 1, then the expected excess risk with a targeted augmentation is at
    most c (eta^2 / (1 + gamma^2 (1 - eta))^2 + delta).

    Args:
        setting: The law of the data, with gamma^2 > 1.
        spread: eta, from 0 and below 1.
        chance: delta, that of eigenvalues being elsewhere.
    """
    if not (setting.gamma2 > 1 and 0 <= spread < 1):
        raise ParameterError(
            f"gamma^2 = {setting.gamma2:g} and a spread of {spread:g}: expected are gamma^2 above 1 and a spread "
            f"from 0 to below 1."
        )
    return theorem_4(setting) * ((spread / (1 + setting.gamma2 * (1 - spread))) ** 2 + chance)


def _window_cost(setting: LinearSetting) -> float:
    """K = (p_robust + 2) log(2 p_dom)."""
    return (setting.p_robust + 2) * math.log(2 * setting.p_domain)
