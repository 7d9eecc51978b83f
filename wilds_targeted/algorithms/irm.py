"""Invariant risk minimization (Arjovsky et al. 2019), as WILDS and DomainBed do it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from wilds.common.utils import split_into_groups

from wilds_targeted.algorithms.optimization import build_optimizer
from wilds_targeted.algorithms.single_model import Results, SingleModelAlgorithm
from wilds_targeted.specs import AlgorithmInputs


class IRM(SingleModelAlgorithm):
    """Adds to each group's loss the squared gradient with respect to a scale on the outputs.

    The square is estimated without bias as the product of the gradients on two halves of the group. For the first
    ``--irm_penalty_anneal_iters`` batches the penalty's weight is 1, then ``--irm_lambda``, with a new optimizer, whose
    moments do not know the old weight. As in WILDS, a schedule goes on with the first optimizer and no longer
    changes the rate of the new one.
    """

    def __init__(self, inputs: AlgorithmInputs) -> None:
        super().__init__(inputs, inputs.build_model(False))
        self.log.fields.append("penalty")
        self.scale = torch.tensor(1.0, device=self.device, requires_grad=True)
        self.update_count = 0

    def objective(self, results: Results) -> torch.Tensor:
        """The mean over groups of loss and weighted penalty, whatever the groups' sizes."""
        _, members, _ = split_into_groups(results["g"])
        loss, penalty = torch.zeros(2, device=self.device)
        for rows in members:
            losses, _ = self.loss.compute_flattened(
                self.scale * results["y_pred"][rows], results["y_true"][rows], return_dict=False
            )
            if losses.numel() > 0:
                loss = loss + losses.mean()
            if self.is_training:
                penalty = penalty + self._penalty(losses)
        loss, penalty = loss / len(members), penalty / len(members)
        results["penalty"] = penalty.item()
        annealed = self.update_count >= self.config.irm_penalty_anneal_iters
        objective: torch.Tensor = loss + penalty * (self.config.irm_lambda if annealed else 1.0)
        return objective

    def _penalty(self, losses: torch.Tensor) -> torch.Tensor:
        halves = (losses[0::2].mean(), losses[1::2].mean())
        (one,), (other,) = (torch.autograd.grad(half, [self.scale], create_graph=True) for half in halves)
        return torch.sum(one * other)

    def learn(self, results: Results, *, should_step: bool) -> None:
        """As always, but with a new optimizer when the penalty's weight changes."""
        if self.update_count == self.config.irm_penalty_anneal_iters:
            self.optimizer = build_optimizer(self.config, self.model)
        super().learn(results, should_step=should_step)
        self.update_count += 1

    def extra_state(self) -> dict[str, Any]:
        """How many batches were seen."""
        return {"update_count": self.update_count}

    def load_extra_state(self, state: Mapping[str, Any]) -> None:
        """Take the count back; after the change of weight the optimizer is no longer the schedule's."""
        self.update_count = state["update_count"]
        if self.update_count > self.config.irm_penalty_anneal_iters:
            self.optimizer = build_optimizer(self.config, self.model)
