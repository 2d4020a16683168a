"""The results of an evaluation as values, and as the JSON that other programs read."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ...nouns import Floats


# Six decimals are more than an AUROC is known to, and keep files small.
DECIMALS = 6


@dataclass(frozen=True, slots=True)
class EvaluatedRecording:
    """The test questions of one recording: how many, and how many wrong. `train` is None under cross-validation."""

    model: str
    dataset: str
    questions: int
    wrong: int
    train: int | None
    entropy_threshold: float


@dataclass(frozen=True, slots=True)
class Cell:
    """One method at one fixed budget: means over the repeats, and a 95% interval of the AUROC.

    The interval is a bootstrap over questions and repeats together; without a bootstrap, 1.96 standard errors over the
    repeats alone.

    half_width  half of the interval
    low, high   its ends
    tied        whether no method is better at this budget beyond chance: the 95% interval of the paired difference
                from the best one holds 0
    """

    model: str
    dataset: str
    estimator: str
    budget: int
    auroc: float
    half_width: float
    aurac: float
    ece: float
    low: float
    high: float
    tied: bool = False


@dataclass(frozen=True, slots=True)
class AdaptiveCurve:
    """AUROC against mean budget, as the threshold of a stopping rule is swept; `half_width` as that of a `Cell`."""

    model: str
    dataset: str
    estimator: str
    rule: str
    mean_budget: Floats
    auroc: Floats
    half_width: Floats

    def points(self, step: int = 1) -> list[dict[str, Any]]:
        """The points of the grid as records, every `step`-th."""
        names = {"model": self.model, "dataset": self.dataset, "estimator": self.estimator}
        columns = (self.mean_budget.tolist(), self.auroc.tolist(), self.half_width.tolist())
        return [
            {**names, "mean_budget": budget, "auroc": area, "half_width": width}
            for budget, area, width in list(zip(*columns, strict=True))[::step]
        ]


@dataclass(frozen=True, slots=True)
class Saving:
    """The mean adaptive budget that reaches the AUROC of `histogram` at 10 samples, over 10; None if none does."""

    model: str
    dataset: str
    estimator: str
    rule: str
    fraction: float | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """AUROC of `estimator` minus that of `against` on the same subsamples, with a 95% paired bootstrap interval."""

    model: str
    dataset: str
    estimator: str
    against: str
    budget: int
    difference: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class AlphaTrial:
    """An estimator with another alpha at one fixed budget."""

    model: str
    dataset: str
    estimator: str
    alpha: float
    budget: int
    auroc: float
    half_width: float


@dataclass(frozen=True, slots=True)
class Provenance:
    """What is needed to make the results again.

    command     the command, with the file names of the recordings and without what cannot change a result
    seed        of all that is random
    draws       how many times samples were drawn: the repeats
    resamples   of the bootstrap over questions and repeats, 0 for none
    versions    of semtropy, Python and the libraries
    recordings  the file name of each recording and its SHA-256, None for one in memory
    """

    command: str
    seed: int
    draws: int
    resamples: int
    versions: Mapping[str, str] = field(default_factory=dict)
    recordings: tuple[tuple[str, str | None], ...] = ()


@dataclass(frozen=True, slots=True)
class Results:
    """Everything an evaluation found.

    tested       one entry per recording
    cells        each estimator at each fixed budget
    curves       AUROC against the mean adaptive budget, per estimator with a variance and stopping rule
    savings      the share of samples each curve needs to match `histogram` at 10 samples
    comparisons  paired differences in AUROC
    trials       `bayes-paper` with other values of alpha
    notes        methods dropped and recordings left out, one sentence each
    provenance   the command, the seed, versions and hashes; None for results that were put together otherwise

    >>> from semtropy.study import example_recording
    >>> from semtropy.study.evaluate import evaluate
    >>> results = evaluate([example_recording()], estimators=["histogram"], folds=5, seeds=2, bootstrap=0)
    >>> results.pairs, results.budgets[-1]
    ((('smollm2', 'facts'),), 10)
    """

    tested: tuple[EvaluatedRecording, ...] = ()
    cells: tuple[Cell, ...] = ()
    curves: tuple[AdaptiveCurve, ...] = ()
    savings: tuple[Saving, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    trials: tuple[AlphaTrial, ...] = ()
    notes: tuple[str, ...] = ()
    provenance: Provenance | None = None

    @classmethod
    def join(cls, parts: Iterable[Results]) -> Results:
        """The results of several recordings, in order."""
        parts = list(parts)
        names = [name for name in cls.__dataclass_fields__ if name != "provenance"]
        joined: dict[str, Any] = {
            name: tuple(item for part in parts for item in getattr(part, name)) for name in names
        }
        return cls(**joined)

    @property
    def estimators(self) -> tuple[str, ...]:
        """The estimators that have at least one cell, in order of appearance."""
        return tuple(dict.fromkeys(cell.estimator for cell in self.cells))

    @property
    def budgets(self) -> tuple[int, ...]:
        """The fixed budgets, ascending."""
        return tuple(sorted({cell.budget for cell in self.cells}))

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """The (model, dataset) of each recording."""
        return tuple((each.model, each.dataset) for each in self.tested)

    def to_dict(self) -> dict[str, Any]:
        """The results as lists of records, numbers rounded to six decimals.

        rows         model, dataset, estimator, budget, auroc, half_width, aurac, ece, low, high, tied
        adaptive     model, dataset, estimator, mean_budget, auroc, half_width: the curve of the variance rule
        saving       model, dataset, estimator, fraction (null where never reached): of the variance rule
        comparisons  model, dataset, estimator, against, budget, difference, low, high
        sensitivity  model, dataset, estimator, alpha, budget, auroc, half_width
        rules        {"adaptive": ..., "saving": ...} of the other rules, each with its "rule"; every tenth point
        tested       model, dataset, questions, wrong, train (null under cross-validation), entropy_threshold
        notes        sentences
        provenance   {"command", "seed", "draws", "resamples", "versions", "recordings": [[name, SHA-256], ...]}
        """
        by_variance = [curve for curve in self.curves if curve.rule == "variance"]
        others = [curve for curve in self.curves if curve.rule != "variance"]
        rules = [{**point, "rule": curve.rule} for curve in others for point in curve.points(step=10)]
        savings = [asdict(each) for each in self.savings]
        records = {
            "rows": [asdict(cell) for cell in self.cells],
            "adaptive": [point for curve in by_variance for point in curve.points()],
            "saving": [
                {name: value for name, value in each.items() if name != "rule"}
                for each in savings
                if each["rule"] == "variance"
            ],
            "comparisons": [asdict(each) for each in self.comparisons],
            "sensitivity": [asdict(each) for each in self.trials],
            "rules": {"adaptive": rules, "saving": [each for each in savings if each["rule"] != "variance"]},
            "tested": [asdict(each) for each in self.tested],
            "notes": list(self.notes),
            "provenance": None if self.provenance is None else asdict(self.provenance),
        }
        rounded: dict[str, Any] = _rounded(records)
        return rounded

    def to_json(self) -> str:
        """`to_dict` as JSON text, one record per line. The same evaluation gives the same bytes."""
        blocks = []
        for key, value in self.to_dict().items():
            if isinstance(value, list) and value:
                lines = ",\n".join(json.dumps(item) for item in value)
                blocks.append(f"{json.dumps(key)}: [\n{lines}\n]")
            else:
                blocks.append(f"{json.dumps(key)}: {json.dumps(value)}")
        return "{\n" + ",\n".join(blocks) + "\n}\n"


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, DECIMALS)
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return value
