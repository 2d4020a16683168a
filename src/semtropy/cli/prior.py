"""`semtropy prior fit RECORDING...`: fit the prior of the estimator bayes to a model's own questions."""

from __future__ import annotations

import argparse
from pathlib import Path

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
    fit.add_argument(
        "--claims",
        action="store_true",
        help="fit the prior of long answers instead, to recordings with claims; for --claim-prior of check",
    )
    fit.add_argument(
        "--judge",
        metavar="J",
        default="builtin",
        help="with --claims, the judge that relates claims to samples where no votes are stored (default: builtin)",
    )
    fit.add_argument("--out", required=True, type=Path, metavar="FILE", help="the file to write")
    fit.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Fit and write."""
    from ..estimators import Prior
    from ..files import check_output_file, explained
    from ..recording import read_recording

    check_output_file(arguments.out, *arguments.recordings)
    if arguments.claims:
        return _fit_claims(arguments)
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


def _fit_claims(arguments: argparse.Namespace) -> int:
    """Fit the prior of long answers, which needs votes but no labels."""
    from ..claims import ClaimPrior
    from ..study.claims import read_answers

    answers = read_answers(arguments.recordings, arguments.judge)
    prior = ClaimPrior.fit(answer.votes for answer in answers)
    prior.save(arguments.out)
    print(f"{arguments.out}: fitted on the claims of {len(answers)} answers")
    return 0
