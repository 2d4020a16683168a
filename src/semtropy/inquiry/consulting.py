"""Second models, asked about the answer of an inquiry before its last step is reported; a generator without I/O."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, cast

from ..refusals import missing_answer
from ..samples import Sample, generated_tokens
from ..second import MOST_ANSWERS, Consultation, Consulted, Opinion
from ..stopping import Reason, Spent
from ..verdict import Outcome
from .conclusion import flag_margin, own_outcome, second_weights
from .loop import Compare, Draw, Drawn, ask_judge
from .steps import PENDING, Step

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from ..nouns import Floats
    from .loop import Grouping, Terms

    Events = Generator[Draw | Compare | Step, Drawn | Floats | None, None]


def consult(inquiry: Events, terms: Terms, grouping: Grouping) -> Events:
    """The events of `inquiry`, with those of second models before the last step, which carries what they say.

    A second model is asked while its word can change the verdict and the budget allows it. One that fails, is late or
    refuses costs nothing but a note: the verdict of the first model stands.
    """
    start, reply = time.monotonic(), None
    while True:
        try:
            event = inquiry.send(reply)
        except StopIteration:
            return
        if isinstance(event, Step) and terms.second is not None and _wanted(event, terms):
            asking = _Consulting(event, terms, terms.second, grouping)
            yield from asking.all()
            seconds = max(event.spent.seconds, time.monotonic() - start)
            event = replace(event, second=tuple(asking.consulted), spent=asking.total(seconds))
        reply = yield event


def _wanted(step: Step, terms: Terms) -> bool:
    """Whether there is an answer for second models to judge, and their word may change the verdict on it."""
    if step.reason in (None, Reason.NO_ANSWER) or step.answer is PENDING or step.fields:
        return False
    if step.missing is not None or terms.second is None:
        return False
    if terms.second.always or terms.calibration is not None:
        return True
    # Flagged is flagged, unless a probability says how nearly.
    return own_outcome(step, terms) is not Outcome.FLAGGED


@dataclass
class _Consulting:
    """The second models of one inquiry: what they have said so far, and what that cost."""

    step: Step
    terms: Terms
    second: Consultation
    grouping: Grouping
    consulted: list[Consulted] = field(default_factory=list)
    judge_calls: int = 0
    late: bool = False

    def all(self) -> Generator[Draw | Compare, Drawn | Floats | None, None]:
        weights = second_weights(self.terms)
        odds = flag_margin(self.step, self.terms)
        label = yield from self._place(self.step.answer)
        for number, (name, given) in enumerate(self.second.models):
            consulted = Consulted(name)
            labels: list[int] = []
            if given is not None:
                consulted = yield from self._hear(consulted, labels, label, given)
            while given is None and consulted.note is None:
                wanted = self.second.always and not consulted.answers
                if not (wanted or weights.worth_asking(odds, consulted.opinion)):
                    break
                if self.late or not self._room(consulted):
                    consulted = replace(consulted, note="the limits of the check left no room to ask it")
                    break
                drawn = cast("Drawn", (yield Draw(1, self.terms.temperature, second=number)))
                tokens = generated_tokens(drawn.samples)
                known = consulted.tokens is not None and tokens is not None
                consulted = replace(
                    consulted,
                    note=failure(drawn),
                    samples=consulted.samples + len(drawn.samples),
                    tokens=(consulted.tokens or 0) + (tokens or 0) if known else None,
                )
                consulted = yield from self._hear(consulted, labels, label, drawn.samples)
            odds += weights.other * consulted.opinion.weight if consulted.answers else 0.0
            self.consulted.append(consulted)

    def total(self, seconds: float) -> Spent:
        """What the check has used, without the answers of second models, which are counted apart."""
        spent = self.step.spent
        return replace(spent, judge_calls=spent.judge_calls + self.judge_calls, seconds=seconds)

    def _room(self, consulted: Consulted) -> bool:
        """Whether it may be asked once more."""
        return consulted.samples < MOST_ANSWERS and within_budget(
            self.step.spent, [*self.consulted, consulted], self.terms
        )

    def _hear(
        self, consulted: Consulted, labels: list[int], label: int | None, samples: object
    ) -> Generator[Compare, Drawn | Floats | None, Consulted]:
        """What it has said, with further answers; those that are no answers only leave a note."""
        answers = list(consulted.answers)
        for sample in cast("tuple[Sample, ...]", samples):
            missing = missing_answer(sample)
            if missing is not None:
                consulted = replace(consulted, note=missing.replace("the model", "it").partition(" (--")[0])
                continue
            meaning = yield from self._place(sample)
            if meaning is None:
                consulted = replace(consulted, note="the judge did not compare its answer in time")
                break
            answers.append(sample.text)
            labels.append(meaning)
        if not labels or label is None:
            return consulted
        others = Counter(text for text, meaning in zip(answers, labels, strict=True) if meaning != label)
        instead = others.most_common(1)[0][0] if others else None
        return replace(consulted, answers=tuple(answers), opinion=Opinion.of(label, labels), instead=instead)

    def _place(self, sample: Sample) -> Generator[Compare, Drawn | Floats | None, int | None]:
        """The meaning of one answer; None where the judge ran out of time."""
        meaning, pairs = yield from ask_judge(self.grouping.place(sample.text, None))
        self.judge_calls += pairs
        self.late = self.late or meaning is None
        return meaning


def within_budget(spent: Spent, asked: Sequence[Consulted], terms: Terms) -> bool:
    """Whether the budget allows one more answer, by what the first model and second models spent together."""
    counts = [spent.tokens, *(each.tokens for each in asked)]
    known = [count for count in counts if count is not None]
    together = replace(
        spent,
        samples=spent.samples + sum(each.samples for each in asked),
        tokens=sum(known) if len(known) == len(counts) else None,
    )
    most = 0 if terms.second is None else terms.second.samples
    return replace(terms.budget, samples=most).room(together) > 0


def failure(drawn: Drawn) -> str | None:
    """Why a second model gave no answer; None where it did."""
    if drawn.failed is not None:
        return drawn.failed
    if drawn.late:
        return "it did not answer in time"
    return None if drawn.samples else "it returned no answer"
