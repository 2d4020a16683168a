"""The scores of one recording in `benchmarks.compare`: by our methods, and by other tools in their own environment.

Both are dictionaries that JSON can hold: `scores` by method and number of samples, one list for each draw with a score
for each question; `milliseconds` of processor time and `judgements` per question with `TIMED` samples, by method.
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.compare_samples import POOL
from benchmarks.recorded import entropy_of_all
from semtropy.errors import InputError
from semtropy.meaning.grouping import GroupingTask, cluster_many
from semtropy.recording import Row, read_recording
from semtropy.scorers import NAMES as SCORERS
from semtropy.scorers import load_scorer
from semtropy.study.evaluate.prepare import Split
from semtropy.study.evaluate.resampling import (
    ResamplingPlan,
    Scores,
    StudyQuestion,
    estimate_orders,
    sample_order,
)
from semtropy.study.evaluate.run import estimate_recordings

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from semtropy.recording.arrays import Relations
    from semtropy.study.evaluate.prepare import StudyRecording

    Floats = NDArray[np.float64]

__all__ = ["ALONE", "BUDGETS", "DRAWS", "FOLDS", "TIMED", "check_tools", "our_scores", "their_scores"]

DRAWS, BUDGETS, TIMED, FOLDS = 5, (0, 1, 2, 5, 10), 5, 5
PLAN = ResamplingPlan(budget=BUDGETS[-1], repeats=DRAWS, steps=BUDGETS, first=0)
TOOLS = Path(__file__).with_name("other_tools.py")
ALONE = "bayes, samples alone"
DROPPED = re.compile(r"(\S+) is dropped: .*? lack (.+?)(?: \(|$)")
# These read log-probabilities and no meanings.
UNJUDGED = {"unseen", "predictive-entropy"}


def our_scores(source: Path, processes: int) -> dict[str, Any]:
    """The scores of all methods on a recording with relations, and what is known of its questions."""
    [prepared] = estimate_recordings(
        [source], plan=PLAN, split=Split(folds=FOLDS, shuffle=0), pool=POOL, processes=processes
    )
    held = {row.id: row for row in read_recording(source)}
    rows = [held[question.id] for question in prepared.test]
    found = {name: _by_budget(prepared.scores[name]) for name in prepared.methods}
    if "bayes" in found:
        found = {"bayes": found.pop("bayes"), ALONE: _by_budget(_samples_alone(prepared)), **found}
    judged = _count_judgements([row.first(POOL) for row in rows], prepared.test)
    kinds = {name: _judging(name) for name in found}
    return {
        "ids": [row.id for row in rows],
        "wrong": [bool(question.wrong) for question in prepared.test],
        "truth": [entropy_of_all(row.arrays()) for row in rows],
        "scores": found,
        "milliseconds": _milliseconds(prepared),
        "judgements": {name: judged[kind] for name, kind in kinds.items()},
        "dropped": dict(match.groups() for note in prepared.notes if (match := DROPPED.search(note))),
    }


def their_scores(source: Path, ids: Sequence[str], python: str) -> dict[str, Any]:
    """The scores of the other tools on the same draws; `undefined` are numbers of samples without a finite score."""
    held = {row.id: row.first(POOL) for row in read_recording(source)}
    with tempfile.TemporaryDirectory() as folder:
        given, made = Path(folder, "in.json"), Path(folder, "out.json")
        questions = [_exchange(held[each], StudyQuestion.of(held[each])) for each in ids]
        content = {"questions": questions, "budgets": BUDGETS[1:], "draws": DRAWS, "timed": TIMED}
        given.write_text(json.dumps(content), encoding="utf-8")
        subprocess.run([python, "-W", "ignore", str(TOOLS), str(given), str(made)], check=True, cwd=folder)
        found: dict[str, Any] = json.loads(made.read_text(encoding="utf-8"))
    found["milliseconds"] = {name: 1000 * value for name, value in found.pop("seconds").items()}
    found["undefined"] = {
        name: [int(n) for n, rows in own.items() if any(None in row for row in rows)]
        for name, own in found["scores"].items()
    }
    for name, numbers in found["undefined"].items():
        for n in numbers:
            del found["scores"][name][str(n)]
    return found


def check_tools(python: str) -> None:
    """Raise an error where `python` has not both of the other tools."""
    try:
        done = subprocess.run(
            [python, "-c", "import lm_polygraph, uqlm"], capture_output=True, text=True, check=False
        )
    except OSError as error:
        raise InputError(f"--tools {python}: cannot be run: {error.strerror}") from None
    if done.returncode:
        why = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise InputError(f"--tools {python}: {why}: install lm-polygraph==0.7.0 and uqlm==0.6.7 there")


def _by_budget(scores: Scores) -> dict[str, list[list[float]]]:
    """The scores at each number of samples; those of a scorer of the answer are the same at all."""
    if scores.first is None:
        return dict.fromkeys(map(str, BUDGETS), scores.mean[0].tolist())
    return dict(zip(map(str, BUDGETS[len(BUDGETS) - len(scores.mean) :]), scores.mean.tolist(), strict=True))


def _samples_alone(prepared: StudyRecording) -> Scores:
    """The scores of `bayes` without the judged answer."""
    found = []
    for fold in prepared.folds:
        alone = [replace(each.row, arrays=replace(each.arrays, answer=None)) for each in fold.test]
        questions = [replace(each, row=row) for each, row in zip(fold.test, alone, strict=True)]
        found.append(estimate_orders(questions, {"bayes": fold.estimators["bayes"]()}, PLAN)["bayes"])
    return Scores.join(found)


def _exchange(row: Row, question: StudyQuestion) -> dict[str, Any]:
    """One question as `other_tools.py` reads it: texts by number."""
    relations, answer, judged = row.relations, row.answer, row.judged_sample()
    assert relations is not None
    assert answer is not None
    place = {text: at for at, text in enumerate(relations.texts)}
    samples = [
        {"text": place[s.text], "logprob": s.logprob, "tokens": len(s.tokens or s.token_logprobs or ())}
        for s in row.samples
    ]
    return {
        "texts": relations.texts,
        "entails": relations.entails.tolist(),
        "contradicts": relations.contradicts.tolist(),
        "samples": samples,
        "answer": {
            "text": place[answer.text],
            "logprob": judged.sampling_logprob,
            "tokens": len(judged.tokens or judged.token_logprobs or ()),
        },
        "orders": [sample_order(question, PLAN, draw) for draw in range(DRAWS)],
        "has_logprobs": all(each["logprob"] is not None for each in samples),
        "has_tokens": all(each["tokens"] for each in samples),
    }


def _milliseconds(prepared: StudyRecording) -> dict[str, float]:
    """Processor time per question with `TIMED` samples, without judging and sampling."""
    total: dict[str, float] = {}
    for fold in prepared.folds:
        orders = [sample_order(question, PLAN, 0)[:TIMED] for question in fold.test]
        evidences = [q.arrays.evidence(order) for q, order in zip(fold.test, orders, strict=True)]
        for name, load in fold.estimators.items():
            total[name] = total.get(name, 0.0) + _processor_time(load().batch, evidences)
        rows = [q.row.pick(order) for q, order in zip(fold.test, orders, strict=True)]
        for name in fold.methods:
            if name in SCORERS and (scorer := load_scorer(name)).of_samples:
                total[name] = total.get(name, 0.0) + _processor_time(scorer.many, rows)
    if "bayes" in total:
        total[ALONE] = total["bayes"]
    return {name: 1000 * value / len(prepared.test) for name, value in total.items()}


def _processor_time(work: Callable[[Any], object], given: Any) -> float:
    """Seconds of processor time that `work(given)` takes."""
    started = time.process_time()
    work(given)
    return time.process_time() - started


def _judging(name: str) -> str:
    """What a method needs the judge for."""
    scorer = load_scorer(name) if name in SCORERS else None
    if name in UNJUDGED or (scorer is not None and not scorer.of_samples):
        return "nothing"
    if scorer is None or "relations" not in scorer.columns:
        return "grouping"
    return "answer" if "answer_text" in scorer.needs else "pairs"


def _count_judgements(rows: Sequence[Row], questions: Sequence[StudyQuestion]) -> dict[str, float]:
    """Judgements per question with `TIMED` samples, by what they are needed for.

    grouping  the meanings of the samples and the answer
    pairs     every pair of different samples, in both directions
    answer    the answer with every sample that differs from it, in both directions
    """
    stored = StoredJudge(rows)
    tasks, pairs, answers = [], [], []
    for row, question in zip(rows, questions, strict=True):
        assert row.answer is not None
        texts = [row.samples[at].text for at in sample_order(question, PLAN, 0)[:TIMED]]
        tasks.append(GroupingTask(row.question, [*texts, row.answer.text]))
        pairs.append(len(set(texts)) * (len(set(texts)) - 1))
        answers.append(2 * len(set(texts) - {row.answer.text}))
    grouped = [each.tally.judgements for each in cluster_many(tasks, stored)]
    return {
        "nothing": 0.0,
        "grouping": float(np.mean(grouped)),
        "pairs": float(np.mean(pairs)),
        "answer": float(np.mean(answers)),
    }


class StoredJudge:
    """Answers from the relations of rows; the same question may be asked by several of them."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.relations: dict[str, list[Relations]] = {}
        for row in rows:
            if row.relations is not None:
                self.relations.setdefault(row.question, []).append(row.relations)

    def entails(self, batch: Sequence[tuple[str, str, str]]) -> Floats:
        """The stored probabilities."""
        return np.array([self._entails(*each) for each in batch], dtype=float)

    def _entails(self, question: str, one: str, other: str) -> float:
        for relations in self.relations[question]:
            if places := relations.places([one, other]):
                return float(relations.entails[places[0], places[1]])
        raise InputError(f"{one!r} and {other!r} were not related: delete the file and make it again")
