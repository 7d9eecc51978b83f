"""Histograms and counts, computed by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from wilds_targeted import get_dataset
from wilds_targeted.audio.axes import relative_box
from wilds_targeted.errors import DataError
from wilds_targeted.experiments.data_figures.colours import average, draw_colours, measure, plan_cells
from wilds_targeted.experiments.data_figures.drawing import render
from wilds_targeted.experiments.data_figures.labels import (
    SplitCounts,
    _draw_bars,
    count_domains,
    count_splits,
    draw_domains,
    draw_splits,
    gather,
    order_domains,
)
from wilds_targeted.experiments.data_figures.samples import draw_samples, rows_by_class, sample
from wilds_targeted.experiments.data_figures.sampling import Pictures
from wilds_targeted.experiments.data_figures.view import open_view

Make = Callable[..., Any]


def test_histograms_by_hand(make: Make) -> None:
    view = open_view(make(), "train", ["hospital"])
    cells = average(measure(Pictures(view), plan_cells(view, [0, 1], seed=0), at_most=200))
    assert [(cell.domain, cell.label, cell.pictures) for cell in cells] == [(0, 0, 2), (0, 1, 1), (1, 0, 1), (1, 1, 3)]
    first = cells[0]
    assert first.means.tolist() == [2.0, 10.0, 255.0]
    bins = np.zeros((3, 64))
    bins[0, [0, 1]] = 0.5  # level 0 of one picture, level 4 of the other
    bins[1, 2] = bins[2, 63] = 1
    assert first.bins.tolist() == bins.tolist()
    assert cells[3].means.tolist() == pytest.approx([200, 0, 1])
    assert cells[3].shares[2, :3].tolist() == pytest.approx([1 / 3, 1 / 3, 1 / 3])

    drawn = draw_colours(view, cells, [0, 1], 200)
    assert drawn.tables["colour_means"].lines[0] == ("hospital 0", "class 0", 2, "2.00", "10.00", "255.00")
    red, green, blue = drawn.figure.axes[:3]
    for axes, mean in ((red, 2.0), (green, 10.0), (blue, 255.0)):
        assert axes.lines[0].get_xdata() == [mean + 0.5, mean + 0.5], "the mean's line, in the middle of its level"
    lines = drawn.tables["colours"].lines
    assert len(lines) == 4 * 3 * 64
    assert lines[:3] == [
        ("hospital 0", "class 0", "red", 0, 3, "0.5"),
        ("hospital 0", "class 0", "red", 4, 7, "0.5"),
        ("hospital 0", "class 0", "red", 8, 11, "0"),
    ]


def test_a_large_picture_counts_as_a_small_one(make: Make) -> None:
    view = open_view(make(), "train", ["hospital"])
    Image.new("RGB", (60, 40), (4, 10, 255)).save(view.dataset.data_dir / "1.png")
    cells = average(measure(Pictures(view), plan_cells(view, [0], seed=0), at_most=200))
    assert cells[0].means.tolist() == [2.0, 10.0, 255.0]


def test_no_more_pictures_than_asked_for(make: Make) -> None:
    view = open_view(make(), "train", ["hospital"])
    cells = average(measure(Pictures(view), plan_cells(view, [1], seed=0), at_most=2))
    assert [cell.pictures for cell in cells] == [1, 2]


def test_rare_classes_share_a_curve(make: Make) -> None:
    counts = [5, 1, 4, 3, 3, 1, 2]
    rows = [("train", 0, label, (10 * label, 0, 0)) for label, count in enumerate(counts) for _ in range(count)]
    view = open_view(make([*rows, ("val", 0, 0, (0, 0, 0))]), "train", ["hospital"])
    planned = plan_cells(view, [0], seed=0)
    assert [(label, len(order)) for _, label, order in planned] == [(0, 5), (2, 4), (3, 3), (4, 3), (None, 4)]
    cells = average(measure(Pictures(view), planned, at_most=200))
    assert cells[-1].means[0] == pytest.approx((10 + 50 + 60 + 60) / 4)
    assert draw_colours(view, cells, [0], 200).tables["colour_means"].lines[-1][1] == "other classes"


def test_labels_by_hand(make: Make) -> None:
    view = open_view(make(regions={0: "east", 1: "west", 3: "west"}), "train", ["hospital"])
    assert count_domains(view).tolist() == [[2, 1], [1, 3]]
    found = count_splits(view.dataset, 2)
    assert found.splits == ("train", "val")
    assert found.regions == ("east", "west")
    assert found.counts.tolist() == [[[2, 1], [1, 3]], [[0, 0], [1, 1]]]
    assert draw_splits(view).tables["labels_by_split"].lines == [
        ("train", "east", 0, "class 0", 2),
        ("train", "east", 1, "class 1", 1),
        ("train", "west", 0, "class 0", 1),
        ("train", "west", 1, "class 1", 3),
        ("val", "west", 0, "class 0", 1),
        ("val", "west", 1, "class 1", 1),
    ]
    assert draw_domains(view).tables["labels_by_domain"].lines[-1] == ("hospital 3", 1, "class 1", 3, "0.75")


def test_regions_have_colours_where_there_are_enough() -> None:
    def figure(count: int) -> tuple[bool, int, int]:
        counts = np.ones((1, count, 2), dtype=np.int64)
        found = SplitCounts(("train",), tuple(f"region {number}" for number in range(count)), counts)
        drawn = _draw_bars(found, counts, ["a", "b"])
        return found.are_coloured, len(drawn.legends), len(drawn.axes[0].patches)

    assert figure(1) == (False, 0, 2)
    assert figure(7) == (True, 1, 14)
    assert figure(8) == (False, 0, 2)


def test_others_are_gathered() -> None:
    counts = np.array([[5, 1, 2, 0], [0, 1, 0, 0]])
    assert gather(counts, [0, 2]).tolist() == [[5, 2, 1], [0, 0, 1]]
    assert gather(counts, [0, 2, 1]).tolist() == [[5, 2, 1], [0, 0, 1]]


def test_many_domains_and_classes_stay_readable(make: Make) -> None:
    rows = [("train", camera, (camera + repeat) % 50, (0, 0, 0)) for camera in range(60) for repeat in (0, 0, 1)]
    view = open_view(make([*rows, ("val", 0, 0, (0, 0, 0))]), "train", ["hospital"])
    drawn = draw_domains(view)
    assert "The 31 most frequent classes" in drawn.caption
    assert "the 19 other classes share one" in drawn.caption
    assert "all 60 domains are shown" in drawn.caption
    assert "Columns are ordered by the class that is furthest above its share" in drawn.caption
    assert drawn.figure.axes[0].images[0].get_array().shape == (32, 60)
    assert sum(line[3] for line in drawn.tables["labels_by_domain"].lines) == 180, "the table keeps every class"


def test_few_domains_stand_by_region(make: Make) -> None:
    view = open_view(make(regions={0: "west", 1: "west", 3: "east"}), "train", ["hospital"])
    assert order_domains(view, count_domains(view)) == [1, 0]


def test_many_domains_are_ordered_by_what_sets_them_apart(make: Make) -> None:
    view = open_view(make(), "train", ["hospital"])
    counts = np.array([[6, 4 * (camera % 2), 4 * (1 - camera % 2)] for camera in range(60)])
    counts[7] = [2, 8, 0]  # odd, and further above than the others
    order = order_domains(view, counts)
    assert order[0] == 7
    assert order == [7, *range(1, 7, 2), *range(9, 60, 2), *range(0, 60, 2)]


def test_two_classes_share_the_rows(make: Make) -> None:
    view = open_view(make(), "train", ["hospital"])
    assert rows_by_class(view, 5) == [0, 0, 1, 1, 1], "as in the paper's figure"
    assert rows_by_class(view, 1) == [None], "no class is left out"
    pictures = Pictures(view)
    samples = list(sample(view, pictures, [0, 1], 5, seed=0))
    table = draw_samples(view, pictures, samples, [0, 1], 5).tables["samples"]
    assert [(line[0], line[1], line[4]) for line in table.lines] == [
        *[("hospital 0", 1, 0), ("hospital 0", 2, 0), ("hospital 0", 3, 1)],
        *[("hospital 3", 1, 0), ("hospital 3", 3, 1), ("hospital 3", 4, 1), ("hospital 3", 5, 1)],
    ]
    assert {line[3] for line in table.lines} == {f"{row}.png" for row in range(7)}
    assert all(line[3] == f"{line[2]}.png" for line in table.lines)


def test_spectrograms_have_their_calls_and_frequencies(birdcalls_miniature: Path) -> None:
    view = open_view(get_dataset("birdcalls", root_dir=birdcalls_miniature))
    pictures = Pictures(view)
    samples = list(sample(view, pictures, [0], 4, seed=0))
    figure = draw_samples(view, pictures, samples, [0], 4).figure
    boxes = [view.dataset.get_box(int(view.rows[each.position])) for each in samples]
    assert any(boxes)
    for axes, box in zip(figure.axes, boxes, strict=True):
        assert len(axes.patches) == (box is not None)
        if box is not None:
            left, top, across, down = axes.patches[0].get_bbox().bounds
            assert [(left + 0.5) / 320, (top + 0.5) / 320, across / 320, down / 320] == pytest.approx(box)
        # A call from 1 to 4 kHz lies between the marks of 1 and 4 kHz.
        marks = dict(zip([text.get_text() for text in axes.get_yticklabels()], axes.get_yticks(), strict=True))
        _, top, _, down = relative_box(0, 1, 1000, 4000)
        assert [marks["4"], marks["1"]] == pytest.approx([320 * top - 0.5, 320 * (top + down) - 0.5])


def test_the_same_figure_has_the_same_bytes(make: Make) -> None:
    view = open_view(make(), "train", ["hospital"])

    def content(form: str) -> bytes:
        pictures = Pictures(view)
        return render(draw_samples(view, pictures, list(sample(view, pictures, [0], 2, 0)), [0], 2).figure, form)

    for form in ("png", "svg", "jpg"):
        assert content(form) == content(form)


def test_a_broken_picture_stops_or_is_left_out(make: Make) -> None:
    view = open_view(make(), "train", ["hospital"])
    (view.dataset.data_dir / "5.png").write_bytes(b"no picture")
    (view.dataset.data_dir / "6.png").unlink()
    planned = plan_cells(view, [1], seed=0)
    with pytest.raises(DataError, match=r"row [56] of handmade can't be read \(.*/[56]\.png: .*--on_bad_example skip"):
        average(measure(Pictures(view), planned, at_most=200))
    pictures = Pictures(view, skip=True)
    cells = average(measure(pictures, planned, at_most=200))
    assert [cell.pictures for cell in cells] == [1, 1]
    assert set(pictures.left_out) == {5, 6}
    assert not any("on_bad_example" in reason for reason in pictures.left_out.values())


def test_inputs_that_are_no_pictures(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    view = open_view(make(), "train", ["hospital"])
    monkeypatch.setattr(view.dataset, "get_input", lambda row: "a comment")
    with pytest.raises(DataError, match=r"handmade has inputs of another kind \(str\). `--figures labels` needs none"):
        Pictures(view).read(0)
    assert draw_domains(view).tables, "labels need no pictures"
