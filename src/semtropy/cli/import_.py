"""`semtropy import FORMAT IN OUT`: a recording from the file of another tool."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from ._text import say

# The names of semtropy.recording.importers.FORMATS, so that the parser need not import them; a test compares.
FORMATS = ("nature", "paper", "lm-polygraph", "uqlm", "inspect", "csv", "selfcheckgpt", "factscore")


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "import",
        help="convert the output of another tool to a recording",
        description="Convert the output of another tool to a recording. No code in a pickle is run.",
    )
    parser.add_argument("format", choices=FORMATS, metavar="FORMAT", help=f"one of {', '.join(FORMATS)}")
    parser.add_argument(
        "source", metavar="IN", help="the file to read, or for `nature` the folder of the run"
    )
    parser.add_argument("target", metavar="OUT", help="the recording to write: .jsonl, .jsonl.gz or .parquet")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        type=_assignment,
        metavar="KEY=VALUE",
        help="set a header field that the file lacks: model=NAME, dataset=NAME, temperature=1.0, eos_included=true",
    )
    parser.add_argument(
        "--map",
        action="append",
        default=[],
        type=_names,
        metavar="NAME=COLUMN",
        help="csv: the name of a column in the file, as question=prompt or text=response; may be repeated",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Import, and say what came of it."""
    from ..recording import Header
    from ..recording.importers import import_recording

    found = import_recording(
        arguments.format,
        arguments.source,
        arguments.target,
        header=dict(arguments.set),
        columns=dict(arguments.map),
    )
    samples = sum(len(row["samples"]) for row in found.rows)
    print(f"{arguments.target}: {len(found.rows)} questions, {samples} samples")
    why = Header(found.header).why_logprobs_unusable
    if why and any("logprob" in s or "token_logprobs" in s for row in found.rows for s in row["samples"]):
        found.notes.append(f"log-probabilities are kept but not used as floors: {why}")
    for note in found.notes:
        say(f"note: {note}", file=sys.stderr)
    return 0


def _names(text: str) -> tuple[str, str]:
    """`question=prompt` as a pair."""
    name, equals, column = text.partition("=")
    if not (name and equals and column):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=COLUMN")
    return name, column


def _assignment(text: str) -> tuple[str, Any]:
    """`temperature=1.0` as a key and a JSON value; anything that is not JSON is text."""
    key, equals, value = text.partition("=")
    if not (key and equals):
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=VALUE")
    try:
        return key, json.loads(value)
    except ValueError:
        return key, value
