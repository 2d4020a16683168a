"""The fields of a structured answer as a table: value, agreement, verdict."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from ..conclusion import field_outcome
from ..verdict import Outcome, percent
from ._text import one_line

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ..inquiry import Terms
    from ..step import FieldStep, Step

__all__ = ["COLOURS", "draw_fields"]

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
    value = one_line(field.value if isinstance(field.value, str) else _json(field.value))
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


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
