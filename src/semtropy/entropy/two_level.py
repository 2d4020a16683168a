"""The posterior of the two-level model under each component: evidence, and mean and variance of the entropy.

Meanings have probabilities b_j, Dirichlet or Pitman-Yor, and the sequences of a meaning split its probability by
stick breaking (`components`). With n_j distinct sequences of known probability found for meaning j, which sum to
l_j, the product over sequences telescopes for all these priors, and the likelihood of what was seen is

    b_j^(1 - theta - evenness main) (b_j - l_j)^(q_j - 1) * constants,
    q_j = theta + evenness max(main - n_j, 0) + discount n_j

for each seen meaning, times b_j for every draw whose probability is unknown. Drawing again a sequence whose
probability is known adds no information, so the counts of such sequences drop out. Without any known probability
this is the Dirichlet-multinomial: samples with and without log-probabilities are one model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from ..errors import ConvergenceError
from .components import Component, DirichletComponent, Observations, SequencePrior, component_grid
from .contour import Problems, screen, solve
from .inputs import check_alpha, counts_above, ends, whole_sizes
from .truncated_dirichlet import Moments

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from ..nouns import Floats


# Columns whose estimated log-weight is this far below the best are not integrated. Estimates are off by less than a
# unit mostly, by up to four where one meaning takes all the room.
NEGLIGIBLE = -18.0
MARGIN = 4.0
LARGEST_LOSS = 1e-4  # the posterior weight of columns whose integral fails, at most


def component_moments(
    observations: Sequence[Observations],
    components: Sequence[Component],
    *,
    tolerance: float = 1e-9,
    log_prior: Floats | None = None,
    on_failure: Literal["raise", "exclude"] = "exclude",
) -> Moments:
    """Moments and log-evidence of every question under every component.

    observations  one entry per question
    components    the components of the mixture
    tolerance     as in `moments`
    log_prior     log prior weight of each column, the same for all questions or one row for each; columns of
                  negligible posterior weight are then skipped
    on_failure    what to do about a column whose integral fails. "exclude": treat it as impossible, as long as all such
                  columns together can have no more than 1e-4 of a question's posterior weight; a ConvergenceError
                  where they may have more. "raise": always a ConvergenceError

    The arrays have one row per question and one column per size or concentration, component by component. A size
    below the number of meanings seen is impossible: its log-evidence is -inf and its moments are 0. The same holds
    for columns that are skipped or excluded.

    >>> observed = Observations(np.array([0.3]), np.array([1.0]), ((-1.204,),), np.array([0.0]))
    >>> component_moments([observed], [DirichletComponent(0.05, SequencePrior(0.1), (2, 7))]).mean.round(3)
    array([[0.256, 0.715]])
    """
    columns = _Columns.of(observations, components)
    if log_prior is not None:
        columns = columns.likely(log_prior)
    solved = solve(columns.problems(), tolerance, on_failure=on_failure)
    if np.isneginf(solved.log_z).any():
        columns.check_loss(solved.log_z, log_prior)
    shape = len(observations), sum(len(component.points) for component in components)
    out = Moments(np.zeros(shape), np.zeros(shape), np.full(shape, -np.inf))
    at = columns.row, columns.column
    out.mean[at], out.variance[at] = solved.mean, solved.variance
    out.log_evidence[at] = solved.log_z + columns.constant
    return out


def estimated_log_evidence(observations: Sequence[Observations], components: Sequence[Component]) -> Floats:
    """The log-evidence of every question under every component from the saddle point: quick, and off by 0.3 or so.

    The array is that of `component_moments`; what cannot be estimated is -inf.

    >>> observed = Observations(np.array([0.3]), np.array([1.0]), ((-1.204,),), np.array([0.0]))
    >>> estimated_log_evidence([observed], [DirichletComponent(0.05, SequencePrior(0.1), (2, 7))]).round(1)
    array([[-1.3, -0.5]])
    """
    columns = _Columns.of(observations, components)
    out = np.full((len(observations), sum(len(component.points) for component in components)), -np.inf)
    estimates = screen(columns.problems()) + columns.constant
    out[columns.row, columns.column] = np.where(np.isnan(estimates), -np.inf, estimates)
    return out


@dataclass(frozen=True, slots=True)
class _Columns:
    """What is to be integrated, concatenated: blocks of one question under one component, columns within each.

    `p`, `q`, `floors` and `alpha` have one entry per block, `size` the number of its columns. The other arrays have
    one entry per column: where the result belongs, the mass of the unseen meanings, and the log-constant.
    """

    p: list[Floats]
    q: list[Floats]
    floors: list[Floats]
    alpha: list[float]
    size: NDArray[np.intp]
    row: NDArray[np.intp]
    column: NDArray[np.intp]
    mass: Floats
    constant: Floats

    @classmethod
    def of(cls, observations: Sequence[Observations], components: Sequence[Component]) -> _Columns:
        starts = np.cumsum([0, *(len(component.points) for component in components)])
        p, q, floors, alpha, size, column, mass, constant = [], [], [], [], [], [], [], []
        for seen in observations:
            for component, start in zip(components, starts.tolist(), strict=False):
                grid = component_grid(component, seen.floors.size)
                own_p, own_q = component.powers(seen)
                p.append(own_p)
                q.append(own_q)
                floors.append(seen.floors)
                alpha.append(component.alpha)
                size.append(grid.possible.size)
                column.append(grid.possible + start)
                mass.append(grid.mass[grid.possible])
                constant.append(grid.constant[grid.possible] + component.sequences.log_constant(seen))
        sizes = np.array(size, dtype=np.intp)
        row = np.repeat(np.arange(len(observations)).repeat(len(components)), sizes)
        together = np.concatenate(column), np.concatenate(mass), np.concatenate(constant)
        return cls(p, q, floors, alpha, sizes, row, *together)

    def problems(self) -> Problems:
        """The integrals, without blocks that have no columns left."""
        used = np.flatnonzero(self.size).tolist()
        floors = [self.floors[i] for i in used]
        return Problems(
            p=np.concatenate([np.empty(0), *(self.p[i] for i in used)]),
            q=np.concatenate([np.empty(0), *(self.q[i] for i in used)]),
            floors=np.concatenate([np.empty(0), *floors]),
            offsets=ends([own.size for own in floors]),
            alpha=np.array([self.alpha[i] for i in used], dtype=float),
            mass=self.mass,
            mass_offsets=ends(self.size[used]),
        )

    @property
    def rows(self) -> int:
        return int(self.row[-1]) + 1 if self.row.size else 0

    def log_weight(self, log_z: Floats, log_prior: Floats | None) -> Floats:
        """The logarithm of each column's prior weight times its evidence; without a prior all weigh the same."""
        if log_prior is None:
            return log_z + self.constant
        rows = max(self.rows, len(np.atleast_2d(log_prior)))
        prior = np.broadcast_to(log_prior, (rows, log_prior.shape[-1]))
        return np.asarray(log_z + self.constant + prior[self.row, self.column])

    def check_loss(self, log_z: Floats, log_prior: Floats | None) -> None:
        """Refuse to go on where columns that failed (log Z = -inf) may have had a part in the posterior.

        What they would have weighed is estimated from the saddle point, with a margin for the estimate's error.
        """
        failed = np.isneginf(log_z)
        solved = self.log_weight(log_z, log_prior)
        estimated = self.log_weight(screen(self.problems()), log_prior) + MARGIN
        for row in np.unique(self.row[failed]).tolist():
            own = self.row == row
            kept, lost = solved[own & ~failed], estimated[own & failed]
            if not np.logaddexp.reduce(lost) - np.logaddexp.reduce(kept) <= np.log(LARGEST_LOSS):
                raise ConvergenceError(
                    f"question {row + 1} of {self.rows}: {lost.size} of {own.sum()} columns could not be integrated, "
                    f"and they may have more than {LARGEST_LOSS:g} of the posterior weight"
                )

    def likely(self, log_prior: Floats) -> _Columns:
        """Those that are not negligible beside the most probable column of their question.

        A column whose weight cannot be estimated stays.
        """
        rows = self.rows
        weight = self.log_weight(screen(self.problems()), log_prior)
        top = np.full(rows, -np.inf)
        finite = np.isfinite(weight)
        np.maximum.at(top, self.row[finite], weight[finite])
        keep = ~(weight < top[self.row] + NEGLIGIBLE)
        block = np.repeat(np.arange(self.size.size), self.size)[keep]
        size = np.bincount(block, minlength=self.size.size)
        kept = self.row[keep], self.column[keep], self.mass[keep], self.constant[keep]
        return _Columns(self.p, self.q, self.floors, self.alpha, size, *kept)


def two_level_moments(
    floors: ArrayLike,
    distinct: ArrayLike,
    sizes: ArrayLike,
    alpha: float = 0.5,
    theta: float = 1.0,
    *,
    no_logprob: ArrayLike | None = None,
    tolerance: float = 1e-9,
) -> Moments:
    """Entropy under the two-level model with a finite Dirichlet component, for every number of meanings K in `sizes`.

    floors      summed probability of the distinct sequences of each meaning seen
    distinct    number of these sequences
    sizes       the numbers of meanings K to consider, rising
    alpha       parameter of the symmetric Dirichlet over meanings
    theta       concentration of the stick-breaking prior over sequences
    no_logprob  further draws of each meaning whose probability is unknown; default none
    tolerance   as in `moments`

    Raises `ConvergenceError` where an integral fails.

    >>> two_level_moments([0.3], [1], [7], alpha=0.05, theta=0.1).mean.round(9)
    array([0.71470493])
    """
    floor, n = counts_above(floors, distinct, 0, "distinct")
    u = counts_above(floors, np.zeros_like(floor) if no_logprob is None else no_logprob, 0, "no_logprob")[1]
    k = whole_sizes(sizes, seen=floor.size)
    alpha, theta = check_alpha(alpha), check_alpha(theta, "theta")
    logprobs = ((),) * floor.size  # of no concern without main sequences or a discount
    component = DirichletComponent(alpha, SequencePrior(theta), tuple(k.astype(int).tolist()))
    seen = Observations(floor, n, logprobs, u)
    found = component_moments([seen], [component], tolerance=tolerance, on_failure="raise")
    return Moments(found.mean[0], found.variance[0], found.log_evidence[0])
