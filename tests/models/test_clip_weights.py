"""CLIP's image towers out of every kind of file, the same features in both libraries, and files that are refused."""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import open_clip
import pytest
import torch
import torchvision
from open_clip.model import CLIP, _build_vision_tower, convert_weights_to_fp16, resize_pos_embed
from safetensors.torch import load_file, save_file
from torch import nn

from wilds_targeted.errors import DataError
from wilds_targeted.models.clip_weights import TowerWeights, load_tower, read_tower

VISION: dict[str, Any] = {"image_size": 32, "layers": 2, "width": 64, "head_width": 32, "patch_size": 8}
TEXT = {"context_length": 8, "vocab_size": 50, "width": 32, "heads": 2, "layers": 1}
X = torch.randn(2, 3, 32, 32, generator=torch.Generator().manual_seed(0))
TITLE = "clip-small"


def randomize(model: nn.Module) -> nn.Module:
    """Every tensor other than any of its neighbours, and large enough for a wrong one to show in the features."""
    generator = torch.Generator().manual_seed(1)
    for parameter in model.parameters():
        parameter.data.normal_(0.1, 0.2, generator=generator)
    return model.eval().requires_grad_(False)


def build(quick_gelu: bool = True, **changes: Any) -> Any:
    """A tower that has not been loaded yet."""
    return _build_vision_tower(48, {**VISION, **changes}, quick_gelu).eval()


def loaded(path: Path, **changes: Any) -> Any:
    """A tower with the weights of a file, and with the activation that the file states."""
    weights = read_tower(path)
    tower = build(weights.quick_gelu is not False, **changes)
    load_tower(tower, weights, TITLE)
    return tower


def features_of(tower: nn.Module) -> torch.Tensor:
    # Where gradients are wanted, attention takes another path, which differs in the last digits.
    with torch.no_grad():
        return tower(X)  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def model() -> CLIP:
    return randomize(CLIP(48, VISION, TEXT, quick_gelu=True))  # type: ignore[return-value]


def write_state(model: CLIP, to: Path) -> Path:
    torch.save(model.state_dict(), to / "state.pt")
    return to / "state.pt"


def write_old_state(model: CLIP, to: Path) -> Path:
    torch.save(model.state_dict(), to / "old.pt", _use_new_zipfile_serialization=False)
    return to / "old.pt"


def write_checkpoint(model: CLIP, to: Path) -> Path:
    state = {f"module.{name}": value for name, value in model.state_dict().items()}
    torch.save({"epoch": 3, "name": "run", "state_dict": state, "optimizer": {"state": {}}}, to / "epoch_3.pt")
    return to / "epoch_3.pt"


def write_tower(model: CLIP, to: Path) -> Path:
    torch.save(model.visual.state_dict(), to / "tower.pt")
    return to / "tower.pt"


def write_safetensors(model: CLIP, to: Path) -> Path:
    save_file(model.state_dict(), to / "clip.safetensors")
    return to / "clip.safetensors"


def write_folder(model: CLIP, to: Path, quick_gelu: bool | None = True) -> Path:
    save_file(model.state_dict(), to / "open_clip_model.safetensors")
    config = {"embed_dim": 48, "vision_cfg": VISION, "text_cfg": TEXT}
    config |= {} if quick_gelu is None else {"quick_gelu": quick_gelu}
    (to / "open_clip_config.json").write_text(json.dumps({"model_cfg": config, "preprocess_cfg": {}}))
    # timm's repositories have its own names there, too.
    save_file({"blocks.0.attn.qkv.weight": torch.ones(2)}, to / "model.safetensors")
    return to


def write_script(model: CLIP, to: Path) -> Path:
    copy = CLIP(48, VISION, TEXT, quick_gelu=True).eval().requires_grad_(False)
    copy.load_state_dict(model.state_dict())
    copy.visual.image_size = 32  # a pair since open_clip made it one; its own trace_model wants a number
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch.jit is deprecated
        torch.jit.save(open_clip.trace_model(copy, batch_size=1), str(to / "script.pt"))
    return to / "script.pt"


FORMATS: dict[str, tuple[Callable[[CLIP, Path], Path], bool | None]] = {
    "state dictionary": (write_state, None),
    "old file of torch.save": (write_old_state, None),
    "training checkpoint": (write_checkpoint, None),
    "tower alone": (write_tower, None),
    "safetensors": (write_safetensors, None),
    "open_clip folder": (write_folder, True),
    "TorchScript": (write_script, True),
}


@pytest.mark.parametrize("name", FORMATS)
def test_open_clip_formats(name: str, model: CLIP, tmp_path: Path) -> None:
    write, quick_gelu = FORMATS[name]
    path = write(model, tmp_path)
    weights = read_tower(path)
    assert weights.path == str(path)
    assert weights.quick_gelu is quick_gelu
    expected = features_of(model.visual)
    assert torch.equal(features_of(loaded(path)), expected)
    assert not torch.allclose(features_of(build()), expected, atol=0.01)


def test_openai_state_in_half_precision(model: CLIP, tmp_path: Path) -> None:
    openai = CLIP(48, VISION, TEXT, quick_gelu=True).eval()
    openai.load_state_dict(model.state_dict())
    convert_weights_to_fp16(openai)
    numbers = {"input_resolution": torch.tensor(32), "context_length": torch.tensor(8), "vocab_size": torch.tensor(50)}
    torch.save({**openai.state_dict(), **numbers}, tmp_path / "openai.pt")
    weights = read_tower(tmp_path / "openai.pt")
    assert weights.quick_gelu is True
    assert {value.dtype for value in weights.tensors.values()} == {torch.float16, torch.float32}
    tower = loaded(tmp_path / "openai.pt")
    assert {value.dtype for value in tower.parameters()} == {torch.float32}
    assert torch.equal(features_of(tower), features_of(openai.visual.float()))


def test_bfloat16_files(model: CLIP, tmp_path: Path) -> None:
    state = {name: value.bfloat16() for name, value in model.state_dict().items()}
    save_file(state, tmp_path / "clip.safetensors")
    tower = loaded(tmp_path / "clip.safetensors")
    assert torch.equal(tower.conv1.weight, state["visual.conv1.weight"].float())


@pytest.mark.parametrize(("stated", "expected"), [(True, True), (False, False), (None, False)])
def test_open_clip_configuration(model: CLIP, tmp_path: Path, stated: bool | None, expected: bool) -> None:
    write_folder(model, tmp_path, stated)
    assert read_tower(tmp_path).quick_gelu is expected
    assert read_tower(tmp_path / "open_clip_model.safetensors").quick_gelu is expected
    assert torch.equal(features_of(loaded(tmp_path)), features_of(model.visual)) is expected


# transformers takes seconds to import: once for all of these.
@pytest.fixture(scope="module", params=["quick_gelu", "gelu"])
def hugging_face(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bool]:
    """One model in the folders that transformers itself saves, and its own features of X."""
    import transformers

    vision = {"hidden_size": 64, "intermediate_size": 256, "num_hidden_layers": 2, "num_attention_heads": 2}
    vision |= {"image_size": 32, "patch_size": 8, "hidden_act": request.param, "projection_dim": 48}
    text = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 2}
    text |= {"vocab_size": 50, "max_position_embeddings": 8, "bos_token_id": 1, "eos_token_id": 2}
    config = transformers.CLIPConfig(vision_config=vision, text_config=text, projection_dim=48)
    model: Any = randomize(transformers.CLIPModel(config))
    folder = tmp_path_factory.mktemp("transformers")
    model.save_pretrained(folder / "CLIPModel")
    model.save_pretrained(folder / "sharded", max_shard_size="100KB")
    tower: Any = transformers.CLIPVisionModel.from_pretrained(folder / "CLIPModel").eval()
    projected: Any = transformers.CLIPVisionModelWithProjection.from_pretrained(folder / "CLIPModel").eval()
    tower.save_pretrained(folder / "CLIPVisionModel")
    projected.save_pretrained(folder / "CLIPVisionModelWithProjection")
    (folder / "bin").mkdir()
    (folder / "bin-sharded").mkdir()
    for name in ("bin", "bin-sharded"):
        shutil.copy(folder / "CLIPModel" / "config.json", folder / name)
    # transformers 5 does not write these any more; that buffer is in the files of transformers 4.
    state = {**model.state_dict(), "vision_model.embeddings.position_ids": torch.arange(17)[None]}
    torch.save(state, folder / "bin" / "pytorch_model.bin")
    places = {name: f"pytorch_model-0000{1 + count % 2}-of-00002.bin" for count, name in enumerate(state)}
    for shard in set(places.values()):
        torch.save({name: state[name] for name in places if places[name] == shard}, folder / "bin-sharded" / shard)
    index = folder / "bin-sharded" / "pytorch_model.bin.index.json"
    index.write_text(json.dumps({"metadata": {}, "weight_map": places}))
    with torch.no_grad():
        features = {"pooled": tower(X).pooler_output, "projected": projected(X).image_embeds}
    torch.save(features, folder / "features.pt")
    return folder, request.param == "quick_gelu"


@pytest.mark.parametrize(
    "name",
    [
        "CLIPModel",
        "CLIPModel/model.safetensors",
        "CLIPVisionModelWithProjection",
        "CLIPVisionModel",
        "sharded",
        "sharded/model.safetensors.index.json",
        "bin",
        "bin/pytorch_model.bin",
        "bin-sharded",
    ],
)
def test_same_features_as_transformers(hugging_face: tuple[Path, bool], name: str) -> None:
    folder, quick_gelu = hugging_face
    expected = torch.load(folder / "features.pt", weights_only=True)
    weights = read_tower(folder / name)
    assert weights.quick_gelu is quick_gelu
    assert ("proj" in weights.tensors) == (name != "CLIPVisionModel")
    for kind in ("pooled", "projected"):
        right, wrong = build(quick_gelu), build(not quick_gelu)
        if kind == "pooled":
            right.proj = wrong.proj = None
        elif name == "CLIPVisionModel":
            with pytest.raises(DataError, match=r"no projection.* features=projected of clip-small needs a file with"):
                load_tower(right, weights, TITLE)
            continue
        load_tower(right, weights, TITLE)
        load_tower(wrong, weights, TITLE)
        assert (features_of(right) - expected[kind]).abs().max() < 1e-4
        assert (features_of(wrong) - expected[kind]).abs().max() > 1e-3


def test_sharded_folder_is_one(hugging_face: tuple[Path, bool]) -> None:
    assert len(list((hugging_face[0] / "sharded").glob("*.safetensors"))) > 2


def test_every_library_gives_one_tower(hugging_face: tuple[Path, bool], tmp_path: Path) -> None:
    """A tower out of transformers's folder, saved by open_clip, is found again."""
    folder, quick_gelu = hugging_face
    tower = loaded(folder / "CLIPModel")
    model = CLIP(48, VISION, TEXT, quick_gelu=quick_gelu)
    model.visual.load_state_dict(tower.state_dict())
    write_folder(model, tmp_path, quick_gelu)
    assert torch.equal(features_of(loaded(tmp_path)), features_of(tower))


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"model_type": "clip"}, True),
        ({"model_type": "clip", "vision_config": {}}, True),
        ({"model_type": "clip_vision_model", "hidden_act": "gelu"}, False),
        ({"vision_config": {"hidden_act": "gelu"}, "hidden_act": "quick_gelu"}, False),
        ({"architecture": "vit_base_patch16_clip_224"}, None),
    ],
)
def test_configuration_of_transformers(model: CLIP, tmp_path: Path, config: Any, expected: bool | None) -> None:
    path = write_safetensors(model, tmp_path)
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert read_tower(path).quick_gelu is expected


def test_each_librarys_configuration_for_its_names(hugging_face: tuple[Path, bool], tmp_path: Path) -> None:
    folder, quick_gelu = hugging_face
    shutil.copytree(folder / "CLIPModel", tmp_path, dirs_exist_ok=True)
    (tmp_path / "open_clip_config.json").write_text(json.dumps({"model_cfg": {"quick_gelu": not quick_gelu}}))
    assert read_tower(tmp_path).quick_gelu is quick_gelu
    torch.save(build().state_dict(), tmp_path / "tower.pt")
    assert read_tower(tmp_path / "tower.pt").quick_gelu is not quick_gelu


@pytest.mark.parametrize("size", [(48, 48), (24, 40), (64, 8), (16, 64), (32, 32)])
def test_position_embeddings_for_other_sizes(model: CLIP, tmp_path: Path, size: tuple[int, int]) -> None:
    path = write_state(model, tmp_path)
    tower = loaded(path, image_size=size)
    saved = model.visual.positional_embedding
    state = {"visual.positional_embedding": saved}
    target = CLIP(48, {**VISION, "image_size": size}, TEXT)
    resize_pos_embed(state, target)
    if size == (16, 64):
        # As many positions as 4 x 4: open_clip takes them as they are, which puts most of them into other places.
        assert torch.equal(state["visual.positional_embedding"], saved)
        assert not torch.allclose(tower.positional_embedding, saved, atol=0.01)
        grid = saved[1:].reshape(1, 4, 4, 64).permute(0, 3, 1, 2)
        grid = nn.functional.interpolate(grid, (2, 8), mode="bicubic", antialias=True)
        state["visual.positional_embedding"] = torch.cat([saved[:1], grid[0].permute(1, 2, 0).reshape(16, 64)])
    assert torch.equal(tower.positional_embedding, state["visual.positional_embedding"])
    assert torch.equal(tower.positional_embedding[0], saved[0])
    assert torch.equal(tower.conv1.weight, model.visual.conv1.weight)
    assert tower(torch.zeros(1, 3, *size)).shape == (1, 48)


def test_grid_that_is_not_square_fits_itself(tmp_path: Path) -> None:
    torch.save(randomize(build(image_size=(24, 40))).state_dict(), tmp_path / "wide.pt")
    tower = loaded(tmp_path / "wide.pt", image_size=(24, 40))
    assert torch.equal(tower.positional_embedding, read_tower(tmp_path / "wide.pt").tensors["positional_embedding"])
    with pytest.raises(
        DataError, match=r"its positional_embedding is \(16, 64\) .* clip-small has \(17, 64\) of float32"
    ):
        loaded(tmp_path / "wide.pt")


def test_fixed_positions_stay(tmp_path: Path) -> None:
    saved = build(pos_embed_type="sin_cos_2d")
    torch.save(saved.state_dict(), tmp_path / "fixed.pt")
    own = build(pos_embed_type="sin_cos_2d", image_size=48).positional_embedding.clone()
    tower = loaded(tmp_path / "fixed.pt", pos_embed_type="sin_cos_2d", image_size=48)
    assert torch.equal(tower.positional_embedding, own)
    frozen = build(image_size=48).requires_grad_(False)
    before = frozen.positional_embedding.clone()
    load_tower(frozen, read_tower(tmp_path / "fixed.pt"), TITLE)
    assert not torch.allclose(frozen.positional_embedding, before)
    same = build(pos_embed_type="sin_cos_2d")
    same.positional_embedding.zero_()
    load_tower(same, read_tower(tmp_path / "fixed.pt"), TITLE)
    assert torch.equal(same.positional_embedding, saved.positional_embedding)


def test_parts_that_the_tower_was_built_without(model: CLIP, tmp_path: Path) -> None:
    weights = read_tower(write_state(model, tmp_path))
    tower = build()
    tower.proj, tower.ln_post = None, nn.Identity()
    load_tower(tower, weights, TITLE)
    assert torch.equal(tower.ln_pre.weight, model.visual.ln_pre.weight)
    assert not {"proj", "ln_post.weight"} & set(tower.state_dict())
    tower.ln_pre = nn.Identity()
    with pytest.raises(
        DataError, match=r"has 2 tensors that clip-small has no place for, first ln_pre\.weight, \(64,\)"
    ):
        load_tower(tower, weights, TITLE)


OTHERS = {
    "ModifiedResNet": {"image_size": 32, "layers": [1, 1, 1, 1], "width": 8},
    "model of timm": {"image_size": 32, "timm_model_name": "test_resnet", "timm_pool": "", "timm_proj": "linear"},
}


@pytest.mark.parametrize("kind", OTHERS)
@pytest.mark.parametrize("prefix", ["", "visual.", "module.visual."])
def test_other_towers(kind: str, prefix: str, tmp_path: Path) -> None:
    saved = randomize(_build_vision_tower(48, OTHERS[kind]))
    state = {prefix + name: value for name, value in saved.state_dict().items()}
    assert any(name.endswith("num_batches_tracked") for name in state)
    counted = {name: value for name, value in state.items() if not name.endswith("num_batches_tracked")}
    for number, content in enumerate((state, counted)):
        torch.save(content, tmp_path / f"{number}.pt")
        tower = _build_vision_tower(48, OTHERS[kind]).eval()
        load_tower(tower, read_tower(tmp_path / f"{number}.pt"), TITLE)
        assert torch.equal(features_of(tower), features_of(saved))
    with pytest.raises(DataError, match=f"0.pt: holds a {kind}, where clip-small is a vision transformer"):
        loaded(tmp_path / "0.pt")


def test_changed_loading_code_is_noticed(model: CLIP, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tower, weights = build(), read_tower(write_state(model, tmp_path))
    monkeypatch.setattr(tower, "load_state_dict", lambda state, strict: None)
    with pytest.raises(DataError, match="after loading, class_embedding of clip-small is not what the file has"):
        load_tower(tower, weights, TITLE)


def refusal(path: Path, **changes: Any) -> str:
    with pytest.raises(DataError) as caught:
        loaded(path, **changes)
    message = str(caught.value)
    assert "\n" not in message
    assert str(path) in message
    return message


def test_other_sizes_are_told(model: CLIP, tmp_path: Path) -> None:
    path = write_state(model, tmp_path)
    message = refusal(path, width=96, layers=3, patch_size=16)
    assert (
        "holds a tower of width 64 with 2 blocks and patches of 8, where clip-small has width 96, 3 blocks" in message
    )
    message = refusal(path, mlp_ratio=2.0)
    assert (
        "its transformer.resblocks.0.mlp.c_fc.weight is (256, 64) of float32, where clip-small has (128, 64)" in message
    )


def test_tensors_that_do_not_fit(model: CLIP, tmp_path: Path) -> None:
    state = model.state_dict()
    path = tmp_path / "bad.pt"

    def said(**changed: torch.Tensor | None) -> str:
        new = {**state, **{f"visual.{name.replace('_at_', '.')}": value for name, value in changed.items()}}
        torch.save({name: value for name, value in new.items() if value is not None}, path)
        return refusal(path)

    assert "has 1 tensors that clip-small has no place for, first extra, (3,) of int64" in said(extra=torch.arange(3))
    assert "lacks 1 of the 32 tensors of clip-small, first ln_pre.bias, (64,)" in said(ln_pre_at_bias=None)
    assert "its class_embedding is (64,) of int64" in said(class_embedding=torch.arange(64))
    assert "its positional_embedding is ()" in said(positional_embedding=torch.tensor(1.0))
    assert "its positional_embedding is (26, 32)" in said(positional_embedding=torch.ones(26, 32))
    assert "its conv1.weight is (64,)" in said(conv1_at_weight=torch.ones(64))
    broken = state["visual.proj"].clone()
    broken[3, 4] = float("nan")
    assert "its proj has values that are no finite numbers" in said(proj=broken)
    broken[3, 4] = float("inf")
    assert "its proj has values that are no finite numbers" in said(proj=broken)


def test_files_of_something_else(model: CLIP, tmp_path: Path) -> None:
    torch.save(torchvision.models.resnet18().state_dict(), tmp_path / "resnet.pth")
    assert "no image tower of a CLIP model; the first of its 122 tensors is 'conv1.weight'" in refusal(
        tmp_path / "resnet.pth"
    )
    text = {name: value for name, value in model.state_dict().items() if not name.startswith("visual.")}
    save_file(text, tmp_path / "text.safetensors")
    assert "no image tower" in refusal(tmp_path / "text.safetensors")
    torch.save({}, tmp_path / "empty.pt")
    assert "first of its 0 tensors is 'none'" in refusal(tmp_path / "empty.pt")
    assert "there is no such file or folder of weights" in refusal(tmp_path / "gone.pt")
    (tmp_path / "folder").mkdir()
    assert "has no file of weights, which is called one of open_clip_model" in refusal(tmp_path / "folder")
    (tmp_path / "text.txt.pt").write_text("not weights\n" * 9)
    assert "can't be read as a file of weights" in refusal(tmp_path / "text.txt.pt")


@pytest.mark.parametrize("name", ["state dictionary", "old file of torch.save", "safetensors", "TorchScript"])
def test_truncated_files(name: str, model: CLIP, tmp_path: Path) -> None:
    path = FORMATS[name][0](model, tmp_path)
    data = path.read_bytes()
    for length in (0, 1, 7, 9, 100, 1000, len(data) // 2, len(data) - 5000, len(data) - 1):
        path.write_bytes(data[:length])
        assert "can't be read as a file of " in refusal(path), length
    path.write_bytes(data)
    loaded(path)


class Hostile:
    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (Path("hacked"),)


@pytest.mark.parametrize("is_new", [True, False])
def test_hostile_files_run_nothing(model: CLIP, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_new: bool) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "bad.pt"
    torch.save({**model.state_dict(), "x": Hostile()}, path, _use_new_zipfile_serialization=is_new)
    assert "can't be read as a file of weights" in refusal(path)
    assert not Path("hacked").exists()
    torch.load(path, weights_only=False)  # the file would have worked
    assert Path("hacked").exists()


def test_broken_folders(hugging_face: tuple[Path, bool], tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(hugging_face[0] / "sharded", folder)
    index, config = folder / "model.safetensors.index.json", folder / "config.json"
    places = json.loads(index.read_text())["weight_map"]

    def said(file: Path, content: str) -> str:
        before = file.read_text()
        file.write_text(content)
        message = refusal(folder)
        file.write_text(before)
        assert message.startswith(f"{file}: ")
        return message

    assert "can't be read as JSON" in said(config, config.read_text()[:-9])
    assert "holds list, where an object" in said(config, "[]")
    assert "states the activation 'relu'" in said(config, '{"vision_config": {"hidden_act": "relu"}}')
    assert "can't be read as JSON" in said(index, "")
    assert "lists no tensors under 'weight_map'" in said(index, '{"weight_map": {}}')
    added = {**places, "vision_model.more": next(iter(places.values()))}
    assert "lists 'vision_model.more' in model-0" in said(index, json.dumps({"weight_map": added}))
    outside = {**places, "logit_scale": "../copy/" + places["logit_scale"]}
    assert "lists '../copy/model-0" in said(index, json.dumps({"weight_map": outside}))
    itself = {**places, "logit_scale": index.name}
    assert "which is no file of weights" in said(index, json.dumps({"weight_map": itself}))
    (folder / "open_clip_config.json").write_text("{}")
    shutil.copy(write_tower(randomize(CLIP(48, VISION, TEXT)), tmp_path), folder)  # type: ignore[arg-type]
    with pytest.raises(DataError, match=r"open_clip_config\.json: has no 'model_cfg'"):
        read_tower(folder / "tower.pt")
    loaded(folder)
    shard = folder / places["visual_projection.weight"]
    shard.write_bytes(shard.read_bytes()[:-10])
    assert f"{shard.name}: can't be read as a file of safetensors" in refusal(folder)
    shard.unlink()
    assert f"lists '{shard.name}', which is no file of weights in that folder; all parts must be" in refusal(folder)


def test_attention_with_parts_that_do_not_go_together(hugging_face: tuple[Path, bool], tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    state = load_file(hugging_face[0] / "CLIPModel" / "model.safetensors")
    key = "vision_model.encoder.layers.1.self_attn.k_proj.weight"
    save_file({**state, key: torch.ones(64, 63)}, path)
    assert "do not have the shapes of a CLIP model" in refusal(path)
    save_file({name: value for name, value in state.items() if name != key}, path)
    assert "lacks 1 of the 32 tensors of clip-small, first transformer.resblocks.1.attn.in_proj_weight" in refusal(path)


def test_weights_are_values(model: CLIP, tmp_path: Path) -> None:
    """Loading changes neither the file's tensors nor ties them to the tower's."""
    weights = read_tower(write_state(model, tmp_path))
    tower = build()
    load_tower(tower, weights, TITLE)
    with torch.no_grad():
        tower.conv1.weight.zero_()
    assert isinstance(weights, TowerWeights)
    assert torch.equal(weights.tensors["conv1.weight"], model.visual.conv1.weight)
