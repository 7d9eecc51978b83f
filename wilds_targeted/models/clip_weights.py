"""Weights of CLIP's image towers, from the files in which people have them, into the towers of open_clip."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import nn

from wilds_targeted.errors import DataError, one_line
from wilds_targeted.models.torchscript import is_script_archive, read_script_tensors
from wilds_targeted.models.weights import read_state

# Names of files of weights in a folder; the first that is there is taken. open_clip's stand before those of the same
# kind that other libraries name: timm has a model.safetensors with names of its own beside them.
_FOLDER_FILES = (
    "open_clip_model.safetensors",
    "model.safetensors",
    "model.safetensors.index.json",
    "open_clip_pytorch_model.bin",
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
)
# OpenAI's models carry these numbers with their weights, and nobody else's do.
_OPENAI_NUMBERS = {"input_resolution", "context_length", "vocab_size"}
# By one of these a tower is known: a vision transformer, a ModifiedResNet, a model of timm with something behind it.
_KINDS = {
    "class_embedding": "vision transformer",
    "attnpool.positional_embedding": "ModifiedResNet",
    "trunk.": "model of timm",
}
# From transformers's names to open_clip's.
_RENAMED = [
    (re.compile(pattern), name)
    for pattern, name in (
        (r"^embeddings\.class_embedding$", "class_embedding"),
        (r"^embeddings\.patch_embedding\.", "conv1."),
        (r"^embeddings\.position_embedding\.weight$", "positional_embedding"),
        (r"^pre_layrnorm\.", "ln_pre."),
        (r"^post_layernorm\.", "ln_post."),
        (r"^encoder\.layers\.", "transformer.resblocks."),
        (r"\.self_attn\.", ".attn."),
        (r"\.layer_norm([12])\.", r".ln_\1."),
        (r"\.mlp\.fc1\.", ".mlp.c_fc."),
        (r"\.mlp\.fc2\.", ".mlp.c_proj."),
    )
]


@dataclass(frozen=True)
class TowerWeights:
    """The tensors of an image tower, as a file has them.

    Attributes:
        path: The file or folder, for messages.
        tensors: Under open_clip's names, without ``visual.`` in front.
        quick_gelu: Whether the file says that the activation is OpenAI's quick GELU; None if it says nothing.
    """

    path: str
    tensors: dict[str, torch.Tensor]
    quick_gelu: bool | None


def read_tower(path: str | Path) -> TowerWeights:
    """The image tower of a CLIP model in a file or folder; never runs code from it.

    Args:
        path: A folder as transformers or open_clip save one, a file of safetensors, a file of `torch.save` (a state
            dictionary of the model or of the tower alone, or open_clip's training checkpoint), or OpenAI's own
            TorchScript archive. The configuration beside a file tells its activation.
    """
    path = Path(path)
    file = _find_weights(path) if path.is_dir() else path
    if not file.is_file():
        raise DataError(f"{path}: there is no such file or folder of weights.")
    # Of those who publish CLIP, only OpenAI does it as a program: no check of the activation in that program is needed.
    openai = is_script_archive(file)
    state: dict[str, Any] = read_script_tensors(file) if openai else _read_file(file)
    if isinstance(state.get("state_dict"), dict):
        state = state["state_dict"]
    if state and all(str(name).startswith("module.") for name in state):  # saved by several processes
        state = {name.removeprefix("module."): value for name, value in state.items()}
    named = {str(name): value for name, value in state.items() if isinstance(value, torch.Tensor)}
    has_transformers_names = any(name.endswith("embeddings.patch_embedding.weight") for name in named)
    tensors = _take_transformers(named, path) if has_transformers_names else _take_open_clip(named)
    if not _find_kind(tensors):
        raise DataError(
            f"{path}: has no image tower of a CLIP model; the first of its {len(named)} tensors is "
            f"{next(iter(named), 'none')!r}, where names such as 'visual.conv1.weight' or "
            f"'vision_model.embeddings.patch_embedding.weight' are expected."
        )
    if openai or state.keys() >= _OPENAI_NUMBERS:
        return TowerWeights(str(path), tensors, quick_gelu=True)
    return TowerWeights(str(path), tensors, _read_activation(file.parent, has_transformers_names))


def _find_weights(folder: Path) -> Path:
    found = next((folder / name for name in _FOLDER_FILES if (folder / name).is_file()), None)
    if found is None:
        raise DataError(f"{folder}: has no file of weights, which is called one of {', '.join(_FOLDER_FILES)}.")
    return found


def _read_file(file: Path) -> dict[str, Any]:
    """What is in a file of safetensors or of torch.save, or in all of those that an index lists."""
    if file.name.endswith(".index.json"):
        return _read_shards(file)
    if file.suffix != ".safetensors":
        return read_state(str(file))
    try:
        return dict(load_file(file))
    except (SafetensorError, OSError, ValueError) as error:
        raise DataError(f"{file}: can't be read as a file of safetensors ({one_line(error)}).") from error


def _read_shards(index: Path) -> dict[str, Any]:
    places = _read_json(index).get("weight_map")
    if not isinstance(places, dict) or not places:
        raise DataError(f"{index}: lists no tensors under 'weight_map'.")
    state: dict[str, Any] = {}
    for name in sorted(set(map(str, places.values()))):
        shard = index.parent / name
        if Path(name).name != name or shard.suffix == ".json" or not shard.is_file():
            raise DataError(f"{index}: lists {name!r}, which is no file of weights in that folder; all parts must be.")
        state.update(_read_file(shard))
    absent = next((name for name in places if name not in state), None)
    if absent is not None:
        raise DataError(f"{index}: lists {absent!r} in {places[absent]}, which has no such tensor.")
    return state


def _read_json(file: Path) -> dict[str, Any]:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError, OSError) as error:
        raise DataError(f"{file}: can't be read as JSON ({one_line(error)}).") from error
    if not isinstance(content, dict):
        raise DataError(f"{file}: holds {type(content).__name__}, where an object with names is expected.")
    return content


def _read_activation(folder: Path, has_transformers_names: bool) -> bool | None:
    """Whether the configuration in that folder says quick GELU: the one of the library that named the tensors first."""
    readers = [_read_transformers_activation, _read_open_clip_activation]
    answers = (reader(folder) for reader in (readers if has_transformers_names else reversed(readers)))
    return next((answer for answer in answers if answer is not None), None)


def _read_transformers_activation(folder: Path) -> bool | None:
    file = folder / "config.json"
    if not file.is_file():
        return None
    content = _read_json(file)
    vision = content["vision_config"] if isinstance(content.get("vision_config"), dict) else content
    if not str(content.get("model_type", "")).startswith("clip") and "hidden_act" not in vision:
        return None  # something else's configuration
    name = vision.get("hidden_act", "quick_gelu")  # transformers's default for CLIP
    if name not in ("gelu", "quick_gelu"):
        raise DataError(f"{file}: states the activation {name!r}, where open_clip's towers have gelu or quick_gelu.")
    return bool(name == "quick_gelu")


def _read_open_clip_activation(folder: Path) -> bool | None:
    file = folder / "open_clip_config.json"
    if not file.is_file():
        return None
    model = _read_json(file).get("model_cfg")
    if not isinstance(model, dict):
        raise DataError(f"{file}: has no 'model_cfg', which open_clip writes there.")
    return bool(model.get("quick_gelu", False))  # open_clip's default


def _take_open_clip(named: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    tower = {name.removeprefix("visual."): value for name, value in named.items() if name.startswith("visual.")}
    return tower or dict(named)


def _take_transformers(named: Mapping[str, torch.Tensor], path: Path) -> dict[str, torch.Tensor]:
    """The image tower of transformers under open_clip's names, with query, key and value as one."""
    # A CLIPVisionModel is the tower alone, and since transformers 5 it has no prefix.
    prefix = "vision_model." if any(name.startswith("vision_model.") for name in named) else ""
    tensors: dict[str, torch.Tensor] = {}
    for old, value in named.items():
        name = old.removeprefix(prefix)
        if not old.startswith(prefix) or name in ("visual_projection.weight", "embeddings.position_ids"):
            continue
        for pattern, new in _RENAMED:
            name = pattern.sub(new, name)
        tensors[name] = value
    try:
        for name in [name for name in tensors if ".attn.q_proj." in name]:
            parts = [name.replace(".q_proj.", f".{letter}_proj.") for letter in "qkv"]
            if all(part in tensors for part in parts):
                joined = name.replace(".q_proj.", ".in_proj_")
                tensors[joined] = torch.cat([tensors.pop(part) for part in parts])
        if "visual_projection.weight" in named:
            tensors["proj"] = named["visual_projection.weight"].t()
    except RuntimeError as error:
        raise DataError(f"{path}: its tensors do not have the shapes of a CLIP model ({one_line(error)}).") from error
    return tensors


def _find_kind(tensors: Mapping[str, torch.Tensor]) -> str | None:
    return next((kind for mark, kind in _KINDS.items() if any(name.startswith(mark) for name in tensors)), None)


def load_tower(tower: nn.Module, weights: TowerWeights, title: str) -> None:
    """Load an image tower of open_clip, and make sure that it holds the file's tensors afterwards.

    The file must have every tensor of the tower and no other, but for a projection or a last layer norm that the
    tower was built without. Position embeddings of a vision transformer are interpolated where its grid differs.

    Args:
        tower: A vision transformer, ModifiedResNet or timm model as open_clip builds them.
        weights: What `read_tower` found.
        title: What to call the tower in messages, such as ``clip-vit-large-patch14``.
    """
    wanted = tower.state_dict()
    _check_names(wanted, weights, title)
    new: dict[str, torch.Tensor] = {}
    for name, own in wanted.items():
        if name not in weights.tensors:
            continue  # counts of batches, which evaluation does not use
        value = weights.tensors[name].detach()
        if name == "positional_embedding" and "class_embedding" in wanted:
            value = _fit_positions(tower, value)
        if value.shape != own.shape or value.is_floating_point() != own.is_floating_point():
            raise DataError(
                f"{weights.path}: its {name} is {_describe(value)}, where {title} has {_describe(own)}; "
                f"it belongs to another model."
            )
        value = value.to(own.device, own.dtype)
        if not torch.isfinite(value).all():
            raise DataError(f"{weights.path}: its {name} has values that are no finite numbers in {own.dtype}.")
        new[name] = value
    tower.load_state_dict(new, strict=False)
    # Loading code has been seen to pass over names without a word, which leaves a tower random.
    state = tower.state_dict()
    different = [name for name, value in new.items() if not torch.equal(state[name], value)]
    if different:
        raise DataError(f"{weights.path}: after loading, {different[0]} of {title} is not what the file has.")


def _check_names(wanted: Mapping[str, torch.Tensor], weights: TowerWeights, title: str) -> None:
    """Refuse a file of another tower, as plainly as its tensors allow."""
    tensors, path = weights.tensors, weights.path
    kinds = _find_kind(tensors), _find_kind(wanted)
    if kinds[0] != kinds[1]:
        raise DataError(f"{path}: holds a {kinds[0]}, where {title} is a {kinds[1]}.")
    sizes = _measure(tensors), _measure(wanted)
    if sizes[0] and sizes[1] and sizes[0] != sizes[1]:
        raise DataError(
            "{}: holds a tower of width {} with {} blocks and patches of {}, where {} has width {}, {} blocks and "
            "patches of {}.".format(path, *sizes[0], title, *sizes[1])
        )
    absent = [name for name in wanted if name not in tensors and not name.endswith(".num_batches_tracked")]
    if absent == ["proj"]:
        raise DataError(
            f"{path}: has no projection, such as a CLIPVisionModel; features=projected of {title} needs a file with "
            f"the projection, such as a CLIPModel or a CLIPVisionModelWithProjection."
        )
    if absent:
        raise DataError(
            f"{path}: lacks {len(absent)} of the {len(wanted)} tensors of {title}, first {absent[0]}, "
            f"{_describe(wanted[absent[0]])}."
        )
    unused = [name for name in tensors if name not in wanted and name.partition(".")[0] not in ("proj", "ln_post")]
    if unused:
        raise DataError(
            f"{path}: has {len(unused)} tensors that {title} has no place for, first {unused[0]}, "
            f"{_describe(tensors[unused[0]])}; it belongs to another model."
        )


def _measure(tensors: Mapping[str, torch.Tensor]) -> tuple[int, int, int] | None:
    """Width, number of blocks and patch size of a vision transformer."""
    patches = tensors.get("conv1.weight")
    if "class_embedding" not in tensors or patches is None or patches.dim() != 4:
        return None
    blocks = {name.split(".")[2] for name in tensors if name.startswith("transformer.resblocks.")}
    return patches.shape[0], len(blocks), patches.shape[-1]


def _describe(value: torch.Tensor) -> str:
    return f"{tuple(value.shape)} of {str(value.dtype).removeprefix('torch.')}"


def _fit_positions(tower: Any, value: torch.Tensor) -> torch.Tensor:
    """The position embedding of a file for the grid of a vision transformer, the class token as it is.

    Published towers have square grids, and the file's is taken for one wherever the number of positions allows: so a
    4 x 4 grid is interpolated to 2 x 8, where a comparison of shapes alone would mix positions up.
    """
    own: torch.Tensor = tower.positional_embedding.detach()
    side = math.isqrt(max(0, value.shape[0] - 1)) if value.dim() == 2 else 0
    if side == 0 or side**2 + 1 != value.shape[0] or value.shape[1] != own.shape[1] or tower.grid_size == (side, side):
        return value  # it fits, or will be refused for its shape
    # open_clip's fixed sin-cos embedding is one that is not trained; a tower frozen as a whole does not mean that.
    if not tower.positional_embedding.requires_grad and tower.conv1.weight.requires_grad:
        return own
    grid = value[1:].float().reshape(1, side, side, -1).permute(0, 3, 1, 2)
    grid = nn.functional.interpolate(grid, tower.grid_size, mode="bicubic", antialias=True, align_corners=False)
    return torch.cat([value[:1].float(), grid.flatten(2)[0].t()])
