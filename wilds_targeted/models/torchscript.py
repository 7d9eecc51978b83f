"""Read the tensors of a TorchScript archive as data, without torch.jit and without running anything of the file.

`torch.jit.save` writes a zip: ``NAME/data.pkl`` is a pickle of the module, ``NAME/data/0`` and so on are the storages
of its tensors, ``NAME/code`` is its program, and ``NAME/constants.pkl`` with ``NAME/constants`` has the constants of
that program. The parameters and buffers are in the first two, since torch 1.4; the last two are left alone.
"""

from __future__ import annotations

import io
import pickle
import sys
import zipfile
from collections import OrderedDict
from pathlib import Path
from typing import Any

import torch

from wilds_targeted.errors import DataError, one_line

_DTYPES = {
    "DoubleStorage": torch.float64,
    "FloatStorage": torch.float32,
    "HalfStorage": torch.float16,
    "BFloat16Storage": torch.bfloat16,
    "LongStorage": torch.int64,
    "IntStorage": torch.int32,
    "ShortStorage": torch.int16,
    "CharStorage": torch.int8,
    "ByteStorage": torch.uint8,
    "BoolStorage": torch.bool,
}
# They say of which type a list or dictionary is, and hand it back.
_TYPED = {"build_intlist", "build_tensorlist", "build_doublelist", "build_boollist", "restore_type_tag"}
# The largest CLIP has some two thousand. A pickle may refer to one module from many places: without an end to it, a
# few bytes could ask for any number of names.
_MOST_MODULES = 50_000


def is_script_archive(path: str | Path) -> bool:
    """Whether `torch.jit.save` wrote that file."""
    try:
        with zipfile.ZipFile(path) as archive:
            _find_root(archive)
    except (OSError, zipfile.BadZipFile, pickle.UnpicklingError):
        return False
    return True


def read_script_tensors(path: str | Path) -> dict[str, torch.Tensor]:
    """The parameters and buffers of a TorchScript archive under their dotted names, as its ``state_dict`` has them.

    A plain tensor that is an attribute of a module counts as a buffer: only the program of the archive tells them
    apart, and the oldest ones not even there. Tensors that share a storage in the file share one here.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            root = _find_root(archive)
            module = _Unpickler(archive, root).load()
        if not isinstance(module, _Module):
            raise pickle.UnpicklingError(f"it holds {type(module).__name__}, and no module")
        return _list_tensors(module)
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file.") from None
    except Exception as error:  # a broken pickle may make the unpickler, zipfile or torch raise nearly anything
        raise DataError(f"{path}: can't be read as a TorchScript archive ({one_line(error)[:200]}).") from error


def _find_root(archive: zipfile.ZipFile) -> str:
    """The folder in which everything of the archive is."""
    names = set(archive.namelist())
    roots = {name.partition("/")[0] for name in names}
    # Files of torch.save have a data.pkl, too, but no constants.
    found = [root for root in roots if {f"{root}/data.pkl", f"{root}/constants.pkl"} <= names]
    if len(found) != 1:
        raise pickle.UnpicklingError("it is a zip without data.pkl and constants.pkl in one folder")
    return found[0]


class _Module(dict[str, Any]):
    """What any class of the archive becomes: its attributes, and nothing of its code."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        # A module with a __getstate__ of its own (a quantized one) has something else than its attributes there.
        if not isinstance(state, dict):
            raise pickle.UnpicklingError("one of its modules is not saved as attributes by name")
        self.update(state)


class _Unpickler(pickle.Unpickler):
    """Makes tensors, modules as dictionaries, and plain values; refuses to find anything else."""

    def __init__(self, archive: zipfile.ZipFile, root: str) -> None:
        super().__init__(io.BytesIO(archive.read(f"{root}/data.pkl")))
        self._archive = archive
        self._root = root
        order = f"{root}/byteorder"  # since torch 2.1
        if order in archive.namelist() and archive.read(order).decode() != sys.byteorder:
            raise pickle.UnpicklingError(f"it does not have the {sys.byteorder}-endian numbers of this machine")

    def find_class(self, module: str, name: str) -> Any:
        if module.partition(".")[0] == "__torch__":
            return _Module
        if module == "torch" and name in _DTYPES:
            return _DTYPES[name]
        if module == "torch.jit._pickle" and name in _TYPED:
            return self._take_value
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return self._build_tensor
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        raise pickle.UnpicklingError(f"it asks for {module}.{name}, which no tensor needs")

    def persistent_load(self, pid: Any) -> torch.Tensor:
        """All of a storage as one flat tensor; the pickle itself refers back to one that it has had."""
        kind, dtype, key, _, count = pid  # the fourth is the device where it was
        if kind != "storage":
            raise pickle.UnpicklingError(f"it refers to {kind!r}, where only a storage is expected")
        data = self._archive.read(f"{self._root}/data/{key}")
        if len(data) != count * dtype.itemsize:
            raise pickle.UnpicklingError(f"storage {key} has {len(data)} bytes, where {count} of {dtype} are expected")
        return torch.frombuffer(bytearray(data), dtype=dtype) if data else torch.empty(0, dtype=dtype)

    def _build_tensor(self, flat: torch.Tensor, offset: int, size: Any, stride: Any, *_: Any) -> torch.Tensor:
        return torch.as_strided(flat, size, stride, offset)  # refuses what reaches beyond the storage

    def _take_value(self, value: Any, *_: Any) -> Any:
        return value


def _list_tensors(module: _Module) -> dict[str, torch.Tensor]:
    found: dict[str, torch.Tensor] = {}
    waiting = [("", module)]
    for _ in range(_MOST_MODULES):
        if not waiting:
            return found
        prefix, module = waiting.pop()
        found.update({prefix + name: value for name, value in module.items() if isinstance(value, torch.Tensor)})
        inner = [(f"{prefix}{name}.", value) for name, value in module.items() if isinstance(value, _Module)]
        waiting.extend(reversed(inner))
    raise pickle.UnpicklingError(f"it has more than {_MOST_MODULES} modules")
