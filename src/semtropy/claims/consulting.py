"""A second opinion on the claims of a long answer: one passage of another model serves all of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

import numpy as np

from ..inquiry.consulting import failure, within_budget
from ..inquiry.loop import LATE, Draw, Drawn, Relate, Terms
from ..refusals import missing_answer
from ..samples import Sample, generated_tokens
from ..second import Consulted, Opinion, OpinionWeights
from ..verdict import Outcome
from .pooling import MEANS, ClaimPrior, posterior
from .relating import CONTRADICTS, SILENT, SUPPORTS, compare

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from ..inquiry.steps import ClaimStep, Step
    from ..nouns import Floats
    from .splitting import Claim

MOST_PASSAGES = 2
"""The most passages a second model is asked for: one, and another where the first contradicts a claim."""
SECOND_PRIOR = ClaimPrior((1.0,), ((1 / MEANS,) * MEANS,))
"""What a second model says of the claims is pooled less: one that does not know the subject supports few of them."""
TRUSTED = 0.75
"""The probability above which a second model's support settles a claim that the samples left open."""


def consult_claims(
    step: Step, about: str, claims: Sequence[Claim], terms: Terms
) -> Generator[Draw | Relate, Drawn | Floats | None, Step]:
    """The last step of a long answer with what second models say of its claims; no failure of theirs costs it."""
    second = terms.second
    open_claims = any(claim.outcome is not Outcome.FLAGGED for claim in step.claims)
    if second is None or not (second.always or open_claims):
        return step
    consulted: list[Consulted] = []
    votes: list[Floats] = []  # claims x passages x 3 of each model that said something
    for number, (name, given) in enumerate(second.models):
        said, related = Consulted(name), np.zeros((len(claims), 0, 3))
        passages: list[Sample] = []
        while said.note is None and len(passages) < MOST_PASSAGES:
            new: Sequence[Sample] = given or ()
            if given is None and not within_budget(step.spent, [*consulted, said], terms):
                said = replace(said, note="the limits of the check left no room to ask it")
                break
            if given is None:
                drawn = cast("Drawn", (yield Draw(1, terms.temperature, second=number)))
                new = drawn.samples
                tokens = generated_tokens([*passages, *new])
                said = replace(said, note=failure(drawn), samples=said.samples + len(new), tokens=tokens)
            missing = [reason for reason in map(missing_answer, new) if reason and "cut off" not in reason]
            if missing or not new:
                said = replace(said, note=missing[0].replace("the model", "it") if missing else said.note)
                break
            more = yield from _related(about, claims, new)
            if more is None:
                said = replace(said, note="the judge did not compare its answer in time")
                break
            passages += new
            related = np.concatenate([related, more], axis=1)
            if given is not None or not _contradicts(step.claims, related):
                break
        if passages:
            votes.append(related)
            said = _consulted(said, passages, related)
        consulted.append(said)
    found = tuple(_weighed(step.claims, votes)) if votes else step.claims
    return replace(step, claims=found, second=tuple(consulted))


def _contradicts(claims: Sequence[ClaimStep], related: Floats) -> bool:
    """Whether a claim that the samples did not flag is contradicted: another passage may confirm that."""
    against = (related.argmax(axis=2) == CONTRADICTS).any(axis=1)
    return any(
        found and claim.outcome is not Outcome.FLAGGED for found, claim in zip(against, claims, strict=True)
    )


def _related(
    about: str, claims: Sequence[Claim], passages: Sequence[Sample]
) -> Generator[Relate, Drawn | Floats | None, Floats | None]:
    pairs = compare(about, claims, [passage.text for passage in passages])
    judged = (yield Relate(pairs.pairs)) if pairs.pairs else np.zeros((0, 3))
    return None if judged is LATE else pairs.relations(cast("Floats", judged))


def _consulted(said: Consulted, passages: Sequence[Sample], related: Floats) -> Consulted:
    says = related.mean(axis=1).argmax(axis=1)
    mean = float(np.mean([belief.mean for belief in posterior(related[..., SUPPORTS])]))
    counts = tuple(int((says == each).sum()) for each in (SUPPORTS, CONTRADICTS, SILENT))
    return replace(
        said,
        answers=tuple(passage.text for passage in passages),
        opinion=Opinion(mean * len(passages), len(passages), pooled=mean),
        claims=cast("tuple[int, int, int]", counts),
    )


def _weighed(claims: Sequence[ClaimStep], votes: Sequence[Floats]) -> list[ClaimStep]:
    weights = OpinionWeights.for_claims()
    beliefs = [posterior(each[..., SUPPORTS], prior=SECOND_PRIOR) for each in votes]
    found = []
    for number, claim in enumerate(claims):
        opinions = [
            Opinion(each[number].mean * votes[k].shape[1], votes[k].shape[1], pooled=each[number].mean)
            for k, each in enumerate(beliefs)
        ]
        score = weights(claim.agreement.mean, opinions)
        passages = np.concatenate([each[number] for each in votes]).argmax(axis=1)
        support, against = int((passages == SUPPORTS).sum()), int((passages == CONTRADICTS).sum())
        says = "supports" if support > against else "contradicts" if against > support else "silent"
        outcome = _outcome(claim.outcome, support, against, score)
        found.append(replace(claim, outcome=outcome, score=score, second=says))
    return found


def _outcome(own: Outcome, support: int, against: int, score: float) -> Outcome:
    """Silence of another model changes nothing, support settles what was open, two contradictions flag.

    One contradiction leaves a steady claim undecided: it may be the other model's slip, or the judge's.
    """
    if against and not support:
        return Outcome.UNDECIDED if own is Outcome.STEADY and against == 1 else Outcome.FLAGGED
    if support > against and score >= TRUSTED:
        return Outcome.UNDECIDED if own is Outcome.FLAGGED else Outcome.STEADY
    return own
