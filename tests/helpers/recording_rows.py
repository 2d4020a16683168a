"""Headers and rows of recordings: one example, and every one that the schema allows (hypothesis)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"


HEADER = {"semtropy_recording": 1, "model": "m", "dataset": "d", "temperature": 1.0, "eos_included": True}


ROW = {
    "id": "q1",
    "question": "What is the capital of France?",
    "context": None,
    "references": ["Paris"],
    "answer": {"text": "Paris", "logprob": -0.25, "correct": True},
    "samples": [
        {"text": "Paris", "logprob": -0.5, "tokens": [3, 4], "token_logprobs": [-0.3, -0.2], "meaning": 0},
        {
            "text": "Rome",
            "logprob": -2.0,
            "tokens": [5],
            "token_logprobs": [-2.0],
            "complete": False,
            "meaning": 1,
        },
        {"text": "Paris", "meaning": 0},
    ],
    "p_true": 0.75,
}


def bits(value: object) -> object:
    """A value in a form that compares numbers by type and bit, and objects by key order."""
    if isinstance(value, float):
        return ("float", value.hex())
    if isinstance(value, dict):
        return [(key, bits(inner)) for key, inner in value.items()]
    if isinstance(value, list):
        return ["list", *map(bits, value)]
    return (type(value).__name__, value)


texts = st.text(st.characters(codec=None), max_size=8)


numbers = st.floats(allow_nan=False, allow_infinity=False) | st.integers()


anything = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


logprobs = st.floats(max_value=0, allow_nan=False, allow_infinity=False) | st.integers(max_value=0)


def objects(required: dict[str, st.SearchStrategy[object]], optional: dict[str, st.SearchStrategy[object]]):
    known = st.fixed_dictionaries(required, optional=optional)
    extra = st.dictionaries(texts.map(lambda key: "x" + key), anything, max_size=2)
    both = st.tuples(known, extra).map(lambda pair: [*pair[0].items(), *pair[1].items()])
    return both.flatmap(st.permutations).map(dict)


samples = objects(
    {"text": texts},
    {
        "logprob": st.none() | logprobs,
        "token_logprobs": st.none() | st.lists(logprobs.filter(lambda x: x > -1e300), max_size=3),
        "tokens": st.none() | st.lists(st.integers() | texts, max_size=3),
        "complete": st.none() | st.booleans(),
        "meaning": st.none() | st.integers(min_value=0),
    },
)


answers = objects({"text": texts}, {"logprob": st.none() | logprobs, "correct": st.none() | st.booleans()})


rows = objects(
    {"id": texts | st.integers(), "question": texts, "samples": st.lists(samples, max_size=3)},
    {
        "context": st.none() | texts,
        "references": st.lists(texts, max_size=2),
        "answer": st.none() | answers,
        "p_true": st.none() | st.floats(0, 1),
    },
)


headers = objects(
    {"semtropy_recording": st.just(1)},
    {
        "model": st.none() | texts,
        "temperature": st.none() | st.floats(0, 1e300),
        "eos_included": st.none() | st.booleans(),
    },
)


def known(value: Any) -> Any:
    """The value without what is unknown in it: Parquet has a missing key for it, or a null."""
    if isinstance(value, Mapping):
        return {key: known(inner) for key, inner in value.items() if inner is not None}
    return [known(each) for each in value] if isinstance(value, list) else value
