"""Log-probabilities without the end token: how much of what log-probabilities gain over counts alone is kept.

The recorded answers are stripped of their end tokens. The recorded samples have no log-probabilities per token, so each
sequence's end is drawn from those of the answers. Priors are fitted in three folds, on recordings with their ends.
Needs ../shared/data. `python -m benchmarks ends`.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.verdict import FOLDS, NAMES, SHARED, chao_shen
from semtropy.estimators import Prior
from semtropy.estimators.bayes import Bayes
from semtropy.nouns import Evidence
from semtropy.recording import read_recording
from semtropy.study.evaluate.metrics import auroc
from semtropy.study.evaluate.resampling import ResamplingPlan, StudyQuestion, sample_order, sorted_by_id

if TYPE_CHECKING:
    from semtropy.recording.arrays import SampleArrays

BUDGETS = (0, 3, 10)
DRAWS = 3
KEPT = 0.8  # of the gain, the least allowed
RECORDINGS = ("Qwen SVAMP", "Qwen TriviaQA")


def without_ends(row, draws: SampleArrays, ends: list[float], rng: np.random.Generator) -> SampleArrays:
    """The draws with log-probabilities that leave out the end token."""
    own = np.array([rng.choice(ends) for _ in range(int(draws.sequences.max()) + 1)])
    answer, told = draws.answer, row["answer"].get("sampling_token_logprobs")
    if answer.sequence is not None and told:
        own[answer.sequence] = told[-1]
    known = draws.sequences >= 0
    logprobs = np.where(known, draws.logprobs - own[draws.sequences], 0.0)
    prefix = None
    if answer.logprob is not None:
        prefix = answer.logprob - (told[-1] if told else float(rng.choice(ends)))
    return replace(
        draws,
        logprobs=np.minimum(logprobs, 0.0),
        answer=replace(answer, logprob=None, prefix_logprob=min(0.0, prefix) if prefix is not None else None),
        ends_left_out=True,
    )


def counted(evidence: Evidence) -> Evidence:
    """The same evidence without any log-probability."""
    answer = None if evidence.answer is None else replace(evidence.answer, logprob=None, sequence=None)
    return Evidence(counts=evidence.counts, answer=answer)


def measure(name: str) -> bool:
    """Print the lines of one recording; whether enough of the gain is kept."""
    rng = np.random.default_rng(0)
    rows = sorted_by_id(read_recording(SHARED / f"{NAMES[name]}.jsonl.gz"))
    questions = [StudyQuestion.of(row) for row in rows]
    ends = [
        row["answer"]["sampling_token_logprobs"][-1] for row in rows if row["answer"].get("complete", True)
    ]
    stripped = [without_ends(r, q.arrays, ends, rng) for r, q in zip(rows, questions, strict=True)]
    wrong = np.array([bool(question.wrong) for question in questions])
    truth = np.array([chao_shen(question.arrays.meanings) for question in questions])
    plan = ResamplingPlan(budget=max(BUDGETS), repeats=DRAWS)
    forms = "counts alone", "with the end", "without the end"
    means = {form: np.empty((len(BUDGETS), DRAWS, len(rows))) for form in forms}
    for fold in range(FOLDS):
        bayes = Bayes(Prior.fit([row for i, row in enumerate(rows) if i % FOLDS != fold]))
        for i, draw in product(range(fold, len(rows), FOLDS), range(DRAWS)):
            order = sample_order(questions[i], plan, draw)
            whole, cut = list(questions[i].arrays.path(order)), list(stripped[i].path(order))
            for b, n in enumerate(BUDGETS):
                found = bayes.batch([counted(whole[n]), whole[n], cut[n]]).mean
                for form, mean in zip(forms, found, strict=True):
                    means[form][b, draw, i] = mean
    print(f"{name}: {len(rows)} questions")
    enough = True
    for b, n in enumerate(BUDGETS):
        distance = {form: math.sqrt(float(((means[form][b] - truth) ** 2).mean())) for form in forms}
        counts, whole, cut = (distance[form] for form in forms)
        kept = (counts - cut) / (counts - whole)
        enough = enough and kept >= KEPT
        ranks = ", ".join(f"{form} {auroc(means[form][b], wrong).mean():.3f}" for form in forms)
        print(
            f"  N={n:2}  distance {counts:.3f} {whole:.3f} {cut:.3f}, kept {kept:.0%}; AUROC {ranks}",
            flush=True,
        )
    return enough


def main() -> bool:
    """Whether a limit was missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ends", description=__doc__)
    parser.add_argument("names", nargs="*", default=RECORDINGS, help="which recordings")
    given = parser.parse_args()
    if not SHARED.exists():
        print("needs ../shared/data")
        return False
    kept = [measure(name) for name in given.names]
    return not all(kept)


if __name__ == "__main__":
    raise SystemExit(main())
