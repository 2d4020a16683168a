"""How often a model would repeat each claim of an answer, given the votes on all claims of that answer.

The claims of one answer share what the model knows of its subject. Each claim c has a rate of support theta_c, the
probability that another answer of the model supports it, and the rates of one answer lie around a mean m:

    theta_c ~ Beta(s m, s (1 - m)),    a vote on claim c supports it with probability theta_c.

With a prior over (m, s) the posterior of every theta_c given all votes is a sum over a grid of (m, s) and an integral
over theta, both computed by quadrature. Three samples then order claims as well as twenty without pooling do.

A vote is a probability v that a sample supports the claim. It counts as a noisy observation: its likelihood is
v theta + (1 - v) (1 - theta), so 1 and 0 are plain counts and 0.5 says nothing.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import betainc, gammaln, xlog1py, xlogy

from ..errors import InputError
from ..files import read_json, replacing

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]


VERSION = 1
CELLS = 200
MEANS = 60
DEFAULT_STRENGTHS = (2.0, 3.0, 5.0)
FIT_STRENGTHS = (0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0, 8.0, 16.0)
PRIOR_ANSWERS = 10.0
"""The default prior counts as this many answers when another is fitted, so that a few answers do not fix it."""
FIT_ITERATIONS = 40
LEAST = 1e-300

# Cells of equal width in the arcsine of the square root of theta: narrow at 0 and 1, where the densities are steep.
_EDGES: Floats = np.sin(np.pi / 2 * np.arange(CELLS + 1) / CELLS) ** 2
_NODES: Floats = np.sin(np.pi / 2 * (np.arange(CELLS) + 0.5) / CELLS) ** 2


@dataclass(frozen=True, eq=False, slots=True)
class ClaimBelief:
    """The posterior of a claim's agreement: how often another answer of the model would support the claim.

    mean        the posterior mean
    cumulative  P(agreement <= edge) at the edges of the quadrature's cells

    >>> from semtropy.claims import posterior
    >>> belief = posterior([[1, 1, 1], [1, 1, 1]])[0]
    >>> round(belief.mean, 2), round(belief.probability_below(0.5), 2)
    (0.92, 0.01)
    """

    mean: float
    cumulative: Floats

    @property
    def rival(self) -> float:
        """What contradicts a claim is not one other claim: 0."""
        return 0.0

    def interval(self, level: float = 0.9, *, samples: int | None = None) -> tuple[float, float]:
        """The shortest interval with probability `level`: from 0 where no sample supports the claim.

        With `samples`, the interval of the share of supporting samples among that many further ones.
        """
        if not 0 < level < 1:
            raise InputError(f"level is {level}: a probability between 0 and 1")
        if samples is not None:
            return self._share_interval(level, samples)
        tails = np.linspace(0.0, 1.0 - level, 201)
        low = np.interp(tails, self.cumulative, _EDGES)
        high = np.interp(tails + level, self.cumulative, _EDGES)
        low[0], high[-1] = 0.0, 1.0
        best = int(np.argmin(high - low))
        return float(low[best]), float(high[best])

    def _share_interval(self, level: float, samples: int) -> tuple[float, float]:
        counts = np.arange(samples + 1)
        ways = gammaln(samples + 1) - gammaln(counts + 1) - gammaln(samples - counts + 1)
        nodes = _NODES[:, None]  # scipy.stats has this binomial too, but takes a second to import
        shares = np.diff(self.cumulative) @ np.exp(
            ways + xlogy(counts, nodes) + xlog1py(samples - counts, -nodes)
        )
        low = high = int(np.argmax(shares))
        inside = shares[low]
        while inside < level - 1e-12:
            below = shares[low - 1] if low else -1.0
            above = shares[high + 1] if high < samples else -1.0
            if below < 0 and above < 0:
                break
            low, high = (low - 1, high) if below >= above else (low, high + 1)
            inside += max(below, above)
        return low / samples, high / samples

    def density(self) -> tuple[Floats, Floats]:
        """The probability of every cell of the quadrature, and the agreement at its middle."""
        return np.diff(self.cumulative), _NODES

    def probability_below(self, x: float) -> float:
        """P(agreement < x)."""
        return float(np.interp(x, _EDGES, self.cumulative))


@dataclass(frozen=True, slots=True)
class ClaimPrior:
    """What to expect of an answer's claims before sampling: weights over a grid of (m, s).

    strengths   the values of s: how close the claims of one answer lie to each other
    weights     one row for each s, over equally spaced m; they sum to 1
    trained_on  how many answers it was fitted on; 0 for the one that ships

    >>> prior = ClaimPrior.default()
    >>> prior.strengths, round(sum(map(sum, prior.weights)), 9)
    ((2.0, 3.0, 5.0), 1.0)
    """

    strengths: tuple[float, ...]
    weights: tuple[tuple[float, ...], ...]
    trained_on: int = 0

    def __post_init__(self) -> None:
        flat = [weight for row in self.weights for weight in row]
        lengths = {len(row) for row in self.weights}
        if (
            not self.strengths
            or len(self.weights) != len(self.strengths)
            or len(lengths) != 1
            or 0 in lengths
        ):
            raise InputError(
                "claim prior: weights need one row for each of strengths, all of the same length"
            )
        if not all(0 < s < math.inf for s in self.strengths):
            raise InputError(f"claim prior: strengths are {self.strengths}: finite numbers above 0")
        if not all(0 <= weight <= 1 for weight in flat) or not math.isclose(sum(flat), 1.0, abs_tol=1e-6):
            raise InputError("claim prior: weights are probabilities that sum to 1")

    @classmethod
    def default(cls) -> ClaimPrior:
        """The prior that ships: every m is as probable as any other."""
        each = 1.0 / (len(DEFAULT_STRENGTHS) * MEANS)
        return cls(DEFAULT_STRENGTHS, ((each,) * MEANS,) * len(DEFAULT_STRENGTHS))

    @classmethod
    def fit(cls, answers: Iterable[ArrayLike]) -> ClaimPrior:
        """Learn from votes alone, without labels: one array of claims x samples for each answer.

        Empirical Bayes: expectation maximisation over the weights of the grid, started from and held by a prior that
        favours no m and no s.

        >>> prior = ClaimPrior.fit([[[1, 1, 1], [1, 1, 0]], [[0, 0, 0], [0, 1, 0]]])
        >>> prior.trained_on
        2
        """
        votes = [_votes(each) for each in answers]
        if not votes:
            return cls.default()
        start = np.full(len(FIT_STRENGTHS) * MEANS, 1.0 / (len(FIT_STRENGTHS) * MEANS))
        masses = _masses(FIT_STRENGTHS, MEANS)
        logs = np.array(
            [np.log(np.maximum(_likelihood(each) @ masses.T, LEAST)).sum(axis=0) for each in votes]
        )
        likely = np.exp(logs - logs.max(axis=1, keepdims=True))
        weights = start
        for _ in range(FIT_ITERATIONS):
            shares = likely * weights
            weights = (shares / shares.sum(axis=1, keepdims=True)).sum(axis=0) + PRIOR_ANSWERS * start
            weights = weights / weights.sum()
        rows = weights.reshape(len(FIT_STRENGTHS), MEANS).tolist()
        return cls(FIT_STRENGTHS, tuple(map(tuple, rows)), len(votes))

    def save(self, path: str | Path) -> None:
        """Write a small JSON file."""
        with replacing(path) as partial:
            partial.write_text(json.dumps(self.as_dict()) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> ClaimPrior:
        """Read what `save` wrote."""
        held = read_json(path)
        if not isinstance(held, Mapping) or held.get("semtropy_claim_prior") != VERSION:
            raise InputError(f'{path}: not a claim prior: the key "semtropy_claim_prior" must be {VERSION}')
        return cls.from_dict(held)

    def as_dict(self) -> dict[str, Any]:
        """The prior as plain data."""
        return {
            "semtropy_claim_prior": VERSION,
            "trained_on": self.trained_on,
            "strengths": list(self.strengths),
            "weights": [[float(f"{weight:.6g}") for weight in row] for row in self.weights],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> ClaimPrior:
        """Read what `as_dict` returned."""
        try:
            rows = tuple(tuple(map(float, row)) for row in data["weights"])
            return cls(tuple(map(float, data["strengths"])), rows, int(data["trained_on"]))
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"not a claim prior that semtropy saved ({error})") from None


def posterior(
    support: ArrayLike, *, prior: ClaimPrior | None = None, errors: tuple[float, float] = (0.0, 0.0)
) -> list[ClaimBelief]:
    """The agreement of every claim of one answer, given the votes on all of them.

    support  claims x samples, the probability that the sample supports the claim; 0.5 says nothing
    prior    over (m, s); the default ships
    errors   of the judge that voted: how often it finds support where there is none, and misses it where it is

    >>> beliefs = posterior([[1, 1, 1], [1, 1, 0], [0, 0, 0]])
    >>> [round(belief.mean, 2) for belief in beliefs]
    [0.77, 0.6, 0.27]
    >>> [round(end, 2) for end in beliefs[2].interval(0.9)]
    [0.0, 0.54]
    """
    votes = _votes(support)
    prior = ClaimPrior.default() if prior is None else prior
    if not isinstance(prior, ClaimPrior):
        raise InputError(f"prior is {prior!r}: give a ClaimPrior, or None for the default")
    if not all(0 <= rate < 0.5 for rate in errors):
        raise InputError(f"errors are {errors}: two rates from 0 to below 0.5")
    if not len(votes):
        return []
    masses = _masses(prior.strengths, len(prior.weights[0]))
    likelihood = _likelihood(votes, errors)
    evidence = np.maximum(likelihood @ masses.T, LEAST)  # of every claim, for every (m, s)
    log_weights = np.log(evidence).sum(axis=0) + np.log(np.maximum(np.ravel(prior.weights), LEAST))
    weights = np.exp(log_weights - log_weights.max())
    density = likelihood * ((weights / weights.sum() / evidence) @ masses)
    density /= density.sum(axis=1, keepdims=True)
    means = density @ _NODES
    cumulative = np.concatenate([np.zeros((len(votes), 1)), np.cumsum(density, axis=1)], axis=1)
    return [
        ClaimBelief(float(mean), row) for mean, row in zip(means, np.minimum(cumulative, 1.0), strict=True)
    ]


def _votes(support: ArrayLike) -> Floats:
    """The votes as an array, one row a claim."""
    try:
        votes = np.asarray(support, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"support is not an array of claims x samples: {error}") from None
    if votes.size == 0 and votes.ndim < 2:
        return np.zeros((0, 0))
    if votes.ndim != 2:
        raise InputError(f"support has {votes.ndim} dimensions: claims x samples are expected")
    if not np.all((votes >= 0) & (votes <= 1)):
        raise InputError("support has values that are not probabilities: each is from 0 to 1")
    return votes


def _likelihood(votes: Floats, errors: tuple[float, float] = (0.0, 0.0)) -> Floats:
    """The likelihood of each claim's votes at the nodes of theta, up to a factor for each claim."""
    false, missed = errors
    yes = (1 - missed) * votes + missed * (1 - votes)
    no = false * votes + (1 - false) * (1 - votes)
    found = np.ones((len(votes), CELLS))
    for one, other in zip(yes.T, no.T, strict=True):
        found *= one[:, None] * _NODES + other[:, None] * (1 - _NODES)
        found /= found.max(axis=1, keepdims=True)
    return found


@lru_cache(maxsize=8)
def _masses(strengths: tuple[float, ...], means: int) -> Floats:
    """The probability of every cell of theta, one row for each (s, m)."""
    m = (np.arange(means) + 0.5) / means
    a = np.outer(strengths, m).reshape(-1, 1)
    b = np.outer(strengths, 1 - m).reshape(-1, 1)
    half = CELLS // 2  # the upper half as the lower one of 1 - theta, which keeps its digits near 1
    lower = np.diff(betainc(a, b, _EDGES[: half + 1]), axis=1)
    upper = np.diff(betainc(b, a, _EDGES[: half + 1]), axis=1)[:, ::-1]
    masses: Floats = np.maximum(np.hstack([lower, upper]), 0.0)
    return masses
