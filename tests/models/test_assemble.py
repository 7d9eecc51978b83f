"""What is put around every model: mixed precision and gradient checkpointing."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

from wilds_targeted.errors import ConfigError
from wilds_targeted.models.assemble import compute_in_bfloat16, make_it_fit
from wilds_targeted.models.miniature_cnn import MiniatureCNN


def settings(**changes: Any) -> SimpleNamespace:
    return SimpleNamespace(**{"model": "mine", "amp": None, "gradient_checkpointing": False, **changes})


@pytest.mark.usefixtures("bf16")
def test_mixed_precision_gives_full_precision_outputs_and_keeps_the_names() -> None:
    model = MiniatureCNN(4).eval()
    x = torch.randn(2, 3, 32, 32)
    exact, names = model(x), list(model.state_dict())
    assert make_it_fit(model, settings(amp="bf16")) is model
    mixed = model(x)
    assert mixed.dtype is torch.float32
    assert not torch.equal(mixed, exact)
    assert torch.allclose(mixed, exact, atol=0.05)
    assert list(model.state_dict()) == names
    assert isinstance(model, MiniatureCNN)
    mixed.sum().backward()
    assert all(each.grad is not None and each.grad.dtype is torch.float32 for each in model.parameters())


@pytest.mark.usefixtures("bf16")
def test_mixed_precision_serves_featurizer_and_classifier() -> None:
    featurizer = MiniatureCNN(None)
    pair = make_it_fit((featurizer, nn.Linear(featurizer.d_out, 4)), settings(amp="bf16"))
    features = pair[0](torch.randn(2, 3, 32, 32))
    assert features.dtype is torch.float32
    exact = nn.functional.linear(features, pair[1].weight, pair[1].bias)
    assert not torch.equal(pair[1](features), exact)


def test_a_copy_on_another_device_computes_by_itself() -> None:
    """`nn.DataParallel` makes copies without going through the constructor; each must use its own weights."""
    model = nn.Linear(3, 2)
    compute_in_bfloat16(model)
    replica = model._replicate_for_data_parallel()  # type: ignore[no-untyped-call]
    assert type(replica) is type(model)
    assert replica.forward.__self__ is replica


def test_without_options_nothing_changes() -> None:
    model = MiniatureCNN(4)
    assert make_it_fit(model, settings()) is model
    assert type(model) is MiniatureCNN


def test_checkpointing_reaches_a_featurizer_that_was_put_together() -> None:
    class Tower(nn.Linear):
        is_checkpointed = False

        def set_grad_checkpointing(self) -> None:
            self.is_checkpointed = True

    whole = nn.Sequential(Tower(3, 2), nn.Linear(2, 1))
    make_it_fit(whole, settings(gradient_checkpointing=True))
    assert whole[0].is_checkpointed
    with pytest.raises(ConfigError, match="'mine' does not offer it"):
        make_it_fit(MiniatureCNN(4), settings(gradient_checkpointing=True))
