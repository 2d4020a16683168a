"""Judgements against the Nature paper's procedure, and how fast and large the built-in judge is.

    python -m benchmarks.meaning [--questions N] [--judge J]

The procedure of the Nature paper, for each sample that has no meaning yet, compares it with every later sample in both
directions. Both are run with the same judge and threshold on the first ten samples of each question in
../shared/data/texts.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from semtropy.meaning import Cached, large, load_judge
from semtropy.meaning.builtin import Builtin, form
from semtropy.meaning.grouping import GroupingTask, cluster_many
from semtropy.meaning.partition import Tally
from semtropy.recording import open_recording

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semtropy.nouns import Judge

TEXTS = Path(__file__).resolve().parents[2] / "shared" / "data" / "texts"
SAMPLES = 10
BATCH, RUNS = 32, 40


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


def transitive(question: str, texts: Sequence[str], judge: Judge) -> bool:
    """Whether "each entails the other" is an equivalence among these answers, by this judge."""
    known = sorted(set(texts))
    triples = [(question, a, b) for a in known for b in known]
    entails = np.asarray(judge.entails(triples)).reshape(len(known), len(known)) >= 0.5
    same = entails & entails.T
    return bool((same.astype(int) @ same.astype(int) > 0)[~same].sum() == 0)


@dataclass(frozen=True, slots=True)
class Comparison:
    """What was judged here, pairs judged by the other procedure, and partitions alike, of those that must be."""

    ours: Tally
    theirs: int
    alike: int
    transitive: int
    alike_where_transitive: int

    @property
    def share(self) -> float:
        """Judgements here over judgements there; there each pair takes two."""
        return self.ours.judgements / (2 * self.theirs)


def compare(path: Path, judge: Judge, questions: int) -> Comparison:
    """Both procedures on the first samples of the first questions."""
    rows = [row for row, _ in zip(open_recording(path).rows, range(questions), strict=False)]
    tasks = [GroupingTask(row.question, [sample.text for sample in row.samples[:SAMPLES]]) for row in rows]
    total, theirs, alike, fit, both = Tally(), 0, 0, 0, 0
    for task, grouped in zip(tasks, cluster_many(tasks, judge, prior=0), strict=True):
        meanings, pairs = nature(task.question, task.texts, judge)
        numbers: dict[int, int] = {}
        same = grouped.meanings == [numbers.setdefault(meaning, len(numbers)) for meaning in meanings]
        regular = transitive(task.question, task.texts, judge)
        total, theirs = total + grouped.tally, theirs + pairs
        alike, fit, both = alike + same, fit + regular, both + (same and regular)
    return Comparison(total, theirs, alike, fit, both)


def speed(judge: Builtin, kind: str, length: int = 64) -> tuple[float, float]:
    """Pairs of that form a second at that many tokens: the best of several short runs, by the clock and by processor
    time.

    `relation` reads each pair once; `entails` reads it in both directions where the network is in doubt. Other work on
    the machine slows a run down and never speeds it up: the best run is the judge's own speed.
    """
    question = " ".join(["which"] * 20)
    words = length - 20 - 3  # [CLS] and two [SEP]
    first, second = ["river"] * (words // 2), ["town"] * (words - words // 2)
    if kind != "phrase":
        first[1] = second[1] = "is"
    if kind == "passage":
        first[2:4] = ["river."]  # two tokens
    pair = (question, " ".join(first), " ".join(second))
    if form(*pair[1:]) != kind:
        raise ValueError(f"the judge takes these for a {form(*pair[1:])}, not a {kind}")
    judge.relation([pair] * BATCH)
    wall, processor = [], []
    for _ in range(RUNS):
        started, used = time.perf_counter(), time.process_time()
        judge.relation([pair] * BATCH)
        wall.append(BATCH / (time.perf_counter() - started))
        processor.append(BATCH / (time.process_time() - used))
    return max(wall), max(processor)


def memory(network: Path | None) -> float | None:
    """Megabytes that the judge adds to a process with NumPy and onnxruntime, after some pairs; None where unknown."""
    if not Path("/proc/self/status").exists():
        return None
    begin = (
        "import re, numpy, onnxruntime, tokenizers; from pathlib import Path; "
        "from semtropy.meaning.builtin import Builtin; "
    )
    made = "Builtin()" if network is None else f"Builtin(large=Path({str(network)!r}))"
    pairs = [
        ("river " * 20, "town by " * 10),
        ("river " * 20, "town is " * 10),
        ("river. " * 20, "town is " * 10),
    ]
    judged = f"{made}.entails([('which ' * 20, *pair) for pair in {pairs}]); "
    end = "print(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1])"
    without, with_judge = (
        int(subprocess.check_output([sys.executable, "-c", code]))
        for code in (begin + end, begin + judged + end)
    )
    return (with_judge - without) / 1024


def main() -> None:
    """Print all of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=60)
    parser.add_argument("--judge", default="builtin")
    arguments = parser.parse_args()
    judge = Cached(load_judge(arguments.judge))
    for path in sorted(TEXTS.glob("*.jsonl.gz")) if TEXTS.is_dir() else ():
        found = compare(path, judge, arguments.questions)
        ours, theirs = found.ours, found.theirs
        print(
            f"{path.name}: {ours.judgements} judgements of {ours.pairs} pairs; the Nature paper's procedure"
        )
        print(
            f"    {2 * theirs} of {theirs}: {found.share:.1%} of its judgements, {ours.pairs / theirs:.1%} of its pairs"
        )
        print(
            f"    partitions alike: {found.alike} of {arguments.questions},"
            f" {found.alike_where_transitive} of the {found.transitive} where the judge is transitive"
        )
    fetched = large.where()
    for title, network, kinds in (
        ("built-in judge", None, ("phrase", "sentence")),
        ("larger judge", fetched, ("passage",)),
    ):
        if title == "larger judge" and fetched is None:
            print("larger judge: not fetched (semtropy models fetch builtin-large)")
            continue
        for threads in (1, 2):
            judge = Builtin(large=network, threads=threads)
            for kind in kinds:
                wall, processor = speed(judge, kind)
                print(
                    f"{title}, {kind}, pairs of 64 tokens, threads: {threads}: {wall:.0f} pairs/s, the best of {RUNS}"
                    f" runs; {processor:.0f} a second of processor time (load {os.getloadavg()[0]:.1f})",
                    flush=True,
                )
        used = memory(network)
        if used is not None:
            print(f"memory: {used:.0f} MB more with the {title}")


if __name__ == "__main__":
    main()
