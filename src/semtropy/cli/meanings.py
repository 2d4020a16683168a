"""`semtropy meanings FILE`: show the groups of each question, so that a person can check them."""

from __future__ import annotations

import shutil
from collections import Counter
from typing import TYPE_CHECKING, Any

from ..errors import InputError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from ..recording import Row

__all__ = ["register"]

BAR = 20


def register(commands: Any) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "meanings",
        help="show the groups of a recording's samples",
        description="Show which samples of a question count as one meaning, the most frequent first.",
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
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the groups of the questions asked for."""
    from ..recording import open_recording

    wanted = set(arguments.id or ())
    shown = 0
    for row in open_recording(arguments.recording).rows:
        if wanted and row.id not in wanted:
            continue
        if shown == (len(wanted) or arguments.limit):
            break
        shown += 1
        width = shutil.get_terminal_size().columns
        print(*draw(row, _meanings(row, arguments.judge), arguments.wordings, width), sep="\n", end="\n\n")
    if shown < len(wanted):
        raise InputError(f"{arguments.recording}: only {shown} of the {len(wanted)} ids asked for are in it")
    return 0


def _meanings(row: Row, judge: str | None) -> Sequence[int]:
    from ..meaning import cluster

    if judge is None and row.clustered:
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
        wordings.setdefault(meaning, Counter())[" ".join(sample.text.split())] += 1
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


def _fit(line: str, width: int) -> str:
    return line if len(line) <= width else line[: max(width - 1, 1)] + "…"
