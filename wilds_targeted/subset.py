"""The subset that hands an `Example` to transforms that ask for one."""

from __future__ import annotations

from typing import Any

from wilds.datasets.wilds_dataset import WILDSSubset

from wilds_targeted.example import load_example


class ExampleSubset(WILDSSubset):  # type: ignore[misc]
    """A `WILDSSubset` whose transform sees label, metadata and row beside the input."""

    def __getitem__(self, idx: int) -> tuple[Any, Any, Any]:
        example = load_example(self.dataset, int(self.indices[idx]))
        return self.transform(example), example.y, example.metadata


def hand_over_examples(subset: WILDSSubset) -> WILDSSubset:
    """The same subset, as an `ExampleSubset` if its transform asks for examples."""
    if not getattr(subset.transform, "wants_example", False):
        return subset
    return ExampleSubset(subset.dataset, subset.indices, subset.transform)
