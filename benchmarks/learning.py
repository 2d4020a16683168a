"""The prior that learns: simulated models without log-probabilities, and recordings, learning on the way.

Simulated models give their answer with a fixed probability and one of five others otherwise (`--spread`). A stream of
200 questions is learned from, each checked with what was learned until then; then verdicts are counted on further
questions, and on made-up ones (four answers, equally likely), beside those with the prior that ships. What 200
questions happen to say differs: the figures are means over several streams, with the stream that leaves most undecided.
Recordings begin with the shipped prior and learn from each question after its verdict; the fitted prior is fitted on
the other two of three folds.

`python -m benchmarks.learning [--questions 200] [--streams 10] [--trials 400] [--recordings]`.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import astuple, dataclass, field, replace

import numpy as np

from benchmarks.verdict import NAMES, SHARED, miller_madow
from semtropy.capabilities import AT_ONCE, samples_until_agreement
from semtropy.estimators import LearnedPrior, Prior
from semtropy.estimators.bayes import Bayes
from semtropy.nouns import Evidence, JudgedAnswer
from semtropy.recording import read_recording
from semtropy.stopping import RELAXATION, Decided, Reason, Rounds, Spent, suspicion, too_few
from semtropy.study.evaluate.metrics import auroc
from semtropy.study.evaluate.resampling import ResamplingPlan, StudyQuestion, sample_order, sorted_by_id

THRESHOLD = math.log(2)
BUDGET, CONFIDENCE = 10, 0.95
MADE_UP = (0.25,) * 4


def evidence_of(own: int, others: tuple[int, ...]) -> Evidence:
    """Counts of samples, `own` of them with the answer's meaning."""
    counts = (own, *others) if own else others
    return Evidence(counts, answer=JudgedAnswer(0 if own else len(others)))


@dataclass
class SimulatedChecks:
    """Checks of an endpoint without log-probabilities, with the default rule; beliefs are computed once."""

    estimator: Bayes
    rule: Decided = field(default_factory=lambda: Decided(THRESHOLD, relaxation=RELAXATION))
    known: dict[tuple[int, tuple[int, ...]], str | None] = field(default_factory=dict)

    def outcome(self, own: int, others: tuple[int, ...]) -> str | None:
        """The verdict on these counts, None where more samples are drawn."""
        key = own, tuple(sorted(others, reverse=True))
        if key not in self.known:
            spent = Spent(samples=own + sum(others))
            belief = self.estimator(evidence_of(*key))
            reason = self.rule(belief, spent)
            found = {Reason.DECIDED_HIGH: "flagged", Reason.DECIDED_LOW: "steady"}.get(reason)
            if found is None and spent.samples >= BUDGET:
                flag = suspicion(belief, THRESHOLD)
                found = (
                    "flagged" if flag >= CONFIDENCE else "steady" if flag <= 1 - CONFIDENCE else "undecided"
                )
                found = "undecided" if found == "flagged" and too_few(belief, spent, flagged=True) else found
            self.known[key] = found
        return self.known[key]

    def check(self, shares: tuple[float, ...], rng: np.random.Generator) -> tuple[str, Evidence]:
        """One check of a model that gives the first answer, and answers by these probabilities when sampled."""
        counts, torn = np.zeros(len(shares), dtype=int), False
        while True:
            n, others = int(counts.sum()), tuple(int(c) for c in counts[1:] if c)
            size = Rounds().size(Spent(samples=n))
            if not torn:
                ahead = next(
                    (
                        k
                        for k in range(1, BUDGET - n + 1)
                        if self.outcome(int(counts[0]) + k, others) == "steady"
                    ),
                    0,
                )
                size, torn = max(size, min(ahead, AT_ONCE)), ahead == 0
            counts += rng.multinomial(min(size, BUDGET - n), shares)
            others = tuple(sorted((int(c) for c in counts[1:] if c), reverse=True))
            found = self.outcome(int(counts[0]), others)
            if found is not None:
                return found, evidence_of(int(counts[0]), others)


def repeating(share: float, spread: int) -> tuple[float, ...]:
    """A model that repeats its answer with this probability, and otherwise gives one of `spread` others."""
    return (share, *[(1 - share) / spread] * spread)


def learn(
    shares: tuple[float, ...], questions: int, rng: np.random.Generator, made_up: float = 0.0, every: int = 10
) -> LearnedPrior:
    """What is learned from checks of a model, of whose answers a share is made up."""
    learned = LearnedPrior()
    for i in range(questions):
        if i % every == 0:
            checks = SimulatedChecks(Bayes(learned.prior))
        learned.learn(checks.check(MADE_UP if rng.random() < made_up else shares, rng)[1])
    return learned


@dataclass(frozen=True)
class Rates:
    """What checks of one model came to, as shares, and the mean number of samples."""

    flagged: float
    undecided: float
    samples: float

    @classmethod
    def of(cls, prior: Prior, shares: tuple[float, ...], trials: int, rng: np.random.Generator) -> Rates:
        checks = SimulatedChecks(Bayes(prior))
        found = [checks.check(shares, rng) for _ in range(trials)]
        outcomes = [outcome for outcome, _ in found]
        return cls(
            outcomes.count("flagged") / trials,
            outcomes.count("undecided") / trials,
            float(np.mean([evidence.n for _, evidence in found])),
        )

    @classmethod
    def mean(cls, rates: Sequence[Rates]) -> Rates:
        """The mean over streams."""
        return cls(*np.mean([astuple(each) for each in rates], axis=0))

    def __str__(self) -> str:
        return f"flagged {self.flagged:5.1%}  undecided {self.undecided:5.1%}  samples {self.samples:.2f}"


def simulate(options: argparse.Namespace) -> None:
    """Print the rates of simulated models, before and after learning."""
    for share in (0.97, 0.95, 0.9):
        shares, rng = repeating(share, options.spread), np.random.default_rng(options.seed)
        before = Rates.of(Prior.default(), shares, options.streams * options.trials, rng)
        print(f"repeats {share:.0%}: with the shipped prior  {before}", flush=True)
        for made_up in (0.0, 0.2):
            steady, unsure = [], []
            for stream in range(options.streams):
                rng = np.random.default_rng([options.seed, stream])
                learned = learn(shares, options.questions, rng, made_up).prior
                steady.append(Rates.of(learned, shares, options.trials, rng))
                unsure.append(Rates.of(learned, MADE_UP, options.trials, rng))
            worst = max(each.undecided for each in steady)
            print(
                f"  {options.questions} questions learned, {made_up:.0%} made up  {Rates.mean(steady)} (worst stream: "
                f"undecided {worst:.1%})  | made up: {Rates.mean(unsure)}",
                flush=True,
            )


def record(name: str, options: argparse.Namespace) -> None:
    """Print what a recording gives with the shipped prior, a fitted one, and one that learns on the way."""
    rows = sorted_by_id(read_recording(SHARED / f"{NAMES[name]}.jsonl.gz"))
    questions = [StudyQuestion.of(row) for row in rows]
    wrong = np.array([bool(question.wrong) for question in questions])
    plan = ResamplingPlan(budget=BUDGET, repeats=1)
    paths = [list(question.arrays.path(sample_order(question, plan, 0))) for question in questions]
    if options.counts:
        paths = [[_counts_alone(evidence) for evidence in path] for path in paths]
    fitted = [Prior.fit([row for i, row in enumerate(rows) if i % 3 != fold]) for fold in range(3)]
    learned = LearnedPrior()
    order = np.random.default_rng(options.seed).permutation(len(questions))
    print(f"{name}, {'counts alone' if options.counts else 'with log-probabilities'}")
    for kind in ("shipped", "fitted", "learning"):
        spent, agrees, scores, ten = (np.zeros(len(questions)) for _ in range(4))
        for i in order.tolist():
            prior = {"shipped": Prior.default, "fitted": lambda i=i: fitted[i % 3]}.get(
                kind, lambda: learned.prior
            )()
            spent[i], agrees[i], scores[i], ten[i] = _one(questions[i], paths[i], prior)
            if kind == "learning":
                learned.learn(paths[i][int(spent[i])])
        print(
            f"  {kind:8}  {spent.mean():.2f} samples, agrees with all stored samples {agrees.mean():.1%} (ten: "
            f"{ten.mean():.1%}), AUROC {auroc(scores, wrong):.3f}",
            flush=True,
        )
    print(f"  {learned.state}")


def _counts_alone(evidence: Evidence) -> Evidence:
    answer = evidence.answer
    return Evidence(
        evidence.counts, answer=None if answer is None else replace(answer, logprob=None, sequence=None)
    )


def _one(question: StudyQuestion, path: list[Evidence], prior: Prior) -> tuple[int, bool, float, bool]:
    """Samples spent, whether the verdict is that of all stored samples, the entropy, and the verdict of ten."""
    bayes, rule, n = Bayes(prior), Decided(THRESHOLD, relaxation=RELAXATION), 0
    if not any(path[-1].floors):
        n = (
            samples_until_agreement(
                lambda more: bayes(Evidence((more,), answer=JudgedAnswer(0))), rule, drawn=0, most=BUDGET
            )
            or 1
        )
        n = min(n, AT_ONCE)
    while n < BUDGET and rule(bayes(path[n]), Spent(samples=n)) is None:
        n = min(BUDGET, n + Rounds().size(Spent(samples=n)))
    belief = bayes(path[n])
    share = float((question.arrays.meanings == question.arrays.answer.meaning).mean())
    flagged = miller_madow(question.arrays.meanings)[0] > THRESHOLD or share < 0.5
    leans, at_ten = (suspicion(each, THRESHOLD) > 0.5 for each in (belief, bayes(path[BUDGET])))
    return n, leans == flagged, belief.mean, at_ten == flagged


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.learning", description=__doc__)
    parser.add_argument("--questions", type=int, default=200, help="questions to learn from (default: 200)")
    parser.add_argument("--streams", type=int, default=10, help="streams of questions (default: 10)")
    parser.add_argument("--trials", type=int, default=400, help="checks of each kind a stream (default: 400)")
    parser.add_argument(
        "--spread", type=int, default=5, help="other answers of a simulated model (default: 5)"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of all draws (default: 0)")
    parser.add_argument(
        "--recordings", action="store_true", help="the recordings instead of simulated models"
    )
    parser.add_argument("--counts", action="store_true", help="recordings without their log-probabilities")
    parser.add_argument("--only", help="recordings whose name contains this")
    options = parser.parse_args(arguments)
    if not options.recordings:
        simulate(options)
        return
    for name, file in NAMES.items():
        if not (SHARED / f"{file}.jsonl.gz").exists():
            print(f"{name}: skipped, its recording is not there")
        elif options.only is None or options.only in name:
            record(name, options)


if __name__ == "__main__":
    main()
