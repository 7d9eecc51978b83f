"""What targeted augmentation would buy, by the theory: numbers of domains and guesses of dimensions in, words out."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from wilds_targeted.theory import bounds
from wilds_targeted.theory.estimators import expected_excess_risk, expected_id_risk, oracle_risk
from wilds_targeted.theory.setting import Augmentation, LinearSetting

MOST_DOMAINS = 100_000
"""How far the search for an equal number of domains goes."""

EIGENVALUES = 10_000
"""About so many are drawn for a mean: the more features, the fewer draws it needs."""

COMPARED = (Augmentation.NONE, Augmentation.TARGETED, Augmentation.DOMAIN_INVARIANT)


@dataclass(frozen=True)
class Expected:
    """What to expect of a model with infinitely many examples a domain; the risks are means over random domains.

    Args:
        augmentation: What it is trained with.
        excess: The expected excess risk out of domain.
        error: The standard error of that mean.
        in_domain: The expected risk in domain.
    """

    augmentation: Augmentation
    excess: float
    error: float
    in_domain: float


@dataclass(frozen=True)
class Advice:
    """What the theory says about a number of domains.

    Args:
        setting: The law of the data.
        count: The number of training domains.
        expected: For each augmentation; a generic one is like none.
        needed: How many domains the unaugmented model needs to be as good as the targeted one; None for more than
            `MOST_DOMAINS`.
    """

    setting: LinearSetting
    count: int
    expected: tuple[Expected, ...]
    needed: int | None


def advise(setting: LinearSetting, count: int, *, seed: int = 0) -> Advice:
    """Expected risks for that number of training domains.

    Args:
        setting: The law of the data.
        count: The number of training domains.
        seed: Of the random domains that means are taken over.
    """
    expected = []
    for augmentation in COMPARED:
        rng = np.random.default_rng((seed, count))
        draws = max(2, EIGENVALUES // (setting.p_robust if augmentation == Augmentation.TARGETED else setting.p_domain))
        excess = expected_excess_risk(setting, count, augmentation, rng, draws)
        in_domain = expected_id_risk(setting, count, augmentation, rng, draws)
        expected.append(Expected(augmentation, excess.mean, excess.standard_error, in_domain.mean))
    return Advice(setting, count, tuple(expected), _domains_needed(setting, count, expected[1].excess, seed))


def _domains_needed(setting: LinearSetting, count: int, excess: float, seed: int) -> int | None:
    """How many domains bring the unaugmented model down to that excess risk, within some five per cent."""
    draws = max(2, EIGENVALUES // 5 // setting.p_domain)

    def is_enough(domains: int) -> bool:
        if bounds.theorem_1(setting, domains) > excess:
            return False
        rng = np.random.default_rng((seed, domains))
        return expected_excess_risk(setting, domains, Augmentation.NONE, rng, draws).mean <= excess

    return _smallest(is_enough, count)


def _smallest(is_enough: Callable[[int], bool], start: int) -> int | None:
    """The smallest number of domains from there on, within five per cent; None for more than `MOST_DOMAINS`."""
    low, high = start, start
    while not is_enough(high):
        if high >= MOST_DOMAINS:
            return None
        low, high = high, min(2 * high, MOST_DOMAINS)
    while high - low > max(1, 0.05 * low):
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def describe(advice: Advice) -> str:
    """The advice as a table and a few sentences."""
    setting, best = advice.setting, oracle_risk(advice.setting)
    none, targeted, invariant = advice.expected
    lines = [
        f"{advice.count} training domains, {setting.p_robust} robust and {setting.p_spurious} spurious features, "
        f"gamma^2 = {setting.gamma2:.3g}; as many examples a domain as one likes.",
        "",
        f"  {'augmentation':<24} {'excess OOD risk':>16} {'OOD RMSE':>9} {'ID RMSE':>9}",
    ]
    titles = {none: "unaugmented, or generic", targeted: "targeted", invariant: "domain-invariant"}
    for each, title in titles.items():
        lines.append(
            f"  {title:<24} {_digits(each.excess):>16} {math.sqrt(best + each.excess):>9.3f} "
            f"{math.sqrt(each.in_domain):>9.3f}"
        )
    lines += [f"  {'oracle (all domains)':<24} {'0':>16} {math.sqrt(best):>9.3f}", ""]
    return "\n".join([*lines, *_sentences(advice, best)])


def _sentences(advice: Advice, best: float) -> list[str]:
    none, targeted, invariant = advice.expected
    before, after, without = (math.sqrt(best + each.excess) for each in (none, targeted, invariant))
    gain = 1 - after / before if before > 0 else 0.0
    lines = [
        f"Targeted augmentation takes the OOD error from {before:.3f} to {after:.3f} ({gain:.0%} less); the best that "
        f"any linear model reaches is {math.sqrt(best):.3f}."
    ]
    # Two digits: more are not known, neither here nor of anybody's dimensions.
    if advice.needed is None:
        needed = f"more than {max(MOST_DOMAINS, advice.count):,}"
    else:
        needed = f"about {float(f'{advice.needed:.2g}'):,.0f}"
    lines.append(f"Without it, {needed} training domains would be needed for the same.")
    relation = "worse than" if without > before else "better than" if without < before else "as good as"
    lines.append(
        f"Domain-invariant augmentation gives up the robust features: {without:.3f}, {relation} none, whatever the "
        f"number of domains."
    )
    lines.append(_guarantee(advice))
    return lines


def _guarantee(advice: Advice) -> str:
    window = bounds.theorem_3_window(advice.setting)
    if window is None:
        return "Theorem 3 guarantees nothing in this setting; the numbers above do not need it."
    span = f"between {math.ceil(window.low)} and {math.floor(window.high)} domains"
    if bounds.theorem_3_applies(advice.setting, advice.count):
        return f"Theorem 3 guarantees the gain {span}, and you are among them."
    return f"Theorem 3 guarantees the gain {span}; outside of that the numbers above hold without a guarantee."


def _digits(value: float) -> str:
    return f"{value:.3f}" if value >= 0.001 or value == 0 else f"{value:.1e}"
