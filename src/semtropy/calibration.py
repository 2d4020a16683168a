"""From a belief to the probability of a hallucination: a curve fitted on graded questions, as a file.

`semtropy calibrate` fits one; `score` and `check` read it. A curve holds for the model, the kind of questions and
the estimator it was fitted on, which is why the file names them.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import InputError, one_line
from .input_files import read_json
from .output_files import replacing

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    from .nouns import Belief

__all__ = ["Calibration", "Isotonic", "Logistic"]

VERSION = 1


@dataclass(frozen=True, slots=True)
class Logistic:
    """sigmoid(slope * entropy + intercept).

    >>> Logistic(slope=2.0, intercept=-1.0)([0.5]).tolist()
    [0.5]
    """

    slope: float
    intercept: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.slope) and math.isfinite(self.intercept)):
            raise InputError("slope and intercept must be finite numbers")

    def __call__(self, entropies: ArrayLike) -> NDArray[np.float64]:
        x = self.slope * np.asarray(entropies, dtype=float) + self.intercept
        return np.asarray(0.5 * (1.0 + np.tanh(0.5 * x)))

    def entropy_at(self, probability: float) -> float | None:
        """The largest entropy whose probability is at most this, None where there is no such limit."""
        if self.slope <= 0 or not 0 < probability < 1:
            return None
        return (math.log(probability / (1 - probability)) - self.intercept) / self.slope


@dataclass(frozen=True, slots=True)
class Isotonic:
    """A non-decreasing curve through knots, straight between them and flat outside.

    >>> Isotonic(knots=(0.0, 1.0), values=(0.25, 0.75))([-1, 0.5, 2]).tolist()
    [0.25, 0.5, 0.75]
    """

    knots: tuple[float, ...]
    values: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.knots or len(self.knots) != len(self.values):
            raise InputError(
                f"{len(self.knots)} knots with {len(self.values)} values: one each, at least one"
            )
        if not (all(map(math.isfinite, self.knots)) and all(0 <= value <= 1 for value in self.values)):
            raise InputError("knots must be finite numbers, and values probabilities from 0 to 1")
        if any(b <= a for a, b in zip(self.knots, self.knots[1:], strict=False)):
            raise InputError("knots do not grow: they are entropies in increasing order")
        if any(b < a for a, b in zip(self.values, self.values[1:], strict=False)):
            raise InputError("values fall: a higher entropy is never less suspicious")

    def __call__(self, entropies: ArrayLike) -> NDArray[np.float64]:
        return np.asarray(np.interp(np.asarray(entropies, dtype=float), self.knots, self.values))

    def entropy_at(self, probability: float) -> float | None:
        """The largest entropy whose probability is at most this, None where there is no such limit."""
        above = [at for at, value in enumerate(self.values) if value > probability]
        if not above or above[0] == 0:
            return None
        last = above[0] - 1
        low, high = self.values[last], self.values[last + 1]
        share = (probability - low) / (high - low)
        return self.knots[last] + share * (self.knots[last + 1] - self.knots[last])


@dataclass(frozen=True, slots=True)
class Calibration:
    """A curve from entropy to the probability of a hallucination, and the probability above which an answer is flagged.

    curve         the fitted curve
    estimator     the name of the estimator whose beliefs it was fitted on
    threshold     the probability above which an answer is flagged; None if no threshold reaches the target error
    target_error  the largest share of wrong answers among those that are not flagged
    about         what the curve was fitted on

    >>> from semtropy import Belief
    >>> from semtropy.study import example_recording
    >>> from semtropy.study.calibrate import fit_calibration
    >>> calibration = fit_calibration(example_recording(), estimator="histogram").calibration
    >>> calibration(Belief(0.2)) < calibration(Belief(2.0))
    True
    """

    curve: Logistic | Isotonic
    estimator: str
    threshold: float | None = None
    target_error: float | None = None
    about: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))

    def __post_init__(self) -> None:
        for name in ("threshold", "target_error"):
            value = getattr(self, name)
            if value is not None and not 0 <= value <= 1:
                raise InputError(f"{name} is {value}: it must be a probability from 0 to 1")

    def __call__(self, belief: Belief) -> float:
        return float(self.curve([belief.mean])[0])

    def flags(self, belief: Belief) -> bool | None:
        """Whether the answer is to be flagged, None where there is no threshold to say so."""
        return None if self.threshold is None else self(belief) > self.threshold

    @property
    def entropy_threshold(self) -> float | None:
        """The entropy in nats at the threshold: what the stopping rule `Decided` should decide about."""
        return None if self.threshold is None else self.curve.entropy_at(self.threshold)

    def to_dict(self) -> dict[str, Any]:
        """The file's content."""
        if isinstance(self.curve, Logistic):
            curve: dict[str, Any] = {"slope": self.curve.slope, "intercept": self.curve.intercept}
        else:
            curve = {"knots": list(self.curve.knots), "values": list(self.curve.values)}
        return {
            "semtropy_calibration": VERSION,
            "estimator": self.estimator,
            "kind": type(self.curve).__name__.lower(),
            **curve,
            "threshold": self.threshold,
            "target_error": self.target_error,
            "entropy_threshold": self.entropy_threshold,
            "about": dict(self.about),
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the calibration to a JSON file."""
        with replacing(path) as partial:
            partial.write_text(json.dumps(self.to_dict(), indent=2) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Calibration:
        """Read what `save` wrote; an error names the file and the field."""
        held = read_json(path)
        if not isinstance(held, dict) or held.get("semtropy_calibration") != VERSION:
            raise InputError(
                f"{path}, semtropy_calibration: expected {VERSION}: `semtropy calibrate` makes such a file"
            )
        try:
            return cls(
                curve=_curve(held),
                estimator=str(held["estimator"]),
                threshold=_number(held, "threshold"),
                target_error=_number(held, "target_error"),
                about=MappingProxyType(dict(held.get("about") or {})),
            )
        except KeyError as error:
            raise InputError(f"{path}, {error.args[0]}: is missing") from None
        except (InputError, TypeError, ValueError, OverflowError) as error:
            raise InputError(f"{path}: {one_line(str(error), 300)}") from None


def _curve(held: Mapping[str, Any]) -> Logistic | Isotonic:
    if held["kind"] == "logistic":
        return Logistic(float(held["slope"]), float(held["intercept"]))
    if held["kind"] == "isotonic":
        return Isotonic(tuple(map(float, held["knots"])), tuple(map(float, held["values"])))
    raise InputError(f"kind is {held['kind']!r}: logistic or isotonic")


def _number(held: Mapping[str, Any], name: str) -> float | None:
    value = held.get(name)
    return None if value is None else float(value)
