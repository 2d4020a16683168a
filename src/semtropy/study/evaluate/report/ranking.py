"""A figure of every method at one budget: AUROC with its interval, the best at the top."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .figures import blank_figure, figure_style, footnote

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..results import Results

__all__ = ["draw_ranking", "ranked_budget"]

TIED, OTHER = "#0072B2", "#888888"


def ranked_budget(results: Results) -> int:
    """The budget that is ranked: 5 samples, or the middle one where 5 was not measured."""
    return 5 if 5 in results.budgets else results.budgets[len(results.budgets) // 2]


def draw_ranking(results: Results, model: str, dataset: str, *, dark: bool = False) -> Figure:
    """Every method at one budget, ordered by AUROC; in blue those that no other beats beyond chance."""
    budget = ranked_budget(results)
    cells = [
        cell for cell in results.cells if (cell.model, cell.dataset, cell.budget) == (model, dataset, budget)
    ]
    cells.sort(key=lambda cell: cell.auroc)
    with figure_style(dark=dark):
        figure, axes = blank_figure(6.4, 1.3 + 0.19 * len(cells), dark=dark)
        for place, cell in enumerate(cells):
            colour = TIED if cell.tied else OTHER
            axes.plot([cell.low, cell.high], [place, place], color=colour, linewidth=1.4)
            axes.plot([cell.auroc], [place], color=colour, marker="o", markersize=4)
        axes.axvline(0.5, color=OTHER, linewidth=0.8, dashes=(3, 2))
        axes.set_yticks(range(len(cells)), [cell.estimator for cell in cells])
        axes.set_ylim(-0.7, len(cells) - 0.3)
        axes.set_xlabel(f"AUROC with N = {budget} samples")
        axes.set_title(f"{model} on {dataset}", fontsize=10)
        footnote(
            figure, results, model, dataset, "Blue: no other is better beyond chance, by paired differences."
        )
        return figure
