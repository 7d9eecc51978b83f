"""What goes wrong ends in one clear line, and the last good state stands."""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from compare_outputs import assert_same_outputs, load
from torch import nn

from wilds_targeted.algorithms.single_model import SingleModelAlgorithm
from wilds_targeted.errors import ConfigError, DataError, RunError
from wilds_targeted.runner import state
from wilds_targeted.runner.state import STATE_FILE


def test_a_loss_that_is_no_number(train: Callable, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    undisturbed = train(name="undisturbed")
    original, calls = SingleModelAlgorithm.update, []

    def update(self: SingleModelAlgorithm, *arguments: Any, **keywords: Any) -> Any:
        calls.append(1)
        results = original(self, *arguments, **keywords)
        return {**results, "objective": float("nan")} if len(calls) == 7 else results

    monkeypatch.setattr(SingleModelAlgorithm, "update", update)
    with pytest.raises(RunError) as caught:
        train()
    assert str(caught.value).startswith("the loss is nan in epoch 1, batch ")
    assert "Try a lower --lr" in str(caught.value)
    assert load(tmp_path / "run" / "logs" / STATE_FILE)["position"]["epoch"] == 1
    assert_same_outputs(undisturbed, train("--resume"))  # the last good state stands


def test_weights_that_are_no_numbers_are_never_saved(train: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    original = SingleModelAlgorithm.update

    def update(self: SingleModelAlgorithm, *arguments: Any, **keywords: Any) -> Any:
        results = original(self, *arguments, **keywords)
        with torch.no_grad():
            next(self.model.parameters()).fill_(float("inf"))
        return results

    monkeypatch.setattr(SingleModelAlgorithm, "update", update)
    with pytest.raises(RunError, match="are no longer finite in epoch 0, after batch 1"):
        train("--checkpoint_every", "0")


@pytest.fixture
def small_files() -> Iterator[Callable[[int], None]]:
    """Let no file of this process grow beyond so many bytes, as on a disk that fills up."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield lambda size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk(train: Callable, small_files: Callable, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    undisturbed = train(name="undisturbed")
    saved = []
    original = state.RunState.save

    def save(self: state.RunState, folder: Path) -> None:
        saved.append(self.position.epoch)
        if len(saved) == 2:  # the first epoch is done
            small_files(20_000)
        original(self, folder)

    monkeypatch.setattr(state.RunState, "save", save)
    with pytest.raises(RunError) as caught:
        train()
    assert "File too large" in str(caught.value)
    assert "go on with --resume when that is mended" in str(caught.value)
    folder = tmp_path / "run" / "logs"
    assert not list(folder.glob(".*"))
    assert load(folder / STATE_FILE)["position"]["epoch"] == 0
    small_files(resource.RLIM_INFINITY)
    assert_same_outputs(undisturbed, train("--resume"))


class Deadly:
    """A transform that ends the worker in which it runs, as the kernel does when memory is short."""

    def __call__(self, x: Any) -> Any:
        os.kill(os.getpid(), signal.SIGKILL)


def test_a_worker_that_dies(train: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wilds_targeted.runner.data.build_transform", lambda *arguments, **keywords: Deadly())
    with pytest.raises(RunError) as caught:
        train("--loader_kwargs", "num_workers=1")
    assert "DataLoader worker" in str(caught.value)
    assert "go on with --resume" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_unknown_metric(train: Callable) -> None:
    with pytest.raises(ConfigError, match="--val_metric accuracy is not among the metrics: acc_avg, recall-macro_all"):
        train("--val_metric", "accuracy")
    with pytest.raises(ConfigError, match="--scheduler_metric_name loss is not among the metrics: "):
        train("--scheduler", "ReduceLROnPlateau", "--scheduler_metric_name", "loss")


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("--split_scheme nonsense", "iwildcam can't be made with .*'nonsense'"),
        ("--dataset_kwargs colour=red", "iwildcam can't be made with .*unexpected keyword argument 'colour'"),
        ("--evaluate_all_splits false --eval_splits val", "'val' is evaluated in every epoch anyway"),
        (
            "--algorithm IRM --n_groups_per_batch 16 --frac 0.3",
            r"--n_groups_per_batch 16: the training split has \d+ groups of \['location'\]",
        ),
        ("--eval_splits final", "iwildcam has no split 'final'. Its splits: train, val, test, id_val, id_test"),
        ("--groupby_fields camera", "--groupby_fields .*The fields are location, sequence"),
        ("--algorithm IRM --n_groups_per_batch 5", "must be evenly divisible by n_groups_per_batch"),
        ("--loader_kwargs num_wrokers=2", "the loader of the split 'train': .*num_wrokers"),
        ("--model_kwargs breadth=3", "--model miniature-cnn with --model_kwargs"),
        ("--gradient_checkpointing", "the model 'miniature-cnn' does not offer it"),
    ],
)
def test_flags_that_do_not_fit_the_data(flags: str, message: str, train: Callable) -> None:
    with pytest.raises(ConfigError, match=message):
        train(*flags.split())


def test_missing_data_names_the_next_step(train: Callable, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="wilds-targeted miniature iwildcam --root_dir"):
        train(root=tmp_path / "nowhere")


def test_imagenet_weights_are_not_downloaded_unasked(
    train: Callable, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "torch"))
    with pytest.raises(ConfigError, match=r"not at .*resnet18-\w+\.pth\. --model_kwargs pretrained=True downloads"):
        train("--model", "resnet18")


def test_evaluation_needs_no_imagenet_weights(train: Callable, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "torch"))
    monkeypatch.setattr("torch.hub.download_url_to_file", _unreachable)
    flags = "--model resnet18 --n_epochs 1 --frac 0.2 --evaluate_all_splits false --eval_splits test".split()
    train(*flags, "--model_kwargs", "pretrained=False")
    folder = train(*flags, "--eval_only")
    assert "Eval split test at epoch 0" in (folder / "log.txt").read_text()


def test_a_download_that_fails_gets_one_line(train: Callable, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "torch"))
    monkeypatch.setattr("torch.hub.download_url_to_file", _unreachable)
    with pytest.raises(DataError, match=r"resnet18 could not be downloaded from .* pretrained=False"):
        train("--model", "resnet18", "--model_kwargs", "pretrained=True")


def _unreachable(*arguments: Any, **keywords: Any) -> None:
    from urllib.error import URLError

    raise URLError("no network")


def test_densenet_offers_gradient_checkpointing() -> None:
    from wilds_targeted.models.assemble import checkpoint_gradients
    from wilds_targeted.models.torchvision_models import build_torchvision_model

    torch.manual_seed(0)
    model = build_torchvision_model("densenet121", 2, pretrained=False).train()
    x = torch.randn(2, 3, 32, 32)
    gradients = []
    for checkpointing in (False, True):
        if checkpointing:
            checkpoint_gradients(model, "densenet121")
        model.zero_grad()
        nn.functional.cross_entropy(model(x), torch.tensor([0, 1])).backward()
        gradients.append([p.grad.clone() for p in model.parameters() if p.grad is not None])
    assert all(torch.allclose(a, b, atol=1e-5) for a, b in zip(*gradients, strict=True))
    assert model.features.denseblock1.denselayer1.memory_efficient
