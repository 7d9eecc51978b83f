"""The small network for miniatures."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from wilds_targeted import testing
from wilds_targeted.models.miniature_cnn import MiniatureCNN
from wilds_targeted.registry import get_registry


@pytest.mark.parametrize("shape", [(3, 36, 48), (3, 32, 32), (3, 96, 128)])
def test_it_keeps_the_contract_at_any_resolution(shape: tuple[int, ...]) -> None:
    testing.check_model(get_registry().models["miniature-cnn"], shape)


def test_its_size_can_be_chosen() -> None:
    narrow = get_registry().models["miniature-cnn"].build(None, width=8, stages=2)
    assert narrow.d_out == 2 * 8 * 2
    assert narrow(torch.zeros(1, 3, 32, 32)).shape == (1, narrow.d_out)


def test_classifier_and_featurizer_share_their_stages() -> None:
    whole, featurizer = MiniatureCNN(7).eval(), MiniatureCNN(None).eval()
    featurizer.stages.load_state_dict(whole.stages.state_dict())
    x = torch.randn(2, 3, 36, 48)
    assert torch.allclose(whole(x), whole.classifier(featurizer(x)))


def test_it_learns_a_small_thing_anywhere_in_the_picture() -> None:
    """Which of two marks, of a sixteenth of the picture and of the same mean, is in the noise."""
    torch.manual_seed(0)
    bars = torch.ones(8, 8)
    bars[::2] = -1
    x, y = 0.3 * torch.randn(256, 3, 32, 32), torch.arange(256) % 2
    for picture, label, (row, column) in zip(x, y, torch.randint(0, 24, (256, 2)), strict=True):
        picture[:, row : row + 8, column : column + 8] = bars if label else bars.T
    model = MiniatureCNN(2)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for step in range(60):
        batch = torch.arange(16) + 16 * (step % 12)
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x[batch]), y[batch]).backward()
        optimizer.step()
    held_out = model.eval()(x[192:]).argmax(1)
    assert (held_out == y[192:]).float().mean() > 0.9
