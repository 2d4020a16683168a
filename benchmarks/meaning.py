"""Judgements against the Nature paper's procedure, and how fast the built-in judge is.

    python -m benchmarks.meaning [--questions N] [--judge J]

The procedure of the Nature paper, for each sample that has no meaning yet, compares it with every later sample in both
directions. Both are run with the same judge on the first ten samples of each question in ../shared/data/texts.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING

from semtropy.meaning import Cached, Tally, Task, cluster_many, load_judge
from semtropy.meaning.builtin import Builtin
from semtropy.recording import open_recording

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semtropy.nouns import Judge

TEXTS = Path(__file__).resolve().parents[2] / "shared" / "data" / "texts"
SAMPLES = 10
SECONDS = 5.0


def nature(question: str, texts: Sequence[str], judge: Judge) -> tuple[list[int], int]:
    """The meanings the Nature paper's procedure gives, and how many pairs it judged."""
    meanings, fresh, pairs = [-1] * len(texts), 0, 0
    for place, text in enumerate(texts):
        if meanings[place] >= 0:
            continue
        meanings[place] = fresh
        for later in range(place + 1, len(texts)):
            pairs += 1
            if judge.entails([(question, text, texts[later]), (question, texts[later], text)]).min() >= 0.5:
                meanings[later] = fresh
        fresh += 1
    return meanings, pairs


def compare(path: Path, judge: Judge, questions: int) -> tuple[Tally, int, int]:
    """What was judged here, pairs judged by the other procedure, and questions with the same partition."""
    rows = [row for row, _ in zip(open_recording(path).rows, range(questions), strict=False)]
    tasks = [Task(row.question, [sample.text for sample in row.samples[:SAMPLES]]) for row in rows]
    total, theirs, same = Tally(), 0, 0
    for task, grouped in zip(tasks, cluster_many(tasks, judge), strict=True):
        meanings, pairs = nature(task.question, task.texts, judge)
        total += grouped.tally
        theirs += pairs
        numbers: dict[int, int] = {}
        same += grouped.meanings == [numbers.setdefault(meaning, len(numbers)) for meaning in meanings]
    return total, theirs, same


def speed(judge: Judge, length: int = 64) -> float:
    """Pairs a second at that many tokens."""
    question = " ".join(["which"] * 20)
    words = length - 20 - 3  # [CLS] and two [SEP]
    pair = (question, " ".join(["river"] * (words // 2)), " ".join(["town"] * (words - words // 2)))
    done, started = 0, time.perf_counter()
    while time.perf_counter() - started < SECONDS:
        judge.entails([pair] * 64)
        done += 64
    return done / (time.perf_counter() - started)


def main() -> None:
    """Print both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--judge", default="builtin")
    arguments = parser.parse_args()
    judge = Cached(load_judge(arguments.judge))
    for path in sorted(TEXTS.glob("*.jsonl.gz")) if TEXTS.is_dir() else ():
        ours, theirs, same = compare(path, judge, arguments.questions)
        share = f"{ours.judgements / (2 * theirs):.1%}"
        print(
            f"{path.name}: {ours.judgements} judgements of {ours.pairs} pairs; the Nature paper's procedure:"
        )
        print(
            f"    {2 * theirs} of {theirs}; ours are {share} of its; {same} of {arguments.questions} partitions alike"
        )
    for threads in (1, 2):
        print(f"built-in judge, 64 tokens, {threads} threads: {speed(Builtin(threads=threads)):.0f} pairs/s")


if __name__ == "__main__":
    main()
