"""A second opinion: three samples and two answers of another model against five samples.

Every ordered pair of models that answered the same questions. The weights are fitted on the other pairs and on other
questions: for each pair they come from the pairs that are left, and for each half of the questions from the other half.
With `--fit` the weights that ship are printed, fitted on all pairs; the intercept is that of the pairs whose second
model is at least as often right, since nobody asks another one on purpose. Claims are related to passages by the votes
stored with the data, or by `--claims-judge`, as a check does it: five own samples and one answer of the other model.
"""

from __future__ import annotations

import argparse
import gzip
import json
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit

from benchmarks.claims import chosen
from semtropy import Sample
from semtropy.estimators import load_estimator
from semtropy.meaning import cluster, load_judge
from semtropy.nouns import Evidence, Partition
from semtropy.recording import read_recording
from semtropy.second import Opinion, OpinionWeights
from semtropy.study.evaluate.metrics import auroc

SHARED = Path(__file__).parents[2] / "shared" / "data"
SHORT = {
    "Llama-2": "Llama-2-7b-chat--svamp",
    "Llama-3.2": "Llama-3.2-3B-Instruct--svamp",
    "Qwen-1.5B": "Qwen2.5-Coder-1.5B-Instruct--svamp",
}
LONG = ("gpt-3.5-turbo", "gpt-4", "llama-3-70b-instruct")
KEPT = 24  # samples of a recording that are compared
SUPPORTS = 1.5  # logit of the stored votes above which a passage supports a claim
STEADY = 0.7  # share of the own samples that agree, for an answer to be called steady
FOLDS = 2


@dataclass(frozen=True)
class Pair:
    """Answers of one model, and what their own samples and the answers of another say: repeats x answers.

    few, many  agreement of the model with its answers, by few and by many samples
    word       `Opinion.weight` of the other model's answers
    right      whether the answers are right
    fold       the half of the questions that each belongs to
    better     whether the other model is at least as often right
    """

    name: tuple[str, ...]
    few: np.ndarray
    many: np.ndarray
    word: np.ndarray
    right: np.ndarray
    fold: np.ndarray
    better: bool


def fitted(pairs: Sequence[Pair], keep: Callable[[Pair], np.ndarray] | None = None) -> OpinionWeights:
    """Weights by all of these pairs, each counting the same; `keep` picks answers.

    All pairs are of the same three models, too few to tell how much more another model counts than a sample: the two
    weights are one.
    """
    parts: list[list[np.ndarray]] = []
    for pair in pairs:
        kept = np.broadcast_to(True if keep is None else keep(pair), pair.few.shape)
        right = np.broadcast_to(pair.right, pair.few.shape)[kept]
        parts.append([pair.few[kept], pair.word[kept], right, np.full(right.size, 1 / right.size)])
    own, word, right, weight = map(np.concatenate, zip(*parts, strict=True))
    return OpinionWeights.fit(own, word, right, weight=weight, tie=10.0)


def held_out(pairs: Sequence[Pair], pair: Pair) -> np.ndarray:
    """The log-odds of every answer of a pair, by weights that saw neither the pair nor the question."""
    others = [each for each in pairs if each.name != pair.name]
    odds = np.empty_like(pair.few)
    for fold in range(FOLDS):
        weights = fitted(others, lambda each, fold=fold: each.fold != fold)
        found = _log_odds(weights, pair.few, pair.word)
        odds[:, pair.fold == fold] = found[:, pair.fold == fold]
    return odds


def _log_odds(weights: OpinionWeights, own: np.ndarray, word: np.ndarray) -> np.ndarray:
    alone = np.vectorize(lambda a: weights.log_odds(float(a)))(own)
    return np.asarray(alone + weights.other * word)


def shipped(pairs: Sequence[Pair]) -> OpinionWeights:
    """The weights that ship: of all pairs, with the intercept of those whose second model is at least as good."""
    weights = fitted(pairs)
    wanted = [pair for pair in pairs if pair.better]
    low, high = -5.0, 5.0
    for _ in range(60):  # the intercept at which the mean probability is the share that is right
        middle = (low + high) / 2
        moved = replace(weights, intercept=middle)
        excess = np.mean(
            [expit(_log_odds(moved, pair.few, pair.word)).mean() - pair.right.mean() for pair in wanted]
        )
        low, high = (low, middle) if excess > 0 else (middle, high)
    return replace(weights, intercept=(low + high) / 2)


def compare(pairs: Sequence[Pair], few: str, many: str) -> list[tuple[Pair, float, float]]:
    """Print the AUROC and the Brier score of every pair, and return pair, gain and AUROC."""
    print(f"\n| answers of / second | right | {many} | {few} | gain | Brier |\n|---|---|---|---|---|---|")
    found, briers = [], []
    for pair in pairs:
        wrong = ~pair.right
        odds = held_out(pairs, pair)
        halves = [
            pair.fold == fold for fold in range(FOLDS)
        ]  # each with weights of its own, so measured by itself
        own, both = (
            np.mean([auroc(-scores[:, half], wrong[half]).mean() for half in halves])
            for scores in (pair.many, odds)
        )
        found.append((pair, both - own, both))
        briers.append(float(np.mean((expit(odds) - pair.right) ** 2)))
        name = " / ".join(pair.name) + ("" if pair.better else " (weaker)")
        print(
            f"| {name} | {pair.right.mean():.0%} | {own:.3f} | {both:.3f} | {both - own:+.3f} | {briers[-1]:.3f} |",
            flush=True,
        )
    gains = [gain for _, gain, _ in found]
    print(f"\nmean {np.mean(gains):+.3f}, least {min(gains):+.3f}, Brier score {np.mean(briers):.3f}")
    return found


# Short answers


@dataclass(frozen=True)
class Stored:
    """One model's answers to all questions, with meanings that hold for all models of a question."""

    right: np.ndarray
    answers: list[int]
    samples: list[list[int]]
    drawn: list[list[Sample]]
    texts: list[str]


def stored_answers(judge_name: str, most: int | None = None) -> dict[str, Stored]:
    """The recordings joined by question, with meanings by one clustering of all answers to it."""
    judge = load_judge(judge_name)
    rows = {
        name: {(row.context, row.question): row for row in read_recording(_recording(file))}
        for name, file in SHORT.items()
    }
    first, *others = rows.values()
    questions = [key for key in first if all(key in other for other in others)][:most]
    held: dict[str, list[Any]] = {name: [] for name in rows}
    for number, key in enumerate(questions):
        order = np.random.default_rng(number)
        picked = {
            name: [found[key].samples[i] for i in order.permutation(len(found[key].samples))[:KEPT]]
            for name, found in rows.items()
        }
        texts = [
            text
            for name, found in rows.items()
            for text in (found[key].answer.text, *(sample.text for sample in picked[name]))
        ]
        meanings = dict(zip(texts, cluster(key[1], texts, judge), strict=True))
        for name, found in rows.items():
            answer = found[key].answer
            labels = [meanings[sample.text] for sample in picked[name]]
            samples = [Sample(each.text, logprob=each.logprob) for each in picked[name]]
            held[name].append((bool(answer.correct), meanings[answer.text], labels, samples, answer.text))
    return {
        name: Stored(np.array(right), list(answers), list(labels), list(drawn), list(texts))
        for name, each in held.items()
        for right, answers, labels, drawn, texts in [zip(*each, strict=True)]
    }


def _recording(file: str) -> Path:
    return SHARED / "recordings" / f"{file}.jsonl.gz"


def short_pairs(stored: dict[str, Stored], options: argparse.Namespace, *, logprobs: bool) -> list[Pair]:
    """Every ordered pair, three own samples and two answers of the other against five own samples."""
    few, many, asked = 3, 5, 2
    bayes = load_estimator("bayes")
    orders = {name: _orders(len(each.texts), options.repeats, name) for name, each in stored.items()}
    agreement = {
        (name, n): _agreements(bayes, each, orders[name][:, :, :n], logprobs=logprobs)
        for name, each in stored.items()
        for n in (few, many)
    }
    fold = np.arange(len(next(iter(stored.values())).texts)) % FOLDS
    return [
        Pair(
            (one, other),
            agreement[one, few],
            agreement[one, many],
            _words(stored[one], stored[other], orders[other][:, :, :asked]),
            stored[one].right,
            fold,
            bool(stored[other].right.mean() >= stored[one].right.mean()),
        )
        for one, other in permutations(stored, 2)
    ]


def _orders(questions: int, repeats: int, name: str) -> np.ndarray:
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    return rng.permuted(np.tile(np.arange(KEPT), (repeats, questions, 1)), axis=2)


def _agreements(estimator: Any, stored: Stored, orders: np.ndarray, *, logprobs: bool) -> np.ndarray:
    evidences = []
    for order in orders:
        for number, picked in enumerate(order):
            labels = [stored.samples[number][i] for i in picked]
            samples = [stored.drawn[number][i] for i in picked]
            partition, judged = Partition.of(labels), stored.answers[number]
            meaning = dict(zip(labels, partition.meanings, strict=True)).get(judged, partition.size)
            known = samples if logprobs else [Sample(sample.text) for sample in samples]
            evidences.append(Evidence.gather(known, partition, Sample(stored.texts[number]), meaning))
    return np.asarray(estimator.agreements(evidences)).reshape(orders.shape[:2])


def _words(judged: Stored, other: Stored, orders: np.ndarray) -> np.ndarray:
    return np.array(
        [
            [
                Opinion.of(judged.answers[number], [other.samples[number][i] for i in picked]).weight
                for number, picked in enumerate(order)
            ]
            for order in orders
        ]
    )


def steady_errors(stored: dict[str, Stored], weights: OpinionWeights, options: argparse.Namespace) -> None:
    """Print how many steady errors are caught: by one answer that differs, and by the weighing, which asks for more."""
    print(
        f"\nSteady answers (at least {STEADY:.0%} of {KEPT} samples agree): wrong ones that are caught, and right ones "
        "that are questioned\n\n| answers of / second | steady and wrong | one answer: caught | false alarms "
        "| the default: caught | false alarms | answers asked |\n|---|---|---|---|---|---|---|"
    )
    for one, other in permutations(stored, 2):
        judged, second = stored[one], stored[other]
        shares = np.array(
            [
                np.mean([m == answer for m in drawn])
                for answer, drawn in zip(judged.answers, judged.samples, strict=True)
            ]
        )
        orders = _orders(len(judged.texts), options.repeats, other)
        flags = np.zeros((2, *orders.shape[:2]))
        asked = np.zeros(orders.shape[:2])
        for repeat, order in enumerate(orders):
            for number in np.flatnonzero(shares >= STEADY):
                meanings = [second.samples[number][i] for i in order[number]]
                opinion = sequential(weights, float(shares[number]), judged.answers[number], meanings)
                flags[0, repeat, number] = meanings[0] != judged.answers[number]
                flags[1, repeat, number] = weights(float(shares[number]), [opinion]) < 0.5
                asked[repeat, number] = opinion.answers
        steady = shares >= STEADY
        wrong, right = steady & ~judged.right, steady & judged.right
        cells = [f"{flags[way][:, part].mean():.0%}" for way in (0, 1) for part in (wrong, right)]
        counted = f"{wrong.sum()} of {steady.sum()}"
        print(f"| {one} / {other} | {counted} | {' | '.join(cells)} | {asked[:, steady].mean():.1f} |")


def sequential(weights: OpinionWeights, own: float, judged: int, meanings: Sequence[int]) -> Opinion:
    """The opinion by as many answers as a check asks for."""
    opinion, odds = Opinion(0, 0), weights.log_odds(own)
    while weights.worth_asking(odds, opinion):
        opinion = Opinion.of(judged, meanings[: opinion.answers + 1])
    return opinion


# Claims of long answers


def claim_pairs(options: argparse.Namespace) -> list[Pair]:
    """Every ordered pair of models on two sets, by the stored votes of a 1.5B model or a judge."""
    judge = options.claims_judge and load_judge(options.claims_judge, cache=options.cache)
    pairs = []
    for dataset in ("factscore", "popqa"):
        rows = {model: _long_rows(dataset, model, options.every) for model in LONG}
        rates = {model: _right_rate(found) for model, found in rows.items()}
        for one, other in permutations(LONG, 2):
            said = {row["prompt"]: row["samples"][:1] for row in rows[other]}
            better = rates[other] >= rates[one]
            pairs.append(_claim_pair((dataset, one, other), rows[one], better, options, judge, said))
            print(".", end="", flush=True)
    return pairs


def _long_rows(dataset: str, model: str, every: int) -> list[dict[str, Any]]:
    with gzip.open(SHARED / "long" / f"{dataset}--{model}.jsonl.gz", "rt") as lines:
        rows = [json.loads(line) for line in lines]
    return [row for row in rows if chosen(row["id"], every)]


def _right_rate(rows: Iterable[dict[str, Any]]) -> float:
    labels = [claim["label"] for row in rows for claim in row["claims"] if claim["label"]]
    return labels.count("right") / len(labels)


def _claim_pair(
    name: tuple[str, str, str],
    rows: list[dict[str, Any]],
    better: bool,
    options: argparse.Namespace,
    judge: Any,
    said: dict[str, list[str]],
) -> Pair:
    from semtropy.claims import posterior
    from semtropy.claims.consulting import SECOND_PRIOR

    rng = np.random.default_rng(zlib.crc32(" ".join(name).encode()))
    held: list[list[np.ndarray]] = []
    for row in rows:
        claims = [claim for claim in row["claims"] if name[2] in claim.get("support_logits", {})]
        graded = np.array([claim["label"] is not None for claim in claims])
        if not graded.any():
            continue
        if judge:
            own, other = _judged_votes(row, claims, said[row["prompt"]], judge)
        else:
            own, other = (
                np.array([claim["support_logits"][side] for claim in claims]) > SUPPORTS
                for side in ("own", name[2])
            )
        right = np.array([claim["label"] == "right" for claim in claims])
        found: list[list[np.ndarray]] = [[], [], []]
        for _ in range(options.repeats):
            order, picked = rng.permutation(own.shape[1]), rng.integers(other.shape[1])
            few, many, theirs = own[:, order[:3]], own[:, order[:5]], other[:, [picked]]
            for at, votes in enumerate((few, many, theirs)):
                prior = SECOND_PRIOR if votes is theirs else None
                found[at].append(np.array([belief.mean for belief in posterior(votes, prior=prior)]))
        words = [[Opinion(mean, 1, pooled=mean).weight for mean in map(float, means)] for means in found[2]]
        fold = np.full(graded.sum(), zlib.crc32(row["id"].encode()) // FOLDS % FOLDS)
        each = [*(np.array(part)[:, graded] for part in (*found[:2], words)), right[graded], fold]
        held.append(each)
    few, many, word, right, fold = (np.concatenate(part, axis=-1) for part in zip(*held, strict=True))
    return Pair(name, few, many, word, right, fold, better)


def _judged_votes(
    row: dict[str, Any], claims: Sequence[dict[str, Any]], said: Sequence[str], judge: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Votes of five own samples and of the other model's answers, as `claims.consulting` counts them."""
    from semtropy.claims import relate
    from semtropy.claims.relating import votes

    texts = [claim["text"] for claim in claims]
    own = relate(row["prompt"], texts, row["samples"][:5], judge)
    return votes(own), relate(row["prompt"], texts, said, judge)[..., 0]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.second", description=__doc__)
    parser.add_argument(
        "--repeats", type=int, default=10, help="orders of samples per question (default: 10)"
    )
    parser.add_argument("--judge", default="builtin", help="the judge of short answers (default: builtin)")
    parser.add_argument("--fit", action="store_true", help="print the weights that ship")
    parser.add_argument("--only", choices=("short", "claims"), help="one of the two")
    parser.add_argument(
        "--claims-judge", help="relate claims to passages by this judge (default: stored votes)"
    )
    parser.add_argument(
        "--every", type=int, default=1, help="claims of one in so many answers, by a hash of the id"
    )
    parser.add_argument("--cache", type=Path, help="a file that keeps the judgements of --claims-judge")
    options = parser.parse_args(arguments)
    if not SHARED.is_dir():
        print(f"skipped: {SHARED} is not there")
        return 0
    missed = []
    if options.only != "claims":
        stored = stored_answers(options.judge)
        sets = {}
        for logprobs in (False, True):
            pairs = sets[logprobs] = short_pairs(stored, options, logprobs=logprobs)
            print(f"\nShort answers (SVAMP), {'with' if logprobs else 'without'} log-probabilities")
            found = compare(pairs, "3 own + 2 other", "5 own")
            missed += [pair.name for pair, gain, _ in found if gain < (0.05 if pair.better else -0.01)]
            missed += [
                pair.name
                for pair, _, both in found
                if pair.name[:2] == ("Llama-2", "Llama-3.2") and both < 0.94
            ]
        weights = shipped([*sets[False], *sets[True]])
        if options.fit:
            print("\nweights for short answers:", weights)
        steady_errors(stored, OpinionWeights.default(), options)
    if options.only != "short":
        pairs = claim_pairs(options)
        by = f"judged by {options.claims_judge}" if options.claims_judge else "stored votes of a 1.5B model"
        print(f"\nClaims of long answers, {by}")
        found = compare(pairs, "3 own + 1 other", "5 own")
        if options.fit:
            print("\nweights for claims:", shipped(pairs))
        missed += [pair.name for pair, gain, _ in found if gain < -0.01]
        missed += [("the mean of the claims",)] * int(np.mean([gain for _, gain, _ in found]) < 0.03)
    for name in missed:
        print("missed:", " / ".join(name))
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
