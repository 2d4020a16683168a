"""How long a study takes, against the paper's importance sampler on the same cores and in the same run.

A recording of 1,000 questions x 100 samples, every column there, is made up from a fixed seed: questions with few and
many meanings, each meaning with several wordings, as the paper's own have. `--full` runs thirteen of them, a study of
the paper's size. Three limits hold on the machine of the documentation, and a run says which of them it missed.
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.efficiency import SHARED
from semtropy.estimators import PaperPrior, Prior, load_estimator
from semtropy.estimators.fitting import TrainingQuestion
from semtropy.recording import Header, Row, read_recording, write_recording
from semtropy.study.evaluate import METHODS, evaluate
from semtropy.study.evaluate.resampling import ResamplingPlan, StudyQuestion, sample_order, sorted_by_id
from semtropy.study.evaluate.run import available_cores

PROCESSES = min(2, available_cores())
QUESTIONS, SAMPLES, TRAIN = 1000, 100, 200
# The paper's estimates of one recording: 800 questions x 10 budgets x 5 draws, and as many again along the
# growing samples of its adaptive curves; then how many of them are timed.
FIXED = (QUESTIONS - TRAIN) * 10 * 5
ADAPTIVE = FIXED
TIMED, ROUNDS = 1600, 3
# The limits of processor time: 1,000 questions over the sampler, one fit in seconds, and the whole study of 13
# recordings with all methods in seconds, which is three minutes on two cores.
MOST_RATIO, MOST_FIT, MOST_STUDY = 0.35, 2.0, 360.0
SAMPLER = "importance sampler alone, the paper's 80,000 estimates"
ONE = "1,000 questions, bayes and the paper's methods"
ONE_ALL = "1,000 questions, all methods"
WHOLE = "13 x 1,000 questions, all methods"
# The methods of the paper's table, and ours: what the limits of time are set for.
PAPER = (
    "bayes",
    "bayes-paper",
    "histogram",
    "rescaled",
    "rescaled-length",
    "log-likelihood",
    "p-true",
    "length",
)


def make_question(place: int, rng: np.random.Generator) -> dict[str, Any]:
    """One question: its meanings and wordings by power laws, log-probabilities exact by construction."""
    certain = rng.random() < 0.35
    meanings = 1 if certain else int(rng.integers(2, 60))
    wordings = int(rng.integers(1, 4))
    shares = np.arange(1, meanings + 1, dtype=float) ** -rng.uniform(0.5, 2.5)
    inner = np.arange(1, wordings + 1, dtype=float) ** -1.5
    joint = np.outer(shares / shares.sum(), inner / inner.sum())
    picks = rng.choice(joint.size, size=SAMPLES, p=joint.ravel())
    samples = []
    for pick in picks.tolist():
        meaning, wording = divmod(pick, wordings)
        logprob = float(np.log(joint[meaning, wording]))
        samples.append(
            {
                "text": f"answer {meaning} in wording {wording}",
                "logprob": logprob,
                "token_logprobs": [logprob / 4] * 4,
                "meaning": meaning,
            }
        )
    wrong = rng.random() < 0.1 + 0.7 * (1 - joint.sum(axis=1).max())
    return {
        "id": str(place),
        "question": f"question {place}",
        "references": [],
        "answer": {"text": "answer 0", "logprob": float(np.log(joint[0, 0])), "correct": not wrong},
        "samples": samples,
        "p_true": float(rng.random()),
    }


def make_recording(folder: Path, name: str, questions: int, seed: int) -> Path:
    """Write a made-up recording of that many questions."""
    rng = np.random.default_rng(seed)
    path = folder / f"{name}.jsonl.gz"
    header = Header.make(model=name, dataset="made up", temperature=1.0, eos_included=True)
    write_recording(path, header, (make_question(place, rng) for place in range(questions)))
    return path


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds on the clock, and seconds of processor time over all processes: the second does not feel other work."""

    clock: float
    processor: float


def costs(work: Callable[[], object]) -> Cost:
    """What some work costs; its processes have ended when it returns."""
    clock, before = time.perf_counter(), os.times()
    work()
    after = os.times()
    used = sum(getattr(after, part) - getattr(before, part) for part in ("user", "children_user"))
    return Cost(time.perf_counter() - clock, used)


def study_cost(paths: list[Path], names: list[str], train: int = TRAIN) -> Cost:
    """What a whole study of those recordings costs."""
    return costs(lambda: evaluate(paths, estimators=names, train=train, processes=PROCESSES))


def sampler_cost(path: Path) -> Cost:
    """What the importance sampler needs for the paper's estimates at fixed and adaptive budgets, on all cores at best.

    Timed on evidence spread over questions, draws and budgets as in the paper, the best of several rounds, scaled up.
    """
    rows: list[Row] = sorted_by_id(read_recording(path))
    prior = PaperPrior.fit(rows[:TRAIN])
    rng = np.random.default_rng(0)
    estimator = load_estimator("bayes-paper", prior=prior, method="importance", rng=rng)
    evidences = []
    for at in range(TIMED):
        question = StudyQuestion.of(rows[TRAIN + (at * 7) % (QUESTIONS - TRAIN)])
        path_along = list(question.arrays.path(sample_order(question, ResamplingPlan(), repeat=at % 5)))
        evidences.append(path_along[at % 10])
    once = min((costs(lambda: estimator.batch(evidences)) for _ in range(ROUNDS)), key=lambda c: c.processor)
    scale = (FIXED + ADAPTIVE) / TIMED
    return Cost(once.clock * scale / PROCESSES, once.processor * scale)


def fit_cost(path: Path) -> float:
    """Seconds of processor time to fit a prior to the training questions of a recording, the best of several rounds."""
    questions = [TrainingQuestion.of(row) for row in sorted_by_id(read_recording(path))[:TRAIN]]
    return min(costs(lambda: Prior.fit(questions)).processor for _ in range(ROUNDS))


def peak_gigabytes() -> float:
    """The largest this process and the largest a child has been, all of them at once at worst."""
    own, child = (
        resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return (own + PROCESSES * child) / 1024**2


def limits_kept(lines: dict[str, Cost], fits: dict[str, float]) -> bool:
    """Print each limit and how far the run is from it; whether all are kept."""
    sampler, one, all_methods = (lines[label].processor for label in (SAMPLER, ONE, ONE_ALL))
    whole = lines[WHOLE].processor if WHOLE in lines else 13 * all_methods
    slowest = max(fits, key=lambda name: fits[name])
    checked = (
        (f"{ONE}, of the sampler's processor time", one / sampler, MOST_RATIO),
        (f"a fit of {TRAIN} questions, seconds (slowest: {slowest})", fits[slowest], MOST_FIT),
        (f"{WHOLE}, seconds of processor time", whole, MOST_STUDY),
    )
    for label, value, most in checked:
        print(f"{'kept' if value <= most else 'MISSED'}: {label}: {value:.2f}, at most {most:g}")
    return all(value <= most for _, value, most in checked)


def main() -> bool:
    """Print the costs as a small table; True where a limit is missed."""
    everything = list(METHODS)
    without = [name for name in everything if name not in ("bayes", "agreement")]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        one = make_recording(folder, "one", QUESTIONS, seed=0)
        half = make_recording(folder, "half", QUESTIONS // 2, seed=0)
        fits = {
            path.name.split(".jsonl")[0]: fit_cost(path) for path in (one, *sorted(SHARED.glob("*.jsonl.gz")))
        }
        lines = {
            SAMPLER: sampler_cost(one),
            ONE: study_cost([one], list(PAPER)),
            ONE_ALL: study_cost([one], everything),
            "1,000 questions, without bayes": study_cost([one], without),
            "500 questions, all methods": study_cost([half], everything, TRAIN // 2),
        }
        if "--full" in sys.argv:
            many = [make_recording(folder, f"set {at}", QUESTIONS, seed=at) for at in range(13)]
            lines["13 x 1,000 questions, without bayes"] = study_cost(many, without)
            lines["13 x 1,000 questions, bayes and the paper's methods"] = study_cost(many, list(PAPER))
            lines[WHOLE] = study_cost(many, everything)
    reference = lines[SAMPLER].processor
    print(f"{PROCESSES} processes; ratios are of processor time, to the first line\n")
    print(f"{'':<56}{'clock':>10}{'processor':>12}{'ratio':>8}")
    for label, cost in lines.items():
        print(f"{label:<56}{cost.clock:>8.1f} s{cost.processor:>10.1f} s{cost.processor / reference:>8.2f}")
    for label, seconds in fits.items():
        print(f"{f'fit of {TRAIN} questions, {label}':<66}{seconds:>10.2f} s")
    print(f"{'memory at the peak, all processes':<56}{peak_gigabytes():>7.2f} GB\n")
    return not limits_kept(lines, fits)


if __name__ == "__main__":
    raise SystemExit(main())
