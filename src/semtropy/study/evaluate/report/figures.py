"""Figures: adaptive curves with bands, fixed budgets as points with error bars, scorers as dashed lines."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING, Any

from ....errors import MissingExtra

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..results import Cell, Results

__all__ = ["blank_figure", "draw_recording", "figure_bytes", "styles"]

# Okabe and Ito's colours, distinct under every kind of colour vision; markers repeat the distinction in grey.
STYLES: dict[str, tuple[str, str]] = {
    "bayes": ("#0072B2", "D"),
    "agreement": ("#332288", "D"),
    "bayes-paper": ("#D55E00", "D"),
    "histogram": ("#000000", "o"),
    "rescaled": ("#009E73", "s"),
    "rescaled-length": ("#56B4E9", "^"),
    "log-likelihood": ("#CC79A7", "v"),
    "p-true": ("#E69F00", "v"),
    "length": ("#7F7F7F", "v"),
}
# For the others, in the order of the tables.
COLOURS = ("#117733", "#882255", "#88CCEE", "#AA4499", "#DDCC77", "#44AA99", "#CC6677", "#661100")
MARKERS = ("P", "X", "<", ">", "p", "h", "*", "d")
DASHES = ((5, 2), (2, 1.5), (7, 2, 1.5, 2), (3, 1, 1, 1), (9, 3))
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


def styles(names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """A colour and a marker for each method of a study: its own where it has one, else the next that is free.

    >>> styles(["histogram", "a stored score"])
    {'histogram': ('#000000', 'o'), 'a stored score': ('#117733', 'P')}
    """
    free = ((colour, marker) for marker in MARKERS for colour in COLOURS)
    return {name: STYLES.get(name) or next(free, ("#7F7F7F", "o")) for name in names}


def draw_recording(results: Results, model: str, dataset: str) -> Figure:
    """The figure of one model on one dataset."""
    figure, axes = blank_figure()
    look = styles(results.estimators)
    cells = [cell for cell in results.cells if (cell.model, cell.dataset) == (model, dataset)]
    curves = {
        curve.estimator: curve
        for curve in results.curves
        if (curve.model, curve.dataset, curve.rule) == (model, dataset, "variance")
    }
    for curve in curves.values():
        colour, _ = look[curve.estimator]
        low, high = curve.auroc - curve.half_width, curve.auroc + curve.half_width
        width = 2.2 if curve.estimator == "bayes" else 1.3
        axes.plot(
            curve.mean_budget, curve.auroc, color=colour, linewidth=width, label=curve.estimator + ADAPTIVE
        )
        axes.fill_between(curve.mean_budget, low, high, color=colour, alpha=0.18, linewidth=0)
    _draw_fixed(axes, [cell for cell in cells if cell.estimator not in curves], look)
    axes.set_xlabel("samples a question (mean)")
    axes.set_ylabel("AUROC")
    axes.set_title(f"{model} on {dataset}", fontsize=10)
    axes.set_xticks(
        results.budgets if len(results.budgets) <= 12 else results.budgets[:: len(results.budgets) // 10]
    )
    axes.grid(axis="y", color="#DDDDDD", linewidth=0.6)
    axes.set_axisbelow(True)
    _legend(figure, axes, list(look))
    return figure


def _legend(figure: Figure, axes: Axes, methods: Sequence[str]) -> None:
    """The legend: beside the axes, in the order of the tables."""
    handles, labels = axes.get_legend_handles_labels()
    names = [label.removesuffix(ADAPTIVE) for label in labels]
    order = sorted(range(len(names)), key=lambda at: methods.index(names[at]))
    figure.legend(
        [handles[at] for at in order],
        [labels[at] for at in order],
        loc="outside right center",
        fontsize=8,
        handlelength=2.4,
        frameon=False,
    )


def _draw_fixed(axes: Axes, cells: list[Cell], look: Mapping[str, tuple[str, str]]) -> None:
    """Points with error bars; a dashed line for a score that is the same at every budget."""
    names = list(dict.fromkeys(cell.estimator for cell in cells))
    areas = {name: [cell.auroc for cell in cells if cell.estimator == name] for name in names}
    level = [name for name in names if len(areas[name]) > 1 and len(set(areas[name])) == 1]
    dotted = [name for name in names if name not in level]
    for name in names:
        colour, marker = look[name]
        mine = [cell for cell in cells if cell.estimator == name]
        if name in level:
            dashes = DASHES[level.index(name) % len(DASHES)]
            axes.axhline(mine[0].auroc, color=colour, linewidth=1.3, dashes=dashes, label=name)
            continue
        shift = DODGE * (dotted.index(name) - (len(dotted) - 1) / 2)
        axes.errorbar(
            [cell.budget + shift for cell in mine],
            [cell.auroc for cell in mine],
            [cell.half_width for cell in mine],
            color=colour,
            marker=marker,
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
