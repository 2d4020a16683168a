"""The tables of an evaluation, as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ..results import Cell, Results

__all__ = ["ReportTable", "TableEntry", "auroc_table", "study_tables"]


@dataclass(frozen=True, slots=True)
class TableEntry:
    """A number with its half-width; bold for the best and its ties."""

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


def auroc_table(results: Results, budget: int) -> ReportTable:
    """AUROC at one fixed budget, one row per recording, the best and its ties in bold.

    As in the paper, an estimator ties with the best if their error bars overlap.
    """
    return _by_estimator(
        results,
        [budget],
        f"AUROC, N = {budget}",
        "Mean and 1.96 standard errors over the draws. Bold: the best, and those whose bars overlap its bar.",
        lambda cells: [TableEntry(cell.auroc, cell.half_width, bold) for cell, bold in _with_ties(cells)],
    )


def study_tables(results: Results) -> list[ReportTable]:
    """Every table of an evaluation, in reading order."""
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
            by_name = dict(zip([cell.estimator for cell in cells], entries(cells), strict=True))
            rows.append((model, dataset, *(by_name.get(name) for name in names)))
    return ReportTable(title, caption, ("model", "dataset", *names), tuple(rows))


def _with_ties(cells: Sequence[Cell]) -> Iterable[tuple[Cell, bool]]:
    best = max(cells, key=lambda cell: cell.auroc)
    return [(cell, cell.auroc + cell.half_width >= best.auroc - best.half_width) for cell in cells]


def _savings(results: Results) -> list[ReportTable]:
    columns = tuple(dict.fromkeys((each.estimator, each.rule) for each in results.savings))
    rows: list[tuple[TableEntry | str | None, ...]] = []
    for model, dataset in results.pairs:
        by_column = {
            (each.estimator, each.rule): "not reached"
            if each.fraction is None
            else TableEntry(each.fraction, decimals=2)
            for each in results.savings
            if (each.model, each.dataset) == (model, dataset)
        }
        rows.append((model, dataset, *(by_column.get(column) for column in columns)))
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
            by_alpha = {
                each.alpha: TableEntry(each.auroc, each.half_width)
                for each in results.trials
                if (each.model, each.dataset, each.budget) == (model, dataset, budget)
            }
            if by_alpha:
                rows.append((model, dataset, str(budget), *(by_alpha.get(alpha) for alpha in alphas)))
    columns = ("model", "dataset", "N", *(f"alpha = {alpha:g}" for alpha in alphas))
    return [ReportTable("Sensitivity to alpha", "AUROC of bayes-paper.", columns, tuple(rows))]


def _shown(budgets: Sequence[int]) -> list[int]:
    """The budgets shown in long tables: those of the paper's main table (2 and 5) and the largest."""
    return [budget for budget in budgets if budget in (2, 5, budgets[-1])]
