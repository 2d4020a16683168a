"""Validation of recordings against their schema; every error names the field.

Unknown keys are allowed at every level and not checked. These checks run for every sample of a recording, so a value of
the right type costs one comparison.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from ..errors import RecordingError
from ..samples import LOGPROB_SLACK, MOST_TOKEN_ENTROPY

__all__ = ["VERSION", "check_header", "check_row", "find_unwritable", "shown"]

VERSION = 1

_LARGEST = sys.float_info.max
_TOKEN_TYPES, _NUMBER_TYPES = frozenset({int, str}), frozenset({float, int})


def check_header(header: Mapping[str, Any]) -> None:
    """Raise `RecordingError` unless `header` is the first line of a recording this version can read."""
    if "semtropy_recording" not in header:
        _fail(
            "semtropy_recording",
            'is missing: a recording starts with a header {"semtropy_recording": 1, ...}',
        )
    version = header["semtropy_recording"]
    if type(version) is not int or version != VERSION:
        _fail("semtropy_recording", f"is {shown(version)}: this semtropy reads version {VERSION}")
    _optional(header, "model", _is_text, "text or null")
    _optional(header, "dataset", _is_text, "text or null")
    _optional(header, "temperature", _is_number, "a number or null")
    _optional(header, "eos_included", _is_bool, "true, false or null")
    _optional(header, "replacement", _is_bool, "true, false or null")
    _optional(header, "logprobs_of_sampling", _is_bool, "true, false or null")
    temperature = header.get("temperature")
    if temperature is not None and temperature < 0:
        _fail("temperature", f"is {shown(temperature)}: a temperature is at least 0")


def check_row(row: Mapping[str, Any]) -> None:
    """Raise `RecordingError` unless `row` is a question of a recording.

    >>> check_row({"id": "1", "question": "2 + 2?", "samples": [{"text": "4", "logprob": "high"}]})
    Traceback (most recent call last):
    ...
    semtropy.errors.RecordingError: samples[0].logprob: expected a number or null, found text ('high')
    """
    if type(row.get("id")) not in (str, int):
        _wrong(row, "id", "text")
    if type(row.get("question")) is not str:
        _wrong(row, "question", "text")
    _optional(row, "context", _is_text, "text or null")
    references = row.get("references")
    if references is not None and not (isinstance(references, list) and all(map(_is_text, references))):
        _wrong(row, "references", "a list of texts")
    if row.get("answer") is not None:
        _check_answer(row["answer"])
    samples = row.get("samples")
    if not isinstance(samples, list):
        _wrong(row, "samples", "a list of samples")
    for place, sample in enumerate(samples):
        _check_sample(sample, place)
    if row.get("relations") is not None:
        _check_relations(row["relations"])
    if row.get("scores") is not None:
        _check_scores(row["scores"])
    p_true = row.get("p_true")
    if p_true is not None and not (_is_number(p_true) and 0 <= p_true <= 1):
        _wrong(row, "p_true", "a probability between 0 and 1, or null")


def _check_answer(answer: Any) -> None:
    if not isinstance(answer, dict):
        _fail("answer", f"expected an object with a text, found {_name(answer)}")
    if type(answer.get("text")) is not str:
        _wrong(answer, "text", "text", "answer.")
    for key in ("logprob", "sampling_logprob"):
        _check_logprob(answer, "answer.", key)
    for key in ("token_logprobs", "sampling_token_logprobs"):
        _check_token_logprobs(answer, "answer.", key)
    _optional(
        answer,
        "token_entropies",
        _are_entropies,
        f"a list of numbers from 0 to {MOST_TOKEN_ENTROPY:g} or null",
        "answer.",
    )
    _optional(answer, "tokens", _are_tokens, "a list of token ids or token texts, or null", "answer.")
    for key in ("correct", "complete"):
        _optional(answer, key, _is_bool, "true, false or null", "answer.")
    _optional(answer, "meaning", _is_meaning, "a whole number from 0, or null", "answer.")


def _check_sample(sample: Any, place: int) -> None:
    if type(sample) is not dict:
        _fail(f"samples[{place}]", f"expected an object with a text, found {_name(sample)}")
    get = sample.get
    if type(get("text")) is not str:
        _wrong(sample, "text", "text", f"samples[{place}].")
    logprob = get("logprob")
    if logprob is not None and not (type(logprob) is float and -math.inf < logprob <= 0):
        _check_logprob(sample, f"samples[{place}].")
    scores = get("token_logprobs")
    if scores is not None and not _are_logprobs(scores):
        _check_token_logprobs(sample, f"samples[{place}].")
    tokens = get("tokens")
    if tokens is not None and not _are_tokens(tokens):
        _wrong(sample, "tokens", "a list of token ids or token texts, or null", f"samples[{place}].")
    complete = get("complete")
    if complete is not None and type(complete) is not bool:
        _wrong(sample, "complete", "true, false or null", f"samples[{place}].")
    meaning = get("meaning")
    if meaning is not None and not _is_meaning(meaning):
        _wrong(sample, "meaning", "a whole number from 0, or null", f"samples[{place}].")


def _check_relations(held: Any) -> None:
    """The distinct texts, and square matrices of probabilities between them."""
    if type(held) is not dict:
        _fail("relations", f"expected an object with texts and entails, found {_name(held)}")
    texts = held.get("texts")
    if not (type(texts) is list and all(map(_is_text, texts)) and len(set(texts)) == len(texts)):
        _wrong(held, "texts", "a list of different texts", "relations.")
    for key in ("entails", "contradicts"):
        matrix = held.get(key)
        if matrix is None and key == "contradicts":
            continue
        if not (type(matrix) is list and len(matrix) == len(texts)):
            _wrong(held, key, f"{len(texts)} lists, one per text", "relations.")
        for place, line in enumerate(matrix):
            if not (_are_numbers(line) and len(line) == len(texts)):
                _fail(f"relations.{key}[{place}]", f"expected {len(texts)} numbers, found {_name(line)}")
            if line and not (min(line) >= 0 and max(line) <= 1):
                _fail(f"relations.{key}[{place}]", "expected probabilities between 0 and 1")


def _check_scores(held: Any) -> None:
    """Scores of other tools by name: a number, or one for each number of samples from 1 on."""
    if type(held) is not dict:
        _fail("scores", f"expected an object of scores by name, found {_name(held)}")
    for name, score in held.items():
        if not name.strip():
            _fail("scores", "one of the names is empty")
        if not (score is None or _is_number(score) or (_are_numbers(score) and score)):
            _fail(f"scores.{name}", f"expected a number, a list of numbers or null, found {_name(score)}")


def _check_logprob(holder: Mapping[str, Any], prefix: str, key: str = "logprob") -> None:
    _optional(holder, key, _is_number, "a number or null", prefix)
    logprob = holder.get(key)
    if logprob is not None and logprob > LOGPROB_SLACK:
        _fail(prefix + key, f"is {shown(logprob)}: a log-probability is at most 0")


def _check_token_logprobs(holder: Mapping[str, Any], prefix: str, key: str = "token_logprobs") -> None:
    values = holder.get(key)
    if values is None:
        return
    field = prefix + key
    if not isinstance(values, list):
        _fail(field, f"expected a list of numbers or null, found {_name(values)}")
    if _are_logprobs(values):
        return
    for place, value in enumerate(values):
        if not _is_number(value):
            _fail(f"{field}[{place}]", f"expected a number, found {_name(value)}")
        if value > LOGPROB_SLACK:
            _fail(f"{field}[{place}]", f"is {shown(value)}: a log-probability is at most 0")
    if not math.isfinite(sum(values)):
        _fail(field, "sums to minus infinity: write null for an unknown value")


def _are_logprobs(values: Any) -> bool:
    """Whether these are log-probabilities, in passes that run in C; the sum is finite only if every value is."""
    return (
        type(values) is list
        and _NUMBER_TYPES.issuperset(map(type, values))
        and min(values, default=0.0) > -_LARGEST  # whole numbers beyond it cannot be added to floats
        and -math.inf < sum(values)
        and max(values, default=0.0) <= 0
    )


def _are_numbers(values: Any) -> bool:
    return type(values) is list and all(map(_is_number, values))


def _are_entropies(values: Any) -> bool:
    return _are_numbers(values) and all(0 <= value <= MOST_TOKEN_ENTROPY for value in values)


def _are_tokens(values: Any) -> bool:
    return type(values) is list and _TOKEN_TYPES.issuperset(map(type, values))


def _is_meaning(value: Any) -> bool:
    return type(value) is int and value >= 0


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool)


def _is_number(value: Any) -> bool:
    """Whether `value` is a number that a float can hold: not NaN, not infinite, not 10**400."""
    return type(value) in _NUMBER_TYPES and -_LARGEST <= value <= _LARGEST


def _optional(
    holder: Mapping[str, Any], key: str, allowed: Callable[[Any], bool], expected: str, prefix: str = ""
) -> None:
    value = holder.get(key)
    if value is not None and not allowed(value):
        _wrong(holder, key, expected, prefix)


def _wrong(holder: Mapping[str, Any], key: str, expected: str, prefix: str = "") -> NoReturn:
    if key not in holder:
        _fail(prefix + key, f"is missing: expected {expected}")
    _fail(prefix + key, f"expected {expected}, found {_name(holder[key])}")


def _fail(field: str, message: str) -> NoReturn:
    raise RecordingError(message, field=field)


def _name(value: Any) -> str:
    """Describe a value in JSON terms, short enough for one line."""
    kinds: dict[type, str] = {
        bool: "a truth value",
        int: "a number",
        float: "a number",
        str: "text",
        list: "a list",
        dict: "an object",
    }
    if value is None:
        return "null"
    kind = kinds.get(type(value), f"a {type(value).__name__}")
    return f"{kind} ({shown(value)})"


def shown(value: Any) -> str:
    """`repr(value)`, shortened to fit into a message.

    >>> shown("x" * 1000)
    "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx..."
    """
    if isinstance(value, int) and value.bit_length() > 200:
        return f"about {'-' * (value < 0)}10**{int(value.bit_length() * math.log10(2))}"
    text = repr(value[:100] if isinstance(value, str) else value)
    return text if len(text) <= 40 else f"{text[:31]}..."


def find_unwritable(value: Any, field: str = "") -> tuple[str, str] | None:
    """The first (field, reason) in `value` that JSON cannot represent, or None.

    >>> find_unwritable({"run": {"scores": [1.0, float("nan")]}})
    ('run.scores[1]', 'nan is not a JSON number: write null for an unknown value')
    """
    if isinstance(value, float) and not math.isfinite(value):
        return field, f"{value} is not a JSON number: write null for an unknown value"
    if value is None or isinstance(value, str | int | float):
        return None
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if not isinstance(key, str):
                return field, f"the key {shown(key)} is not text"
            found = find_unwritable(inner, f"{field}.{key}" if field else key)
            if found:
                return found
        return None
    if isinstance(value, list | tuple):
        for place, inner in enumerate(value):
            found = find_unwritable(inner, f"{field}[{place}]")
            if found:
                return found
        return None
    return field, f"a {type(value).__name__} cannot be written as JSON"
