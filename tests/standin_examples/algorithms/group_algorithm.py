"""Stand-in for WILDS's layer that logs by group and steps schedulers."""

import torch
from algorithms.algorithm import Algorithm
from scheduler import step_scheduler
from wilds.common.utils import numel


class GroupAlgorithm(Algorithm):
    """Keeps sums in log_dict, as {column: [sum, weight]}; get_log() divides them."""

    def __init__(
        self,
        device,
        grouper,
        logged_metrics,
        logged_fields,
        schedulers,
        scheduler_metric_names,
        no_group_logging,
        **kwargs,
    ):
        super().__init__(device)
        self.grouper = grouper
        self.logged_metrics = logged_metrics
        self.logged_fields = logged_fields
        self.schedulers = schedulers
        self.scheduler_metric_names = scheduler_metric_names
        self.no_group_logging = no_group_logging

    def _add(self, column, value, weight):
        total = self.log_dict.setdefault(column, [0.0, 0])
        total[0] += value * weight
        total[1] += weight

    def update_log(self, results):
        results = self.sanitize_dict(results, to_out_device=False)
        y_pred, y_true, g = results["y_pred"], results["y_true"], results["g"]
        n = numel(y_true)
        for metric in self.logged_metrics:
            with torch.no_grad():
                value = metric.compute(y_pred, y_true, return_dict=False)
                self._add(metric.agg_metric_field, value.item(), n)
                if self.no_group_logging:
                    continue
                values, counts, _ = metric.compute_group_wise(
                    y_pred, y_true, g, self.grouper.n_groups, return_dict=False
                )
            for group, (value, count) in enumerate(zip(values.tolist(), counts.tolist(), strict=True)):
                self._add(metric.group_metric_field(group), value if count else 0.0, count)
        for field in self.logged_fields:
            self._add(field, results[field], n)

    def get_log(self):
        log = {name: total / n if n else float("nan") for name, (total, n) in self.log_dict.items()}
        log["count"] = self.log_dict[self.logged_fields[0]][1]
        if not self.no_group_logging:
            metric = self.logged_metrics[0]
            for group in range(self.grouper.n_groups):
                log[metric.group_count_field(group)] = self.log_dict[metric.group_metric_field(group)][1]
        return log

    def get_pretty_log_str(self):
        log = self.get_log()
        overall = [*self.logged_fields, *(metric.agg_metric_field for metric in self.logged_metrics)]
        lines = [f"{name}: {log[name]:.3f}" for name in overall]
        for group in range(0 if self.no_group_logging else self.grouper.n_groups):
            if count := log[self.logged_metrics[0].group_count_field(group)]:
                values = [f"{m.name} {log[m.group_metric_field(group)]:.3f}" for m in self.logged_metrics]
                lines.append(f"  {self.grouper.group_str(group)} (n={count:.0f}): {', '.join(values)}")
        return "\n".join(lines) + "\n"

    def step_schedulers(self, is_epoch, metrics=None, log_access=False):
        for scheduler, name in zip(self.schedulers, self.scheduler_metric_names, strict=True):
            if scheduler is None or scheduler.step_every_batch == is_epoch:
                continue
            value = None
            if scheduler.use_metric and name is not None:
                known = {**(self.get_log() if log_access else {}), **(metrics or {})}
                if name not in known:
                    raise ValueError(f"The scheduler waits for {name}, which nobody measures.")
                value = known[name]
            step_scheduler(scheduler, value)
