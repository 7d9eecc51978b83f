"""All figures of a data set, as files and as one page that needs nothing else."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wilds_targeted.errors import ParameterError
from wilds_targeted.experiments.data_figures.colours import average, draw_colours, measure, plan_cells
from wilds_targeted.experiments.data_figures.drawing import Drawn, count_of, render, write_bytes
from wilds_targeted.experiments.data_figures.labels import count_domains, draw_domains, draw_splits
from wilds_targeted.experiments.data_figures.samples import draw_samples, eligible, sample
from wilds_targeted.experiments.data_figures.sampling import Pictures, choose_domains
from wilds_targeted.experiments.data_figures.view import View, open_view
from wilds_targeted.experiments.data_figures.wanted import Wanted
from wilds_targeted.experiments.page import load_template, versions
from wilds_targeted.runner.progress import show_progress

MEDIA = {
    "jpg": "image/jpeg",
    "png": "image/png",
    "svg": "image/svg+xml",
    "csv": "text/csv",
    "md": "text/markdown",
    "tex": "text/x-tex",
}
PAGE = "index.html"

NOT_DRAWN = {
    "camelyon17": "The paper's figure of cancer stages by hospital is not drawn: WILDS's metadata have no stages."
}

_LONGEST_TABLE = 80
"""Tables with more lines are files only."""


@dataclass(frozen=True)
class Written:
    """What was written.

    Args:
        page: The page.
        figures: The figures, in the page's order.
        left_out: For each row whose picture could not be read, why.
    """

    page: Path
    figures: tuple[Drawn, ...]
    left_out: dict[int, str]


def draw_data_figures(dataset: Any, out: str | Path, wanted: Wanted | None = None, command: str = "") -> Written:
    """Draw a data set's figures into a folder.

    Args:
        dataset: The full `WILDSDataset`.
        out: The folder; files of earlier figures there are replaced.
        wanted: What to draw; everything by default.
        command: The line that does this, for the page.
    """
    wanted = wanted or Wanted()
    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise ParameterError(f"--out {out}: a folder is expected, and this is a file. Choose another.")
    view = open_view(dataset, wanted.split, wanted.groupby)
    domains = choose_domains(view, wanted.domains, wanted.seed, eligible(view))
    folder.mkdir(parents=True, exist_ok=True)  # what can't be written is told before the long part
    pictures = Pictures(view, skip=wanted.skip_bad)
    drawn = tuple(_draw(view, pictures, domains, wanted))
    pictures.report(folder)
    page = _write(folder, view, pictures, wanted, drawn, command)
    return Written(page, drawn, pictures.left_out)


def _draw(view: View, pictures: Pictures, domains: Sequence[int], wanted: Wanted) -> Iterator[Drawn]:
    if "samples" in wanted.figures:
        drawing = sample(view, pictures, domains, wanted.examples, wanted.seed)
        total = len(domains) * wanted.examples
        samples = list(show_progress(drawing, total, "samples", "picture", wanted.progress))
        yield draw_samples(view, pictures, samples, domains, wanted.examples)
    if "colours" in wanted.figures:
        planned = plan_cells(view, domains, wanted.seed)
        total = sum(min(wanted.pictures, len(order)) for _, _, order in planned)
        measured = measure(pictures, planned, wanted.pictures)
        cells = average(show_progress(measured, total, "colours", "picture", wanted.progress))
        yield draw_colours(view, cells, domains, wanted.pictures)
    if "labels" in wanted.figures:
        yield draw_splits(view)
        yield draw_domains(view)


def _write(folder: Path, view: View, pictures: Pictures, wanted: Wanted, drawn: Sequence[Drawn], command: str) -> Path:
    """Every figure in every format, its tables, and the page last."""
    shown = []
    for figure in drawn:
        on_page = "jpg" if figure.of_pictures else "svg"
        contents = {form: render(figure.figure, form) for form in dict.fromkeys([on_page, *wanted.formats])}
        for form in wanted.formats:
            write_bytes(folder / f"{figure.name}.{form}", contents[form])
        for name, table in figure.tables.items():
            write_bytes(folder / f"{name}.csv", table.csv)
        shown.append(
            {
                "drawn": figure,
                "address": data_address(contents[on_page], on_page),
                "on_page": on_page,
                "others": [form for form in wanted.formats if form != on_page],
                "tables": [
                    (name, table, data_address(table.csv, "csv"), len(table.lines) <= _LONGEST_TABLE)
                    for name, table in figure.tables.items()
                ],
            }
        )
    text = load_template(__package__, "page.html").render(
        view=view,
        wanted=wanted,
        figures=shown,
        domains=_domain_rows(view),
        note=NOT_DRAWN.get(view.dataset.dataset_name, ""),
        left_out=pictures.left_out,
        command=command,
        count_of=count_of,
        versions=versions(),
    )
    page = folder / PAGE
    write_bytes(page, text.encode("utf-8"))
    return page


def _domain_rows(view: View) -> list[tuple[str, str, int, int, str, float]]:
    """For each domain its name, region, examples, classes, most frequent class and that one's share."""
    rows = []
    for domain, counts in enumerate(count_domains(view)):
        top = int(counts.argmax())
        rows.append(
            (
                view.domain_names[domain],
                view.regions[domain] if view.regions else "",
                int(counts.sum()),
                int((counts > 0).sum()),
                view.class_names[top],
                float(counts[top] / counts.sum()),
            )
        )
    return rows


def data_address(content: bytes, form: str) -> str:
    """A file's content as an address that holds it."""
    return f"data:{MEDIA[form]};base64,{base64.b64encode(content).decode('ascii')}"
