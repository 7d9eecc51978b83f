"""Read weights from a file: models of WILDS and of this package, and other people's state dictionaries."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import nn

from wilds_targeted.errors import DataError, one_line


def read_state(path: str, device: Any = "cpu") -> dict[str, Any]:
    """What `torch.save` wrote there; never runs code from the file."""
    # WILDS saves the best validation metric as it comes, for some data sets a numpy scalar.
    scalar: list[Any] = [np.float64(0).__reduce__()[0], np.dtype, type(np.dtype("f8")), type(np.dtype("f4"))]
    try:
        with torch.serialization.safe_globals(scalar):
            state = torch.load(path, map_location=device, weights_only=True)
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file.") from None
    except Exception as error:  # a pickle that is cut off may raise nearly anything
        reason = one_line(error).partition(". ")[0]
        raise DataError(f"{path}: can't be read as a file of weights ({reason}).") from error
    if not isinstance(state, dict):
        raise DataError(f"{path}: holds {type(state).__name__}, where a dictionary of weights is expected.")
    return state


def load_weights(module: nn.Module, path: str, device: Any = "cpu") -> None:
    """Load the weights of a file into a model, also where the names differ by what stands in front of them.

    The file may be WILDS's or ours (``algorithm``), a checkpoint with ``state_dict``, or a state dictionary itself.
    What the file has no weights for is told on standard error; a file without any is refused.
    """
    state = read_state(path, device)
    for key in ("algorithm", "state_dict"):
        if isinstance(state.get(key), dict):
            state = state[key]
    weights = {name: value for name, value in state.items() if isinstance(value, torch.Tensor)}
    wanted = module.state_dict()
    matched = match_names(weights, wanted)
    if not matched:
        raise DataError(
            f"{path}: none of its {len(weights)} weights fits this model; its first is "
            f"{next(iter(weights), 'none')!r}, and the model's {next(iter(wanted))!r}."
        )
    module.load_state_dict(matched, strict=False)
    missing = [name for name in wanted if name not in matched]
    if missing:
        print(f"wilds-targeted: {path} has no weights for {len(missing)} of the model's: {missing}", file=sys.stderr)


def match_names(weights: Mapping[str, torch.Tensor], wanted: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The weights under the names that a model wants; only those whose shapes fit.

    One prefix is taken off the file's names and one put in front, the pair that makes most of them fit. A last layer
    that is called differently (``fc`` in a whole model, ``1`` after a featurizer) is found by its shape.

    >>> weights = {"model.fc.weight": torch.zeros(2, 3), "model.conv.weight": torch.ones(1)}
    >>> sorted(match_names(weights, {"0.conv.weight": torch.zeros(1), "1.weight": torch.zeros(2, 3)}))
    ['0.conv.weight', '1.weight']
    """

    def renamed(remove: str, add: str) -> dict[str, str]:
        pairs = {add + name.removeprefix(remove): name for name in weights if name.startswith(remove)}
        return {new: old for new, old in pairs.items() if new in wanted and wanted[new].shape == weights[old].shape}

    choices = [(remove, add) for remove in _prefixes(weights) for add in _prefixes(wanted)]
    best = max((renamed(*choice) for choice in choices), key=len, default={})
    used = set(best.values())
    free = [name for name in wanted if name not in best and name.rpartition(".")[2] in ("weight", "bias")]
    for name in free if best else ():
        kind = name.rpartition(".")[2]
        fitting = [
            old
            for old in weights
            if old not in used and old.rpartition(".")[2] == kind and weights[old].shape == wanted[name].shape
        ]
        if len(fitting) == 1:
            best[name] = fitting[0]
            used.add(fitting[0])
    return {new: weights[old] for new, old in best.items()}


def _prefixes(names: Mapping[str, Any]) -> list[str]:
    """Everything that a name may begin with: nothing, ``model.``, ``model.0.``, up to three steps."""
    found = {""}
    for name in names:
        steps = name.split(".")[:-1]
        found.update(".".join(steps[:count]) + "." for count in range(1, min(3, len(steps)) + 1))
    return sorted(found, key=lambda prefix: (len(prefix), prefix))
