"""The fields of an answer beside those of its samples, each with what bounds its probability."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, time
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from ..evidence import MOST_EXCESS
from ..inquiry.steps import UNPARSED_TEXT, FieldReading, OwnValues
from ..meaning.quantities import quantity
from ..meaning.spelling import normalise
from ..nouns import Sample
from ..samples import weighed_by_samples
from .document import Leaf, plain

if TYPE_CHECKING:
    from ..nouns import Token
    from .document import Node, Schema


# When two values of a field are the same without a judge: numbers, dates, enums, identifiers, true, false and null.


ABSENT: Hashable = ("absent",)
"""The key of a field that an answer does not have."""
UNPARSED: Hashable = ("unparsed",)
"""The key of every field of an answer that is not JSON."""

_DATES = ("date", "date-time", "time")
# Formats whose texts are names of something: one other character is another thing, however alike they look.
_IDENTIFIERS = ("uuid", "uri", "uri-reference", "iri", "email", "idn-email", "hostname", "ipv4", "ipv6")


def value_key(node: Node, schema: Schema) -> Hashable | None:
    """What a value is compared by; None for text, which is for the judge, and for objects and lists.

    >>> from .document import find_json
    >>> def key(text, **schema):
    ...     return value_key(find_json(text, ""), schema)
    >>> key("12") == key("12.0") == key('"12"', type="number"), key("12") == key("13")
    (True, False)
    >>> key('"2024-07-04"', format="date") == key('"July 4, 2024"', format="date")
    True
    >>> key('"red"', enum=["Red", "Green"]) == key('"Red"', enum=["Red", "Green"]), key('"Paris"')
    (True, None)
    """
    value = node.value
    if isinstance(value, dict | list):
        return ("empty", type(value).__name__) if not value else None
    listed = schema.get("enum", [schema["const"]] if "const" in schema else None)
    if listed:
        chosen = _listed(value, listed)
        if chosen is not None:
            return "choice", chosen
    if value is None or isinstance(value, bool):
        return "constant", value
    if isinstance(value, Decimal):
        return None if schema.get("type") == "string" else ("number", Fraction(value))
    return _text_key(value, schema)


def _listed(value: Any, listed: list[Any]) -> int | None:
    """The place of a value among those listed; texts are compared without case and closing stops."""
    for place, each in enumerate(listed):
        if each == value and isinstance(each, bool) == isinstance(value, bool):
            return place
    if isinstance(value, str):
        spelled = [normalise(each) if isinstance(each, str) else None for each in listed]
        return spelled.index(normalise(value)) if normalise(value) in spelled else None
    return None


def _text_key(text: str, schema: Schema) -> Hashable | None:
    kind, form = schema.get("type"), schema.get("format")
    if form in _DATES:
        return _date_key(text)
    if kind in ("number", "integer"):
        amount = quantity(text)
        return ("number", amount.value) if amount is not None and amount.unit == "" else None
    if form in _IDENTIFIERS or "pattern" in schema:
        folded = form in ("uuid", "email", "hostname")
        return "identifier", text.strip().casefold() if folded else text.strip()
    return None


def _date_key(text: str) -> Hashable | None:
    """A date or time by its parts, a moment by its place in time; None where it cannot be read as one."""
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        try:
            return "time", time.fromisoformat(text.strip())
        except ValueError:
            amount = quantity(text)
            dated = amount is not None and (amount.date is not None or amount.unit == "time")
            return ("date", amount) if dated else None
    if len(text.strip()) <= len("2024-07-04"):
        return "date", quantity(moment.date().isoformat())
    return "moment", moment.astimezone(UTC) if moment.tzinfo is not None else moment


def as_text(node: Node) -> str:
    """A value as it is shown, and as the judge reads it: text as it is, anything else as JSON.

    >>> from .document import find_json
    >>> as_text(find_json('{"a": [1, "b"]}'))
    '{"a": [1, "b"]}'
    """
    return node.value if isinstance(node.value, str) else json.dumps(plain(node), ensure_ascii=False)


# What the log-probabilities of an answer's tokens say about the value of one field.
#
# The value is at least as probable as the whole answer. A better bound is the probability of the answer's beginning,
# up to where the value ends: whatever follows, the field has this value. Two different beginnings exclude each other,
# so that their probabilities add up. The beginning needs no end token, which many endpoints leave out; and where an
# endpoint masks tokens that the schema forbids, the log-probabilities before the mask are lower still, so they bound
# as well.
#
# The value's own tokens say more: their probability given what stands before them. Where that is nearly certain
# (`CERTAIN`), as for the first field, or does not matter to the value, the field is as well known as a plain answer.


CERTAIN = 0.9
"""The probability from which what stands before a value is taken for certain; bounds are too low by 10% at most."""

SUM_SLACK = 1e-6  # by which a sum of token log-probabilities may differ from that of the sequence


def sample_with_bound(sample: Sample, text: str, node: Node | None, *, beginnings: bool) -> Sample:
    """The field's `text` with the log-probability of the event that bounds it: the beginning, or the whole answer."""
    if not beginnings:
        tokens = (sample.text,) if sample.tokens is None else sample.tokens
        return Sample(text, sample.logprob, tokens, None, sample.complete)
    found = None if node is None else _beginning(sample, node)
    logprob, tokens = (None, (sample.text,)) if found is None else found
    return Sample(text, logprob, tokens, None, sample.complete)


def as_drawn(answer: Sample) -> Sample:
    """The judged answer as one of the samples: its log-probabilities are at their temperature, or unknown."""
    whole = answer.prefix_logprob if answer.sampling_logprob is None else answer.sampling_logprob
    parts = answer.token_logprobs
    if whole is None or parts is None or abs(math.fsum(parts) - whole) > SUM_SLACK * (1 + abs(whole)):
        parts = None
    return replace(answer, logprob=answer.sampling_logprob, token_logprobs=parts, temperature=None)


def as_judged(drawn: Sample) -> Sample:
    """The inverse, for a part of the answer."""
    return replace(drawn, logprob=None, sampling_logprob=drawn.logprob)


def begins(sample: Sample) -> bool:
    """Whether the tokens of a sample spell its text, so that the probability of its beginning is known."""
    if sample.temperature not in (None, 1.0):
        return False
    return _spelled(sample) is not None


def certain_before(sample: Sample, node: Node | None, earlier: Sequence[tuple[int, int]]) -> bool:
    """Whether what stands before the value and may matter to it, the places `earlier` in the text, is nearly certain.

    Keys and marks are left out: where an endpoint is restricted to a schema, it writes them whatever it would say.
    """
    place, spelled = None if node is None else _value_tokens(sample, node), _spelled(sample)
    if place is None or spelled is None or sample.token_logprobs is None:
        return False
    total, end = 0.0, -spelled.blanks
    for piece, logprob in zip(spelled.pieces[: place.start], sample.token_logprobs, strict=False):
        start, end = end, end + len(piece)
        total += logprob if any(start < last and end > first for first, last in earlier) else 0.0
    return total >= math.log(CERTAIN)


def sample_with_own(sample: Sample, text: str, node: Node | None) -> Sample:
    """The field's `text` with the log-probability of the value's own tokens, given everything before them.

    What closes the value is part of it, as the end token is of a plain answer: the quote, or whatever follows a number.
    A text without quotes is closed by the end token; where the endpoint leaves that out, so does the log-probability.
    """
    place = None if node is None else _value_tokens(sample, node)
    if node is None or place is None or sample.tokens is None or sample.token_logprobs is None:
        return Sample(text, complete=sample.complete)
    own = slice(place.start, place.stop)
    entropies = sample.token_entropies
    logprob = min(0.0, math.fsum(sample.token_logprobs[own]))
    spelled = "".join(map(str, sample.tokens[: own.stop])).lstrip()
    closed = len(spelled) >= _closed_at(node, sample.text)
    return Sample(
        text,
        logprob if closed else None,
        sample.tokens[own],
        complete=sample.complete,
        prefix_logprob=None if closed else logprob,
        token_entropies=entropies[own]
        if entropies is not None and len(entropies) == len(sample.tokens)
        else None,
    )


def pooled(values: Sequence[Sample]) -> list[Sample] | None:
    """Values with the same tokens get the mean of their probabilities; None where together they have more than 1.

    Probabilities given different text before may differ. Values that are probable after one beginning and different
    after another are not draws from one distribution: the field depends on what stands before it.

    >>> [a, b] = pooled([Sample("x", -0.1, ("x",)), Sample("x", -0.3, ("x",))])
    >>> round(a.logprob, 3), a.logprob == b.logprob, pooled([Sample(t, -0.1, (t,)) for t in "xy"])
    (-0.195, True, None)
    """
    found: dict[object, list[float]] = {}
    for value in values:
        if value.logprob is not None:
            found.setdefault(value.tokens, []).append(math.exp(value.logprob))
    means = {tokens: math.fsum(own) / len(own) for tokens, own in found.items()}
    if math.fsum(means.values()) > 1 + MOST_EXCESS:
        return None
    return [
        each if each.logprob is None else replace(each, logprob=math.log(means[each.tokens]))
        for each in values
    ]


def _value_tokens(sample: Sample, node: Node) -> range | None:
    """The places of the tokens that spell a value and its end; None where they spell words of something else too."""
    spelled = _spelled(sample)
    if spelled is None:
        return None
    first, start = None, -spelled.blanks
    for place, piece in enumerate(spelled.pieces):
        end = start + len(piece)
        if first is None and end > node.start:
            first = place
            if _has_words(sample.text[max(0, start) : node.start]):
                return None
        if end >= _closed_at(node, sample.text):
            words = _has_words(sample.text[node.end : end])
            return None if words or first is None else range(first, place + 1)
        start = end
    # The value is the last thing said, and the end token is left out.
    return None if first is None or start < node.end else range(first, len(spelled.pieces))


def _closed_at(node: Node, text: str) -> int:
    """Where the value is at its end: without a closing mark only once something follows, 12 may go on to be 123."""
    quoted = isinstance(node.value, str) and node.value != text[node.start : node.end]
    return node.end + (0 if quoted or isinstance(node.value, dict | list) else 1)


def _has_words(text: str) -> bool:
    return any(character.isalnum() for character in text)


def _beginning(sample: Sample, node: Node) -> tuple[float, tuple[Token, ...]] | None:
    """The log-probability of the tokens up to the end of a value, and these tokens; None where it is unknown."""
    spelled = _spelled(sample)
    if spelled is None or sample.token_logprobs is None:
        return None
    end = -spelled.blanks
    for count, piece in enumerate(spelled.pieces, start=1):
        end += len(piece)
        if end >= _closed_at(node, sample.text):
            return min(0.0, math.fsum(sample.token_logprobs[:count])), spelled.pieces[:count]
    return None


class _Spelled(NamedTuple):
    """The tokens of a sample as texts that together spell it, and the number of blanks before its text."""

    pieces: tuple[str, ...]
    blanks: int


def _spelled(sample: Sample) -> _Spelled | None:
    """None where the tokens do not spell the text, or where their log-probabilities are unknown."""
    text, tokens, logprobs = sample.text, sample.tokens, sample.token_logprobs
    if not tokens or not logprobs or len(tokens) != len(logprobs):
        return None
    pieces = tuple(token for token in tokens if isinstance(token, str))
    joined = "".join(pieces)
    blanks = len(joined) - len(joined.lstrip())
    if len(pieces) != len(tokens) or not text or not joined.startswith(text, blanks):
        return None
    return _Spelled(pieces, blanks)


@dataclass(slots=True)
class LabelledAnswer:
    """The fields of one answer by path, and the meaning of each; a list has the meanings of its items.

    start    where the JSON begins; models may write prose before it
    refused  the fields whose value is none of those offered
    """

    leaves: dict[str, Leaf] = field(default_factory=dict)
    labels: dict[str, Hashable] = field(default_factory=dict)
    start: int = 0
    refused: frozenset[str] = frozenset()

    def earlier(self, path: str) -> list[str]:
        """The fields whose values stand before that of this one."""
        mine = self.node(path)
        if mine is None:
            return []
        leaves = self.leaves.items()
        return [p for p, leaf in leaves if leaf.node is not None and leaf.node.end <= mine.start]

    def certain_before(self, sample: Sample, path: str) -> bool:
        """Whether the prose and the values before that of this field are nearly certain in `sample`, its text."""
        nodes = [self.node(each) for each in self.earlier(path)]
        places = [(node.start, node.end) for node in nodes if node is not None]
        return certain_before(sample, self.node(path), [(0, self.start), *places])

    def node(self, path: str) -> Node | None:
        """The value of the field, None where there is none."""
        leaf = self.leaves.get(path)
        return None if leaf is None else leaf.node


class ItemLabels(tuple[Hashable, ...]):
    """The meanings of a list's items; two lists are equal if they have the same items in any order."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ItemLabels) and Counter(self) == Counter(other)

    def __hash__(self) -> int:
        return hash(frozenset(Counter(self).items()))


class SideBySide:
    """The answer and its samples, some of which may be unparsed (None in `found`)."""

    def __init__(
        self,
        answer: Sample | None,
        own: LabelledAnswer | None,
        samples: tuple[Sample, ...],
        found: Sequence[LabelledAnswer | None],
    ) -> None:
        self._answer = None if answer is None else as_drawn(answer)
        self._own, self._samples, self._found = own, samples, found
        # An answer that begins well may still end as invalid JSON: where one did, only whole answers are bounds.
        known = any(map(begins, samples)) or (self._answer is not None and begins(self._answer))
        self._beginnings = None not in found and known

    def readings(self) -> Iterator[FieldReading]:
        """Every field of the answer, then those that only samples have."""
        for path, leaf in self._paths().items():
            mine = None if self._own is None else self._own.labels.get(path, ABSENT)
            if isinstance(mine, ItemLabels) and leaf.node is not None:
                yield from self._items(path, leaf, mine)
                continue
            reading = self._reading(path, path, leaf, leaf.node, mine, lambda label: label)
            reading = replace(reading, own=self._own_values(path, reading))
            if leaf.required and leaf.node is None and self._own is not None:
                reading = replace(reading, missing="the answer does not have it")
            if self._own is not None and path in self._own.refused:
                reading = replace(reading, missing="it was not offered")
            yield reading

    def _own_values(self, path: str, reading: FieldReading) -> OwnValues | None:
        """Each value with what its own tokens say; None where that is unknown, or contradicts itself."""
        if not self._beginnings:
            return None
        nodes = [None if each is None else each.node(path) for each in self._found]
        held = list(zip(self._samples, reading.samples, nodes, strict=True))
        values = [sample_with_own(sample, shown.text, node) for sample, shown, node in held]
        pairs = zip(self._samples, self._found, strict=True)
        certain = [each is not None and each.certain_before(sample, path) for sample, each in pairs]
        answer = None
        if self._answer is not None and self._own is not None and reading.answer is not None:
            answer = as_judged(sample_with_own(self._answer, reading.answer.text, self._own.node(path)))
            answer = weighed_by_samples(answer, values)
            if begins(self._answer):
                certain = [self._own.certain_before(self._answer, path)]
            values.append(replace(answer, logprob=answer.sampling_logprob))
        known = any(value.logprob is not None or value.prefix_logprob is not None for value in values)
        made = pooled(values) if known else None
        if made is None or (answer is None and not all(certain)):
            return None
        if answer is not None:
            answer = replace(answer, sampling_logprob=made.pop().logprob)
        agreeing, differing = self._elsewhere(path)
        return OwnValues(answer, tuple(made), all(certain), agreeing, differing)

    def _elsewhere(self, path: str) -> tuple[int, int]:
        """How many samples with other earlier fields have the answer's value of this one, and how many another."""
        if self._own is None or self._own.node(path) is None:
            return 0, 0
        labels, earlier = self._own.labels, self._own.earlier(path)
        others = [
            each
            for each in self._found
            if each is not None and any(each.labels.get(p, ABSENT) != labels[p] for p in earlier)
        ]
        agreeing = sum(each.labels.get(path, ABSENT) == labels[path] for each in others)
        return agreeing, len(others) - agreeing

    def _paths(self) -> dict[str, Leaf]:
        """The fields by path; the answer decides what is required, where there is one."""
        paths: dict[str, Leaf] = {} if self._own is None else dict(self._own.leaves)
        others = {
            path: leaf for each in self._found if each is not None for path, leaf in each.leaves.items()
        }
        for path, leaf in others.items():
            required = leaf.required and self._own is None
            paths.setdefault(path, Leaf(path, None, leaf.schema, required))
        return paths

    def _items(self, path: str, leaf: Leaf, mine: ItemLabels) -> Iterator[FieldReading]:
        """Each different item of the answer: is it in the samples? And the commonest item that the answer lacks."""
        assert leaf.node is not None
        for place, label in enumerate(mine):
            if label not in mine[:place]:
                node = leaf.node.value[place]
                yield self._reading(f"{path}[{place}]", path, leaf, node, True, _contains(label))
        others: dict[Hashable, Node] = {}
        counts: Counter[Hashable] = Counter()
        for each in self._found:
            held, node = (None, None) if each is None else (each.labels.get(path), each.node(path))
            if isinstance(held, ItemLabels) and node is not None:
                new = {label: item for label, item in zip(held, node.value, strict=True) if label not in mine}
                others = {**new, **others}
                counts.update(new.keys())
        if counts:
            label = counts.most_common(1)[0][0]
            yield self._reading(f"{path}[+]", path, leaf, others[label], False, _contains(label))

    def _reading(
        self,
        name: str,
        path: str,
        leaf: Leaf,
        node: Node | None,
        label: Hashable | None,
        meaning: Callable[[Hashable], Hashable],
    ) -> FieldReading:
        """The field at `path`, or an item of it; `node` is the value judged, `meaning` turns a field's label to its."""
        labels: list[Hashable] = []
        texts: list[Sample] = []
        for sample, each in zip(self._samples, self._found, strict=True):
            held = UNPARSED if each is None else each.labels.get(path, ABSENT)
            value = None if each is None else each.node(path)
            labels.append(held if held == UNPARSED else meaning(held))
            text = UNPARSED_TEXT if each is None else _shown(value, labels[-1], node)
            texts.append(sample_with_bound(sample, text, value, beginnings=self._beginnings))
        answer = None
        if self._answer is not None and self._own is not None:
            value = self._own.node(path)
            text = _shown(value, label, node)
            answer = as_judged(sample_with_bound(self._answer, text, value, beginnings=self._beginnings))
        shown = None if node is None else plain(node)
        return FieldReading(name, shown, leaf.required, answer, tuple(texts), label, tuple(labels))


def _contains(label: Hashable) -> Callable[[Hashable], bool]:
    return lambda held: isinstance(held, ItemLabels) and label in held


def _shown(value: Node | None, label: Hashable, item: Node | None) -> str:
    """The text of a field; of an item (`label` is True or False) where the list has it."""
    if value is None or label is False:
        return "(absent)"
    return as_text(item) if label is True and item is not None else as_text(value)
