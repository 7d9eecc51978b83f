"""Running averages over batches, overall and for each group: what ends up in ``{split}_algo.csv``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

GROUP = "group_"
"""How names of group-wise statistics begin; each is a tensor with one value a group."""

COUNT = "count"


class RunningLog:
    """Averages the metrics and fields of batches, weighted by the number of examples.

    Args:
        metrics: WILDS metrics, the loss first.
        grouper: Defines the groups.
        by_group: Whether statistics are kept for each group, too.
    """

    def __init__(self, metrics: Sequence[Any], grouper: Any, *, by_group: bool) -> None:
        self.metrics = list(metrics)
        self.fields: list[str] = ["objective"]
        self.grouper = grouper
        self.by_group = by_group
        self.values: dict[str, Any] = {}

    def __bool__(self) -> bool:
        return bool(self.values)

    def reset(self) -> None:
        """Forget everything."""
        self.values = {}

    @torch.no_grad()
    def add(self, results: Mapping[str, Any]) -> None:
        """Take the results of one batch in."""
        batch: dict[str, Any] = {}
        group_counts = None
        y_pred, y_true = results["y_pred"], results["y_true"]
        for metric in self.metrics:
            if self.by_group:
                group_metrics, group_counts, _ = metric.compute_group_wise(
                    y_pred, y_true, results["g"], self.grouper.n_groups, return_dict=False
                )
                batch[GROUP + metric.name] = group_metrics
            batch[metric.agg_metric_field] = metric.compute(y_pred, y_true, return_dict=False).item()
        for field in self.fields:
            if field.startswith(GROUP) and not self.by_group:
                continue
            value = results[field]
            batch[field] = value.item() if isinstance(value, torch.Tensor) and value.numel() == 1 else value
        self._average(batch, group_counts, y_true.numel())

    def _average(self, batch: dict[str, Any], group_counts: torch.Tensor | None, count: int) -> None:
        seen_in_groups = self.values.get(GROUP + COUNT)
        seen = self.values.get(COUNT, 0)
        if self.values:
            for name, value in batch.items():
                counts = (seen_in_groups, group_counts) if name.startswith(GROUP) else (seen, count)
                batch[name] = _update_average(self.values[name], counts[0], value, counts[1])
        if group_counts is not None:
            batch[GROUP + COUNT] = group_counts if seen_in_groups is None else seen_in_groups + group_counts
        batch[COUNT] = seen + count
        self.values = batch

    def as_row(self) -> dict[str, Any]:
        """One number a column, with WILDS's names; NaN for a group that was not seen."""
        row: dict[str, Any] = {}
        for name, value in self.values.items():
            if not name.startswith(GROUP):
                row[name] = value
                continue
            field = name.removeprefix(GROUP)
            metric = next((metric for metric in self.metrics if metric.name == field), None)
            counts = self.values[GROUP + COUNT]
            for group in range(self.grouper.n_groups):
                if field == COUNT:
                    row[self.metrics[0].group_count_field(group)] = value[group].item()
                    continue
                column = f"{field}_group:{group}" if metric is None else metric.group_metric_field(group)
                row[column] = value[group].item() if counts[group].item() else float("nan")
        return row

    def as_text(self) -> str:
        """The same for people: the averages, then a line for each group that was seen."""
        row = self.as_row()
        lines = [f"{field}: {row[field]:.3f}" for field in self.fields if not field.startswith(GROUP)]
        lines += [f"{metric.agg_metric_field}: {row[metric.agg_metric_field]:.3f}" for metric in self.metrics]
        if not self.by_group:
            return "\n".join([*lines, "", ""])
        for group in range(self.grouper.n_groups):
            count = row[self.metrics[0].group_count_field(group)]
            if count > 0:
                cells = [f"  {self.grouper.group_str(group)}  [n = {count:6.0f}]:"]
                for field in (each.removeprefix(GROUP) for each in self.fields if each.startswith(GROUP)):
                    cells.append(f"{field}: {row[f'{field}_group:{group}']:5.3f}")
                cells += [f"{metric.name}: {row[metric.group_metric_field(group)]:5.3f}" for metric in self.metrics]
                lines.append("\t".join([*cells, ""]))
        return "\n".join([*lines, ""])


def _update_average(old: Any, old_count: Any, new: Any, new_count: Any) -> Any:
    """The average of both, each weighted by its count; 0 where there is neither."""
    total = old_count + new_count
    if isinstance(total, torch.Tensor):
        total = total + (total == 0).float()
    elif total == 0:
        return 0.0
    return old_count / total * old + new_count / total * new
