"""One meaning in many wordings, and as many meanings: what a check says of models whose distribution is known.

The model gives W equally likely answers, each with its log-probability, and a scripted judge knows which of them mean
the same. One meaning in W wordings must never be flagged, and be found steady within four samples; W meanings must be
flagged. Both with and without the texts of the answer's tokens, which tell the words that carry the answer.
`python -m benchmarks.wordings [--checks 40]`.
"""

from __future__ import annotations

import argparse
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from semtropy import Sample, Verdict, check
from semtropy.meaning import ScriptedJudge
from semtropy.models import ScriptedModel
from semtropy.testing.emulator import END, TokenModel

NUMBERS = (2, 4, 8, 20, 100, 1000)
BEGINNINGS = (
    "It is well known that",
    "As everybody learns at school,",
    "The short answer is that",
    "If I remember correctly,",
    "According to every atlas,",
    "Since the year it was founded,",
    "Although many people guess wrong,",
    "To answer your question,",
    "As a matter of fact,",
    "Strictly speaking,",
)
MIDDLES = (
    "the capital of Australia is",
    "Australia's capital is",
    "the seat of the Australian government is",
    "the Australian capital city is",
    "Australia is governed from",
    "the country's capital is",
    "the federal capital is",
    "the nation's capital city is",
    "the capital you are asking about is",
    "its parliament sits in its capital,",
)
ENDS = (
    "Canberra.",
    "the city of Canberra.",
    "Canberra, of course.",
    "Canberra, and no other city.",
    "a city called Canberra.",
    "Canberra, as it happens.",
    "none other than Canberra.",
    "the planned city of Canberra.",
    "Canberra, without a doubt.",
    "what people call Canberra.",
)
FORMS = {
    "sentences": [" ".join(parts) for parts in product(BEGINNINGS, MIDDLES, ENDS)],
    "names": [f"Canberra {''.join(letters)}" for letters in product("abcdefghij", repeat=3)],
}


class WordByWord:
    """A model that draws equally likely texts word by word, and tells the probability of each word."""

    name = "word-by-word"

    def __init__(self, texts: Sequence[str]) -> None:
        self._tokens = TokenModel(dict.fromkeys(texts, 1.0))

    def sample(
        self, prompt: object, n: int, *, temperature: float = 1.0, rng: np.random.Generator | None = None
    ) -> list[Sample]:
        source = random.Random(int(np.random.default_rng(rng).integers(1 << 31)))
        return [self._sample(temperature, source) for _ in range(n)]

    def _sample(self, temperature: float, source: random.Random) -> Sample:
        pieces = tuple(self._tokens.draw(temperature, source, 1000))
        logprob = math.fsum(value for _, value in pieces)
        return Sample(
            "".join(token for token, _ in pieces).removesuffix(END),
            logprob if temperature == 1.0 else None,
            tuple(token for token, _ in pieces),
            sampling_logprob=logprob,
            pieces=pieces,
        )


@dataclass(frozen=True, slots=True)
class Outcomes:
    """What the checks of one model said: how many were steady and flagged, the samples and the agreement."""

    steady: int
    flagged: int
    samples: tuple[int, ...]
    agreement: tuple[float, ...]

    @classmethod
    def of(cls, verdicts: list[Verdict]) -> Outcomes:
        outcomes = [str(verdict.outcome) for verdict in verdicts]
        agreement = [verdict.agreement.mean for verdict in verdicts if verdict.agreement is not None]
        samples = tuple(verdict.samples for verdict in verdicts)
        return cls(outcomes.count("steady"), outcomes.count("flagged"), samples, tuple(agreement))


def outcomes(number: int, form: str, *, same: bool, checks: int, words: bool = False) -> Outcomes:
    """The outcomes of some checks of a model with `number` equally likely answers, of one meaning or all different.

    With `words` the model tells the probability of each word of an answer.
    """
    texts = FORMS[form][:: len(FORMS[form]) // number][:number]
    model = WordByWord(texts) if words else ScriptedModel(default=dict.fromkeys(texts, 1 / number))
    judge = ScriptedJudge(lambda question, a, b: float(same or a == b))
    asked = (
        check("What is the capital of Australia?", model=model, judge=judge, rng=seed)
        for seed in range(checks)
    )
    return Outcomes.of(list(asked))


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.wordings", description=__doc__)
    parser.add_argument("--checks", type=int, default=40, help="checks of each model (default: 40)")
    options = parser.parse_args(arguments)
    for form, words in (*((form, False) for form in FORMS), ("sentences", True)):
        for same in (True, False):
            how = " word by word" if words else ""
            print(f"{form}{how}, {'one meaning' if same else 'as many meanings'}:")
            for number in NUMBERS:
                found = outcomes(number, form, same=same, checks=options.checks, words=words)
                print(
                    f"  {number:5}  steady {found.steady}, flagged {found.flagged} of {options.checks}; samples"
                    f" {np.mean(found.samples):.2f}, at most {max(found.samples)}; agreement"
                    f" {np.mean(found.agreement):.3f}, at least {min(found.agreement):.3f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
