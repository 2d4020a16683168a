"""Whether log-probabilities are those before the temperature differs between endpoints; it is found out."""

from __future__ import annotations

import asyncio
import math
from typing import Any

import numpy as np
import pytest

from semtropy import check
from semtropy.models.openai import Chat

ANSWERS = {"Paris": 0.7, "Lyon": 0.3}


class Endpoint:
    """Answers from a known distribution; reports log-probabilities before or after the temperature."""

    base_url = label = "http://endpoint"

    def __init__(self, *, before: bool) -> None:
        self.before, self.asked = before, []

    async def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        self.asked.append(body["temperature"])
        rng = np.random.default_rng(body["seed"])
        plain = np.array(list(ANSWERS.values()))
        cold = plain ** (1 / max(body["temperature"], 1e-3))
        cold = cold / cold.sum()
        return {
            "choices": [
                self.choice(int(rng.choice(2, p=cold)), plain if self.before else cold)
                for _ in range(body["n"])
            ]
        }

    def choice(self, place: int, shown: np.ndarray) -> dict[str, Any]:
        text = list(ANSWERS)[place]
        tokens = [
            {"token": text, "bytes": list(text.encode()), "logprob": math.log(shown[place])},
            {"token": "<|end|>", "bytes": list(b"<|end|>"), "logprob": math.log(0.99)},
        ]
        return {"message": {"content": text}, "finish_reason": "stop", "logprobs": {"content": tokens}}


@pytest.mark.parametrize("before", [True, False])
def test_the_kind_of_log_probability_is_found_out_from_the_first_samples(before):
    model = Chat("m", Endpoint(before=before))

    async def draw(temperature: float, n: int):
        return await model.asample(
            "Capital of France?", n, temperature=temperature, rng=np.random.default_rng(0)
        )

    (first,) = asyncio.run(draw(0.1, 1))
    assert (first.logprob, first.sampling_logprob) == (None, None)  # not known yet
    samples = asyncio.run(draw(1.0, 5))
    assert model.probe.before_temperature is before
    (second,) = asyncio.run(draw(0.1, 1))
    assert second.logprob is None
    if before:
        same = next(sample for sample in samples if sample.text == second.text)
        assert second.sampling_logprob == pytest.approx(same.logprob)
    else:
        assert second.sampling_logprob is None


def test_a_certain_looking_answer_is_not_believed_where_log_probabilities_follow_the_temperature():
    model = Chat("m", Endpoint(before=False))
    verdicts = [check("Capital of France?", model=model, judge="exact", rng=seed) for seed in range(3)]
    assert all(verdict.samples > 0 for verdict in verdicts)
    assert all(verdict.agreement.mean < 0.95 for verdict in verdicts)
