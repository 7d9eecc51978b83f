"""EfficientNet-B0, whole and as featurizer; ImageNet weights from a file, and files that hold something else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import torchvision
from torch import nn

from wilds_targeted.errors import ConfigError, DataError
from wilds_targeted.models.torchvision_models import build_torchvision_model, missing_weights

X = torch.randn(2, 3, 64, 64, generator=torch.Generator().manual_seed(0))


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file as torchvision publishes them: the state of the model for ImageNet's thousand classes."""
    torch.manual_seed(5)
    path = tmp_path_factory.mktemp("weights") / "efficientnet_b0_rwightman-7f5810bc.pth"
    torch.save(torchvision.models.efficientnet_b0().state_dict(), path)
    return path


def test_whole_and_featurizer_are_one_model(weights: Path) -> None:
    whole = build_torchvision_model("efficientnet_b0", 32, weights=str(weights)).eval()
    featurizer = build_torchvision_model("efficientnet_b0", None, weights=str(weights)).eval()
    assert (whole.d_out, featurizer.d_out) == (32, 1280)
    features = featurizer(X)
    assert features.shape == (2, 1280)
    last = whole.classifier[1]
    assert isinstance(last, nn.Linear)
    assert torch.allclose(whole(X), last(features), atol=1e-6)


def test_the_files_tensors_are_in_the_model(weights: Path) -> None:
    model = build_torchvision_model("efficientnet_b0", 7, weights=str(weights))
    saved = torch.load(weights, weights_only=True)
    state = model.state_dict()
    shared = [name for name in saved if not name.startswith("classifier")]
    assert len(shared) > 300
    assert all(torch.equal(saved[name], state[name]) for name in shared)
    assert state["classifier.1.weight"].shape == (7, 1280)


def test_other_files_are_refused(weights: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"efficientnet_b0_.*does not hold torchvision's weights of resnet18"):
        build_torchvision_model("resnet18", 5, weights=str(weights))
    with pytest.raises(ConfigError, match=r"weights=.*gone\.pth: there is no such file of weights"):
        build_torchvision_model("efficientnet_b0", 5, weights=str(tmp_path / "gone.pth"))
    cut = tmp_path / "cut.pth"
    cut.write_bytes(weights.read_bytes()[:100_000])
    with pytest.raises(DataError, match="can't be read as a file of weights"):
        build_torchvision_model("efficientnet_b0", 5, weights=str(cut))


def test_where_torchvision_keeps_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(torch.hub, "get_dir", lambda: str(tmp_path))
    missing = missing_weights("efficientnet_b0")
    assert missing == tmp_path / "checkpoints" / "efficientnet_b0_rwightman-7f5810bc.pth"
    missing.parent.mkdir()
    missing.touch()
    assert missing_weights("efficientnet_b0") is None


WORDS = (
    "--dataset birdcalls --algorithm ERM --n_epochs 1 --frac 0.2 --target_resolution 32 32 --batch_size 8 "
    "--log_dir log --loader_kwargs num_workers=0 pin_memory=False --evaluate_all_splits false --eval_splits test"
).split()


def check_default_model(run: Callable, words: list[object], how: str, weights: Path) -> None:
    """By default it wants ImageNet weights, and downloads nothing; with a file of them it trains."""
    empty = {"TORCH_HOME": str(weights.parent / "nothing-there")}
    refused = run(*words, how=how, **empty)
    assert refused.status == 1
    assert "--model efficientnet_b0 starts from ImageNet weights by default" in refused.last_line
    assert "weights=PATH" in refused.last_line
    trained = run(*words, "--model_kwargs", f"weights={weights}", how=how, **empty)
    assert trained.status == 0, trained.output
    assert "acc_avg" in trained.output


def test_birdcalls_default_model_in_a_checkout(
    run: Callable, examples: Path, birdcalls_miniature: Path, weights: Path
) -> None:
    check_default_model(run, [examples / "run_expt.py", *WORDS, "--root_dir", birdcalls_miniature], "script", weights)


def test_birdcalls_default_model_in_the_runner(run: Callable, birdcalls_miniature: Path, weights: Path) -> None:
    words = ["wilds-targeted", "run", "--runner", "builtin", *WORDS, "--root_dir", birdcalls_miniature]
    check_default_model(run, words, "command", weights)
