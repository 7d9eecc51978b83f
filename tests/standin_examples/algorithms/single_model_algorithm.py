"""Stand-in for WILDS's layer that owns one model, its optimizer and its updates."""
# ruff: noqa: I001
# The order of the imports is WILDS's: the bridge's hooks depend on it.

import torch

from algorithms.group_algorithm import GroupAlgorithm
from scheduler import initialize_scheduler
from optimizer import initialize_optimizer
from torch.nn.utils import clip_grad_norm_
from utils import move_to


class SingleModelAlgorithm(GroupAlgorithm):
    def __init__(self, config, model, grouper, loss, metric, n_train_steps):
        optimizer = initialize_optimizer(config, model)
        super().__init__(
            device=config.device,
            grouper=grouper,
            logged_metrics=[loss] if metric is None else [loss, metric],
            logged_fields=["objective"],
            schedulers=[initialize_scheduler(config, optimizer, n_train_steps)],
            scheduler_metric_names=[config.scheduler_metric_name],
            no_group_logging=config.no_group_logging,
        )
        self.loss, self.metric = loss, metric
        self.optimizer = optimizer
        self.max_grad_norm = config.max_grad_norm
        self.gradient_accumulation_steps = config.gradient_accumulation_steps
        self.batch_idx = 0
        self.model = model.to(config.device)

    def get_model_output(self, x, y_true):
        if self.model.needs_y:
            return self.model(x, y_true if self.training else None)
        return self.model(x)

    def process_batch(self, batch, unlabeled_batch=None):
        x, y_true, metadata = batch
        x, y_true = move_to(x, self.device), move_to(y_true, self.device)
        g = move_to(self.grouper.metadata_to_group(metadata), self.device)
        return {"g": g, "y_true": y_true, "y_pred": self.get_model_output(x, y_true), "metadata": metadata}

    def objective(self, results):
        raise NotImplementedError

    def evaluate(self, batch):
        assert not self.is_training
        results = self.process_batch(batch)
        self._measure(results)
        return self._report(results)

    def update(self, batch, unlabeled_batch=None, is_epoch_end=False):
        assert self.is_training
        results = self.process_batch(batch, unlabeled_batch)
        self.batch_idx += 1
        self._update(results, is_epoch_end or self.batch_idx % self.gradient_accumulation_steps == 0)
        if is_epoch_end:
            self.batch_idx = 0
        return self._report(results)

    def _update(self, results, should_step=False):
        self._measure(results).backward()
        if not should_step:
            return
        if limit := self.max_grad_norm:
            clip_grad_norm_(self.model.parameters(), limit)
        self.optimizer.step()
        self.model.zero_grad()
        self.step_schedulers(is_epoch=False)

    def _measure(self, results):
        value = self.objective(results)
        self.save_metric_for_logging(results, "objective", value)
        return value

    def _report(self, results):
        self.update_log(results)
        return self.sanitize_dict(results)

    def save_metric_for_logging(self, results, metric, value):
        results[metric] = value.item() if torch.is_tensor(value) else value
