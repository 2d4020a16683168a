"""Draws without replacement against independent draws: how far `bayes` is from the true entropy after N of each.

The sequences seen of a recorded question, their probabilities scaled to sum to 1, are a closed population: its semantic
entropy is known exactly, and any number of samples can be drawn from it either way. The most probable sequence is the
answer; draws without replacement do not repeat it, as in a check. The prior is the one that ships. Limit: draws
without replacement are nowhere farther from the truth. Needs ../shared/data. `python -m benchmarks distinct`.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.verdict import NAMES, SHARED
from semtropy import Evidence, Partition, Sample, load_estimator
from semtropy.estimators.histogram import plug_in
from semtropy.recording import read_recording
from semtropy.study.evaluate.questions import sorted_by_id

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semtropy.recording.draws import Draws

BUDGETS = (1, 2, 3, 5)
DRAWS = 4
QUESTIONS = 150
RECORDINGS = ("Llama-2 SVAMP", "Llama-3.2 SVAMP", "Qwen TriviaQA")
SLACK = 0.01  # nats, of chance


@dataclass(frozen=True)
class Population:
    """Every sequence of a question, with its probability and meaning."""

    shares: np.ndarray
    meanings: np.ndarray

    @classmethod
    def of(cls, draws: Draws) -> Population | None:
        """The distinct sequences among all stored samples; None where there is but one."""
        found, first = np.unique(draws.sequences[draws.sequences >= 0], return_index=True)
        known = np.flatnonzero(draws.sequences >= 0)[first]
        if found.size < 2:
            return None
        shares = draws.probabilities[known]
        return cls(shares / shares.sum(), draws.meanings[known])

    @property
    def entropy(self) -> float:
        return plug_in(np.bincount(self.meanings, weights=self.shares).tolist())

    @property
    def answer(self) -> int:
        return int(self.shares.argmax())

    def independent(self, n: int, rng: np.random.Generator) -> list[int]:
        return rng.choice(self.shares.size, size=n, p=self.shares).tolist()

    def distinct(self, n: int, rng: np.random.Generator, without: Sequence[int] = ()) -> list[int]:
        """Successive draws of what is left; the order is that of independent exponential waiting times."""
        times = rng.exponential(size=self.shares.size) / np.maximum(self.shares, 1e-300)
        times[list(without)] = math.inf
        left = self.shares.size - len(without)
        return np.argsort(times)[: min(n, left)].tolist()

    def evidence(self, drawn: Sequence[int], *, answer: bool, replacement: bool) -> Evidence:
        labels = self.meanings[list(drawn)].tolist()
        partition = Partition.of(labels)
        if not answer:
            return Evidence.gather(self._samples(drawn), partition, replacement=replacement)
        own = dict(zip(labels, partition.meanings, strict=True)).get(
            int(self.meanings[self.answer]), partition.size
        )
        (judged,) = self._samples([self.answer])
        return Evidence.gather(self._samples(drawn), partition, judged, own, replacement=replacement)

    def _samples(self, places: Sequence[int]) -> list[Sample]:
        logs = [math.log(max(float(self.shares[k]), 1e-300)) for k in places]
        return [
            Sample(str(k), log, (int(k),), sampling_logprob=log) for k, log in zip(places, logs, strict=True)
        ]


def measure(name: str) -> bool:
    """Print the lines of one recording; whether draws without replacement are nowhere farther from the truth."""
    rows = sorted_by_id(read_recording(SHARED / f"{NAMES[name]}.jsonl.gz"))[:QUESTIONS]
    populations = [each for row in rows if (each := Population.of(row.draws())) is not None]
    truth = np.array([each.entropy for each in populations])
    bayes = load_estimator("bayes")
    print(f"{name}: {len(populations)} questions of two sequences or more; RMS distance in nats")
    enough = True
    for answer in (False, True):
        for n in BUDGETS:
            rng = np.random.default_rng(n)
            squares: list[list[float]] = [[], []]
            for _ in range(DRAWS):
                independent = [
                    each.evidence(each.independent(n, rng), answer=answer, replacement=True)
                    for each in populations
                ]
                distinct = [
                    each.evidence(
                        each.distinct(n, rng, [each.answer] if answer else ()),
                        answer=answer,
                        replacement=False,
                    )
                    for each in populations
                ]
                for place, evidences in enumerate((independent, distinct)):
                    found = bayes.batch(evidences).mean
                    squares[place].append(float(((found - truth) ** 2).mean()))
            before, after = (math.sqrt(np.mean(each)) for each in squares)
            enough = enough and after <= before + SLACK
            what = "answer and" if answer else "          "
            print(f"  {what} N={n}  independent {before:.3f}  without replacement {after:.3f}", flush=True)
    return enough


def main() -> bool:
    """Whether the limit was missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks distinct", description=__doc__)
    parser.add_argument("names", nargs="*", default=RECORDINGS, help="which recordings")
    given = parser.parse_args()
    if not SHARED.exists():
        print("needs ../shared/data")
        return False
    enough = [measure(name) for name in given.names]
    return not all(enough)


if __name__ == "__main__":
    raise SystemExit(main())
