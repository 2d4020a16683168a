"""The evidence of one question: its samples counted by meaning, and the answer being judged."""

from __future__ import annotations

import itertools
import math
import operator
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from .errors import InputError
from .numeric_checks import is_count, shown
from .samples import (
    LOGPROB_SLACK,
    Partition,
    Sample,
    check_logprob,
    check_logprobs,
    check_token_entropy,
    is_certain,
)

# Checks of the numbers that evidence is made of: whole numbers, probabilities and log-probabilities per meaning.


LARGEST_COUNT = 10**8
"""The largest number of samples of one meaning. Up to it the integrals converged in every trial."""


def _all_are(values: Sequence[Any], kind: type) -> bool:
    """Whether these are plain values of one type, as they nearly always are: checks then run in C."""
    return not set(map(type, values)) - {kind}


def whole_numbers(name: str, values: Sequence[Any]) -> tuple[int, ...]:
    """`values` as ints; an error names the first that is no whole number from 0 to 10^8.

    >>> whole_numbers("counts", [2.0, 1])
    (2, 1)
    """
    if _all_are(values, int) and min(values, default=0) >= 0 and max(values, default=0) <= LARGEST_COUNT:
        return tuple(values)
    return tuple(_whole(name, value) for value in values)


def _whole(name: str, value: Any) -> int:
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        number = -1
    if number < 0 or number != value:
        raise InputError(f"{name} contains {shown(value)}: it must hold whole numbers, 0 or more")
    if number > LARGEST_COUNT:
        raise InputError(f"{name} contains {shown(value)}: the largest supported is {LARGEST_COUNT:.0e}")
    return number


def probabilities(name: str, values: Sequence[Any]) -> tuple[float, ...]:
    """`values` as floats; an error names the first that is negative or not finite.

    Sums of rounded probabilities may exceed 1 a little, and those of an odd endpoint by much: that is for the
    estimators to judge, which can do without them.
    """
    if _all_are(values, float) and min(values, default=0.0) >= 0 and math.isfinite(sum(values)):
        return tuple(values)
    for value in values:
        try:
            fine = 0 <= value < math.inf
        except TypeError:
            fine = False
        if not fine:
            raise InputError(f"{name} contains {shown(value)}: a probability is a finite number, 0 or more")
    return tuple(value if type(value) is float else float(value) for value in values)


def log_probabilities(name: str, values: Sequence[Sequence[Any]]) -> tuple[tuple[float, ...], ...]:
    """One tuple of log-probabilities per meaning; an error names the first that is none."""
    if _all_are(values, tuple):
        flat = tuple(itertools.chain.from_iterable(values))
        fine = _all_are(flat, float) and max(flat, default=0.0) <= LOGPROB_SLACK
        if fine and math.isfinite(sum(flat)):
            return tuple(values)  # type: ignore[arg-type]
    for meaning, own in enumerate(values):
        check_logprobs(f"{name}[{meaning}]", own)
    return tuple(own if type(own) is tuple else tuple(own) for own in values)


def check_places(counts: Sequence[int], floors: Sequence[float], answered: int | None) -> None:
    """Refuse a meaning that nothing speaks for: no sample, no lower bound, and not the judged answer's."""
    if all(counts):
        return
    for meaning, (count, floor) in enumerate(zip(counts, floors, strict=True)):
        if count == 0 and floor == 0 and meaning != answered:
            raise InputError(
                f"counts[{meaning}] is 0: leave out a meaning without samples, unless it has a lower bound or is "
                "that of the judged answer"
            )


_SPACELESS = "\u2e80", "\u9fff"  # Chinese and Japanese
NAME_WORDS = 3  # that a name has at most, mostly
MOST_EXCESS = 0.01
"""Providers round log-probabilities, so that a sum of probabilities may exceed 1 by this much."""


@dataclass(frozen=True, slots=True)
class JudgedAnswer:
    """What is known of the answer being judged, beside the samples.

    meaning         its meaning; the number of meanings among the samples where no sample has it
    logprob         its log-probability under the sampling distribution, None where unknown
    sequence        its place among the known sequences of its meaning, None where no sample is the same sequence
    token_entropy   the largest entropy of a next-token distribution along it, in nats, None where unknown
    prefix_logprob  its log-probability without the end token, where the provider leaves that out; `sequence` is then
                    its place among the `prefix_logprobs`
    carried_logprob that of the least probable token that carries the answer, given the words before it
                    (`carrying_tokens`); None where it is unknown which tokens do
    """

    meaning: int
    logprob: float | None = None
    sequence: int | None = None
    token_entropy: float | None = None
    prefix_logprob: float | None = None
    carried_logprob: float | None = None

    def __post_init__(self) -> None:
        check_logprob("logprob", self.logprob)
        check_logprob("prefix_logprob", self.prefix_logprob)
        check_logprob("carried_logprob", self.carried_logprob)
        if self.token_entropy is not None:
            check_token_entropy(self.token_entropy)


_PER_MEANING: dict[str, Callable[[str, Any], tuple[Any, ...]]] = {
    "floors": probabilities,
    "distinct": whole_numbers,
    "no_logprob": whole_numbers,
    "logprobs": log_probabilities,
    "string_floors": probabilities,
    "length_weights": probabilities,
    "prefix_logprobs": log_probabilities,
    "prefix_draws": whole_numbers,
}
# The logarithm of the least positive double: a sequence was found, so its probability is not 0.
_LEAST_LOGPROB = math.log(5e-324)


def _log_share(floor: float, sequences: int) -> float:
    share = floor / max(sequences, 1)
    return math.log(share) if share > 0 else _LEAST_LOGPROB


@dataclass(frozen=True, slots=True)
class Evidence:
    """What an entropy estimator sees of one question. Fields have one entry per meaning, in order of first appearance.

    counts           number of samples
    floors           lower bounds: the summed probability of the distinct sequences seen
    distinct         number of distinct sequences with a known probability
    no_logprob       number of samples whose probability is unknown; they do not tighten the lower bound
    logprobs         log-probabilities of the distinct sequences, in the order they were found
    string_floors    the paper's lower bounds, with one probability per distinct string (that of its first draw)
    length_weights   the same sum with exp(mean token log-probability) per string, None where unknown
    answer           the answer being judged, None where there is none; with it, there may be no samples at all
    prefix_logprobs  where the provider leaves the end token out: log-probabilities of the distinct sequences without
                     it. They are upper bounds, and only estimators that model the end token read them
    prefix_draws     number of samples behind them; these count as no_logprob too
    words            the typical number of words of the answer, which counts twice, and of the samples
                     (`typical_words`): how many wordings a meaning has depends on it. None where unknown

    Only `counts` is required. By default floors are 0, a positive floor is one sequence, several sequences share
    their floor evenly, and the samples of a meaning without any known sequence count as no_logprob.

    >>> Evidence(counts=(2, 1), floors=(0.5, 0.0)).no_logprob
    (0, 1)
    """

    counts: tuple[int, ...]
    floors: tuple[float, ...] = ()
    distinct: tuple[int, ...] = ()
    no_logprob: tuple[int, ...] = ()
    logprobs: tuple[tuple[float, ...], ...] = ()
    string_floors: tuple[float, ...] = ()
    length_weights: tuple[float, ...] | None = None
    answer: JudgedAnswer | None = None
    prefix_logprobs: tuple[tuple[float, ...], ...] = ()
    prefix_draws: tuple[int, ...] = ()
    words: int | None = None

    def __post_init__(self) -> None:
        fill = object.__setattr__
        fill(self, "counts", whole_numbers("counts", self.counts))
        m = len(self.counts)
        if m == 0 and self.answer is None:
            raise InputError("counts is empty: an estimate needs at least one sample, or the answer judged")
        self._fill_defaults(m)
        for name, checked in _PER_MEANING.items():
            values = getattr(self, name)
            if values is None:
                continue
            if len(values) != m:
                raise InputError(f"{name} has {len(values)} entries for {m} meanings: one per meaning")
            fill(self, name, checked(name, values))
        self._check_together()

    def _fill_defaults(self, m: int) -> None:
        fill = object.__setattr__
        if len(self.floors) == 0:
            fill(self, "floors", (0.0,) * m)
        fill(self, "floors", probabilities("floors", self.floors))
        if len(self.distinct) == 0:
            fill(self, "distinct", tuple(int(floor > 0) for floor in self.floors))
        fill(self, "distinct", whole_numbers("distinct", self.distinct))
        if any(map(operator.gt, self.distinct, self.counts)):
            raise InputError(
                f"distinct is {self.distinct} with counts of {self.counts}: no more sequences than samples"
            )
        if len(self.no_logprob) == 0:
            pairs = zip(self.counts, self.distinct, strict=False)
            fill(self, "no_logprob", tuple(0 if d else c for c, d in pairs))
        if len(self.logprobs) == 0:
            shares = zip(self.floors, self.distinct, strict=False)
            fill(self, "logprobs", tuple((_log_share(floor, d),) * d for floor, d in shares))
        if len(self.string_floors) == 0:
            fill(self, "string_floors", self.floors)
        if len(self.prefix_logprobs) == 0:
            fill(self, "prefix_logprobs", ((),) * m)
        if len(self.prefix_draws) == 0:
            fill(self, "prefix_draws", tuple(map(len, self.prefix_logprobs)))

    def _check_together(self) -> None:
        """What fields say of each other: how many sequences, and where the judged answer is among them."""
        answer = self.answer
        check_places(self.counts, self.floors, None if answer is None else answer.meaning)
        if tuple(map(len, self.logprobs)) != self.distinct:
            raise InputError(
                f"logprobs has {list(map(len, self.logprobs))} entries for {list(self.distinct)} distinct sequences"
            )
        if any(map(operator.gt, self.prefix_draws, self.no_logprob)):
            raise InputError(
                f"prefix_draws is {self.prefix_draws}, and only {self.no_logprob} samples have no log-probability"
            )
        if answer is None:
            return
        m = len(self.counts)
        if not (is_count(answer.meaning) and answer.meaning <= m):
            raise InputError(
                f"answer.meaning is {shown(answer.meaning)}: one of the {m} meanings, or {m} for a new one"
            )
        known = 0
        if answer.meaning < m:  # those without their end token come after the others
            known = len(self.logprobs[answer.meaning]) + len(self.prefix_logprobs[answer.meaning])
        if answer.sequence is not None and not 0 <= answer.sequence < known:
            raise InputError(f"answer.sequence is {answer.sequence}: its meaning has {known} known sequences")

    @property
    def bare_floors(self) -> tuple[float, ...]:
        """The floors of meanings without a sequence of known probability, 0 for the others; empty where all are 0.

        >>> Evidence(counts=(2, 1), floors=(0.5, 0.2), distinct=(0, 1)).bare_floors
        (0.5, 0.0)
        """
        bare = tuple(0.0 if d else f for f, d in zip(self.floors, self.distinct, strict=True))
        return bare if any(bare) else ()

    def as_bounds(self) -> Evidence:
        """The same counts, with the floors as bare lower bounds and every draw counted.

        For a field of a longer answer: the answer's log-probability bounds the probability of the field's value from
        below, but answers that differ elsewhere say nothing about how the value is worded. The judged answer counts
        as a draw, and its probability raises the bound of its meaning, which has a count of 0 if no sample has it.
        Probabilities that sum to more than 1 are no bounds, and are dropped.

        >>> one = Evidence(counts=(2,), floors=(0.25,), distinct=(2,), answer=JudgedAnswer(1, logprob=math.log(0.5)))
        >>> bounds = one.as_bounds()
        >>> bounds.counts, bounds.floors, bounds.distinct
        ((2, 0), (0.25, 0.5), (0, 0))
        """
        counts, floors, answer = list(self.counts), list(self.floors), self.answer
        if answer is not None:
            if answer.meaning == len(counts):
                counts.append(0)
                floors.append(0.0)
            if answer.logprob is not None and answer.sequence is None:
                floors[answer.meaning] += math.exp(answer.logprob)
            answer = JudgedAnswer(answer.meaning)
        if math.fsum(floors) > 1 + MOST_EXCESS:
            floors = [0.0] * len(floors)
        return Evidence(
            tuple(counts), tuple(floors), (0,) * len(counts), tuple(counts), answer=answer, words=self.words
        )

    @property
    def n(self) -> int:
        """How many samples were drawn."""
        return sum(self.counts)

    @property
    def lacks_ends(self) -> bool:
        """Whether some log-probability is known without its end token."""
        answer = self.answer
        return any(self.prefix_logprobs) or (answer is not None and answer.prefix_logprob is not None)

    @classmethod
    def trusted(cls, **fields: Any) -> Evidence:
        """Evidence of fields that are known to fit together, all of them given.

        Nothing is checked, as studies make millions of them.

        >>> one = Evidence(counts=(2,), floors=(0.5,))
        >>> Evidence.trusted(**{name: getattr(one, name) for name in one.__slots__}) == one
        True
        """
        made = object.__new__(cls)
        for name in cls.__slots__:
            object.__setattr__(made, name, fields[name])
        return made

    @classmethod
    def gather(
        cls,
        samples: Sequence[Sample],
        partition: Partition,
        answer: Sample | None = None,
        answer_meaning: int | None = None,
        question: str | None = None,
    ) -> Evidence:
        """Count `samples` by meaning and sum the probabilities of their distinct sequences.

        A log-probability of exactly 0 is not believed: it is sent by servers that compute none.
        Sequences are distinguished by their tokens where known, else by text and log-probability, so that two
        tokenisations of one string raise the lower bound twice and one sequence drawn twice raises it once.
        `answer_meaning` is the meaning of `answer` in `partition`, or `partition.size` if no sample has it. The
        `question` tells which tokens of the answer carry it.

        >>> draws = [Sample("Paris", -0.7), Sample("Paris", -0.7), Sample("Rome", None)]
        >>> Evidence.gather(draws, Partition((0, 0, 1))).distinct
        (1, 0)
        """
        if len(samples) != len(partition.meanings):
            raise InputError(
                f"{len(samples)} samples but {len(partition.meanings)} meanings: one for each sample"
            )
        tally = SampleTally()
        for sample, meaning in zip(samples, partition.meanings, strict=True):
            tally.add_sample(sample, meaning)
        judged = None
        if answer is not None:
            tally.add_answer(word_count(answer.text))
            home = partition.size if answer_meaning is None else answer_meaning
            whole = answer.sampling_logprob is not None
            judged = judged_answer(
                answer, home, lambda sequence: tally.place(sequence, home, whole=whole), question
            )
        return cls(**tally.fields(), answer=judged)


class SampleTally:
    """Running totals of samples, one entry per meaning, from which the evidence so far can be read at any time.

    lengths_known  whether every sample has token log-probabilities
    """

    UNKNOWN = -1  # the sequence of a sample without a log-probability that can be believed

    def __init__(self, *, lengths_known: bool = True) -> None:
        self.lengths_known = lengths_known
        self.words: list[int] = []  # of the samples, and of the answer twice
        self.numbers: dict[int, int] = {}  # of the meanings, by first appearance
        self._counts: list[int] = []
        self._no_logprob: list[int] = []
        self._prefix_draws: list[int] = []
        self._floors: list[float] = []
        self._string_floors: list[float] = []
        self._lengths: list[float] = []
        self._logprobs: list[tuple[float, ...]] = []
        self._prefix_logprobs: list[tuple[float, ...]] = []
        # The meaning of each, its place there, and whether its end token is known
        self._sequences: dict[object, tuple[int, int, bool]] = {}
        self._strings: set[object] = set()

    def add_sample(self, sample: Sample, meaning: int) -> None:
        """Count a sample; one that was cut off says nothing of its sequence."""
        logprob = sample.logprob if sample.complete else None
        probability = 0.0 if logprob is None else math.exp(logprob)
        whole = logprob is not None and not is_certain(logprob)
        if not whole:
            logprob = sample.prefix_logprob if sample.complete else None
        known = logprob is not None and not is_certain(logprob)
        parts = sample.token_logprobs
        self.lengths_known = self.lengths_known and bool(parts)
        self.add(
            meaning,
            sample.text,
            sequence_key(sample, logprob) if known else self.UNKNOWN,
            logprob or 0.0,
            probability,
            math.exp(math.fsum(parts) / len(parts)) if parts else 0.0,
            word_count(sample.text),
            whole=whole,
        )

    def add(
        self,
        label: int,
        string: object,
        sequence: object,
        logprob: float,
        probability: float,
        length: float,
        words: int,
        *,
        whole: bool,
    ) -> None:
        """Count one draw; `whole` says whether the log-probability covers the end token."""
        self.words.append(words)
        meaning = self.numbers.setdefault(label, len(self.numbers))
        if meaning == len(self._counts):
            for counts in (self._counts, self._no_logprob, self._prefix_draws):
                counts.append(0)
            for totals in (self._floors, self._string_floors, self._lengths):
                totals.append(0.0)
            for found in (self._logprobs, self._prefix_logprobs):
                found.append(())
        self._counts[meaning] += 1
        if string not in self._strings:
            self._strings.add(string)
            self._lengths[meaning] += length
            self._string_floors[meaning] += probability
        known = sequence != self.UNKNOWN
        if not (whole and known):
            self._no_logprob[meaning] += 1
        if known and not whole:
            self._prefix_draws[meaning] += 1
        if known and sequence not in self._sequences:
            held = self._logprobs if whole else self._prefix_logprobs
            self._sequences[sequence] = meaning, len(held[meaning]), whole
            held[meaning] += (logprob,)
            self._floors[meaning] += probability if whole else 0.0

    def place(self, sequence: object, meaning: int, *, whole: bool) -> int | None:
        """The place of an answer's sequence among those of its meaning, those without their end token last.

        `whole` says whether the answer's log-probability covers the end token: if not, places count these alone.
        """
        home, at, has_end = self._sequences.get(sequence, (None, 0, True))
        if home != meaning or (has_end and not whole):
            return None
        return at if has_end or not whole else len(self._logprobs[meaning]) + at

    def add_answer(self, words: int) -> None:
        """Count the words of the judged answer, twice: one sample that rambles does not change its form, two do."""
        self.words += (words, words)

    def fields(self) -> dict[str, Any]:
        """The fields of the evidence so far, but `answer`."""
        return {
            "counts": tuple(self._counts),
            "floors": tuple(self._floors),
            "distinct": tuple(map(len, self._logprobs)),
            "no_logprob": tuple(self._no_logprob),
            "logprobs": tuple(self._logprobs),
            "string_floors": tuple(self._string_floors),
            "length_weights": tuple(self._lengths) if self.lengths_known else None,
            "prefix_logprobs": tuple(self._prefix_logprobs),
            "prefix_draws": tuple(self._prefix_draws),
            "words": typical_words(self.words),
        }


def judged_answer(
    answer: Sample, meaning: int, place: Callable[[object], int | None], question: str | None = None
) -> JudgedAnswer:
    """What the evidence says of `answer` to `question`; `place` finds a sequence among those that are known."""
    logprob = answer.sampling_logprob if answer.complete and not is_certain(answer.sampling_logprob) else None
    prefix = answer.prefix_logprob if answer.complete and logprob is None else None
    prefix = None if is_certain(prefix) else prefix
    known = prefix if logprob is None else logprob
    entropies = answer.token_entropies
    return JudgedAnswer(
        meaning=meaning,
        logprob=logprob,
        sequence=None if known is None else place(sequence_key(answer, known)),
        token_entropy=max(entropies) if entropies else None,
        prefix_logprob=prefix,
        carried_logprob=None if question is None or known is None else carried_logprob(question, answer),
    )


# The tokens that carry an answer. The probability of a sentence is small however sure the model is, since it could have
# been worded otherwise. That of "Canberra" after "The capital of Australia is" is close to the meaning's own.

_WORD = re.compile(rf"(?=\w)[{_SPACELESS[0]}-{_SPACELESS[1]}]|[^\W_{_SPACELESS[0]}-{_SPACELESS[1]}]+")
_POLARITY = re.compile(r"\s*(yes|no|ja|nein|oui|non|sí|sì|да|нет)(?=[,.;:!]|$)", re.IGNORECASE)
_ENDING = re.compile(r"(?<=..)(?:ies|es|s|ed|ing|en)$")
_FUNCTION_WORDS_OF = {
    "English": "a an the of in on at by to for from with as is are was were be been being has have had do does did it"
    " its he she they them his her their this that these those there and or but which who whom whose what when where"
    " how than then so if into about over under after before between during also can could will would may might must"
    " shall should i you we my your our me us him",  # no, not and one may be the answer
    "German": "der die das den dem des ein eine einen einem einer ist sind war waren wurde wird von im und zu mit auf"
    " er sie es",
    "French": "le la les l d de du un une est sont été était par en et il elle",
    "Spanish": "el los las es son fue era por que del al y lo",
    "Italian": "gli di da dal nel e è",
    "Russian": "это был была было в на и с он она",
    "Japanese": "は が の を に で と す だ た",
    "Chinese": "的 是 在 了 于 於",
}
_FUNCTION_WORDS = frozenset(word for words in _FUNCTION_WORDS_OF.values() for word in words.split())


def carried_logprob(question: str, answer: Sample) -> float | None:
    """The log-probability of the least probable token that carries the answer; None where the tokens are unknown.

    >>> pieces = (("It", -0.7), (" is", -0.1), (" Can", -0.2), ("berra", -0.0), (".", -0.4), ("<|im_end|>", -0.0))
    >>> carried_logprob("What is the capital of Australia?", Sample("It is Canberra.", pieces=pieces))
    -0.2
    """
    pieces = answer.pieces
    if not pieces:
        return None
    places = carrying_tokens(question, answer.text, [text for text, _ in pieces])
    return min((pieces[place][1] for place in places), default=None)


def carrying_tokens(question: str, text: str, tokens: Sequence[str]) -> list[int]:
    """The places of the tokens that carry the answer `text`: of words that are no function words, nor the question's.

    A yes or no that comes first carries it alone. Where it has no such words, all of its tokens carry it; where the
    tokens do not spell it, none.

    >>> carrying_tokens("Who wrote Faust?", "Goethe wrote it.", ["Go", "ethe", " wrote", " it", "."])
    [0, 1]
    >>> carrying_tokens("Can emus fly?", "No, they are too heavy.", ["No", ",", " they", " are", " too", " heavy", "."])
    [0]
    """
    start = "".join(tokens).find(text)
    if start < 0 or not text:
        return []
    ends = [end - start for end in itertools.accumulate(map(len, tokens))]
    asked = {_stem(word) for word in _WORD.findall(question.lower())}
    polarity = _POLARITY.match(text)
    spans = (
        [polarity.span(1)]
        if polarity
        else [
            found.span()
            for found in _WORD.finditer(text)
            if (word := found[0].lower()) not in _FUNCTION_WORDS and _stem(word) not in asked
        ]
        or [(0, len(text))]
    )
    # A token without text begins a character that the next one completes.
    starts = [-start, *ends[:-1]]
    return [
        place
        for place, (begin, end) in enumerate(zip(starts, ends, strict=True))
        if any(begin < last and max(end, begin + 1) > first for first, last in spans)
    ]


def _stem(word: str) -> str:
    return _ENDING.sub("", word) if len(word) > 4 else word


def sequence_key(sample: Sample, logprob: float | None) -> object:
    """What distinguishes one token sequence from another: its tokens where known, else text and log-probability."""
    return sample.tokens if sample.tokens is not None else (sample.text, logprob)


def word_count(text: str) -> int:
    """How many words a text has; in Chinese and Japanese two characters count as one.

    >>> word_count("It is Canberra."), word_count("堪培拉是首都")
    (3, 3)
    """
    return max(len(text.split()), sum(_SPACELESS[0] <= char <= _SPACELESS[1] for char in text) // 2)


def typical_words(counts: Iterable[int]) -> int | None:
    """The median number of words of some texts, rounded up to 3, 6, 12, 24, ...; None without a text.

    The larger of the middle two: a bare name among the answers of a model that writes sentences is one of its
    wordings. Rounded, since the form of an answer (a name, a phrase, a sentence) does not depend on more.

    >>> typical_words([1, 4]), typical_words([1, 1, 2, 30]), typical_words([40])
    (6, 3, 48)
    """
    ordered = sorted(counts)
    if not ordered:
        return None
    steps = (ordered[len(ordered) // 2] - 1) // NAME_WORDS
    return NAME_WORDS << max(steps, 0).bit_length()


def check_sampled(method: str, evidence: Evidence) -> None:
    """Refuse evidence without a sample, for a method that does not use the judged answer."""
    if not any(evidence.counts):
        raise InputError(f"{method} needs at least one sample, and there is none: use bayes, or draw one")
