"""`semtropy prior fit RECORDING...`: fit the prior of the estimator bayes to a model's own questions."""

from __future__ import annotations

import argparse
from pathlib import Path

__all__ = ["register"]

FEW = 30


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "prior",
        help="fit a prior for the estimator bayes",
        description="Fit a prior for the estimator bayes to recordings of a model: what to expect of its answers "
        "before any sample.",
    )
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    fit = actions.add_parser(
        "fit",
        help="fit a prior and write it to a file",
        description="Fit a prior to the questions of recordings, which need meanings but no grades, and write it to a "
        "file for --prior of check, score and serve. Several recordings are fitted one by one, and combined.",
    )
    fit.add_argument(
        "recordings", nargs="+", metavar="RECORDING", help="recordings of the model, with meanings"
    )
    fit.add_argument("--out", required=True, type=Path, metavar="FILE", help="the file to write")
    fit.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Fit and write."""
    from ..estimators import Prior
    from ..recording import read_recording
    from ..study.output import check_output_file, explained

    check_output_file(arguments.out, *arguments.recordings)
    recordings = [read_recording(path) for path in arguments.recordings]
    rows = [row for recording in recordings for row in recording]
    prior = Prior.combine([Prior.fit(recording) for recording in recordings])
    with explained(arguments.out):
        prior.save(arguments.out)
    with_answer = sum(
        row.answer is not None and row.judged_sample().sampling_logprob is not None for row in rows
    )
    print(
        f"{arguments.out}: fitted on {len(rows)} questions, {with_answer} of them with the answer's log-probability"
    )
    if len(rows) < FEW:
        print(f"fewer than {FEW} questions: expect little more than the prior that ships gives")
    return 0
