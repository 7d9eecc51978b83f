"""LISA by hand, and its partners: always of the same class, never of the same domain."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from wilds_targeted import Example, build_transform, get_dataset
from wilds_targeted.augmentations.lisa import Drawn, LisaCutMix, LisaMixUp
from wilds_targeted.augmentations.partners import Partners
from wilds_targeted.errors import ConfigError, ParameterError
from wilds_targeted.example import load_example


def picture(value: int, size: tuple[int, int] = (4, 2), mode: str = "RGB") -> Image.Image:
    return Image.new("RGB", size, (value, value, value)).convert(mode)


def example(x: Any, y: int = 1, domain: int = 7) -> Example:
    return Example(x, torch.tensor(y), torch.tensor([0, domain]), 0)


# Rows 10 to 14: class 1 in the domains 7, 7, 8, 9; class 2 in the domain 7.
PARTNERS = Partners([10, 11, 12, 13, 14], [1, 1, 1, 1, 2], [7, 7, 8, 9, 7])


def test_mixup_by_hand() -> None:
    lisa = LisaMixUp(PARTNERS, 1, lambda row: picture(row), alpha=2.0)
    original = picture(100)
    # 0.75 * 100 + 0.25 * 12
    assert lisa.apply(example(original), Drawn(12, 0.75)).getpixel((0, 0)) == (78, 78, 78)
    assert original.getpixel((0, 0)) == (100, 100, 100)


def test_cutmix_by_hand() -> None:
    lisa = LisaCutMix(PARTNERS, 1, lambda row: picture(row), alpha=2.0)
    mixed = np.asarray(lisa.apply(example(picture(100)), Drawn(12, 0.5, (1, 0, 3, 1))))[..., 0]
    assert mixed.tolist() == [[100, 12, 12, 100], [100, 100, 100, 100]]


@pytest.mark.parametrize("kind", [LisaMixUp, LisaCutMix])
def test_the_partner_takes_size_and_mode_of_the_example(kind: type[LisaMixUp] | type[LisaCutMix]) -> None:
    lisa = kind(PARTNERS, 1, lambda row: picture(50, (9, 5)), alpha=2.0)
    mixed = lisa.apply(example(picture(100, mode="L")), Drawn(12, 0.5, (0, 0, 4, 2)))
    assert (mixed.mode, mixed.size) == ("L", (4, 2))
    assert mixed.getpixel((1, 1)) == (75 if kind is LisaMixUp else 50)


def test_an_example_without_a_partner_stays_as_it_is() -> None:
    lisa = LisaMixUp(PARTNERS, 1, lambda row: picture(row), alpha=2.0)
    alone = example(picture(100), y=2, domain=7)
    assert lisa.draw(alone, np.random.default_rng(0)) is None
    assert lisa.apply(alone, None) is alone.x


def test_partners_by_hand() -> None:
    rng = np.random.default_rng(0)
    counts = {
        domain: np.unique([PARTNERS.draw(1, domain, rng) for _ in range(900)], return_counts=True)
        for domain in (7, 8, 9, 5)
    }
    assert {domain: rows.tolist() for domain, (rows, _) in counts.items()} == {
        7: [12, 13],
        8: [10, 11, 13],
        9: [10, 11, 12],
        5: [10, 11, 12, 13],
    }
    for rows, number in counts.values():
        assert number / 900 == pytest.approx(np.full(len(rows), 1 / len(rows)), abs=0.06), "each equally likely"
    assert PARTNERS.draw(2, 7, rng) is None
    assert PARTNERS.draw(2, 8, rng) == 14
    assert PARTNERS.draw(3, 7, rng) is None


@settings(deadline=None, max_examples=100)
@given(
    table=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=30),
    seed=st.integers(0, 2**32 - 1),
)
def test_partners_share_the_class_and_never_the_domain(table: list[tuple[int, int]], seed: int) -> None:
    classes, domains = zip(*table, strict=True)
    rng = np.random.default_rng(seed)
    partners = Partners(range(len(table)), classes, domains)
    for label, domain in table:
        possible = [row for row, (y, d) in enumerate(table) if y == label and d != domain]
        drawn = partners.draw(label, domain, rng)
        assert drawn in possible if possible else drawn is None


class CountedRows:
    """Rows that can only be looked at one by one, and count how often they are."""

    def __init__(self, rows: Any) -> None:
        self.rows = rows
        self.looks = 0

    def __getitem__(self, position: int) -> Any:
        assert isinstance(position, int), "a scan"
        self.looks += 1
        return self.rows[position]


@pytest.mark.parametrize("count", [300, 300_000])
def test_a_draw_looks_at_one_row_however_many_there_are(count: int) -> None:
    numbers = np.arange(count)
    partners = Partners(numbers, numbers % 3, numbers // 3 % 5)
    # All else that it knows are tables of classes and of domains within a class, whatever the number of rows.
    sizes = {name: len(value) for name, value in vars(partners).items()}
    assert sizes.pop("_rows") == count
    assert sorted(sizes.values()) == [3, 15]
    counted = CountedRows(partners._rows)
    partners._rows = counted  # type: ignore[assignment]
    assert partners.draw(1, 2, np.random.default_rng(0)) is not None
    assert counted.looks == 1


@pytest.mark.parametrize("name", ["lisa_mixup", "lisa_cutmix"])
@pytest.mark.parametrize(
    ("fixture", "dataset_name", "field"),
    [("miniature", "iwildcam", "location"), ("camelyon_miniature", "camelyon17", "hospital")],
)
def test_on_the_miniatures(
    name: str, fixture: str, dataset_name: str, field: str, request: pytest.FixtureRequest
) -> None:
    root: Path = request.getfixturevalue(fixture)
    dataset = get_dataset(dataset_name, root_dir=root)
    lisa = build_transform(name, dataset).augmentations[0]  # type: ignore[union-attr]
    column = dataset.metadata_fields.index(field)
    rng = np.random.default_rng(0)
    training = np.flatnonzero(np.asarray(dataset.split_array) == dataset.split_dict["train"])
    partnered = 0
    for row in training[:60]:
        original = load_example(dataset, int(row))
        drawn = lisa.draw(original, rng)
        if drawn is None:
            continue
        partnered += 1
        assert dataset.y_array[drawn.partner] == original.y
        assert dataset.metadata_array[drawn.partner, column] != original.metadata[column]
        assert dataset.split_array[drawn.partner] == dataset.split_dict["train"]
    assert partnered > 30


def test_the_domain_can_be_chosen_and_must_exist(camelyon_miniature: Path) -> None:
    dataset = get_dataset("camelyon17", root_dir=camelyon_miniature)
    by_slide = build_transform("lisa_mixup", dataset, domain="slide").augmentations[0]  # type: ignore[union-attr]
    assert by_slide.domain_column == dataset.metadata_fields.index("slide")
    with pytest.raises(ConfigError, match=r"no class of camelyon17 is in two domains .* if the domain is 'y'"):
        build_transform("lisa_mixup", dataset, domain="y")
    with pytest.raises(ParameterError, match=r"domain=hospitl: camelyon17 has no such field.*'hospital'.* Its fields:"):
        build_transform("lisa_mixup", dataset, domain="hospitl")
