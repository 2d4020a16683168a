"""The tables of a study as values, and three ways to write a table: Markdown, LaTeX, HTML."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ..results import Cell, Results

__all__ = ["ReportTable", "TableEntry", "auroc_table", "study_tables", "to_html", "to_latex", "to_markdown"]


@dataclass(frozen=True, slots=True)
class TableEntry:
    """A value with its half width, bold when it is the best or tied with it."""

    value: float
    half_width: float | None = None
    bold: bool = False
    decimals: int = 3

    def text(self, plus_minus: str) -> str:
        """The digits shown."""
        shown = f"{self.value:.{self.decimals}f}"
        return (
            shown if self.half_width is None else f"{shown} {plus_minus} {self.half_width:.{self.decimals}f}"
        )


@dataclass(frozen=True, slots=True)
class ReportTable:
    """Rows under columns; an entry is a number, a piece of text, or None where there is nothing to tell."""

    title: str
    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[TableEntry | str | None, ...], ...]


def auroc_table(results: Results, budget: int) -> ReportTable:
    """AUROC at one fixed budget, a row a recording, the best and its ties in bold.

    As in the paper a tie is an estimator whose bar overlaps the bar of the best.
    """
    return _by_estimator(
        results,
        [budget],
        f"AUROC, N = {budget}",
        "Mean and 1.96 standard errors over the draws. Bold: the best, and those whose bars overlap its bar.",
        lambda cells: [TableEntry(cell.auroc, cell.half_width, bold) for cell, bold in _with_ties(cells)],
    )


def study_tables(results: Results) -> list[ReportTable]:
    """Every table of a study, in reading order."""
    last = results.budgets[-1]
    tables = [auroc_table(results, budget) for budget in results.budgets]
    tables += [
        _by_estimator(
            results,
            [last],
            f"AURAC, N = {last}",
            "Area under the accuracy-rejection curve; higher is better.",
            lambda cells: [
                TableEntry(cell.aurac, None, cell.aurac == max(c.aurac for c in cells)) for cell in cells
            ],
        ),
        _by_estimator(
            results,
            [last],
            f"Calibration error, N = {last}",
            "Expected calibration error of a logistic curve fitted on other questions; lower is better.",
            lambda cells: [
                TableEntry(cell.ece, None, cell.ece == min(c.ece for c in cells)) for cell in cells
            ],
        ),
    ]
    return [
        table
        for table in (*tables, *_savings(results), *_comparisons(results), *_trials(results))
        if table.rows
    ]


def _by_estimator(
    results: Results,
    budgets: Sequence[int],
    title: str,
    caption: str,
    entries: Callable[[list[Cell]], list[TableEntry]],
) -> ReportTable:
    names = results.estimators
    rows: list[tuple[TableEntry | str | None, ...]] = []
    for model, dataset in results.pairs:
        for budget in budgets:
            cells = [
                cell
                for cell in results.cells
                if (cell.model, cell.dataset, cell.budget) == (model, dataset, budget)
            ]
            told = dict(zip([cell.estimator for cell in cells], entries(cells), strict=True))
            rows.append((model, dataset, *(told.get(name) for name in names)))
    return ReportTable(title, caption, ("model", "dataset", *names), tuple(rows))


def _with_ties(cells: Sequence[Cell]) -> Iterable[tuple[Cell, bool]]:
    best = max(cells, key=lambda cell: cell.auroc)
    return [(cell, cell.auroc + cell.half_width >= best.auroc - best.half_width) for cell in cells]


def _savings(results: Results) -> list[ReportTable]:
    columns = tuple(dict.fromkeys((each.estimator, each.rule) for each in results.savings))
    rows: list[tuple[TableEntry | str | None, ...]] = []
    for model, dataset in results.pairs:
        told = {
            (each.estimator, each.rule): "not reached"
            if each.fraction is None
            else TableEntry(each.fraction, decimals=2)
            for each in results.savings
            if (each.model, each.dataset) == (model, dataset)
        }
        rows.append((model, dataset, *(told.get(column) for column in columns)))
    heads = ("model", "dataset", *(f"{estimator}, {rule}" for estimator, rule in columns))
    caption = (
        "Mean adaptive budget that reaches the AUROC of histogram at 10 samples, over 10, by stopping rule."
    )
    return [ReportTable("Share of samples needed", caption, heads, tuple(rows) if columns else ())]


def _comparisons(results: Results) -> list[ReportTable]:
    rows = tuple(
        (
            each.model,
            each.dataset,
            f"{each.estimator} − {each.against}",
            str(each.budget),
            TableEntry(each.difference),
            f"{each.low:+.3f} to {each.high:+.3f}",
        )
        for each in results.comparisons
        if each.budget in _shown(results.budgets)
    )
    columns = ("model", "dataset", "estimators", "N", "difference in AUROC", "95% interval")
    caption = (
        "Paired bootstrap over the questions, the same draws on both sides: without 0 it is a difference."
    )
    return [ReportTable("Comparisons", caption, columns, rows)]


def _trials(results: Results) -> list[ReportTable]:
    alphas = sorted({each.alpha for each in results.trials})
    rows = []
    for model, dataset in results.pairs:
        for budget in _shown(results.budgets):
            told = {
                each.alpha: TableEntry(each.auroc, each.half_width)
                for each in results.trials
                if (each.model, each.dataset, each.budget) == (model, dataset, budget)
            }
            if told:
                rows.append((model, dataset, str(budget), *(told.get(alpha) for alpha in alphas)))
    columns = ("model", "dataset", "N", *(f"alpha = {alpha:g}" for alpha in alphas))
    return [ReportTable("Sensitivity to alpha", "AUROC of bayes-paper.", columns, tuple(rows))]


def _shown(budgets: Sequence[int]) -> list[int]:
    """The budgets of the paper's main table and the largest, where told; long tables hold no more."""
    return [budget for budget in budgets if budget in (2, 5, budgets[-1])]


def to_markdown(table: ReportTable) -> str:
    """A table in Markdown, its title as a heading."""
    texts = [[_markdown(entry) for entry in row] for row in table.rows]
    widths = [max(map(len, column)) for column in zip(table.columns, *texts, strict=True)]
    lines = [
        "| " + " | ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)) + " |"
        for row in [list(table.columns), ["-" * width for width in widths], *texts]
    ]
    return f"### {table.title}\n\n{table.caption}\n\n" + "\n".join(lines) + "\n"


def _markdown(entry: TableEntry | str | None) -> str:
    if isinstance(entry, TableEntry):
        text = entry.text("±")
        return f"**{text}**" if entry.bold else text
    return "–" if entry is None else entry.replace("|", "\\|")


def to_latex(table: ReportTable) -> str:
    """A table for LaTeX, without packages."""
    heads = " & ".join(_latex(column) for column in table.columns)
    lines = [" & ".join(_latex(entry) for entry in row) + r" \\" for row in table.rows]
    alignment = "".join("l" if isinstance(entry, str) else "c" for entry in table.rows[0])
    return "\n".join(
        [
            r"\begin{table}",
            r"\small\setlength{\tabcolsep}{3pt}\centering",
            rf"\caption{{{_latex(table.title + '. ' + table.caption)}}}",
            rf"\begin{{tabular}}{{{alignment}}}",
            r"\hline",
            heads + r" \\",
            r"\hline",
            *lines,
            r"\hline",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


_LATEX = {
    "\\": r"\textbackslash{}",
    **{mark: "\\" + mark for mark in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "−": "$-$",
}


def _latex(entry: TableEntry | str | None) -> str:
    if isinstance(entry, TableEntry):
        text = entry.text(r"\pm")
        return rf"$\mathbf{{{text}}}$" if entry.bold else f"${text}$"
    return "--" if entry is None else "".join(_LATEX.get(mark, mark) for mark in entry)


def to_html(table: ReportTable) -> str:
    """A table as HTML, its title as a heading."""
    heads = "".join(f"<th>{html.escape(column)}</th>" for column in table.columns)
    rows = "\n".join(
        "<tr>" + "".join(f"<td>{_html(entry)}</td>" for entry in row) + "</tr>" for row in table.rows
    )
    return (
        f"<h3>{html.escape(table.title)}</h3>\n<p>{html.escape(table.caption)}</p>\n"
        f'<div class="wide"><table><thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}\n</tbody></table></div>\n'
    )


def _html(entry: TableEntry | str | None) -> str:
    if isinstance(entry, TableEntry):
        text = html.escape(entry.text("±"))
        return f"<strong>{text}</strong>" if entry.bold else text
    return "–" if entry is None else html.escape(entry)
