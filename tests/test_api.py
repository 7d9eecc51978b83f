"""From Python: the README's example, and what goes wrong."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

import wilds_targeted
from wilds_targeted.errors import DataError, ParameterError, UnknownNameError

README = Path(__file__).parent.parent / "README.md"


@pytest.fixture(scope="module")
def dataset(miniature: Path) -> Any:
    return wilds_targeted.get_dataset("iwildcam", root_dir=miniature)


def test_the_readme_example_runs(miniature: Path) -> None:
    code = re.search(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    assert code is not None
    program = code[1].replace('root_dir="data"', f"root_dir={str(miniature)!r}")
    scope: dict[str, Any] = {}
    exec(program, scope)
    x, y, metadata = next(iter(scope["loader"]))
    assert x.shape[1:] == (3, 448, 448)
    assert len(x) == len(y) == len(metadata)


def test_a_transform_for_training_and_one_for_evaluation(dataset: Any) -> None:
    training = wilds_targeted.build_transform("copypaste_samey", dataset, p=0.7, target_resolution=(32, 32))
    assert training.p == 0.7
    assert training.flip
    evaluation = wilds_targeted.build_transform(
        "copypaste_samey", dataset, is_training=False, target_resolution=(32, 32)
    )
    subset = wilds_targeted.get_subset(dataset, "val", transform=evaluation)
    assert type(subset).__name__ == "WILDSSubset"
    assert subset[0][0].shape == (3, 32, 32)
    assert torch.equal(subset[0][0], subset[0][0])


def test_a_subset_hands_examples_over_and_is_otherwise_wilds_own(dataset: Any) -> None:
    class Look:
        wants_example = True

        def __call__(self, example: wilds_targeted.Example) -> Any:
            return example

    plain = dataset.get_subset("test")
    subset = wilds_targeted.get_subset(dataset, "test", transform=Look())
    example, y, metadata = subset[3]
    assert example.index == plain.indices[3]
    assert torch.equal(example.y, y)
    assert torch.equal(example.metadata, metadata)
    assert example.x.size == plain[3][0].size
    assert len(subset) == len(plain)
    assert torch.equal(subset.metadata_array, plain.metadata_array)
    assert subset.eval(plain.y_array, plain.y_array, plain.metadata_array)[0]["acc_avg"] == 1.0


def test_unknown_names_and_values(dataset: Any, tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match=r"no data set 'iwildcm' \(did you mean 'iwildcam'\?\)"):
        wilds_targeted.get_dataset("iwildcm", root_dir=tmp_path)
    with pytest.raises(DataError, match=r"`wilds-targeted miniature iwildcam --root_dir"):
        wilds_targeted.get_dataset("iwildcam", root_dir=tmp_path)
    with pytest.raises(UnknownNameError, match="no transform 'copypaste'"):
        wilds_targeted.build_transform("copypaste", dataset)
    with pytest.raises(ParameterError, match="allowed is a number from 0 to 32"):
        wilds_targeted.build_transform("copypaste_all", dataset, soft_edges=-1)
    with pytest.raises(DataError, match=r"no split 'training'. Its splits: train, val"):
        wilds_targeted.get_subset(dataset, "training")


def test_importing_the_package_imports_nothing_heavy() -> None:
    program = (
        "import sys, wilds_targeted; print(sorted({'torch', 'numpy', 'pluggy', 'wilds', 'PIL'} & set(sys.modules)))"
    )
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert finished.stdout == "[]\n"


def test_every_public_name_is_there() -> None:
    for name in wilds_targeted.__all__:
        assert getattr(wilds_targeted, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        wilds_targeted.nothing  # noqa: B018
