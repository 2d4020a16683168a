"""Figures: adaptive curves with bands, fixed budgets as points with error bars, scorers as dashed lines."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING, Any

from ....errors import MissingExtra

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..results import Cell, Results

__all__ = ["blank_figure", "draw_recording", "figure_bytes"]

# Okabe and Ito's colours, distinct under every kind of colour vision; markers repeat the distinction in grey.
STYLES: dict[str, tuple[str, str]] = {
    "bayes": ("#0072B2", ""),
    "agreement": ("#332288", "D"),
    "bayes-paper": ("#D55E00", ""),
    "histogram": ("#000000", "o"),
    "rescaled": ("#009E73", "s"),
    "rescaled-length": ("#56B4E9", "^"),
    "log-likelihood": ("#CC79A7", ""),
    "p-true": ("#E69F00", ""),
    "length": ("#7F7F7F", ""),
}
DASHES = {"log-likelihood": (5, 2), "p-true": (2, 1.5), "length": (7, 2, 1.5, 2)}
# Horizontal distance between points of different methods at one budget, so that error bars do not overlap.
DODGE = 0.12
ADAPTIVE = " (adaptive)"
SETTINGS: dict[Any, Any] = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "legend.frameon": False,
    "pdf.fonttype": 42,
    "svg.hashsalt": "semtropy",
}


def blank_figure(width: float = 6.0, height: float = 3.5) -> tuple[Figure, Axes]:
    """An empty figure in the house style, outside matplotlib's global state."""
    try:
        from matplotlib import rc_context
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("matplotlib", extra="study") from None
    with rc_context(SETTINGS):
        figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(figure)
        return figure, figure.add_subplot()


def draw_recording(results: Results, model: str, dataset: str) -> Figure:
    """The figure of one model on one dataset."""
    figure, axes = blank_figure()
    cells = [cell for cell in results.cells if (cell.model, cell.dataset) == (model, dataset)]
    curves = {
        curve.estimator: curve
        for curve in results.curves
        if (curve.model, curve.dataset, curve.rule) == (model, dataset, "variance")
    }
    for curve in curves.values():
        colour, _ = STYLES[curve.estimator]
        low, high = curve.auroc - curve.half_width, curve.auroc + curve.half_width
        width = 2.2 if curve.estimator == "bayes" else 1.3
        axes.plot(
            curve.mean_budget, curve.auroc, color=colour, linewidth=width, label=curve.estimator + ADAPTIVE
        )
        axes.fill_between(curve.mean_budget, low, high, color=colour, alpha=0.18, linewidth=0)
    _draw_fixed(axes, [cell for cell in cells if cell.estimator not in curves])
    axes.set_xlabel("samples a question (mean)")
    axes.set_ylabel("AUROC")
    axes.set_title(f"{model} on {dataset}", fontsize=10)
    axes.set_xticks(
        results.budgets if len(results.budgets) <= 12 else results.budgets[:: len(results.budgets) // 10]
    )
    axes.grid(axis="y", color="#DDDDDD", linewidth=0.6)
    axes.set_axisbelow(True)
    _legend(figure, axes)
    return figure


def _legend(figure: Figure, axes: Axes) -> None:
    """The legend: beside the axes, in the order of the tables."""
    handles, labels = axes.get_legend_handles_labels()
    names = [label.removesuffix(ADAPTIVE) for label in labels]
    order = sorted(range(len(names)), key=lambda at: list(STYLES).index(names[at]))
    figure.legend(
        [handles[at] for at in order],
        [labels[at] for at in order],
        loc="outside right center",
        fontsize=8,
        handlelength=2.4,
        frameon=False,
    )


def _draw_fixed(axes: Axes, cells: list[Cell]) -> None:
    names = list(dict.fromkeys(cell.estimator for cell in cells))
    dotted = [name for name in names if name not in DASHES]
    for name in names:
        colour, marker = STYLES[name]
        mine = [cell for cell in cells if cell.estimator == name]
        if name in DASHES:
            axes.axhline(mine[0].auroc, color=colour, linewidth=1.3, dashes=DASHES[name], label=name)
            continue
        shift = DODGE * (dotted.index(name) - (len(dotted) - 1) / 2)
        axes.errorbar(
            [cell.budget + shift for cell in mine],
            [cell.auroc for cell in mine],
            [cell.half_width for cell in mine],
            color=colour,
            marker=marker or "D",
            markersize=3.5,
            linestyle="none",
            elinewidth=1.0,
            capsize=1.8,
            label=name,
        )


def figure_bytes(figure: Figure, kind: str) -> bytes:
    """The figure as the bytes of a `pdf` or `png` file, without a time stamp."""
    from matplotlib import rc_context

    buffer = BytesIO()
    metadata: dict[str, Any] = {"CreationDate": None} if kind == "pdf" else {"Software": "semtropy"}
    with rc_context(SETTINGS):
        figure.savefig(buffer, format=kind, dpi=200, metadata=metadata)
    return buffer.getvalue()
