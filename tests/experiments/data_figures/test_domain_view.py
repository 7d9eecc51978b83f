"""Domains, classes and their names, and what is drawn from them at random."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from wilds_targeted import get_dataset
from wilds_targeted.errors import ConfigError, DataError, UnknownNameError
from wilds_targeted.experiments.data_figures.samples import eligible
from wilds_targeted.experiments.data_figures.sampling import choose_domains, shuffled
from wilds_targeted.experiments.data_figures.view import View, class_names, open_view, region_of_rows

Make = Callable[..., Any]


def many(count: int, regions: tuple[str, ...] = (), each: int = 1) -> View:
    domains = np.repeat(np.arange(count), each)
    names = tuple(f"camera {number}" for number in range(count))
    dataset = SimpleNamespace(dataset_name="many")
    return View(dataset, "train", "camera", np.arange(count * each), domains, names, regions, domains * 0, ("class 0",))


def test_a_split_by_domain_and_class(make: Make) -> None:
    view = open_view(make(), "train", ["hospital"])
    assert view.domain_names == ("hospital 0", "hospital 3")
    assert view.field == "hospital"
    assert view.rows.tolist() == [0, 1, 2, 3, 4, 5, 6]
    assert view.domains.tolist() == [0, 0, 0, 1, 1, 1, 1]
    assert view.labels.tolist() == [0, 0, 1, 0, 1, 1, 1]
    assert view.class_names == ("class 0", "class 1")
    assert view.regions == ()
    assert open_view(view.dataset, "val", ["hospital"]).domain_names == ("hospital 1",)


def test_several_fields_make_a_domain(make: Make) -> None:
    dataset = make(regions={0: "east", 1: "west", 3: "west"})
    view = open_view(dataset, "train", ["region", "hospital"])
    assert view.domain_names == ("east / hospital 0", "west / hospital 3")
    assert open_view(dataset, "train", ["hospital"]).regions == ("east", "west")
    rows, names = region_of_rows(dataset)
    assert (rows.tolist(), names) == ([0, 0, 0, 1, 1, 1, 1, 1, 1], ("east", "west"))


def test_a_domain_that_spans_regions_has_none(make: Make) -> None:
    dataset = make(regions={0: "east", 1: "west", 3: "west"})
    dataset.metadata_array[0, 1] = 1  # one of hospital 0's
    assert open_view(dataset, "train", ["hospital"]).regions == ()


def test_the_real_fields_and_names(miniature: Path, camelyon_miniature: Path, birdcalls_miniature: Path) -> None:
    cameras = open_view(get_dataset("iwildcam", root_dir=miniature))
    assert cameras.field == "location"
    assert cameras.class_names[0] == "empty"
    assert len(set(cameras.labels[eligible(cameras)]) & {0}) == 0, "the grid shows animals, as in the paper"
    hospitals = open_view(get_dataset("camelyon17", root_dir=camelyon_miniature))
    assert hospitals.domain_names == ("hospital 0", "hospital 3", "hospital 4")
    assert hospitals.class_names == ("y = 0 (no tumour)", "y = 1 (tumour)")
    dataset = get_dataset("birdcalls", root_dir=birdcalls_miniature)
    microphones = open_view(dataset)
    assert microphones.class_names == tuple(dataset.species)
    assert len(microphones.regions) == len(microphones.domain_names) == 6
    assert len(set(microphones.regions)) == 3


def test_names_of_classes_in_a_file(make: Make) -> None:
    dataset = make()
    file = dataset.data_dir / "categories.csv"
    file.write_text("category_id,y,name\n7,1,Panthera onca\n9,99999,unknown\n")
    assert class_names(dataset) == ("class 0", "Panthera onca")
    file.write_text("number,name\n1,a\n")
    with pytest.raises(DataError, match=r"categories\.csv: the columns y \(a number\) and name are expected"):
        class_names(dataset)


def test_what_does_not_fit_is_said(make: Make) -> None:
    dataset = make()
    with pytest.raises(ConfigError, match=r"does not say what its domains are.*--groupby: hospital"):
        open_view(dataset)
    with pytest.raises(ConfigError, match=r"no such field to group by.*did you mean 'hospital'"):
        open_view(dataset, "train", ["hopsital"])
    with pytest.raises(ConfigError, match=r"--groupby y: .* no such field to group by\. Its fields: hospital, from"):
        open_view(dataset, "train", ["y"])
    with pytest.raises(DataError, match=r"no split 'tset'\. Its splits: train, val, test"):
        open_view(dataset, "tset", ["hospital"])
    with pytest.raises(DataError, match="'test' of handmade is empty"):
        open_view(dataset, "test", ["hospital"])
    dataset._y_array = dataset._y_array[:, None].repeat(1, 3)
    with pytest.raises(DataError, match="do not have one class each"):
        open_view(dataset, "train", ["hospital"])


def test_domains_by_name(make: Make) -> None:
    view = open_view(make(), "train", ["hospital"])
    assert choose_domains(view, ("3", "hospital 0", "hospital 3"), 0) == [1, 0]
    with pytest.raises(UnknownNameError, match=r"no hospital 'hospitl 3'.*did you mean 'hospital 3'.*There are 2"):
        choose_domains(view, ("hospitl 3",), 0)


def test_a_draw_of_domains_repeats_and_takes_regions_in_turn() -> None:
    view = many(12, ("a",) * 8 + ("b",) * 2 + ("c",) * 2)
    chosen = choose_domains(view, 6, seed=1)
    assert chosen == choose_domains(view, 6, seed=1)
    assert [view.regions[domain] for domain in chosen] == ["a", "a", "b", "b", "c", "c"]
    assert {tuple(choose_domains(view, 6, seed)) for seed in range(5)} != {tuple(chosen)}
    assert choose_domains(view, 40, seed=1) == list(range(12))
    assert choose_domains(view, 3, seed=0, rows=np.array([2, 5])) == [2, 5], "those that have something to show"


def test_a_cell_has_its_own_stream() -> None:
    few, more = many(2, each=50), many(3, each=50)
    members = np.arange(100)
    order = shuffled(few, members, 0, 1)
    assert sorted(order.tolist()) == list(range(50, 100))
    assert order.tolist() == shuffled(more, members, 0, 1).tolist(), "whatever else is there"
    assert order.tolist() != shuffled(few, members, 1, 1).tolist()
    assert (order - 50).tolist() != shuffled(few, members, 0, 0).tolist()
    assert order.tolist() != shuffled(few, members, 0, 1, label=0).tolist()
