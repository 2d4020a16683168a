"""What the log-probabilities of an answer's tokens say about the value of one field.

The value is at least as probable as the whole answer. A better bound is the probability of the answer's beginning, up
to where the value ends: whatever follows, the field has this value. Two different beginnings exclude each other, so
that their probabilities add up. The beginning needs no end token, which many endpoints leave out; and where an
endpoint masks tokens that the schema forbids, the log-probabilities before the mask are lower still, so they bound as
well.

The value's own tokens say more: their probability given what stands before them. Where that is nearly certain
(`CERTAIN`), as for the first field, or does not matter to the value, the field is as well known as a plain answer.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from ..evidence import MOST_EXCESS
from ..nouns import Sample

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..nouns import Token
    from .document import Node

__all__ = [
    "answer_begins",
    "answer_with_bound",
    "answer_with_own",
    "begins",
    "certain_before",
    "pooled",
    "sample_with_bound",
    "sample_with_own",
]

CERTAIN = 0.9
"""The probability from which what stands before a value is taken for certain; bounds are too low by 10% at most."""

SUM_SLACK = 1e-6  # by which a sum of token log-probabilities may differ from that of the sequence


def sample_with_bound(sample: Sample, text: str, node: Node | None, *, beginnings: bool) -> Sample:
    """The field's `text` with the log-probability of the event that bounds it: the beginning, or the whole answer."""
    if not beginnings:
        return Sample(text, sample.logprob, _identity(sample), None, sample.complete)
    found = None if node is None else _beginning(sample.text, sample.tokens, sample.token_logprobs, node)
    logprob, tokens = (None, (sample.text,)) if found is None else found
    return Sample(text, logprob, tokens, None, sample.complete)


def answer_with_bound(answer: Sample, text: str, node: Node | None, *, beginnings: bool) -> Sample:
    """The same for the judged answer, where its token log-probabilities are those of the samples' temperature."""
    bounded = replace(answer, logprob=answer.sampling_logprob)
    if beginnings and not _sampling_tokens(answer):
        bounded = replace(bounded, token_logprobs=None)
    made = sample_with_bound(bounded, text, node, beginnings=beginnings)
    return replace(made, logprob=None, sampling_logprob=made.logprob)


def begins(sample: Sample) -> bool:
    """Whether the tokens of a sample spell its text, so that the probability of its beginning is known."""
    if sample.temperature not in (None, 1.0):
        return False
    return _spelled(sample.text, sample.tokens, sample.token_logprobs) is not None


def answer_begins(answer: Sample) -> bool:
    """The same for the judged answer: its tokens must have log-probabilities at the samples' temperature."""
    return (
        _sampling_tokens(answer) and _spelled(answer.text, answer.tokens, answer.token_logprobs) is not None
    )


def certain_before(sample: Sample, node: Node | None, earlier: Sequence[tuple[int, int]]) -> bool:
    """Whether what stands before the value and may matter to it, the places `earlier` in the text, is nearly certain.

    Keys and marks are left out: where an endpoint is restricted to a schema, it writes them whatever it would say.
    """
    place = None if node is None else _value_tokens(sample, node)
    pieces = _spelled(sample.text, sample.tokens, sample.token_logprobs)
    if place is None or pieces is None or sample.token_logprobs is None:
        return False
    blanks, *spelled = pieces
    total, end = 0.0, -blanks
    for piece, logprob in zip(spelled[: place.start], sample.token_logprobs, strict=False):
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


def answer_with_own(answer: Sample, text: str, node: Node | None) -> Sample:
    """The same for the judged answer, where its token log-probabilities are those of the samples' temperature."""
    known = answer if _sampling_tokens(answer) else replace(answer, token_logprobs=None)
    made = sample_with_own(known, text, node)
    return replace(made, logprob=None, sampling_logprob=made.logprob)


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
    pieces = _spelled(sample.text, sample.tokens, sample.token_logprobs)
    if pieces is None:
        return None
    first, start = None, -pieces[0]
    for place, piece in enumerate(pieces[1:]):
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
    return None if first is None or start < node.end else range(first, len(pieces) - 1)


def _closed_at(node: Node, text: str) -> int:
    """Where the value is at its end: without a closing mark only once something follows, 12 may go on to be 123."""
    quoted = isinstance(node.value, str) and node.value != text[node.start : node.end]
    return node.end + (0 if quoted or isinstance(node.value, dict | list) else 1)


def _has_words(text: str) -> bool:
    return any(character.isalnum() for character in text)


def _sampling_tokens(answer: Sample) -> bool:
    parts = answer.token_logprobs
    whole = answer.prefix_logprob if answer.sampling_logprob is None else answer.sampling_logprob
    return (
        whole is not None
        and parts is not None
        and abs(math.fsum(parts) - whole) <= SUM_SLACK * (1 + abs(whole))
    )


def _identity(sample: Sample) -> tuple[Token, ...]:
    """What distinguishes the sequence: its tokens where known, else the whole text, not the field's."""
    return sample.tokens if sample.tokens is not None else (sample.text,)


def _beginning(
    text: str, tokens: Sequence[Token] | None, logprobs: Sequence[float] | None, node: Node
) -> tuple[float, tuple[Token, ...]] | None:
    """The log-probability of the tokens up to the end of a value, and these tokens; None where it is unknown."""
    pieces = _spelled(text, tokens, logprobs)
    if pieces is None or tokens is None or logprobs is None:
        return None
    total = -pieces[0]
    for place, piece in enumerate(pieces[1:]):
        total += len(piece)
        if total >= _closed_at(node, text):
            return min(0.0, math.fsum(logprobs[: place + 1])), tuple(tokens[: place + 1])
    return None


def _spelled(
    text: str, tokens: Sequence[Token] | None, logprobs: Sequence[float] | None
) -> tuple[int, *tuple[str, ...]] | None:
    """The number of blanks before the text, and the tokens as texts, if together they spell it."""
    if not tokens or not logprobs or len(tokens) != len(logprobs):
        return None
    pieces = [token for token in tokens if isinstance(token, str)]
    joined = "".join(pieces)
    blanks = len(joined) - len(joined.lstrip())
    if len(pieces) != len(tokens) or not text or not joined.startswith(text, blanks):
        return None
    return blanks, *pieces
