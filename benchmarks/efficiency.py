"""Efficiency of `bayes` and `bayes-paper`: distance to the true entropy, ranking, and coverage of 90% intervals.

On the paper's own SVAMP samples where they are available (3-fold, the same draws for both; the truth is the entropy of
all 100 samples with the Miller-Madow correction), and on simulated two-level data whose entropy is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.stats import rankdata, spearmanr

from semtropy import Evidence, Partition, Sample
from semtropy.estimators import PaperPrior, Prior, load_estimator
from semtropy.recording import read_recording

__all__ = ["main"]

SHARED = Path(__file__).parents[2] / "shared" / "data" / "recordings"
BUDGETS = (1, 2, 3, 5, 10)
INTERVALS = (
    300  # questions per budget whose intervals are computed, for the first seed only: they are expensive
)
FEW_INTERVALS = 100  # the same for simulated questions, some of which have hundreds of meanings


@dataclass(frozen=True)
class Question:
    """Samples in order with their meanings, the true entropy, and whether the answer was wrong (None if unknown)."""

    samples: tuple[Sample, ...]
    meanings: tuple[int, ...]
    entropy: float
    wrong: bool | None

    def evidence(self, picks: Sequence[int]) -> Evidence:
        return Evidence.gather(
            [self.samples[i] for i in picks], Partition.of([self.meanings[i] for i in picks])
        )

    def row(self) -> dict[str, object]:
        samples = [
            {"text": s.text, "logprob": s.logprob, "meaning": m}
            for s, m in zip(self.samples, self.meanings, strict=True)
        ]
        return {"id": "", "question": "", "samples": samples}


def recorded(path: Path) -> list[Question]:
    questions = []
    for row in read_recording(path).rows:
        samples, partition = row.samples, row.partition
        p = np.array(partition.counts) / len(samples)
        entropy = float(-(p * np.log(p)).sum() + (p.size - 1) / (2 * len(samples)))
        questions.append(Question(tuple(samples), partition.meanings, entropy, not row["answer"]["correct"]))
    return questions


def simulated(theta: float, size: int, n: int, seed: int = 0) -> list[Question]:
    """Questions drawn from the two-level model: Dirichlet meanings, Dirichlet-process sequences."""
    questions = []
    for i in range(n):
        rng = np.random.default_rng([seed, i])
        alpha = 10 ** rng.uniform(-1.5, 0)
        b = rng.dirichlet(np.full(max(2, int(size ** rng.uniform(0.3, 1))), alpha))
        b = b[b > 1e-12] / b[b > 1e-12].sum()
        shares: dict[int, list[float]] = {}
        samples, meanings = [], []
        for meaning in rng.choice(b.size, 20, p=b):
            own, u, wording = shares.setdefault(int(meaning), []), rng.uniform(), 0
            while u >= sum(own[: wording + 1]):
                if wording + 1 >= len(own):
                    own.append(float((1 - sum(own)) * rng.beta(1, theta)))
                wording += u >= sum(own[: wording + 1])
            samples.append(Sample(f"{meaning}.{wording}", float(np.log(b[meaning] * own[wording]))))
            meanings.append(int(meaning))
        questions.append(Question(tuple(samples), tuple(meanings), float(-(b * np.log(b)).sum()), None))
    return questions


def auroc(wrong: np.ndarray, score: np.ndarray) -> float:
    ranks, positive = rankdata(score), wrong.sum()
    return float((ranks[wrong].sum() - positive * (positive + 1) / 2) / (positive * (wrong.size - positive)))


def compare(
    questions: Sequence[Question], seeds: int, folds: int = 3
) -> dict[str, dict[int, tuple[float, ...]]]:
    """For each estimator and budget: AUROC (or rank correlation), distance, coverage of 90% intervals."""
    truth = np.array([q.entropy for q in questions])
    labelled = questions[0].wrong is not None
    looked_at = (INTERVALS if labelled else FEW_INTERVALS) // folds
    means = {name: np.zeros((seeds, len(BUDGETS), len(questions))) for name in ("bayes", "bayes-paper")}
    held: dict[str, dict[int, list[bool]]] = {name: {n: [] for n in BUDGETS} for name in means}
    for fold in range(folds):
        rows = [q.row() for i, q in enumerate(questions) if i % folds != fold]
        estimators = {
            "bayes": load_estimator("bayes", prior=Prior.fit(rows)),
            "bayes-paper": load_estimator("bayes-paper", prior=PaperPrior.fit(rows)),
        }
        tested = [i for i in range(len(questions)) if i % folds == fold]
        for seed in range(seeds):
            for place, n in enumerate(BUDGETS):
                evidence = []
                for i in tested:
                    picks = np.random.default_rng([seed, i]).integers(
                        0, len(questions[i].samples), max(BUDGETS)
                    )
                    evidence.append(questions[i].evidence(picks[:n].tolist()))
                for name, estimator in estimators.items():
                    means[name][seed, place, tested] = estimator.batch(evidence).mean
                    for i, e in list(zip(tested, evidence, strict=True))[: looked_at if seed == 0 else 0]:
                        low, high = estimator(e).interval(0.9) or (0.0, 0.0)
                        held[name][n].append(low - 1e-3 <= truth[i] <= high + 1e-3)
    wrong = np.array([bool(q.wrong) for q in questions])
    out: dict[str, dict[int, tuple[float, ...]]] = {}
    for name, table in means.items():
        out[name] = {}
        for place, n in enumerate(BUDGETS):
            each = [auroc(wrong, m) if labelled else spearmanr(truth, m).statistic for m in table[:, place]]
            distance = float(np.sqrt(np.mean((table[:, place] - truth) ** 2)))
            out[name][n] = (float(np.mean(each)), distance, float(np.mean(held[name][n])))
    return out


def show(title: str, table: dict[str, dict[int, tuple[float, ...]]]) -> None:
    print(f"\n| {title} | " + " | ".join(f"N={n}" for n in BUDGETS) + " |")
    print("|---|" + "---|" * len(BUDGETS))
    for name, cells in table.items():
        print(
            f"| {name} | " + " | ".join(f"{a:.3f} / {d:.2f} / {h:.0%}" for a, d, h in cells.values()) + " |"
        )


def main(recordings: bool = True) -> None:
    """Print the tables: AUROC or rank correlation / distance in nats / coverage of 90% intervals."""
    print("AUROC (simulated: rank correlation with the truth) / distance / coverage of 90% intervals")
    for path in sorted(SHARED.glob("*.jsonl.gz")) if recordings else []:
        show(path.name.removesuffix(".jsonl.gz"), compare(recorded(path), seeds=5))
    for theta in (0.1, 1.0, 30.0):
        for size in (10, 1000):
            show(f"simulated, theta {theta:g}, K to {size}", compare(simulated(theta, size, 300), seeds=1))


if __name__ == "__main__":
    main()
