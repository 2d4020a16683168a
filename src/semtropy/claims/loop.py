"""The sampling loop for long answers: samples of the whole answer serve all of its claims.

Like `semtropy.inquiry.loop`, a generator without I/O. It follows the loop for short answers until the answer is there,
and takes over where that makes several claims.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ..capabilities import IN_PROCESS, Pace
from ..errors import InputError
from ..inquiry.loop import LATE, Compare, Draw, Drawn, Relate, Terms
from ..inquiry.steps import PENDING, ClaimStep, Step
from ..nouns import Belief, Evidence, JudgedAnswer, Partition, Sample
from ..refusals import declined, missing_answer
from ..samples import generated_tokens
from ..stopping import Decided, FixedSamples, Reason, Spent, calibrated_flag
from ..verdict import Outcome
from .asking import BRIEFLY, claims_prompt, details, question_prompt, read_claims, read_question
from .consulting import consult_claims
from .pooling import ClaimBelief, ClaimPrior, posterior
from .relating import CONTRADICTS, LONGEST, SILENT, SUPPORTS, Triple, compare, in_full, resolved, votes
from .splitting import Claim, ends_sentence, split

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from ..conversation import Prompt
    from ..nouns import Floats

    Loop = Generator[Draw | Compare | Relate | Step, Drawn | Floats | None, None]

MODES = ("auto", "sentences", "model")
LONG_SAMPLES = 5
"""The samples of a long answer, unless a budget says otherwise."""
FIRST_ROUND = 3
FOLLOW_UPS = 3
"""The answers to a follow-up question."""
MOST_FOLLOWED = 10
SHORT_WORDS = 12
"""What an answer to a follow-up question costs, in words, its share of the question included."""
MOST_CLAIMS = 200
CONFIDENCE = 0.9
"""The probability at which a claim counts as decided; a confidence that was asked for takes its place."""
LEAST_GAIN = 0.25
"""Claims that a further sample has to decide, in expectation, to be drawn."""

CUT = "The answer was cut off at its token limit (--max-tokens raises it): it is judged up to its last whole claim."


@dataclass(frozen=True, slots=True)
class MeanAgreement:
    """The mean agreement of an answer's claims: a summary, without a distribution."""

    mean: float
    rival: float = 0.0

    def interval(self, level: float = 0.9) -> None:
        """None: claims have intervals, their mean has none."""

    def probability_below(self, x: float) -> float:
        """1 where the mean is below `x`, else 0."""
        return float(self.mean < x)


@dataclass(frozen=True, slots=True)
class ClaimTerms:
    """How long answers are judged.

    mode     "auto" (answers of several claims), "sentences" (all answers) or "model" (a model names the claims)
    samples  the limit where no budget was given, else None
    prior    what to expect of the claims of an answer; None for the default
    ask      whether to ask about claims that no sample mentions
    """

    mode: str = "auto"
    samples: int | None = LONG_SAMPLES
    prior: ClaimPrior | None = None
    ask: bool = False

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise InputError(f"claims is {self.mode!r}: choose from {', '.join(MODES)}, or None")

    def claims(self, answer: Sample) -> list[Claim]:
        """The claims of an answer that is judged by them; none where it is judged as a whole."""
        if answer is PENDING or declined(answer.text):
            return []
        found = split(answer.text)
        cut = not answer.complete and bool(found)
        if cut and not ends_sentence(answer.text[: found[-1].end]):
            found = found[:-1]
        least = 2 if self.mode == "auto" and not cut else 1
        return found if len(found) >= least else []


def inquire_claims(
    loop: Loop,
    question: str,
    about: str,
    terms: Terms,
    claims: ClaimTerms,
    *,
    answer: Sample | None = None,
    earlier: Sequence[Sample] = (),
    pace: Callable[[], Pace] = lambda: IN_PROCESS,
    clock: Callable[[], float] = time.monotonic,
) -> Loop:
    """`loop`, the inquiry about the answer as a whole, until the answer proves to be long; then by its claims.

    question  what was asked, as the verdict shows it
    about     the same for the judge
    answer    one that is there already
    earlier   samples that are there already
    """
    if not question.strip():
        raise InputError("the prompt is empty: ask a question")
    start = clock()
    if answer is not None:
        found = claims.claims(answer)
        if found:
            loop.close()
            yield from _LongAnswer(question, about, terms, claims, answer, found, given=True).run(
                earlier, pace, lambda: clock() - start
            )
            return
    reply: Drawn | Floats | None = None
    while True:
        try:
            event = loop.send(reply)
        except StopIteration:
            return
        reply = yield event
        if answer is not None or not isinstance(event, Draw) or reply is None:
            continue
        drawn = cast("Drawn", reply)
        answer = drawn.answer or (drawn.samples[0] if drawn.samples else None)
        found = [] if answer is None else claims.claims(answer)
        if answer is not None and found:
            loop.close()
            samples = drawn.samples if drawn.answer is not None else drawn.samples[1:]
            yield from _LongAnswer(question, about, terms, claims, answer, found, given=False).run(
                samples, pace, lambda: clock() - start
            )
            return


class _LongAnswer:
    """The state of an inquiry by claims: the samples, what each says of each claim, and what was spent."""

    def __init__(
        self,
        question: str,
        about: str,
        terms: Terms,
        claims: ClaimTerms,
        answer: Sample,
        found: Sequence[Claim],
        *,
        given: bool,
    ) -> None:
        self.question, self.about, self.claims = question, about, claims
        budget = terms.budget
        if claims.samples is not None and not isinstance(terms.rule, FixedSamples):
            most = claims.samples if terms.second is None else FIRST_ROUND  # a second model is worth more
            budget = replace(budget, samples=min(budget.samples, most))
        promised = getattr(terms.claim_calibration, "guarantee", None)
        if promised is not None:  # about checks with no more samples than that
            budget = replace(budget, samples=min(budget.samples, promised.samples))
        self.terms = replace(terms, budget=budget)
        self.answer, self.given = answer, given
        self.stated, self.left_out = tuple(found[:MOST_CLAIMS]), len(found) - MOST_CLAIMS
        self.samples: list[Sample] = []
        self.unjudged: list[Sample] = []
        self.relations: Floats = np.zeros((len(self.stated), 0, 3))
        self.nearest: dict[tuple[int, int], str] = {}
        self.spent = Spent()
        self.asides: list[Sample] = []  # what the model said beside answers to the question
        self.follow_ups: dict[int, Floats] = {}  # what answers to follow-up questions say of single claims
        self.said: dict[tuple[int, int], str] = {}
        self.asked = False
        self.notes: list[str] = []
        self.known: dict[int, list[ClaimBelief]] = {}  # by the number of votes on each claim

    def run(self, samples: Sequence[Sample], pace: Callable[[], Pace], elapsed: Callable[[], float]) -> Loop:
        waiting, step = list(samples), None
        if self.claims.mode == "model":
            yield from self._name_claims()
        while step is None or step.reason is None:
            late: Drawn | None = None
            if not waiting and step is not None:
                drawn = cast("Drawn", (yield Draw(self._round_size(pace()), self.terms.temperature)))
                waiting, late = list(drawn.samples), None if drawn.samples else drawn
            if waiting:
                judged = yield from self._take(waiting)
                late = None if judged else LATE
                waiting = []
            step = self._step(elapsed(), late)
            if self._should_ask(step):
                yield replace(step, reason=None)
                yield from self._follow_up(step)
                step = self._step(elapsed(), None)
            if step.reason is not None and self.terms.second is not None:
                step = yield from consult_claims(step, self.about, self.stated, self.terms)
                step = replace(step, spent=replace(step.spent, seconds=elapsed()))
            yield step

    def _round_size(self, pace: Pace) -> int:
        """Three samples at once decide most claims; then what may still decide some."""
        terms, room = self.terms, self.terms.budget.room(self.spent)
        if isinstance(terms.rule, FixedSamples):
            wanted = terms.rule.n - len(self.samples)
        elif terms.rounds is not None:
            wanted = terms.rounds.size(self.spent)
        elif len(self.samples) < FIRST_ROUND:
            wanted = FIRST_ROUND - len(self.samples)
        else:
            wanted = 2 if pace.together else 1
        limited = terms.budget.tokens is not None or terms.budget.cost is not None
        if limited and not self.samples:  # what a sample costs is not known yet
            wanted = 1
        return max(1, min(wanted, room))

    def _take(self, samples: Sequence[Sample]) -> Generator[Relate, Drawn | Floats | None, bool]:
        """Relate the samples to the claims; whether the judge was in time."""
        to_judge = compare(self.about, self.stated, [sample.text for sample in samples])
        verdicts: Any = np.zeros((0, 3))
        if to_judge.pairs:
            verdicts = yield Relate(to_judge.pairs)
        if verdicts is LATE:
            self.unjudged += samples
            return False
        first = len(self.samples)
        self.relations = np.concatenate([self.relations, to_judge.relations(verdicts)], axis=1)
        self.nearest |= {(row, first + column): text for (row, column), text in to_judge.nearest.items()}
        self.samples += samples
        self.spent = replace(self.spent, judge_calls=self.spent.judge_calls + len(to_judge.pairs))
        return True

    def _step(self, seconds: float, late: Drawn | None) -> Step:
        drew = len(self.samples) + len(self.unjudged) > self.spent.samples
        self.spent = Spent(
            samples=len(self.samples),
            rounds=self.spent.rounds + drew,
            tokens=generated_tokens(self._paid()),
            judge_calls=self.spent.judge_calls,
            seconds=seconds,
        )
        beliefs = self._beliefs()
        steps = tuple(map(self._claim, range(len(beliefs)), beliefs))
        means = [belief.mean for belief in beliefs]
        whole = Belief(
            float(np.mean([_entropy(mean) for mean in means])),
            notes=tuple(self._notes()),
            agreement=MeanAgreement(float(np.mean(means))),
        )
        return Step(
            question=self.question,
            answer=self.answer,
            samples=tuple(self.samples),
            partition=Partition.of([]),
            answer_meaning=None,
            evidence=Evidence((), answer=JudgedAnswer(0)),
            belief=whole,
            spent=self.spent,
            reason=self._reason(steps, beliefs, late),
            claims=steps,
        )

    def _beliefs(self) -> list[ClaimBelief]:
        votes = self._support()
        key = votes.shape[1]  # votes are only ever added
        if key not in self.known:
            self.known[key] = posterior(votes, prior=self.claims.prior)
        return self.known[key]

    def _paid(self) -> list[Sample]:
        """What the model generated for this inquiry."""
        return [*self.samples, *self.unjudged, *self.asides, *([] if self.given else [self.answer])]

    def _support(self) -> Floats:
        """The votes of the samples, and of answers to follow-up questions, which say nothing of other claims."""
        more = max((len(rows) for rows in self.follow_ups.values()), default=0)
        sampled, extra = votes(self.relations), np.full((len(self.stated), more), 0.5)
        for number, rows in self.follow_ups.items():
            extra[number, : len(rows)] = votes(rows)
            sampled[number, self.relations[number].argmax(axis=1) == SILENT] = (
                0.5  # asked, the model did answer
            )
        found: Floats = np.concatenate([sampled, extra], axis=1)
        return found

    def _notes(self) -> Iterator[str]:
        yield from self.notes
        if not self.answer.complete:
            yield CUT
        if self.left_out > 0:
            total = self.left_out + MOST_CLAIMS
            yield f"The answer makes {total} claims: the first {MOST_CLAIMS} were judged."

    def _claim(self, number: int, belief: ClaimBelief) -> ClaimStep:
        own = np.concatenate([self.relations[number], self.follow_ups.get(number, np.zeros((0, 3)))])
        says = own.argmax(axis=1) if len(own) else np.zeros(0, dtype=int)
        says[(says == SUPPORTS) & (own[:, SUPPORTS] <= 0.5)] = SILENT  # one of its two facts, say
        supported, contradicted, silent = (
            int((says == each).sum()) for each in (SUPPORTS, CONTRADICTS, SILENT)
        )
        against = np.flatnonzero(says == CONTRADICTS).tolist()
        most = max(against, key=lambda column: own[column, CONTRADICTS]) if against else -1
        said = self.nearest.get((number, most)) or self.said.get((number, most - len(self.samples)))
        claim, asked = self.stated[number], number in self.follow_ups
        return ClaimStep(
            claim.text,
            claim.start,
            claim.end,
            belief,
            supported,
            contradicted,
            silent,
            said,
            self._outcome(belief, contradicted, len(says) - silent * asked),
            score=None
            if self.terms.claim_calibration is None
            else 1 - self.terms.claim_calibration(_doubt(belief)),
        )

    def _name_claims(self) -> Generator[Draw | Relate, Drawn | Floats | None, None]:
        """Put the claims that the model names in the place of its sentences, where these back them."""
        prompt = claims_prompt(self.answer.text)
        drawn = cast("Drawn", (yield Draw(1, self.terms.answer_temperature, prompt=prompt)))
        self.asides += drawn.samples
        named = read_claims(drawn.samples[0].text, self.stated, self.about) if drawn.samples else []
        readings = resolved(self.about, self.stated)
        pairs = [(self.about, readings[number], text) for number, text in named]
        verdicts: Any = (yield Relate(pairs)) if pairs else np.zeros((0, 3))
        if verdicts is LATE:
            verdicts = np.zeros((len(pairs), 3))
        backed: dict[int, list[str]] = {}
        for (number, text), row in zip(named, verdicts, strict=True):
            if row[SUPPORTS] >= 0.5:
                backed.setdefault(number, []).append(text)
        if not backed:
            self.notes.append("The model named no claims that its answer backs: the sentences were judged.")
        found = [
            Claim(text, sentence.start, sentence.end)
            for number, sentence in enumerate(self.stated)
            for text in backed.get(number, [sentence.text])
        ]
        self.left_out, self.stated = max(self.left_out, len(found) - MOST_CLAIMS), tuple(found[:MOST_CLAIMS])
        self.relations = np.zeros((len(self.stated), 0, 3))

    def _to_ask(self, step: Step) -> list[tuple[int, str, str | None]]:
        """The open claims that no sample mentions and a question can settle, each as it is read, and its subject."""
        readings = resolved(self.about, self.stated)
        silent = [
            (number, *in_full(self.about, readings[number]))
            for number, claim in enumerate(step.claims)
            if claim.outcome is Outcome.UNDECIDED and not claim.supported and not claim.contradicted
        ]
        return [each for each in silent if details(*each[1:])][:MOST_FOLLOWED]

    def _should_ask(self, step: Step) -> bool:
        """Whether follow-up questions come next: they promise more decided claims for a token than more samples do."""
        if not self.claims.ask or self.asked or not self.samples:
            return False
        chosen = self._to_ask(step)
        if not chosen:
            return False
        if step.reason is not None:
            return step.reason in (Reason.UNDECIDABLE, Reason.SAMPLES)
        share, confidence = self._share(), self._confidence()
        open_claims = [claim for claim in step.claims if claim.outcome is Outcome.UNDECIDED]
        beliefs = [cast("ClaimBelief", claim.agreement) for claim in open_claims]
        followed = [cast("ClaimBelief", step.claims[number].agreement) for number, _, _ in chosen]
        by_sample = sum(_chance_decided(belief, 1, share, confidence) for belief in beliefs)
        by_asking = sum(_chance_decided(belief, FOLLOW_UPS, share, confidence) for belief in followed)
        words = len(self.answer.text.split())
        return by_asking / (SHORT_WORDS * FOLLOW_UPS * len(followed)) >= by_sample / max(words, 1)

    def _follow_up(self, step: Step) -> Generator[Draw | Compare, Drawn | Floats | None, None]:
        """Ask about the claims that no sample mentions; each answer is a vote on its claim alone."""
        self.asked = True
        answered: list[tuple[int, Triple]] = []
        for number, claim, subject in self._to_ask(step):
            found = None
            for temperature in (self.terms.answer_temperature, self.terms.temperature):
                if found is None and not self._paid_out():
                    replies = yield from self._ask(1, temperature, question_prompt(claim))
                    found = read_question(replies[0].text, claim, subject) if replies else None
            if found is None or self._paid_out():
                continue
            question, answer = found
            said = yield from self._ask(FOLLOW_UPS, self.terms.temperature, f"{question} {BRIEFLY}")
            texts = [sample.text[:LONGEST] for sample in said if missing_answer(sample) is None]
            answered += [(number, (question, text, answer)) for text in texts]
        verdicts: Any = np.zeros(0)
        if answered:
            verdicts = yield Compare([pair for _, pair in answered])
        if verdicts is LATE:
            return
        self.spent = replace(self.spent, judge_calls=self.spent.judge_calls + len(answered))
        for (number, (question, text, _)), same in zip(answered, verdicts, strict=True):
            rows = self.follow_ups.get(number, np.zeros((0, 3)))
            self.said[number, len(rows)] = f"{question} {text}"
            self.follow_ups[number] = np.vstack([rows, [same, 1 - same, 0.0]])
        self.notes.append(
            f"Asked about, because no sample mentions them: {len(self.follow_ups)} of the claims."
        )

    def _ask(
        self, n: int, temperature: float, prompt: Prompt
    ) -> Generator[Draw, Drawn | Floats | None, Sequence[Sample]]:
        drawn = cast("Drawn", (yield Draw(n, temperature, prompt=prompt)))
        self.asides += drawn.samples
        return drawn.samples

    def _paid_out(self) -> bool:
        """Whether the limit on tokens or money is reached."""
        budget, tokens = self.terms.budget, generated_tokens(self._paid())
        spent = replace(self.spent, tokens=tokens)
        too_long = budget.tokens is not None and (tokens or 0) >= budget.tokens
        return too_long or bool(budget.cost and budget.price and budget.price.of(spent) >= budget.cost)

    def _outcome(self, belief: ClaimBelief, contradicted: int, drawn: int) -> Outcome:
        """Steady, flagged, or undecided. Silence is weaker evidence against a claim than contradiction is.

        A calibration says which claims are steady; what deserves a flag without it gets one with it, too.
        """
        share, confidence = self._share(), self._confidence()
        below = belief.probability_below(share)
        if below <= 1 - confidence and self.terms.claim_calibration is None:
            return Outcome.STEADY
        doubted = below if contradicted else belief.probability_below(share / 2)
        if doubted >= confidence or (2 * contradicted > drawn and below >= 0.5):
            return Outcome.FLAGGED
        if self.terms.claim_calibration is None or calibrated_flag(
            self.terms.claim_calibration, _doubt(belief)
        ):
            return Outcome.UNDECIDED
        return Outcome.STEADY

    def _share(self) -> float:
        """The agreement below which a claim deserves a flag, as for short answers."""
        return min(0.5, math.exp(-self.terms.threshold))

    def _confidence(self) -> float:
        rule = self.terms.rule
        return rule.confidence if isinstance(rule, Decided) and not rule.relaxation else CONFIDENCE

    def _reason(
        self, steps: Sequence[ClaimStep], beliefs: Sequence[ClaimBelief], late: Drawn | None
    ) -> Reason | None:
        rule, budget = self.terms.rule, self.terms.budget
        if late is not None:
            return Reason.SECONDS if late.late else Reason.EXHAUSTED
        if isinstance(rule, FixedSamples):
            return Reason.FIXED if len(self.samples) >= rule.n else budget.exhausted(self.spent)
        outcomes = {step.outcome for step in steps}
        if self.samples and Outcome.UNDECIDED not in outcomes:
            return Reason.DECIDED_HIGH if Outcome.FLAGGED in outcomes else Reason.DECIDED_LOW
        exhausted = budget.exhausted(self.spent)
        if exhausted is None and len(self.samples) >= FIRST_ROUND and not self._promising(steps, beliefs):
            return Reason.UNDECIDABLE
        return exhausted

    def _promising(self, steps: Sequence[ClaimStep], beliefs: Sequence[ClaimBelief]) -> bool:
        """Whether the samples that are left can be expected to decide enough claims."""
        room = min(self.terms.budget.room(self.spent), 5)
        share, confidence = self._share(), self._confidence()
        gain = sum(
            _chance_decided(belief, room, share, confidence)
            for step, belief in zip(steps, beliefs, strict=True)
            if step.outcome is Outcome.UNDECIDED
        )
        return gain >= LEAST_GAIN * room


def _chance_decided(belief: ClaimBelief, more: int, share: float, confidence: float) -> float:
    """The probability that `more` votes decide a claim, silence counted as in contradicted claims."""
    density, nodes = belief.density()
    total = 0.0
    for supports in range(more + 1):
        joint = density * math.comb(more, supports) * nodes**supports * (1 - nodes) ** (more - supports)
        chance = float(joint.sum())
        below = float(joint[nodes < share].sum()) / max(chance, 1e-300)
        total += chance * (below >= confidence or below <= 1 - confidence)
    return total


def _doubt(belief: ClaimBelief) -> Belief:
    """What a calibration of claims reads: one minus the agreement of a claim."""
    return Belief(1 - belief.mean)


def replay(relations: Floats, every: Sequence[Terms], claims: ClaimTerms) -> list[tuple[ClaimStep, ...]]:
    """The claims of an answer as checks on each of these terms judge them, which draw the stored samples in order.

    relations  claims x samples x 3: supports, contradicts, silent
    """
    stated, found = [Claim("", 0, 0)] * len(relations), []
    known: dict[int, list[ClaimBelief]] = {}
    for terms in every:
        room = min(terms.budget.samples, relations.shape[1])
        limited = replace(terms, budget=replace(terms.budget, samples=room))
        held = _LongAnswer("?", "?", limited, claims, Sample(""), stated, given=True)
        held.known = known
        step = held._step(0.0, None)
        while step.reason is None:
            drawn = len(held.samples) + held._round_size(IN_PROCESS)
            held.samples, held.relations = [Sample("")] * drawn, relations[:, :drawn]
            step = held._step(0.0, None)
        found.append(step.claims)
    return found


def _entropy(share: float) -> float:
    """The entropy in nats of whether a sample supports a claim."""
    return 0.0 if share in (0.0, 1.0) else -share * math.log(share) - (1 - share) * math.log1p(-share)
