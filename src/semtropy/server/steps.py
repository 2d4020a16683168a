"""Steps of a check as JSON for the page, and the replay of earlier samples under other terms."""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..conclusion import field_outcome
from ..errors import InputError
from ..inquiry import Compare, Draw, Drawn, Exchange, Step, Terms, inquire
from ..nouns import Partition, Sample
from ..stopping import suspicion

if TYPE_CHECKING:
    from ..nouns import Belief, Floats, Token
    from ..step import FieldStep
    from .schemas import RecordedAnswer, RecordedSample

__all__ = ["density_curve", "replay", "sample_to_json", "step_to_json"]

POINTS = 161
WIDTH = 1.6
"""Curves span at least this many nats, so that those of one check share their axis."""
SMOOTHING = 2.5
"""Standard deviation, in cells, of the kernel that smooths a curve. The density of an entropy has a sharp edge at the
logarithm of each whole number; drawn as it is, the curve of a few meanings is a row of spikes."""


def density_curve(belief: Belief, *, reach: float = WIDTH) -> dict[str, Any] | None:
    """Points of the density of the entropy, from 0 to `reach`.

    They are differences of its distribution function over a grid, lightly smoothed (`SMOOTHING`). None for a method
    without a distribution.

    >>> density_curve(__import__("semtropy").Belief(0.5)) is None
    True
    """
    if belief.distribution is None:
        return None
    reach = max(reach, 1.2 * belief.distribution.quantile(0.999))
    edges = np.linspace(0.0, reach, POINTS + 1)
    below = np.clip(np.asarray(belief.distribution.cdf(edges), dtype=float), 0.0, 1.0)
    below[0] = 0.0  # mass exactly at 0 belongs to the first cell
    mass = _smooth(np.maximum(np.diff(below), 0.0))
    middles = (edges[1:] + edges[:-1]) / 2
    width = reach / POINTS
    return {
        "x": [round(float(x), 5) for x in middles],
        "density": [round(float(m / width), 6) for m in mass],
        "reach": round(float(reach), 5),
    }


def _smooth(mass: Floats) -> Floats:
    """The masses of cells under a normal kernel, reflected at both ends so that none is lost."""
    reach = math.ceil(4 * SMOOTHING)
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) / SMOOTHING) ** 2)
    padded = np.pad(mass, reach, mode="symmetric")
    return np.convolve(padded, kernel / kernel.sum(), mode="valid")


def sample_to_json(sample: Sample, meaning: int) -> dict[str, Any]:
    """A sample with what `replay` needs."""
    counted = sample.tokens if sample.tokens is not None else sample.token_logprobs
    finite = sample.logprob is not None and math.isfinite(sample.logprob)
    return {
        "text": sample.text,
        "meaning": meaning,
        "logprob": sample.logprob if finite else None,
        "prefix_logprob": sample.prefix_logprob,
        "tokens": None if counted is None else len(counted),
        "complete": sample.complete,
    }


def answer_to_json(step: Step) -> dict[str, Any]:
    """The answer of a step with what `replay` needs."""
    judged = step.evidence.answer
    return {
        "text": step.answer.text,
        "meaning": step.answer_meaning,
        "logprob": None if judged is None or judged.logprob is None else min(judged.logprob, 0.0),
        "prefix_logprob": None if judged is None else judged.prefix_logprob,
        "token_entropy": None if judged is None else judged.token_entropy,
        "complete": step.answer.complete,
    }


def step_to_json(step: Step, terms: Terms, *, sent: int = 0) -> dict[str, Any]:
    """A step; the first `sent` samples are left out, as earlier steps had them."""
    belief, spent = step.belief, step.spent
    interval = belief.interval(0.9)
    pairs = list(zip(step.samples, step.partition.meanings, strict=True))[sent:]
    return {
        "samples": [sample_to_json(sample, meaning) for sample, meaning in pairs],
        "answer": answer_to_json(step),
        "meanings": [meaning.to_dict() for meaning in step.meanings()],
        "fields": [_field_to_json(field, step, terms) for field in step.fields],
        "agreement": _agreement_to_json(belief),
        "entropy": {
            "mean": belief.mean,
            "variance": belief.variance,
            "interval": None if interval is None else list(interval),
            "curve": density_curve(belief),
        },
        "suspicion": suspicion(belief, terms.threshold),
        "drawn": spent.samples,
        "rounds": spent.rounds,
        "cost": {"tokens": spent.tokens, "judge_calls": spent.judge_calls, "seconds": spent.seconds},
        "reason": None if step.reason is None else str(step.reason),
    }


def _agreement_to_json(belief: Belief) -> dict[str, Any] | None:
    agreement = belief.agreement
    return None if agreement is None else {"mean": agreement.mean, "interval": agreement.interval(0.9)}


def _field_to_json(field: FieldStep, step: Step, terms: Terms) -> dict[str, Any]:
    """A field of a structured answer; its outcome is None while sampling goes on for it."""
    own = field.step
    decided = own.reason is not None or step.reason is not None
    return {
        "name": field.name,
        "value": field.value,
        "required": field.required,
        "outcome": str(field_outcome(field, step, terms)) if decided else None,
        "agreement": _agreement_to_json(own.belief),
        "meanings": [meaning.to_dict() for meaning in own.meanings()],
    }


class _KnownMeanings:
    """A grouping that returns given meanings, in the order of the samples."""

    def __init__(self, meanings: Sequence[int]) -> None:
        self._meanings = iter(meanings)

    def place(
        self, text: str, tokens: Sequence[Token] | None = None
    ) -> Generator[Sequence[tuple[str, str, str]], Floats, int]:
        yield from ()
        return next(self._meanings)


def replay(
    prompt: str, answer: RecordedAnswer, recorded: Sequence[RecordedSample], terms: Terms
) -> list[Step]:
    """The steps of a check that draws these samples in this order; it ends when they run out."""
    meanings = [sample.meaning for sample in recorded]
    try:
        Partition(tuple(meanings))
    except InputError as error:
        raise InputError(f"samples: {error}") from None
    # Tokens were not recorded: equal text and log-probability stand for the same sequence.
    waiting = [
        Sample(each.text, each.logprob, complete=each.complete, prefix_logprob=each.prefix_logprob)
        for each in recorded
    ]
    judged = Sample(
        answer.text,
        complete=answer.complete,
        sampling_logprob=answer.logprob,
        prefix_logprob=answer.prefix_logprob,
        token_entropies=None if answer.token_entropy is None else (answer.token_entropy,),
    )
    own = len(set(meanings)) if answer.meaning is None else answer.meaning
    exchange = Exchange(inquire(prompt, terms, _KnownMeanings([own, *meanings]), answer=judged))
    steps: list[Step] = []
    for event in exchange:
        if isinstance(event, Draw):
            drawn, waiting = waiting[: event.n], waiting[event.n :]
            exchange.reply = Drawn(drawn)
        elif isinstance(event, Compare):
            exchange.reply = np.ones(len(event.pairs))
        else:
            steps.append(event)
    return steps
