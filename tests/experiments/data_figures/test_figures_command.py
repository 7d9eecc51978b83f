"""`wilds-targeted figures` on the three miniatures, and what it says to wrong words."""

from __future__ import annotations

import base64
import csv
import io
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from PIL import Image

from wilds_targeted import get_dataset
from wilds_targeted.cli.figures import command
from wilds_targeted.errors import DataError, ParameterError, UnknownNameError
from wilds_targeted.example import training_rows
from wilds_targeted.experiments.data_figures.wanted import Wanted

FIGURES = ("samples", "colours", "labels_by_split", "labels_by_domain")
TABLES = (*FIGURES, "colour_means")


def figures(dataset: str, root_dir: Path, out: Path, *more: str) -> Result:
    words = [dataset, "--root_dir", str(root_dir), "--out", str(out), "--pictures", "3", "--examples", "2"]
    return CliRunner().invoke(command, [*words, *more])


class References(HTMLParser):
    """All that a page refers to, and the texts of its pictures."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.descriptions: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.addresses += [value or "" for name, value in attributes if name in ("src", "href")]
        self.descriptions += [value or "" for name, value in attributes if name == "alt"]


@pytest.mark.parametrize(
    ("dataset", "fixture", "field", "domains"),
    [
        ("iwildcam", "miniature", "location", 12),
        ("camelyon17", "camelyon_miniature", "hospital", 3),
        ("birdcalls", "birdcalls_miniature", "microphone", 6),
    ],
)
def test_every_figure_of_a_miniature(
    dataset: str, fixture: str, field: str, domains: int, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    finished = figures(dataset, request.getfixturevalue(fixture), out, "--domains", "3")
    assert finished.exit_code == 0, finished.output
    expected = {f"{name}.{form}" for name in FIGURES for form in ("png", "svg")}
    assert {path.name for path in out.iterdir()} == expected | {f"{name}.csv" for name in TABLES} | {"index.html"}
    for name in FIGURES:
        with Image.open(out / f"{name}.png") as picture:
            low, high = picture.convert("L").getextrema()
            assert low < 128 < high, f"{name} is not blank"
        assert (out / f"{name}.svg").read_text().rstrip().endswith("</svg>")

    text = (out / "index.html").read_text()
    page = References(text)
    assert all(f'<h2 id="{name}">' in text for name in FIGURES)
    assert len(page.descriptions) == len(FIGURES)
    assert all(page.descriptions)
    for address in page.addresses:
        assert re.match(r"data:|#", address) or (out / address).is_file(), "nothing from elsewhere"
    embedded = [address for address in page.addresses if address.startswith("data:text/csv;base64,")]
    assert [base64.b64decode(each.partition(",")[2]) for each in embedded] == [
        (out / f"{name}.csv").read_bytes()
        for name in ("samples", "colour_means", "colours", "labels_by_split", "labels_by_domain")
    ]
    rows = list(csv.DictReader(io.StringIO((out / "labels_by_domain.csv").read_text())))
    assert len({row[field] for row in rows}) == domains, "labels are shown of all domains"
    assert f"{domains} domains ({field})" in text
    row = max((row for row in rows if row[field] == rows[0][field]), key=lambda row: int(row["examples"]))
    assert f"<td>{row['class']} ({100 * float(row['share']):.0f} %)</td>" in text
    assert ("cancer stages" in text) == ("cancer stages" in finished.output) == (dataset == "camelyon17")


def test_it_repeats_with_its_seed(camelyon_miniature: Path, tmp_path: Path) -> None:
    options = ("--figures", "samples,colours", "--domains", "hospital 4")
    for number, seed in enumerate(("1", "1", "2")):
        assert (
            figures("camelyon17", camelyon_miniature, tmp_path / str(number), *options, "--seed", seed).exit_code == 0
        )
    one, same, other = (
        {path.name: path.read_bytes() for path in (tmp_path / str(number)).iterdir()} for number in range(3)
    )
    assert one.keys() == same.keys() == other.keys()
    for name in one.keys() - {"index.html"}:  # the page tells the command
        assert one[name] == same[name] != other[name], name


def test_only_what_was_asked_for(camelyon_miniature: Path, tmp_path: Path) -> None:
    finished = figures("camelyon17", camelyon_miniature, tmp_path, "--figures", "labels", "--format", "png")
    assert finished.exit_code == 0, finished.output
    names = {f"{name}.{form}" for name in ("labels_by_split", "labels_by_domain") for form in ("png", "csv")}
    assert {path.name for path in tmp_path.iterdir()} == names | {"index.html"}


def test_another_split_and_scheme(camelyon_miniature: Path, tmp_path: Path) -> None:
    def hospitals(*more: str) -> set[str]:
        out = tmp_path / str(len(more))
        finished = figures("camelyon17", camelyon_miniature, out, "--figures", "samples", *more)
        assert finished.exit_code == 0, finished.output
        assert all(word in (out / "index.html").read_text() for word in more[1::2])
        return {line.partition(",")[0] for line in (out / "samples.csv").read_text().splitlines()[1:]}

    assert hospitals("--split", "test") == {"hospital 2"}
    # This scheme trains on a slide of the test hospital, too.
    mixed = hospitals("--split_scheme", "mixed-to-test", "--split", "train")
    assert mixed == {"hospital 0", "hospital 2", "hospital 3", "hospital 4"}


def test_wrong_words(camelyon_miniature: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"

    def refusal(*more: str) -> BaseException | None:
        finished = figures("camelyon17", camelyon_miniature, out, *more)
        assert not out.exists(), "nothing is written"
        return finished.exception

    unknown = refusal("--domains", "hopital 3")
    assert isinstance(unknown, UnknownNameError)
    assert "did you mean 'hospital 3'" in str(unknown)
    split = refusal("--split", "tests")
    assert isinstance(split, DataError)
    assert "train, id_val, test, val" in str(split)
    for option, word, close in (("--figures", "color", "colours"), ("--format", "sgv", "svg")):
        error = refusal(option, word)
        assert isinstance(error, ParameterError)
        assert f"did you mean {close!r}" in str(error)
    for option, word in (("--domains", "0"), ("--domains", "41"), ("--domains", ","), ("--figures", ",")):
        assert isinstance(refusal(option, word), ParameterError), (option, word)
    with pytest.raises(ParameterError, match="--seed -1: at least 0 is expected"):
        Wanted(seed=-1)
    file = tmp_path / "file"
    file.touch()
    assert isinstance(refusal("--out", str(file)), ParameterError)


def test_what_can_not_be_read_is_said(camelyon_miniature: Path, tmp_path: Path) -> None:
    root, out = tmp_path / "data", tmp_path / "out"
    shutil.copytree(camelyon_miniature, root)
    dataset = get_dataset("camelyon17", root_dir=root)
    row = int(training_rows(dataset)[0])
    (Path(dataset.data_dir) / dataset._input_array[row]).write_bytes(b"no picture")
    options = ("--figures", "colours", "--pictures", "1000")
    stopped = figures("camelyon17", root, out, *options)
    assert isinstance(stopped.exception, DataError)
    assert f"row {row} of camelyon17 can't be read" in str(stopped.exception)
    assert "--on_bad_example skip" in str(stopped.exception)
    assert list(out.iterdir()) == []
    finished = figures("camelyon17", root, out, *options, "--on_bad_example", "skip")
    assert finished.exit_code == 0, finished.output
    assert f"<li>row {row} of camelyon17 can&#39;t be read" in (out / "index.html").read_text()
    assert finished.output.count("left out: row") == 1
