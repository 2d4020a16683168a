"""Whether an endpoint's log-probabilities are those before or after the temperature is applied.

Endpoints differ, and do not say. An answer drawn at a low temperature has nearly no loss per token after the
temperature; before it, its tokens have the log-probabilities that samples with the same beginning have. Comparing the
two for one prompt tells which it is, for all later prompts.
"""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from itertools import islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..nouns import Sample, Token

    Beginning = tuple[tuple[Token, float], ...]

__all__ = ["TemperatureProbe"]

PROMPTS = 64  # prompts whose answer and samples wait for each other
SAMPLES = 4  # answers, and samples, of one prompt that are kept
TOKENS = 32  # with which each of them begins
SAME = 0.02  # log-probabilities that differ by less are the same number
TELLING = -0.05  # a token that is nearly certain has the same log-probability at every temperature


class TemperatureProbe:
    """Compares cold answers with samples of the same prompt until the question is settled.

    `before_temperature` is None until then.
    """

    def __init__(self) -> None:
        self.before_temperature: bool | None = None
        self._seen: OrderedDict[bytes, tuple[list[Beginning], list[Beginning]]] = OrderedDict()

    def observe(self, fields: dict[str, Any], temperature: float, samples: Sequence[Sample]) -> None:
        """Note the reply to one request: an answer at a temperature below 1, or samples at 1, in any order."""
        if self.before_temperature is not None or not samples:
            return
        # Clients choose the prompts and may repeat one for ever: of each only a digest and a few tokens are kept.
        prompt = hashlib.blake2b(json.dumps(fields, sort_keys=True, default=str).encode(), digest_size=16)
        cold, warm = self._seen.setdefault(prompt.digest(), ([], []))
        held = warm if temperature == 1.0 else cold
        held[:] = [*held, *map(_beginning, samples[:SAMPLES])][-SAMPLES:]
        while len(self._seen) > PROMPTS:
            self._seen.popitem(last=False)
        pairs = (pair for answer in cold for sample in warm for pair in _common_tokens(answer, sample))
        for reported, at_one in pairs:
            if at_one < TELLING:
                self.before_temperature = abs(reported - at_one) < SAME
                self._seen.clear()
                return


def _beginning(sample: Sample) -> Beginning:
    """The first tokens of a sample with their log-probabilities; none where they are unknown."""
    pairs = zip(sample.tokens or (), sample.token_logprobs or (), strict=False)
    return tuple(islice(pairs, TOKENS))


def _common_tokens(one: Beginning, other: Beginning) -> Iterator[tuple[float, float]]:
    """The log-probabilities of the tokens with which both begin."""
    for (token, logprob), (same, its) in zip(one, other, strict=False):
        if token != same:
            return
        yield logprob, its
