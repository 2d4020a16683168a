"""From the last step of a check, or of a stored question, to its verdict: the one place where verdicts are made."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from ..second import OpinionWeights
from ..stopping import (
    CLAIMS,
    CONFIDENCE,
    Reason,
    calibrated_flag,
    contradicted,
    disagreement,
    suspicion,
    too_few,
)
from ..verdict import (
    THRESHOLD,
    ClaimVerdict,
    Entropy,
    FieldVerdict,
    Outcome,
    SecondOpinion,
    Verdict,
    VerdictAgreement,
)
from .steps import UNPARSED_TEXT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..nouns import Sample
    from ..stopping import Budget, Calibrated
    from .loop import Terms
    from .steps import ClaimStep, FieldStep, Step

_DECIDED = {Reason.DECIDED_HIGH: Outcome.FLAGGED, Reason.DECIDED_LOW: Outcome.STEADY}


def conclude(step: Step, terms: Terms, warnings: Sequence[str] = ()) -> Verdict:
    """The verdict after a step of a check; a step without a reason was interrupted.

    `warnings` are those of the judge that grouped the answers.
    """
    warnings = [*warnings, *_answer_temperature(step.answer, terms)]
    if step.spent.tokens is None:
        warnings += _uncounted(terms.budget)
    learns = getattr(terms.estimator, "learned", None) is not None and not step.claims
    if learns and getattr(terms.calibration, "guarantee", None) is not None:
        warnings.append(
            "The prior learns: the guarantee, which holds for the prior it was fitted with, does not."
        )
    if terms.claim_calibration is not None and not step.claims and step.missing is None:
        warnings.append("The calibration is about claims: this answer was judged as a whole, without it.")
    verdict = make_verdict(
        step,
        method=CLAIMS if step.claims else terms.estimator.name,
        threshold=terms.threshold,
        calibration=terms.claim_calibration if step.claims else terms.calibration,
        prior=getattr(terms.estimator, "state", None),
        warnings=warnings,
    )
    verdict = replace(verdict, guarantee=None) if learns else verdict
    return _with_second(verdict, step, terms) if step.second else verdict


# Second opinions.


def own_outcome(step: Step, terms: Terms) -> Outcome:
    """What the verdict would be without a second opinion."""
    return _outcome(step, step.reason or Reason.INTERRUPTED, terms.threshold, terms.calibration)


def second_weights(terms: Terms) -> OpinionWeights:
    """The weights of second models: those asked for, those of the calibration, or those that ship."""
    fitted = None if terms.second is None else terms.second.weights
    return fitted or getattr(terms.calibration, "second", None) or OpinionWeights.default()


def flag_margin(step: Step, terms: Terms) -> float:
    """The log-odds that the answer is right, by all but second models, above those at which it is flagged."""
    return _log_odds(step, terms) - _flag_odds(terms)


def _log_odds(step: Step, terms: Terms) -> float:
    calibration = terms.calibration
    if calibration is not None and getattr(calibration, "second", None) is None:
        wrong = min(max(calibration(step.belief), 1e-6), 1 - 1e-6)
        return math.log((1 - wrong) / wrong)
    return second_weights(terms).log_odds(_agreement(step))


def _flag_odds(terms: Terms) -> float:
    """The log-odds below which an answer is flagged: even, unless a calibration has another threshold."""
    threshold = getattr(terms.calibration, "threshold", None)
    wrong = 0.5 if threshold is None else min(max(threshold, 1e-6), 1 - 1e-6)
    return math.log((1 - wrong) / wrong)


def _agreement(step: Step) -> float | None:
    """The agreement of the model with its answer; by the counts alone where the estimator does not say."""
    if step.belief.agreement is not None:
        return step.belief.agreement.mean
    if step.answer_meaning is None or not step.samples:
        return None
    own = sum(meaning == step.answer_meaning for meaning in step.partition.meanings)
    return (own + 0.5) / (len(step.samples) + 1)


def _with_second(verdict: Verdict, step: Step, terms: Terms) -> Verdict:
    """The verdict with what second models say; one that said nothing leaves a warning."""
    said = [each for each in step.second if each.answers]
    notes = tuple(
        f"The second model {each.model} gave {'fewer answers' if each.answers else 'no answer'} ({each.note})"
        + (": the verdict is that of the first model alone." if not said else ".")
        for each in step.second
        if each.note is not None
    )
    verdict = replace(verdict, warnings=(*verdict.warnings, *notes))
    if not said:
        return verdict
    weights = second_weights(terms)
    odds = _log_odds(step, terms) + weights.other * sum(each.opinion.weight for each in said)
    score = 1 / (1 + math.exp(-odds))
    first, *others = (
        SecondOpinion(
            model=each.model,
            agreement=VerdictAgreement(each.opinion.agreement, each.opinion.interval(0.9)),
            answers=each.answers,
            agree=int(each.opinion.supports),
            instead=each.instead,
            samples=each.samples,
            tokens=each.tokens,
            claims=each.claims,
        )
        for each in said
    )
    if step.claims:
        scores = [claim.score for claim in step.claims if claim.score is not None]
        second = replace(first, others=tuple(others), without=verdict.outcome)
        return replace(verdict, score=min(scores, default=verdict.score), second=second, guarantee=None)
    return replace(
        verdict,
        outcome=Outcome.FLAGGED if odds < _flag_odds(terms) else Outcome.STEADY,
        probability=None if verdict.probability is None else 1 - score,
        score=score,
        second=replace(first, others=tuple(others), without=verdict.outcome),
        guarantee=None,  # it is about verdicts of one model
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
    prior: str | None = None,
    warnings: Sequence[str] = (),
) -> Verdict:
    """What a step means for its answer: the one place where a verdict is made, live or from stored samples.

    `method` is the name of the estimator or scorer behind the belief; a calibration fitted for another one is
    used, with a warning.
    """
    reason = step.reason or Reason.INTERRUPTED
    agreement = step.belief.agreement
    fields = tuple(_field(each, reason, threshold, calibration) for each in step.fields)
    claims = tuple(map(_claim, step.claims))
    parts = _whole(fields) if fields else _all_claims(claims)
    probability = _probability(step, fields, calibration)
    return Verdict(
        question=step.question,
        answer=step.answer.text,
        outcome=parts or _outcome(step, reason, threshold, calibration),
        entropy=Entropy.of(step.belief),
        agreement=None if agreement is None else VerdictAgreement(agreement.mean, agreement.interval(0.9)),
        meanings=step.meanings(),
        spent=step.spent,
        reason=reason,
        missing=step.missing,
        fields=fields,
        claims=claims,
        probability=probability,
        score=_score(step, probability, threshold),
        threshold=threshold,
        prior=prior,
        guarantee=_guarantee(calibration, method),
        warnings=(*_notes(step), *_sample_warnings(step), *_mismatch(calibration, method), *warnings),
        belief=step.belief,
        partition=step.partition,
        draws=step.samples,
    )


def field_outcome(field: FieldStep, step: Step, terms: Terms) -> Outcome:
    """The outcome of one field after `step`, whether or not it is the last."""
    return _outcome(field.step, _own_reason(field, step.reason), terms.threshold, terms.calibration)


def _own_reason(field: FieldStep, whole: Reason | None) -> Reason:
    """Why sampling ended for a field; one that the rule is not content with was not decided with the whole."""
    return field.step.reason or (Reason.INTERRUPTED if whole is None or whole.firm else whole)


def _field(
    field: FieldStep, reason: Reason, threshold: float, calibration: Calibrated | None
) -> FieldVerdict:
    """The verdict on one field."""
    step = field.step
    agreement = step.belief.agreement
    return FieldVerdict(
        name=field.name,
        value=field.value,
        required=field.required,
        outcome=_outcome(step, _own_reason(field, reason), threshold, calibration),
        entropy=Entropy.of(step.belief),
        agreement=None if agreement is None else VerdictAgreement(agreement.mean, agreement.interval(0.9)),
        meanings=step.meanings(),
        probability=None if calibration is None else calibration(step.belief),
    )


def _claim(step: ClaimStep) -> ClaimVerdict:
    agreement = VerdictAgreement(step.agreement.mean, step.agreement.interval(0.9))
    counts = step.supported, step.contradicted, step.silent
    said = step.instead, step.second, step.score
    return ClaimVerdict(step.text, step.start, step.end, step.outcome, agreement, *counts, *said)


def _all_claims(claims: Sequence[ClaimVerdict]) -> Outcome | None:
    """The outcome of a long answer: flagged if a claim is, steady if most claims are; None without claims."""
    if not claims:
        return None
    counts = Counter(claim.outcome for claim in claims)
    if counts[Outcome.FLAGGED]:
        return Outcome.FLAGGED
    return Outcome.STEADY if 2 * counts[Outcome.STEADY] > len(claims) else Outcome.UNDECIDED


def _whole(fields: Sequence[FieldVerdict]) -> Outcome:
    """The outcome of a structured answer: the worst among its required fields, or among all if none is required."""
    outcomes = {field.outcome for field in fields if field.required} or {field.outcome for field in fields}
    if outcomes & {Outcome.FLAGGED, Outcome.NO_ANSWER}:
        return Outcome.FLAGGED
    return Outcome.UNDECIDED if Outcome.UNDECIDED in outcomes else Outcome.STEADY


def _probability(step: Step, fields: Sequence[FieldVerdict], calibration: Calibrated | None) -> float | None:
    """The calibrated probability; the largest among the required fields of a structured answer, or among claims."""
    if calibration is None:
        return None
    if step.claims:
        return 1 - min(claim.score for claim in step.claims if claim.score is not None)
    known = [field.probability for field in fields if field.required and field.probability is not None]
    return max(known) if known else calibration(step.belief)


def _score(step: Step, probability: float | None, threshold: float) -> float | None:
    """The probability that the answer deserves no flag; of a structured answer it takes a calibration to tell."""
    if step.missing is not None or (step.fields and probability is None):
        return None
    if step.claims and probability is None:  # the answer is flagged if a claim is: the worst counts
        share = min(0.5, math.exp(-threshold))
        return 1 - max(claim.agreement.probability_below(share) for claim in step.claims)
    flag = suspicion(step.belief, threshold) if probability is None else probability
    return None if flag is None else min(1.0, max(0.0, 1 - flag))


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
        if flag >= CONFIDENCE and too_few(step.belief, step.spent, flagged=True):
            return Outcome.UNDECIDED
    if not _flagged(step, threshold, calibration):
        return Outcome.STEADY
    return Outcome.UNDECIDED if calibration is None and step.belief.unopposed else Outcome.FLAGGED


def _flagged(step: Step, threshold: float, calibration: Calibrated | None) -> bool:
    belief = step.belief
    if calibration is not None:
        return calibrated_flag(calibration, belief)
    if belief.agreement is not None:
        outside = contradicted(belief) or disagreement(belief, threshold) > 0.5
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
    of = "The one sample" if n == 1 else f"{{}} of {n} samples"
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
    if (
        no_logprob
        and not said
        and not step.claims
        and not any(any(field.step.evidence.floors) for field in step.fields)
    ):
        yield (
            f"{of.format(no_logprob)} came without the log-probability of the whole answer, end token included: "
            f"{'it is' if no_logprob == 1 else 'they are'} only counted."
        )
    if cut:
        them = "it counts, but its probability does" if cut == 1 else "they count, but their probabilities do"
        counted = "" if step.claims else f": {them} not"
        yield f"{of.format(cut)} {'was' if cut == 1 else 'were'} cut off at the length limit{counted}."
    if empty:
        yield f"{of.format(empty)} {'was' if empty == 1 else 'were'} empty."
    unparsed = sum(sample.text == UNPARSED_TEXT for field in step.fields[:1] for sample in field.step.samples)
    if unparsed:
        them = (
            "is not JSON: in every field it counts"
            if unparsed == 1
            else "are not JSON: in every field they count"
        )
        yield f"{of.format(unparsed)} {them} as another value."


def _guarantee(calibration: Calibrated | None, method: str) -> str | None:
    """What the calibration promises; nothing for the beliefs of another estimator."""
    promised = getattr(calibration, "guarantee", None)
    if promised is None or calibration is None or calibration.estimator != method:
        return None
    return str(promised.sentence())


def _mismatch(calibration: Calibrated | None, method: str) -> Iterator[str]:
    if calibration is not None and calibration.estimator != method:
        yield (
            f"The calibration was fitted for the estimator {calibration.estimator}, "
            f"not for {method}: its probability means little here."
        )
