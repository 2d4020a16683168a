"""Fit the prior that semtropy ships: `python -m tools.default_prior RECORDING ... --sentences RECORDING ...`.

The one that ships was fitted on recordings of four models: SmolLM2-135M-Instruct (facts, which ship with semtropy),
Qwen2.5-Coder-1.5B-Instruct (TriviaQA and SVAMP), Llama-3.2-3B-Instruct and Llama-2-7b-chat (SVAMP), with the same
number of questions of each, so that no model or dataset decides alone. It is one fit to all of them, not
`Prior.combine`: that is surer to hold for a model unlike these four (on Llama-2 left out, 71% of the intervals before
the first sample hold, against 51%), but leaves a question undecided that every one of them knows.

Its part for longer answers (`Prior.longer`) combines two. One was fitted on up to 100 questions each of TriviaQA, NQ
and SVAMP that Qwen2.5-Coder-1.5B-Instruct answers in one sentence, and of TriviaQA that it answers as it likes
(`training/record.py`; meanings by the judge that ships), with a heavy tail of wordings: lighter tails take the twenty
equally likely sentences of a surer model for doubt. It knows a third of the answers; models that people ask for
sentences know more. The other, three times as probable, has the meanings of names, with questions of low entropy
counted fourfold, and every number of wordings as probable. In it sure tokens that carry an answer speak for the answer,
and doubtful ones do not speak against it: they may be wording. These choices were made on models whose distribution is
known (`python -m benchmarks wordings`).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np

from semtropy.entropy.components import Component, DirichletComponent, PitmanYorComponent, SequencePrior
from semtropy.estimators import Prior, fitting, prior
from semtropy.evidence import NAME_WORDS
from semtropy.recording import Recording, read_recording

TARGET = Path(__file__).parents[1] / "src" / "semtropy" / "estimators" / "default_prior.json"
QUESTIONS = 150  # of each recording, or all it has
NEGLIGIBLE = 0.04  # fewer components than a fit keeps, so that a check is quick
WORDINGS = tuple(SequencePrior(theta, discount=0.9) for theta in (0.3, 3.0, 30.0))
KNOWN = 0.4  # the entropy below which a question counts as known,
KNOWN_FACTOR = 4.0  # and how much more it counts
SENTENCES = 100  # questions of each recording of sentences
VAGUE = 3  # how much more probable the prior with the meanings of names is than the one fitted to them


def default_prior(recordings: Iterable[Recording], sentences: Iterable[Recording]) -> Prior:
    """The prior fitted on the first questions of each recording; it counts as untrained, so that users are told."""
    fitting.DISPENSABLE = 0.006  # a check is quick under few components
    rows = [row for recording in recordings for row in recording.rows[:QUESTIONS]]
    # The largest concentrations are far apart: a belief from counts alone would show each as a hill. Sentences need
    # them, since most samples of an open question differ: without them a third of the intervals lie too low.
    usual, fitting.LEAST_SHARE = fitting.LEAST_SHARE, 1.0
    names = replace(Prior.fit(rows, negligible=NEGLIGIBLE), trained_on=0)
    fitting.LEAST_SHARE = usual
    return replace(names, words=NAME_WORDS, longer=longer_answers(names, sentences))


def longer_answers(names: Prior, sentences: Iterable[Recording]) -> Prior:
    """The prior for sentences: one fitted to them, and one with the meanings of names, three times as probable."""
    rows = [row for recording in sentences for row in recording.rows[:SENTENCES]]
    prior.MANY_WORDINGS = WORDINGS  # type: ignore[attr-defined]
    fitted = Prior.fit(rows, negligible=NEGLIGIBLE).longer
    assert fitted is not None
    vague = replace(many_wordings(names), ends=fitted.ends)
    if fitted.doubt is not None:
        lean = fitting.DOUBT_TILT * (fitted.doubt - fitting.MOST_DOUBT)
        vague = replace(vague, carried=tuple(mixture.leaning(lean) for mixture in vague.answered))
    both = Prior.combine([replace(fitted, trained_on=0), *[vague] * VAGUE])
    return replace(both, words=None, longer=None)


def many_wordings(names: Prior) -> Prior:
    """The prior for sentences with the meanings of the one for names."""
    found: dict[tuple[type[Component], float], dict[float, float]] = {}
    for component, weights in zip(names.samples.components, names.samples.weights, strict=True):
        own = found.setdefault((type(component), component.alpha), {})
        for point, weight in zip(component.points, weights, strict=True):
            own[point] = own.get(point, 0.0) + weight
    grid: list[Component] = []
    for sequences in WORDINGS:
        for (kind, alpha), own in found.items():
            points = sorted(own)
            if kind is DirichletComponent:
                grid.append(DirichletComponent(alpha, sequences, tuple(map(int, points))))
            else:
                grid.append(PitmanYorComponent(-alpha, sequences, tuple(points)))
    shares = np.tile([own[point] for own in found.values() for point in sorted(own)], len(WORDINGS))
    shares *= np.where(fitting.prior_entropies(tuple(grid)) < KNOWN, KNOWN_FACTOR, 1.0)
    mixture = fitting.ComponentMixture.of_columns(grid, shares, np.ones(shares.size, dtype=np.bool_))
    return Prior(mixture, (mixture,), ends=names.ends)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tools.default_prior", description=__doc__)
    parser.add_argument("recordings", nargs="+", help="recordings of names and numbers")
    parser.add_argument("--sentences", nargs="+", required=True, help="recordings of longer answers")
    paths = parser.parse_args()
    found = [[read_recording(path) for path in group] for group in (paths.recordings, paths.sentences)]
    default_prior(*found).save(TARGET)
