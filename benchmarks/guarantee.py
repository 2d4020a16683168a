"""Guarantees on random splits of the recordings: how often one is broken, and how many answers pass beside the best.

Each split takes the grades of a part of the questions, finds the largest threshold with the guarantee, and looks at the
others. "Broken" counts splits whose threshold lets more than the promised share of all questions' passed answers be
wrong; "on the rest" those where the part that was held out shows more, which happens by chance too. The best threshold
in hindsight knows all grades. `python -m benchmarks.guarantee [--splits 2000] [--estimator bayes]`.
"""

from __future__ import annotations

import argparse

import numpy as np

from benchmarks.verdict import NAMES, SHARED
from semtropy.calibration import PassedAnswers
from semtropy.estimators import load_estimator
from semtropy.recording import read_recording
from semtropy.study.calibrate import THRESHOLDS, passed_at
from semtropy.study.evaluate.resampling import StudyQuestion, sorted_by_id


def split(
    passed: np.ndarray, wrong: np.ndarray, at_most: float, options: argparse.Namespace
) -> tuple[float, float, float, float, float]:
    """Shares of splits broken, broken on the rest, and without a guarantee; answers that pass, and at best."""
    rng, shares = np.random.default_rng(options.seed), passed.mean(axis=1)
    error = np.array([wrong[row].mean() if row.any() else 0.0 for row in passed])
    best = max((shares[i] for i in range(len(error)) if error[i] <= at_most), default=0.0)
    broken = on_rest = none = kept = 0.0
    for _ in range(options.splits):
        graded = rng.random(wrong.size) < options.part
        row = PassedAnswers(passed[:, graded], wrong[graded]).largest(at_most, options.confidence)
        if row is None:
            none += 1
            continue
        rest = passed[row] & ~graded
        broken += error[row] > at_most
        on_rest += bool(rest.any() and wrong[rest].mean() > at_most)
        kept += shares[row]
    n = options.splits
    return broken / n, on_rest / n, none / n, kept / max(n - none, 1), best


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.guarantee", description=__doc__)
    parser.add_argument("--splits", type=int, default=2000, help="random splits (default: 2000)")
    parser.add_argument("--part", type=float, default=0.5, help="share that is graded (default: 0.5)")
    parser.add_argument("--confidence", type=float, default=0.95, help="of the guarantee (default: 0.95)")
    parser.add_argument("--estimator", default="histogram", help="bayes takes minutes (default: histogram)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the splits (default: 0)")
    options = parser.parse_args(arguments)
    for name, file in NAMES.items():
        path = SHARED / f"{file}.jsonl.gz"
        if not path.exists():
            print(f"{name}: skipped, {path} is not there")
            continue
        rows = sorted_by_id(read_recording(path))
        questions = [each for each in map(StudyQuestion.of, rows) if each.wrong is not None]
        wrong = np.array([bool(question.wrong) for question in questions])
        passed = passed_at(questions, load_estimator(options.estimator), THRESHOLDS)
        print(f"{name}: {wrong.size} questions, {wrong.mean():.0%} wrong, {options.estimator}")
        for at_most in (0.1, 0.2, 0.3):
            broken, on_rest, none, kept, best = split(passed, wrong, at_most, options)
            print(
                f"  at most {at_most:.0%}: broken {broken:.1%} (on the rest {on_rest:.1%}), not reachable {none:.0%}; "
                f"{kept:.0%} pass, {best:.0%} at best in hindsight",
                flush=True,
            )


if __name__ == "__main__":
    main()
