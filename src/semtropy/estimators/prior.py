"""The prior of `bayes`: a mixture of components with weights, fitted on training questions or shipped.

A component is a prior over meaning probabilities, finite Dirichlet or Pitman-Yor, with a prior over the sequences
of each meaning (`semtropy.entropy.DirichletComponent` and `PitmanYorComponent`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..entropy import DirichletComponent, Observations
from ..errors import InputError
from .prior_fit import fit_components
from .prior_json import component_to_json, components_from_json
from .training import training_evidence

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..entropy.components import Component

    Floats = NDArray[np.float64]

__all__ = ["Prior"]

BEYOND = 0.01  # weight of sizes beyond the largest, where a question has more meanings than half of that


@dataclass(frozen=True)
class Prior:
    """A mixture prior over questions, fitted on training questions or shipped with the package.

    components  Dirichlet and Pitman-Yor components, each with several sizes or concentrations
    weights     one tuple per component, with one weight per size or concentration; all of them sum to 1
    trained_on  number of training questions, 0 for the shipped prior

    >>> prior = Prior.default()
    >>> round(sum(sum(own) for own in prior.weights), 9)
    1.0
    """

    components: tuple[Component, ...]
    weights: tuple[tuple[float, ...], ...]
    trained_on: int = 0

    @classmethod
    def default(cls) -> Prior:
        """The prior shipped with semtropy, for when there are no training questions."""
        return _default()

    @classmethod
    def fit(cls, rows: Iterable[Any]) -> Prior:
        """Fit the weights on training questions: a Recording, or rows of its schema with samples and meanings.

        The evidence of each question's first 8 and first 16 samples is used. No rows give the default.
        """
        seen, shares, trained_on = [], [], 0
        for row in rows:
            evidence = training_evidence(row)
            seen += [Observations.of(own) for own in evidence]
            shares += [1 / len(evidence)] * len(evidence)
            trained_on += 1
        if not seen:
            return cls.default()
        default = cls.default()
        return cls(*fit_components(seen, shares, (default.components, default.weights)), trained_on)

    def extended(self, meanings: int) -> tuple[tuple[Component, ...], Floats]:
        """The components and their log-weights, concatenated.

        If a question shows more `meanings` than half the largest size, larger sizes are added.
        """
        return _extended(self, meanings)

    def save(self, path: str | Path) -> None:
        """Write a small JSON file."""
        Path(path).write_text(json.dumps(self.as_dict(), indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Prior:
        """Read a file that `save` wrote, of this version or the one before."""
        try:
            return cls.from_dict(json.loads(Path(path).read_text(encoding="utf-8")))
        except OSError as error:
            raise InputError(f"{path}: cannot be read ({error.strerror})") from None
        except (AttributeError, ValueError, KeyError, TypeError, InputError) as error:
            raise InputError(f"{path}: not a prior that semtropy saved ({error})") from None

    def as_dict(self) -> dict[str, Any]:
        """The prior as JSON has it, version 2."""
        pairs = zip(self.components, self.weights, strict=True)
        return {
            "semtropy_prior": 2,
            "trained_on": self.trained_on,
            "components": [component_to_json(component, own) for component, own in pairs],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Prior:
        """The prior from JSON, version 1 or 2."""
        return cls(*components_from_json(data), int(data["trained_on"]))


@lru_cache(maxsize=1)
def _default() -> Prior:
    return Prior.from_dict(
        json.loads(files(__package__).joinpath("default_prior.json").read_text(encoding="utf-8"))
    )


@lru_cache(maxsize=1024)
def _extended(prior: Prior, meanings: int) -> tuple[tuple[Component, ...], Floats]:
    components, weights = list(prior.components), [list(own) for own in prior.weights]
    largest = max((own.sizes[-1] for own in components if isinstance(own, DirichletComponent)), default=0)
    if 2 * meanings > largest > 0:
        for i, component in enumerate(components):
            if not isinstance(component, DirichletComponent):
                continue
            sizes, share = list(component.sizes), BEYOND * sum(weights[i])
            size = largest
            while size < 8 * meanings:
                size, share = 2 * size, share / 2
                sizes.append(size)
                weights[i].append(share)
            components[i] = DirichletComponent(component.alpha, component.sequences, tuple(sizes))
    flat = np.array([weight for own in weights for weight in own])
    with np.errstate(divide="ignore"):
        log_weights: Floats = np.log(flat / flat.sum())
    return tuple(components), log_weights
