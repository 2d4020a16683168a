"""Long recordings: how well each method finds the wrong claims of answers, for a number of samples.

A row of a long recording has the key `claims`, a list of

    {"text", "start"?, "end"?, "correct": true|false|null, "confidence"?: number,
     "supports"?: [a probability for each sample], "contradicts"?: [...]}

`confidence` is what the model stated itself. Where `supports` is missing, a judge relates the claims to the samples.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse.csgraph import shortest_path

from ..claims import posterior, relate
from ..claims.relating import votes
from ..errors import InputError
from ..meaning import load_judge
from ..recording import read_recording
from .evaluate.metrics import auroc

if TYPE_CHECKING:
    from ..nouns import Floats, Judge
    from ..recording import Row
    from .evaluate.metrics import Bools


@dataclass(frozen=True, eq=False, slots=True)
class LongAnswer:
    """The claims of one answer: what the samples say of each, and which are wrong.

    supports     claims x samples, probabilities
    contradicts  the same, None where the votes do not tell contradiction from silence
    wrong        one entry per claim; what `labelled` leaves out means nothing
    stated       the confidence that the model stated, None where it stated none
    """

    supports: Floats
    contradicts: Floats | None
    wrong: Bools
    labelled: Bools
    stated: Floats | None

    @classmethod
    def of(cls, row: Row, judge: Judge | None = None) -> LongAnswer:
        """What a row holds; without stored votes the judge is asked."""
        claims = row.fields.get("claims")
        if not isinstance(claims, list) or not claims:
            row.fail("is missing: a list of claims with their labels is needed", "claims")
        for place, claim in enumerate(claims):
            if not isinstance(claim, Mapping) or not isinstance(claim.get("text"), str):
                row.fail("expected an object with `text`", f"claims[{place}]")
            if claim.get("correct") not in (True, False, None):
                row.fail("expected true, false or null", f"claims[{place}].correct")
        if all("supports" in claim for claim in claims):
            supports = _votes(row, claims, "supports")
            known = all("contradicts" in claim for claim in claims)
            contradicts = _votes(row, claims, "contradicts") if known else None
        else:
            texts = [sample.text for sample in row.samples]
            relations = relate(row.question, [claim["text"] for claim in claims], texts, judge)
            supports, contradicts = relations[..., 0], relations[..., 1]
        stated = [claim.get("confidence") for claim in claims]
        return cls(
            supports,
            contradicts,
            np.array([claim.get("correct") is False for claim in claims]),
            np.array([claim.get("correct") is not None for claim in claims]),
            None if any(value is None for value in stated) else np.array(stated, dtype=float),
        )

    @property
    def votes(self) -> Floats:
        """The votes that the posterior reads: silence counts a little, where it is known."""
        if self.contradicts is None:
            return self.supports
        return votes(self.relations)

    @property
    def relations(self) -> Floats:
        """Claims x samples x 3: supports, contradicts, silent; as of a judge that knows entailment alone if need be."""
        contradicts = np.zeros_like(self.supports) if self.contradicts is None else self.contradicts
        silent = np.clip(1 - self.supports - contradicts, 0.0, 1.0)
        return np.stack([self.supports, contradicts, silent], axis=-1)

    def first(self, chosen: Sequence[int]) -> LongAnswer:
        """The same with some of the samples alone."""
        contradicts = None if self.contradicts is None else self.contradicts[:, chosen]
        return LongAnswer(self.supports[:, chosen], contradicts, self.wrong, self.labelled, self.stated)


def read_answers(paths: Iterable[str | PathLike[str]], judge: str | None = None) -> list[LongAnswer]:
    """The long answers of recordings; the judge is loaded where votes are missing."""
    rows = [row for path in paths for row in read_recording(path)]
    loaded = None if has_votes(rows) else load_judge(judge)
    return [LongAnswer.of(row, loaded) for row in rows]


def has_votes(rows: Iterable[Row]) -> bool:
    """Whether every claim has stored votes, so that no judge is needed."""
    return all("supports" in claim for row in rows for claim in row.fields.get("claims") or ())


def _votes(row: Row, claims: Sequence[Mapping[str, Any]], name: str) -> Floats:
    found = [claim[name] for claim in claims]
    for place, given in enumerate(found):
        right = isinstance(given, list) and len(given) == len(row.samples)
        if not right or not all(isinstance(vote, int | float) and 0 <= vote <= 1 for vote in given):
            row.fail(
                f"expected {len(row.samples)} probabilities, one for each sample", f"claims[{place}].{name}"
            )
    return np.array(found, dtype=float).reshape(len(claims), len(row.samples))


# Each method gives a score for every claim of an answer: higher means wrong. None where it lacks what it needs.


def _pooled(answer: LongAnswer) -> Floats:
    return 1 - np.array([belief.mean for belief in posterior(answer.votes)])


def _share(answer: LongAnswer) -> Floats:
    """SelfCheckGPT with a prompted judge: the share of samples that do not support the claim."""
    return np.asarray(1 - (answer.supports > 0.5).mean(axis=1))


def _selfcheck(answer: LongAnswer) -> Floats | None:
    """SelfCheckGPT-NLI: the mean of P(contradicts) / (P(contradicts) + P(supports))."""
    if answer.contradicts is None:
        return None
    return np.asarray(_ratio(answer.contradicts, answer.supports).mean(axis=1))


def _luq(answer: LongAnswer) -> Floats | None:
    """LUQ for claims: one minus the mean of P(supports) / (P(supports) + P(contradicts)), silence counting as none."""
    if answer.contradicts is None:
        return None
    spoken = answer.supports + answer.contradicts > 0.1
    return np.asarray(1 - np.where(spoken, _ratio(answer.supports, answer.contradicts), 0.0).mean(axis=1))


def _ratio(one: Floats, other: Floats) -> Floats:
    total = one + other
    return np.divide(one, total, out=np.full_like(one, 0.5), where=total > 1e-9)


def _closeness(answer: LongAnswer) -> Floats:
    """Closeness centrality of claims in the graph of claims and answers that support them, the answer included."""
    claims, samples = answer.supports.shape
    joined = np.hstack([np.ones((claims, 1)), answer.supports > 0.5])  # the answer makes all its claims
    nodes = claims + samples + 1
    near = np.zeros((nodes, nodes))
    near[:claims, claims:], near[claims:, :claims] = joined, joined.T
    distances = shortest_path(near, unweighted=True, indices=np.arange(claims))
    reached = np.isfinite(distances)
    found, total = reached.sum(axis=1) - 1, np.where(reached, distances, 0.0).sum(axis=1)
    return np.asarray(1 - (found / np.maximum(total, 1)) * (found / max(nodes - 1, 1)))


def _stated(answer: LongAnswer) -> Floats | None:
    return None if answer.stated is None else 1 - answer.stated


Method = Callable[[LongAnswer], "Floats | None"]

METHODS: dict[str, Method] = {
    "pooled": _pooled,
    "share": _share,
    "selfcheck": _selfcheck,
    "luq": _luq,
    "closeness": _closeness,
    "stated": _stated,
}


@dataclass(frozen=True, slots=True)
class ClaimFigure:
    """One method at one number of samples.

    auroc      of wrong claims, over all claims
    within     the same within answers, weighted by their pairs of a right and a wrong claim; None without such pairs
    precision  average precision over all claims
    """

    method: str
    budget: int
    auroc: float
    within: float | None
    precision: float


def study_claims(
    answers: Sequence[LongAnswer],
    *,
    budgets: Iterable[int] = (1, 2, 3, 5, 10),
    seeds: int = 5,
    seed: int = 0,
) -> list[ClaimFigure]:
    """Every method on the same samples, averaged over `seeds` random choices of them.

    >>> supports = [[1, 1, 1], [1, 1, 0], [0, 0, 0]]
    >>> labels = np.array([False, False, True])
    >>> answer = LongAnswer(np.array(supports, dtype=float), None, labels, np.ones(3, dtype=bool), None)
    >>> [(figure.method, figure.auroc) for figure in study_claims([answer], budgets=[3])]
    [('pooled', 1.0), ('share', 1.0), ('closeness', 1.0)]
    """
    wrong = np.concatenate([answer.wrong[answer.labelled] for answer in answers]) if answers else np.zeros(0)
    if not wrong.any() or wrong.all():
        raise InputError("claims: right and wrong claims are needed, labelled by `correct`")
    most = min(answer.supports.shape[1] for answer in answers)
    figures: list[ClaimFigure] = []
    for budget in sorted({min(budget, most) for budget in budgets if budget > 0}):
        rng = np.random.default_rng([seed, budget])
        repeats = 1 if budget == most else seeds
        chosen = [
            [answer.first(rng.permutation(answer.supports.shape[1])[:budget].tolist()) for answer in answers]
            for _ in range(repeats)
        ]
        for name, method in METHODS.items():
            measured = [_measured(method, some) for some in chosen]
            if None not in measured:
                figures.append(_mean(name, budget, [each for each in measured if each is not None]))
    return figures


def _measured(method: Method, answers: Sequence[LongAnswer]) -> tuple[float, float | None, float] | None:
    scores, labels, inside, weights = [], [], [], []
    for answer in answers:
        found = method(answer)
        if found is None:
            return None
        score, wrong = found[answer.labelled], answer.wrong[answer.labelled]
        scores.append(score)
        labels.append(wrong)
        if wrong.any() and not wrong.all():
            inside.append(float(auroc(score, wrong)))
            weights.append(int(wrong.sum()) * int((~wrong).sum()))
    score, wrong = np.concatenate(scores), np.concatenate(labels)
    within = float(np.average(inside, weights=weights)) if inside else None
    return float(auroc(score, wrong)), within, average_precision(score, wrong)


def _mean(name: str, budget: int, measured: Sequence[tuple[float, float | None, float]]) -> ClaimFigure:
    overall, within, precision = zip(*measured, strict=True)
    inside = [value for value in within if value is not None]
    return ClaimFigure(
        name, budget, math.fsum(overall) / len(overall), float(np.mean(inside)) if inside else None,
        math.fsum(precision) / len(precision),
    )  # fmt: skip


def average_precision(scores: Floats, wrong: Bools) -> float:
    """The mean precision at the wrong claims, highest scores first; ties are taken together.

    >>> average_precision(np.array([0.9, 0.8, 0.1]), np.array([True, False, True])).__round__(4)
    0.8333
    """
    order = np.argsort(-scores, kind="stable")
    ends = np.flatnonzero(np.append(np.diff(scores[order]) != 0, True))  # the last of each tie
    found = np.cumsum(wrong[order])[ends]
    gained = np.diff(np.concatenate([[0], found]))
    return float((gained * found / (ends + 1)).sum() / wrong.sum())


def claims_table(figures: Sequence[ClaimFigure]) -> str:
    """AUROC over all claims / within answers / average precision, methods by numbers of samples, as Markdown."""
    budgets = sorted({figure.budget for figure in figures})
    found = {(figure.method, figure.budget): figure for figure in figures}
    lines = [
        "AUROC of wrong claims over all / within answers / average precision, by the number of samples:",
        "",
        "| method | " + " | ".join(map(str, budgets)) + " |",
        "|---|" + "---|" * len(budgets),
    ]
    for name in dict.fromkeys(figure.method for figure in figures):
        cells = []
        for budget in budgets:
            figure = found[name, budget]
            inside = "" if figure.within is None else f"{figure.within:.3f}"
            cells.append(f"{figure.auroc:.3f} / {inside} / {figure.precision:.3f}")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def claims_json(figures: Sequence[ClaimFigure]) -> dict[str, Any]:
    """The figures as plain data."""
    return {"claims": [asdict(figure) for figure in figures]}
