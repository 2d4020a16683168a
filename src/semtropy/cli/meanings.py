"""`semtropy meanings FILE`: show the groups of each question, or the pairs of answers that were closest calls."""

from __future__ import annotations

import math
import shutil
import sys
from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ._text import printable

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from ..meaning.partition import PairComparison
    from ..nouns import Judge
    from ..recording import Row


BAR = 20
_UNLIMITED = 10_000  # columns where there is no terminal


def register(commands: Any) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "meanings",
        help="show the groups of a recording's samples",
        description="Show which samples of a question count as one meaning, the most frequent first. With --pairs,"
        " judge the samples anew and list the pairs of answers whose probability was closest to the threshold, over"
        " all questions shown.",
    )
    add = parser.add_argument
    add("recording", metavar="FILE", help="a recording (.jsonl, .jsonl.gz, .parquet) or the folder of a run")
    add("--id", action="append", metavar="ID", help="show only this question; may be repeated")
    add("--limit", type=int, default=10, metavar="N", help="number of questions to show (default: 10)")
    add(
        "--wordings",
        type=int,
        default=5,
        metavar="N",
        help="number of wordings to show per meaning (default: 5)",
    )
    add("--judge", metavar="J", help="regroup with this judge; nothing is written")
    add(
        "--pairs",
        type=int,
        nargs="?",
        const=20,
        metavar="N",
        help="list the N closest decisions (default: 20)",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the groups, or the closest decisions, of the questions asked for."""
    from ..meaning import load_judge

    for name in ("limit", "wordings", "pairs"):
        value = getattr(arguments, name)
        if value is not None and value < 1:
            raise InputError(f"--{name} is {value}: at least 1")
    rows = list(_chosen(arguments))
    width = shutil.get_terminal_size((_UNLIMITED, 24)).columns
    anew = arguments.pairs is not None or arguments.judge is not None
    judged = rows if anew else [row for row in rows if not row.clustered]
    judge = load_judge(arguments.judge) if judged else None
    if arguments.pairs is not None and judge is not None:
        print(*draw_pairs(rows, judge, arguments.pairs, width), sep="\n")
    else:
        for row in rows:
            meanings = _meanings(row, judge if anew or not row.clustered else None)
            print(*draw(row, meanings, arguments.wordings, width), sep="\n", end="\n\n")
    _warn(judge, judged)
    return 0


def _warn(judge: Judge | None, rows: Sequence[Row]) -> None:
    """Say once for all questions what the judge has to say of its grouping."""
    from ..meaning.judges import judge_warnings

    texts = [[sample.text for sample in row.samples] for row in rows]
    if any(judge_warnings(judge, each) for each in texts):
        for warning in judge_warnings(judge, [text for each in texts for text in each]):
            print(f"note: {warning}", file=sys.stderr)


def _chosen(arguments: argparse.Namespace) -> Iterator[Row]:
    from ..recording import open_recording

    wanted = set(arguments.id or ())
    rows = (row for row in open_recording(arguments.recording).rows if not wanted or row.id in wanted)
    missing = wanted.copy()
    for row in islice(rows, len(wanted) or arguments.limit):
        missing.discard(row.id)
        yield row
    if missing:
        raise InputError(
            f"{arguments.recording}: it has no question with the id {', '.join(sorted(missing))}"
        )


def _meanings(row: Row, judge: Judge | None) -> Sequence[int]:
    from ..meaning import cluster

    if judge is None:
        return row.partition.meanings
    samples = row.samples
    return cluster(row.question, [s.text for s in samples], judge, tokens=[s.tokens for s in samples])


def draw(row: Row, meanings: Sequence[int], most: int, width: int = 100) -> Iterator[str]:
    """The question, then each meaning with its share and its wordings.

    >>> from semtropy.recording import Row
    >>> row = Row({"id": "7", "question": "Capital of France?", "samples": [{"text": t} for t in "abab"]})
    >>> print(*draw(row, [0, 1, 0, 1], 5), sep="\\n")
    7  Capital of France?
    ██████████            50%  2  a
    ██████████            50%  2  b
    """
    yield _fit(f"{row.id}  {row.question}", width)
    wordings: dict[int, Counter[str]] = {}
    for sample, meaning in zip(row.samples, meanings, strict=True):
        wordings.setdefault(meaning, Counter())[_shown(sample.text)] += 1
    for texts in sorted(wordings.values(), key=lambda c: -c.total()):
        share = texts.total() / len(meanings)
        bar = "█" * max(round(BAR * share), 1)
        ranked = texts.most_common()
        lead = f"{bar:<{BAR}} {share:>4.0%} {texts.total():>2}  "
        yield _fit(lead + ranked[0][0], width)
        for text, count in ranked[1:most]:
            yield _fit(" " * len(lead) + text + (f"  ×{count}" if count > 1 else ""), width)
        if len(ranked) > most:
            yield " " * len(lead) + f"… and {len(ranked) - most} more wordings"


def draw_pairs(rows: Sequence[Row], judge: Judge, most: int, width: int = 100) -> Iterator[str]:
    """One line per decision, the closest first: the probability, what decided, and the two answers.

    >>> from semtropy.meaning import ScriptedJudge
    >>> from semtropy.recording import Row
    >>> row = Row({"id": "7", "question": "Capital?", "samples": [{"text": t} for t in ("Paris", "Lutetia", "Rome")]})
    >>> judge = ScriptedJudge({("Paris", "Lutetia"): 0.4}, default=0.1)
    >>> print(*draw_pairs([row], judge, 2), sep="\\n")
    probability  needed  result  by          id  answers
           0.40    0.50  apart   judge       7   Paris | Lutetia
           0.10    0.58  apart   judge       7   Paris | Rome

    Pairs whose numbers conflict come last: no judge is asked about them.
    """
    from ..meaning.grouping import GroupingTask, cluster_many

    tasks = [
        GroupingTask(r.question, [s.text for s in r.samples], [s.tokens for s in r.samples], label=r)
        for r in rows
    ]
    found = [
        (comparison, grouped.label)
        for grouped in cluster_many(tasks, judge)
        for comparison in grouped.comparisons
    ]
    found.sort(key=lambda pair: _closeness(pair[0]))
    names = max([len(row.id) for _, row in found[:most]] + [2])
    yield f"probability  needed  result  by          {'id':<{names}}  answers"
    for comparison, row in found[:most]:
        result = "same" if comparison.joined else "apart"
        answers = " | ".join(_shown(text) for text in (comparison.first, comparison.second))
        decided = _decided(judge, comparison, row.question)
        figures = f"{_figure(comparison.probability):>11}  {_figure(comparison.needed):>6}"
        yield _fit(f"{figures}  {result:<6}  {decided:<10}  {row.id:<{names}}  {answers}", width)


def _closeness(comparison: PairComparison) -> tuple[float, bool]:
    margin = comparison.margin
    return (math.inf if margin is None else abs(margin), comparison.joined)


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _shown(text: str) -> str:
    return " ".join(text.split()) or "(empty)"


def _decided(judge: Judge, comparison: PairComparison, question: str) -> str:
    """What decided a comparison; "judge" for judges that do not say."""
    triple = (question, comparison.first, comparison.second)
    if comparison.probability is None:
        unlike = getattr(judge, "unlike", None)
        return "spelling" if unlike and unlike(triple) else "arithmetic"
    explain = getattr(judge, "explain", None)
    return explain(triple) if explain else "judge"


def _fit(line: str, width: int) -> str:
    line = printable(line)
    return line if len(line) <= width else line[: max(width - 1, 1)] + "…"
