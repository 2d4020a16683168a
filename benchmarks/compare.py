"""Every method on the same samples, with the same judge: ours, and those of lm-polygraph and uqlm.

    python -m benchmarks.compare RECORDING... [--questions 300] [--tools PYTHON] [--work DIR] [--page PAGE]

At most 300 questions of a recording are compared, or N of one that is given as RECORDING@N.
PYTHON is that of an environment with lm-polygraph 0.7.0 and uqlm 0.6.7 (`benchmarks/other_tools.py`); without it their
rows are left out. The built-in judge groups all samples of a question and relates its first 20, once for all. Every
method draws from these 20, five times, and sees the same draws. Priors are fitted on the other folds of five.

Each step leaves a file in DIR. A run that was stopped goes on from there; delete a file to make it again.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.compare_measures import Measured
from benchmarks.compare_page import fill_page
from benchmarks.compare_samples import JUDGE, recording_name, samples_of
from benchmarks.compare_scores import check_tools, our_scores, their_scores
from semtropy.errors import SemtropyError
from semtropy.recording import open_recording
from semtropy.study.evaluate.run import available_cores

__all__ = ["compared", "main"]


def compared(recording: str, given: argparse.Namespace) -> Measured:
    """The scores of one recording, made where they are missing."""
    file, marker, most = recording.rpartition("@")
    path = Path(file if marker and most.isdecimal() else recording)
    name = recording_name(path)
    count = int(most) if marker and most.isdecimal() else given.questions
    source = samples_of(path, given.work, count, given.judge)
    ours = _kept(given.work / f"{name}.ours.json", lambda: our_scores(source, given.processes))
    held = {**ours, "questions": sum(1 for _ in open_recording(path).rows)}
    theirs = given.work / f"{name}.theirs.json"
    if given.tools is not None:
        _kept(theirs, lambda: their_scores(source, ours["ids"], given.tools))
    if theirs.exists():
        found = json.loads(theirs.read_text(encoding="utf-8"))
        for key in ("scores", "milliseconds", "judgements"):
            held[key] = {**held[key], **found[key]}
        held |= {key: found[key] for key in ("errors", "undefined")}
    else:
        print(
            f"{name}: lm-polygraph and uqlm are left out: --tools names a Python that has them",
            file=sys.stderr,
        )
    return Measured(name, held)


def _kept(file: Path, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What the file holds, made and written first where it is missing."""
    if not file.exists():
        part = file.with_suffix(".part")
        part.write_text(json.dumps(make()), encoding="utf-8")
        part.replace(file)
        print(file, file=sys.stderr, flush=True)
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare, and write the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare")
    add = parser.add_argument
    add(
        "recordings", nargs="+", metavar="RECORDING", help="a recording, or RECORDING@N for N questions of it"
    )
    add(
        "--questions",
        type=int,
        default=300,
        metavar="N",
        help="at most N questions of every other recording (default: 300)",
    )
    add("--judge", default=JUDGE, metavar="J", help=f"groups and relates the samples (default: {JUDGE})")
    add("--tools", metavar="PYTHON", help="the Python of an environment with lm-polygraph and uqlm")
    add("--work", type=Path, default=Path("compared"), metavar="DIR", help="where each step leaves its file")
    add("--page", type=Path, help="the page to fill; without one the tables are printed")
    add("--processes", type=int, default=available_cores(), metavar="N")
    given = parser.parse_args(arguments)
    given.work.mkdir(parents=True, exist_ok=True)
    try:
        if given.tools is not None:
            check_tools(given.tools)
        every = [compared(each, given) for each in given.recordings]
    except SemtropyError as error:
        print(f"benchmarks.compare: {error}", file=sys.stderr)
        return 2
    fill_page(every, given.page)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
