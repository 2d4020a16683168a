"""What a study found, as values; `to_json` is the contract other programs read."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .metrics import Floats

__all__ = ["AdaptiveCurve", "AlphaTrial", "Cell", "Comparison", "EvaluatedRecording", "Results", "Saving"]

# Six decimals tell everything there is to tell of an AUROC and keep files small.
DECIMALS = 6


@dataclass(frozen=True, slots=True)
class EvaluatedRecording:
    """What was tested of one recording. `train` is None where folds trained each other."""

    model: str
    dataset: str
    questions: int
    wrong: int
    train: int | None
    entropy_threshold: float


@dataclass(frozen=True, slots=True)
class Cell:
    """One estimator at one fixed budget: means over the draws, and 1.96 standard errors of `auroc`."""

    model: str
    dataset: str
    estimator: str
    budget: int
    auroc: float
    half_width: float
    aurac: float
    ece: float


@dataclass(frozen=True, slots=True)
class AdaptiveCurve:
    """AUROC against mean budget as a stopping rule is swept."""

    model: str
    dataset: str
    estimator: str
    rule: str
    mean_budget: Floats
    auroc: Floats
    half_width: Floats

    def points(self, step: int = 1) -> list[dict[str, Any]]:
        """A record a point of the grid."""
        names = {"model": self.model, "dataset": self.dataset, "estimator": self.estimator}
        columns = (self.mean_budget.tolist(), self.auroc.tolist(), self.half_width.tolist())
        return [
            {**names, "mean_budget": budget, "auroc": area, "half_width": width}
            for budget, area, width in list(zip(*columns, strict=True))[::step]
        ]


@dataclass(frozen=True, slots=True)
class Saving:
    """The mean adaptive budget that reaches `histogram` at 10 samples, over 10; None: never reached."""

    model: str
    dataset: str
    estimator: str
    rule: str
    fraction: float | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """AUROC of `estimator` minus that of `against` on the same draws, with a paired bootstrap interval."""

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
    """An estimator under another alpha."""

    model: str
    dataset: str
    estimator: str
    alpha: float
    budget: int
    auroc: float
    half_width: float


@dataclass(frozen=True, slots=True)
class Results:
    """Everything a study found; `notes` tell of methods dropped and recordings left out."""

    tested: tuple[EvaluatedRecording, ...]
    cells: tuple[Cell, ...]
    curves: tuple[AdaptiveCurve, ...]
    savings: tuple[Saving, ...]
    comparisons: tuple[Comparison, ...]
    trials: tuple[AlphaTrial, ...]
    notes: tuple[str, ...]

    @classmethod
    def join(cls, parts: Iterable[Results]) -> Results:
        """The results of several recordings, in order."""
        parts = list(parts)
        names = cls.__dataclass_fields__
        return cls(*(tuple(item for part in parts for item in getattr(part, name)) for name in names))

    @property
    def estimators(self) -> tuple[str, ...]:
        """The estimators that have at least one cell, in order of appearance."""
        return tuple(dict.fromkeys(cell.estimator for cell in self.cells))

    @property
    def budgets(self) -> tuple[int, ...]:
        """The fixed budgets told."""
        return tuple(sorted({cell.budget for cell in self.cells}))

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Each model and dataset."""
        return tuple((each.model, each.dataset) for each in self.tested)

    def to_dict(self) -> dict[str, Any]:
        """The contract's three lists, for the variance rule; what goes beyond it under further keys.

        Curves of the other rules are told at every tenth point of the grid.
        """
        by_variance = [curve for curve in self.curves if curve.rule == "variance"]
        others = [curve for curve in self.curves if curve.rule != "variance"]
        rules = [{**point, "rule": curve.rule} for curve in others for point in curve.points(step=10)]
        savings = [asdict(each) for each in self.savings]
        told = {
            "rows": [asdict(cell) for cell in self.cells],
            "adaptive": [point for curve in by_variance for point in curve.points()],
            "saving": [_without_rule(each) for each in savings if each["rule"] == "variance"],
            "comparisons": [asdict(each) for each in self.comparisons],
            "sensitivity": [asdict(each) for each in self.trials],
            "rules": {"adaptive": rules, "saving": [each for each in savings if each["rule"] != "variance"]},
            "tested": [asdict(each) for each in self.tested],
            "notes": list(self.notes),
        }
        rounded: dict[str, Any] = _rounded(told)
        return rounded

    def to_json(self) -> str:
        """The same as text, one record a line: the same study gives the same bytes."""
        blocks = []
        for key, value in self.to_dict().items():
            if isinstance(value, list) and value:
                lines = ",\n".join(json.dumps(item) for item in value)
                blocks.append(f"{json.dumps(key)}: [\n{lines}\n]")
            else:
                blocks.append(f"{json.dumps(key)}: {json.dumps(value)}")
        return "{\n" + ",\n".join(blocks) + "\n}\n"


def _without_rule(record: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in record.items() if key != "rule"}


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, DECIMALS)
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return value
