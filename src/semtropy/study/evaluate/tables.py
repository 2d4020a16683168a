"""The tables of an evaluation, as values and as text: Markdown, LaTeX, HTML."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .results import Cell, Results


@dataclass(frozen=True, slots=True)
class TableEntry:
    """A number with its half-width; bold for what no other beats beyond chance."""

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
    """A titled table; an entry is a number, a text, or None where there is no value."""

    title: str
    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[TableEntry | str | None, ...], ...]


def printable(text: str) -> str:
    """A name as a table, a page or a figure can show it: on one line, and without what has no glyph.

    >>> printable("one\\ntwo\\x07\\ud800")
    'one two\ufffd\ufffd'
    """
    return "".join(mark if mark.isprintable() else "\ufffd" for mark in " ".join(text.split()))


def bars_caption(results: Results, *, short: bool = False) -> str:
    """What the bars of a study mean, and what is bold."""
    bootstrap = results.provenance is None or results.provenance.resamples > 0
    if short:
        return f"Bars and bands: 95% over {'questions and draws' if bootstrap else 'the draws alone'}."
    if bootstrap:
        return (
            "± half of a 95% interval over questions and draws. "
            "Bold: no other is better beyond chance, by paired differences."
        )
    return (
        "± 1.96 standard errors over the draws alone. Bold: the best, and those whose bars overlap its bar."
    )


def auroc_table(results: Results, budget: int) -> ReportTable:
    """AUROC at one fixed budget, every recording and method; in bold, what no other method beats beyond chance."""
    return _crossed(results, budget, f"AUROC, N = {budget}", bars_caption(results), _area)


def recording_table(results: Results, model: str, dataset: str) -> ReportTable:
    """AUROC of one recording at a few budgets, one row per method."""
    budgets = _shown(results.budgets)
    own = [cell for cell in results.cells if (cell.model, cell.dataset) == (model, dataset)]
    cells = {(cell.estimator, cell.budget): cell for cell in own}
    rows = [
        (name, *(_area(cells[name, n]) if (name, n) in cells else None for n in budgets))
        for name in results.estimators
        if any((name, n) in cells for n in budgets)
    ]
    columns = ("method", *(f"N = {n}" for n in budgets))
    return ReportTable(f"AUROC, {model} on {dataset}", bars_caption(results), columns, tuple(rows))


def study_tables(results: Results) -> list[ReportTable]:
    """Every table of an evaluation, in reading order."""
    last = results.budgets[-1]
    tables = [auroc_table(results, budget) for budget in results.budgets]
    tables += [
        _crossed(
            results,
            last,
            f"AURAC, N = {last}",
            "Area under the accuracy-rejection curve; higher is better.",
            lambda cell: TableEntry(cell.aurac),
        ),
        _crossed(
            results,
            last,
            f"Calibration error, N = {last}",
            "Expected calibration error of a logistic curve fitted on other questions; lower is better.",
            lambda cell: TableEntry(cell.ece),
        ),
    ]
    return [
        table for table in (*tables, _savings(results), _comparisons(results), _trials(results)) if table.rows
    ]


def _area(cell: Cell) -> TableEntry:
    return TableEntry(cell.auroc, cell.half_width, cell.tied)


def _crossed(
    results: Results, budget: int, title: str, caption: str, entry: Callable[[Cell], TableEntry]
) -> ReportTable:
    """Recordings by methods at one budget; whichever are more stand one below the other."""
    entries = {
        (cell.model, cell.dataset, cell.estimator): entry(cell)
        for cell in results.cells
        if cell.budget == budget
    }
    names, pairs = results.estimators, results.pairs
    rows: list[tuple[TableEntry | str | None, ...]]
    if len(names) > len(pairs):
        rows = [(name, *(entries.get((*pair, name)) for pair in pairs)) for name in names]
        columns = ("method", *(f"{model} on {dataset}" for model, dataset in pairs))
    else:
        rows = [(*pair, *(entries.get((*pair, name)) for name in names)) for pair in pairs]
        columns = ("model", "dataset", *names)
    return ReportTable(title, caption, columns, tuple(rows))


def _savings(results: Results) -> ReportTable:
    shares = {
        (each.model, each.dataset, each.estimator, each.rule): "not reached"
        if each.fraction is None
        else TableEntry(each.fraction, decimals=2)
        for each in results.savings
    }
    rows = tuple(
        (estimator, rule, *(shares.get((*pair, estimator, rule)) for pair in results.pairs))
        for estimator, rule in dict.fromkeys((each.estimator, each.rule) for each in results.savings)
    )
    columns = ("method", "stops by", *(f"{model} on {dataset}" for model, dataset in results.pairs))
    caption = "Mean adaptive budget that reaches the AUROC of histogram at 10 samples, over 10."
    return ReportTable("Share of samples needed", caption, columns, rows)


def _comparisons(results: Results) -> ReportTable:
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
    caption = "Paired bootstrap over questions and draws together: an interval without 0 is a difference."
    return ReportTable("Comparisons", caption, columns, rows)


def _trials(results: Results) -> ReportTable:
    alphas = sorted({each.alpha for each in results.trials})
    rows = []
    for model, dataset in results.pairs:
        for budget in _shown(results.budgets):
            by_alpha = {
                each.alpha: TableEntry(each.auroc, each.half_width)
                for each in results.trials
                if (each.model, each.dataset, each.budget) == (model, dataset, budget)
            }
            if by_alpha:
                rows.append((model, dataset, str(budget), *(by_alpha.get(alpha) for alpha in alphas)))
    columns = ("model", "dataset", "N", *(f"alpha = {alpha:g}" for alpha in alphas))
    return ReportTable("Sensitivity to alpha", "AUROC of bayes-paper.", columns, tuple(rows))


def _shown(budgets: Sequence[int]) -> list[int]:
    """The budgets shown in long tables: those of the paper's main table (2 and 5) and the largest."""
    return [budget for budget in budgets if budget in (2, 5, budgets[-1])]


def to_markdown(table: ReportTable) -> str:
    """A table in Markdown, its title as a heading."""
    texts = [[_markdown(entry) for entry in row] for row in table.rows]
    heads = [_markdown(column) for column in table.columns]
    widths = [max(map(len, column)) for column in zip(heads, *texts, strict=True)]
    lines = [
        "| " + " | ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)) + " |"
        for row in [heads, ["-" * width for width in widths], *texts]
    ]
    return f"### {printable(table.title)}\n\n{table.caption}\n\n" + "\n".join(lines) + "\n"


def _markdown(entry: TableEntry | str | None) -> str:
    if isinstance(entry, TableEntry):
        text = entry.text("±")
        return f"**{text}**" if entry.bold else text
    return "–" if entry is None else printable(entry).replace("|", "\\|")


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
    return "--" if entry is None else "".join(_LATEX.get(mark, mark) for mark in printable(entry))


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
