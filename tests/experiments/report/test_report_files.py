"""The files of a report: tables against golden ones, a page that needs nothing else."""

from __future__ import annotations

import os
import re
import shutil
import warnings
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from markupsafe import escape
from reported_runs import write_log, write_two_methods

from wilds_targeted.errors import ConfigError, DataError, UnknownNameError
from wilds_targeted.experiments.figure import draw_scatter
from wilds_targeted.experiments.report.analysis import Findings, FitChoice, analyse
from wilds_targeted.experiments.report.curves import draw_curves
from wilds_targeted.experiments.report.gathering import Choices, gather
from wilds_targeted.experiments.report.write import Report, write_report
from wilds_targeted.experiments.runs import find_runs

GOLDEN = Path(__file__).parent / "golden"
GOLDEN_FILES = ("iwildcam-results.md", "iwildcam-results.tex", "results.csv", "comparisons.csv")
TITLES = {"image_base": "Unaugmented & <plain> 100 %_"}
LINE = FitChoice(given=(0.5, 0.05))


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    root = tmp_path_factory.mktemp("reported")
    runs = write_two_methods(root / "runs")
    return write_report([runs], root / "out", Choices(TITLES), fit=LINE, command="made <so>")


def findings_of(runs: Path, **options: Any) -> Findings:
    """What is found out about the runs, without writing it."""
    (section,) = gather(find_runs([runs]), Choices({}))
    return analyse(section, options.get("compare", ()), None, options.get("fit", FitChoice()))


@pytest.mark.parametrize("name", GOLDEN_FILES)
def test_the_tables_are_as_they_were_checked(report: Report, name: str) -> None:
    """To make them anew, and to check them by hand again: ``python tests/experiments/report/test_report_files.py``."""
    assert (report.page.parent / name).read_text() == (GOLDEN / name).read_text()


def test_effective_robustness_is_the_mean_over_runs(report: Report) -> None:
    (found,) = report.findings
    plain, pasted = found.robustness
    # 0.20 - 0.25, 0.30 - 0.30, 0.25 - 0.35; and 0.30 - 0.27, 0.42 - 0.31.
    assert (plain.mean, plain.error) == pytest.approx((-0.05, 0.05 / 3**0.5))
    assert (pasted.mean, pasted.error) == pytest.approx((0.07, 0.04))


class Elements(HTMLParser):
    """Checks that elements are nested, and collects what they refer to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attributes)))
        if tag not in ("meta", "link", "img", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attributes)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_one_well_formed_file_that_asks_for_nothing(report: Report) -> None:
    text = report.page.read_text()
    page = Elements(text)
    assert page.open == []
    for tag, attributes in page.found:
        for name in ("src", "href", "xlink:href", "srcset", "action"):
            assert (attributes.get(name) or "#").startswith(("#", "data:")), (tag, attributes)
        assert not any(name.startswith("on") for name in attributes)
    assert not re.search(r"url\((?!#)|@import|fetch\(|XMLHttpRequest|<script[^>]+src", text)
    saved = [attributes["download"] for tag, attributes in page.found if "download" in attributes]
    assert {"iwildcam-scatter.svg", "iwildcam-scatter.png", "iwildcam-curves.svg", "iwildcam-results.tex"} <= set(saved)
    assert text.count('class="sortable"') == 3
    assert "Unaugmented &amp; &lt;plain&gt; 100 %_" in text
    assert "made &lt;so&gt;" in text
    assert "<plain>" not in text
    for note in report.findings[0].section.notes:
        assert str(escape(note)) in text


def test_what_lies_beside_the_page(report: Report) -> None:
    names = {path.name for path in report.page.parent.iterdir()}
    figures = {f"iwildcam-{name}.{form}" for name in ("scatter", "curves") for form in ("svg", "png")}
    assert names == {*GOLDEN_FILES, *figures, "index.html", "runs.csv", "iwildcam-effective_robustness.csv"}


def test_the_same_runs_make_the_same_report(report: Report, tmp_path: Path) -> None:
    runs = report.page.parent.parent / "runs"
    again = write_report([runs], tmp_path, Choices(TITLES), fit=LINE, command="made <so>")
    for path in report.page.parent.iterdir():
        assert path.read_bytes() == (tmp_path / path.name).read_bytes(), path.name
    assert again.page.parent == tmp_path


def test_what_must_be_known_is_said(report: Report, tmp_path: Path) -> None:
    notes = "\n".join(report.findings[0].section.notes)
    assert "compared on the 2 seeds that both have" in notes
    assert "they need the data set (--root_dir)" in notes
    assert "No line for effective robustness" not in notes
    unlined = findings_of(report.page.parent.parent / "runs").section.notes
    assert any("No line for effective robustness: Miller et al. print no coefficients" in note for note in unlined)


def test_the_curves_show_runs_means_and_selected_epochs(report: Report) -> None:
    figure = draw_curves(report.findings[0].section)
    assert len(figure.axes) == 3
    for axes in figure.axes:
        markers = [line for line in axes.lines if line.get_marker() != "None"]
        assert [list(line.get_xdata()) for line in markers] == [[1]] * 5  # of five runs
        assert len(axes.lines) == 5 + 5 + 2
    test = figure.axes[2]
    means = [
        list(line.get_ydata()) for line in test.lines if line.get_linewidth() > 1.5 and line.get_marker() == "None"
    ]
    assert means == [pytest.approx([90, 25]), pytest.approx([90, 36])]


def test_a_line_through_the_runs_of_a_method(report: Report) -> None:
    found = findings_of(report.page.parent.parent / "runs", fit=FitChoice(methods=("Unaugmented",)))
    assert found.fit is not None
    # (0.40, 0.20), (0.50, 0.30), (0.60, 0.25)
    assert (found.fit.slope, found.fit.intercept) == pytest.approx((0.25, 0.125))
    assert found.robustness[0].mean == pytest.approx(0)


def test_forty_long_titles_leave_room_for_the_figures(tmp_path: Path) -> None:
    for number in range(40):
        scores = {"id_test": (0.9, 0.4 + number / 200), "test": (0.9, 0.3 + number / 200)}
        write_log(tmp_path / str(number), scores, seed=0, transform=f"transform_{number}_" + "with_a_long_name" * 5)
    found = findings_of(tmp_path)
    rows = [found.section.row(method) for method in found.section.methods]
    for figure in (draw_scatter(rows, "macro F1"), draw_curves(found.section)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # matplotlib warns when a legend leaves nothing of the panels
            figure.draw_without_rendering()
        assert all(axes.get_window_extent().height > 100 for axes in figure.axes)


def test_an_interruption_leaves_an_earlier_report_as_it_was(
    report: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = report.page.parent.parent / "runs"
    shutil.copytree(report.page.parent, tmp_path, dirs_exist_ok=True)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def interrupted(section: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("wilds_targeted.experiments.report.write.draw_curves", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_report([runs], tmp_path, Choices({}))
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_folder_whose_name_is_no_text(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    try:
        write_log(folder / "a", {"id_test": (0.1, 0.2), "test": (0.1, 0.2)})
    except OSError:
        pytest.skip("this file system takes no such name")
    page = write_report([folder], tmp_path / "out", Choices({})).page
    assert "caf?/a" in page.read_text()
    assert "caf?/a" in (tmp_path / "out" / "runs.csv").read_text()


def test_wrong_wishes_write_nothing(report: Report, tmp_path: Path) -> None:
    runs, out = report.page.parent.parent / "runs", tmp_path / "out"
    with pytest.raises(UnknownNameError, match=r"there is no method 'Unaugmentd' \(did you mean 'Unaugmented'\?\)"):
        write_report([runs], out, Choices({}), compare=[("Unaugmentd", "Copy-Paste (Same Y)")])
    points = tmp_path / "points.csv"
    points.write_text("id,ood\n0.5,0.5\n")
    with pytest.raises(DataError, match="needs points with different in-domain scores, got 1 without"):
        write_report([runs], out, Choices({}), fit=FitChoice(points=points))
    with pytest.raises(ConfigError, match=r"predicts -4\.8 where Unaugmented has 0\.4 in-domain: a line of shares"):
        findings_of(runs, fit=FitChoice(given=(0.5, -5)))
    other = write_log(tmp_path / "other", {"id_test": (0.1, 0.2), "test": (0.1, 0.2)}, split_scheme="other")
    with pytest.raises(ConfigError, match="belong to one data set and split scheme"):
        write_report([runs, other], out, Choices({}), fit=LINE)
    assert not out.exists()


def test_without_a_baseline_nothing_is_compared(tmp_path: Path) -> None:
    for name in ("copypaste_samey", "copypaste_all"):
        write_log(tmp_path / name, {"id_test": (0.1, 0.2), "test": (0.1, 0.2)}, transform=name)
    found = findings_of(tmp_path)
    assert found.comparisons == ()
    assert any("0 of them are unaugmented ones to compare with" in note for note in found.section.notes)
    (compared,) = findings_of(tmp_path, compare=[("copypaste_samey", "Copy-Paste (All Backgrounds)")]).comparisons
    assert compared.differences["test"].mean == 0


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        made = write_report([write_two_methods(Path(folder) / "runs")], Path(folder) / "out", Choices(TITLES), fit=LINE)
        GOLDEN.mkdir(exist_ok=True)
        for each in GOLDEN_FILES:
            shutil.copy(made.page.parent / each, GOLDEN / each)
