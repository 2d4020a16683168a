"""Calibrate an estimator: fit the probability of a hallucination given the belief, on a graded recording."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from ..calibration import Calibration, Guarantee, Isotonic, Logistic, PassedAnswers
from ..claims.loop import LONG_SAMPLES, ClaimTerms, replay
from ..errors import InputError
from ..estimators import load_estimator
from ..inquiry.loop import Terms
from ..meaning import load_judge
from ..numeric_checks import is_number, is_whole
from ..recording import Recording, read_recording
from ..stopping import CLAIMS, RELAXATION, Budget, Decided, FixedSamples, Rounds, Spent, calibrated_flag
from ..verdict import THRESHOLD, Outcome
from .claims import LongAnswer, has_votes
from .evaluate.figures import blank_figure
from .evaluate.metrics import auroc, calibration_error, isotonic, log_loss, logistic, round_scores
from .evaluate.resampling import (
    ResamplingPlan,
    StudyQuestion,
    estimate_orders,
    sample_order,
    sorted_by_id,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..claims import ClaimPrior
    from ..inquiry.steps import ClaimStep
    from ..nouns import Belief, Estimator, Evidence, Floats, Judge
    from .evaluate.metrics import Bools
    from .evaluate.prepare import RecordingSource

__all__ = ["FittedCalibration", "fit_calibration"]


# Fits a calibration on a graded recording: a curve chosen by cross-validation, and a threshold for a target error.


Fit = Callable[["Floats", "Bools", int], Logistic | Isotonic]


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """Answers with similar probabilities: how many, their mean probability, and the share that is wrong.

    `low` and `high` are a 95% interval of that share, for the number of different questions among them.
    """

    answers: int
    probability: float
    frequency: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class FittedCalibration:
    """A calibration with its diagnostics, all computed on questions held out of the fit.

    calibration  the curve and the threshold
    losses       the log loss of each kind of curve
    ece          the expected calibration error
    bins         the points of the reliability figure
    kept         the share of answers up to the threshold; None without a threshold
    error        the share of those that is wrong; None without a threshold

    >>> from semtropy.study import example_recording
    >>> from semtropy.study.calibrate import fit_calibration
    >>> fitted = fit_calibration(example_recording(), estimator="histogram", target_error=0.5)
    >>> sorted(fitted.losses)
    ['isotonic', 'logistic']
    """

    calibration: Calibration
    losses: dict[str, float]
    ece: float
    bins: tuple[ReliabilityBin, ...]
    kept: float | None
    error: float | None


@dataclass(frozen=True, slots=True)
class _LabelledScores:
    """Entropies of every budget and repeat with the labels and folds of their questions, flattened."""

    scores: Floats
    wrong: Bools
    fold: np.ndarray[Any, np.dtype[np.intp]]
    question: np.ndarray[Any, np.dtype[np.intp]]
    questions: int

    def held_out(self, fit: Fit) -> Floats:
        """The probability of each score by a curve fitted on the other folds."""
        probabilities = np.empty(len(self.scores))
        for each in np.unique(self.fold):
            test = self.fold == each
            curve = fit(self.scores[~test], self.wrong[~test], self.questions)
            probabilities[test] = curve(self.scores[test])
        return probabilities


def fit_calibration(
    source: RecordingSource,
    *,
    estimator: str = "bayes",
    budgets: Sequence[int] = tuple(range(1, 11)),
    target_error: float = 0.1,
    seeds: int = 5,
    seed: int = 0,
    folds: int = 5,
    at_most: float | None = None,
    confidence: float = 0.95,
    judge: str | Judge | None = None,
    options: dict[str, Any] | None = None,
) -> FittedCalibration:
    """Fit P(hallucination | mean entropy) on the graded questions of a recording.

    source        a recording with meanings and grades, or its path
    estimator     the name of the estimator; "claims" for the labelled claims of a recording of long answers
    budgets       numbers of samples after which the entropy is estimated, because a check may stop at any of them
    target_error  the largest share of wrong answers among those that are not flagged, which sets the threshold
    seeds         how many times samples are drawn, all from `seed`
    seed          of the random orders
    folds         the number of folds of the cross-validation; all entropies of one question are in the same fold
    at_most       the largest share of wrong answers among those that pass that is to be guaranteed; None for no
                  guarantee. An error says what it would take where it cannot be
    confidence    the confidence of the guarantee
    judge         of claims, where the recording has no votes on them
    options       keyword arguments of the estimator, such as `prior`; use it with the same ones later

    >>> from semtropy.study import example_recording
    >>> fitted = fit_calibration(example_recording(), estimator="histogram", target_error=0.5)
    >>> fitted.calibration.estimator, fitted.error <= 0.5
    ('histogram', True)
    """
    if not 0 < target_error < 1:
        raise InputError(f"the target error is {target_error}: a share of answers between 0 and 1")
    if not (is_whole(folds) and folds >= 2 and is_whole(seeds) and seeds >= 1):
        raise InputError(f"folds is {folds} and seeds {seeds}: whole numbers, at least 2 and 1")
    for name, value in (("at_most", at_most), ("confidence", confidence)):
        if value is not None and not (is_number(value) and 0 < value < 1):
            raise InputError(f"{name} is {value}: a probability between 0 and 1")
    steps = tuple(sorted(set(budgets)))
    if not steps or steps[0] < 1:
        raise InputError(f"--budgets are {list(budgets)}: numbers of samples, 1 or more")
    recording = source if isinstance(source, Recording) else read_recording(source)
    if estimator == CLAIMS:
        claims = _GradedClaims.of(
            recording, judge, (options or {}).get("prior"), min(steps[-1], LONG_SAMPLES)
        )
        return claims.fit(target_error, at_most, confidence, folds)
    everything = [StudyQuestion.of(row) for row in sorted_by_id(recording)]
    questions = [each for each in everything if each.wrong is not None]
    labels = np.array([bool(question.wrong) for question in questions])
    if labels.sum() < folds or (~labels).sum() < folds:
        raise InputError(
            f"{len(labels)} graded questions, {int(labels.sum())} of them wrong: "
            f"a calibration needs at least {folds} wrong and {folds} right ones"
        )
    plan = ResamplingPlan(budget=steps[-1], repeats=seeds, seed=seed, steps=steps)
    loaded = load_estimator(estimator, **(options or {}))
    entropies = round_scores(estimate_orders(questions, {estimator: loaded}, plan)[estimator].mean)
    data = _LabelledScores(
        entropies.reshape(-1),
        np.broadcast_to(labels, entropies.shape).reshape(-1),
        np.broadcast_to(_stratified_folds(labels, folds), entropies.shape).reshape(-1),
        np.broadcast_to(np.arange(len(labels)), entropies.shape).reshape(-1),
        len(labels),
    )
    _refuse_inverted(data)
    fitted = _choose_curve(
        data, estimator, target_error, _provenance(recording, labels, steps, questions=labels.size)
    )
    if at_most is None:
        return fitted
    passed = passed_at(everything, loaded, THRESHOLDS, samples=steps[-1], seed=seed)
    passed = graded_alike(passed, np.array([each.wrong is not None for each in everything]))
    guarantee = _guarantee(PassedAnswers(passed, labels), at_most, confidence, steps[-1], recording)
    return _promised(fitted, guarantee)


def _promised(fitted: FittedCalibration, guarantee: Guarantee) -> FittedCalibration:
    """The calibration with a guarantee, whose threshold decides."""
    threshold = float(fitted.calibration.curve([guarantee.threshold])[0])
    calibration = replace(
        fitted.calibration, guarantee=guarantee, threshold=threshold, target_error=guarantee.at_most
    )
    kept, error = guarantee.passed / guarantee.graded, guarantee.wrong / guarantee.passed
    return replace(fitted, calibration=calibration, kept=kept, error=error)


def _refuse_inverted(data: _LabelledScores) -> None:
    """Refuse entropies that are lower for wrong answers: the curve would call what all samples share made up."""
    ranking = float(auroc(data.scores, data.wrong))
    if ranking < 0.5:
        raise InputError(
            f"wrong answers are steadier than right ones here (AUROC {ranking:.2f}): a calibration would flag the "
            "answers that the model is surest of. Look at the grades; if they are right, this entropy says nothing "
            "about these questions"
        )


# Guarantees: which answers pass, replayed as a check would draw their samples.


THRESHOLDS = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 1.0, 1.2, 1.5, 2.0, 2.5, 3.0)
"""In nats, the same for all data: a threshold that follows the data could be tuned to it."""


@dataclass(frozen=True, slots=True)
class _FlagsAbove:
    """Flags above an entropy, as a calibration with a guarantee does."""

    flags_above: float
    estimator: str = ""

    def __call__(self, belief: Belief) -> float:
        return float(belief.mean > self.flags_above)

    def flags(self, belief: Belief) -> bool:
        return belief.mean > self.flags_above


def passed_at(
    questions: Sequence[StudyQuestion],
    estimator: Estimator,
    thresholds: Sequence[float],
    *,
    samples: int = 10,
    seed: int = 0,
) -> Bools:
    """Whether each question's answer passes at each threshold, one row per threshold: a check with its default rule."""
    plan = ResamplingPlan(budget=samples, repeats=1, seed=seed)
    columns = []
    for question in questions:
        path = question.arrays.path(sample_order(question, plan, 0))
        replay = _Replay(list(path), estimator, min(samples, len(question.arrays)))
        columns.append([replay.passes(threshold) for threshold in thresholds])
    return np.array(columns, dtype=bool).reshape(len(questions), len(thresholds)).T


def graded_alike(passed: Bools, graded: Bools) -> Bools:
    """Which of the graded answers pass, at those thresholds where answers of all entropies are graded as often.

    Somebody may have graded only answers that pass (`semtropy label` begins with them). Nothing can be said of a
    threshold that lets others pass, which are not graded.

    >>> passed = np.array([[True] * 10 + [False] * 10, [True] * 20])
    >>> graded_alike(passed, np.arange(20) < 10).shape
    (1, 10)
    """
    rows, before = 0, np.zeros(graded.size, dtype=bool)
    for row in passed:
        added = row & ~before
        usual = graded[before].mean() if before.any() else 0.0
        if added.sum() >= FEWEST_ADDED and graded[added].mean() < ALIKE * usual:
            break
        rows, before = rows + 1, row | before
    return passed[:rows, graded]


FEWEST_ADDED, ALIKE = 8, 0.6


@dataclass(frozen=True, eq=False, slots=True)
class _GradedClaims:
    """The claims of a long recording: what samples say of each, and which are wrong; answers are what is drawn."""

    recording: Recording
    answers: Sequence[LongAnswer]
    terms: ClaimTerms
    samples: int

    @classmethod
    def of(
        cls, recording: Recording, judge: str | Judge | None, prior: ClaimPrior | None, samples: int
    ) -> _GradedClaims:
        """What a recording holds; a judge relates claims and samples where it has no votes."""
        rows = sorted_by_id(recording)
        loaded = None if has_votes(rows) else load_judge(judge) if isinstance(judge, str | None) else judge
        answers = [LongAnswer.of(row, loaded) for row in rows]
        return cls(recording, answers, ClaimTerms(samples=None, prior=prior), samples)

    def fit(
        self, target_error: float, at_most: float | None, confidence: float, folds: int
    ) -> FittedCalibration:
        """A curve from one minus the agreement of a claim to the probability that it is wrong, and the guarantee."""
        labelled = np.concatenate([answer.labelled for answer in self.answers])
        wrong = np.concatenate([answer.wrong for answer in self.answers])[labelled]
        answer = np.repeat(np.arange(len(self.answers)), [len(each.wrong) for each in self.answers])[labelled]
        if min(np.unique(answer[wrong]).size, np.unique(answer[~wrong]).size) < folds:
            raise InputError(
                f"{labelled.sum()} graded claims, {int(wrong.sum())} of them wrong: a calibration needs wrong and "
                f"right ones in at least {folds} answers each"
            )
        usual, *kept = self._replayed((None, *(DOUBTS if at_most is not None else ())))
        scores = np.array([1 - step.agreement.mean for step in usual])
        places = np.unique(answer, return_inverse=True)[1]
        data = _LabelledScores(
            round_scores(scores[labelled]), wrong, places % folds, places, int(places.max()) + 1
        )
        _refuse_inverted(data)
        about = _provenance(
            self.recording, wrong, [self.samples], questions=data.questions, claims=wrong.size
        )
        fitted = _choose_curve(data, CLAIMS, target_error, about)
        if at_most is None:
            return fitted
        steady = np.array([[step.outcome is Outcome.STEADY for step in row] for row in kept])
        found = PassedAnswers(graded_alike(steady, labelled), wrong, answer)
        return _promised(fitted, _guarantee(found, at_most, confidence, self.samples, self.recording))

    def _replayed(self, doubts: Sequence[float | None]) -> list[list[ClaimStep]]:
        """The claims of all answers, as checks judge them that keep those with no more doubt than each of these."""
        usual = Terms(
            load_estimator("bayes"), Decided(THRESHOLD, relaxation=RELAXATION), Budget(samples=self.samples)
        )
        every = [
            usual if doubt is None else replace(usual, calibration=_FlagsAbove(doubt, CLAIMS))
            for doubt in doubts
        ]
        found = [replay(answer.relations, every, self.terms) for answer in self.answers]
        return [[claim for answer in found for claim in answer[row]] for row in range(len(doubts))]


DOUBTS = (0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1, 0.12, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5)
"""Thresholds of one minus the agreement of a claim, the same for all data."""


@dataclass(slots=True)
class _Replay:
    """The stored samples of a question in one order, with the belief after each number of them."""

    path: Sequence[Evidence]  # after 0, 1, 2, ... samples
    estimator: Estimator
    samples: int
    beliefs: dict[int, Belief] = field(default_factory=dict)

    def passes(self, threshold: float) -> bool:
        """Whether a check that flags above `threshold` would pass the answer."""
        flags = _FlagsAbove(threshold)
        rule = (
            Decided(threshold, relaxation=RELAXATION).about(flags)
            if self.estimator.has_variance
            else FixedSamples(max(1, self.samples))
        )
        answer = self.path[0].answer
        alone = self.estimator.uses_answer and answer is not None and answer.logprob is not None
        n = 0 if alone else 1
        while n < self.samples and rule(self.belief(n), Spent(samples=n)) is None:
            n = min(self.samples, n + Rounds().size(Spent(samples=n)))
        return not calibrated_flag(flags, self.belief(n))

    def belief(self, n: int) -> Belief:
        if n not in self.beliefs:
            self.beliefs[n] = self.estimator(self.path[n])
        return self.beliefs[n]


def _guarantee(
    answers: PassedAnswers, at_most: float, confidence: float, samples: int, recording: Recording
) -> Guarantee:
    row = answers.largest(at_most, confidence)
    graded = None if answers.answers is None else np.unique(answers.answers).size
    if row is not None:
        passed = answers.passed[row]
        header = recording.header
        about = " on ".join(each for each in (header.model, header.dataset) if each)
        counts = answers.wrong.size, int(passed.sum()), int(answers.wrong[passed].sum())
        thresholds = THRESHOLDS if graded is None else DOUBTS
        return Guarantee(at_most, confidence, thresholds[row], *counts, samples, about, graded)
    more = answers.more_needed(at_most, confidence)
    which = "answers that pass" if graded is None else "claims that are kept"
    if more is None:
        shares = map(answers.error, range(len(answers.passed)))
        raise InputError(
            f"at most {at_most:.3g} wrong is not reachable: at every threshold more of the {which} are wrong "
            f"({min(shares, default=1.0):.0%} at best), and more grades do not change that"
        )
    raise InputError(
        f"{graded or answers.wrong.size} graded answers are too few to guarantee that at most {at_most:.3g} of the "
        f"{which} are wrong, with a confidence of {confidence:g}: it needs about {max(1, more)} more"
    )


def _choose_curve(
    data: _LabelledScores, estimator: str, target_error: float, about: dict[str, Any]
) -> FittedCalibration:
    """Fit the kind of curve with the lowest held-out log loss, and the threshold for the target error."""
    held_out = {kind: data.held_out(fit) for kind, fit in FITS.items()}
    losses = {kind: log_loss(probabilities, data.wrong) for kind, probabilities in held_out.items()}
    kind = min(losses, key=losses.__getitem__)
    probabilities = held_out[kind]
    threshold = threshold_for(probabilities, data.wrong, target_error)
    calibration = Calibration(
        FITS[kind](data.scores, data.wrong, data.questions),
        estimator=estimator,
        threshold=threshold,
        target_error=target_error,
        about=MappingProxyType(about),
    )
    passing = None if threshold is None else probabilities <= threshold
    return FittedCalibration(
        calibration=calibration,
        losses=losses,
        ece=float(calibration_error(probabilities, data.wrong)),
        bins=_reliability_bins(probabilities, data),
        kept=None if passing is None else float(passing.mean()),
        error=None if passing is None else float(data.wrong[passing].mean()),
    )


def threshold_for(probabilities: Floats, wrong: Bools, target: float) -> float | None:
    """The largest threshold at which at most `target` of the answers up to it are wrong; None if there is none.

    >>> threshold_for(np.array([0.1, 0.2, 0.3, 0.4]), np.array([False, False, True, True]), 0.34)
    0.3
    """
    order = np.argsort(probabilities, kind="stable")
    ranked = probabilities[order]
    errors = np.cumsum(wrong[order]) / np.arange(1, len(ranked) + 1)
    last_of_tie = np.append(np.diff(ranked) > 0, True)
    good = np.flatnonzero(last_of_tie & (errors <= target))
    return float(ranked[good[-1]]) if len(good) else None


def _logistic(scores: Floats, wrong: Bools, questions: int) -> Logistic:
    slope, intercept = logistic(scores, wrong)
    return Logistic(float(slope), float(intercept))


def _isotonic(scores: Floats, wrong: Bools, questions: int) -> Isotonic:
    """Keeps only the ends of flat pieces, and clips probabilities to 1 / (questions + 2) away from 0 and 1."""
    knots, values = isotonic(scores, wrong)
    ends = np.ones(len(knots), dtype=bool)
    ends[1:-1] = (values[1:-1] != values[:-2]) | (values[1:-1] != values[2:])
    least = 1 / (questions + 2)
    return Isotonic(tuple(knots[ends].tolist()), tuple(np.clip(values[ends], least, 1 - least).tolist()))


FITS: dict[str, Fit] = {"logistic": _logistic, "isotonic": _isotonic}


def _stratified_folds(labels: Bools, folds: int) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """The fold of each question, with the same share of wrong answers in all."""
    fold = np.empty(len(labels), dtype=np.intp)
    for label in (True, False):
        places = np.flatnonzero(labels == label)
        fold[places] = np.arange(len(places)) % folds
    return fold


def _reliability_bins(
    probabilities: Floats, data: _LabelledScores, bins: int = 10
) -> tuple[ReliabilityBin, ...]:
    """Bins of equal width; the scores of one question are no independent answers, so their bars count questions."""
    cell = np.minimum((probabilities * bins).astype(int), bins - 1)
    found = []
    for each in np.unique(cell):
        inside = cell == each
        frequency = float(data.wrong[inside].mean())
        bounds = wilson(frequency, np.unique(data.question[inside]).size)
        found.append(
            ReliabilityBin(int(inside.sum()), float(probabilities[inside].mean()), frequency, *bounds)
        )
    return tuple(found)


def wilson(share: float, n: int, z: float = 1.96) -> tuple[float, float]:
    """Wilson's 95% interval of a probability of which a share was observed in n trials.

    >>> [round(end, 3) for end in wilson(0.0, 10)]
    [0.0, 0.278]
    """
    centre, spread = share + z * z / (2 * n), z * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    low, high = (centre - spread) / (1 + z * z / n), (centre + spread) / (1 + z * z / n)
    return min(share, max(0.0, float(low))), max(share, min(1.0, float(high)))


def _provenance(recording: Recording, wrong: Bools, budgets: Sequence[int], **graded: int) -> dict[str, Any]:
    named = {"model": recording.header.model, "dataset": recording.header.dataset}
    return {**named, **graded, "wrong": int(wrong.sum()), "budgets": list(budgets)}


# The reliability figure of a calibration: observed frequency against predicted probability, held out.


def draw_reliability(fitted: FittedCalibration) -> Figure:
    """Draw the reliability diagram; points on the diagonal are calibrated, their area is the share of answers.

    The bars are 95% intervals over questions.
    """
    figure, axes = blank_figure(4.0, 4.1)
    share = np.array([each.answers for each in fitted.bins]) / sum(each.answers for each in fitted.bins)
    predicted = [each.probability for each in fitted.bins]
    observed = [each.frequency for each in fitted.bins]
    axes.plot([0, 1], [0, 1], color="#7F7F7F", linewidth=1.0, dashes=(4, 2), label="perfect")
    bars = [[each.frequency - each.low, each.high - each.frequency] for each in fitted.bins]
    axes.errorbar(
        predicted, observed, np.array(bars).T, color="#0072B2", linewidth=1.2, elinewidth=1.0, capsize=2.0
    )
    axes.scatter(predicted, observed, s=15 + 300 * share, color="#0072B2", zorder=3, label="held-out answers")
    if fitted.calibration.threshold is not None:
        axes.axvline(
            fitted.calibration.threshold, color="#D55E00", linewidth=1.2, label="flagged to the right"
        )
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    axes.set_aspect("equal")
    axes.set_xlabel("probability of a hallucination")
    axes.set_ylabel("share that were hallucinations")
    axes.set_title(f"{fitted.calibration.estimator}: calibration error {fitted.ece:.3f}", fontsize=10)
    axes.legend(loc="lower right", fontsize=8, frameon=False)
    about = fitted.calibration.about
    n, claims = about["questions"], about.get("claims")
    graded = f"{n} questions, {about['wrong'] / n:.0%} answered wrongly"
    if claims is not None:
        graded = f"{claims} claims of {n} answers, {about['wrong'] / claims:.0%} wrong"
    figure.supxlabel(
        f"n = {graded}. Bars: 95% over questions.",
        fontsize=7,
        x=0.01,
        ha="left",
    )
    return figure
