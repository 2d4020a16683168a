"""The fields of an answer beside those of its samples, each with what bounds its probability."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ..fields import UNPARSED_TEXT, FieldReading, OwnValues
from ..samples import weighed_by_samples
from .bounds import (
    answer_begins,
    answer_with_bound,
    answer_with_own,
    begins,
    certain_before,
    pooled,
    sample_with_bound,
    sample_with_own,
)
from .document import plain
from .values import ABSENT, UNPARSED, as_text
from .walk import Leaf

if TYPE_CHECKING:
    from ..nouns import Sample
    from .document import Node

__all__ = ["ItemLabels", "LabelledAnswer", "SideBySide"]


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
        self._answer, self._own, self._samples, self._found = answer, own, samples, found
        # An answer that begins well may still end as invalid JSON: where one did, only whole answers are bounds.
        known = any(map(begins, samples)) or (answer is not None and answer_begins(answer))
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
            mine = self._own.node(path)
            answer = answer_with_own(self._answer, reading.answer.text, mine)
            answer = weighed_by_samples(answer, values)
            if answer_begins(self._answer):
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
            text = _shown(self._own.node(path), label, node)
            answer = answer_with_bound(self._answer, text, self._own.node(path), beginnings=self._beginnings)
        shown = None if node is None else plain(node)
        return FieldReading(name, shown, leaf.required, answer, tuple(texts), label, tuple(labels))


def _contains(label: Hashable) -> Callable[[Hashable], bool]:
    return lambda held: isinstance(held, ItemLabels) and label in held


def _shown(value: Node | None, label: Hashable, item: Node | None) -> str:
    """The text of a field; of an item (`label` is True or False) where the list has it."""
    if value is None or label is False:
        return "(absent)"
    return as_text(item) if label is True and item is not None else as_text(value)
