"""Every method on the same samples, with the same judge: ours, and those of lm-polygraph and uqlm.

    python -m benchmarks.compare RECORDING... [--tools PYTHON] [--work DIR] [--page docs/methods.md] [--json OUT]

PYTHON is that of an environment with lm-polygraph 0.7.0 and uqlm 0.6.7 (`benchmarks/other_tools.py`); without it their
rows are left out. The first 20 samples of each question are related by the built-in judge, once for all; every method
draws from them, five times, and sees the same draws. Priors are fitted on the other folds of five.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.compare_page import Outcome, fill_page
from benchmarks.recorded import entropy_of_all
from semtropy.meaning import load_judge
from semtropy.meaning.grouping import GroupingTask, cluster_many
from semtropy.recording import Row, read_recording
from semtropy.scorers import load_scorer
from semtropy.scorers.base import SampleInput
from semtropy.study.evaluate.bootstrap import interval, resampled_auroc
from semtropy.study.evaluate.metrics import accuracy_rejection_area, auroc, round_scores
from semtropy.study.evaluate.parallel import available_cores
from semtropy.study.evaluate.resample import ResamplingPlan, Scores, draw_order
from semtropy.study.evaluate.run import estimate_recordings
from semtropy.study.evaluate.split import Split
from semtropy.study.relate import relate_recording

if TYPE_CHECKING:
    from semtropy.study.evaluate.prepare import PreparedRecording
    from semtropy.study.evaluate.questions import StudyQuestion

Floats = NDArray[np.float64]

POOL, DRAWS, BUDGETS, TIMED, RESAMPLES = 20, 5, (1, 2, 5, 10), 5, 500
PLAN = ResamplingPlan(budget=BUDGETS[-1], draws=DRAWS, steps=BUDGETS)
TOOLS = Path(__file__).with_name("other_tools.py")


@dataclass(frozen=True, slots=True)
class Compared:
    """The scores of every method on one recording: by name, then by number of samples, (draws, questions)."""

    name: str
    wrong: NDArray[np.bool_]
    truth: Floats
    scores: Mapping[str, Mapping[int, Floats]]
    milliseconds: Mapping[str, float]
    judgements: Mapping[str, float]
    notes: tuple[str, ...]


def related(path: Path, work: Path) -> Path:
    """The recording with relations, made where it is missing; judgements are kept in a cache."""
    out = work / path.name
    if not out.exists():
        relate_recording(path, out, load_judge("builtin", cache=work / "judgements.sqlite"), first=POOL)
    return out


def compare(path: Path, work: Path, tools: str | None, processes: int) -> Compared:
    """Score one recording with every method."""
    source = related(path, work)
    [(prepared, scores)] = estimate_recordings(
        [source], plan=PLAN, split=Split(folds=5, shuffle=0), pool=POOL, processes=processes
    )
    rows = {row.id: row.first(POOL) for row in read_recording(source)}
    questions = prepared.test
    found = {name: by_budget(scores[name]) for name in prepared.methods}
    milliseconds = time_methods(prepared)
    notes = list(prepared.notes)
    if tools is not None:
        theirs = run_tools([rows[each.id] for each in questions], questions, tools)
        found |= {name: kept for name, held in theirs["scores"].items() if (kept := known(held))}
        milliseconds |= {name: 1000 * value for name, value in theirs["seconds"].items()}
        notes += [
            f"{path.name}: with N = {n}, {count} of {len(questions)} questions have an answer in two clusters of uqlm"
            for n, count in theirs["doubled"].items()
            if count
        ]
    full = {row.id: row.draws() for row in read_recording(source)}
    name = path.name.removesuffix(".gz").removesuffix(".jsonl")
    return Compared(
        name,
        np.array([bool(each.wrong) for each in questions]),
        np.array([entropy_of_all(full[each.id]) for each in questions]),
        found,
        milliseconds,
        count_judgements([rows[each.id] for each in questions], questions),
        tuple(notes),
    )


def by_budget(scores: Scores) -> dict[int, Floats]:
    """The scores at each number of samples; those of a scorer of the answer are the same at all."""
    if scores.first is None:
        return dict.fromkeys(BUDGETS, scores.mean[0])
    return dict(zip(BUDGETS, scores.mean, strict=True))


def known(held: Mapping[str, Sequence[Sequence[float | None]]]) -> dict[int, Floats]:
    """The numbers of samples at which another tool has a score for every question."""
    found = {int(n): np.array(rows, dtype=float) for n, rows in held.items()}
    return {n: rows for n, rows in found.items() if np.isfinite(rows).all()}


def run_tools(rows: Sequence[Row], questions: Sequence[StudyQuestion], python: str) -> dict[str, Any]:
    """The scores of the other tools, in their own environment."""
    with tempfile.TemporaryDirectory() as folder:
        given, made = Path(folder, "in.json"), Path(folder, "out.json")
        held = [exchange(row, question) for row, question in zip(rows, questions, strict=True)]
        content = {"questions": held, "budgets": BUDGETS, "draws": DRAWS, "timed": TIMED}
        given.write_text(json.dumps(content), encoding="utf-8")
        subprocess.run([python, str(TOOLS), str(given), str(made)], check=True, cwd=folder)
        found: dict[str, Any] = json.loads(made.read_text(encoding="utf-8"))
        return found


def exchange(row: Row, question: StudyQuestion) -> dict[str, Any]:
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
        "orders": [draw_order(question, PLAN, draw) for draw in range(DRAWS)],
        "has_logprobs": all(each["logprob"] is not None for each in samples),
        "has_tokens": all(each["tokens"] for each in samples),
    }


def time_methods(prepared: PreparedRecording) -> dict[str, float]:
    """Milliseconds of processor time per question with `TIMED` samples, without judging and sampling."""
    total: dict[str, float] = {}
    for fold in prepared.folds:
        orders = [draw_order(question, PLAN, 0)[:TIMED] for question in fold.test]
        evidences = [q.draws.evidence(order) for q, order in zip(fold.test, orders, strict=True)]
        for name, spec in fold.specs.items():
            if name in prepared.methods:
                total[name] = total.get(name, 0.0) + processor_time(spec.load().batch, evidences)
        for name in fold.scorers:
            scorer: Any = load_scorer(name)
            if issubclass(scorer.sees, SampleInput):
                held = [q.inputs[scorer.sees.__name__] for q in fold.test]
                picks = [
                    each.pick(order) for each, order in zip(held, orders, strict=True) if each is not None
                ]
            else:
                picks = [scorer.sees(evidence) for evidence in evidences]
            total[name] = total.get(name, 0.0) + processor_time(scorer.batch, picks)
    return {name: 1000 * value / len(prepared.test) for name, value in total.items()}


def processor_time(work: Callable[[Any], object], given: Any) -> float:
    """Seconds of processor time that `work(given)` takes."""
    started = time.process_time()
    work(given)
    return time.process_time() - started


def count_judgements(rows: Sequence[Row], questions: Sequence[StudyQuestion]) -> dict[str, float]:
    """Judgements per question with `TIMED` samples: to group them with the answer, and for all pairs of them."""
    stored = _StoredJudge()
    tasks, pairs = [], []
    for row, question in zip(rows, questions, strict=True):
        assert row.relations is not None
        assert row.answer is not None
        texts = [row.samples[at].text for at in draw_order(question, PLAN, 0)[:TIMED]]
        stored.held[row.question] = row
        tasks.append(GroupingTask(row.question, [*texts, row.answer.text]))
        different = len({*texts, row.answer.text})
        pairs.append(different * (different - 1))
    grouped = [each.tally.judgements for each in cluster_many(tasks, stored)]
    return {"grouping": float(np.mean(grouped)), "pairs": float(np.mean(pairs))}


class _StoredJudge:
    """Answers from the relations of a recording."""

    def __init__(self) -> None:
        self.held: dict[str, Row] = {}

    def entails(self, batch: Sequence[tuple[str, str, str]]) -> Floats:
        found = []
        for question, one, other in batch:
            relations = self.held[question].relations
            assert relations is not None
            i, j = relations.places([one, other]) or (0, 0)
            found.append(relations.entails[i, j])
        return np.array(found)


def outcomes(compared: Compared) -> list[Outcome]:
    """The measures of every method and number of samples, with what no other beats beyond chance."""
    resamples = {
        (name, n): resampled_auroc(round_scores(drawn), compared.wrong, repeats=RESAMPLES)
        for name, held in compared.scores.items()
        for n, drawn in held.items()
    }
    areas = {
        (name, n): float(auroc(round_scores(compared.scores[name][n]), compared.wrong).mean())
        for name, n in resamples
    }
    found = []
    for (name, n), area in areas.items():
        best = max((each for each in areas if each[1] == n), key=areas.__getitem__)
        low, high = interval(resamples[name, n])
        drawn = round_scores(compared.scores[name][n])
        found.append(
            Outcome(
                recording=compared.name,
                method=name,
                budget=n,
                auroc=area,
                half_width=(high - low) / 2,
                tied=best == (name, n) or interval(resamples[name, n] - resamples[best])[1] >= 0,
                aurac=float(accuracy_rejection_area(drawn, compared.wrong).mean()),
                rank=float(np.mean([rank_correlation(row, compared.truth) for row in drawn])),
            )
        )
    return found


def rank_correlation(scores: Floats, truth: Floats) -> float:
    """Spearman's; 0 where the scores are all alike."""
    from scipy.stats import spearmanr

    return 0.0 if np.ptp(scores) == 0 else float(spearmanr(scores, truth).statistic)


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare, and write the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare")
    parser.add_argument("recordings", nargs="+", type=Path)
    parser.add_argument("--tools", help="the Python of an environment with lm-polygraph and uqlm")
    parser.add_argument(
        "--work", type=Path, default=Path("compared"), help="where related recordings are kept"
    )
    parser.add_argument("--page", type=Path, help="the page to fill")
    parser.add_argument(
        "--json", type=Path, help="keep the numbers; read instead of computed where it has them"
    )
    parser.add_argument("--processes", type=int, default=available_cores())
    given = parser.parse_args(arguments)
    given.work.mkdir(parents=True, exist_ok=True)
    held = json.loads(given.json.read_text()) if given.json is not None and given.json.exists() else {}
    for path in given.recordings:
        name = path.name.removesuffix(".gz").removesuffix(".jsonl")
        if name in held:
            continue
        compared = compare(path, given.work, given.tools, given.processes)
        held[name] = {
            "questions": compared.wrong.size,
            "wrong": int(compared.wrong.sum()),
            "outcomes": [asdict(each) for each in outcomes(compared)],
            "milliseconds": dict(compared.milliseconds),
            "judgements": dict(compared.judgements),
            "notes": list(compared.notes),
        }
        if given.json is not None:
            given.json.write_text(json.dumps(held, indent=1) + "\n", encoding="utf-8")
        print(f"{name}: {len(held[name]['outcomes'])} outcomes", file=sys.stderr, flush=True)
    fill_page(held, given.page)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
