"""The training loop: WILDS's order of work, with a memory of where it is."""

from __future__ import annotations

import math
import sys
import time
from pathlib import Path
from typing import Any

import torch

from wilds_targeted.errors import ConfigError, DataError, RunError
from wilds_targeted.runner.data import Data, Split
from wilds_targeted.runner.logs import Logs
from wilds_targeted.runner.outputs import epochs_to_keep, file_prefix, model_path, save_model, save_predictions
from wilds_targeted.runner.progress import show_progress
from wilds_targeted.runner.state import (
    Position,
    RunState,
    advice,
    capture_randomness,
    describe_settings,
    restore_randomness,
)
from wilds_targeted.runner.supported import OUTPUT_FUNCTIONS


class Loop:
    """Trains and evaluates an algorithm.

    Args:
        config: The final configuration.
        data: Splits and loaders.
        algorithm: Speaks the protocol of WILDS's training loop.
        logs: Where results are written.
        saved: The state to go on from; None to begin.
    """

    def __init__(self, config: Any, data: Data, algorithm: Any, logs: Logs, saved: RunState | None = None) -> None:
        self.config = config
        self.data = data
        self.algorithm = algorithm
        self.logs = logs
        self.folder = Path(config.log_dir)
        self.position = Position() if saved is None else saved.position
        # Random states of workers that outlive an epoch can't be restored; nor can an algorithm that tells nothing.
        persistent = config.loader_kwargs.get("persistent_workers", False)
        self.is_resumable = hasattr(algorithm, "training_state") and not persistent
        if not self.is_resumable and not config.eval_only:
            why = "its loader keeps workers alive" if persistent else f"{config.algorithm} has no training_state"
            print(f"wilds-targeted: warning: this run can't be resumed: {why}", file=sys.stderr)
        self._saved = saved
        self._saved_at = time.monotonic()

    def train(self) -> None:
        """Train to the last epoch, evaluating after each."""
        if self._saved is None:
            self.save()
        phases = ["train", "val", *self._further_splits()]
        while self.position.epoch < self.config.n_epochs:
            while self.position.phase < len(phases):
                split = self.data.splits[phases[self.position.phase]]
                if split.key == "train" and self.position.batches == 0:
                    self.logs.text.write(f"\nEpoch [{self.position.epoch}]:\n")
                results, y_pred = self._run_phase(split)
                if split.key == "val":
                    self._choose(results)
                if split.key != "train":
                    self._keep_predictions(split, y_pred)
                self.position.next_phase()
            self.logs.text.write("\n")
            self.data.reader.report(self.folder)
            self.position.next_epoch()
            self.save()

    def evaluate(self, epoch: int, *, is_best: bool) -> None:
        """Evaluate the algorithm as it is on every split that is asked for."""
        for split in self.data.splits.values():
            if not self.config.evaluate_all_splits and split.key not in self.config.eval_splits:
                continue
            self.position = Position(epoch=epoch)
            self.position.begin()
            self.algorithm.eval()
            torch.set_grad_enabled(False)
            self._run_batches(split, iter(split.loader), is_training=False)
            results, text, y_pred = self._score(split)
            self.logs.eval(split.key).add({**results, "epoch": epoch})
            self.logs.text.write(f"Eval split {split.key} at epoch {epoch}:\n{text}")
            if split.key != "train" and self.config.save_pred:  # the training loader shuffles
                prefix = file_prefix(self.config, self.data.dataset.dataset_name, split.key)
                save_predictions(y_pred, prefix, epoch)
                if is_best and self.config.save_best:
                    save_predictions(y_pred, prefix, "best")
        self.data.reader.report(self.folder)

    def save(self) -> None:
        """Save all that is needed to go on from here."""
        self._saved_at = time.monotonic()
        if not self.is_resumable:
            return
        RunState(
            settings=describe_settings(self.config),
            position=self.position,
            randomness=capture_randomness(),
            weights=self.algorithm.state_dict(),
            training=self.algorithm.training_state(),
            log_lengths=self.logs.lengths(),
            truncated=self.data.reader.truncated_rows(),
        ).save(self.folder)

    def _further_splits(self) -> list[str]:
        splits = list(self.data.splits) if self.config.evaluate_all_splits else self.config.eval_splits
        return [split for split in splits if split not in ("train", "val")]

    def _run_phase(self, split: Split) -> tuple[dict[str, Any], Any]:
        """One pass over a split; gives its metrics and predictions."""
        is_training = split.key == "train"
        batches = self._begin_phase(split, is_training=is_training)
        self._run_batches(split, batches, is_training=is_training)
        results, text, y_pred = self._score(split)
        if self.config.scheduler_metric_split == split.key:
            self.algorithm.step_schedulers(is_epoch=True, metrics=results, log_access=not is_training)
        self._log_averages(split, self._steps(is_training=is_training))
        self.logs.eval(split.key).add({**results, "epoch": self.position.epoch})
        if split.is_told:
            self.logs.text.write(f"Epoch eval:\n{text}")
        return results, y_pred

    def _begin_phase(self, split: Split, *, is_training: bool) -> Any:
        """The phase's batches; after a restart those that are still to come."""
        saved, self._saved = self._saved, None
        done = self.position.batches
        if done:
            restore_randomness(self.position.randomness)
        else:
            if saved is not None:
                restore_randomness(saved.randomness)
            if split.is_told:
                self.logs.text.write(f"\n{split.title}:\n")
            self.position.begin()
        self.algorithm.train() if is_training else self.algorithm.eval()
        torch.set_grad_enabled(is_training)
        batches = iter(split.loader)
        if saved is not None:
            # Loading them again is the one way that brings workers and samplers to where they were.
            for _ in show_progress(range(done), done, "catching up", "batch", self.config.progress_bar):
                next(batches)
            self.algorithm.load_training_state(saved.training)
            if done:
                restore_randomness(saved.randomness)
        return batches

    def _run_batches(self, split: Split, batches: Any, *, is_training: bool) -> None:
        position, total = self.position, len(split.loader)
        if total == 0:
            raise DataError(f"the split {split.key!r} has no batch: {len(split.subset)} examples.")
        to_predictions = OUTPUT_FUNCTIONS[self.config.process_outputs_function]
        title = f"epoch {position.epoch} {split.key}"
        for batch in show_progress(batches, total, title, "batch", self.config.progress_bar, position.batches):
            if is_training:
                results = self.algorithm.update(batch, is_epoch_end=position.batches == total - 1)
            else:
                results = self.algorithm.evaluate(batch)
            self._check_finite(results, split)
            for name, values in position.collected.items():
                values.append(to_predictions(results[name]) if name == "y_pred" else results[name])
            position.batches += 1
            steps = self._steps(is_training=is_training)
            if is_training and steps % self.config.log_every == 0:
                self._log_averages(split, steps)
            between_steps = not is_training or position.batches % self.config.gradient_accumulation_steps == 0
            if between_steps and time.monotonic() - self._saved_at >= self.config.checkpoint_every:
                self.save()

    def _steps(self, *, is_training: bool) -> float:
        """How many of the optimizer's steps the batches so far make; in evaluation, how many batches."""
        return self.position.batches / (self.config.gradient_accumulation_steps if is_training else 1)

    def _check_finite(self, results: dict[str, Any], split: Split) -> None:
        loss = results.get("objective", 0.0)
        if not math.isfinite(loss):
            raise RunError(
                f"the loss is {loss} in epoch {self.position.epoch}, batch {self.position.batches} of {split.key!r}. "
                f"{advice(self.folder)}"
            )

    def _score(self, split: Split) -> tuple[dict[str, Any], str, Any]:
        """The data set's own metrics of what was collected, the same in words, and the predictions."""
        collected = {name: _joined(values) for name, values in self.position.collected.items()}
        results, text = split.subset.eval(collected["y_pred"], collected["y_true"], collected["metadata"])
        return results, text, collected["y_pred"]

    def _log_averages(self, split: Split, steps: float) -> None:
        if self.algorithm.has_log:
            row = {**self.algorithm.get_log(), "epoch": self.position.epoch, "batch": math.ceil(steps)}
            self.logs.algo(split.key).add(row)
            if split.is_told:
                self.logs.text.write(self.algorithm.get_pretty_log_str())
            self.algorithm.reset_log()

    def _choose(self, results: dict[str, Any]) -> None:
        """After validation: is this epoch the best so far? Then keep its model."""
        config, position = self.config, self.position
        if config.val_metric not in results:
            raise ConfigError(f"--val_metric {config.val_metric} is not among the metrics: {', '.join(results)}.")
        value, best = float(results[config.val_metric]), position.best_val_metric
        self.logs.text.write(f"Validation {config.val_metric}: {value:.3f}\n")
        position.is_best = best is None or (value < best if config.val_metric_decreasing else value > best)
        if position.is_best:
            position.best_val_metric = value
            self.logs.text.write(f"Epoch {position.epoch} has the best validation performance so far.\n")
        for name in epochs_to_keep(config, position.epoch, is_best=position.is_best):
            path = model_path(config, self.data.dataset.dataset_name, name)
            save_model(path, self.algorithm, position.epoch, position.best_val_metric)

    def _keep_predictions(self, split: Split, y_pred: Any) -> None:
        if self.config.save_pred:
            prefix = file_prefix(self.config, self.data.dataset.dataset_name, split.key)
            for name in epochs_to_keep(self.config, self.position.epoch, is_best=self.position.is_best):
                save_predictions(y_pred, prefix, name)


def _joined(values: list[Any]) -> Any:
    """Batches as one: tensors end to end, lists one after the other, dictionaries key by key."""
    first = values[0]
    if isinstance(first, torch.Tensor):
        return torch.cat(values)
    if isinstance(first, dict):
        return {key: _joined([value[key] for value in values]) for key in first}
    return [each for value in values for each in value]
