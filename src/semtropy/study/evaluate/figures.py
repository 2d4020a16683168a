"""Figures: adaptive curves with bands, fixed budgets with error bars, scores of the answer as dashed lines."""

from __future__ import annotations

from contextlib import contextmanager
from io import BytesIO
from typing import TYPE_CHECKING, Any

from ...errors import MissingExtra
from .tables import bars_caption, printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .results import Cell, Results


# A colour and a marker for each method of a figure.


# Okabe and Ito's colours, distinct under every kind of colour vision; markers repeat the distinction in grey.
STYLES: dict[str, tuple[str, str]] = {
    "bayes": ("#0072B2", "D"),
    "agreement": ("#7A5AF8", "D"),
    "bayes-paper": ("#D55E00", "D"),
    "histogram": ("#000000", "o"),
    "rescaled": ("#009E73", "s"),
    "rescaled-length": ("#56B4E9", "^"),
    "log-likelihood": ("#CC79A7", "v"),
    "p-true": ("#E69F00", "v"),
    "length": ("#7F7F7F", "v"),
}
BLACK, WHITE = "#000000", "#E6EAEE"  # what is black on paper, on a dark page
# For the others, in the order of the tables.
COLOURS = ("#117733", "#AA3377", "#88CCEE", "#AA4499", "#BBAA33", "#44AA99", "#CC6677", "#996633")
MARKERS = ("P", "X", "<", ">", "p", "h", "*", "d")
DASHES = ((5, 2), (2, 1.5), (7, 2, 1.5, 2), (3, 1, 1, 1), (9, 3))


def styles(names: Sequence[str], *, dark: bool = False) -> dict[str, tuple[str, str]]:
    """A colour and a marker for each method: its own where it has one, else the next that is free.

    >>> styles(["histogram", "a stored score"])
    {'histogram': ('#000000', 'o'), 'a stored score': ('#117733', 'P')}
    """
    count = len(COLOURS)
    free = ((COLOURS[at % count], MARKERS[(at + at // count) % count]) for at in range(count * count))
    chosen = {name: STYLES.get(name) or next(free, ("#7F7F7F", "o")) for name in names}
    if not dark:
        return chosen
    return {name: (WHITE if colour == BLACK else colour, marker) for name, (colour, marker) in chosen.items()}


# Always drawn where they are there; the best of the others join them, up to this many in all.
PRINCIPAL = ("bayes", "bayes-paper", "histogram", "rescaled")
MOST = 9
# Horizontal distance between points of different methods at one budget, so that error bars do not overlap.
DODGE = 0.1
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
PAPER, INK = "#161b22", "#d7dce2"  # on a dark page
DARK: dict[Any, Any] = {
    "figure.facecolor": PAPER,
    "axes.facecolor": PAPER,
    **dict.fromkeys(
        ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color", "axes.titlecolor"),
        INK,
    ),
}


def figure_text(text: str) -> str:
    """A name as matplotlib shows it: a dollar sign is one, and begins no formula."""
    return printable(text).replace("$", r"\$")


@contextmanager
def figure_style(*, dark: bool = False) -> Iterator[None]:
    """The house style, for what is drawn inside; matplotlib's global state is as before afterwards."""
    try:
        from matplotlib import rc_context
    except ImportError:
        raise MissingExtra("matplotlib", extra="study") from None
    with rc_context({**SETTINGS, **(DARK if dark else {})}):
        yield


def blank_figure(width: float = 6.4, height: float = 3.8, *, dark: bool = False) -> tuple[Figure, Axes]:
    """An empty figure in the house style."""
    with figure_style(dark=dark):
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(figure)
        return figure, figure.add_subplot()


def draw_recording(results: Results, model: str, dataset: str, *, dark: bool = False) -> Figure:
    """AUROC against the number of samples, one model on one dataset; at most nine methods."""
    with figure_style(dark=dark):
        figure, axes = blank_figure(dark=dark)
        shown = _shown_methods(results, model, dataset)
        look = styles([name for name in results.estimators if name in shown], dark=dark)
        curves = {
            curve.estimator: curve
            for curve in results.curves
            if (curve.model, curve.dataset, curve.rule) == (model, dataset, "variance")
            and curve.estimator in shown
        }
        for curve in curves.values():
            colour, _ = look[curve.estimator]
            low, high = curve.auroc - curve.half_width, curve.auroc + curve.half_width
            width = 2.2 if curve.estimator == "bayes" else 1.3
            label = curve.estimator + ADAPTIVE
            axes.plot(curve.mean_budget, curve.auroc, color=colour, linewidth=width, label=label)
            axes.fill_between(curve.mean_budget, low, high, color=colour, alpha=0.14, linewidth=0)
        cells = [cell for cell in results.cells if (cell.model, cell.dataset) == (model, dataset)]
        fixed = [cell for cell in cells if cell.estimator in shown and cell.estimator not in curves]
        _draw_fixed(axes, fixed, look)
        axes.set_xlabel("samples per question (mean)")
        axes.set_ylabel("AUROC")
        axes.set_title(figure_text(f"{model} on {dataset}"), fontsize=10)
        budgets = results.budgets
        axes.set_xticks(budgets if len(budgets) <= 12 else budgets[:: len(budgets) // 10])
        axes.grid(axis="y", color=INK if dark else "#DDDDDD", alpha=0.3 if dark else 1.0, linewidth=0.6)
        axes.set_axisbelow(True)
        _legend(figure, axes, list(look))
        rule = (
            "Adaptive: a question stops at the first N with a variance of at most t; t is swept."
            if curves
            else ""
        )
        footnote(figure, results, model, dataset, rule)
        return figure


def footnote(figure: Figure, results: Results, model: str, dataset: str, *more: str) -> None:
    """Below the axes: how many questions, how many answered wrongly, how often drawn, and what the bars are."""
    [tested] = [each for each in results.tested if (each.model, each.dataset) == (model, dataset)]
    draws = "" if results.provenance is None else f", samples drawn {results.provenance.draws} times"
    lines = [
        f"n = {tested.questions} questions, {tested.wrong / tested.questions:.0%} answered wrongly{draws}. "
        + bars_caption(results, short=True),
        *(line for line in more if line),
    ]
    figure.supxlabel("\n".join(lines), fontsize=7, x=0.01, ha="left")


def _shown_methods(results: Results, model: str, dataset: str) -> list[str]:
    """The principal methods, and the best of the others at the middle budget."""
    middle = results.budgets[len(results.budgets) // 2]
    areas = {
        cell.estimator: cell.auroc
        for cell in results.cells
        if (cell.model, cell.dataset, cell.budget) == (model, dataset, middle)
    }
    first = [name for name in PRINCIPAL if name in areas]
    others = sorted((name for name in areas if name not in first), key=lambda name: -areas[name])
    return first + others[: MOST - len(first)]


def _legend(figure: Figure, axes: Axes, methods: list[str]) -> None:
    """The legend: beside the axes, in the order of the tables."""
    handles, labels = axes.get_legend_handles_labels()
    names = [label.removesuffix(ADAPTIVE) for label in labels]
    order = sorted(range(len(names)), key=lambda at: methods.index(names[at]))
    chosen = [handles[at] for at in order], [figure_text(labels[at]) for at in order]
    figure.legend(*chosen, loc="outside right center", fontsize=8, handlelength=2.4, frameon=False)


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
            [[cell.auroc - cell.low for cell in mine], [cell.high - cell.auroc for cell in mine]],
            color=colour,
            marker=marker,
            markersize=3.5,
            linestyle="none",
            elinewidth=0.8,
            capsize=1.5,
            label=name,
        )


def figure_bytes(figure: Figure, kind: str) -> bytes:
    """The figure as the bytes of a `pdf` or `png` file, without a time stamp."""
    buffer = BytesIO()
    metadata: dict[str, Any] = {"CreationDate": None} if kind == "pdf" else {"Software": "semtropy"}
    with figure_style():
        figure.savefig(buffer, format=kind, dpi=200, metadata=metadata)
    return buffer.getvalue()
