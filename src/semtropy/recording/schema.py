"""The parts of a recording: a `Header`, and one `Row` per question.

Both keep the whole JSON object they were read from and add typed views of the fields the schema names. Writing one
back therefore preserves every number, unknown key and the order of keys.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NoReturn

from ..errors import InputError, RecordingError
from ..nouns import Evidence, Partition, Sample, Token
from ..samples import LOGPROB_SLACK, MOST_TOKEN_ENTROPY, is_certain
from .arrays import Relations, SampleArrays

# Validation of recordings against their schema; every error names the field.
#
# Unknown keys are allowed at every level and not checked. These checks run for every sample of a recording, so a
# value of the right type costs one comparison.


VERSION = 1

_LARGEST = sys.float_info.max
_NEARLY_1 = math.log(math.nextafter(1.0, 0.0))
ALIKE = 10  # samples with the same text, and no other, after which a log-probability of 0 is believed
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
    _optional(header, "logprobs_of_sampling", _is_bool, "true, false or null")
    temperature = header.get("temperature")
    if temperature is not None and temperature < 0:
        _fail("temperature", f"is {shown(temperature)}: a temperature is at least 0")
    if header.get("replacement") is False:
        _fail(
            "replacement",
            "is false: samples drawn without replacement are not read, as their counts say nothing",
        )


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
    _optional(answer, "token_texts", _are_texts, "a list of token texts, or null", "answer.")
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


def _are_texts(values: Any) -> bool:
    return type(values) is list and all(type(value) is str for value in values)


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


# The header of a recording: what model answered which questions, and whether its log-probabilities can be used.


@dataclass(frozen=True, eq=False)
class JsonObject(Mapping[str, Any]):
    """A read-only JSON object with the interface of a mapping."""

    fields: Mapping[str, Any]

    def __getitem__(self, key: str) -> Any:
        return self.fields[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)


@dataclass(frozen=True, eq=False)
class Header(JsonObject):
    """The first line of a recording: what model answered which questions, and how.

    fields  the JSON object

    >>> header = Header.make(model="llama", dataset="svamp", temperature=1.0, eos_included=False)
    >>> header.logprobs_usable
    False
    >>> header.why_logprobs_unusable
    'the log-probabilities leave out the end token (eos_included)'
    """

    def __post_init__(self) -> None:
        check_header(self.fields)

    @classmethod
    def make(cls, **fields: Any) -> Header:
        """A header of this version with `fields` after the version, in the order given."""
        return cls({"semtropy_recording": VERSION, **fields})

    @property
    def model(self) -> str | None:
        """The model that answered."""
        return self.fields.get("model")

    @property
    def dataset(self) -> str | None:
        """The set of questions."""
        return self.fields.get("dataset")

    @property
    def temperature(self) -> float | None:
        """The temperature the samples were drawn at."""
        return self.fields.get("temperature")

    @property
    def eos_included(self) -> bool | None:
        """Whether sequence log-probabilities include that of the end token."""
        return self.fields.get("eos_included")

    @property
    def logprobs_usable(self) -> bool:
        """Whether the samples' log-probabilities are lower bounds on the probability of their meanings."""
        return self.why_logprobs_unusable is None

    @property
    def why_logprobs_unusable(self) -> str | None:
        """Why log-probabilities cannot be used as lower bounds, or None where they can.

        They must include the end token and belong to the distribution sampled from: temperature 1 without top-k or
        top-p, unless `logprobs_of_sampling` says that they were corrected to it. A missing key stands for the
        schema's default (end token included, temperature 1); null means unknown.
        """
        if self.fields.get("eos_included", True) is not True:
            return "the log-probabilities leave out the end token (eos_included)"
        return self._why_not_of_sampling()

    @property
    def ends_left_out(self) -> bool:
        """Whether the log-probabilities lack the end token, and nothing else: `bayes` models its probability."""
        return self.eos_included is False and self._why_not_of_sampling() is None

    def _why_not_of_sampling(self) -> str | None:
        corrected = self.fields.get("logprobs_of_sampling")
        if corrected is not None:
            return None if corrected else "the log-probabilities are not of the sampling distribution"
        if self.fields.get("temperature", 1.0) != 1.0:
            return (
                f"the log-probabilities are of temperature 1, the samples of {self.temperature or 'another'}"
            )
        if self.fields.get("top_k") or self.fields.get("top_p", 1.0) not in (None, 1.0):
            return "the log-probabilities are of the whole distribution, the samples of a truncated one (top_k, top_p)"
        return None


_ROW_KEYS = frozenset(
    {"id", "question", "context", "references", "answer", "samples", "p_true", "relations", "scores"}
)


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer being judged (the most likely or a low-temperature one) and its grade.

    text              the answer
    logprob           log-probability of its sequence at the temperature it was drawn at
    token_logprobs    log-probability of each of its tokens, at the same temperature
    correct           its grade; None where it was not graded
    sampling_logprob  log-probability of its sequence at the temperature of the samples
    token_entropies   entropy of each token's distribution, at the temperature of the samples
    tokens            its token ids or texts
    meaning           its label among the meanings of the samples
    complete          False if a length limit cut it off
    pieces            the text of each of its tokens with its log-probability at the temperature of the samples

    >>> row = Row({"id": "1", "question": "2 + 2?", "answer": {"text": "4", "correct": True}, "samples": []})
    >>> row.answer.correct
    True
    """

    text: str
    logprob: float | None = None
    token_logprobs: tuple[float, ...] | None = None
    correct: bool | None = None
    sampling_logprob: float | None = None
    token_entropies: tuple[float, ...] | None = None
    tokens: tuple[Token, ...] | None = None
    meaning: int | None = None
    complete: bool = True
    pieces: tuple[tuple[str, float], ...] | None = None


@dataclass(frozen=True, eq=False)
class Row(JsonObject):
    """One question of a recording: its samples, their meanings, the judged answer.

    A mapping with the keys of the JSON object (`row["samples"]`), with typed attributes (`row.samples`). The header
    of the recording decides whether its log-probabilities can be used.

    fields  the JSON object
    header  the header of the recording
    path    the file it was read from, for errors
    line    the line it was read from, for errors

    >>> row = Row({"id": "1", "question": "2 + 2?", "samples": [{"text": "4", "logprob": -0.1, "meaning": 0}]})
    >>> row.samples[0].logprob, row.partition.counts, row.evidence().distinct
    (-0.1, (1,), (1,))
    """

    header: Header = field(default_factory=Header.make, repr=False)
    path: str | None = field(default=None, repr=False)
    line: int | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        try:
            check_row(self.fields)
        except RecordingError as error:
            self.fail(error.message, error.field)

    def fail(self, message: str, at: str | None = None) -> NoReturn:
        """Raise a `RecordingError` that names where this row was read."""
        raise RecordingError(message, path=self.path, line=self.line, field=at)

    @property
    def id(self) -> str:
        """The identifier of the question, unique within its recording."""
        return str(self.fields["id"])

    @property
    def question(self) -> str:
        """The question asked."""
        return str(self.fields["question"])

    @property
    def context(self) -> str | None:
        """The passage given with the question."""
        return self.fields.get("context")

    @property
    def references(self) -> tuple[str, ...]:
        """The answers that count as correct."""
        return tuple(self.fields.get("references") or ())

    @property
    def answer(self) -> Answer | None:
        """The judged answer, or None where there is none."""
        held = self.fields.get("answer")
        if held is None:
            return None
        return Answer(
            text=held["text"],
            logprob=_logprob(held),
            token_logprobs=_token_logprobs(held),
            correct=held.get("correct"),
            sampling_logprob=_sampling_logprob(held),
            token_entropies=_tuple(held.get("token_entropies")),
            tokens=_tuple(held.get("tokens")),
            meaning=held.get("meaning"),
            complete=held.get("complete") is not False,
            pieces=_pieces(held),
        )

    def judged_sample(self) -> Sample:
        """The answer as a sample; where none was recorded, the likeliest text among the samples stands for it.

        An answer whose `sampling_logprob` was not recorded has the log-probability of the likeliest sample with the
        same text.
        """
        samples, answer = self.samples, self.answer
        text = (
            Counter(sample.text for sample in samples).most_common(1)[0][0] if answer is None else answer.text
        )
        found = [
            (logprob, each.tokens)
            for each in samples
            if each.text == text and each.complete
            if (logprob := each.prefix_logprob if each.logprob is None else each.logprob) is not None
        ]
        if answer is None:
            answer = Answer(text)
        logprob, tokens = answer.sampling_logprob, answer.tokens
        if logprob is None and found:
            logprob, tokens = max(found, key=lambda pair: pair[0])
        return Sample(
            text,
            answer.logprob,
            tokens,
            answer.token_logprobs,
            answer.complete,
            sampling_logprob=logprob if self.header.logprobs_usable else None,
            token_entropies=answer.token_entropies,
            prefix_logprob=logprob if self.header.ends_left_out else None,
            pieces=answer.pieces,
        )

    def answer_meaning(self) -> int | None:
        """The meaning of the answer in `partition`: `partition.size` if no sample has it, None if it is unknown.

        An answer without a recorded meaning has that of a sample with the same text.
        """
        partition, text = self.partition, self.judged_sample().text
        if self.answer is not None and self.answer.meaning is not None:
            labels = dict(zip(self.meanings, partition.meanings, strict=True))
            return labels.get(self.answer.meaning, partition.size)
        texts = [held["text"] for held in self.fields["samples"]]
        return partition.meanings[texts.index(text)] if text in texts else None

    @property
    def p_true(self) -> float | None:
        """The model's own probability that its answer is true."""
        return self.fields.get("p_true")

    @property
    def relations(self) -> Relations | None:
        """Which of its texts entails or contradicts which, as `semtropy relate` judged it; None where it did not."""
        held = self.fields.get("relations")
        return None if held is None else Relations.of_json(held)

    @property
    def scores(self) -> Mapping[str, float | tuple[float, ...]]:
        """Scores by other tools, by name: a number, or one for each number of samples from 1 on.

        >>> Row({"id": "1", "question": "?", "samples": [], "scores": {"probe": 0.3, "other": None}}).scores
        {'probe': 0.3}
        """
        held = self.fields.get("scores") or {}
        known = {name: score for name, score in held.items() if score is not None}
        return {name: tuple(score) if isinstance(score, list) else score for name, score in known.items()}

    @property
    def extra(self) -> dict[str, Any]:
        """The keys the schema does not name."""
        return {key: value for key, value in self.fields.items() if key not in _ROW_KEYS}

    @cached_property
    def samples(self) -> tuple[Sample, ...]:
        """The samples; `logprob` is None where the header does not say that it can be used as a lower bound.

        Where the header says that the end token is left out, the recorded value is the `prefix_logprob`. The recorded
        values stay in `row["samples"]`. Without a `logprob`, the token log-probabilities are summed.
        """
        usable, prefix = self.header.logprobs_usable, self.header.ends_left_out
        return tuple(_sample(held, usable, prefix) for held in self.fields["samples"])

    @property
    def meanings(self) -> tuple[int | None, ...]:
        """The meaning of each sample as recorded, None where it has none yet."""
        return tuple(held.get("meaning") for held in self.fields["samples"])

    @property
    def clustered(self) -> bool:
        """Whether every sample has a meaning."""
        return None not in self.meanings

    @property
    def partition(self) -> Partition:
        """The meanings numbered by first appearance; an error names the first sample without one."""
        meanings = self.meanings
        if None in meanings:
            missing = meanings.index(None)
            some = (
                "is missing though other samples have one"
                if any(m is not None for m in meanings)
                else "is missing"
            )
            self.fail(f"{some}: `semtropy cluster IN OUT` fills it", f"samples[{missing}].meaning")
        return Partition.of(meanings)

    def evidence(self) -> Evidence:
        """What entropy estimators see of all samples of this question."""
        if not self.fields["samples"]:
            self.fail("is empty: an estimate needs at least one sample", "samples")
        meaning = self.answer_meaning()
        judged = None if self.answer is None or meaning is None else self.judged_sample()
        samples, judged = _unrounded(self.samples, judged)
        try:
            return Evidence.gather(samples, self.partition, judged, meaning, self.question)
        except InputError as error:
            self.fail(str(error), "samples")

    def arrays(self) -> SampleArrays:
        """The samples as arrays, for drawing many subsamples."""
        return self._arrays

    @cached_property
    def _arrays(self) -> SampleArrays:
        if not self.fields["samples"]:
            self.fail("is empty: a subsample needs at least one sample", "samples")
        samples, judged = _unrounded(self.samples, None if self.answer is None else self.judged_sample())
        meaning = self.answer_meaning() if judged else None
        return SampleArrays.of(samples, self.partition, judged, meaning, question=self.question)

    def first(self, count: int) -> Row:
        """This row with its first `count` samples alone; what the others say of the answer is kept with it.

        >>> row = Row({"id": "1", "question": "2 + 2?", "answer": {"text": "4"},
        ...            "samples": [{"text": "5", "meaning": 0}, {"text": "4", "logprob": -0.5, "meaning": 1}]})
        >>> row.first(1)["answer"]
        {'text': '4', 'sampling_logprob': -0.5, 'meaning': 1}
        """
        held = self.fields.get("answer")
        if count >= len(self.fields["samples"]):
            return self
        if held is None:
            return self.replace(samples=self.fields["samples"][:count])
        judged, texts = self.judged_sample(), [sample["text"] for sample in self.fields["samples"]]
        known = dict(held)
        if judged.sampling_logprob is not None and self.answer.sampling_logprob is None:  # type: ignore[union-attr]
            known["sampling_logprob"] = judged.sampling_logprob
            if judged.tokens is not None:
                known["tokens"] = list(judged.tokens)
        if known.get("meaning") is None and judged.text in texts:
            known["meaning"] = self.meanings[texts.index(judged.text)]
        return self.replace(answer=known, samples=self.fields["samples"][:count])

    def with_meanings(self, meanings: Sequence[int], answer_meaning: int | None = None) -> Row:
        """This row with `meanings` in place of any it had.

        >>> row = Row({"id": "1", "question": "2 + 2?", "samples": [{"text": "4"}, {"text": "four"}]})
        >>> row.with_meanings([0, 0]).meanings
        (0, 0)
        """
        held = self.fields["samples"]
        if len(held) != len(meanings):
            raise InputError(f"{len(meanings)} meanings for {len(held)} samples: give one per sample")
        samples = [
            {**sample, "meaning": int(meaning)} for sample, meaning in zip(held, meanings, strict=True)
        ]
        answer = self.fields.get("answer")
        if answer is None or answer_meaning is None:
            return self.replace(samples=samples)
        return self.replace(answer={**answer, "meaning": int(answer_meaning)}, samples=samples)

    def replace(self, **fields: Any) -> Row:
        """This row with some keys changed or added; the others keep their place."""
        return Row({**self.fields, **fields}, header=self.header, path=self.path, line=self.line)


def _logprob(held: Mapping[str, Any]) -> float | None:
    """The log-probability of a sequence; rounding may have left it a little above 0."""
    logprob = held.get("logprob")
    if logprob is None and "logprob" not in held and held.get("token_logprobs"):
        logprob = math.fsum(held["token_logprobs"])
    return None if logprob is None else min(0.0, logprob)


def _token_logprobs(held: Mapping[str, Any]) -> tuple[float, ...] | None:
    values = held.get("token_logprobs")
    if values is None:
        return None
    return tuple(values) if max(values, default=0.0) <= 0 else tuple(min(0.0, value) for value in values)


def _sampling_logprob(held: Mapping[str, Any]) -> float | None:
    logprob = held.get("sampling_logprob")
    if logprob is None and held.get("sampling_token_logprobs"):
        logprob = math.fsum(held["sampling_token_logprobs"])
    return None if logprob is None else min(0.0, logprob)


def _pieces(answer: Mapping[str, Any]) -> tuple[tuple[str, float], ...] | None:
    """The texts of an answer's tokens with their log-probabilities; None where one of the two was not recorded."""
    texts, values = answer.get("token_texts") or answer.get("tokens"), answer.get("sampling_token_logprobs")
    if (
        not texts
        or not values
        or len(texts) != len(values)
        or not all(isinstance(text, str) for text in texts)
    ):
        return None
    return tuple((text, min(0.0, value)) for text, value in zip(texts, values, strict=True))


def _tuple(values: Sequence[Any] | None) -> tuple[Any, ...] | None:
    return None if values is None else tuple(values)


def _unrounded(samples: Sequence[Sample], answer: Sample | None) -> tuple[Sequence[Sample], Sample | None]:
    """Samples and answer, a log-probability of 0 read as one that was rounded where many samples are all the same.

    Beside another text a probability of 1 is wrong, and of few samples it may be that of a server that computes none:
    evidence does not believe it.

    >>> four = [Sample("4", 0.0)] * ALIKE
    >>> [_unrounded(samples, None)[0][0].logprob for samples in (four, four[1:], [*four, Sample("5")])]
    [-1.1102230246251565e-16, 0.0, 0.0]
    """
    if (
        len(samples) < ALIKE
        or len({each.text for each in (*samples, *(() if answer is None else (answer,)))}) > 1
    ):
        return samples, answer

    def unrounded(each: Sample) -> Sample:
        names = ("logprob", "sampling_logprob", "prefix_logprob")
        certain: dict[str, Any] = {name: _NEARLY_1 for name in names if is_certain(getattr(each, name))}
        return replace(each, **certain) if certain else each

    return [unrounded(each) for each in samples], None if answer is None else unrounded(answer)


def _sample(held: Mapping[str, Any], logprobs_usable: bool, ends_left_out: bool) -> Sample:
    get = held.get
    tokens = get("tokens")
    return Sample(
        held["text"],
        _logprob(held) if logprobs_usable else None,
        None if tokens is None else tuple(tokens),
        _token_logprobs(held),
        get("complete") is not False,
        prefix_logprob=_logprob(held) if ends_left_out else None,
    )


@dataclass(frozen=True, slots=True)
class Recording:
    """A whole recording in memory; iterating over it yields its rows.

    header  the first line
    rows    the questions

    >>> row = Row({"id": "1", "question": "2 + 2?", "samples": [{"text": "4"}]})
    >>> [each.question for each in Recording(Header.make(model="m"), (row,))]
    ['2 + 2?']
    """

    header: Header
    rows: tuple[Row, ...]

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)
