"""The answer as evidence: AUROC, order, distance, coverage and samples spent, with a prior fitted in three folds.

Each recording is read whole; the judged answer is the recorded one, or the most frequent sample where none has a
log-probability. Draws are with replacement, as in a study. `--halves` adds the figures of the questions at even and at
odd places, sorted by id: whatever is chosen by these recordings (the prior for phrases, and that the answer's words
count twice) is chosen on the first half, and then read on the second. `python -m benchmarks.verdict [--draws 20]`.
"""

from __future__ import annotations

import argparse
import math
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import spearmanr

from semtropy.estimators import Prior
from semtropy.estimators.bayes import Bayes
from semtropy.recording import read_recording
from semtropy.stopping import RELAXATION, Decided, Spent, suspicion
from semtropy.study.evaluate.metrics import auroc
from semtropy.study.evaluate.resampling import ResamplingPlan, StudyQuestion, sample_order, sorted_by_id

if TYPE_CHECKING:
    from semtropy.nouns import Belief

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
RULES = {
    "decided at 0.95": Decided(THRESHOLD),
    "the default rule": Decided(THRESHOLD, relaxation=RELAXATION),
}


def miller_madow(meanings: np.ndarray) -> tuple[float, float]:
    """The corrected entropy of all stored samples, and its standard error."""
    counts = np.bincount(meanings)
    p = counts[counts > 0] / counts.sum()
    plug_in = float(-(p * np.log(p)).sum())
    spread = math.sqrt(max(float((p * np.log(p) ** 2).sum()) - plug_in**2, 0.0) / counts.sum())
    return plug_in + (p.size - 1) / (2 * counts.sum()), spread


def chao_shen(meanings: np.ndarray) -> float:
    """Chao and Shen's estimate, which adds what meanings that were never drawn contribute."""
    counts = np.bincount(meanings)
    counts, n = counts[counts > 0], meanings.size
    once = int((counts == 1).sum())
    p = (1 - min(once, n - 1) / n) * counts / n
    return float(-(p * np.log(p) / (1 - (1 - p) ** n)).sum())


@lru_cache
def recorded_given_true(samples: int) -> tuple[np.ndarray, list[np.ndarray]]:
    """What `samples` samples say of an entropy: true values, and simulated values of Miller and Madow's estimate.

    Simulated from Pitman-Yor processes of four discounts and many concentrations, in bins of the true entropy: forty
    samples of an entropy of 5 nats give an estimate of about 3.6.
    """
    rng, found = np.random.default_rng(0), []
    for discount in (0.0, 0.25, 0.5, 0.75):
        for concentration in np.geomspace(0.02, 300, 60):
            for _ in range(60):
                shares = rng.beta(1 - discount, concentration + discount * np.arange(1, 3000))
                p = shares * np.concatenate([[1.0], np.cumprod(1 - shares[:-1])])
                p = p[p > 0] / p.sum()
                drawn = np.searchsorted(np.cumsum(p), rng.random(samples) * p.sum())
                found.append((-(p * np.log(p)).sum(), miller_madow(drawn)[0]))
    true, recorded = np.array(found).T
    place = np.digitize(true, np.arange(0.02, 7.0, 0.1))
    bins = [i for i in range(place.max() + 1) if (place == i).sum() >= 30]
    return np.array([true[place == i].mean() for i in bins]), [np.sort(recorded[place == i]) for i in bins]


def recorded_is_inside(belief: Belief, meanings: np.ndarray, level: float = 0.9) -> bool:
    """Whether what all stored samples say lies in the central interval of what the belief predicts they say.

    The stored samples do not tell the entropy itself: forty leave much of an open question unseen. The belief's
    prediction of their estimate is a mixture over entropies, each with the simulated distribution of the estimate.
    """
    true, recorded = recorded_given_true(int(meanings.size))
    edges = np.concatenate([(true[1:] + true[:-1]) / 2, [np.inf]])
    mass = np.diff(belief.distribution.cdf(np.minimum(edges, 50.0)), prepend=0.0)
    estimate = miller_madow(meanings)[0]
    below = [  # ties count half: all samples alike, or all different, are probable
        np.searchsorted(own, [estimate - 1e-9, estimate + 1e-9]).mean() / own.size for own in recorded
    ]
    return (1 - level) / 2 <= float(mass @ below / mass.sum()) <= (1 + level) / 2


def measure(name: str, path: Path, options: argparse.Namespace) -> None:
    """Print the lines of one recording."""
    rows = sorted_by_id(read_recording(path))
    questions = [StudyQuestion.of(row) for row in rows]
    wrong = np.array([bool(question.wrong) for question in questions])
    truth = np.array([miller_madow(question.arrays.meanings) for question in questions])
    shares = np.array([_share(question) for question in questions])
    with ProcessPoolExecutor(options.processes) as pool:
        folds = [[row for i, row in enumerate(rows) if i % FOLDS != fold] for fold in range(FOLDS)]
        given = Prior.default() if options.default else options.prior and Prior.load(options.prior)
        priors = [given] * FOLDS if given else list(pool.map(Prior.fit, folds))
        tasks = [
            (prior, questions, fold, draw)
            for fold, prior in enumerate(priors)
            for draw in range(options.draws)
        ]
        scored = list(pool.map(_score, tasks))
        looked = [] if options.quick else list(pool.map(_look, [task for task in tasks if task[3] == 0]))
    entropy, agreement = (np.empty((len(BUDGETS), options.draws, len(rows))) for _ in range(2))
    for (_, _, fold, draw), (by_entropy, by_agreement) in zip(tasks, scored, strict=True):
        entropy[:, draw, fold::FOLDS], agreement[:, draw, fold::FOLDS] = by_entropy, by_agreement
    inside, rules = np.zeros((len(BUDGETS), len(rows))), np.zeros((len(RULES), 3, len(rows)))
    for fold, (held, said) in enumerate(looked):
        inside[:, fold::FOLDS], rules[:, :, fold::FOLDS] = held, said
    print(f"{name}: {len(rows)} questions, {wrong.mean():.0%} wrong, {options.draws} draws")
    halves = {", the half to choose on": slice(0, None, 2), ", the half to read": slice(1, None, 2)}
    for part, own in {"": slice(None), **(halves if options.halves else {})}.items():
        if part:
            print(f"{name}{part}")
        for b, n in enumerate(BUDGETS):
            held = f"  holds {inside[b, own].mean():.0%}" if looked else ""
            print(_figures(n, entropy[b, :, own], agreement[b, :, own], truth[own, 0], wrong[own]) + held)
        areas = auroc(truth[None, own, 0], wrong[own])[0], auroc(-shares[None, own], wrong[own])[0]
        print(f"  all   AUROC {areas[0]:.3f} (entropy) {areas[1]:.3f} (agreement) of all stored samples")
        for rule, (spent, agrees, ten) in zip(RULES, rules[:, :, own], strict=True) if looked else ():
            print(
                f"  {rule}: {spent.mean():.2f} samples, agrees with all stored samples {agrees.mean():.1%};"
                f" ten samples {ten.mean():.1%}; no sample {np.mean(spent == 0):.0%}",
                flush=True,
            )


def _figures(n: int, entropy: np.ndarray, agreement: np.ndarray, truth: np.ndarray, wrong: np.ndarray) -> str:
    """The line of one number of samples."""
    rank = np.mean([spearmanr(each, truth)[0] for each in entropy])
    distance = math.sqrt(float(((entropy - truth) ** 2).mean()))
    areas = auroc(entropy, wrong).mean(), auroc(-agreement, wrong).mean()
    return (
        f"  N={n:2}  AUROC {areas[0]:.3f} (entropy) {areas[1]:.3f} (agreement)  rank {rank:.3f}"
        f"  distance {distance:.3f}"
    )


def _share(question: StudyQuestion) -> float:
    """The share of all stored samples that mean what the answer means."""
    return float((question.arrays.meanings == question.arrays.answer.meaning).mean())


def _paths(questions, fold, draw):
    plan = ResamplingPlan(budget=max(BUDGETS), repeats=draw + 1)
    return [
        list(question.arrays.path(sample_order(question, plan, draw))) for question in questions[fold::FOLDS]
    ]


def _score(task) -> tuple[np.ndarray, np.ndarray]:
    """Entropies and agreements of one fold's questions at every budget, along one draw."""
    prior, questions, fold, draw = task
    bayes, paths = Bayes(prior), _paths(questions, fold, draw)
    evidences = [[path[n] for path in paths] for n in BUDGETS]
    return (
        np.array([bayes.batch(each).mean for each in evidences]),
        np.array([bayes.agreements(each) for each in evidences]),
    )


def _look(task) -> tuple[np.ndarray, np.ndarray]:
    """Which intervals hold, and what each rule spends and says, along one draw of one fold."""
    prior, questions, fold, draw = task
    bayes, paths = Bayes(prior), _paths(questions, fold, draw)
    inside = np.zeros((len(BUDGETS), len(paths)))
    rules = np.zeros((len(RULES), 3, len(paths)))
    for i, (question, path) in enumerate(zip(questions[fold::FOLDS], paths, strict=True)):
        beliefs = {n: bayes(evidence) for n, evidence in enumerate(path)}
        reached = miller_madow(question.arrays.meanings)[0]
        for b, n in enumerate(BUDGETS):
            inside[b, i] = recorded_is_inside(beliefs[n], question.arrays.meanings)
        flagged = reached > THRESHOLD or _share(question) < 0.5
        leans = {n: suspicion(belief, THRESHOLD) > 0.5 for n, belief in beliefs.items()}
        for k, rule in enumerate(RULES.values()):
            n = 0
            while n < 10 and rule(beliefs[n], Spent(samples=n)) is None:
                n = min(10, n + (max(1, math.ceil(n * 0.5)) if n else 1))
            rules[k, :, i] = n, leans[n] == flagged, leans[10] == flagged
    return inside, rules


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.verdict", description=__doc__)
    parser.add_argument("--draws", type=int, default=20, help="orders of samples per question (default: 20)")
    parser.add_argument("--processes", type=int, default=2, help="worker processes (default: 2)")
    parser.add_argument("--only", help="recordings whose name contains this")
    parser.add_argument("--default", action="store_true", help="the shipped prior instead of a fitted one")
    parser.add_argument("--prior", type=Path, help="a saved prior instead of a fitted one")
    parser.add_argument("--recording", type=Path, nargs="+", help="recordings to read instead of the four")
    parser.add_argument("--halves", action="store_true", help="the two halves of the questions, too")
    parser.add_argument("--quick", action="store_true", help="without intervals and the rule")
    options = parser.parse_args(arguments)
    chosen = {name: SHARED / f"{file}.jsonl.gz" for name, file in NAMES.items()}
    if options.recording:
        chosen = {path.name.partition(".jsonl")[0]: path for path in options.recording}
    for name, path in chosen.items():
        if not path.exists():
            print(f"{name}: skipped, {path} is not there")
        elif options.only is None or options.only in name:
            measure(name, path, options)


if __name__ == "__main__":
    main()
