"""What a large study costs: rates of each command on one core, gigabytes, and the sum for ten million questions.

Rates are of processor time, with one thread, on the recording that ships: 43 questions x 100 samples of SmolLM2, cut to
the first SAMPLES. The rate of the process that reads and writes the files is measured with an engine that pickles the
rows for its workers and has the results ready, so that everything but the workers' part is counted.
"""

from __future__ import annotations

import os
import pickle
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from semtropy.meaning import load_judge
from semtropy.meaning.judges import Exact
from semtropy.recording import Header, Recording, Row, read_recording, write_recording
from semtropy.scoring import row_scoring
from semtropy.study import example_recording
from semtropy.study.evaluate import evaluate
from semtropy.study.judging import RowGrouping, RowRelating, judge_recording

QUESTIONS, SAMPLES, SAMPLES_MANY = 10_000_000, 10, 100


def main() -> int:
    """Print the rates, the sizes and the plan."""
    os.environ["OMP_NUM_THREADS"] = "1"
    held = read_recording(example_recording())
    found = [measured(held, samples) for samples in (SAMPLES, SAMPLES_MANY)]
    print(f"| | {SAMPLES} samples | {SAMPLES_MANY} samples |\n|---|---|---|")
    for name in found[0]:
        unit = "GB per million questions" if "size" in name else "questions/s"
        print(f"| {name}, {unit} | {found[0][name]:.3g} | {found[1][name]:.3g} |")
    print(f"\n`evaluate`, every method but the pairwise ones: {study_rate(held):.3g} questions/s", flush=True)
    for samples, rates in zip((SAMPLES, SAMPLES_MANY), found, strict=True):
        plan(samples, rates)
    return 0


def measured(held: Recording, samples: int) -> dict[str, float]:
    """Questions per second of one core, and gigabytes per million questions."""
    bare = [cut(row, samples) for row in held.rows]
    grouped = [row.first(samples) for row in held.rows]
    few = bare if samples <= 20 else bare[::5]
    judge, relating = load_judge("builtin"), RowRelating(min(samples, 20))
    related: list[Row] = []

    def relate(rows: list[Row]) -> None:
        related[:] = [relating.fill(row, found) for row, found, _ in relating.find(rows, judge)]

    return {
        "`cluster`": rate(few, lambda rows: list(RowGrouping().find(rows, judge))),
        "`relate`": rate(few, relate),
        "`score`": rate(grouped, lambda rows: list(row_scoring()(rows))),
        "reading and writing": driver_rate(held.header, copies(bare, 4)),
        "size of .jsonl": size(held.header, grouped, "r.jsonl"),
        "size of .jsonl.gz": size(held.header, grouped, "r.jsonl.gz"),
        "size of .parquet": size(held.header, grouped, "r.parquet"),
        "size of .jsonl.gz with relations": size(held.header, related, "r.jsonl.gz"),
    }


def study_rate(held: Recording) -> float:
    """Questions per second of one core that an evaluation takes longer for more questions."""
    small, large = (copies(held.rows, times) for times in (1, 3))
    took = [seconds(partial(study, held.header, rows)) for rows in (small, large)]
    return (len(large) - len(small)) / (took[1] - took[0])


def cut(row: Row, samples: int) -> Row:
    """The row with its first samples, and no meanings."""
    kept = [{key: value for key, value in each.items() if key != "meaning"} for each in row["samples"]]
    answer = {key: value for key, value in row["answer"].items() if key != "meaning"}
    return row.replace(samples=kept[:samples], answer=answer)


def copies(rows: Iterable[Row], times: int) -> list[Row]:
    """The rows several times, with different ids."""
    held = list(rows)
    return [row.replace(id=f"{row.id}-{copy}") for copy in range(times) for row in held]


def seconds(work: Callable[[], object]) -> float:
    """The processor time of the work."""
    began = time.process_time()
    work()
    return time.process_time() - began


def rate(rows: list[Row], work: Callable[[list[Row]], object]) -> float:
    """Rows per second of processor time."""
    work(rows[:1])  # what is loaded once
    return len(rows) / seconds(lambda: work(rows))


def study(header: Header, rows: list[Row]) -> None:
    """The default study."""
    evaluate([Recording(header, tuple(rows))], folds=5)


def driver_rate(header: Header, rows: list[Row]) -> float:
    """Rows per second of processor time in the process that reads, hands out, collects and writes."""
    with tempfile.TemporaryDirectory() as folder:
        source, out = Path(folder, "in.jsonl.gz"), Path(folder, "out.jsonl.gz")
        write_recording(source, header, rows)
        ready: list[bytes] = []

        def prepare(make: Any, items: Iterable[Row], *, batch: int = 1) -> Iterator[Any]:
            found = list(make()(items))
            ready.extend(pickle.dumps(found[at : at + batch]) for at in range(0, len(found), batch))
            return iter(found)

        def hand_out(make: Any, items: Iterable[Row], *, batch: int = 1) -> Iterator[Any]:
            waiting = iter(items)
            for results in ready:
                pickle.dumps(list(islice(waiting, batch)))
                yield from pickle.loads(results)

        judge_recording(source, out, Exact(), RowGrouping(), engine=prepare)
        return len(rows) / seconds(
            lambda: judge_recording(source, out, Exact(), RowGrouping(), engine=hand_out)
        )


def size(header: Header, rows: list[Row], name: str) -> float:
    """Gigabytes per million questions."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        write_recording(path, header, rows)
        return path.stat().st_size / len(rows) / 1000


def plan(samples: int, rates: dict[str, float]) -> None:
    """What ten million questions cost."""
    print(f"\n{QUESTIONS:,} questions x {samples} samples:")
    for name, found in rates.items():
        if "size" in name:
            print(f"- {name}: {found * QUESTIONS / 1e6:,.0f} GB")
        else:
            hours = QUESTIONS / found / 3600
            print(f"- {name}: {QUESTIONS:,} / ({found:.3g} x 3600) = {hours:,.1f} core-hours")


if __name__ == "__main__":
    raise SystemExit(main())
