"""CLIP's image towers: features, activation, resolution, freezing, groups; every tower that open_clip knows."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import open_clip
import pytest
import torch
from torch import nn

from wilds_targeted.errors import ConfigError, DataError, UnknownNameError
from wilds_targeted.models.clip import build_clip, parameter_groups, published_normalization
from wilds_targeted.models.clip_towers import Tower, find_tower, tower_names
from wilds_targeted.normalization import CLIP, INCEPTION, NAMED, Normalization


@pytest.fixture
def tiny(tiny_tower: Path) -> Tower:
    return find_tower(str(tiny_tower), "clip:tiny")


@pytest.fixture
def saved(tiny: Tower, tiny_tower: Path, tmp_path: Path) -> tuple[nn.Module, str]:
    """A whole CLIP model as open_clip makes it, and the file of its weights."""
    open_clip.add_model_config(tiny_tower)
    torch.manual_seed(0)
    model: nn.Module = open_clip.create_model("tiny").eval()
    path = tmp_path / "tiny.pt"
    torch.save(model.state_dict(), path)
    return model, str(path)


def images(size: tuple[int, int] = (32, 32)) -> torch.Tensor:
    return torch.randn(3, 3, *size, generator=torch.Generator().manual_seed(1))


def test_projected_features_are_what_open_clip_gives(tiny: Tower, saved: tuple[Any, str]) -> None:
    model, path = saved
    ours = build_clip(tiny, None, weights=path, features="projected").eval()
    assert ours.d_out == 48
    assert torch.equal(ours(images()), model.encode_image(images()))


def test_pooled_and_reference_features_by_hand(tiny: Tower, saved: tuple[Any, str]) -> None:
    model, path = saved
    visual = model.visual
    tokens = visual.transformer(visual._embeds(images()))
    raw = tokens[:, 0]
    pooled = build_clip(tiny, None, weights=path).eval()
    reference = build_clip(tiny, None, weights=path, features="reference").eval()
    assert pooled.d_out == reference.d_out == 64
    assert torch.allclose(reference(images()), raw, atol=1e-6)
    assert torch.allclose(pooled(images()), visual.ln_post(raw), atol=1e-6)
    # Layers behind the features would be weights that never learn.
    assert not [name for name in pooled.state_dict() if "proj" in name.split(".")[-1:]]
    assert not [name for name in reference.state_dict() if "ln_post" in name]


def test_a_head_is_linear_in_the_features(tiny: Tower) -> None:
    torch.manual_seed(0)
    model: Any = build_clip(tiny, 5).eval()
    assert model.d_out == 5
    expected = nn.functional.linear(model.tower(images()), model.head.weight, model.head.bias)
    assert torch.equal(model(images()), expected)


def activation(model: Any) -> str:
    return type(model.tower.transformer.resblocks[0].mlp.gelu).__name__


def test_the_activation_is_the_towers_own_unless_somebody_says_otherwise(tiny: Tower) -> None:
    assert activation(build_clip(tiny, 2)) == "GELU"
    assert activation(build_clip(tiny, 2, quick_gelu=True)) == "QuickGELU"
    assert find_tower("ViT-B-32-quickgelu", "b").quick_gelu
    assert not find_tower("ViT-B-32", "b").quick_gelu


def test_openai_weights_get_their_quick_gelu(tiny: Tower, saved: tuple[Any, str], tmp_path: Path) -> None:
    model, _ = saved
    extra = {name: torch.tensor(1) for name in ("input_resolution", "context_length", "vocab_size")}
    torch.save({**model.half().state_dict(), **extra}, tmp_path / "openai.pt")
    ours = build_clip(tiny, 2, weights=str(tmp_path / "openai.pt"))
    assert activation(ours) == "QuickGELU"
    assert ours.tower.conv1.weight.dtype is torch.float32  # type: ignore[union-attr]


@pytest.mark.parametrize("size", [(32, 32), (48, 48), (24, 40), (36, 35)])
def test_any_resolution(size: tuple[int, int], tiny: Tower, saved: tuple[Any, str]) -> None:
    model, path = saved
    ours: Any = build_clip(tiny, 3, weights=path, image_size=size).eval()
    assert ours(images(size)).shape == (3, 3)
    grid = (size[0] // 8) * (size[1] // 8)
    assert ours.tower.positional_embedding.shape == (1 + grid, 64)
    assert torch.equal(ours.tower.positional_embedding[0], model.visual.positional_embedding[0])


def test_one_number_is_a_square(tiny: Tower) -> None:
    assert build_clip(tiny, 3, image_size=[40])(images((40, 40))).shape == (3, 3)


def test_frozen_blocks_keep_their_weights(tiny: Tower) -> None:
    torch.manual_seed(0)
    model: Any = build_clip(tiny, 3, freeze=1)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    groups = parameter_groups(model, None)
    optimizer = torch.optim.AdamW(groups, lr=0.1, weight_decay=0.1)
    model(images()).square().sum().backward()
    optimizer.step()
    changed = {name for name, value in model.state_dict().items() if not torch.equal(value, before[name])}
    kept = set(before) - changed - {"_extra_state"}
    lower = ("conv1", "class_embedding", "positional_embedding", "ln_pre", "transformer.resblocks.0")
    assert kept == {name for name in before if name.removeprefix("tower.").startswith(lower)}


def test_weight_decay_spares_biases_and_norms(tiny: Tower) -> None:
    model = build_clip(tiny, 3)
    decayed, spared = parameter_groups(model, None)
    names = {id(value): name for name, value in model.named_parameters()}
    assert "weight_decay" not in decayed
    assert spared["weight_decay"] == 0.0
    assert sorted(names[id(each)] for each in [*decayed["params"], *spared["params"]]) == sorted(names.values())
    for each in decayed["params"]:
        assert names[id(each)].endswith(("weight", "positional_embedding"))
        assert ".ln_" not in names[id(each)]
    assert all(names[id(each)].endswith("weight") or each.ndim == 1 for each in spared["params"])
    assert {name for name in names.values() if ".ln_" in name or name.endswith("bias")} <= {
        names[id(each)] for each in spared["params"]
    }


@pytest.mark.parametrize(
    ("trained", "words"),
    [
        ({"quick_gelu": True}, "quick_gelu=true normalization=clip"),
        ({"normalization": INCEPTION}, "quick_gelu=false normalization=inception"),
        ({"normalization": Normalization((0.1,) * 3, (0.2,) * 3)}, r"normalization=\(another\)"),
    ],
)
@pytest.mark.parametrize("d_out", [None, 3])
def test_weights_of_other_settings_are_refused(
    trained: dict[str, Any], words: str, d_out: int | None, tiny: Tower
) -> None:
    """They would fit, and the model would be worse without a word."""
    model: Any = build_clip(tiny, d_out, **trained)
    same: Any = build_clip(tiny, d_out, **trained)
    other = build_clip(tiny, d_out)
    same.load_state_dict(model.state_dict())
    assert torch.equal(same.tower.conv1.weight, model.tower.conv1.weight)
    for strict in (True, False):
        with pytest.raises(ConfigError, match=f"other settings than this model has. Give --model_kwargs .*{words}"):
            other.load_state_dict(model.state_dict(), strict=strict)
    weights = {name: value for name, value in model.state_dict().items() if "extra_state" not in name}
    other.load_state_dict(weights, strict=False)


def test_every_published_normalization_can_be_asked_for() -> None:
    for name, tag in open_clip.list_pretrained():
        assert published_normalization(find_tower(name, name), tag) in NAMED.values()


def test_checkpointing_gives_the_same_gradients(tiny: Tower) -> None:
    torch.manual_seed(0)
    model = build_clip(tiny, 3, freeze=1).train()
    gradients = []
    for checkpointing in (False, True):
        if checkpointing:
            model.set_grad_checkpointing()
        model.zero_grad()
        model(images()).square().sum().backward()
        gradients.append([each.grad.clone() for each in model.parameters() if each.grad is not None])
    assert gradients[0]
    assert all(torch.allclose(one, other, atol=1e-6) for one, other in zip(*gradients, strict=True))


@pytest.mark.parametrize(
    ("keywords", "line"),
    [
        ({"quick_gelu": "no"}, "quick_gelu=no: it is true or false"),
        ({"features": "poled"}, r"features=poled: it is one of pooled, projected, reference \(did you mean 'pooled'"),
        ({"freeze": 3}, "freeze=3: clip:tiny has 2 blocks, so 0 to 2 can be kept"),
        ({"freeze": True}, "freeze=True: clip:tiny has 2 blocks"),
        ({"freeze": -1}, "freeze=-1: clip:tiny has 2 blocks"),
        ({"image_size": (6, 32)}, "--target_resolution 6 32: clip:tiny has patches of 8 pixels"),
        ({"pretrained": "openai"}, "pretrained=openai: for tiny open_clip can download no weights"),
        ({"pretrained": True}, "pretrained=True: for tiny open_clip can download no weights"),
        ({"pretrained": "openai", "weights": "file.pt"}, "weights=file.pt and pretrained=openai were both given"),
    ],
)
def test_refusals(keywords: dict[str, Any], line: str, tiny: Tower) -> None:
    with pytest.raises(ConfigError, match=line):
        build_clip(tiny, 2, **keywords)


def test_a_download_that_fails_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(*arguments: Any, **keywords: Any) -> str:
        raise OSError("no route to host")

    monkeypatch.setattr(open_clip, "download_pretrained", unreachable)
    with pytest.raises(DataError, match=r"'openai' of ViT-B-32 could not be downloaded .*no route.*weights=PATH"):
        build_clip(find_tower("ViT-B-32", "clip:ViT-B-32"), 2, pretrained="openai")
    with pytest.raises(ConfigError, match=r"pretrained=opnai: .*did you mean 'openai'"):
        build_clip(find_tower("ViT-B-32", "clip:ViT-B-32"), 2, pretrained="opnai")


def test_a_download_is_read_like_any_file(
    tiny: Tower, saved: tuple[Any, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    model, path = saved
    monkeypatch.setattr(open_clip, "list_pretrained_tags_by_model", lambda name: ["ours"])
    monkeypatch.setattr(open_clip, "get_pretrained_cfg", lambda name, tag: {"file": path, "quick_gelu": True})
    ours: Any = build_clip(tiny, 2, pretrained="ours")
    assert torch.equal(ours.tower.conv1.weight, model.visual.conv1.weight)
    assert activation(ours) == "QuickGELU"
    assert f"Initialized clip:tiny with the weights of {path} (quick GELU)" in capsys.readouterr().out


def test_towers_are_found_by_name_or_file(tmp_path: Path) -> None:
    assert set(tower_names()) == set(open_clip.list_models()) - {"tiny"}
    assert find_tower("ViT-L-14-336", "clip:ViT-L-14-336").image_size == (336, 336)
    assert build_clip(find_tower("miniature", "clip:miniature"), 2)(images((48, 48))).shape == (3, 2)
    with pytest.raises(UnknownNameError, match=r"no 'ViT-B-33' \(did you mean 'ViT-B-32'"):
        find_tower("ViT-B-33", "clip:ViT-B-33")
    with pytest.raises(ConfigError, match=r"there is no file .*none\.json"):
        find_tower(str(tmp_path / "none.json"), "mine")
    sizes = (json.dumps({"embed_dim": 3, "vision_cfg": {"image_size": size}}) for size in (None, [32], "large"))
    for text in ("{", "[]", '{"embed_dim": 3}', '{"embed_dim": "x", "vision_cfg": {}}', *sizes):
        (tmp_path / "wrong.json").write_text(text)
        with pytest.raises(ConfigError, match=r"wrong\.json does not describe a model in open_clip's form"):
            find_tower(str(tmp_path / "wrong.json"), "mine")


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"head_width": 0}, "ZeroDivisionError: integer division"),
        ({"width": 65}, "embed_dim must be divisible by num_heads"),
        ({"patch_size": "8"}, "ValueError"),
        ({"pos_embed_type": "learned"}, "ValueError"),
        ({"layers": [1, 1]}, "IndexError"),
        ({"colour": "red"}, "unexpected keyword argument 'colour'"),
    ],
)
def test_descriptions_that_open_clip_can_not_build(changed: dict[str, Any], reason: str, tiny: Tower) -> None:
    described = dataclasses.replace(tiny, vision={**tiny.vision, **changed})
    with pytest.raises(ConfigError, match=rf"can't build the image tower of clip:tiny \(.*{reason}"):
        build_clip(described, 2)


def test_the_normalization_is_that_of_the_weights() -> None:
    assert published_normalization(find_tower("ViT-L-14", "l"), "openai") == CLIP
    assert published_normalization(find_tower("ViT-L-14", "l"), "laion2b_s32b_b82k") == INCEPTION
    assert published_normalization(find_tower("ViT-L-14", "l"), None) == CLIP  # they differ: the first one's
    assert published_normalization(find_tower("ViT-B-16-SigLIP", "s"), None) == INCEPTION


def test_a_convolutional_tower_offers_what_it_can() -> None:
    tower = find_tower("RN50", "clip:RN50")
    with torch.device("meta"):
        with pytest.raises(ConfigError, match="clip:RN50 pools and projects at once: use projected"):
            build_clip(tower, 2)
        with pytest.raises(ConfigError, match="clip:RN50 takes square images only"):
            build_clip(tower, 2, image_size=(64, 96))
        with pytest.raises(ConfigError, match="freeze=1: clip:RN50 is no transformer"):
            build_clip(tower, 2, features="projected", freeze=1)
        model = build_clip(tower, 2, features="projected", image_size=(64, 64)).eval()
        assert model(torch.zeros(2, 3, 64, 64)).shape == (2, 2)
        with pytest.raises(ConfigError, match="this image tower does not offer it"):
            model.set_grad_checkpointing()


@pytest.mark.slow
@pytest.mark.parametrize("name", tower_names())
def test_every_tower_of_open_clip(name: str) -> None:
    """Built without memory: shapes only. Features are as many as promised, pooled where the tower has them."""
    tower = find_tower(name, name)
    features = "projected" if isinstance(tower.vision.get("layers"), list) else "pooled"
    height, width = tower.image_size
    with torch.device("meta"):
        featurizer = build_clip(tower, None, features=features).eval()
        assert featurizer(torch.zeros(2, 3, height, width)).shape == (2, featurizer.d_out)
        if features == "pooled":
            projected = build_clip(tower, None, features="projected").eval()
            assert projected(torch.zeros(2, 3, height, width)).shape == (2, projected.d_out)


def check_against_transformers(tower: Tower, described: dict[str, Any], folder: Path) -> None:
    """Random weights, saved by transformers; every kind of features equals what transformers computes with them."""
    from transformers import CLIPVisionConfig, CLIPVisionModelWithProjection

    torch.manual_seed(0)
    theirs = CLIPVisionModelWithProjection(CLIPVisionConfig(**described)).eval()
    theirs.save_pretrained(folder)
    x = images(tower.image_size)[:2]
    with torch.no_grad():
        result = theirs(pixel_values=x)
        state = theirs.vision_model(pixel_values=x)
        expected = {
            "projected": result.image_embeds,
            "pooled": state.pooler_output,
            "reference": state.last_hidden_state[:, 0],
        }
        for features, wanted in expected.items():
            ours = build_clip(tower, None, weights=str(folder), features=features).eval()
            assert wanted.std() > 0.01
            assert (ours(x) - wanted).abs().max() < 1e-4, features


def test_transformers_gives_the_same_features(tiny: Tower, tmp_path: Path) -> None:
    described = {
        "hidden_size": 64,
        "intermediate_size": 256,
        "projection_dim": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "image_size": 32,
        "patch_size": 8,
    }
    check_against_transformers(tiny, {**described, "hidden_act": "gelu"}, tmp_path / "gelu")
    check_against_transformers(tiny, {**described, "hidden_act": "quick_gelu"}, tmp_path / "quick")


@pytest.mark.slow
def test_transformers_gives_the_same_features_of_the_papers_model(tmp_path: Path) -> None:
    described = {
        "hidden_size": 1024,
        "intermediate_size": 4096,
        "projection_dim": 768,
        "num_hidden_layers": 24,
        "num_attention_heads": 16,
        "image_size": 224,
        "patch_size": 14,
    }
    check_against_transformers(
        find_tower("ViT-L-14-quickgelu", "clip-vit-large-patch14"), described, tmp_path / "large"
    )
