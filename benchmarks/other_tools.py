"""Scores of lm-polygraph and uqlm on given samples, with the relations of one judge plugged in.

    PYTHON benchmarks/other_tools.py IN.json OUT.json

PYTHON is that of an environment with `lm-polygraph==0.7.0` and `uqlm==0.6.7`; nothing of semtropy is imported.
`benchmarks.compare` writes IN.json and reads OUT.json. At every number of samples, draw and question both tools see the
same texts, log-probabilities and probabilities of entailment and contradiction; none of them runs a model.
"""

from __future__ import annotations

import itertools
import json
import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

Question = dict[str, Any]
LABELS = ("contradiction", "neutral", "entailment")  # in the order of uqlm


def drawn(
    questions: Sequence[Question], draw: int, n: int
) -> Iterator[tuple[Question, list[int], list[int]]]:
    """Each question with the samples drawn: their places, and the places of their texts."""
    for question in questions:
        order = question["orders"][draw][:n]
        yield question, order, [question["samples"][at]["text"] for at in order]


def submatrix(question: Question, name: str, rows: Sequence[int], columns: Sequence[int]) -> np.ndarray:
    return np.array(question[name])[np.ix_(rows, columns)]


# ---- lm-polygraph ----------------------------------------------------------------------------------------------------


def polygraph_stats(questions: Sequence[Question], draw: int, n: int) -> dict[str, Any]:
    """The statistics that its estimators read, as its calculators would make them."""
    from lm_polygraph.stat_calculators.semantic_classes import SemanticClassesCalculator

    every = list(drawn(questions, draw, n))
    entail = np.stack([submatrix(q, "entails", texts, texts) for q, _, texts in every])
    contra = np.stack([submatrix(q, "contradicts", texts, texts) for q, _, texts in every])
    classes = np.stack([contra, 1 - entail - contra, entail], axis=-1).argmax(axis=-1)
    with np.errstate(divide="ignore"):
        logits = {"entail": np.log(np.maximum(entail, 1e-12)), "contra": np.log(np.maximum(contra, 1e-12))}
    own = [q["answer"]["text"] for q, _, _ in every]
    stats: dict[str, Any] = {
        "sample_texts": [[q["texts"][text] for text in texts] for q, _, texts in every],
        "semantic_matrix_entail": entail,
        "semantic_matrix_contra": contra,
        "semantic_matrix_entail_logits": logits["entail"],
        "semantic_matrix_contra_logits": logits["contra"],
        "semantic_matrix_classes": classes,
        "entailment_id": 2,
        "greedy_sentence_similarity": [
            (submatrix(q, "entails", [a], texts)[0] + submatrix(q, "entails", texts, [a])[:, 0]) / 2
            for (q, _, texts), a in zip(every, own, strict=True)
        ],
    }
    forward = [submatrix(q, "entails", [a], texts)[0] for (q, _, texts), a in zip(every, own, strict=True)]
    against = [
        submatrix(q, "contradicts", [a], texts)[0] for (q, _, texts), a in zip(every, own, strict=True)
    ]
    stats["concat_greedy_semantic_matrix_contra_forward"] = against
    stats["concat_greedy_semantic_matrix_neutral_forward"] = [
        1 - e - c for e, c in zip(forward, against, strict=True)
    ]
    if all(q["has_logprobs"] for q in questions):
        stats["sample_log_probs"] = [[q["samples"][at]["logprob"] for at in order] for q, order, _ in every]
    if all(q["has_tokens"] for q in questions):
        stats["sample_tokens"] = [[[0] * q["samples"][at]["tokens"] for at in order] for q, order, _ in every]
    if all(q["answer"]["logprob"] is not None and q["answer"]["tokens"] for q in questions):
        stats["greedy_log_likelihoods"] = [
            [q["answer"]["logprob"] / q["answer"]["tokens"]] * q["answer"]["tokens"] for q in questions
        ]
        stats["greedy_log_probs"] = stats["greedy_log_likelihoods"]
    stats |= SemanticClassesCalculator()(stats, [], None)
    return stats


def polygraph_estimators() -> list[tuple[Any, set[str]]]:
    """Each estimator, and what it reads beyond what its list of dependencies says."""
    from lm_polygraph import estimators as e

    made = [
        e.SemanticEntropy(),
        e.SemanticEntropy(use_unique_responses=True),
        e.SemanticEntropy(entropy_estimation="direct"),
        e.SemanticEntropy(class_probability_estimation="frequency"),
        e.NumSemSets(),
        e.EigValLaplacian(),
        e.DegMat(),
        e.Eccentricity(),
        e.KernelLanguageEntropy(),
        e.LUQ(),
        e.SemanticDensity(),
        e.CocoaMSP(),
        e.MonteCarloSequenceEntropy(),
        e.MonteCarloNormalizedSequenceEntropy(),
    ]
    return [
        (each, {"greedy_log_likelihoods"} if isinstance(each, e.SemanticDensity) else set()) for each in made
    ]


def polygraph_calls(needs: set[str], questions: Sequence[Question], n: int) -> float:
    """Judgements per question that its calculators ask for: every pair of texts, or the answer with every text."""
    different = np.array([len(set(texts)) for _, _, texts in drawn(questions, 0, n)], dtype=float)
    if any(need.startswith("semantic_") for need in needs):
        return float((different**2).mean())
    return float(2 * different.mean()) if any("greedy_se" in need for need in needs) else 0.0


def polygraph(questions: Sequence[Question], draw: int, n: int) -> Iterator[tuple[str, Callable[[], Any]]]:
    """The name of each estimator that the data suffices for, and how to run it."""
    stats = polygraph_stats(questions, draw, n)
    for estimator, more in polygraph_estimators():
        if {*estimator.stats_dependencies, *more} <= set(stats):
            yield f"lm-polygraph/{estimator}", lambda estimator=estimator: estimator(stats)


# ---- uqlm ------------------------------------------------------------------------------------------------------------


def stored_nli(questions: Sequence[Question], *, both: bool = False) -> Any:
    """uqlm's NLI with the stored relations in place of its model; texts come as "number of the question\\ntext".

    `asked` counts judgements. With `both`, answers must entail each other; uqlm joins them if one entails the other.
    """
    from uqlm.nli.nli import NLI

    places = [{text: place for place, text in enumerate(q["texts"])} for q in questions]

    class StoredNli(NLI):
        def __init__(self) -> None:
            self.probabilities, self.label_mapping, self.max_length = {}, list(LABELS), 10**9
            self.asked = 0

        def predict_batch(self, pairs: list[tuple[str, str]]) -> np.ndarray:
            rows = []
            self.asked += len(pairs)
            for one, other in pairs:
                number, first = one.split("\n", 1)
                at, i = questions[int(number)], places[int(number)][first]
                j = places[int(number)][other.split("\n", 1)[1]]
                e, c = at["entails"][i][j], at["contradicts"][i][j]
                rows.append((c, 1 - e - c, e))
            return np.array(rows).reshape(-1, 3)

        def _nli_results_from_probabilities(self, left: np.ndarray, right: np.ndarray) -> dict[str, Any]:
            found = super()._nli_results_from_probabilities(left=left, right=right)
            if both:
                found["entailment"] = bool(left.argmax() == right.argmax() == LABELS.index("entailment"))
            return found

    return StoredNli()


def uqlm_scores(questions: Sequence[Question], draw: int, n: int) -> Iterator[tuple[str, Callable[..., Any]]]:
    """The name of each scorer, and how to run it: higher is more suspicious."""
    from uqlm.black_box.consistency import ConsistencyScorer
    from uqlm.scorers.shortform.density import SemanticDensity
    from uqlm.scorers.shortform.entropy import SemanticEntropy

    every = list(drawn(questions, draw, n))
    prompts = [str(number) for number in range(len(questions))]
    answers = [q["texts"][q["answer"]["text"]] for q in questions]
    samples = [[q["texts"][text] for text in texts] for q, _, texts in every]
    given = {"prompts": prompts, "show_progress_bars": False}
    if all(q["has_tokens"] and q["has_logprobs"] and q["answer"]["logprob"] is not None for q in questions):
        given["logprobs_results"] = [tokens(q["answer"]) for q in questions]
        given["sampled_logprobs_results"] = [
            [tokens(q["samples"][at]) for at in order] for q, order, _ in every
        ]
    shared = stored_nli(questions)

    def entropy(nli: Any = shared) -> dict[str, list[float]]:
        scorer = SemanticEntropy(nli=nli, use_best=False)
        found = scorer.score(
            responses=list(answers), sampled_responses=[list(each) for each in samples], **given
        )
        return {name: values for name, values in found.data.items() if name.endswith("entropy_values")}

    def consistency(nli: Any = shared) -> dict[str, list[float]]:
        prompted = [f"{p}\n{a}" for p, a in zip(prompts, answers, strict=True)]
        asked = [[f"{p}\n{text}" for text in own] for p, own in zip(prompts, samples, strict=True)]
        found = ConsistencyScorer(nli=nli, scorers=["noncontradiction", "entailment"]).evaluate(
            prompted, asked
        )
        return {name: [1 - value for value in found[name]] for name in ("noncontradiction", "entailment")}

    def density(nli: Any = shared) -> dict[str, list[float]]:
        found = SemanticDensity(nli=nli).score(
            responses=list(answers), sampled_responses=[list(each) for each in samples], **given
        )
        return {"semantic_density": [1 - value for value in found.data["semantic_density_values"]]}

    yield "uqlm", entropy
    yield "uqlm", consistency
    if "sampled_logprobs_results" in given:
        yield "uqlm", density


def tokens(held: dict[str, Any]) -> list[dict[str, float]]:
    """Token log-probabilities with the same sum and number, as the scorers need no more of them."""
    return [{"logprob": held["logprob"] / held["tokens"]}] * held["tokens"]


# ---- both ------------------------------------------------------------------------------------------------------------


def known_errors(questions: Sequence[Question], n: int) -> dict[str, int]:
    """In how many questions the first draw of `n` samples shows each error.

    twice         uqlm puts an answer into two clusters, because it joins every cluster that it fits
    one-way       uqlm finds fewer clusters than it would if both answers of a pair had to entail each other
    more than 1   lm-polygraph gives a class a probability above 1, because a repeated sequence is added again
    """
    from uqlm.nli.cluster import SemanticClusterer

    found = {"twice": 0, "one-way": 0, "more than 1": 0}
    nli, mutual = stored_nli(questions), stored_nli(questions, both=True)
    for number, (q, _, texts) in enumerate(drawn(questions, 0, n)):
        answers = [q["texts"][text] for text in (q["answer"]["text"], *texts)]
        members, wanted = (
            SemanticClusterer(nli=each).cluster_responses(responses=answers, prompt=str(number))[1]
            for each in (nli, mutual)
        )
        found["twice"] += sum(map(len, members)) > len(answers)
        found["one-way"] += len(members) < len(wanted)
    if all(q["has_logprobs"] for q in questions):
        stats = polygraph_stats(questions, 0, n)
        classes = stats["semantic_classes_entail"]["class_to_sample"]
        for place, logprobs in enumerate(stats["sample_log_probs"]):
            sums = [sum(math.exp(logprobs[at]) for at in each) for each in classes[place]]
            found["more than 1"] += max(sums) > 1 + 1e-6
    return found


def run_all(held: dict[str, Any]) -> dict[str, Any]:
    """Score every question at every number of samples and draw."""
    questions, budgets, draws, timed = (held[key] for key in ("questions", "budgets", "draws", "timed"))
    scores: dict[str, dict[str, list[list[float | None]]]] = {}
    seconds: dict[str, float] = {}
    for n, draw, tool in itertools.product(budgets, range(draws), (polygraph, uqlm_scores)):
        for name, run in tool(questions, draw, n):
            started = time.process_time()
            found = run()
            took = time.process_time() - started
            named = (
                {f"{name}/{key}": each for key, each in found.items()}
                if isinstance(found, dict)
                else {name: found}
            )
            for each, values in named.items():
                kept = [float(v) if math.isfinite(v) else None for v in values]
                scores.setdefault(each, {}).setdefault(str(n), []).append(kept)
                if n == timed:
                    seconds[each] = seconds.get(each, 0.0) + took / len(named) / len(questions) / draws
    return {"scores": scores, "seconds": seconds, "judgements": count_judgements(questions, timed)}


def count_judgements(questions: Sequence[Question], n: int) -> dict[str, float]:
    """Judgements per question that each scorer asks for with `n` samples; what it asks twice counts once."""
    found = {
        f"lm-polygraph/{each}": polygraph_calls(set(each.stats_dependencies), questions, n)
        for each, _ in polygraph_estimators()
    }
    for _, run in uqlm_scores(questions, 0, n):
        nli = stored_nli(questions)
        found |= dict.fromkeys([f"uqlm/{name}" for name in run(nli)], nli.asked / len(questions))
    return found


def main(source: str, target: str) -> int:
    """Read the questions, score them, and write the scores."""
    held = json.loads(Path(source).read_text(encoding="utf-8"))
    result = run_all(held)
    result["errors"] = {str(n): known_errors(held["questions"], n) for n in held["budgets"]}
    Path(target).write_text(json.dumps(result), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
