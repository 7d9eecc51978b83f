"""The table of results as Markdown, LaTeX and CSV, with the published numbers beside ours."""

from __future__ import annotations

import re
from dataclasses import dataclass

from wilds_targeted.experiments.recipes import Published
from wilds_targeted.experiments.report.comparison import Interval
from wilds_targeted.experiments.report.methods import Section
from wilds_targeted.experiments.results import NO_VALUE, Estimate, per_cent

_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    **{letter: f"\\{letter}" for letter in "&%$#_{}"},
}


@dataclass(frozen=True)
class Cell:
    """One of our numbers, in per cent for people.

    Args:
        estimate: Mean and standard error.
        is_best: Whether no other method's printed mean is better.
        printed: The paper's number; None where there is none.
    """

    estimate: Estimate
    is_best: bool
    printed: Published | None

    @property
    def published(self) -> str:
        """The paper's number, as it prints it."""
        return NO_VALUE if self.printed is None else f"{self.printed.mean:.1f} ({self.printed.error:.1f})"


@dataclass(frozen=True)
class ResultTable:
    """What all forms of the table show.

    Args:
        columns: For each reported split its heading.
        with_published: Whether any number of the paper stands in it.
        rows: For each method its title, its seeds and a cell for each split.
    """

    columns: tuple[str, ...]
    with_published: bool
    rows: tuple[tuple[str, tuple[int, ...], tuple[Cell, ...]], ...]


def result_table(section: Section) -> ResultTable:
    """The table of a section's methods; as in the paper the best of each column stands out."""
    by_split = []
    for split in section.splits:
        estimates = [method.estimate(split, section.metric) for method in section.methods]
        shown = [float(per_cent(estimate.mean)) for estimate in estimates]
        best = min(shown, default=0.0) if section.is_decreasing else max(shown, default=0.0)
        by_split.append(
            [
                Cell(estimate, value == best and len(shown) > 1, method.printed(split, section.metric))
                for estimate, value, method in zip(estimates, shown, section.methods, strict=True)
            ]
        )
    rows = tuple(
        (method.title, method.seeds, tuple(cells))
        for method, cells in zip(section.methods, zip(*by_split, strict=True), strict=True)
    )
    columns = tuple(f"{section.split_title(split)} {section.metric_title}" for split in section.splits)
    return ResultTable(columns, any(cell.printed for _, _, cells in rows for cell in cells), rows)


def as_markdown(table: ResultTable) -> str:
    """For a README or an issue."""
    lines = [_header(table), ["---", "---:", *["---:"] * (len(_header(table)) - 2)]]
    for title, seeds, cells in table.rows:
        line = [markdown(title), str(len(seeds))]
        for cell in cells:
            line.append(f"**{cell.estimate}**" if cell.is_best else str(cell.estimate))
            line += [cell.published] if table.with_published else []
        lines.append(line)
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def as_latex(table: ResultTable) -> str:
    """For a paper; it needs the package booktabs."""
    header = [latex(word) for word in _header(table) if word != "seeds"]
    lines = [rf"\begin{{tabular}}{{l{'l' * (len(header) - 1)}}}", r"\toprule", " & ".join(header) + r" \\", r"\midrule"]
    for title, _, cells in table.rows:
        words = [latex(title)]
        for cell in cells:
            ours = latex(str(cell.estimate).replace(NO_VALUE, "--"))
            words.append(rf"\textbf{{{ours}}}" if cell.is_best else ours)
            words += [latex(cell.published.replace(NO_VALUE, "--"))] if table.with_published else []
        lines.append(" & ".join(words) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def latex(text: str) -> str:
    r"""Text that LaTeX prints as it stands.

    >>> latex("50 % & a_b")
    '50 \\% \\& a\\_b'
    """
    return re.sub(r"[\\~^&%$#_{}<>|]", lambda found: _LATEX[found.group()], text)


def markdown(text: str) -> str:
    r"""Text that Markdown shows as it stands, also in a table.

    >>> print(markdown("*a_b* | <i>"))
    \*a\_b\* \| &lt;i>
    """
    return re.sub(r"[\\`*_\[\]|]", r"\\\g<0>", text.replace("&", "&amp;").replace("<", "&lt;"))


def as_text(table: ResultTable) -> str:
    """For the terminal."""
    lines = [_header(table)]
    for title, seeds, cells in table.rows:
        line = [title, str(len(seeds))]
        for cell in cells:
            line += [str(cell.estimate), *([cell.published] if table.with_published else [])]
        lines.append(line)
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    return "\n".join(
        "  ".join(
            [line[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True))]
        )
        for line in lines
    )


def _header(table: ResultTable) -> list[str]:
    words = ["method", "seeds"]
    for column in table.columns:
        words += [column, *(["published"] if table.with_published else [])]
    return words


def points(difference: float) -> str:
    """A difference of shares in points, with its sign where it is not nothing.

    >>> points(0.1234), points(-0.0001)
    ('+12.3', '0.0')
    """
    text = f"{100 * difference:+.1f}"
    return text[1:] if float(text) == 0 else text


def interval(bounds: Interval | None) -> str:
    """An interval in points.

    >>> interval(Interval(-0.012, 0.034)), interval(None)
    ('-1.2 to +3.4', '—')
    """
    return NO_VALUE if bounds is None else f"{points(bounds.low)} to {points(bounds.high)}"
