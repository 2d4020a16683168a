"""Fitting the weights of a mixture of components."""

from __future__ import annotations

import numpy as np

from semtropy.entropy.components import PitmanYorComponent, SequencePrior
from semtropy.estimators.fitting import Likelihood, fit_weights

GRID = tuple(PitmanYorComponent(0.02, SequencePrior(theta), (1.0,)) for theta in (0.1, 0.3, 1.0))
# The last component alone explains the last row; the second is as good as the first everywhere else.
EVIDENCE = np.array([[1.0, 1.0, 1e-9], [1.0, 1.0, 1e-9], [1.0, 1.0, 1e-9], [0.0, 0.0, 1.0]])


def test_a_component_that_alone_explains_a_question_stays_without_a_warning() -> None:
    """Warnings are errors here: dropping it used to divide by an evidence of 0."""
    shares = np.array([1e3, 1e3, 1e3, 1e-6])  # the last row hardly counts, and is still to be explained
    for likelihood in (
        Likelihood(EVIDENCE, shares),
        Likelihood(EVIDENCE, shares, np.ones_like(EVIDENCE)),
        Likelihood(np.ones_like(EVIDENCE), shares, EVIDENCE),
    ):
        weights, keep = fit_weights(GRID, likelihood, negligible=0.0)
        assert keep[2]
        assert weights[2] > 0
        assert np.isfinite(weights).all()
        assert not keep[:2].all()  # one of the two equal components is dropped
