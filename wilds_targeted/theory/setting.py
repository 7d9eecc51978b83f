"""The law of the data (section 4.1 of the paper): domains, their examples, and the three kinds of augmentation."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass
from numbers import Integral

import numpy as np
from numpy.typing import NDArray

from wilds_targeted.errors import ParameterError

Floats = NDArray[np.float64]


class Augmentation(enum.StrEnum):
    """What is done to training examples; every label is kept."""

    NONE = "unaugmented"
    GENERIC = "generic"
    TARGETED = "targeted"
    DOMAIN_INVARIANT = "domain-invariant"


REPLACED: dict[Augmentation, tuple[str, ...]] = {
    Augmentation.NONE: (),
    Augmentation.GENERIC: ("noise",),
    Augmentation.TARGETED: ("spurious",),
    Augmentation.DOMAIN_INVARIANT: ("robust", "spurious"),
}
"""The features that an augmentation replaces by fresh draws from their marginal law."""


@dataclass(frozen=True, eq=False)
class Domains:
    """The attributes of some domains, which no model sees.

    Args:
        robust: One row a domain, mu_robust.
        spurious: One row a domain, mu_spurious.
    """

    robust: Floats
    spurious: Floats

    def __post_init__(self) -> None:
        shapes = self.robust.shape, self.spurious.shape
        if not (len(shapes[0]) == len(shapes[1]) == 2 and shapes[0][0] == shapes[1][0] >= 1):
            raise ParameterError(
                f"attributes of shape {shapes[0]} and {shapes[1]}: expected are two tables with one row for each "
                f"domain, and at least one domain."
            )

    def __len__(self) -> int:
        return len(self.robust)

    @property
    def attributes(self) -> Floats:
        """Both side by side: one row mu_d = [mu_robust, mu_spurious] a domain."""
        return np.concatenate([self.robust, self.spurious], axis=1)


@dataclass(frozen=True, eq=False)
class Examples:
    """What a model is trained or tested on.

    Args:
        x: One row an example, [object, noise, robust, spurious].
        y: Its label.
        domain: The number of its domain.
    """

    x: Floats
    y: Floats
    domain: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.y)


@dataclass(frozen=True)
class LinearSetting:
    """The linear regression setting; the defaults are those of the paper's simulations (where the paper gives any).

    A domain has attributes mu_robust and mu_spurious, all of whose coordinates are N(0, tau^2). Its examples are
    x = [obj, noise, robust, spurious] and y with::

        obj ~ N(0, I)    noise ~ N(0, I)    robust ~ N(mu_robust, sigma^2 I)    spurious ~ N(mu_spurious, sigma^2 I)
        y = beta_obj . obj + beta_robust . mu_robust + N(0, sigma_epsilon^2)

    Rotating a block of features changes none of these laws, so of beta_obj and beta_robust only the lengths matter.

    >>> setting = LinearSetting(p_obj=1, p_noise=2, p_robust=2, p_spurious=3)
    >>> rng = np.random.default_rng(0)
    >>> domains = setting.draw_domains(4, rng)
    >>> setting.draw_examples(domains, 100, rng).x.shape
    (100, 8)

    Args:
        p_obj: The number of object features.
        p_noise: Of noise features.
        p_robust: Of robust features.
        p_spurious: Of spurious features.
        sigma2: sigma^2, the variance of robust and spurious features within a domain.
        tau2: tau^2, the variance of their means between domains.
        sigma_epsilon: The standard deviation of the labels' noise.
        norm_obj: The length of beta_obj (without object features there is none).
        norm_robust: The length of beta_robust.
    """

    p_obj: int = 5
    p_noise: int = 500
    p_robust: int = 5
    p_spurious: int = 500
    sigma2: float = 0.1
    tau2: float = 1.0
    sigma_epsilon: float = 0.1
    norm_obj: float = 1.0
    norm_robust: float = 1.0

    def __post_init__(self) -> None:
        for name, least in (("p_obj", 0), ("p_noise", 0), ("p_robust", 1), ("p_spurious", 1)):
            check_count(name, getattr(self, name), least)
        for name in ("sigma2", "tau2"):
            if not 0 < getattr(self, name) < math.inf:
                raise ParameterError(f"{name}={getattr(self, name)}: expected is a variance, a finite number above 0.")
        for name in ("sigma_epsilon", "norm_obj", "norm_robust"):
            if not 0 <= getattr(self, name) < math.inf:
                raise ParameterError(f"{name}={getattr(self, name)}: expected is a finite number from 0 up.")

    @property
    def gamma2(self) -> float:
        """gamma^2 = tau^2 / sigma^2: how far domains are apart against their own spread; the paper's is above 1."""
        return self.tau2 / self.sigma2

    @property
    def p_domain(self) -> int:
        """The number of features that depend on the domain: p_dom = p_robust + p_spurious."""
        return self.p_robust + self.p_spurious

    @property
    def p(self) -> int:
        """The number of all features."""
        return self.p_obj + self.p_noise + self.p_domain

    @property
    def beta_obj(self) -> Floats:
        """How the label depends on the object features: all coordinates equal."""
        return _equal_coordinates(self.p_obj, self.norm_obj)

    @property
    def beta_robust(self) -> Floats:
        """How the label depends on the domain's robust attributes: all coordinates equal."""
        return _equal_coordinates(self.p_robust, self.norm_robust)

    @property
    def beta_domain(self) -> Floats:
        """[beta_robust, 0], for robust and spurious attributes side by side."""
        return np.concatenate([self.beta_robust, np.zeros(self.p_spurious)])

    @property
    def blocks(self) -> dict[str, slice]:
        """Where in x each kind of feature is."""
        sizes = {"obj": self.p_obj, "noise": self.p_noise, "robust": self.p_robust, "spurious": self.p_spurious}
        ends = np.cumsum(list(sizes.values())).tolist()
        return {name: slice(end - size, end) for (name, size), end in zip(sizes.items(), ends, strict=True)}

    @property
    def obj(self) -> slice:
        """The object features in x."""
        return self.blocks["obj"]

    @property
    def domain_dependent(self) -> slice:
        """The robust and spurious features in x."""
        return slice(self.p - self.p_domain, self.p)

    @property
    def marginal_deviations(self) -> Floats:
        """Each feature's standard deviation over all domains: 1, and sqrt(sigma^2 + tau^2) where domains matter."""
        deviations = np.ones(self.p)
        deviations[self.domain_dependent] = math.sqrt(self.sigma2 + self.tau2)
        return deviations

    def replaced(self, augmentation: Augmentation) -> NDArray[np.bool_]:
        """For each feature in x whether the augmentation replaces it."""
        mask = np.zeros(self.p, dtype=np.bool_)
        for name in REPLACED[augmentation]:
            mask[self.blocks[name]] = True
        return mask

    def check_domains(self, domains: Domains) -> None:
        """Refuse domains whose attributes are not as many as this setting's.

        Raises:
            ParameterError: They are more or fewer.
        """
        given, expected = (domains.robust.shape[1], domains.spurious.shape[1]), (self.p_robust, self.p_spurious)
        if given != expected:
            raise ParameterError(
                f"domains with {given[0]} robust and {given[1]} spurious attributes: this setting has {expected[0]} "
                f"and {expected[1]}; draw them with its own draw_domains."
            )

    def draw_domains(self, count: int, rng: np.random.Generator) -> Domains:
        """So many domains: mu_robust ~ N(0, tau^2 I), mu_spurious ~ N(0, tau^2 I)."""
        check_count("count", count, 1)
        deviation = math.sqrt(self.tau2)
        return Domains(
            robust=deviation * rng.standard_normal((count, self.p_robust)),
            spurious=deviation * rng.standard_normal((count, self.p_spurious)),
        )

    def draw_examples(self, domains: Domains, count: int, rng: np.random.Generator) -> Examples:
        """So many examples, each one's domain drawn uniformly."""
        self.check_domains(domains)
        check_count("count", count, 0)
        domain = rng.integers(len(domains), size=count)
        x = rng.standard_normal((count, self.p))
        x[:, self.domain_dependent] *= math.sqrt(self.sigma2)
        x[:, self.domain_dependent] += domains.attributes[domain]
        y = x[:, self.obj] @ self.beta_obj + (domains.robust @ self.beta_robust)[domain]
        y += self.sigma_epsilon * rng.standard_normal(count)
        return Examples(x, y, domain)

    def augment(
        self, examples: Examples, augmentation: Augmentation, rng: np.random.Generator, copies: int = 1
    ) -> Examples:
        """The examples with some features replaced by draws from their marginal law, which no domain shifts.

        Noise features are drawn from N(0, I), robust and spurious ones from N(0, (sigma^2 + tau^2) I).

        Args:
            examples: They are left as they are.
            augmentation: It says which features (`REPLACED`).
            rng: Where the draws come from.
            copies: How often the augmentation runs over all examples (5 in the paper's simulations).

        Returns:
            ``copies`` times as many examples, one pass after the other; labels and domains are repeated.
        """
        check_count("copies", copies, 1)
        x = np.tile(examples.x, (copies, 1))
        deviations = self.marginal_deviations
        for name in REPLACED[augmentation]:
            block = self.blocks[name]
            x[:, block] = rng.standard_normal(x[:, block].shape) * deviations[block]
        return Examples(x, np.tile(examples.y, copies), np.tile(examples.domain, copies))


def check_count(name: str, value: object, least: int) -> None:
    """Refuse what is not a whole number of at least ``least``.

    Raises:
        ParameterError: It is something else.
    """
    if not isinstance(value, Integral) or value < least:
        raise ParameterError(f"{name}={value}: expected is a whole number from {least} up.")


def _equal_coordinates(size: int, length: float) -> Floats:
    return np.full(size, length / math.sqrt(max(size, 1)))
