"""`scripted:FILE.json`: a model with known answer probabilities, for tests and documentation."""

from __future__ import annotations

import asyncio
import copy
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Self

import numpy as np

from ..conversation import last_question
from ..errors import InputError, ModelError, one_line
from ..input_files import read_json
from ..nouns import Sample

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import NDArray

    from ..conversation import Prompt

__all__ = ["ScriptedModel", "scripted"]

Answers = Mapping[str, float]


class ScriptedModel:
    """Draws from a known distribution over answers, so that estimates can be compared with the truth.

    script       the answers of each prompt, with their probabilities; the prompt of a conversation is its last question
    default      the answers of every other prompt; without them another prompt is an error
    delay        seconds that `asample` waits before it answers
    name         the name of the model
    replacement  False draws without replacement: no answer of a call repeats another

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
        replacement: bool = True,
    ) -> None:
        self.name, self.delay, self.replacement = name, delay, replacement
        self._memory: dict[tuple[str, float], set[int]] | None = None
        self._script = {prompt: _checked(answers, prompt) for prompt, answers in (script or {}).items()}
        self._default = None if default is None else _checked(default, "default")

    def remembering(self) -> Self:
        """The same model, whose draws without replacement differ from call to call too, as those of `hf:` do."""
        fresh = copy.copy(self)
        fresh._memory = {}
        return fresh

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
        drawn = self._places(asked, temperature, weights, n, np.random.default_rng(rng))
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

    def _places(
        self, prompt: str, temperature: float, weights: NDArray[np.float64], n: int, rng: Generator
    ) -> Sequence[int]:
        """Which answers are drawn; fewer than `n` where none is left that was not drawn before."""
        if self.replacement:
            drawn: list[int] = rng.choice(len(weights), size=n, p=weights).tolist()
            return drawn
        memory = {} if self._memory is None else self._memory
        seen = memory.setdefault((prompt, temperature), set())
        others = [own for (asked, _), own in memory.items() if asked == prompt and temperature == 1.0]
        left = np.array([k for k in range(len(weights)) if k not in seen.union(*others)], dtype=int)
        places: list[int] = []
        while left.size and len(places) < n:
            shares = weights[left] / weights[left].sum()
            places.append(int(rng.choice(left, p=shares)))
            left = left[left != places[-1]]
        seen.update(places)
        return places

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


def scripted(path: str, *, replacement: bool = True) -> ScriptedModel:
    """Read a script from a JSON file: {"prompt": {"answer": probability}}; the prompt "*" answers all others."""
    data = read_json(path)
    if not isinstance(data, dict) or not all(isinstance(answers, dict) for answers in data.values()):
        raise InputError(f'{path}: expected {{"prompt": {{"answer": probability}}}}')
    default = data.pop("*", None)
    return ScriptedModel(data, default=default, name=f"scripted:{path}", replacement=replacement)
