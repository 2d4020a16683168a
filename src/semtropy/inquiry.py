"""The sampling loop as a generator without I/O.

It asks for answers (`Draw`) and comparisons (`Compare`), reports a `Step` a round, and leaves the asking to a
driver, synchronous or asynchronous. The last step carries the reason why sampling stopped.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol, cast

from .errors import InputError, ModelTimeout, NoAnswer
from .nouns import Belief, Estimator, Evidence, Partition, Sample
from .stopping import Budget, FixedSamples, Reason, Rounds, Rule, Spent
from .verdict import THRESHOLD, Entropy, Meaning, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from .nouns import Floats, Token

__all__ = [
    "Calibrated",
    "Compare",
    "Draw",
    "Drawn",
    "Exchange",
    "Grouping",
    "Step",
    "Terms",
    "conclude",
    "inquire",
    "make_verdict",
    "without_certainty",
]

Triple = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Draw:
    """Asks for `n` samples at `temperature` and, with them, for one answer at `answer_at` where that is set.

    `answer_at` is None once there is an answer: drawn in an earlier round, or given by the caller.
    """

    n: int
    temperature: float = 1.0
    answer_at: float | None = None


@dataclass(frozen=True, slots=True)
class Drawn:
    """The reply to a Draw: no samples means the model has no more, or that time ran out (`late`)."""

    samples: Sequence[Sample]
    answer: Sample | None = None
    late: bool = False


@dataclass(frozen=True, slots=True)
class Compare:
    """Asks for the judge's probability of each (question, a, b): does a entail b?"""

    pairs: Sequence[Triple]


@dataclass(frozen=True, slots=True)
class Step:
    """What is known after a round; `reason` is set on the last."""

    question: str
    answer: Sample
    samples: tuple[Sample, ...]
    partition: Partition
    evidence: Evidence
    belief: Belief
    spent: Spent
    reason: Reason | None = None

    def meanings(self) -> tuple[Meaning, ...]:
        """Each meaning by its commonest wording, in order of first appearance."""
        wordings: list[Counter[str]] = [Counter() for _ in range(self.partition.size)]
        for sample, meaning in zip(self.samples, self.partition.meanings, strict=True):
            wordings[meaning][sample.text] += 1
        return tuple(
            Meaning(words.most_common(1)[0][0], count, min(1.0, floor))
            for words, count, floor in zip(wordings, self.evidence.counts, self.evidence.floors, strict=True)
        )


class Grouping(Protocol):
    """Gives samples their meanings one by one, asking for comparisons where it needs them."""

    def place(
        self, text: str, tokens: Sequence[Token] | None = None
    ) -> Generator[Sequence[Triple], Floats, int]: ...


class Calibrated(Protocol):
    """Turns a belief into the probability that the answer is made up; `flags` is None where it has no threshold."""

    estimator: str

    def __call__(self, belief: Belief) -> float: ...

    def flags(self, belief: Belief) -> bool | None: ...


@dataclass(frozen=True, slots=True)
class Terms:
    """On what terms a question is asked: all of a check but the question and the I/O."""

    estimator: Estimator
    rule: Rule
    budget: Budget = field(default_factory=Budget)
    rounds: Rounds | None = None
    temperature: float = 1.0
    answer_temperature: float = 0.1
    threshold: float = THRESHOLD
    calibration: Calibrated | None = None

    def round_size(self, spent: Spent) -> int:
        """The samples of the next round: a fixed number goes out at once, else rounds grow."""
        rounds = self.rounds
        if rounds is None:
            rounds = Rounds(first=self.rule.n) if isinstance(self.rule, FixedSamples) else Rounds()
        return min(rounds.size(spent), self.budget.room(spent))


def inquire(
    question: str,
    terms: Terms,
    grouping: Grouping,
    *,
    answer: Sample | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Generator[Draw | Compare | Step, Drawn | Floats | None, None]:
    """Ask, group and estimate until the rule or the budget says stop.

    Send a Drawn for each Draw, an array for each Compare and nothing for a Step. An `answer` that is already there
    is the one judged; no other is drawn.
    """
    if not question.strip():
        raise InputError("the prompt is empty: ask a question")
    start = clock()
    samples: list[Sample] = []
    partition, spent = Partition(), Spent()
    drawn_answer: Sample | None = None  # it costs tokens; one given by the caller does not
    step: Step | None = None
    while step is None or step.reason is None:
        asked = Draw(
            terms.round_size(spent), terms.temperature, terms.answer_temperature if answer is None else None
        )
        drawn = cast("Drawn", (yield asked))
        if drawn.answer is not None:
            answer = drawn_answer = drawn.answer
        if not drawn.samples:
            yield _cut_short(step, drawn, spent=replace(spent, seconds=clock() - start))
            return
        judged = 0
        found = [without_certainty(sample) for sample in drawn.samples]
        for sample in found:
            meaning, calls = yield from _place(grouping, sample)
            partition = partition.add(meaning)
            judged += calls
        samples.extend(found)
        spent = Spent(
            samples=len(samples),
            rounds=spent.rounds + 1,
            tokens=_tokens([*samples, drawn_answer] if drawn_answer else samples),
            judge_calls=spent.judge_calls + judged,
            seconds=clock() - start,
        )
        evidence = Evidence.gather(samples, partition)
        belief = terms.estimator(evidence)
        reason = terms.rule(belief, spent) or terms.budget.exhausted(spent)
        step = Step(
            question, answer or samples[0], tuple(samples), partition, evidence, belief, spent, reason
        )
        yield step


class Exchange:
    """Iterates over the events of `inquire`; a driver puts its answer to each into `reply` before the next."""

    def __init__(self, loop: Generator[Draw | Compare | Step, Drawn | Floats | None, None]) -> None:
        self._loop = loop
        self.reply: Drawn | Floats | None = None

    def __iter__(self) -> Iterator[Draw | Compare | Step]:
        while True:
            reply, self.reply = self.reply, None
            try:
                event = self._loop.send(reply)
            except StopIteration:
                return
            yield event


def without_certainty(sample: Sample) -> Sample:
    """The sample, its log-probability unknown where it is exactly 0.

    No model is that sure of a whole answer, but servers that do not compute log-probabilities send zeros. Believed,
    one such number would settle the entropy at 0.
    """
    return replace(sample, logprob=None) if sample.logprob == 0.0 else sample


def _cut_short(step: Step | None, drawn: Drawn, *, spent: Spent) -> Step:
    """The last step once more, with the reason why nothing came after it."""
    if step is None and drawn.late:
        raise ModelTimeout("no answer came within the seconds allowed: allow more, or use a faster model")
    if step is None:
        raise NoAnswer("the model returned no answer: try another prompt or model")
    return replace(step, spent=spent, reason=Reason.SECONDS if drawn.late else Reason.EXHAUSTED)


def _place(grouping: Grouping, sample: Sample) -> Generator[Compare, Drawn | Floats | None, tuple[int, int]]:
    """Drive one placement; returns the meaning and how many pairs were judged for it."""
    placing = grouping.place(sample.text, sample.tokens)
    calls = 0
    try:
        pairs = next(placing)
        while True:
            calls += len(pairs)
            pairs = placing.send(cast("Floats", (yield Compare(pairs))))
    except StopIteration as placed:
        return int(placed.value), calls


def _tokens(samples: Sequence[Sample]) -> int | None:
    """How many tokens were generated, or None where the model does not say."""
    total = 0
    for sample in samples:
        counted = sample.tokens if sample.tokens is not None else sample.token_logprobs
        if counted is None:
            return None
        total += len(counted)
    return total


def conclude(step: Step, terms: Terms) -> Verdict:
    """The verdict after a step of a check; a step without a reason was interrupted."""
    warnings: list[str] = []
    if terms.budget.tokens is not None and step.spent.tokens is None:
        warnings.append("The model does not count its tokens: the token budget could not be kept.")
    return make_verdict(
        step,
        method=terms.estimator.name,
        threshold=terms.threshold,
        calibration=terms.calibration,
        warnings=warnings,
    )


def make_verdict(
    step: Step,
    *,
    method: str,
    threshold: float = THRESHOLD,
    calibration: Calibrated | None = None,
    warnings: Sequence[str] = (),
) -> Verdict:
    """What a step means for its answer: the one place where a verdict is made, live or from stored samples.

    `method` is the name of the estimator or scorer behind the belief; a calibration fitted for another one is
    used, with a warning.
    """
    probability, flagged = None, step.belief.mean > threshold
    if calibration is not None:
        probability = calibration(step.belief)
        chosen = calibration.flags(step.belief)
        flagged = probability > 0.5 if chosen is None else chosen
    return Verdict(
        question=step.question,
        answer=step.answer.text,
        entropy=Entropy.of(step.belief),
        meanings=step.meanings(),
        spent=step.spent,
        reason=step.reason or Reason.INTERRUPTED,
        flagged=flagged,
        probability=probability,
        threshold=threshold,
        warnings=(*step.belief.notes, *_sample_warnings(step), *_mismatch(calibration, method), *warnings),
        belief=step.belief,
        partition=step.partition,
        draws=step.samples,
    )


def _sample_warnings(step: Step) -> Iterator[str]:
    n = len(step.samples)
    no_logprob = sum(sample.logprob is None for sample in step.samples if sample.complete)
    cut = sum(not sample.complete for sample in step.samples)
    empty = sum(not sample.text.strip() for sample in step.samples)
    if no_logprob:
        yield (
            f"{no_logprob} of {n} samples came without the log-probability of the whole answer, end token included: "
            "they are counted, but do not tighten the lower bounds."
        )
    if cut:
        yield (
            f"{cut} of {n} samples were cut off at the length limit: "
            "they are counted, but do not tighten the lower bounds."
        )
    if empty:
        yield f"{empty} of {n} samples were empty."


def _mismatch(calibration: Calibrated | None, method: str) -> Iterator[str]:
    if calibration is not None and calibration.estimator != method:
        yield (
            f"The calibration was fitted for the estimator {calibration.estimator}, "
            f"not for {method}: its probability means little here."
        )
