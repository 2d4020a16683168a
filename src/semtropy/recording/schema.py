"""The parts of a recording: a `Header`, and one `Row` per question.

Both keep the whole JSON object they were read from and add typed views of the fields the schema names. Writing one
back therefore preserves every number, unknown key and the order of keys.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NoReturn

from ..errors import InputError, RecordingError
from ..nouns import Evidence, Partition, Sample, Token
from .draws import Draws
from .header import Header, JsonObject
from .relations import Relations
from .validate import check_row

__all__ = ["Answer", "Recording", "Row"]

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
            for each, logprob in zip(samples, map(_known_logprob, samples), strict=True)
            if each.text == text and each.complete and logprob is not None
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

    @property
    def samples(self) -> tuple[Sample, ...]:
        """The samples; `logprob` is None where the header does not say that it can be used as a lower bound.

        Where the header says that the end token is left out, the recorded value is the `prefix_logprob`. The recorded
        values stay in `row["samples"]`. Without a `logprob`, the token log-probabilities are summed.
        """
        return self._samples

    @cached_property
    def _samples(self) -> tuple[Sample, ...]:
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
        meaning, replacement = self.answer_meaning(), self.header.replacement
        judged = None if self.answer is None or meaning is None else self.judged_sample()
        try:
            return Evidence.gather(self.samples, self.partition, judged, meaning, replacement=replacement)
        except InputError as error:
            self.fail(str(error), "samples")

    def draws(self) -> Draws:
        """The samples as arrays, for drawing many subsamples."""
        return self._draws

    @cached_property
    def _draws(self) -> Draws:
        if not self.fields["samples"]:
            self.fail("is empty: a subsample needs at least one sample", "samples")
        if not self.header.replacement:
            self.fail(
                "were drawn without replacement (replacement in the header), so a part of them is no sample of the "
                "model: `semtropy score` judges such a recording, studies and priors need draws with replacement",
                "samples",
            )
        if self.answer is None:
            return Draws.of(self.samples, self.partition)
        return Draws.of(self.samples, self.partition, self.judged_sample(), self.answer_meaning())

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


def _tuple(values: Sequence[Any] | None) -> tuple[Any, ...] | None:
    return None if values is None else tuple(values)


def _known_logprob(sample: Sample) -> float | None:
    return sample.prefix_logprob if sample.logprob is None else sample.logprob


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
