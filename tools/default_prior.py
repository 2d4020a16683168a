"""Write the prior that semtropy ships for when there are no training questions: `python -m tools.default_prior`.

It has two parts. Questions with one or a few meanings are a grid: even weights over sizes,
for four Dirichlet components from one sequence per meaning to many. Open questions, with an unbounded number of
meanings, are Pitman-Yor components with the weights that a fit on recordings of SmolLM2-135M-Instruct gave them (facts,
TriviaQA, NQ, SQuAD and SVAMP, 120 questions of each, meanings by spelling and by the built-in judge), rounded and
smoothed. Most questions lie between the two, and a sample or two decides.
"""

from __future__ import annotations

from pathlib import Path

from semtropy.entropy import DirichletComponent, PitmanYorComponent, SequencePrior
from semtropy.estimators import Prior

TARGET = Path(__file__).parents[1] / "src" / "semtropy" / "estimators" / "default_prior.json"
FEW = 0.6  # the share of the grid
SIZES = (1, 2, 3, 4, 6, 10, 16, 50, 100)
GRID = (
    (0.02, SequencePrior(0.1)),
    (0.2, SequencePrior(0.1, main=2, evenness=1.0)),
    (0.2, SequencePrior(0.3)),
    (1.0, SequencePrior(1.0)),
)
OPEN = (
    (
        SequencePrior(0.1, discount=0.5),
        {0.5: 0.08, 1.75: 0.04, 5.25: 0.02, 9.0: 0.06, 16.0: 0.06, 27.0: 0.03, 47.0: 0.03},
    ),
    (
        SequencePrior(1.0, discount=0.5),
        {5.25: 0.02, 9.0: 0.02, 16.0: 0.03, 27.0: 0.04, 47.0: 0.04, 80.0: 0.01, 140.0: 0.01},
    ),
    (
        SequencePrior(10.0, discount=0.5),
        {5.25: 0.03, 16.0: 0.05, 27.0: 0.06, 47.0: 0.11, 80.0: 0.17, 140.0: 0.13},
    ),
)
DISCOUNT = 0.25


def default_prior() -> Prior:
    """The prior, its weights summing to 1."""
    components: list[DirichletComponent | PitmanYorComponent] = [
        DirichletComponent(alpha, sequences, SIZES) for alpha, sequences in GRID
    ]
    weights = [(FEW / len(GRID) / len(SIZES),) * len(SIZES) for _ in GRID]
    total = sum(sum(own.values()) for _, own in OPEN)
    for sequences, own in OPEN:
        components.append(PitmanYorComponent(DISCOUNT, sequences, tuple(own)))
        weights.append(tuple((1 - FEW) * weight / total for weight in own.values()))
    return Prior(tuple(components), tuple(weights))


if __name__ == "__main__":
    default_prior().save(TARGET)
