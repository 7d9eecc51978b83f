"""Empirical risk minimization: the average loss."""

from __future__ import annotations

import torch

from wilds_targeted.algorithms.single_model import Results, SingleModelAlgorithm
from wilds_targeted.specs import AlgorithmInputs


class ERM(SingleModelAlgorithm):
    """Minimizes the average loss over the training examples."""

    def __init__(self, inputs: AlgorithmInputs) -> None:
        super().__init__(inputs, inputs.build_model(False))

    def objective(self, results: Results) -> torch.Tensor:
        """The mean loss of the batch."""
        mean: torch.Tensor = self.loss.compute(results["y_pred"], results["y_true"], return_dict=False)
        return mean
