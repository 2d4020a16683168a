"""What a check draws in a terminal, with rich: its steps, live, and its verdict."""

from __future__ import annotations

import json
import math
import time
from typing import TYPE_CHECKING

from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ..inquiry.conclusion import field_outcome
from ..verdict import Outcome, percent
from ._text import one_line, printable
from .progress import PATIENCE, waiting_line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rich.console import RenderableType

    from ..inquiry.loop import Terms
    from ..inquiry.steps import FieldStep, Step
    from ..verdict import Verdict


# The fields of a structured answer as a table: value, agreement, verdict.


COLOURS = {
    Outcome.STEADY: "green",
    Outcome.FLAGGED: "red",
    Outcome.UNDECIDED: "yellow",
    Outcome.NO_ANSWER: "yellow",
}


def draw_fields(step: Step, terms: Terms) -> RenderableType:
    """A row for each field; those that the verdict does not wait for are in brackets."""
    table = Table(box=None, padding=(0, 2), header_style="dim", show_edge=False)
    for title in ("  field", "value", "samples", "asked again", ""):
        table.add_column(title, justify="right" if title in ("samples", "asked again") else "left")
    for field in step.fields:
        table.add_row(*_row(field, step, terms))
    return table


def _row(field: FieldStep, step: Step, terms: Terms) -> list[Text]:
    """The cells of a row, as Text: in a plain string rich would take brackets for markup."""
    own, agreement = field.step, field.step.belief.agreement
    name = one_line(field.name, 40)
    value = one_line(
        field.value if isinstance(field.value, str) else json.dumps(field.value, ensure_ascii=False)
    )
    agree = sum(meaning == own.answer_meaning for meaning in own.partition.meanings)
    if field.name.endswith("[+]"):
        value = f"without {value}"
    if own.reason is None and step.reason is None:
        last = [f"{agree} of {len(own.samples)}", "", "…"]
        return [*map(Text, [f"  {name if field.required else f'({name})'}", value, *last])]
    outcome = field_outcome(field, step, terms)
    cells = [
        f"  {name if field.required else f'({name})'}",
        value,
        f"{agree} of {len(own.samples)}" if own.samples else "none",
        "" if agreement is None else f"{percent(agreement.mean)} in 100",
    ]
    return [*map(Text, cells), Text(str(outcome), COLOURS[outcome])]


# A check as it is drawn in a terminal: the answer and its agreement, meanings, and the entropy after each round.


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
    if last.claims:
        drawn = Text("  samples   ").append("●" * min(len(last.samples), _DOTS), "cyan")
        drawn.append(f"  {len(last.samples)} of the whole answer")
        return Group(head, Text(), mark_claims(last), Text(), drawn)
    answer = Text("  answer    ").append(one_line(last.answer.text) or "(empty)", "bold")
    if last.fields:
        return Group(head, Text(), answer, drawn, Text(), draw_fields(last, terms))
    lines = [head, Text(), answer, *_agreement(last), drawn, Text()]
    if last.samples:
        lines += [_meanings(last), Text()]
    lines.append(Text("  semantic entropy by the number of samples, with its 90% interval", style="dim"))
    return Group(*lines, _narrowing(steps, terms))


_WORST = (Outcome.FLAGGED, Outcome.UNDECIDED, Outcome.STEADY)


def mark_claims(step: Step) -> Text:
    """The answer with its claims in the colours of their verdicts; those that are flagged are underlined too."""
    answer, marked, end = step.answer.text, Text(), 0
    spans: dict[tuple[int, int], Outcome] = {}  # several claims may lie in one sentence: the worst is shown
    for claim in step.claims:
        worst = min((claim.outcome, spans.get((claim.start, claim.end), claim.outcome)), key=_WORST.index)
        spans[claim.start, claim.end] = worst
    for (start, stop), outcome in spans.items():
        marked.append(printable(answer[end:start]), "dim")
        style = f"underline {COLOURS[outcome]}" if outcome is Outcome.FLAGGED else COLOURS[outcome]
        marked.append(printable(answer[start:stop]), style)
        end = stop
    return marked.append(printable(answer[end:]), "dim")


def _agreement(step: Step) -> list[RenderableType]:
    """How probable it is that another sample means the same, as a scale from 0 to 100."""
    agreement = step.belief.agreement
    if agreement is None:
        return []
    low, high = agreement.interval(0.9) or (agreement.mean, agreement.mean)
    cells = _scale(low, high, 1.0)
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
    cells = _scale(low, high, top)
    at = _column(threshold, top)
    cells[at] = "┿" if cells[at] == "━" else "│"
    cells[_column(mean, top)] = "●"
    return Text("".join(cells), style="red" if mean > threshold else "green")


def _scale(low: float, high: float, top: float) -> list[str]:
    """A scale from 0 to `top` on which an interval is marked."""
    marked = range(_column(low, top), _column(high, top) + 1)
    return ["━" if place in marked else "·" for place in range(_WIDTH + 1)]


def _column(value: float, top: float) -> int:
    return min(_WIDTH, max(0, math.floor(value / top * _WIDTH + 0.5)))


def draw_verdict(verdict: Verdict) -> RenderableType:
    """The verdict in sentences, the first of them coloured; the fields stand in the table above it."""
    first, *rest = map(printable, verdict.sentences())
    rest = rest[len(verdict.fields) :]
    headline = Text(first, style=f"bold {COLOURS[verdict.outcome]}")
    return Group(Text(), headline, *map(_sentence, rest))


def _sentence(line: str) -> RenderableType:
    """A sentence of a verdict; one on a claim is indented as a whole, and red where it is flagged."""
    if not line.startswith("  "):
        return Text(line)
    style = "red" if line.startswith(f"  {Outcome.FLAGGED}: ") else ""
    return Padding(Text(line.strip(), style), (0, 0, 0, 2))


class LivePicture:
    """The picture after the last step, with a line below it while the next one is awaited for longer."""

    def __init__(self, model: str, draw: Callable[[], RenderableType]) -> None:
        self._model, self._draw = model, draw
        self._start = time.monotonic()
        self.update(0)

    def update(self, samples: int) -> None:
        """Draw the picture anew."""
        self._picture, self._samples, self._since = self._draw(), samples, time.monotonic()

    def finish(self) -> None:
        """Nothing more is awaited."""
        self._since = float("inf")

    def __call__(self) -> RenderableType:
        now = time.monotonic()
        if now - self._since < PATIENCE:
            return self._picture
        line = waiting_line(self._model, now - self._start, self._samples)
        return Group(self._picture, Text(f"  {line} ...", style="dim"))
