"""From the last step of a check, or of a stored question, to its verdict: the one place where verdicts are made."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from .fields import UNPARSED_TEXT
from .stopping import CONFIDENCE, Reason, disagreement, suspicion
from .verdict import THRESHOLD, Entropy, FieldVerdict, Outcome, Verdict, VerdictAgreement

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .inquiry import Calibrated, Terms
    from .nouns import Sample
    from .step import FieldStep, Step
    from .stopping import Budget

__all__ = ["conclude", "field_outcome", "make_verdict"]

_DECIDED = {Reason.DECIDED_HIGH: Outcome.FLAGGED, Reason.DECIDED_LOW: Outcome.STEADY}


def conclude(step: Step, terms: Terms, warnings: Sequence[str] = ()) -> Verdict:
    """The verdict after a step of a check; a step without a reason was interrupted.

    `warnings` are those of the judge that grouped the answers.
    """
    warnings = [*warnings, *_answer_temperature(step.answer, terms)]
    if step.spent.tokens is None:
        warnings += _uncounted(terms.budget)
    return make_verdict(
        step,
        method=terms.estimator.name,
        threshold=terms.threshold,
        calibration=terms.calibration,
        warnings=warnings,
    )


def _answer_temperature(answer: Sample, terms: Terms) -> Iterator[str]:
    """Says where the answer was drawn at another temperature than asked for."""
    drawn = answer.temperature
    if drawn is not None and drawn not in (terms.answer_temperature, terms.temperature):
        yield f"The answer was drawn at temperature {drawn:g}, not {terms.answer_temperature:g}."
    elif drawn is not None and drawn != terms.answer_temperature:
        yield (
            f"The model takes no temperature but {drawn:g}: the answer was drawn at it, not at "
            f"{terms.answer_temperature:g}, and another one might have been given."
        )


def _uncounted(budget: Budget) -> Iterator[str]:
    """What could not be kept because the model does not say how many tokens it generated."""
    if budget.tokens is not None:
        yield "The model does not count its tokens: the token budget could not be kept."
    if budget.cost is not None and budget.price is not None and budget.price.per_token:
        yield "The model does not count its tokens: the cost counts its samples alone."


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
    reason = step.reason or Reason.INTERRUPTED
    agreement = step.belief.agreement
    fields = tuple(_field(each, reason, threshold, calibration) for each in step.fields)
    return Verdict(
        question=step.question,
        answer=step.answer.text,
        outcome=_whole(fields) if fields else _outcome(step, reason, threshold, calibration),
        entropy=Entropy.of(step.belief),
        agreement=None if agreement is None else VerdictAgreement(agreement.mean, agreement.interval(0.9)),
        meanings=step.meanings(),
        spent=step.spent,
        reason=reason,
        missing=step.missing,
        fields=fields,
        probability=_probability(step, fields, calibration),
        threshold=threshold,
        warnings=(*_notes(step), *_sample_warnings(step), *_mismatch(calibration, method), *warnings),
        belief=step.belief,
        partition=step.partition,
        draws=step.samples,
    )


def field_outcome(field: FieldStep, step: Step, terms: Terms) -> Outcome:
    """The outcome of one field after `step`, whether or not it is the last."""
    reason = field.step.reason or step.reason or Reason.INTERRUPTED
    return _outcome(field.step, reason, terms.threshold, terms.calibration)


def _field(
    field: FieldStep, reason: Reason, threshold: float, calibration: Calibrated | None
) -> FieldVerdict:
    """The verdict on one field; a field that the rule is not content with ends for the reason of the whole."""
    step = field.step
    agreement = step.belief.agreement
    return FieldVerdict(
        name=field.name,
        value=field.value,
        required=field.required,
        outcome=_outcome(step, step.reason or reason, threshold, calibration),
        entropy=Entropy.of(step.belief),
        agreement=None if agreement is None else VerdictAgreement(agreement.mean, agreement.interval(0.9)),
        meanings=step.meanings(),
        probability=None if calibration is None else calibration(step.belief),
    )


def _whole(fields: Sequence[FieldVerdict]) -> Outcome:
    """The outcome of a structured answer: the worst among its required fields, or among all if none is required."""
    outcomes = {field.outcome for field in fields if field.required} or {field.outcome for field in fields}
    if outcomes & {Outcome.FLAGGED, Outcome.NO_ANSWER}:
        return Outcome.FLAGGED
    return Outcome.UNDECIDED if Outcome.UNDECIDED in outcomes else Outcome.STEADY


def _probability(step: Step, fields: Sequence[FieldVerdict], calibration: Calibrated | None) -> float | None:
    """The calibrated probability; of a structured answer, the largest among its required fields."""
    if calibration is None:
        return None
    known = [field.probability for field in fields if field.required and field.probability is not None]
    return max(known) if known else calibration(step.belief)


def _outcome(step: Step, reason: Reason, threshold: float, calibration: Calibrated | None) -> Outcome:
    """Steady or flagged, unless there is no answer, or a limit ended sampling before that was decided."""
    if step.missing is not None:
        return Outcome.NO_ANSWER
    if calibration is None and reason in _DECIDED:
        return _DECIDED[reason]
    if calibration is None and not reason.firm:
        flag = suspicion(step.belief, threshold)
        if flag is None or 1 - CONFIDENCE < flag < CONFIDENCE:
            return Outcome.UNDECIDED
    return Outcome.FLAGGED if _flagged(step, threshold, calibration) else Outcome.STEADY


def _flagged(step: Step, threshold: float, calibration: Calibrated | None) -> bool:
    belief = step.belief
    if calibration is not None:
        chosen = calibration.flags(belief)
        return calibration(belief) > 0.5 if chosen is None else chosen
    if belief.agreement is not None:
        outside = belief.agreement.rival > belief.agreement.mean or disagreement(belief, threshold) > 0.5
    else:  # without agreement: most samples have one meaning, and it is not the answer's
        counts = Counter(step.partition.meanings)
        leading, most = counts.most_common(1)[0] if counts else (None, 0)
        outside = step.answer_meaning not in (leading, None) and 2 * most > len(step.samples) > 1
    return outside or belief.mean > threshold


def _notes(step: Step) -> tuple[str, ...]:
    """The notes of the belief; of a structured answer, those that all of its fields share. None without an answer."""
    if step.missing is not None:
        return ()
    if not step.fields:
        return step.belief.notes
    first, *others = (field.step.belief.notes for field in step.fields)
    return tuple(note for note in first if all(note in each for each in others))


def _sample_warnings(step: Step) -> Iterator[str]:
    n = len(step.samples)
    used = any(step.evidence.prefix_draws) and any("end token" in note for note in step.belief.notes)
    no_logprob = sum(
        sample.logprob is None and (sample.prefix_logprob is None or not used)
        for sample in step.samples
        if sample.complete
    )
    cut = sum(not sample.complete for sample in step.samples)
    empty = sum(not sample.text.strip() for sample in step.samples)
    said = no_logprob == n and any(
        "no sample has a usable log-probability" in each for each in step.belief.notes
    )
    if no_logprob and not said and not any(any(field.step.evidence.floors) for field in step.fields):
        yield (
            f"{no_logprob} of {n} samples came without the log-probability of the whole answer, end token included: "
            "they are counted, but do not tighten the lower bounds."
        )
    if cut:
        counted = (
            ": they are counted, but do not tighten the lower bounds" if step.evidence.replacement else ""
        )
        yield f"{cut} of {n} samples were cut off at the length limit{counted}."
    if empty:
        yield f"{empty} of {n} samples {'was' if empty == 1 else 'were'} empty."
    unparsed = sum(sample.text == UNPARSED_TEXT for field in step.fields[:1] for sample in field.step.samples)
    if unparsed:
        yield f"{unparsed} of {n} samples are not JSON: in every field they count as another value."


def _mismatch(calibration: Calibrated | None, method: str) -> Iterator[str]:
    if calibration is not None and calibration.estimator != method:
        yield (
            f"The calibration was fitted for the estimator {calibration.estimator}, "
            f"not for {method}: its probability means little here."
        )
