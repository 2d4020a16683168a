"""Attacks live checks with odd replies of an endpoint: a verdict that can be written as JSON, or one clear error."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from semtropy.checking import Checker
from semtropy.errors import SemtropyError
from semtropy.models import load_model
from semtropy.models.endpoint import Endpoint
from semtropy.stopping import Budget
from tools.fuzz import attack_all
from tools.fuzz.mutate import damaged, with_odd_value

if TYPE_CHECKING:
    import numpy as np

__all__ = ["CASES", "SHORT", "attack", "fuzz"]

CASES = 5_000
SHORT = 150

KEY = "sk-0123456789abcdef"
STATUSES = (200, 200, 200, 200, 204, 301, 400, 400, 401, 404, 413, 418, 422, 429, 500, 503, 529)
KINDS = (
    "application/json",
    "text/html; charset=zlib",
    "text/plain; charset=idna",
    "text/html; charset=\x00",
    "",
)
TOKENS = [
    {"token": "Paris", "logprob": -0.05, "bytes": [80, 97, 114, 105, 115], "top_logprobs": []},
    {"token": "<|im_end|>", "logprob": -0.01, "bytes": None, "top_logprobs": []},
]
REPLY = {
    "id": "1",
    "choices": [
        {
            "index": 0,
            "message": {"content": "Paris"},
            "finish_reason": "stop",
            "logprobs": {"content": TOKENS},
        }
    ],
    "usage": {"completion_tokens": 2},
}
OLD = {
    "choices": [
        {
            "text": " Paris\n",
            "finish_reason": "stop",
            "logprobs": {"tokens": [" Paris", "\n"], "token_logprobs": [-0.05, -0.01]},
        }
    ]
}
ERROR = {"error": {"message": f"the key {KEY} is wrong", "param": "n", "code": "invalid", "type": "x"}}


class Odd(Endpoint):
    """An endpoint whose replies are made here, so that thousands of them need no network."""

    def __init__(self, rng: np.random.Generator, sound: dict[str, Any]) -> None:
        super().__init__("http://localhost/v1", api_key=KEY)
        self.rng, self.sound = rng, sound

    async def _posted(self, client: Any, path: str, body: dict[str, Any]) -> Any:
        import httpx

        rng, status = self.rng, int(self.rng.choice(STATUSES))
        made: Any = self.sound if status == 200 and rng.random() < 0.9 else ERROR
        for _ in range(int(rng.integers(0, 4))):
            made = with_odd_value(rng, made)
        content = json.dumps(made).encode()
        if rng.random() < 0.1:
            content = damaged(rng, content)
        headers = {
            "content-type": str(rng.choice(KINDS)),
            "retry-after": str(rng.choice(["1e9", "nan", "0", "x"])),
        }
        return httpx.Response(status, headers=headers, content=content)


def attack(rng: np.random.Generator) -> None:
    """One check, each reply of which may be odd."""
    old = rng.random() < 0.3
    model: Any = load_model(
        "completions:m" if old else "openai:m", base_url="http://localhost/v1", api_key=KEY
    )
    model.endpoint = Odd(rng, OLD if old else REPLY)
    model.endpoint.retry = type(model.endpoint.retry)(times=1, base=0.0)
    try:
        checker = Checker.load(model=model, judge="exact", budget=Budget(samples=4))
        verdict = checker.check("Capital of France?", rng=rng)
    except SemtropyError as error:
        said = str(error)
        if KEY in said or not said.isprintable():
            raise AssertionError(f"an error with the key, or of several lines: {said[:500]!r}") from error
        return
    finally:
        model.close()
    json.dumps(verdict.to_dict(), allow_nan=False).encode()
    assert verdict.samples <= 4, "more samples than the budget allows"
    assert verdict.entropy.variance or verdict.samples > 0, "certain without a sample"


def fuzz(cases: int, seed: int) -> None:
    """Run `cases` of them."""
    attack_all(attack, cases, seed)
