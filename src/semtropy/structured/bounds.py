"""What the log-probabilities of an answer's tokens say about the value of one field.

The value is at least as probable as the whole answer. A better bound is the probability of the answer's beginning, up
to where the value ends: whatever follows, the field has this value. Two different beginnings exclude each other, so
that their probabilities add up. The beginning needs no end token, which many endpoints leave out; and where an
endpoint masks tokens that the schema forbids, the log-probabilities before the mask are lower still, so they bound as
well.

Where everything before the value is nearly certain (`CERTAIN`), as for the first field, the probability of the
beginning is nearly that of the value's own tokens: the field is then as well known as a plain answer.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from ..nouns import Sample

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..nouns import Token
    from .document import Node

__all__ = ["answer_begins", "answer_with_bound", "begins", "certain_before", "sample_with_bound"]

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


def certain_before(sample: Sample, node: Node | None) -> bool:
    """Whether everything before the value is nearly certain, and the tokens of the value spell nothing else.

    They may begin before it and end after it, but with marks and blanks only.
    """
    pieces = _spelled(sample.text, sample.tokens, sample.token_logprobs)
    if pieces is None or node is None or sample.token_logprobs is None:
        return False
    start, before = -pieces[0], 0.0
    for piece, logprob in zip(pieces[1:], sample.token_logprobs, strict=True):
        end = start + len(piece)
        if end > node.start and _has_words(sample.text[max(0, start) : node.start]):
            return False
        if end >= node.end:
            return before >= math.log(CERTAIN) and not _has_words(sample.text[node.end : end])
        before += logprob if end <= node.start else 0.0
        start = end
    return False


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
    # A number or a word is at its end only once another character follows: 12 may go on to be 123.
    closed = isinstance(node.value, str | dict | list)
    end = node.end + (0 if closed else 1)
    total = -pieces[0]
    for place, piece in enumerate(pieces[1:]):
        total += len(piece)
        if total >= end:
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
