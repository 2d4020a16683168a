"""How well each method ranks the questions of a recording by entropy, and its error in nats.

    python -m benchmarks.recorded RECORDING... [--processes 16] [--folds 5] [--json OUT]

One table per recording, methods by numbers of samples: AUROC of finding wrong answers / Spearman's rank correlation
with the entropy of all samples / root-mean-square error against it in nats. That reference is the plug-in entropy of
all samples of the question with the Miller-Madow correction. Where most of a hundred samples differ it is too low
itself; a line above the table gives the number of meanings. Priors are fitted on the other folds; values are means over
the draws. Scorers, which estimate no entropy, have no error.
"""

from __future__ import annotations

import argparse
import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import spearmanr

from semtropy.estimators.counts import plug_in
from semtropy.scorers import NAMES as SCORERS
from semtropy.study.evaluate.metrics import auroc, half_width, round_scores
from semtropy.study.evaluate.prepare import Split
from semtropy.study.evaluate.resampling import ResamplingPlan
from semtropy.study.evaluate.run import available_cores, estimate_recordings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from semtropy.recording.arrays import SampleArrays
    from semtropy.study.evaluate.prepare import StudyRecording

__all__ = ["Figure", "entropy_of_all", "figures", "main", "tables"]

BUDGETS = (1, 2, 3, 5, 10)


@dataclass(frozen=True, slots=True)
class Figure:
    """One method on one recording at one number of samples.

    `auroc` is None where all answers are wrong or all right, `distance` where the method estimates no entropy.
    """

    recording: str
    estimator: str
    budget: int
    auroc: float | None
    half_width: float
    rank_correlation: float
    distance: float | None

    def __str__(self) -> str:
        parts = (self.auroc, ".3f"), (self.rank_correlation, ".2f"), (self.distance, ".2f")
        return " / ".join("-" if value is None else format(value, form) for value, form in parts)


def entropy_of_all(draws: SampleArrays) -> float:
    """The entropy of all samples with Miller and Madow's correction, in nats.

    >>> from semtropy import Partition, Sample
    >>> from semtropy.recording.arrays import SampleArrays
    >>> round(entropy_of_all(SampleArrays.of([Sample("a"), Sample("b")], Partition((0, 1)))), 4)
    0.9431
    """
    counts = np.bincount(draws.meanings)
    return plug_in(counts.tolist()) + (len(counts) - 1) / (2 * len(draws))


def figures(name: str, prepared: StudyRecording, budgets: Sequence[int]) -> list[Figure]:
    """Every figure of one recording, whose scores are those at `budgets`."""
    wrong = np.array([bool(question.wrong) for question in prepared.test])
    truth = np.array([entropy_of_all(question.arrays) for question in prepared.test])
    found = []
    for method in prepared.methods:
        means = round_scores(prepared.scores[method].mean)
        for place, budget in enumerate(budgets):
            drawn = means[min(place, len(means) - 1)]
            areas = auroc(drawn, wrong)
            order = float(np.mean([_rank_correlation(row, truth) for row in drawn]))
            distance = None if method in SCORERS else float(np.sqrt(np.mean((drawn - truth) ** 2)))
            area, width = _known(areas.mean()), float(half_width(areas))
            found.append(Figure(name, method, budget, area, width, order, distance))
    return found


def _rank_correlation(scores: NDArray[np.float64], truth: NDArray[np.float64]) -> float:
    """Spearman's; no order at all (one sample, by counts alone) is no correlation."""
    if np.ptp(scores) == 0 or np.ptp(truth) == 0:
        return 0.0
    return float(spearmanr(scores, truth).statistic)


def _known(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def tables(found: Sequence[Figure], about: dict[str, str]) -> str:
    """Markdown, a table a recording."""
    blocks = []
    for name, words in about.items():
        own = [figure for figure in found if figure.recording == name]
        budgets = sorted({figure.budget for figure in own})
        lines = [
            f"### {name}\n",
            f"{words}\n",
            "| estimator | " + " | ".join(f"N = {n}" for n in budgets) + " |",
            "|---|" + "---|" * len(budgets),
        ]
        for method in dict.fromkeys(figure.estimator for figure in own):
            cells = [str(figure) for figure in own if figure.estimator == method]
            lines.append(f"| {method} | " + " | ".join(cells) + " |")
        blocks.append("\n".join(lines) + "\n")
    return "\n".join(blocks)


def described(prepared: StudyRecording) -> str:
    """A sentence on what the tables cannot show: how many questions, how many wrong, how many meanings."""
    tested = prepared.test
    meanings = [int(question.arrays.meanings.max()) + 1 for question in tested]
    samples = [len(question.arrays) for question in tested]
    return (
        f"{len(tested)} questions, {sum(bool(question.wrong) for question in tested)} answered wrong; "
        f"{np.median(meanings):g} meanings of {np.median(samples):g} samples (medians)."
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables; `--json` keeps the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recorded")
    parser.add_argument("recordings", nargs="+", type=Path)
    parser.add_argument("--processes", type=int, default=available_cores())
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--draws", type=int, default=5, help="how many times samples are drawn")
    parser.add_argument("--budgets", type=int, nargs="+", default=list(BUDGETS))
    parser.add_argument("--estimators", nargs="+")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args(arguments)
    budgets = tuple(sorted(set(given.budgets)))
    found, about, notes = [], {}, []
    for path in given.recordings:  # one after the other: two may be of the same questions with other meanings
        [prepared] = estimate_recordings(
            [path],
            estimators=given.estimators,
            plan=ResamplingPlan(budget=budgets[-1], repeats=given.draws, steps=budgets),
            split=Split(folds=given.folds, shuffle=0),
            processes=given.processes,
        )
        name = path.name.removesuffix(".gz").removesuffix(".jsonl")
        about[name] = described(prepared)
        notes += prepared.notes
        mine = figures(name, prepared, budgets)
        found += mine
        print(tables(mine, {name: about[name]}), flush=True)
    for note in notes:
        print(f"- {note}")
    if given.json is not None:
        found_json = {"about": about, "notes": notes, "figures": [asdict(figure) for figure in found]}
        given.json.write_text(json.dumps(found_json, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
