"""The page: one well-formed file that needs nothing else, and says what was measured."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from wilds_targeted.api import get_dataset
from wilds_targeted.experiments.demo import Outcome
from wilds_targeted.experiments.figure import scatter
from wilds_targeted.experiments.page import commands, render_page
from wilds_targeted.experiments.plan import Method, load_plan
from wilds_targeted.experiments.results import Row, Score
from wilds_targeted.experiments.samples import Sample, Samples, draw_samples
from wilds_targeted.registry import get_registry

EMPTY_ELEMENTS = {"meta", "link", "img", "br", "hr", "input"}
IMAGES = {
    split: (number, 10 * number) for number, split in enumerate(["train", "id_val", "id_test", "val", "test"], 11)
}
PIXEL = "data:image/png;base64,AAAA"


class Reader(HTMLParser):
    """Checks that elements are nested, and collects texts and what they refer to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.references: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attributes
        self.references += [
            value or "" for name, value in attributes if name in ("src", "href", "xlink:href", "srcset")
        ]
        if tag not in EMPTY_ELEMENTS:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attributes)
        if tag not in EMPTY_ELEMENTS:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def outcome(*, seeds: tuple[int, ...] = (0, 1, 2), earlier: int = 0, title: str | None = None) -> Outcome:
    plan = load_plan(seeds=seeds, world=4)
    if title is not None:
        plan = replace(plan, methods=(Method(title, "image_base"), *plan.methods[1:]))
    registered = get_registry().transforms
    rows = []
    for number, method in enumerate(plan.methods):
        scores = [
            Score(seed, 3, 0.123 + seed / 100, 0.5 + number / 50 + seed / 40, 0.3 + number / 70 + seed / 60)
            for seed in seeds
        ]
        kind = registered[method.transform].kind.value if method.transform in registered else "—"
        rows.append(Row(method.title, method.transform, kind, tuple(scores)))
    return Outcome(plan, tuple(rows), Path("index.html"), 312.0, 2, earlier)


def samples(caption: str = "class 3") -> Samples:
    draws = tuple((PIXEL, PIXEL) for _ in range(3))
    return Samples(("RandAugment", "All", "Same"), (Sample(caption, PIXEL, draws), Sample(caption, PIXEL, draws)))


def page(**options: object) -> tuple[Outcome, str]:
    made = outcome(**options)  # type: ignore[arg-type]
    return made, render_page(made, samples(), IMAGES)


def test_it_is_one_well_formed_file_that_asks_for_nothing() -> None:
    _, text = page()
    reader = Reader(text)
    assert reader.open == []
    assert {"script", "iframe", "object", "embed"}.isdisjoint(reader.tags)
    assert reader.references
    assert all(reference.startswith(("data:", "#")) for reference in reader.references)
    assert not re.search(r"@import|url\((?!#)", text)
    assert all(name != "style" or "url" not in (value or "") for name, value in reader.attributes)
    assert reader.tags.count("img") == 2 * 7
    assert reader.tags.count("svg") == 1


def test_it_has_every_number_and_every_command() -> None:
    made, text = page()
    told = Reader(text).text
    for row in made.rows:
        assert row.title in told
        assert str(row.in_domain) in told
        assert str(row.out_of_domain) in told
        spec = get_registry().transforms.get(row.transform)
        if spec is not None:
            assert spec.randomizes in told
            assert spec.preserves in told
        for score in row.scores:
            assert f"{100 * score.out_of_domain:.1f}" in told
    assert len(commands(made.plan)) == 13
    for line in commands(made.plan):
        assert line in told
        assert shlex.split(line)[0] == "wilds-targeted"
    assert "wilds-targeted demo --world 4 --seeds 0,1,2" in told
    for cameras, images in IMAGES.values():
        assert str(cameras) in told
        assert str(images) in told
    assert "It took 5 min 12 s" in told
    assert "An earlier call" not in told
    for package in ("wilds-targeted", "torch", "wilds", "Python"):
        assert re.search(rf"{package} \d+\.\d+", told)


def test_pictures_and_plot_have_texts_for_those_who_do_not_see_them() -> None:
    made, text = page()
    reader = Reader(text)
    assert len([value for name, value in reader.attributes if name == "alt" and value]) == 14
    label = next(value for name, value in reader.attributes if name == "aria-label")
    assert label is not None
    assert all(f"{row.title}: ID {row.in_domain}, OOD {row.out_of_domain}" in label for row in made.rows)


def test_one_seed_has_no_errors() -> None:
    made, text = page(seeds=(0,))
    told = " ".join(Reader(text).text.split())
    assert str(made.rows[0].in_domain) == "50.0 (—)"
    assert "50.0 (—)" in told
    assert "one seed has none" in told
    assert "1 seed each (0)" in told


def test_what_an_earlier_call_did_is_told() -> None:
    _, text = page(earlier=5)
    assert "An earlier call had finished 5 of the 12 runs." in text


def test_hostile_text_stays_text() -> None:
    hostile = "<script>alert('x')</script> \" onload=\"x() & $E=mc^{2"
    made = outcome(title=hostile)
    text = render_page(made, samples(caption=hostile), IMAGES)
    reader = Reader(text)
    assert "script" not in reader.tags
    assert "onload" not in {name for name, _ in reader.attributes}
    assert hostile in reader.text
    assert "script" not in scatter(made.rows, "macro F1"), "the plot's letters are outlines"


def test_the_plot_is_an_element_that_repeats() -> None:
    rows = outcome().rows
    svg = scatter(rows, "macro F1")
    assert svg == scatter(rows, "macro F1")
    root = ElementTree.fromstring(svg)
    assert root.tag.endswith("svg")
    assert "viewBox" in root.attrib
    assert {"width", "height"}.isdisjoint(root.attrib)
    assert "<metadata" not in svg
    one = scatter(outcome(seeds=(0,)).rows, "macro F1")
    assert len(one) < len(svg), "no error bars and no single runs beside the mean"


def test_samples_show_what_the_registered_methods_do(miniature: Path) -> None:
    methods = load_plan().methods
    dataset = get_dataset("iwildcam", root_dir=miniature)
    drawn = draw_samples(dataset, methods, rows=2, draws=2)
    assert drawn.titles == tuple(method.title for method in methods[1:])
    assert drawn == draw_samples(dataset, methods, rows=2, draws=2)
    for example in drawn.examples:
        addresses = [example.original, *(draw for draws in example.draws for draw in draws)]
        assert len(addresses) == 7
        assert all(address.startswith("data:image/jpeg;base64,") for address in addresses)
        assert all(draw != example.original for draws in example.draws for draw in draws)


@pytest.mark.parametrize("low", [0.0, 0.98])
def test_the_plot_takes_scores_at_the_ends(low: float) -> None:
    row = Row("a", "image_base", "—", (Score(0, 0, low, low, low), Score(1, 0, low, low + 0.02, low)))
    assert scatter([row], "macro F1").startswith("<svg")
