"""Deep CORAL (Sun and Saenko 2016): align the features' first two moments across domains."""

from __future__ import annotations

import torch
from torch import nn
from wilds.common.utils import split_into_groups

from wilds_targeted.algorithms.single_model import Batch, Results, SingleModelAlgorithm
from wilds_targeted.specs import AlgorithmInputs


class DeepCORAL(SingleModelAlgorithm):
    """Adds the mean distance, over pairs of groups in the batch, of the features' means and covariances."""

    def __init__(self, inputs: AlgorithmInputs) -> None:
        featurizer, classifier = inputs.build_model(True)
        super().__init__(inputs, nn.Sequential(featurizer, classifier))
        self.featurizer = featurizer
        self.classifier = classifier
        self.log.fields.append("penalty")

    def process_batch(self, batch: Batch) -> Results:
        """Outputs, and the features that they come from."""
        x, y_true, metadata = batch
        features = self.featurizer(x.to(self.device))
        return {
            "g": self.group_of(metadata),
            "y_true": y_true.to(self.device),
            "y_pred": self.classifier(features),
            "metadata": metadata,
            "features": features,
        }

    def objective(self, results: Results) -> torch.Tensor:
        """The mean loss and, in training, the weighted penalty."""
        features = results.pop("features")
        penalty = torch.zeros(1, device=self.device)
        if self.is_training:
            _, members, _ = split_into_groups(results["g"])
            pairs = [(a, b) for position, a in enumerate(members) for b in members[position + 1 :]]
            for a, b in pairs:
                penalty = penalty + moment_distance(features[a], features[b])
            if pairs:
                penalty = penalty / len(pairs)
        results["penalty"] = penalty.item()
        loss: torch.Tensor = self.loss.compute(results["y_pred"], results["y_true"], return_dict=False)
        objective: torch.Tensor = loss + penalty * self.config.coral_penalty_weight
        return objective


def moment_distance(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The mean squared difference of the means, plus that of the covariances; the last axis is the features'."""
    means, covariances = [], []
    for features in (a, b):
        rows = features.reshape(-1, features.shape[-1])
        mean = rows.mean(0, keepdim=True)
        centred = rows - mean
        means.append(mean)
        covariances.append((centred.t() @ centred) / (len(rows) - 1))
    return (means[0] - means[1]).pow(2).mean() + (covariances[0] - covariances[1]).pow(2).mean()
