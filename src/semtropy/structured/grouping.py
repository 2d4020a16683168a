"""Groups structured answers field by field: arithmetic where it decides, the judge for text, lists item by item."""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..errors import InputError
from ..meaning.partition import Grouper
from ..refusals import missing_answer
from .schema import resolve
from .side_by_side import ItemLabels, LabelledAnswer, SideBySide
from .values import ABSENT, UNPARSED, as_text, value_key
from .walk import is_ordered, item_schema, leaves

if TYPE_CHECKING:
    from ..fields import FieldReading
    from ..nouns import Floats, Sample, Token
    from .document import Node
    from .schema import Schema

__all__ = ["Reading", "StructuredGrouping", "field_names"]

Triple = tuple[str, str, str]
Labelling = Generator[Sequence[Triple], "Floats", Hashable]


@dataclass(frozen=True, slots=True)
class Reading:
    """One answer, parsed: its value, the schema it is read by, and the fields whose value is none of those offered."""

    node: Node
    schema: Schema
    refused: frozenset[str] = frozenset()


class StructuredGrouping:
    """Places structured answers to one question, and hands out their fields.

    question  what was asked
    read      parses an answer; None for one that is not JSON
    unparsed  why such an answer cannot be judged
    required  names of the fields that the verdict waits for; None for those that the schema requires
    answered_only  leaves out what samples have under a key that the answer does not have, such as another tool
    """

    def __init__(
        self,
        question: str,
        read: Callable[[str], Reading | None],
        *,
        unparsed: str,
        required: Sequence[str] | None = None,
        answered_only: bool = False,
    ) -> None:
        self._question, self._read, self._unparsed, self._required = question, read, unparsed, required
        self._answered_only = answered_only
        self._groupers: dict[str, Grouper] = {}
        self._known: dict[str, LabelledAnswer | None] = {}
        self._wholes: dict[Hashable, int] = {}

    def place(
        self, text: str, tokens: Sequence[Token] | None = None
    ) -> Generator[Sequence[Triple], Floats, int]:
        """Find the meaning of every field; the number returned is that of all required ones together."""
        if text not in self._known:
            reading = self._read(text)
            self._known[text] = None if reading is None else (yield from self._labelled(reading))
        found = self._known[text]
        whole = UNPARSED if found is None else self._whole(found)
        return self._wholes.setdefault(whole, len(self._wholes))

    def missing(self, answer: Sample) -> str | None:
        """Why there is no answer to judge: none was given, or it is not JSON."""
        if self._known.get(answer.text) is not None:
            return None
        return missing_answer(answer) or self._unparsed

    def fields(self, answer: Sample | None, samples: Sequence[Sample]) -> Sequence[FieldReading]:
        """Every field of the answer, and those that the samples have instead."""
        own = None if answer is None else self._known.get(answer.text)
        if answer is not None and own is None:
            return ()
        view = SideBySide(answer, own, tuple(samples), [self._known[sample.text] for sample in samples])
        readings = list(view.readings())
        if self._answered_only and own is not None:
            keys = tuple({path.split(".")[0] for path in own.leaves})
            readings = [each for each in readings if _is_named(each.name, keys)]
        if self._required is None:
            return readings
        return [replace(each, required=_is_named(each.name, self._required)) for each in readings]

    def _labelled(self, reading: Reading) -> Generator[Sequence[Triple], Floats, LabelledAnswer]:
        found = LabelledAnswer(start=reading.node.start, refused=reading.refused)
        for leaf in leaves(reading.node, reading.schema, reading.schema):
            if leaf.node is not None:
                found.labels[leaf.path] = yield from self._label(
                    leaf.node, leaf.schema, reading.schema, leaf.path
                )
            found.leaves[leaf.path] = leaf
        return found

    def _whole(self, found: LabelledAnswer) -> Hashable:
        chosen = [path for path, leaf in found.leaves.items() if leaf.required]
        if self._required is not None:
            chosen = [path for path in found.leaves if _is_named(path, self._required)]
        return frozenset((path, found.labels.get(path, ABSENT)) for path in chosen or found.leaves)

    def _label(self, node: Node, schema: Schema, root: Schema, path: str) -> Labelling:
        """The meaning of a value, built from those of its parts."""
        key = value_key(node, schema)
        if key is not None:
            return key
        if isinstance(node.value, list):
            ordered, items = is_ordered(schema), []
            for place, item in enumerate(node.value):
                own = resolve(item_schema(schema, place), root, item)
                where = f"{path}[{place}]" if ordered else f"{path}[]"
                items.append((yield from self._label(item, own, root, where)))
            return ("tuple", *items) if ordered else ItemLabels(items)
        if isinstance(node.value, dict):
            parts: dict[str, Hashable] = {}
            for leaf in leaves(node, schema, root, path):
                if leaf.node is not None:
                    parts[leaf.path] = yield from self._label(leaf.node, leaf.schema, root, leaf.path)
            return frozenset(parts.items())
        if path not in self._groupers:
            about = schema.get("description") or schema.get("title") or path
            self._groupers[path] = Grouper(f"{self._question} ({about})")
        return "text", (yield from self._groupers[path].place(as_text(node)))


def _is_named(name: str, chosen: Sequence[str]) -> bool:
    """Whether a field is one of those chosen, or part of one: "authors" has "authors[0].name"."""
    return any(name == each or name.startswith((f"{each}.", f"{each}[")) for each in chosen)


def field_names(required: Sequence[str] | None) -> tuple[str, ...] | None:
    """The names of fields that a caller gave, refused where they are no list of texts."""
    if required is None:
        return None
    if isinstance(required, str) or not all(isinstance(name, str) for name in required):
        raise InputError("required must be a list of field names")
    return tuple(required)
