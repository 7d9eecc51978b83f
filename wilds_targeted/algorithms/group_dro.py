"""Group distributionally robust optimization (Sagawa et al. 2020)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from wilds.common.utils import get_counts

from wilds_targeted.algorithms.single_model import Batch, Results, SingleModelAlgorithm
from wilds_targeted.specs import AlgorithmInputs


class GroupDRO(SingleModelAlgorithm):
    """Minimizes a weighted mean of the groups' losses; the weights grow with the losses."""

    def __init__(self, inputs: AlgorithmInputs) -> None:
        super().__init__(inputs, inputs.build_model(False))
        self.log.fields.append("group_weight")
        training = inputs.grouper.metadata_to_group(inputs.datasets["train"]["dataset"].metadata_array)
        present = (get_counts(training, inputs.grouper.n_groups) > 0).float()
        self.group_weights = (present / present.sum()).to(self.device)

    def process_batch(self, batch: Batch) -> Results:
        """The outputs, and the groups' weights for the log."""
        return {**super().process_batch(batch), "group_weight": self.group_weights}

    def objective(self, results: Results) -> torch.Tensor:
        """The weighted mean of the groups' losses."""
        weighted: torch.Tensor = self._group_losses(results) @ self.group_weights
        return weighted

    def learn(self, results: Results, *, should_step: bool) -> None:
        """First the weights move, then the model."""
        losses = self._group_losses(results).detach()
        weights = self.group_weights * torch.exp(self.config.group_dro_step_size * losses)
        self.group_weights = weights / weights.sum()
        results["group_weight"] = self.group_weights
        super().learn(results, should_step=should_step)

    def _group_losses(self, results: Results) -> torch.Tensor:
        losses: torch.Tensor
        losses, _, _ = self.loss.compute_group_wise(
            results["y_pred"], results["y_true"], results["g"], self.grouper.n_groups, return_dict=False
        )
        return losses

    def extra_state(self) -> dict[str, Any]:
        """The groups' weights."""
        return {"group_weights": self.group_weights}

    def load_extra_state(self, state: Mapping[str, Any]) -> None:
        """Take the weights back."""
        self.group_weights = state["group_weights"].to(self.device)
