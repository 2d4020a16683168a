"""A check as it is drawn in a terminal: the answer and its agreement, meanings, and the entropy after each round."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..verdict import percent
from ._field_table import COLOURS, draw_fields
from ._text import one_line, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..inquiry import Step, Terms
    from ..verdict import Verdict

__all__ = ["draw_steps", "draw_verdict"]

_WIDTH = 32
_DOTS = 40  # samples that are drawn one by one
_SHOWN = 8  # meanings that fit without scrolling


def draw_steps(question: str, steps: Sequence[Step], terms: Terms) -> RenderableType:
    """The state after the last of `steps`."""
    head = Text(printable(question), style="bold")
    if not steps:
        return Group(head, Text("  asking ...", style="dim"))
    last = steps[-1]
    total = terms.budget.samples
    drawn = (
        Text("  samples   ")
        .append("●" * min(len(last.samples), _DOTS), "cyan")
        .append("○" * (min(total, _DOTS) - len(last.samples)), "dim")
    )
    drawn.append(f"  {len(last.samples)} of at most {total}")
    answer = Text("  answer    ").append(one_line(last.answer.text) or "(empty)", "bold")
    if last.fields:
        return Group(head, Text(), answer, drawn, Text(), draw_fields(last, terms))
    lines = [head, Text(), answer, *_agreement(last), drawn, Text()]
    if last.samples:
        lines += [_meanings(last), Text()]
    lines.append(Text("  semantic entropy by the number of samples, with its 90% interval", style="dim"))
    return Group(*lines, _narrowing(steps, terms))


def _agreement(step: Step) -> list[RenderableType]:
    """How probable it is that another sample means the same, as a scale from 0 to 100."""
    agreement = step.belief.agreement
    if agreement is None:
        return []
    low, high = agreement.interval(0.9) or (agreement.mean, agreement.mean)
    cells = ["·"] * (_WIDTH + 1)
    for place in range(_column(low, 1.0), _column(high, 1.0) + 1):
        cells[place] = "━"
    cells[_column(agreement.mean, 1.0)] = "●"
    number = f"  {percent(agreement.mean)} in 100" + (
        f" ({percent(low)} to {percent(high)})" if high > low else ""
    )
    return [Text("  agreement ").append("".join(cells), "cyan").append(number)]


def _meanings(step: Step) -> RenderableType:
    """The meanings by count, the answer's marked, each with its wordings."""
    table = Table.grid(padding=(0, 1))
    found = sorted(step.meanings(), key=lambda meaning: (-meaning.count, not meaning.has_answer))
    for meaning in found[:_SHOWN]:
        share = meaning.count / max(1, len(step.samples))
        bar = Text("▇" * max(bool(meaning.count), round(share * 20)), style="cyan")
        line = Text(one_line(meaning.text) or "(empty)", style="bold" if meaning.has_answer else "")
        if meaning.has_answer:
            line.append("  ← the answer", "cyan")
        others = [one_line(wording.text, 24) for wording in meaning.wordings if wording.text != meaning.text]
        if others:
            line.append("  also " + ", ".join(others[:3]) + (" …" if len(others) > 3 else ""), "dim not bold")
        table.add_row("  ", bar, f"{meaning.count:2} ×", line)
    if len(found) > _SHOWN:
        more = len(found) - _SHOWN
        table.add_row("  ", Text(), "", Text(f"and {more} other meaning{'s' * (more > 1)}", style="dim"))
    return table


def _narrowing(steps: Sequence[Step], terms: Terms) -> RenderableType:
    """One line per round: the 90% interval of the entropy, its mean, and where the threshold lies."""
    intervals = [step.belief.interval() or (step.belief.mean, step.belief.mean) for step in steps]
    top = max(1.0, terms.threshold * 1.25, *(high for _, high in intervals))
    table = Table.grid(padding=(0, 1))
    for step, (low, high) in zip(steps, intervals, strict=True):
        mean = step.belief.mean
        label = f"{mean:.2f} nats" + (f" ({low:.2f} to {high:.2f})" if high > low else "")
        table.add_row(f"  after {len(step.samples):<2}", _bar(low, mean, high, terms.threshold, top), label)
    at, name = _column(terms.threshold, top), f"flagged above {terms.threshold:.2f}"
    right = f"{' ' * at}↑ {name}"
    arrow = right if len(right) <= _WIDTH + 1 else f"{name} ↑".rjust(at + 1)
    table.add_row("", Text(arrow, style="dim"), "")
    return table


def _bar(low: float, mean: float, high: float, threshold: float, top: float) -> Text:
    cells = ["·"] * (_WIDTH + 1)
    for place in range(_column(low, top), _column(high, top) + 1):
        cells[place] = "━"
    at = _column(threshold, top)
    cells[at] = "┿" if cells[at] == "━" else "│"
    cells[_column(mean, top)] = "●"
    return Text("".join(cells), style="red" if mean > threshold else "green")


def _column(value: float, top: float) -> int:
    return min(_WIDTH, max(0, math.floor(value / top * _WIDTH + 0.5)))


def draw_verdict(verdict: Verdict) -> RenderableType:
    """The verdict in sentences, the first of them coloured; the fields stand in the table above it."""
    first, *rest = map(printable, verdict.sentences())
    rest = rest[len(verdict.fields) :]
    headline = Text(first, style=f"bold {COLOURS[verdict.outcome]}")
    return Group(Text(), headline, *(Text(line) for line in rest))
