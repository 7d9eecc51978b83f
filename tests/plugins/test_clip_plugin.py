"""The CLIP models in a run: which normalization and resolution they get, and that where weights come from is said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from wilds_targeted import get_dataset
from wilds_targeted.choice import WILDS_TRANSFORMS, normalization_of
from wilds_targeted.errors import ConfigError
from wilds_targeted.normalization import CLIP, IMAGENET, INCEPTION, Normalization
from wilds_targeted.registry import get_registry
from wilds_targeted.runner.defaults import complete
from wilds_targeted.runner.flags import parse
from wilds_targeted.runner.transforms import build_transform
from wilds_targeted.subset import hand_over_examples

SERVING = sorted(
    name
    for name, spec in get_registry().transforms.items()
    if spec.serves("camelyon17") and not spec.in_evaluation and name not in WILDS_TRANSFORMS
)


def configured(*words: str, model: str = "clip:ViT-S-32", dataset: str = "camelyon17") -> Any:
    common = ["--dataset", dataset, "--algorithm", "ERM", "--root_dir", "nowhere", "--model", model]
    kwargs = [] if "--model_kwargs" in words else ["--model_kwargs", "pretrained=False"]
    return complete(parse([*common, *kwargs, *words]))


@pytest.mark.parametrize(
    ("model", "words", "expected"),
    [
        ("clip:ViT-S-32", "pretrained=False", CLIP),
        ("clip-vit-large-patch14", "pretrained=openai", CLIP),
        ("clip-vit-large-patch14", "weights=some.pt features=projected", CLIP),
        ("clip-vit-large-patch14", "weights=some.pt features=reference", IMAGENET),
        ("clip-vit-large-patch14", "weights=some.pt features=reference normalization=clip", CLIP),
        ("clip:ViT-L-14", "pretrained=laion2b_s32b_b82k", INCEPTION),
        ("clip:ViT-B-16-SigLIP", "weights=some.pt", INCEPTION),
        ("clip:ViT-B-16-SigLIP", "weights=some.pt normalization=imagenet", IMAGENET),
        ("resnet50", "pretrained=False", IMAGENET),
    ],
)
def test_the_normalization(model: str, words: str, expected: Normalization) -> None:
    config = configured("--model_kwargs", *words.split(), model=model)
    assert normalization_of(config, get_registry()) == expected


@pytest.fixture(scope="module")
def camelyon(camelyon_miniature: Path) -> Any:
    return get_dataset("camelyon17", root_dir=camelyon_miniature)


@pytest.mark.parametrize("features", ["pooled", "reference"])
@pytest.mark.parametrize("transform", ["image_base", *SERVING])
def test_every_transform_normalizes_for_the_model(transform: str, features: str, camelyon: Any) -> None:
    """With probability 0 a training image is the plain one, resized by the base steps; evaluation's always is."""
    words = ["--transform", transform, "--transform_p", "0", "--target_resolution", "96", "96"]
    config = configured(*words, "--model_kwargs", "pretrained=False", f"features={features}")
    mean, std = CLIP if features == "pooled" else IMAGENET
    for split, is_training in (("train", True), ("test", False)):
        made = build_transform(config, camelyon, is_training=is_training)
        subset = hand_over_examples(camelyon.get_subset(split, transform=made))
        pixels = np.asarray(camelyon[int(subset.indices[0])][0]).astype(np.float32) / 255
        expected = torch.as_tensor((pixels - np.float32(mean)) / np.float32(std)).permute(2, 0, 1)
        assert torch.allclose(subset[0][0], expected, atol=1e-5)


def test_the_model_brings_its_resolution() -> None:
    assert configured(model="clip-vit-large-patch14").target_resolution == (224, 224)
    assert configured(model="clip:ViT-L-14-336").target_resolution == (336, 336)
    assert configured(model="clip:ViT-L-14-336").model_kwargs["image_size"] == (336, 336)
    asked = configured("--target_resolution", "96", "128", model="clip:ViT-L-14-336")
    assert asked.model_kwargs["image_size"] == asked.target_resolution == [96, 128]
    # Others keep the data set's, and are built without a word of it.
    other = configured(model="densenet121")
    assert other.target_resolution == (96, 96)
    assert "image_size" not in other.model_kwargs


def test_where_weights_come_from_must_be_said() -> None:
    with pytest.raises(ConfigError, match="say where its weights come from"):
        configured("--model_kwargs", "features=pooled", model="clip-vit-large-patch14")
    for words in (["--eval_only"], ["--pretrained_model_path", "model.pth"]):
        configured("--model_kwargs", "features=pooled", *words, model="clip-vit-large-patch14")


def test_the_papers_model_has_openais_activation() -> None:
    with torch.device("meta"):
        tower = get_registry().models["clip-vit-large-patch14"].build(2).tower
        other = get_registry().models["clip:ViT-L-14"].build(2).tower
    assert type(tower.transformer.resblocks[0].mlp.gelu).__name__ == "QuickGELU"
    assert type(other.transformer.resblocks[0].mlp.gelu).__name__ == "GELU"
    assert tower.positional_embedding.shape == (257, 1024)
    assert sum(each.numel() for each in tower.parameters()) == 303_179_776
