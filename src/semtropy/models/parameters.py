"""The parameters of a request: everything that helps is sent, and what an endpoint refuses is left out afterwards.

Refusals are remembered as a set of these words:

logprobs     no log-probabilities
exact        neither `top_k` nor `min_p`, which keep other servers from cutting the distribution
n            one answer per request
seed         no seed
top_p        no `top_p`
cold         no temperature other than 1, as with models that reason
temperature  no temperature at all: the model's own, which is 1 for the models known to refuse it
max_tokens   the limit is called `max_completion_tokens`, as with models that reason
unweighed    log-probabilities were asked for, and none came back that can be used
prompt       no log-probabilities of a prompt, by which a given answer would be weighed
thinking     a short limit was used up before the answer began: the model thinks first
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ..errors import PromptTooLong

if TYPE_CHECKING:
    from .endpoint import Refused

__all__ = ["THINKING_TOKENS", "Wanted", "known_refusals", "newly_refused"]

# What whole services refuse, so that the first request to them need not find it out.
_GOOGLE = {"exact", "seed", "thinking", "logprobs"}
_BY_HOST = {
    "api.openai.com": {"exact"},
    "api.anthropic.com": {"n", "top_p"},
    "generativelanguage.googleapis.com": _GOOGLE,
}
# By these words a service is known behind another address, so that one refusal teaches all of it.
_BY_WORDS = {r"Invalid JSON payload received": _GOOGLE}

THINKING_TOKENS = 4096
"""The default limit on tokens for a model that thinks before it answers."""

_OF_FIELD = {
    "logprobs": "logprobs",
    "top_logprobs": "logprobs",
    "top_k": "exact",
    "min_p": "exact",
    "n": "n",
    "seed": "seed",
    "top_p": "top_p",
    "temperature": "temperature",
    "max_tokens": "max_tokens",
}
# How endpoints name what they refuse, where they name no field.
_IN_MESSAGE = {
    "logprobs": r"logprob",
    "exact": r"top_k|min_p",
    "n": r"\bn\b|n_cmpl|slots|best_of|multiple candidates|candidate_?count|number of (choices|completions)",
    "seed": r"\bseed\b",
    "top_p": r"top_?p\b",
    "temperature": r"temperature",
    "max_tokens": r"max_completion_tokens",
}
_UNKNOWN_FIELD = r"unrecognized|unknown (field|param|arg)|extra (input|field)|unexpected|not permitted"
_NOT_BOTH = r"\b(both|together|only one|mutually)\b"
_TOO_LONG = (r"context|too long|maximum.*tokens", r"exceed|maximum|too long")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a request asks for where the endpoint takes it.

    max_tokens      the limit that the user set, None for the default
    default_tokens  the default limit of a model that answers at once
    logprobs        the fields that ask for log-probabilities
    """

    n: int
    temperature: float
    seed: int
    max_tokens: int | None
    default_tokens: int
    logprobs: Mapping[str, Any]

    def fields(self, refused: frozenset[str]) -> dict[str, Any]:
        """The fields of the request, without those that were refused.

        >>> Wanted(2, 0.1, 7, None, 64, {"logprobs": True}).fields(frozenset({"cold", "exact", "logprobs", "n"}))
        {'temperature': 1.0, 'top_p': 1.0, 'seed': 7, 'max_tokens': 64}
        """
        body: dict[str, Any] = {"temperature": self.drawn_at(refused), "top_p": 1.0, "n": self.n}
        body["seed"] = self.seed
        body["max_completion_tokens" if "max_tokens" in refused else "max_tokens"] = self.limit(refused)
        if "logprobs" not in refused:
            body |= self.logprobs
        if "exact" not in refused:
            body |= {"top_k": -1, "min_p": 0.0}
        for name in {"n", "seed", "top_p", "temperature"} & refused:
            del body[name]
        return body

    def drawn_at(self, refused: frozenset[str]) -> float:
        """The temperature at which the answers are drawn."""
        return 1.0 if refused & {"cold", "temperature"} else self.temperature

    def limit(self, refused: frozenset[str]) -> int:
        """The most tokens of an answer, those spent on thinking included."""
        if self.max_tokens is not None:
            return self.max_tokens
        return THINKING_TOKENS if refused & {"thinking", "max_tokens"} else self.default_tokens


def known_refusals(base_url: str) -> frozenset[str]:
    """What is known of a service before it is asked.

    >>> sorted(known_refusals("https://api.anthropic.com/v1")), known_refusals("http://localhost:8000/v1")
    (['n', 'top_p'], frozenset())
    """
    with suppress(ValueError):  # not an address; what is wrong with it is said where it is asked
        return frozenset(_BY_HOST.get(urlsplit(base_url).hostname or "", ()))
    return frozenset()


def newly_refused(error: Refused, sent: Mapping[str, Any], model: str) -> frozenset[str]:
    """What the refusal of the request with the fields `sent` teaches; nothing if it has another reason.

    Raises PromptTooLong where that is the reason.
    """
    field = _OF_FIELD.get(error.param or "")
    said = f"{error.param or ''} {error.message}"
    if field is None and all(re.search(words, said) for words in _TOO_LONG):
        raise PromptTooLong(f"the prompt is too long for {model}: {error.message}") from error
    found = {name for name, words in _IN_MESSAGE.items() if re.search(words, said, re.IGNORECASE)}
    if field is not None:
        found = {field}
    if not found and re.search(_UNKNOWN_FIELD, said, re.IGNORECASE):
        found = {"exact"}
    known = {name for words, all_of_it in _BY_WORDS.items() if re.search(words, said) for name in all_of_it}
    if {"temperature", "top_p"} <= found and re.search(_NOT_BOTH, said, re.IGNORECASE):
        found.remove("temperature")
    held = {_OF_FIELD[name] for name in sent if name in _OF_FIELD}
    found &= held if sent.get("n", 1) > 1 else held - {"n"}
    if "temperature" in found and sent["temperature"] != 1.0:
        found = found - {"temperature"} | {"cold"}
    return frozenset(found | known if found else found)
