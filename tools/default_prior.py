"""Write the prior that semtropy ships for when there are no training questions: `python -m tools.default_prior`.

Two parts. Questions a model is sure about, or torn between a few meanings, are a grid: even weights over sizes, for
four kinds from one wording a meaning to many. Open questions with hundreds of meanings are what a fit on recordings of
SmolLM2-135M-Instruct (facts, TriviaQA, NQ, SQuAD and SVAMP, 120 questions of each, meanings by spelling) left with
weight, rounded. Most questions people ask of a model lie between the two, and the evidence of a sample or two
weighs them.
"""

from __future__ import annotations

from pathlib import Path

from semtropy.entropy import Kind, Wordings
from semtropy.estimators import Prior

TARGET = Path(__file__).parents[1] / "src" / "semtropy" / "estimators" / "default_prior.json"
FEW = 0.6  # the share of the grid
SIZES = (1, 2, 3, 4, 6, 10, 16, 50, 100)
GRID = (
    (0.02, Wordings(0.1)),
    (0.2, Wordings(0.1, main=2, evenness=1.0)),
    (0.2, Wordings(0.3)),
    (1.0, Wordings(1.0)),
)
OPEN = (
    (0.02, Wordings(0.1, discount=0.5), {50: 0.03, 100: 0.03, 300: 0.06, 1000: 0.17}),
    (0.02, Wordings(1.0, discount=0.5), {1000: 0.13}),
    (0.2, Wordings(1.0, discount=0.5), {300: 0.09, 1000: 0.02}),
    (0.2, Wordings(10.0, discount=0.5), {300: 0.08, 1000: 0.17}),
    (1.0, Wordings(10.0, discount=0.5), {1000: 0.19}),
)


def default_prior() -> Prior:
    """The prior, its weights summing to 1."""
    kinds = [Kind(alpha, wordings, SIZES) for alpha, wordings in GRID]
    weights = [(FEW / len(GRID) / len(SIZES),) * len(SIZES) for _ in GRID]
    total = sum(sum(sizes.values()) for *_, sizes in OPEN)
    for alpha, wordings, sizes in OPEN:
        kinds.append(Kind(alpha, wordings, tuple(sizes)))
        weights.append(tuple((1 - FEW) * weight / total for weight in sizes.values()))
    return Prior(tuple(kinds), tuple(weights))


if __name__ == "__main__":
    default_prior().save(TARGET)
