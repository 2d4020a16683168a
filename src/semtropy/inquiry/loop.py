"""The sampling loop as a generator without I/O.

It asks for answers (`Draw`) and comparisons (`Compare`), reports a `Step` a round, and leaves the asking to a
driver, synchronous or asynchronous. The last step carries the reason why sampling stopped.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol, cast

from ..capabilities import AT_ONCE, IN_PROCESS, Pace, samples_until_agreement
from ..errors import ConvergenceError, ImpossibleLogprobs, InputError, ModelTimeout, NoAnswer
from ..evidence import NAME_WORDS
from ..nouns import Belief, Estimator, Evidence, JudgedAnswer, Partition, Sample, not_an_entropy
from ..refusals import missing_answer
from ..samples import generated_tokens, weighed_by_samples, without_certainty
from ..stopping import CLAIMS, Budget, Decided, FixedSamples, Reason, Rounds, Spent, check_threshold
from ..verdict import THRESHOLD
from .steps import PENDING, FieldReader, FieldStep, LabelledDraws, Step, mixed

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from ..conversation import Prompt
    from ..nouns import Floats, Token
    from ..second import Consultation
    from ..stopping import Calibrated, Rule
    from .steps import FieldReading


# What the sampling loop asks its driver for, and the replies.


Triple = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Draw:
    """Asks for `n` samples at `temperature` and, with them, for one answer at `answer_at` where that is set.

    `answer_at` is None once there is an answer: drawn in an earlier round, or given by the caller. `weigh` is such an
    answer whose log-probability is asked for. `second` is the number of the second model that is asked instead,
    and `prompt` what is asked instead of the question.
    """

    n: int
    temperature: float = 1.0
    answer_at: float | None = None
    weigh: Sample | None = None
    second: int | None = None
    prompt: Prompt | None = None


@dataclass(frozen=True, slots=True)
class Drawn:
    """The reply to a Draw: no samples means the model has no more, or that time ran out (`late`).

    `answer` is the one drawn, or the one that was weighed. `failed` says why a second model gave no answer.
    """

    samples: Sequence[Sample]
    answer: Sample | None = None
    late: bool = False
    failed: str | None = None


LATE = Drawn((), late=True)
"""The reply to a Draw or a Compare for which time ran out."""


@dataclass(frozen=True, slots=True)
class Compare:
    """Asks for the judge's probability of each (question, a, b): does a entail b?"""

    pairs: Sequence[Triple]


@dataclass(frozen=True, slots=True)
class Relate:
    """Asks what the judge says of each (question, passage, claim): three probabilities, as `relation` gives them."""

    pairs: Sequence[Triple]


class Exchange:
    """Iterates over the events of `inquire`; a driver puts its answer to each into `reply` before the next."""

    def __init__(self, loop: Generator[Draw | Compare | Relate | Step, Drawn | Floats | None, None]) -> None:
        self._loop = loop
        self.reply: Drawn | Floats | None = None

    def __iter__(self) -> Iterator[Draw | Compare | Relate | Step]:
        while True:
            reply, self.reply = self.reply, None
            try:
                event = self._loop.send(reply)
            except StopIteration:
                return
            yield event


# On what terms a question is asked: the estimator, when to stop, what may be spent, and how the answer is drawn.


ANSWER_TEMPERATURE = 0.1
"""The temperature at which the answer to be judged is drawn."""


@dataclass(frozen=True, slots=True)
class Terms:
    """On what terms a question is asked: all of a check but the question and the I/O."""

    estimator: Estimator
    rule: Rule
    budget: Budget = field(default_factory=Budget)
    rounds: Rounds | None = None
    temperature: float = 1.0
    answer_temperature: float = ANSWER_TEMPERATURE
    threshold: float = THRESHOLD
    calibration: Calibrated | None = None
    second: Consultation | None = None
    claim_calibration: Calibrated | None = None

    def __post_init__(self) -> None:
        check_threshold(self.threshold)
        warmth = self.answer_temperature
        if not (isinstance(warmth, int | float) and 0 <= warmth <= 2):
            raise InputError(f"answer_temperature is {warmth!r}: a temperature from 0 to 2")
        if not isinstance(self.estimator, Estimator) or isinstance(self.estimator, type):
            raise InputError(f"estimator is {self.estimator!r}: give the name of one, or an estimator")
        if not isinstance(self.budget, Budget):
            raise InputError(f"budget is {self.budget!r}: give limits, such as Budget(samples=10)")
        if self.rounds is not None and not isinstance(self.rounds, Rounds):
            raise InputError(f"rounds is {self.rounds!r}: give their sizes, such as Rounds(first=3)")
        if self.calibration is not None and not hasattr(self.calibration, "flags"):
            raise InputError(
                f"calibration is {self.calibration!r}: give a Calibration, as `calibrate` makes it"
            )
        if self.calibration is not None and self.calibration.estimator == CLAIMS:
            # Short answers go without it.
            object.__setattr__(self, "claim_calibration", self.calibration)
            object.__setattr__(self, "calibration", None)
        if not callable(self.rule) or isinstance(self.rule, type):
            raise InputError(
                f"rule is {self.rule!r}: give a stopping rule, such as Decided(0.69) or VarianceBelow(0.1)"
            )
        if self.calibration is not None and isinstance(self.rule, Decided) and self.rule.calibration is None:
            object.__setattr__(self, "rule", self.rule.about(self.calibration))
        if self.budget.samples == 0 and not self.estimator.uses_answer:
            raise InputError(
                f"budget: samples is 0, and the estimator {self.estimator.name} needs samples: use bayes, "
                "or allow at least one"
            )

    def fixed(self) -> Terms:
        """The terms of one question: what a prior learns from others meanwhile does not change its beliefs."""
        now = getattr(self.estimator, "now", None)
        return self if now is None else replace(self, estimator=now())

    def starts_with_answer(self, answer: Sample | None) -> bool:
        """Whether to form a belief from the answer alone, before the first sample.

        An answer that is given without its log-probability says nothing yet, so its first samples are drawn at once.
        Where there is none, because it is empty or a refusal, samples would say nothing about it.
        """
        if not self.estimator.uses_answer or isinstance(self.rule, FixedSamples):
            return False
        if answer is PENDING:
            return False
        if answer is None:
            return True
        known = answer.sampling_logprob is not None or answer.prefix_logprob is not None
        return known or self.budget.samples == 0 or missing_answer(answer) is not None

    def round_size(self, spent: Spent) -> int:
        """The samples of the next round: a fixed number goes out at once, else rounds grow."""
        rounds = self.rounds
        if rounds is None:
            rounds = Rounds(first=self.rule.n) if isinstance(self.rule, FixedSamples) else Rounds()
        return min(rounds.size(spent), self.budget.room(spent))


CONTRADICTION = (
    "the log-probabilities of different answers sum to more than 1, so they are not those of the samples: "
    "they were left out"
)


def estimated(estimator: Estimator, evidence: Evidence) -> Belief:
    """The belief; without log-probabilities where these contradict each other, as those of odd endpoints may."""
    from ..estimators.bayes import Bayes

    # Where no log-probability is known, the same few counts come back in check after check.
    return _kept(estimator, evidence) if isinstance(estimator, Bayes) else _estimate(estimator, evidence)


def _estimate(estimator: Estimator, evidence: Evidence) -> Belief:
    try:
        return estimator(evidence)
    except ImpossibleLogprobs:
        answer = evidence.answer
        judged = None if answer is None else JudgedAnswer(answer.meaning, token_entropy=answer.token_entropy)
        belief = estimator(Evidence(evidence.counts, answer=judged))
        return replace(belief, notes=(*belief.notes, CONTRADICTION))


_kept = lru_cache(maxsize=64)(_estimate)  # of 0.4 MB each


LIKELY = 0.5
"""The least probability of a given answer's wording that is believed to be that of the model's own answer."""


class Grouping(Protocol):
    """Gives samples their meanings one by one, asking for comparisons where it needs them."""

    def place(
        self, text: str, tokens: Sequence[Token] | None = None
    ) -> Generator[Sequence[Triple], Floats, int]: ...


def inquire(
    question: str,
    terms: Terms,
    grouping: Grouping,
    *,
    answer: Sample | None = None,
    earlier: Step | None = None,
    pace: Callable[[], Pace] = lambda: IN_PROCESS,
    clock: Callable[[], float] = time.monotonic,
) -> Generator[Draw | Compare | Step, Drawn | Floats | None, None]:
    """Ask, group and estimate until the rule or the budget says stop.

    Send a Drawn for each Draw, an array for each Compare and nothing for a Step. An `answer` that is already there
    is the one judged; no other is drawn. With an estimator that uses the answer as evidence, the answer comes
    first, and samples are drawn only if it leaves the verdict open. `pace` says what goes out together instead, by
    what is known of the model at that moment.

    `earlier` is the last step of an inquiry whose answer was `PENDING`: its samples are compared with the answer that
    has arrived since, and more are drawn only if they leave the verdict on it open.
    """
    if not question.strip():
        raise InputError("the prompt is empty: ask a question")
    start = clock() - (0.0 if earlier is None else earlier.spent.seconds)
    state = _Inquiry(question, terms, grouping, answer, answer_given=answer is not None)
    step: Step | None = None
    if earlier is not None:
        state.spent = replace(earlier.spent, rounds=earlier.spent.rounds - 1)
        state.judge_calls = earlier.spent.judge_calls
        yield from state.take(Drawn(earlier.samples))
        step = state.step(seconds=clock() - start)
        yield step
    while step is None or step.reason is None:
        weigh = state.to_weigh(pace())
        alone = step is None and terms.starts_with_answer(state.answer) and state.answer_alone(pace())
        if step is None and weigh is not None:  # the answer was given: its probability may decide
            drawn = _if_likely(cast("Drawn", (yield Draw(0, terms.temperature, None, weigh))), weigh)
            if drawn.answer is None:
                continue
        elif alone and state.answer is not None:  # there is nothing to draw yet
            drawn = Drawn(())
        else:
            size = 0 if alone else state.round_size(pace())
            wanted = terms.answer_temperature if state.answer is None else None
            drawn = _if_likely(cast("Drawn", (yield Draw(size, terms.temperature, wanted, weigh))), weigh)
            if not drawn.samples and not (alone and drawn.answer is not None):
                yield _cut_short(step, drawn, spent=replace(state.spent, seconds=clock() - start))
                return
        yield from state.take(drawn)
        step = state.step(seconds=clock() - start)
        yield step


def ask_judge(
    placing: Generator[Sequence[Triple], Floats, int],
) -> Generator[Compare, Drawn | Floats | None, tuple[int | None, int]]:
    """The meaning that a grouping finds, and how many pairs were judged for it; None where the judge is late."""
    count = 0
    try:
        pairs = next(placing)
        while True:
            count += len(pairs)
            judged = yield Compare(pairs)
            if judged is LATE:
                return None, count
            pairs = placing.send(cast("Floats", judged))
    except StopIteration as placed:
        return int(placed.value), count


class _JudgeLate(Exception):
    """Time ran out while the judge compared."""


class _Inquiry:
    """The state of one inquiry: the answer, the samples, their meanings, and what was spent."""

    def __init__(
        self, question: str, terms: Terms, grouping: Grouping, answer: Sample | None, *, answer_given: bool
    ) -> None:
        self.question, self.terms, self.grouping = question, terms, grouping
        self.answer = answer if answer is None or answer is PENDING else without_certainty(answer)
        self.answer_given = answer_given
        self.samples: list[Sample] = []
        self.labels: list[int] = []  # the grouping's numbers; it also places the answer
        self.answer_label: int | None = None
        self.spent = Spent()
        self.judge_calls = 0
        self.uncompared: list[Sample] = []  # drawn, but the judge ran out of time
        self.torn = False  # whether agreement alone could no longer decide
        self.weighed = False  # whether the endpoint was asked to weigh the answer
        self.beliefs: dict[Evidence, Belief] = {}
        self.decided: dict[tuple[str, str], Reason | None] = {}

    def to_weigh(self, pace: Pace) -> Sample | None:
        """The answer that was given, if its log-probability is not known and can be asked for; once."""
        answer = self.answer
        known = answer is None or answer is PENDING or answer.sampling_logprob is not None
        if known or self.weighed or not (self.answer_given and pace.weighs_given):
            return None
        if not self.terms.estimator.uses_answer or isinstance(self.terms.rule, FixedSamples):
            return None
        self.weighed = True
        return None if answer is None or missing_answer(answer) is not None else answer

    def answer_alone(self, pace: Pace) -> bool:
        """Whether the answer goes out before any sample: it may decide, or nothing else is allowed."""
        terms = self.terms
        weighed = pace.weighs_answer or (
            pace.weighs_samples and terms.answer_temperature == terms.temperature
        )
        return self.answer is not None or bool(weighed) or terms.budget.samples == 0

    def round_size(self, pace: Pace) -> int:
        """The samples of the next round; without log-probabilities, as many as a verdict for the answer takes."""
        terms = self.terms
        size = terms.round_size(self.spent)
        planned = terms.rounds is not None or isinstance(terms.rule, FixedSamples)
        if planned or self.torn or not pace.looks_ahead(self.samples, terms.budget):
            return size
        room = terms.budget.room(self.spent)
        ahead = samples_until_agreement(self._if_repeated, terms.rule, drawn=len(self.samples), most=room)
        self.torn = ahead is None
        return min(max(size, min(ahead or 0, AT_ONCE)), room)

    def _if_repeated(self, more: int) -> Belief:
        """The belief after `more` further samples that repeat what was said."""
        label = self.answer_label
        same = [each for each, own in zip(self.samples, self.labels, strict=True) if own == label]
        if self.answer is None or self.answer is PENDING or not same:
            counts = Partition.of(self.labels).counts
            seen = (*counts[:-1], counts[-1] + more) if counts else (more,)
            judged = self.terms.estimator.uses_answer and self.answer is not PENDING
            return self.terms.estimator(
                Evidence(seen, answer=JudgedAnswer(len(seen) - 1) if judged else None)
            )
        samples, labels = [*self.samples, *same[-1:] * more], [*self.labels, *[label] * more]
        return self._observed(
            LabelledDraws(self.answer, samples, label, labels, self.question), bounds=False
        ).belief

    def take(self, drawn: Drawn) -> Generator[Compare, Drawn | Floats | None, None]:
        """Add a round: the answer is placed before the samples, so that they are compared with it."""
        if drawn.answer is not None:
            self.answer = without_certainty(self._weighed(drawn.answer))
        if self.answer is None:
            self.answer = drawn.samples[0]
        waiting = [without_certainty(sample) for sample in drawn.samples]
        try:
            if self.answer_label is None and self.answer is not PENDING:
                self.answer_label = yield from self._place(self.answer)
            while waiting:
                self.labels.append((yield from self._place(waiting[0])))
                self.samples.append(waiting.pop(0))
        except _JudgeLate:
            self.uncompared = waiting
            placed = self.samples or (self.answer_label is not None and self.terms.estimator.uses_answer)
            if not placed:
                raise ModelTimeout(
                    "the judge compared nothing within the seconds allowed: allow more, or use a faster judge"
                ) from None
        if self.answer is not None:
            self.answer = weighed_by_samples(self.answer, self.samples)

    def _weighed(self, answer: Sample) -> Sample:
        """The answer drawn; at the temperature of the samples its log-probability is one of theirs."""
        drawn_at = self.terms.answer_temperature if answer.temperature is None else answer.temperature
        if drawn_at != self.terms.temperature or answer.sampling_logprob is not None:
            return answer
        return replace(answer, sampling_logprob=answer.logprob)

    def _place(self, sample: Sample) -> Generator[Compare, Drawn | Floats | None, int]:
        """Find the meaning of one sample, counting the pairs that are judged for it."""
        meaning, pairs = yield from ask_judge(self.grouping.place(sample.text, sample.tokens))
        self.judge_calls += pairs
        if meaning is None:
            raise _JudgeLate
        return meaning

    def step(self, *, seconds: float) -> Step:
        """The belief after this round, and whether to stop."""
        assert self.answer is not None
        paid = [*self.samples, *self.uncompared, *([] if self.answer_given else [self.answer])]
        self.spent = Spent(
            samples=len(self.samples),
            rounds=self.spent.rounds + 1,
            tokens=generated_tokens(paid),
            judge_calls=self.judge_calls,
            seconds=seconds,
            answers=0 if self.answer_given else 1,
        )
        judged = None if self.answer_label is None else self.answer
        reader = self.grouping if isinstance(self.grouping, FieldReader) else None
        readings = () if reader is None else reader.fields(judged, self.samples)
        draws = LabelledDraws(self.answer, self.samples, self.answer_label, self.labels, self.question)
        step = self._observed(draws, bounds=reader is not None)
        fields = tuple(
            FieldStep(each.name, each.value, each.required, self._field(each)) for each in readings
        )
        missing = None
        if judged is not None:
            missing = missing_answer(judged) if reader is None else reader.missing(judged)
        step = replace(step, fields=fields, missing=missing)
        return replace(step, reason=self._reason(step))

    def _observed(self, draws: LabelledDraws, *, bounds: bool) -> Step:
        """The belief about these draws; with `bounds` their probabilities are bare lower bounds."""
        evidence = self._evidence(draws, bounds=bounds)
        belief, samples = self._believed(evidence), tuple(draws.samples)
        partition, meaning = draws.partition, draws.meaning
        return Step(self.question, draws.answer, samples, partition, meaning, evidence, belief, self.spent)

    def _evidence(self, draws: LabelledDraws, *, bounds: bool) -> Evidence:
        return draws.evidence(bounds=bounds, uses_answer=self.terms.estimator.uses_answer)

    def _believed(self, evidence: Evidence) -> Belief:
        """The estimate, computed once for fields with the same evidence."""
        if evidence not in self.beliefs:
            belief = self.beliefs[evidence] = estimated(self.terms.estimator, evidence)
            wrong = not_an_entropy(belief)
            if wrong is not None:
                raise ConvergenceError(f"the estimator {self.terms.estimator.name} returned {wrong}")
        return self.beliefs[evidence]

    def _field(self, reading: FieldReading) -> Step:
        """What is known of one field."""
        answer = PENDING if reading.answer is None else reading.answer
        step = self._field_step(answer, reading)
        if (step.evidence.words or NAME_WORDS) <= NAME_WORDS:  # a schema leaves no choice of words
            step = replace(step, belief=replace(step.belief, unopposed=False))
        # A field that was decided stays so while others go on, unless later samples decide otherwise.
        key = reading.name, answer.text
        reason = Reason.NO_ANSWER if reading.missing else self.terms.rule(step.belief, self.spent)
        reason = self.decided[key] = reason or self.decided.get(key)
        return replace(step, reason=reason, missing=reading.missing)

    def _field_step(self, answer: Sample, reading: FieldReading) -> Step:
        """The belief about a field, over both cases where the text before its value may matter to it or not."""
        own, draws = reading.own, LabelledDraws(answer, reading.samples, reading.label, reading.labels)
        if own is None:
            return self._observed(draws, bounds=True)
        judged = answer if own.answer is None else own.answer
        free = self._observed(replace(draws, answer=judged, samples=own.samples), bounds=False)
        if own.certain:  # what is shown stays a lower bound
            shown = self._evidence(draws, bounds=True)
            return replace(free, answer=answer, samples=reading.samples, evidence=shown)
        bound = self._observed(draws, bounds=True)
        if free.belief.mean >= bound.belief.mean:  # given less, the value varies at least as much
            return replace(bound, belief=free.belief)
        agreement = free.belief.agreement
        weight = own.independence(0.0 if agreement is None else agreement.mean)
        return replace(bound, belief=mixed(free.belief, bound.belief, weight))

    def _reason(self, step: Step) -> Reason | None:
        if step.missing is not None:
            return Reason.NO_ANSWER
        if self.uncompared:
            return Reason.SECONDS
        waited = [field for field in step.fields if field.required] or step.fields
        reasons = [field.step.reason for field in waited] or [self.terms.rule(step.belief, self.spent)]
        if None in reasons:
            return self.terms.budget.exhausted(self.spent)
        worst = (Reason.DECIDED_HIGH, Reason.NO_ANSWER)
        return Reason.DECIDED_HIGH if any(each in worst for each in reasons) else reasons[0]


def _if_likely(drawn: Drawn, weighed: Sample | None) -> Drawn:
    """What was drawn, with the answer that was weighed only if the model mostly says it, word for word.

    A given answer may come from elsewhere and be worded as the model never would ("The capital of France is Paris."
    where it says "Paris"): a low probability of the wording is no evidence against the meaning.
    """
    answer = drawn.answer
    if weighed is None:
        return drawn
    likely = answer is not None and (answer.sampling_logprob or -math.inf) >= math.log(LIKELY)
    return drawn if likely else replace(drawn, answer=None)


def _cut_short(step: Step | None, drawn: Drawn, *, spent: Spent) -> Step:
    """The last step once more, with the reason why nothing came after it."""
    if step is None and drawn.late:
        raise ModelTimeout("no answer came within the seconds allowed: allow more, or use a faster model")
    if step is None:
        raise NoAnswer("the model returned no answer: try another prompt or model")
    return replace(step, spent=spent, reason=Reason.SECONDS if drawn.late else Reason.EXHAUSTED)
