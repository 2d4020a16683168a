"""The answer as evidence: AUROC, order, distance, coverage and samples spent, with a prior fitted in three folds.

Each recording is read whole; the judged answer is the recorded one, or the most frequent sample where none has a
log-probability. Draws are with replacement, as in a study. `python -m benchmarks verdict [--draws 20]`.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr

from semtropy.estimators import Prior
from semtropy.estimators.bayes import Bayes
from semtropy.recording import read_recording
from semtropy.stopping import Decided, Spent, suspicion
from semtropy.study.evaluate.metrics import auroc
from semtropy.study.evaluate.questions import StudyQuestion, sorted_by_id
from semtropy.study.evaluate.resample import ResamplingPlan, draw_order

SHARED = Path(__file__).parents[2] / "shared" / "data" / "recordings"
NAMES = {
    "Llama-2 SVAMP": "Llama-2-7b-chat--svamp",
    "Llama-3.2 SVAMP": "Llama-3.2-3B-Instruct--svamp",
    "Qwen SVAMP": "Qwen2.5-Coder-1.5B-Instruct--svamp",
    "Qwen TriviaQA": "Qwen2.5-Coder-1.5B-Instruct--trivia_qa",
}
BUDGETS = (0, 1, 2, 3, 5, 10)
FOLDS = 3
THRESHOLD = math.log(2)


def miller_madow(meanings: np.ndarray) -> tuple[float, float]:
    """The corrected entropy of all stored samples, and its standard error."""
    counts = np.bincount(meanings)
    p = counts[counts > 0] / counts.sum()
    plug_in = float(-(p * np.log(p)).sum())
    spread = math.sqrt(max(float((p * np.log(p) ** 2).sum()) - plug_in**2, 0.0) / counts.sum())
    return plug_in + (p.size - 1) / (2 * counts.sum()), spread


def measure(name: str, path: Path, draws: int, *, default: bool, coverage: bool) -> None:
    """Print the lines of one recording."""
    rows = sorted_by_id(read_recording(path))
    questions = [StudyQuestion.of(row) for row in rows]
    wrong = np.array([bool(question.wrong) for question in questions])
    truth = np.array([miller_madow(question.draws.meanings) for question in questions])
    plan = ResamplingPlan(budget=max(BUDGETS), draws=draws)
    entropy, agreement = (np.empty((len(BUDGETS), draws, len(rows))) for _ in range(2))
    inside = np.full((len(BUDGETS), len(rows)), np.nan)
    spent, agrees, ten = np.zeros(len(rows)), np.zeros(len(rows)), np.zeros(len(rows))
    for fold in range(FOLDS):
        test = np.arange(fold, len(rows), FOLDS)
        training = [row for i, row in enumerate(rows) if i % FOLDS != fold]
        bayes = Bayes(Prior.default() if default else Prior.fit(training))
        for draw in range(draws):
            paths = [list(questions[i].draws.path(draw_order(questions[i], plan, draw))) for i in test]
            for b, n in enumerate(BUDGETS):
                evidences = [path[n] for path in paths]
                entropy[b, draw, test] = bayes.batch(evidences).mean
                agreement[b, draw, test] = bayes.agreements(evidences)
            if draw == 0 and coverage:
                for i, path in zip(test, paths, strict=True):
                    decide(bayes, path, i, questions[i], spent, agrees, ten)
                    for b, n in enumerate(BUDGETS):
                        low, high = bayes(path[n]).interval(0.9)
                        slack = 1.645 * truth[i, 1]
                        inside[b, i] = low - slack <= truth[i, 0] <= high + slack
    print(f"{name}: {len(rows)} questions, {wrong.mean():.0%} wrong, {draws} draws")
    for b, n in enumerate(BUDGETS):
        by_entropy, by_agreement = auroc(entropy[b], wrong).mean(), auroc(-agreement[b], wrong).mean()
        rank = np.mean([spearmanr(each, truth[:, 0])[0] for each in entropy[b]])
        distance = math.sqrt(float(((entropy[b] - truth[:, 0]) ** 2).mean()))
        held = f"  holds {np.nanmean(inside[b]):.0%}" if coverage else ""
        print(
            f"  N={n:2}  AUROC {by_entropy:.3f} (entropy) {by_agreement:.3f} (agreement)  rank {rank:.3f}"
            f"  distance {distance:.3f}{held}",
            flush=True,
        )
    if coverage:
        print(
            f"  decided at 0.95: {spent.mean():.2f} samples, agrees with all stored samples {agrees.mean():.1%};"
            f" ten samples {ten.mean():.1%}"
        )


def decide(bayes, path, i, question, spent, agrees, ten) -> None:
    """Follow the default rule along one order of samples, and compare its verdict with that of all samples."""
    rule = Decided(THRESHOLD)
    meanings = question.draws.meanings
    share = float((meanings == question.draws.answer.meaning).mean())
    flagged = miller_madow(meanings)[0] > THRESHOLD or share < 0.5

    def leans(n: int) -> bool:
        return suspicion(bayes(path[n]), THRESHOLD) > 0.5

    n = 0
    while n < 10 and rule(bayes(path[n]), Spent(samples=n)) is None:
        n += max(1, math.ceil(n * 0.5)) if n else 1
        n = min(n, 10)
    spent[i], agrees[i], ten[i] = n, leans(n) == flagged, leans(10) == flagged


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks verdict", description=__doc__)
    parser.add_argument("--draws", type=int, default=20, help="orders of samples per question (default: 20)")
    parser.add_argument("--only", help="recordings whose name contains this")
    parser.add_argument("--default", action="store_true", help="the shipped prior instead of a fitted one")
    parser.add_argument("--quick", action="store_true", help="without intervals and the rule")
    options = parser.parse_args(arguments)
    for name, file in NAMES.items():
        path = SHARED / f"{file}.jsonl.gz"
        if not path.exists():
            print(f"{name}: skipped, {path} is not there")
        elif options.only is None or options.only in name:
            measure(name, path, options.draws, default=options.default, coverage=not options.quick)


if __name__ == "__main__":
    main()
