"""`score`: the semantic entropy of answers that you already have, without calling a model."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

from .errors import InputError, MissingExtra
from .estimators import as_estimator
from .inquiry.conclusion import make_verdict
from .inquiry.loop import estimated
from .inquiry.steps import LabelledDraws, Step
from .nouns import LOGPROB_SLACK, Belief, Estimator, Evidence, Partition, Sample
from .options import judge_name
from .refusals import missing_answer
from .scorers import NAMES as SCORERS
from .scorers import load_scorer
from .scorers.row import REMEDIES, Scorer, ScorerRow
from .stopping import CLAIMS, Reason, Spent

if TYPE_CHECKING:
    from .nouns import Judge, Token
    from .recording import Row
    from .stopping import Calibrated
    from .verdict import Verdict

_SPELLING_ONLY = (
    "answers were grouped by spelling alone: the built-in judge needs pip install 'semtropy[local]', "
    "or hand in meanings= or judge="
)
_SPLIT = "some identical answers were given different meanings"


def score(
    texts: Sequence[str],
    *,
    answer: str | Sample | None = None,
    logprobs: Sequence[float | None] | None = None,
    meanings: Sequence[Hashable | None] | None = None,
    answer_meaning: Hashable | None = None,
    tokens: Sequence[Sequence[Token] | None] | None = None,
    question: str | None = None,
    estimator: str | Estimator = "bayes",
    judge: str | Judge | None = None,
    prior: Any = None,
) -> Belief:
    """The belief about the semantic entropy behind answers sampled for one question, in nats.

    texts           the sampled answers, repeats included; with an `answer` there may be none
    answer          the answer being judged: its text, or a Sample whose log-probability is under the distribution
                    the others were sampled from
    logprobs        of each whole sampled answer, end token included, under the distribution it was sampled from
    meanings        a label for each sampled answer, used as it is; without it the judge groups them
    answer_meaning  the label of `answer` among `meanings`
    tokens          of each sampled answer: distinguishes two tokenisations of one text
    question        what was asked, which the judge reads with the answers
    estimator       a name (`semtropy.estimators.NAMES`) or an estimator
    judge           a name (`semtropy.meaning.NAMES`) or a judge; default the one that ships with the package
    prior           the prior of an estimator given by name; default the one that ships

    Each list has an entry for each sampled answer, None where the value is not known. An answer whose meaning is None
    has that of an identical answer, else that of one the judge finds equal to it, else a new one.

    >>> round(score(["Paris", "paris", "Rome", "Paris"], meanings=[0, 0, 1, 0], estimator="histogram").mean, 4)
    0.5623
    >>> belief = score([], answer=Sample("Paris", logprob=-0.05))
    >>> belief.agreement.mean > 0.95
    True
    """
    if isinstance(texts, str):
        raise InputError("texts is one string: give a list of answers")
    if not isinstance(texts, Iterable):
        raise InputError(f"texts is of type {type(texts).__name__}: give a list of answers")
    made, texts = as_estimator(estimator, prior), list(texts)
    judged = None if answer is None else _judged_sample(answer)
    if not texts and (judged is None or not made.uses_answer):
        raise InputError(
            "texts is empty: an estimate needs at least one sampled answer, or `answer` and bayes"
        )
    samples = _samples(texts, logprobs, tokens)
    if judged is None:
        labels, notes = _labels(texts, meanings, tokens, question, judge)
        evidence = Evidence.gather(samples, Partition.of(labels))
    else:
        given = [answer_meaning, *_column("meanings", meanings, len(texts))]
        spelled = [judged.tokens, *_column("tokens", tokens, len(texts))]
        (own, *labels), notes = _labels([judged.text, *texts], given, spelled, question, judge)
        evidence = LabelledDraws(judged, samples, own, labels, question).evidence()
    belief = estimated(made, evidence)
    return replace(belief, notes=(*belief.notes, *notes)) if notes else belief


def _judged_sample(answer: str | Sample) -> Sample:
    """The answer as the evidence reads it: its log-probability is under the sampling distribution."""
    if isinstance(answer, str):
        return Sample(answer)
    if not isinstance(answer, Sample):
        raise InputError(f"answer is of type {type(answer).__name__}: expected text or a Sample")
    return answer if answer.sampling_logprob is not None else replace(answer, sampling_logprob=answer.logprob)


def _samples(
    texts: list[str], logprobs: Sequence[float | None] | None, tokens: Sequence[Sequence[Token] | None] | None
) -> list[Sample]:
    for place, text in enumerate(texts):
        if not isinstance(text, str):
            raise InputError(f"texts[{place}] is of type {type(text).__name__}: expected text")
    known = _column("logprobs", logprobs, len(texts))
    spelled = _column("tokens", tokens, len(texts))
    return [
        Sample(text, _logprob(value, place), None if ids is None else tuple(ids))
        for place, (text, value, ids) in enumerate(zip(texts, known, spelled, strict=True))
    ]


def _column(name: str, values: Sequence[Any] | None, size: int) -> Sequence[Any]:
    if values is None:
        return [None] * size
    if len(values) != size:
        raise InputError(
            f"{name} has {len(values)} entries for {size} texts: give one per text, None where unknown"
        )
    return values


def _logprob(value: Any, place: int) -> float | None:
    if value is None:
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise InputError(
            f"logprobs[{place}] is {value!r}: expected a number, or None where unknown"
        ) from None
    if not math.isfinite(number):
        raise InputError(f"logprobs[{place}] is {number}: expected a finite number, or None where unknown")
    if number > LOGPROB_SLACK:
        raise InputError(f"logprobs[{place}] is {number}: a log-probability is at most 0")
    return number


def _labels(
    texts: list[str],
    meanings: Sequence[Hashable | None] | None,
    tokens: Sequence[Sequence[Token] | None] | None,
    question: str | None,
    judge: str | Judge | None,
) -> tuple[list[Hashable], tuple[str, ...]]:
    """A label for each text, and what a reader should know about how it came about."""
    given = [_plain(label) for label in _column("meanings", meanings, len(texts))]
    of_text: dict[str, Hashable] = {}
    notes: tuple[str, ...] = ()
    for text, label in zip(texts, given, strict=True):
        if label is not None and of_text.setdefault(text, label) != label:
            notes = (_SPLIT,)
    if all(text in of_text for text in texts):
        return [
            of_text[text] if label is None else label for text, label in zip(texts, given, strict=True)
        ], notes
    judged, more = _judge(texts, tokens, question, judge)
    of_class: dict[int, Hashable] = {}
    for text, number in zip(texts, judged, strict=True):
        if text in of_text:
            of_class.setdefault(number, of_text[text])
    labels = [
        label if label is not None else of_text.get(text, of_class.get(number, ("judged", number)))
        for text, label, number in zip(texts, given, judged, strict=True)
    ]
    return labels, (*notes, *more)


def _plain(label: Any) -> Hashable | None:
    """A label that compares by value: an entry of an array becomes the number it holds."""
    plain = label.item() if hasattr(label, "item") else label
    if not isinstance(plain, Hashable):
        raise InputError(f"meanings holds {plain!r}, a {type(plain).__name__}: labels are numbers or texts")
    return None if isinstance(plain, float) and math.isnan(plain) else plain


def _judge(
    texts: list[str],
    tokens: Sequence[Sequence[Token] | None] | None,
    question: str | None,
    judge: str | Judge | None,
) -> tuple[list[int], tuple[str, ...]]:
    from .meaning import cluster
    from .meaning.judges import judge_warnings

    loaded = _LazyJudge(judge)
    groups = cluster(question or "", texts, loaded.load(), tokens=tokens)
    return groups, (*loaded.notes, *judge_warnings(loaded.judge, texts))


@dataclass(frozen=True, slots=True)
class Scored:
    """One question of a recording, scored: a verdict with the question's id and grade.

    `flagged` is None for a score that is not an entropy, unless a calibration says how to read it.
    """

    id: str
    correct: bool | None
    verdict: Verdict
    flagged: bool | None

    def to_dict(self) -> dict[str, Any]:
        """As JSON: the fields of a verdict, `id` first and `correct` last."""
        return {"id": self.id, **self.verdict.to_dict(), "flagged": self.flagged, "correct": self.correct}


def row_scoring(
    estimator: str | Estimator = "bayes",
    *,
    prior: Any = None,
    calibration: Calibrated | None = None,
    judge: str | Judge | None = None,
    watch: Callable[[int], None] | None = None,
) -> Callable[[Iterable[Row]], Iterator[Scored]]:
    """A function that scores the rows of a recording one by one, with a method and a judge that are loaded once.

    `estimator` may also name a scorer of the answer (`semtropy.scorers.NAMES`). Rows with samples that have no meaning
    yet are grouped by `judge`; `watch` is called with the number of rows grouped so far.

    >>> from semtropy.recording import Row
    >>> row = Row({"id": "q1", "question": "Capital of France?",
    ...            "samples": [{"text": "Paris", "meaning": 0}, {"text": "Rome", "meaning": 1}]})
    >>> [(line.id, round(line.verdict.entropy.mean, 4)) for line in row_scoring("histogram")([row])]
    [('q1', 0.6931)]
    """
    method: Estimator | Scorer
    if isinstance(estimator, str) and estimator in SCORERS:
        if prior is not None:
            raise InputError(f"{estimator} scores the answer alone: it takes no prior")
        method = load_scorer(estimator)
    else:
        method = as_estimator(estimator, prior)
    loaded = _LazyJudge(judge)

    def scored(rows: Iterable[Row]) -> Iterator[Scored]:
        for long, some in groupby(rows, key=lambda row: "claims" in row.fields):
            if long and method.name == "bayes" and (calibration is None or calibration.estimator == CLAIMS):
                yield from (_scored_claims(row, loaded, calibration) for row in some)
                continue
            for row, notes in _with_meanings(some, loaded, watch):
                yield _scored(row, method, calibration, notes)

    return scored


def _scored_claims(row: Row, loaded: _LazyJudge, calibration: Calibrated | None) -> Scored:
    """The verdict on the claims of a long answer, from its stored samples."""
    from .checking import check

    answer = row.judged_sample()
    verdict = check(
        row.question,
        answer=answer.text,
        samples=row.samples,
        judge=loaded.load(),
        claims="sentences",
        calibration=calibration,
    )
    return Scored(row.id, None if row.answer is None else row.answer.correct, verdict, verdict.flagged)


def _with_meanings(
    rows: Iterable[Row], loaded: _LazyJudge, watch: Callable[[int], None] | None
) -> Iterator[tuple[Row, tuple[str, ...]]]:
    """Rows with meanings, and what a reader should know about how they came about."""
    from .meaning.grouping import group_rows
    from .meaning.judges import judge_warnings

    for row, fresh in group_rows(rows, loaded.load, watch=watch):
        texts = [sample.text for sample in row.samples] if fresh else []
        yield row, (*loaded.notes, *judge_warnings(loaded.judge, texts)) if fresh else ()


class _LazyJudge:
    """The judge of that name, loaded when it is needed; spelling decides where the built-in one is not installed."""

    def __init__(self, judge: str | Judge | None) -> None:
        self.judge = judge_name(judge) if isinstance(judge, str) else judge
        self.notes: tuple[str, ...] = ()

    def load(self) -> Judge:
        from .meaning import load_judge

        if not (self.judge is None or isinstance(self.judge, str)):
            return self.judge
        try:
            self.judge = load_judge(self.judge)
        except MissingExtra:
            if self.judge is not None:
                raise
            self.judge, self.notes = load_judge("normalised"), (_SPELLING_ONLY,)
        return self.judge


def _scored(
    row: Row, method: Estimator | Scorer, calibration: Calibrated | None, notes: Sequence[str] = ()
) -> Scored:
    evidence, samples, answer = row.evidence(), row.samples, row.answer
    is_entropy = not isinstance(method, Scorer) or method.in_nats
    belief = _answer_score(row, method) if isinstance(method, Scorer) else estimated(method, evidence)
    if row.header.why_logprobs_unusable and any(
        "logprob" in s or "token_logprobs" in s for s in row["samples"]
    ):
        unused = f"log-probabilities were not used: {row.header.why_logprobs_unusable}"
        belief = replace(belief, notes=(*belief.notes, unused))
    step = Step(
        question=row.question,
        answer=row.judged_sample(),
        samples=samples,
        partition=row.partition,
        answer_meaning=row.answer_meaning(),
        evidence=evidence,
        belief=belief,
        spent=Spent(samples=evidence.n, tokens=None),
        reason=Reason.STORED,
        missing=missing_answer(row.judged_sample()),
    )
    verdict = make_verdict(step, method=method.name, calibration=calibration, warnings=notes)
    flagged = verdict.flagged if is_entropy or calibration is not None else None
    return Scored(row.id, None if answer is None else answer.correct, verdict, flagged)


def _answer_score(row: Row, scorer: Scorer) -> Belief:
    seen = ScorerRow.of(row)
    for column in scorer.missing(seen):
        remedy = f" ({REMEDIES[column]})" if column in REMEDIES else ""
        row.fail(f"is missing: {scorer.name} needs it{remedy}", column)
    notes = () if scorer.in_nats else (f"{scorer.name} is a score, not an entropy in nats",)
    return Belief(scorer(seen), notes=notes)
