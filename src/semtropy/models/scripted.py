"""`scripted:FILE.json`: a model with known answer probabilities, for tests and documentation."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ..conversation import last_question
from ..errors import InputError, ModelError, one_line
from ..files import read_json
from ..nouns import Sample

if TYPE_CHECKING:
    from numpy.random import Generator

    from ..conversation import Prompt


Answers = Mapping[str, float]


class ScriptedModel:
    """Draws from a known distribution over answers, so that estimates can be compared with the truth.

    script       the answers of each prompt, with their probabilities; the prompt of a conversation is its last question
    default      the answers of every other prompt; without them another prompt is an error
    delay        seconds that `asample` waits before it answers
    name         the name of the model

    >>> model = ScriptedModel(default={"Paris": 0.75, "Lyon": 0.25})
    >>> [round(sample.logprob, 3) for sample in model.sample("Capital?", 2, rng=np.random.default_rng(1))]
    [-0.288, -1.386]
    """

    def __init__(
        self,
        script: Mapping[str, Answers] | None = None,
        *,
        default: Answers | None = None,
        delay: float = 0.0,
        name: str = "scripted",
    ) -> None:
        self.name, self.delay = name, delay
        self._script = {prompt: _checked(answers, prompt) for prompt, answers in (script or {}).items()}
        self._default = None if default is None else _checked(default, "default")

    def sample(
        self, prompt: Prompt, n: int, *, temperature: float = 1.0, rng: Generator | None = None
    ) -> list[Sample]:
        """Draw `n` answers; their log-probabilities are those of the distribution at `temperature`."""
        asked = last_question(prompt)
        answers = self._script.get(asked, self._default)
        if answers is None:
            raise ModelError(f"the script has no answers for this prompt ({len(self._script)} others)")
        texts = list(answers)
        original = np.array(list(answers.values()))
        weights = original ** (1.0 / max(temperature, 1e-3))
        weights = weights / weights.sum()
        drawn = np.random.default_rng(rng).choice(len(weights), size=n, p=weights).tolist()
        return [
            Sample(
                texts[k],
                math.log(weights[k]),
                (texts[k],),
                (math.log(weights[k]),),
                sampling_logprob=math.log(original[k]),
            )
            for k in drawn
        ]

    async def asample(
        self, prompt: Prompt, n: int, *, temperature: float = 1.0, rng: Generator | None = None
    ) -> list[Sample]:
        """`sample`, awaitable, after `delay` seconds."""
        await asyncio.sleep(self.delay)
        return self.sample(prompt, n, temperature=temperature, rng=rng)


def _checked(answers: Answers, prompt: str) -> dict[str, float]:
    bad = [p for p in answers.values() if type(p) not in (int, float) or not 0 < p < 1e9]
    if not answers or bad:
        raise InputError(
            f"the script for {one_line(repr(prompt), 80)}: each answer needs a probability above 0"
        )
    total = math.fsum(answers.values())
    if abs(total - 1) > 1e-6:
        raise InputError(
            f"the script for {one_line(repr(prompt), 80)}: its probabilities sum to {total:.6g}, not 1"
        )
    return dict(answers)


def scripted(path: str) -> ScriptedModel:
    """Read a script from a JSON file: {"prompt": {"answer": probability}}; the prompt "*" answers all others."""
    data = read_json(path)
    if not isinstance(data, dict) or not all(isinstance(answers, dict) for answers in data.values()):
        raise InputError(f'{path}: expected {{"prompt": {{"answer": probability}}}}')
    default = data.pop("*", None)
    return ScriptedModel(data, default=default, name=f"scripted:{path}")
