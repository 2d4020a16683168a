"""`semtropy evaluate`: every estimator on stored runs, with intervals, as tables, figures and JSON."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InputError
from ..options import split_list
from ._options import add_engine, engine_of
from ._text import say

if TYPE_CHECKING:
    import argparse


MOST_SAMPLES = 100_000  # of one question, in a study


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "evaluate",
        help="compare estimators on recordings",
        description="Compare estimators on recordings: AUROC at fixed and adaptive budgets, with intervals.",
    )
    add = parser.add_argument
    add("recordings", nargs="+", metavar="RECORDING", help="a recording with meanings and grades")
    add(
        "--estimators",
        metavar="A,B",
        help="methods to compare, and scores stored in the recordings (default: all it has the columns for)",
    )
    add("--budgets", default="1-10", metavar="N", help="numbers of samples: 1-10, or 2,5,10 (default: 1-10)")
    add("--seeds", type=int, default=5, metavar="N", help="number of repeated draws (default: 5)")
    add(
        "--train",
        type=int,
        default=200,
        metavar="N",
        help="number of questions, from the first on, that train the priors (default: 200)",
    )
    add("--folds", type=int, metavar="K", help="use K-fold cross-validation instead of --train")
    add(
        "--shuffle",
        action="store_true",
        help="shuffle the questions (with --seed) before the split, instead of ordering them by id",
    )
    add("--seed", type=int, default=0, metavar="N", help="seed for all draws (default: 0)")
    _add_comparisons(parser)
    add(
        "--pool",
        type=int,
        metavar="N",
        help="draw from the first N samples of each question alone, such as those that were related",
    )
    add(
        "--processes",
        type=int,
        metavar="N",
        help="number of processes (default: one per core); the results do not depend on it",
    )
    _add_other_studies(parser)
    add_engine(parser)
    add("--json", type=Path, metavar="OUT", help="write the results as JSON")
    add("--out", type=Path, metavar="DIR", help="write tables, figures and a report to this folder")
    parser.set_defaults(run=run)


def _add_other_studies(parser: argparse.ArgumentParser) -> None:
    """Options that ask for another study than the comparison of estimators."""
    add = parser.add_argument
    add(
        "--second",
        metavar="RECORDING",
        help="answers of another model to the same questions: what they add, instead of comparing estimators",
    )
    add(
        "--judge",
        metavar="J",
        default="builtin",
        help="the judge that compares answers of both models (--second), or claims and samples (--claims); default: "
        "builtin",
    )
    add(
        "--claims",
        action="store_true",
        help="recordings of long answers with labelled claims: how well each method finds the wrong ones",
    )


def _add_comparisons(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--alphas", metavar="A,B", help="also run bayes-paper with these values of alpha, such as 0.25,1")
    add("--against", metavar="E", help="the estimator to compare the others with (default: bayes)")
    add(
        "--bootstrap",
        type=int,
        default=1000,
        metavar="N",
        help="bootstrap resamples for comparisons, 0 for none (default: 1000)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Evaluate, write what was asked for, print the main tables."""
    from ..files import check_output_file, check_output_folder, write_file
    from ..study.evaluate import evaluate
    from ..study.evaluate.report import summary, write_study
    from ..study.evaluate.run import available_cores

    if arguments.json is not None:
        check_output_file(arguments.json, *arguments.recordings)
    if arguments.second is not None:
        return _second(arguments)
    if arguments.claims:
        return _claims(arguments)
    if arguments.out is not None:
        check_output_folder(arguments.out)
        from ..study.evaluate.figures import blank_figure

        blank_figure()  # fails now, not after the work, where matplotlib is missing
    results = evaluate(
        arguments.recordings,
        estimators=None if arguments.estimators is None else split_list(arguments.estimators),
        budgets=parse_budgets(arguments.budgets),
        seeds=arguments.seeds,
        train=arguments.train,
        folds=arguments.folds,
        shuffle=arguments.shuffle,
        seed=arguments.seed,
        alphas=_alphas(arguments.alphas),
        against=arguments.against,
        bootstrap=arguments.bootstrap,
        pool=arguments.pool,
        processes=arguments.processes or available_cores(),
        engine=engine_of(arguments) if arguments.engine == "ray" else None,
        progress=_show_progress if sys.stderr.isatty() else None,
    )
    for note in results.notes:
        say(f"semtropy: {note}", file=sys.stderr)
    if arguments.json is not None:
        write_file(arguments.json, results.to_json())
    if arguments.out is not None:
        write_study(results, arguments.out)
        print(f"semtropy: wrote {arguments.out / 'report.html'} and what it is made of", file=sys.stderr)
    say(summary(results), end="")
    return 0


def _second(arguments: argparse.Namespace) -> int:
    """What the answers of another model add to one recording."""
    from ..files import write_file
    from ..study.second import join, study_second

    if len(arguments.recordings) != 1 or arguments.out is not None:
        raise InputError("--second goes with one recording, and with --json rather than --out")
    joined = join(arguments.recordings[0], arguments.second, arguments.judge, seed=arguments.seed)
    costs = [budget for budget in parse_budgets(arguments.budgets) if budget > 0]
    found = study_second(joined, costs=costs, seeds=arguments.seeds, seed=arguments.seed)
    if arguments.json is not None:
        write_file(arguments.json, json.dumps({"second": asdict(found)}, indent=2) + "\n")
    say(found.table(), end="")
    return 0


def _claims(arguments: argparse.Namespace) -> int:
    """How well the wrong claims of long answers are found."""
    from ..files import write_file
    from ..study.claims import claims_json, claims_table, read_answers, study_claims

    if arguments.out is not None:
        raise InputError("--claims goes with --json rather than --out")
    answers = read_answers(arguments.recordings, arguments.judge)
    found = study_claims(
        answers, budgets=parse_budgets(arguments.budgets), seeds=arguments.seeds, seed=arguments.seed
    )
    if arguments.json is not None:
        write_file(arguments.json, json.dumps(claims_json(found), indent=2) + "\n")
    say(claims_table(found), end="")
    return 0


def _show_progress(step: str, done: int, total: int) -> None:
    """One line of the terminal, overwritten by the next."""
    print(
        f"\r\x1b[K{step}: {done} of {total}",
        end="" if done < total else "\r\x1b[K",
        file=sys.stderr,
        flush=True,
    )


def parse_budgets(text: str) -> list[int]:
    """Numbers and ranges, separated by commas.

    >>> parse_budgets("1-3,10")
    [1, 2, 3, 10]
    """
    budgets: list[int] = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        try:
            low = int(first)
            high = int(last) if dash else low
        except ValueError:
            raise InputError(f"--budgets is {text!r}: give numbers of samples as 1-10 or 2,5,10") from None
        if high > MOST_SAMPLES:
            raise InputError(f"--budgets is {text!r}: at most {MOST_SAMPLES} samples")
        if high < low:
            raise InputError(f"--budgets is {text!r}: a range goes up, as 1-10")
        budgets += range(low, high + 1)
    return budgets


def _alphas(text: str | None) -> list[float]:
    try:
        alphas = [float(part) for part in split_list(text or "")]
    except ValueError:
        raise InputError(f"--alphas is {text!r}: give numbers above 0, as 0.25,1") from None
    if any(not 0 < alpha < float("inf") for alpha in alphas):
        raise InputError(f"--alphas is {text!r}: give numbers above 0, as 0.25,1")
    return alphas
