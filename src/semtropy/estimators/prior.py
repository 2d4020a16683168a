"""The prior over questions: a mixture of components, with weights fitted by EM on training questions.

A component is a prior over meaning probabilities, finite Dirichlet or Pitman-Yor, and a prior over the sequences of
each meaning (`semtropy.entropy.DirichletComponent` and `PitmanYorComponent`). The components form a fixed grid; their
weights are fitted by expectation maximisation on the evidence of the training questions' first 8 and first 16 samples,
because the prior is used with few samples. Pseudo-questions keep every size possible, also those beyond the largest
number of meanings in training. Without training questions, the shipped default is used.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..entropy import DirichletComponent, Observations, PitmanYorComponent, SequencePrior, component_moments
from ..errors import InputError
from ..nouns import Evidence, Partition, Sample

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["Prior"]

ALPHAS = (0.02, 0.2, 1.0)
SEQUENCE_PRIORS = (
    *(SequencePrior(theta) for theta in (0.03, 0.1, 0.3, 1.0, 3.0, 30.0)),
    SequencePrior(0.03, main=2, evenness=1.0),
    SequencePrior(0.1, main=2, evenness=1.0),
    *(SequencePrior(theta, discount=0.5) for theta in (0.1, 1.0, 10.0)),
)
SIZES = (1, 2, 3, 4, 6, 10, 16, 28, 50, 100, 300, 1000)
DISCOUNT = 0.25  # of meanings without end; 0.1 is too light a tail, 0.5 too heavy
CONCENTRATIONS = (0.25, 0.5, 1.0, 1.75, 3.0, 5.25, 9.0, 16.0, 27.0, 47.0, 80.0, 140.0)
TIED = 2  # so many neighbouring concentrations have one weight: a belief spreads over both, not on one peak
TRAINING_DRAWS = (8, 16)
PSEUDO_QUESTIONS = 4.0
BEYOND = 0.01  # weight of sizes beyond the largest, should a question show more meanings than that


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

    components: tuple[DirichletComponent | PitmanYorComponent, ...]
    weights: tuple[tuple[float, ...], ...]
    trained_on: int = 0

    @classmethod
    def default(cls) -> Prior:
        """The prior shipped with semtropy, for when there are no training questions."""
        return _default()

    @classmethod
    def fit(cls, rows: Iterable[Any]) -> Prior:
        """Fit the weights on training questions: a Recording, or rows of its schema with samples and meanings."""
        evidences, shares, trained_on = [], [], 0
        for row in rows:
            own = _training_evidence(row)
            evidences += own
            shares += [1 / len(own)] * len(own)
            trained_on += 1
        if not evidences:
            return cls.default()
        grid = _grid()
        seen = [Observations.of(evidence) for evidence in evidences]
        chunks = [
            component_moments(seen[i : i + 256], grid, tolerance=1e-5) for i in range(0, len(seen), 256)
        ]
        log_evidence = np.concatenate([chunk.log_evidence for chunk in chunks])
        start = _start(grid)
        pseudo = PSEUDO_QUESTIONS * start
        weights = _expectation_maximisation(log_evidence, np.array(shares), pseudo, _cells(grid))
        return cls(*_kept(grid, weights), trained_on)

    def reaching(self, seen: int) -> tuple[tuple[DirichletComponent | PitmanYorComponent, ...], Floats]:
        """The kinds, and their log-weights laid end to end; with larger sizes where `seen` meanings call for them."""
        return _reaching(self, seen)

    def save(self, path: str | Path) -> None:
        """Write a small JSON file."""
        Path(path).write_text(json.dumps(self.as_dict(), indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Prior:
        """Read what `save` wrote."""
        try:
            return cls.from_dict(json.loads(Path(path).read_text(encoding="utf-8")))
        except OSError as error:
            raise InputError(f"{path}: cannot be read ({error.strerror})") from None
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"{path}: not a prior that semtropy saved ({error})") from None

    def as_dict(self) -> dict[str, Any]:
        return {
            "semtropy_prior": 1,
            "trained_on": self.trained_on,
            "kinds": [
                component_to_json(kind, own) for kind, own in zip(self.components, self.weights, strict=True)
            ],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Prior:
        if data.get("semtropy_prior") != 1:
            raise InputError('not a prior: the key "semtropy_prior" must be 1')
        kinds = [component_from_json(kind) for kind in data["kinds"]]
        weights = [np.array(kind["weights"], dtype=float) for kind in data["kinds"]]
        for kind, own in zip(kinds, weights, strict=True):
            if len(kind.points) != own.size or np.any(own < 0):
                raise InputError(
                    "each kind needs a weight of at least 0 for each of its sizes or concentrations"
                )
        total = sum(own.sum() for own in weights)
        if not kinds or not total > 0:
            raise InputError("no kind has any weight")
        return cls(
            tuple(kinds), tuple(tuple((own / total).tolist()) for own in weights), int(data["trained_on"])
        )


def component_to_json(
    kind: DirichletComponent | PitmanYorComponent, weights: Sequence[float]
) -> dict[str, Any]:
    """A kind as the JSON file has it."""
    meanings: dict[str, Any] = (
        {"endless": kind.discount, "concentrations": list(kind.concentrations)}
        if isinstance(kind, PitmanYorComponent)
        else {"alpha": kind.alpha, "sizes": list(kind.sizes)}
    )
    sequences = kind.sequences
    return {
        **meanings,
        "theta": sequences.theta,
        "main": sequences.main,
        "evenness": sequences.evenness,
        "discount": sequences.discount,
        "weights": [round(weight, 8) for weight in weights],
    }


def component_from_json(kind: Mapping[str, Any]) -> DirichletComponent | PitmanYorComponent:
    sequences = SequencePrior(
        float(kind["theta"]), int(kind["main"]), float(kind["evenness"]), float(kind["discount"])
    )
    if "endless" in kind:
        return PitmanYorComponent(
            float(kind["endless"]), sequences, tuple(float(c) for c in kind["concentrations"])
        )
    return DirichletComponent(float(kind["alpha"]), sequences, tuple(int(size) for size in kind["sizes"]))


@lru_cache(maxsize=1)
def _default() -> Prior:
    return Prior.from_dict(
        json.loads(files(__package__).joinpath("default_prior.json").read_text(encoding="utf-8"))
    )


def _grid() -> tuple[DirichletComponent | PitmanYorComponent, ...]:
    finite = [DirichletComponent(alpha, wordings, SIZES) for alpha in ALPHAS for wordings in SEQUENCE_PRIORS]
    return (
        *finite,
        *(PitmanYorComponent(DISCOUNT, wordings, CONCENTRATIONS) for wordings in SEQUENCE_PRIORS),
    )


def _start(grid: Sequence[DirichletComponent | PitmanYorComponent]) -> Floats:
    """Weights of the grid before any training: half the default's, half even, so that nothing is ruled out."""
    default = _default()
    known = {
        (kind.alpha, kind.sequences, point): weight
        for kind, own in zip(default.components, default.weights, strict=True)
        for point, weight in zip(kind.points, own, strict=True)
    }
    found = [known.get((kind.alpha, kind.sequences, point), 0.0) for kind in grid for point in kind.points]
    return 0.5 * np.array(found) + 0.5 / len(found)


def _cells(grid: Sequence[DirichletComponent | PitmanYorComponent]) -> NDArray[np.intp]:
    """For each column of the grid, the number of the cell it shares its weight with."""
    sizes: list[int] = []
    for kind in grid:
        sizes += (
            [TIED] * (len(kind.points) // TIED)
            if isinstance(kind, PitmanYorComponent)
            else [1] * len(kind.points)
        )
    return np.repeat(np.arange(len(sizes)), sizes)


@lru_cache(maxsize=1024)
def _reaching(prior: Prior, seen: int) -> tuple[tuple[DirichletComponent | PitmanYorComponent, ...], Floats]:
    kinds, weights = list(prior.components), [list(own) for own in prior.weights]
    largest = max((kind.sizes[-1] for kind in kinds if isinstance(kind, DirichletComponent)), default=0)
    if 2 * seen > largest > 0:
        for i, kind in enumerate(kinds):
            if isinstance(kind, PitmanYorComponent):
                continue
            sizes, share = list(kind.sizes), BEYOND * sum(weights[i])
            size = largest
            while size < 8 * seen:
                size, share = 2 * size, share / 2
                sizes.append(size)
                weights[i].append(share)
            kinds[i] = DirichletComponent(kind.alpha, kind.sequences, tuple(sizes))
    flat = np.array([weight for own in weights for weight in own])
    with np.errstate(divide="ignore"):
        log_weights: Floats = np.log(flat / flat.sum())
    return tuple(kinds), log_weights


def _expectation_maximisation(
    log_evidence: Floats, shares: Floats, pseudo: Floats, cells: NDArray[np.intp], rounds: int = 300
) -> Floats:
    """Weights of the columns, even within each cell, that make the rows most probable, given pseudo-observations."""
    likelihood = np.exp(log_evidence - log_evidence.max(axis=1, keepdims=True))
    weights: Floats = pseudo / pseudo.sum()
    members = np.bincount(cells)
    for _ in range(rounds):
        expected = likelihood * weights
        expected *= (shares / expected.sum(axis=1))[:, None]
        together = np.bincount(cells, expected.sum(axis=0) + pseudo)
        weights = (together / members)[cells]
        weights /= weights.sum()
    return weights


def _kept(
    grid: Sequence[DirichletComponent | PitmanYorComponent], weights: Floats
) -> tuple[tuple[DirichletComponent | PitmanYorComponent, ...], tuple[tuple[float, ...], ...]]:
    """Few kinds carry the weight: drop those that do not matter, for speed."""
    kept = []
    ends = np.cumsum([len(kind.points) for kind in grid])
    for kind, own in zip(grid, np.split(weights, ends[:-1]), strict=True):
        if own.sum() >= 0.005:
            matter = own >= min(5e-4, own.max())
            kept.append((kind.only(matter.tolist()), own[matter]))
    total = sum(own.sum() for _, own in kept)
    return tuple(kind for kind, _ in kept), tuple(tuple((own / total).tolist()) for _, own in kept)


def row_samples(row: Any) -> tuple[list[Sample], Partition]:
    """Samples and meanings of a recording's row, or of a dict of its schema."""
    samples = row["samples"]
    if any(sample.get("meaning") is None for sample in samples):
        raise InputError(
            f"question {row.get('id')!r} has samples without a meaning: run semtropy cluster first"
        )
    texts = [Sample(s["text"], s.get("logprob"), _tokens(s), None, s.get("complete", True)) for s in samples]
    return texts, Partition.of([sample["meaning"] for sample in samples])


def _tokens(sample: Mapping[str, Any]) -> tuple[Any, ...] | None:
    return tuple(sample["tokens"]) if sample.get("tokens") is not None else None


def _training_evidence(row: Any) -> list[Evidence]:
    draws = getattr(row, "draws", None)  # a recording's row knows whether its log-probabilities may be floors
    if draws is not None:
        arrays = draws()
        available = len(arrays)
        return [arrays.evidence(range(n)) for n in _training_numbers(available)]
    samples, partition = row_samples(row)
    return [
        Evidence.gather(samples[:n], Partition(partition.meanings[:n]))
        for n in _training_numbers(len(samples))
    ]


def _training_numbers(available: int) -> list[int]:
    if available == 0:
        raise InputError("a training question has no samples")
    return sorted({min(n, available) for n in TRAINING_DRAWS})
