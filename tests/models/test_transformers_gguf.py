"""SmolLM2's GGUF weights through transformers: llama.cpp's token ids, and its distribution up to its rounding."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import pytest

from semtropy.models import load_model
from semtropy.models.prompt_template import brief_prompt
from skips import needs

needs("torch", "gguf", reason="the extra `transformers` is not installed")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")

TEXTS = [
    "In 1911: 12345, 3.14159, 10,000; A1B2C3",
    "½ ² ³ ٣٤ 十二 Ⅷ of ⅓",
    "naïve café – “quotes” 日本語 🙂",
    "a\n\n\nb   c\t\td",
    "don't I'LL we've 'S",
    brief_prompt("How many legs do 12 spiders have?"),
]


@pytest.fixture(scope="module")
def dequantised(smollm2: Any) -> Any:
    import gguf

    # transformers reads the file for each of its parts, and the names of all tensors for each of its modules.
    with pytest.MonkeyPatch.context() as patch:
        for slow in ("GGUFReader", "get_tensor_name_map"):
            patch.setattr(gguf, slow, functools.cache(getattr(gguf, slow)))
        return load_model(f"hf:{smollm2.path}", max_tokens=4)


def test_token_ids_are_those_of_llama_cpp(dequantised: Any, llama_url: str) -> None:
    httpx = pytest.importorskip("httpx")
    address = llama_url.removesuffix("/v1") + "/tokenize"
    for text in TEXTS:
        wanted = httpx.post(
            address, json={"content": text, "add_special": False, "parse_special": False}
        ).json()
        assert dequantised._encode(text) == wanted["tokens"], text


def test_the_distribution_is_llama_cpps_up_to_its_rounding(dequantised: Any, smollm2: Any) -> None:
    question = "What is the capital of France?"
    ours, theirs = (
        {sample.tokens: sample for sample in model.sample(question, 6, rng=np.random.default_rng(0))}
        for model in (dequantised, smollm2)
    )
    paris = max(theirs, key=lambda tokens: theirs[tokens].logprob)
    assert theirs[paris].text == ours[paris].text == "Paris"
    # llama.cpp rounds activations to 8 bits; float32 does not.
    assert math.exp(ours[paris].logprob) == pytest.approx(math.exp(theirs[paris].logprob), abs=0.08)
