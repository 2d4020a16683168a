"""The log-probability of an answer that is already there, read from those of a prompt that ends with it.

vLLM returns them in chat for `prompt_logprobs`; completions endpoints return them for `echo`. One request reads the
prompt once and generates a single token.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .replies import are_logprobs, well_formed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..nouns import Sample

__all__ = ["CHAT_FIELDS", "ECHO_END", "ECHO_FIELDS", "echoed", "prompted"]

# Of each place of the prompt its token, and the likeliest where that is another one.
CHAT_FIELDS = {"prompt_logprobs": 1, "add_generation_prompt": False, "max_tokens": 1, "temperature": 1.0}
ECHO_FIELDS = {"echo": True, "logprobs": 1, "max_tokens": 1, "temperature": 1.0}
ECHO_END = "\n\n"  # what ends an answer among the examples of the brief prompt

Piece = tuple[str, float | None]


def prompted(reply: dict[str, Any], answer: Sample) -> Sample | None:
    """The answer with its log-probability from `prompt_logprobs`; None where it is not found there.

    The token after the answer is the one that the template ends a turn with, as the model itself does. After thinking,
    which a template may put before an answer, the probabilities are not those of the answers that are sampled.
    """
    pieces = [_prompt_token(place) for place in reply["prompt_logprobs"] if place]
    for end in range(len(pieces) - 1, 0, -1):
        start = _start(pieces[:end], answer.text)
        if start is not None:
            before = "".join(token for token, _ in pieces[:start]).rstrip()
            return None if before.endswith("</think>") else _weighed(answer, pieces[start : end + 1])
    return None


def echoed(reply: dict[str, Any], prompt: str, answer: Sample) -> Sample | None:
    """The answer with its log-probability from an echoed prompt that ends with it and `ECHO_END`."""
    logprobs = reply["choices"][0]["logprobs"]
    pieces = list(zip(map(well_formed, logprobs["tokens"]), logprobs["token_logprobs"], strict=True))
    place, offset = 0, 0
    while place < len(pieces) and offset + len(pieces[place][0]) <= len(prompt):
        offset += len(pieces[place][0])
        place += 1
    for end in range(place + 1, len(pieces)):
        said = "".join(token for token, _ in pieces[place:end])
        if said.strip() == answer.text and "\n" in pieces[end][0]:
            return _weighed(answer, pieces[place : end + 1]) if offset == len(prompt) else None
    return None


def _prompt_token(place: dict[str, dict[str, Any]]) -> Piece:
    """The prompt's own token: the only one, or the one that is not the likeliest."""
    entry = max(place.values(), key=lambda each: each.get("rank") or 0)
    return well_formed(str(entry["decoded_token"])), float(entry["logprob"])


def _start(pieces: Sequence[Piece], text: str) -> int | None:
    """Where the tokens begin that end here and spell `text`, or None."""
    said = ""
    for place in range(len(pieces) - 1, -1, -1):
        said = pieces[place][0] + said
        if said.strip() == text and pieces[place][0].strip():
            return place
        if len(said.strip()) >= len(text):
            return None
    return None


def _weighed(answer: Sample, pieces: Sequence[Piece]) -> Sample | None:
    values = [value for _, value in pieces if value is not None]
    if len(values) < len(pieces) or not are_logprobs(values):
        return None
    tokens = tuple(token for token, _ in pieces)
    return replace(answer, tokens=tokens, sampling_logprob=math.fsum(min(0.0, value) for value in values))
