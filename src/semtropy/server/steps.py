"""A step of a check as the page draws it: samples with their meanings, the belief as a curve, what was spent."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ..inquiry import Step, Terms
    from ..nouns import Belief, Sample

__all__ = ["curve", "sample_as_data", "step_as_data"]

POINTS = 161
WIDTH = 2.5
"""Curves span at least this many nats, so that those of one check share their axis."""


def curve(belief: Belief, *, reach: float = WIDTH) -> dict[str, Any] | None:
    """Points of the density of the entropy: differences of its distribution function over a grid from 0.

    None for a method that has no distribution. `mass` sums to what the belief has within the grid.

    >>> curve(__import__("semtropy").Belief(0.5)) is None
    True
    """
    if belief.distribution is None:
        return None
    reach = max(reach, 1.2 * belief.distribution.quantile(0.999))
    edges = np.linspace(0.0, reach, POINTS + 1)
    below = np.clip(np.asarray(belief.distribution.cdf(edges), dtype=float), 0.0, 1.0)
    below[0] = 0.0  # what sits exactly at 0 belongs to the first cell
    mass = np.maximum(np.diff(below), 0.0)
    middles = (edges[1:] + edges[:-1]) / 2
    width = reach / POINTS
    return {
        "x": [round(float(x), 5) for x in middles],
        "density": [round(float(m / width), 6) for m in mass],
        "reach": round(float(reach), 5),
    }


def sample_as_data(sample: Sample, meaning: int) -> dict[str, Any]:
    """A sample as the page keeps it, enough to be replayed under other terms."""
    counted = sample.tokens if sample.tokens is not None else sample.token_logprobs
    finite = sample.logprob is not None and math.isfinite(sample.logprob)
    return {
        "text": sample.text,
        "meaning": meaning,
        "logprob": sample.logprob if finite else None,
        "tokens": None if counted is None else len(counted),
        "complete": sample.complete,
    }


def step_as_data(step: Step, terms: Terms, *, seen: int = 0) -> dict[str, Any]:
    """A step; `seen` samples were told before and are left out."""
    belief, spent = step.belief, step.spent
    interval = belief.interval(0.9)
    pairs = list(zip(step.samples, step.partition.meanings, strict=True))[seen:]
    return {
        "samples": [sample_as_data(sample, meaning) for sample, meaning in pairs],
        "meanings": [{"text": m.text, "count": m.count, "floor": m.floor} for m in step.meanings()],
        "entropy": {
            "mean": belief.mean,
            "variance": belief.variance,
            "interval": None if interval is None else list(interval),
            "above": belief.probability_above(terms.threshold),
            "curve": curve(belief),
        },
        "drawn": spent.samples,
        "rounds": spent.rounds,
        "cost": {"tokens": spent.tokens, "judge_calls": spent.judge_calls, "seconds": spent.seconds},
        "reason": None if step.reason is None else str(step.reason),
    }
