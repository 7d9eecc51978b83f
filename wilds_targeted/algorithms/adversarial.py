"""Domain-adversarial training: DANN (Ganin et al. 2016) and CDAN (Long et al. 2018).

A discriminator learns to tell the training domains apart by the features, and the gradient that reaches the featurizer
from it is reversed: the featurizer learns features that do not give the domain away. CDAN shows the discriminator
features and label together, so that only what the domain changes *within* a class is pushed out. Where domains
have different shares of the classes, as in iWildCam, DANN would punish telling the classes apart.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import nn
from torch.nn import functional
from wilds.common.metrics.loss import ElementwiseLoss
from wilds.common.utils import get_counts

from wilds_targeted.algorithms.optimization import build_optimizer
from wilds_targeted.algorithms.single_model import Batch, Results, SingleModelAlgorithm
from wilds_targeted.specs import AlgorithmInputs

HIDDEN = 1024
"""Width of the discriminator's hidden layers, as in WILDS."""

MULTILINEAR_LIMIT = 4096
"""Up to this size Long et al. take the whole product of features and label; above it, a random projection."""

PROJECTION = 1024
"""Size of that projection."""


class _ReverseGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, features: torch.Tensor) -> torch.Tensor:
        return features * 1.0

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> torch.Tensor:
        return gradients[0].neg()


def reverse_gradient(features: torch.Tensor) -> torch.Tensor:
    """The features themselves; their gradient changes its sign."""
    reversed_: torch.Tensor = _ReverseGradient.apply(features)
    return reversed_


def discriminator(d_in: int, n_domains: int) -> nn.Sequential:
    """Three layers that tell the domains apart."""
    return nn.Sequential(
        nn.Linear(d_in, HIDDEN),
        nn.BatchNorm1d(HIDDEN),
        nn.ReLU(),
        nn.Linear(HIDDEN, HIDDEN),
        nn.BatchNorm1d(HIDDEN),
        nn.ReLU(),
        nn.Linear(HIDDEN, n_domains),
    )


class AdversarialNetwork(nn.Module):
    """Featurizer, classifier and domain discriminator; the names of the parts are WILDS's.

    Args:
        featurizer: With the attribute ``d_out``.
        classifier: From features to outputs.
        domain_classifier: From what it is shown to domains.
    """

    def __init__(self, featurizer: nn.Module, classifier: nn.Module, domain_classifier: nn.Module) -> None:
        super().__init__()
        self.featurizer = featurizer
        self.classifier = classifier
        self.domain_classifier = domain_classifier

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Outputs and features."""
        features = self.featurizer(x)
        return self.classifier(features), features


class DomainAdversarial(SingleModelAlgorithm):
    """What DANN and CDAN share; a subclass says what the discriminator sees.

    Args:
        inputs: Configuration, data, loss.
        network: The three parts.
        domain_of_group: For each group the number of its domain.
        penalty_weight: The weight of the discriminator's loss.
        rates: Learning rates of featurizer, classifier and discriminator.
    """

    def __init__(
        self,
        inputs: AlgorithmInputs,
        network: AdversarialNetwork,
        domain_of_group: torch.Tensor,
        penalty_weight: float,
        rates: tuple[float, float, float],
    ) -> None:
        parts = (network.featurizer, network.classifier, network.domain_classifier)
        groups = [{"params": part.parameters(), "lr": rate} for part, rate in zip(parts, rates, strict=True)]
        super().__init__(inputs, network, build_optimizer(inputs.config, network, groups))
        self.domain_of_group = domain_of_group
        self.penalty_weight = penalty_weight
        self.domain_loss = ElementwiseLoss(nn.CrossEntropyLoss(reduction="none"))
        self.log.fields += ["classification_loss", "domain_classification_loss"]

    def discriminate(self, features: torch.Tensor, y_true: torch.Tensor) -> torch.Tensor:
        """The discriminator's outputs."""
        raise NotImplementedError

    def process_batch(self, batch: Batch) -> Results:
        """The outputs and, in training, the discriminator's."""
        x, y_true, metadata = batch
        groups = self.grouper.metadata_to_group(metadata)
        y_true = y_true.to(self.device)
        y_pred, features = self.model(x.to(self.device))
        results = {"g": groups.to(self.device), "metadata": metadata, "y_true": y_true, "y_pred": y_pred}
        if self.is_training:
            results["domains_true"] = self.domain_of_group[groups].to(self.device)
            results["domains_pred"] = self.discriminate(reverse_gradient(features), y_true)
        return results

    def objective(self, results: Results) -> torch.Tensor:
        """The mean loss and, in training, the weighted loss of the discriminator."""
        loss: torch.Tensor = self.loss.compute(results["y_pred"], results["y_true"], return_dict=False)
        domain_loss = torch.zeros((), device=self.device)
        if self.is_training:
            domain_loss = self.domain_loss.compute(
                results.pop("domains_pred"), results.pop("domains_true"), return_dict=False
            )
        results["classification_loss"] = loss.item()
        results["domain_classification_loss"] = domain_loss.item()
        return loss + domain_loss * self.penalty_weight

    @property
    def network(self) -> AdversarialNetwork:
        """The three parts, also where several devices share the work."""
        network = self.model.module if isinstance(self.model, nn.DataParallel) else self.model
        assert isinstance(network, AdversarialNetwork)
        return network


class DANN(DomainAdversarial):
    """The discriminator sees the features."""

    def __init__(self, inputs: AlgorithmInputs) -> None:
        config = inputs.config
        featurizer, classifier = inputs.build_model(True)
        domain_of_group, n_domains = number_domains(inputs)
        network = AdversarialNetwork(featurizer, classifier, discriminator(featurizer.d_out, n_domains))
        rates = (config.dann_featurizer_lr, config.dann_classifier_lr, config.dann_discriminator_lr)
        super().__init__(inputs, network, domain_of_group, config.dann_penalty_weight, rates)

    def discriminate(self, features: torch.Tensor, y_true: torch.Tensor) -> torch.Tensor:
        """The discriminator's outputs, for the features alone."""
        domains: torch.Tensor = self.network.domain_classifier(features)
        return domains


class CDAN(DomainAdversarial):
    """The discriminator sees the multilinear product of features and label.

    Long et al. condition on the classifier's prediction, because their target domain has no labels; here every training
    domain has them, so the label itself is the condition. Rates that are not given follow the paper: the featurizer's
    is a tenth of the classifier's, which is ``--lr``, as is the discriminator's.
    """

    def __init__(self, inputs: AlgorithmInputs) -> None:
        config = inputs.config
        featurizer, classifier = inputs.build_model(True)
        domain_of_group, n_domains = number_domains(inputs)
        shown = MultilinearMap(featurizer.d_out, inputs.d_out)
        network = AdversarialNetwork(featurizer, classifier, discriminator(shown.d_out, n_domains))
        classifier_lr = _given(config.cdan_classifier_lr, config.lr)
        rates = (
            _given(config.cdan_featurizer_lr, classifier_lr / 10),
            classifier_lr,
            _given(config.cdan_discriminator_lr, config.lr),
        )
        super().__init__(inputs, network, domain_of_group, config.cdan_penalty_weight, rates)
        self.map = shown.to(self.device)
        self.n_classes = inputs.d_out

    def discriminate(self, features: torch.Tensor, y_true: torch.Tensor) -> torch.Tensor:
        """The discriminator's outputs, for features and label together."""
        label = functional.one_hot(y_true, self.n_classes).to(features.dtype)
        domains: torch.Tensor = self.network.domain_classifier(self.map(features, label))
        return domains


class MultilinearMap(nn.Module):
    """The product of two vectors, flattened; of large ones, a random projection with the same inner products.

    Whole: T(f, g) = f g^T. Projected, with Gaussian matrices R: T(f, g) = (R_f f * R_g g) / sqrt(d), whose inner
    products are in expectation those of the whole product (Long et al. 2018, section 3.2). The projection is part of
    the state, since the discriminator learns for one projection only.

    Args:
        d_first: Size of the first vector.
        d_second: Size of the second.
    """

    first_projection: torch.Tensor
    second_projection: torch.Tensor

    def __init__(self, d_first: int, d_second: int) -> None:
        super().__init__()
        self.is_projected = d_first * d_second > MULTILINEAR_LIMIT
        self.d_out = PROJECTION if self.is_projected else d_first * d_second
        if self.is_projected:
            self.register_buffer("first_projection", torch.randn(d_first, PROJECTION))
            self.register_buffer("second_projection", torch.randn(d_second, PROJECTION))

    def forward(self, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        """The product, one row for each row of the arguments."""
        if not self.is_projected:
            return torch.einsum("bi,bj->bij", first, second).flatten(1)
        product = (first @ self.first_projection) * (second @ self.second_projection)
        return product / math.sqrt(PROJECTION)


def number_domains(inputs: AlgorithmInputs) -> tuple[torch.Tensor, int]:
    """For each group the number of its domain, counting only groups that are in the training split; and how many."""
    training = inputs.grouper.metadata_to_group(inputs.datasets["train"]["dataset"].metadata_array)
    present = get_counts(training, inputs.grouper.n_groups) > 0
    numbers = torch.cumsum(present.long(), 0) - 1
    return numbers.clamp(min=0), int(present.sum())


def _given(value: float | None, otherwise: float) -> float:
    return otherwise if value is None else value
