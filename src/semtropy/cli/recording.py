"""`semtropy recording info|verify|merge|export`: operations on recordings, files and folders."""

from __future__ import annotations

import dataclasses
import sys
from typing import TYPE_CHECKING, Any

from ._text import json_text, say

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable


def register(commands: Any) -> None:
    """Add the command and its verbs to the parser."""
    description = (
        "Inspect, verify, merge or export recordings: files, or folders written by `semtropy generate`."
    )
    command = commands.add_parser(
        "recording", help="inspect, verify, merge or export recordings", description=description
    )
    verbs = command.add_subparsers(title="verbs", metavar="VERB", required=True)

    info = _verb(verbs, "info", "summarise a recording", run_info)
    info.add_argument("recording", help="a file or a folder")
    info.add_argument("--json", action="store_true", help="print JSON")

    verify = _verb(
        verbs, "verify", "read every byte and list faults; exit code 1 if there are any", run_verify
    )
    verify.add_argument("recording", nargs="+", help="files or folders")

    merge = _verb(verbs, "merge", "merge the folders of one run's shards into one folder", run_merge)
    merge.add_argument("sources", nargs="+", metavar="FOLDER", help="the folders to merge")
    merge.add_argument("--out", required=True, metavar="DIR", help="the folder to write")

    export = _verb(verbs, "export", "write a recording as one file", run_export)
    export.add_argument("recording", help="a file or a folder")
    export.add_argument("file", help="the file to write: .jsonl, .jsonl.gz or .parquet")


def _verb(verbs: Any, name: str, summary: str, run: Callable[[argparse.Namespace], int]) -> Any:
    verb = verbs.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".")
    verb.set_defaults(run=run)
    return verb


def run_info(arguments: argparse.Namespace) -> int:
    """Print a summary of a recording."""
    from ..recording.formats import summarise

    summary = dataclasses.asdict(summarise(arguments.recording))
    if arguments.json:
        print(json_text(summary))
        return 0
    header = summary.pop("header")
    for key, value in {**header, **summary}.items():
        if value is not None and key != "semtropy_recording":
            say(f"{key.replace('_', ' '):<20} {value}")
    return 0


def run_verify(arguments: argparse.Namespace) -> int:
    """Print the faults of each recording."""
    from ..recording.formats import verify

    wrong = 0
    for recording in arguments.recording:
        faults = verify(recording)
        wrong += bool(faults)
        for fault in faults:
            say(fault, file=sys.stderr)
        count = f"{len(faults)} fault" + "s" * (len(faults) > 1)
        print(f"{recording}: {count if faults else 'sound'}")
    return 1 if wrong else 0


def run_merge(arguments: argparse.Namespace) -> int:
    """Merge folders."""
    from ..recording.store import merge

    print(f"{merge(arguments.sources, arguments.out)} questions in {arguments.out}")
    return 0


def run_export(arguments: argparse.Namespace) -> int:
    """Write one file."""
    from ..recording.formats import export

    print(f"{export(arguments.recording, arguments.file)} questions in {arguments.file}")
    return 0
