"""Tensors of TorchScript archives as torch.jit itself finds them, and archives that lie or want to run something."""

from __future__ import annotations

import os
import pickle
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import open_clip
import pytest
import torch
from open_clip.model import CLIP
from torch import nn

from wilds_targeted.errors import DataError
from wilds_targeted.models.torchscript import is_script_archive, read_script_tensors

# torch.jit is deprecated: that is why the package does without it, and the tests can't.
pytestmark = pytest.mark.filterwarnings("ignore")


def small_clip() -> CLIP:
    torch.manual_seed(0)
    vision = {"image_size": 32, "layers": 2, "width": 64, "head_width": 32, "patch_size": 8}
    text = {"context_length": 8, "vocab_size": 50, "width": 32, "heads": 2, "layers": 1}
    return CLIP(48, vision, text, quick_gelu=True).eval().requires_grad_(False)


def trace(model: CLIP) -> Any:
    model.visual.image_size = 32  # a pair since open_clip made it one; its own trace_model wants a number
    return open_clip.trace_model(model, batch_size=1)


class Odd(nn.Module):
    """What a module may hold besides plain parameters: views, scalars, integers, shared storages, typed lists."""

    def __init__(self) -> None:
        super().__init__()
        base = torch.arange(24.0).reshape(4, 6)
        self.turned = nn.Parameter(base.t())
        self.part = nn.Parameter(base[1:3, 2:5])
        self.register_buffer("scalar", torch.tensor(2.5))
        self.register_buffer("input_resolution", torch.tensor(224))
        self.register_buffer("empty", torch.empty(0, 3))
        self.register_buffer("flags", torch.tensor([True, False]))
        self.register_buffer("small", torch.tensor([1.5, -2.0], dtype=torch.bfloat16))
        self.register_buffer("absent", None)
        self.register_buffer("whole", torch.ones(3, dtype=torch.int32))
        self.sizes = [1, 2, 3]
        self.named = {"a": 1.0}
        self.first = nn.Linear(3, 2)
        self.again = self.first

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.again(self.first(x)[:, :1].repeat(1, self.sizes[2])) + self.scalar + self.named["a"]


def half(model: nn.Module) -> nn.Module:
    """As OpenAI's are: half precision, but for some."""
    for name, parameter in model.named_parameters():
        if "ln_" not in name:
            parameter.data = parameter.data.half()
    return model


MODELS: dict[str, Callable[[], Any]] = {
    "traced": lambda: trace(small_clip()),
    "scripted": lambda: torch.jit.script(small_clip()),
    "half": lambda: torch.jit.script(half(small_clip())),
    "odd": lambda: torch.jit.script(Odd()),
}


@pytest.mark.parametrize("kind", MODELS)
def test_same_tensors_as_torch_jit(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "model.pt"
    torch.jit.save(MODELS[kind](), str(path))
    expected = torch.jit.load(str(path)).state_dict()
    tensors = read_script_tensors(path)
    assert tensors.keys() == expected.keys() != set()
    for name, value in expected.items():
        assert tensors[name].dtype == value.dtype
        assert tensors[name].stride() == value.stride(), name
        assert torch.equal(tensors[name], value), name
    assert is_script_archive(path)


def test_what_the_kinds_are_for() -> None:
    """The models above have what they are there to show."""
    state = torch.jit.script(Odd()).state_dict()
    assert {"whole", "input_resolution", "first.weight", "again.weight"} <= set(state)
    assert not state["turned"].is_contiguous()
    assert state["part"].storage_offset() == 8
    assert {value.dtype for value in half(small_clip()).state_dict().values()} == {torch.float16, torch.float32}


def test_shared_storages_stay_shared(tmp_path: Path) -> None:
    torch.jit.save(torch.jit.script(Odd()), str(tmp_path / "odd.pt"))
    tensors = read_script_tensors(tmp_path / "odd.pt")
    assert tensors["first.weight"].data_ptr() == tensors["again.weight"].data_ptr()
    assert tensors["part"].untyped_storage().data_ptr() == tensors["turned"].untyped_storage().data_ptr()


class Plain(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.plain = torch.ones(2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.plain


def test_plain_tensors_count_as_buffers(tmp_path: Path) -> None:
    torch.jit.save(torch.jit.script(Plain()), str(tmp_path / "plain.pt"))
    assert torch.equal(read_script_tensors(tmp_path / "plain.pt")["plain"], torch.ones(2))


def test_other_files_are_no_archives(tmp_path: Path) -> None:
    torch.save({"a": torch.ones(2)}, tmp_path / "state.pt")
    (tmp_path / "text.pt").write_text("PK, and no zip")
    for name in ("state.pt", "text.pt", "gone.pt"):
        assert not is_script_archive(tmp_path / name)
        with pytest.raises(DataError, match=rf"{name}: (can't be read as a TorchScript archive|there is no such file)"):
            read_script_tensors(tmp_path / name)


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("script") / "small.pt"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.jit.save(torch.jit.script(nn.Linear(3, 2)), str(path))
    return path


def changed(archive: Path, to: Path, entries: dict[str, bytes | None]) -> Path:
    """The archive with other contents of some entries; None leaves one out."""
    with zipfile.ZipFile(archive) as source, zipfile.ZipFile(to, "w") as target:
        for info in source.infolist():
            data = entries.get(info.filename, source.read(info))
            if data is not None:
                target.writestr(info.filename, data)
    return to


def refusal(path: Path) -> str:
    with pytest.raises(DataError) as caught:
        read_script_tensors(path)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(f"{path}: can't be read as a TorchScript archive (")
    return message


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_truncated_archives_are_refused(archive: Path, tmp_path: Path, share: float) -> None:
    data = archive.read_bytes()
    cut = tmp_path / "cut.pt"
    cut.write_bytes(data[: int(len(data) * share)])
    assert not is_script_archive(cut)
    refusal(cut)


class Hostile:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("touch hacked",)


@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_hostile_pickles_run_nothing(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, protocol: int
) -> None:
    monkeypatch.chdir(tmp_path)
    path = changed(archive, tmp_path / "bad.pt", {"small/data.pkl": pickle.dumps({"a": Hostile()}, protocol)})
    assert f"it asks for {os.system.__module__}.system" in refusal(path)
    assert not Path("hacked").exists()
    pickle.loads(pickle.dumps(Hostile(), protocol))  # the pickle would have worked
    assert Path("hacked").exists()


@pytest.mark.parametrize(
    "name",
    [b"torch\nload", b"torch._utils\n_rebuild_qtensor", b"torch.jit._pickle\nos", b"builtins\neval", b"__torch__x\nA"],
)
def test_only_what_tensors_need_is_found(archive: Path, tmp_path: Path, name: bytes) -> None:
    asked = name.decode().replace("\n", ".")
    path = changed(archive, tmp_path / "bad.pt", {"small/data.pkl": b"\x80\x02c" + name + b"\n."})
    assert f"it asks for {asked}, which no tensor needs" in refusal(path)


def edit(archive: Path, to: Path, old: bytes, new: bytes) -> Path:
    with zipfile.ZipFile(archive) as source:
        data = source.read("small/data.pkl")
    assert data.count(old) == 1
    return changed(archive, to, {"small/data.pkl": data.replace(old, new)})


def test_sizes_that_lie_are_refused(archive: Path, tmp_path: Path) -> None:
    path = tmp_path / "bad.pt"
    size = b"(K\x02K\x03t(K\x03K\x01t"  # 2 x 3 with strides 3 and 1, which is all of the storage
    for lie in (b"(K\x02K\x04t(K\x03K\x01t", b"(K\x02K\x03t(K\x04K\x01t", b"(K\x02K\x03t(J\xff\xff\xff\xffK\x01t"):
        refusal(edit(archive, path, size, lie))
    assert "storage 0 has 24 bytes, where 7 of torch.float32" in refusal(edit(archive, path, b"K\x06tQ", b"K\x07tQ"))
    assert "storage 0 has 20 bytes" in refusal(changed(archive, path, {"small/data/0": bytes(20)}))
    assert "no item named 'small/data/0'" in refusal(changed(archive, path, {"small/data/0": None}))
    read_script_tensors(changed(archive, path, {}))  # what is refused above is not the way of writing it


def test_damaged_storages_are_refused(archive: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(archive) as source:
        weight = source.read("small/data/0")
    data = archive.read_bytes()
    assert data.count(weight) == 1
    damaged = tmp_path / "damaged.pt"
    damaged.write_bytes(data.replace(weight, bytes(len(weight))))
    assert "Bad CRC-32" in refusal(damaged)


def test_other_byte_order_is_refused(archive: Path, tmp_path: Path) -> None:
    assert "endian" in refusal(changed(archive, tmp_path / "bad.pt", {"small/byteorder": b"middle"}))


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        (b"\x80\x02N.", "it holds NoneType, and no module"),
        (b"\x80\x02c__torch__\nA\n)\x81K\x01b.", "not saved as attributes by name"),
        # a module that is its own submodule
        (b"\x80\x02c__torch__\nA\n)\x81q\x00}X\x01\x00\x00\x00ah\x00sb.", "more than 50000 modules"),
        (b"\x80\x02c__torch__\nA\n)\x81", "ran out of input"),
        (b"\x80\x02(X\x05\x00\x00\x00otherNNNNtQ.", "it refers to 'other'"),
    ],
)
def test_other_pickles_are_refused(archive: Path, tmp_path: Path, program: bytes, reason: str) -> None:
    path = changed(archive, tmp_path / "bad.pt", {"small/data.pkl": program})
    assert reason.lower() in refusal(path).lower()
