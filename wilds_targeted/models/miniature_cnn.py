"""A convolutional network small enough to learn a miniature from scratch on one CPU core."""

from __future__ import annotations

import torch
from torch import nn


class MiniatureCNN(nn.Module):
    """Stages of two 3x3 convolutions, each stage at half the resolution; then mean and maximum over the places.

    The mean over places tells what the picture is of as a whole, the maximum whether something is anywhere in it: a
    small thing in a large scene is lost in the mean alone. The resolution is free, from 32 pixels a side.

    Args:
        d_out: How many outputs; None for a featurizer.
        width: Channels of the first stage; each further stage has twice as many.
        stages: How many stages.

    Attributes:
        d_out: How many numbers a call gives for an image: outputs, or features.
    """

    def __init__(self, d_out: int | None, *, width: int = 24, stages: int = 3) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        channels = 3
        for stage in range(stages):
            wider = width * 2**stage
            layers += [_convolution(channels, wider, stride=2)]
            if stage:
                layers += [_convolution(wider, wider, stride=1)]
            channels = wider
        # A CPU computes small convolutions a fifth faster in this order of memory.
        self.stages = nn.Sequential(*layers).to(memory_format=torch.channels_last)
        features = 2 * channels
        self.classifier: nn.Module = nn.Identity() if d_out is None else nn.Linear(features, d_out)
        self.d_out = features if d_out is None else d_out

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Outputs (or features) of a batch of images, batch x 3 x height x width."""
        places = self.stages(x.contiguous(memory_format=torch.channels_last)).flatten(2)
        pooled = torch.cat([places.mean(2), places.amax(2)], dim=1)
        outputs: torch.Tensor = self.classifier(pooled)
        return outputs


def _convolution(channels: int, wider: int, *, stride: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(channels, wider, 3, stride=stride, padding=1, bias=False),
        nn.BatchNorm2d(wider),
        nn.ReLU(inplace=True),
    )
