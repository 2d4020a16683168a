"""The second step of an evaluation: fit, for each fold, the priors of its estimators and an entropy threshold."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ...estimators import PaperPrior, Prior, load_method
from ...estimators.counts import DEFAULT_SIZE
from ...estimators.histogram import plug_in
from .questions import ESTIMATORS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...estimators.training import TrainingQuestion
    from ...nouns import Estimator
    from .questions import StudyQuestion

__all__ = ["NEED_PRIOR", "EstimatorSpec", "FoldFit", "FoldTraining", "fit_fold", "youden_threshold"]

# What a `Prior` is fitted for.
NEED_PRIOR = frozenset({"bayes", "agreement"})


@dataclass(frozen=True, slots=True)
class EstimatorSpec:
    """An estimator to be loaded in the process that uses it: its name and options, such as a fitted prior."""

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def load(self) -> Estimator:
        """The estimator."""
        return load_method(self.name, **self.options)


@dataclass(frozen=True, slots=True)
class FoldTraining:
    """What a fold is fitted on: a few numbers of each training question.

    rows       their evidence, for a `Prior`; empty where no method needs one
    sizes      the number of meanings among all samples
    entropies  the plug-in entropy of all samples, in nats
    wrong      whether the judged answer is wrong; None where it has no grade
    methods    the names of the methods
    alphas     further values of alpha for `bayes-paper`
    size       the number of meanings K that `james-stein` and `nsb` assume: one for all folds, because folds with
               different K would shift the estimates of their questions against those of other folds
    """

    rows: tuple[TrainingQuestion, ...]
    sizes: tuple[int, ...]
    entropies: tuple[float, ...]
    wrong: tuple[bool | None, ...]
    methods: tuple[str, ...]
    alphas: tuple[float, ...] = ()
    size: int = DEFAULT_SIZE

    @classmethod
    def of(
        cls,
        questions: Sequence[StudyQuestion],
        rows: tuple[TrainingQuestion, ...],
        methods: tuple[str, ...],
        alphas: tuple[float, ...] = (),
        size: int = DEFAULT_SIZE,
    ) -> FoldTraining:
        """From the training questions, and their evidence."""
        counts = [np.bincount(each.draws.meanings) for each in questions]
        return cls(
            rows,
            tuple(len(own) for own in counts),
            tuple(plug_in(own.tolist()) for own in counts),
            tuple(each.wrong for each in questions),
            methods,
            alphas,
            size,
        )


@dataclass(frozen=True, slots=True)
class FoldFit:
    """How to load each estimator of a fold, and its entropy threshold."""

    specs: Mapping[str, EstimatorSpec]
    threshold: float


def fit_fold(fold: FoldTraining) -> FoldFit:
    """Fit what the methods need."""
    return FoldFit(_specs(fold), youden_threshold(fold))


def _specs(fold: FoldTraining) -> dict[str, EstimatorSpec]:
    """How to load each estimator; `bayes-paper` with another alpha is called bayes-paper@alpha."""
    methods = fold.methods
    specs: dict[str, EstimatorSpec] = {}
    fitted = [name for name in ("bayes", "agreement") if name in methods]
    if fitted:
        prior = Prior.fit(fold.rows)
        specs |= {name: EstimatorSpec(name, {"prior": prior}) for name in fitted}
    if "bayes-paper" in methods:
        sizes = PaperPrior.from_sizes(fold.sizes)
        specs["bayes-paper"] = EstimatorSpec("bayes-paper", {"prior": sizes})
        for alpha in fold.alphas:
            specs[f"bayes-paper@{alpha:g}"] = EstimatorSpec("bayes-paper", {"prior": sizes, "alpha": alpha})
    sized = [name for name in ("james-stein", "nsb") if name in methods]
    specs |= {name: EstimatorSpec(name, {"size": fold.size}) for name in sized}
    if "rescaled" in methods:
        # One draw in thousands may hold nothing but samples cut off by a length limit.
        specs["rescaled"] = EstimatorSpec("rescaled", {"clip_missing": True})
    for name in methods:
        if name in ESTIMATORS:
            specs.setdefault(name, EstimatorSpec(name))
    # The baseline of every saving, whether or not it was asked for.
    specs.setdefault("histogram", EstimatorSpec("histogram"))
    return specs


def youden_threshold(fold: FoldTraining) -> float:
    """The entropy with the largest Youden index (true minus false positive rate) on training questions, in nats.

    Entropies are plug-in estimates of all samples. Where grades are missing or all alike, the median. At least 1e-3.
    """
    entropies = np.array(fold.entropies)
    graded = np.array([each is not None for each in fold.wrong])
    wrong = np.array([bool(each) for each in fold.wrong])[graded]
    if wrong.all() or not wrong.any():
        return max(float(np.median(entropies)), 1e-3)
    values = np.unique(entropies[graded])
    cuts = np.append((values[1:] + values[:-1]) / 2, values[-1])
    above = entropies[graded] > cuts[:, None]
    gain = above[:, wrong].mean(axis=1) - above[:, ~wrong].mean(axis=1)
    return max(float(cuts[gain.argmax()]), 1e-3)
