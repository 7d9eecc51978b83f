"""Stand-in for WILDS's deep CORAL: groups should agree in the mean and covariance of their features."""
# ruff: noqa: I001
# The order of the imports is WILDS's: the bridge's hooks depend on it.

import itertools
import torch
from models.initializer import initialize_model
from algorithms.single_model_algorithm import SingleModelAlgorithm
from wilds.common.utils import split_into_groups


class DeepCORAL(SingleModelAlgorithm):
    def __init__(self, config, d_out, grouper, loss, metric, n_train_steps):
        sampling = (config.train_loader, config.uniform_over_groups, config.distinct_groups)
        assert sampling == ("group", True, True), sampling
        featurizer, classifier = initialize_model(config, d_out=d_out, is_featurizer=True)
        model = torch.nn.Sequential(featurizer, classifier)
        super().__init__(config, model, grouper, loss, metric, n_train_steps)
        self.penalty_weight = config.coral_penalty_weight
        self.logged_fields.append("penalty")
        self.featurizer, self.classifier = featurizer, classifier

    def coral_penalty(self, x, y):
        means = (x.mean(0) - y.mean(0)).square().mean()
        return means + (torch.cov(x.T) - torch.cov(y.T)).square().mean()

    def process_batch(self, batch, unlabeled_batch=None):
        x, y_true, metadata = batch
        features = self.featurizer(x.to(self.device))
        return {
            "g": self.grouper.metadata_to_group(metadata).to(self.device),
            "y_true": y_true.to(self.device),
            "y_pred": self.classifier(features),
            "metadata": metadata,
            "features": features,
        }

    def objective(self, results):
        features = results.pop("features")
        penalties = [torch.zeros((), device=self.device)]
        if self.is_training:
            _, members, _ = split_into_groups(results["g"])
            pairs = itertools.combinations(members, 2)
            penalties = [self.coral_penalty(features[a], features[b]) for a, b in pairs] or penalties
        penalty = torch.stack(penalties).mean()
        self.save_metric_for_logging(results, "penalty", penalty)
        loss = self.loss.compute(results["y_pred"], results["y_true"], return_dict=False)
        return loss + self.penalty_weight * penalty
