"""One number from 0 to 1 for tools that want one, with the same meaning everywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .stopping import suspicion
from .verdict import Outcome

if TYPE_CHECKING:
    from .verdict import Verdict

__all__ = ["score_reason", "steadiness"]


def steadiness(verdict: Verdict) -> float | None:
    """The probability that the answer deserves no flag: 1 is steady, 0 is made up.

    With a calibration it is 1 minus the probability of a hallucination. Otherwise it is the posterior probability that
    the entropy is at most the threshold and that the model mostly says what the answer says. None where there is no
    answer, where the estimator has no distribution, for structured answers without a calibration, and for a verdict
    read from JSON without one.

    verdict  the verdict of a check

    >>> from semtropy import check
    >>> from semtropy.models import ScriptedModel
    >>> model = ScriptedModel(default={"Paris": 0.98, "Lyon": 0.02})
    >>> steadiness(check("Capital of France?", model=model, judge="exact", rng=1)) > 0.9
    True
    """
    if verdict.outcome is Outcome.NO_ANSWER:
        return None
    if verdict.probability is not None:
        return 1 - verdict.probability
    if verdict.belief is None or verdict.fields:
        return None
    flag = suspicion(verdict.belief, verdict.threshold)
    return None if flag is None else min(1.0, max(0.0, 1 - flag))


def score_reason(verdict: Verdict) -> str:
    """Why the score is what it is, in one line, with no text of prompt or answers.

    >>> from semtropy import check
    >>> from semtropy.models import ScriptedModel
    >>> verdict = check("Capital?", model=ScriptedModel(default={"Paris": 1.0}), judge="exact", rng=1)
    >>> score_reason(verdict).startswith("Looks steady. Asked again, the model would say so")
    True
    """
    said = {
        Outcome.STEADY: "Looks steady.",
        Outcome.FLAGGED: f"{verdict.suspected()}.",
        Outcome.UNDECIDED: "Undecided.",
        Outcome.NO_ANSWER: "No answer.",
    }
    agreement = [] if verdict.agreement is None else [verdict.agreement.sentence()]
    return " ".join([said[verdict.outcome], *agreement, str(verdict.reason)])
