"""What all our algorithms share: one model, one optimizer, the protocol of WILDS's training loop."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from wilds_targeted.algorithms.optimization import build_optimizer, build_schedule
from wilds_targeted.algorithms.running_log import RunningLog
from wilds_targeted.errors import ConfigError
from wilds_targeted.specs import AlgorithmInputs

Results = dict[str, Any]
Batch = tuple[Any, torch.Tensor, torch.Tensor]


class SingleModelAlgorithm(nn.Module):
    """Trains one model by gradient steps on an objective that subclasses define.

    `state_dict` is WILDS's: the weights, under WILDS's names. `training_state` holds the rest of what a run needs to go
    on exactly where it stopped, which WILDS's own algorithms can't tell.

    Args:
        inputs: Configuration, loss, metric, grouper.
        model: The model, built from these inputs.
        optimizer: For algorithms with learning rates of their own; the configured one by default.
    """

    def __init__(
        self, inputs: AlgorithmInputs, model: nn.Module, optimizer: torch.optim.Optimizer | None = None
    ) -> None:
        super().__init__()
        config = inputs.config
        self.config = config
        self.device = config.device
        self.grouper = inputs.grouper
        self.loss = inputs.loss
        self.optimizer = build_optimizer(config, model) if optimizer is None else optimizer
        self.schedule = build_schedule(config, self.optimizer, inputs.n_train_steps)
        metrics = [inputs.loss] if inputs.metric is None else [inputs.loss, inputs.metric]
        self.log = RunningLog(metrics, inputs.grouper, by_group=not config.no_group_logging)
        self.model = nn.DataParallel(model) if config.use_data_parallel else model
        self.model.to(self.device)
        self.batch_idx = 0
        self.is_training = True

    # What an algorithm may define.

    def process_batch(self, batch: Batch) -> Results:
        """The model's outputs, with what the objective and the log need: at least y_true, y_pred, g and metadata."""
        x, y_true, metadata = batch
        return {
            "g": self.group_of(metadata),
            "y_true": y_true.to(self.device),
            "y_pred": self.model(x.to(self.device)),
            "metadata": metadata,
        }

    def objective(self, results: Results) -> torch.Tensor:
        """What is minimized; it may add numbers to the results, for the log."""
        raise NotImplementedError

    def extra_state(self) -> dict[str, Any]:
        """What else changes while this algorithm trains."""
        return {}

    def load_extra_state(self, state: Mapping[str, Any]) -> None:
        """Take back what `extra_state` gave."""

    # The protocol.

    def train(self, mode: bool = True) -> SingleModelAlgorithm:
        """Switch to training."""
        self.is_training = mode
        self.reset_log()
        return super().train(mode)

    def update(self, batch: Batch, unlabeled_batch: Any = None, is_epoch_end: bool = False) -> Results:
        """One training batch; the optimizer steps when enough have been accumulated, and at the end of an epoch."""
        if unlabeled_batch is not None:
            raise ConfigError(
                f"algorithm {type(self).__name__!r} takes no unlabeled data. Leave out --unlabeled_split."
            )
        results = self.process_batch(batch)
        accumulated = (self.batch_idx + 1) % self.config.gradient_accumulation_steps == 0
        self.learn(results, should_step=accumulated or is_epoch_end)
        self.log.add(results)
        self.batch_idx = 0 if is_epoch_end else self.batch_idx + 1
        return _detached(results)

    def evaluate(self, batch: Batch) -> Results:
        """One batch without learning."""
        results = self.process_batch(batch)
        results["objective"] = self.objective(results).item()
        self.log.add(results)
        return _detached(results)

    def learn(self, results: Results, *, should_step: bool) -> None:
        """The gradient of the objective and, if it is time, a step."""
        objective = self.objective(results)
        results["objective"] = objective.item()
        objective.backward()  # type: ignore[no-untyped-call]
        if should_step:
            if self.config.max_grad_norm:
                nn.utils.clip_grad_norm_(self.model.parameters(), self.config.max_grad_norm)
            self.optimizer.step()
            self.step_schedulers(is_epoch=False)
            self.model.zero_grad()

    def step_schedulers(
        self, is_epoch: bool, metrics: Mapping[str, Any] | None = None, log_access: bool = False
    ) -> None:
        """Step the schedule, if this is when it steps."""
        if self.schedule is None or is_epoch == self.schedule.every_batch:
            return
        if self.schedule.metric is None:
            self.schedule.scheduler.step()
            return
        known = {**(self.log.as_row() if log_access else {}), **(metrics or {})}
        if self.schedule.metric not in known:
            raise ConfigError(
                f"--scheduler_metric_name {self.schedule.metric} is not among the metrics: {', '.join(known)}."
            )
        self.schedule.scheduler.step(known[self.schedule.metric])

    @property
    def has_log(self) -> bool:
        """Whether any batch was seen since the last reset."""
        return bool(self.log)

    def get_log(self) -> dict[str, Any]:
        """The running averages, one number a name."""
        return self.log.as_row()

    def get_pretty_log_str(self) -> str:
        """The running averages for people."""
        return self.log.as_text()

    def reset_log(self) -> None:
        """Start the averages anew."""
        self.log.reset()

    def training_state(self) -> dict[str, Any]:
        """All but the weights that a run needs to go on; plain data and tensors."""
        return {
            "optimizer": self.optimizer.state_dict(),
            "scheduler": None if self.schedule is None else self.schedule.scheduler.state_dict(),
            "batch_idx": self.batch_idx,
            "log": dict(self.log.values),
            "extra": self.extra_state(),
        }

    def load_training_state(self, state: Mapping[str, Any]) -> None:
        """Take back what `training_state` gave."""
        self.load_extra_state(state["extra"])
        self.optimizer.load_state_dict(state["optimizer"])
        if self.schedule is not None:
            self.schedule.scheduler.load_state_dict(state["scheduler"])
        self.batch_idx = state["batch_idx"]
        # A state is read on the CPU; group-wise averages live where the model does.
        log = state["log"].items()
        self.log.values = {k: v.to(self.device) if isinstance(v, torch.Tensor) else v for k, v in log}

    # For subclasses.

    def group_of(self, metadata: torch.Tensor) -> torch.Tensor:
        """The group of each example."""
        groups: torch.Tensor = self.grouper.metadata_to_group(metadata).to(self.device)
        return groups


def _detached(results: Results) -> Results:
    """The results on the CPU, without their history."""
    return {
        name: value.detach().clone().cpu() if isinstance(value, torch.Tensor) else value
        for name, value in results.items()
    }
