"""One generated answer, and the meanings of several."""

from __future__ import annotations

import codecs
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from .errors import InputError
from .numeric_checks import is_count, is_number, shown

Token = int | str

# Log-probabilities summed in single or half precision can end a little above 0; a probability or a loss mistaken
# for one ends well above.
LOGPROB_SLACK = 1e-2
# The entropy of a next-token distribution is at most the logarithm of the vocabulary's size, about 13 nats.
MOST_TOKEN_ENTROPY = 30.0


@dataclass(frozen=True, slots=True)
class Sample:
    """One generated answer.

    text              the answer
    logprob           log-probability of the whole sequence, end token included, under the distribution it was sampled
                      from; None where unknown (a provider that omits the end token, top-k or top-p sampling)
    tokens            token ids or texts, None where unknown
    token_logprobs    the log-probability of each token, None where unknown
    complete          False if a length limit cut the answer off: the probability is then that of a prefix, which is
                      no lower bound for the answer's meaning
    sampling_logprob  for a judged answer drawn at a low temperature: the log-probability of the same sequence at the
                      temperature of the samples
    token_entropies   for a judged answer: the entropies of the next-token distributions along it, in nats
    token_count       how many tokens were generated for it and paid for, thinking included; None where unknown
    temperature       the temperature it was drawn at, None where unknown
    prefix_logprob    where the provider omits the end token: the log-probability of all other tokens, at the
                      temperature of the samples; None where it is unknown or the end token is included
    pieces            for a judged answer: the text of each token with its log-probability at the temperature of the
                      samples, None where unknown

    >>> Sample("Paris", logprob=-0.2).complete
    True
    >>> Sample("Paris", logprob=0.7)
    Traceback (most recent call last):
    ...
    semtropy.errors.InputError: logprob is 0.7: a log-probability is a finite number, at most 0 (None where unknown)
    """

    text: str
    logprob: float | None = None
    tokens: tuple[Token, ...] | None = None
    token_logprobs: tuple[float, ...] | None = None
    complete: bool = True
    sampling_logprob: float | None = None
    token_entropies: tuple[float, ...] | None = None
    token_count: int | None = None
    temperature: float | None = None
    prefix_logprob: float | None = None
    pieces: tuple[tuple[str, float], ...] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise InputError(f"text is of type {type(self.text).__name__}: an answer is a str")
        for name in ("tokens", "token_logprobs", "token_entropies"):
            values = getattr(self, name)
            if values is not None and not isinstance(values, tuple):
                object.__setattr__(self, name, _as_tuple(name, values))
        _check_tokens(self.tokens)
        check_logprob("logprob", self.logprob)
        check_logprob("prefix_logprob", self.prefix_logprob)
        check_logprob("sampling_logprob", self.sampling_logprob)
        check_logprobs("token_logprobs", self.token_logprobs or ())
        for entropy in self.token_entropies or ():
            check_token_entropy(entropy)
        if self.pieces is not None:
            object.__setattr__(self, "pieces", _checked_pieces(self.pieces))
        if self.token_count is not None and not is_count(self.token_count):
            raise InputError(
                f"token_count is {shown(self.token_count)}: a whole number, 0 or more (None where unknown)"
            )
        if not _is_truth_value(self.complete):
            raise InputError(
                f"complete is {shown(self.complete)}: True, or False for an answer that was cut off"
            )
        if self.temperature is not None and not (
            is_number(self.temperature) and 0 <= self.temperature < math.inf
        ):
            raise InputError(
                f"temperature is {shown(self.temperature)}: a finite number, 0 or more (None where unknown)"
            )


class TokenDraw(NamedTuple):
    """One token drawn: its log-probability at the temperature of the draw and at 1, and the entropy at 1 in nats."""

    token: int
    logprob: float
    sampling_logprob: float
    entropy: float


def drawn_sample(text: str, drawn: Sequence[TokenDraw], *, complete: bool, whole: bool = True) -> Sample:
    """The sample whose tokens were drawn one by one, the end among them.

    whole  whether they are the whole answer: otherwise its log-probability is unknown

    >>> drawn_sample("Paris", [TokenDraw(7, -0.1, -0.3, 0.5), TokenDraw(2, 0.0, 0.0, 0.0)], complete=True).logprob
    -0.1
    """
    known = bool(drawn) and all(math.isfinite(each.logprob) for each in drawn)
    return Sample(
        text.strip(),
        logprob=math.fsum(each.logprob for each in drawn) if known and whole else None,
        tokens=tuple(each.token for each in drawn),
        token_logprobs=tuple(each.logprob for each in drawn) if known else None,
        complete=complete,
        sampling_logprob=math.fsum(each.sampling_logprob for each in drawn) if known and whole else None,
        token_entropies=tuple(each.entropy for each in drawn) if known else None,
    )


def weighed_by_samples(answer: Sample, samples: Sequence[Sample]) -> Sample:
    """The answer with the log-probabilities of a sample that has the same tokens, where its own are not known.

    An answer that was given with a log-probability, but without tokens, gets those of the sample that it is.

    >>> weighed_by_samples(Sample("Paris", tokens=(7, 2)), [Sample("Paris", -0.1, tokens=(7, 2))]).sampling_logprob
    -0.1
    """
    known = answer.sampling_logprob is not None or answer.prefix_logprob is not None
    if not answer.complete or (answer.tokens is None) != known:
        return answer
    for sample in samples:
        if known and _same_sequence(answer, sample):  # its tokens tell that it is no second sequence
            return replace(answer, tokens=sample.tokens)
        weighed = sample.logprob is not None or sample.prefix_logprob is not None
        if not known and weighed and sample.complete and sample.tokens == answer.tokens:
            return replace(
                answer,
                sampling_logprob=sample.logprob,
                prefix_logprob=sample.prefix_logprob,
                pieces=sample.pieces,
            )
    return answer


def _same_sequence(answer: Sample, sample: Sample) -> bool:
    """Whether a sample is the answer: the same text, with the same log-probability up to rounding."""
    logprob, its = answer.sampling_logprob, sample.logprob
    return (
        logprob is not None and its is not None and sample.text == answer.text and abs(logprob - its) < 0.02
    )


def check_logprob(name: str, value: float | None) -> None:
    """Refuse what cannot be a log-probability; None is one that is not known."""
    if value is None:
        return
    try:
        fine = is_number(value) and math.isfinite(value) and value <= LOGPROB_SLACK
    except (TypeError, ValueError, OverflowError):  # text, or a whole number that no float holds
        fine = False
    if not fine:
        raise InputError(
            f"{name} is {shown(value)}: a log-probability is a finite number, at most 0 (None where unknown)"
        )


def check_logprobs(name: str, values: Sequence[float]) -> None:
    """Refuse a list in which one cannot be a log-probability, or whose sum is minus infinity."""
    try:
        fine = max(values, default=0.0) <= LOGPROB_SLACK and math.isfinite(sum(values))
    except (TypeError, ValueError, OverflowError):
        fine = False
    if fine:
        return
    for place, value in enumerate(values):
        check_logprob(f"{name}[{place}]", math.nan if value is None else value)
    raise InputError(f"{name} sums to minus infinity: leave out log-probabilities that are not known")


def _is_truth_value(value: object) -> bool:
    """Whether this is True or False, Python's or NumPy's."""
    if isinstance(value, bool):
        return True
    import numpy as np  # not above: the command line explains itself without it

    return isinstance(value, np.bool_)


def _as_tuple(name: str, values: object) -> tuple[object, ...]:
    """A list or an array as a tuple, which can be hashed."""
    try:
        if not isinstance(values, str | bytes):
            return tuple(values.tolist() if hasattr(values, "tolist") else values)  # type: ignore[arg-type]
    except TypeError:
        pass
    raise InputError(
        f"{name} is of type {type(values).__name__}: give a tuple, one entry per token (None where unknown)"
    )


def _check_tokens(tokens: tuple[Token, ...] | None) -> None:
    """Refuse tokens that cannot be compared, such as lists of ids."""
    try:
        hash(tokens)
    except TypeError as error:
        raise InputError(f"tokens must be ids or texts, one per token: {error}") from error


def _checked_pieces(pieces: Sequence[Any]) -> tuple[tuple[str, float], ...]:
    try:
        made = tuple((text, value) for text, value in pieces)
    except (TypeError, ValueError):
        made = ((None, None),)
    if not all(isinstance(text, str) for text, _ in made):
        raise InputError(
            "pieces must be pairs of a token's text and its log-probability (None where unknown)"
        )
    check_logprobs("pieces", [value for _, value in made])
    return made


def check_token_entropy(value: float) -> None:
    """Refuse what cannot be the entropy of a next-token distribution."""
    try:
        fine = 0 <= value <= MOST_TOKEN_ENTROPY
    except TypeError:
        fine = False
    if not fine:
        raise InputError(
            f"a token entropy is {shown(value)}: it must lie between 0 and {MOST_TOKEN_ENTROPY:g} nats"
        )


@dataclass(frozen=True, slots=True)
class Partition:
    """The meanings of samples in draw order: each sample in exactly one, numbered by first appearance.

    It grows one sample at a time, and a sample never moves to another meaning.

    meanings  the number of each sample's meaning

    >>> Partition().add(0).add(1).add(0).counts
    (2, 1)
    """

    meanings: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        fresh = 0
        for place, meaning in enumerate(self.meanings):
            if not 0 <= meaning <= fresh:
                raise InputError(
                    f"meanings[{place}] is {meaning}: meanings are numbered from 0 in order of first appearance"
                )
            fresh = max(fresh, meaning + 1)

    @classmethod
    def of(cls, labels: Sequence[object]) -> Partition:
        """Number arbitrary hashable labels by first appearance.

        >>> Partition.of(["b", "a", "b"]).meanings
        (0, 1, 0)
        """
        numbers: dict[object, int] = {}
        return cls(tuple(numbers.setdefault(label, len(numbers)) for label in labels))

    def add(self, meaning: int) -> Partition:
        """The partition with one more sample in `meaning`; the next unused number opens a new meaning."""
        return Partition((*self.meanings, meaning))

    @property
    def size(self) -> int:
        """How many meanings there are."""
        return max(self.meanings, default=-1) + 1

    @property
    def counts(self) -> tuple[int, ...]:
        """How many samples each meaning has."""
        counts = [0] * self.size
        for meaning in self.meanings:
            counts[meaning] += 1
        return tuple(counts)


def without_certainty(sample: Sample) -> Sample:
    """The sample, its log-probability unknown where it stands for a probability of exactly 1.

    No model is that sure of a whole answer, but servers that do not compute log-probabilities send zeros. Believed,
    one such number would settle the entropy at 0.

    >>> without_certainty(Sample("Paris", 0.0)).logprob, without_certainty(Sample("Paris", -1e-7)).logprob
    (None, -1e-07)
    """
    names = ("logprob", "sampling_logprob", "prefix_logprob")
    unknown: dict[str, Any] = {name: None for name in names if is_certain(getattr(sample, name))}
    tokens = sample.token_logprobs
    if tokens and all(value >= 0.0 for value in tokens):
        count = len(tokens) if sample.token_count is None else sample.token_count
        unknown |= {"token_logprobs": None, "token_count": count}
    return replace(sample, **unknown) if unknown else sample


def is_certain(logprob: float | None) -> bool:
    """Whether this stands for a probability of exactly 1."""
    return logprob is not None and math.exp(logprob) >= 1.0


def pieces_of(tokens: Iterable[tuple[bytes, float]]) -> tuple[tuple[str, float], ...]:
    """The texts of tokens, given as bytes with their log-probabilities; a character cut in two belongs to the last.

    >>> pieces_of([(b"caf", -0.1), (bytes([0xC3]), -0.2), (bytes([0xA9]), -0.3)])
    (('caf', -0.1), ('', -0.2), ('é', -0.3))
    """
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    return tuple((decoder.decode(piece), logprob) for piece, logprob in tokens)


def generated_tokens(samples: Sequence[Sample]) -> int | None:
    """How many tokens were generated, or None where the model does not say."""
    total = 0
    for sample in samples:
        if sample.token_count is not None:
            total += sample.token_count
            continue
        counted = sample.tokens if sample.tokens is not None else sample.token_logprobs
        if counted is None:
            return None
        total += len(counted)
    return total
