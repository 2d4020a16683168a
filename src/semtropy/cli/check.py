"""`semtropy check`: ask a question until the belief about its answer is firm; exit code 3 if it is flagged."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ..verdict import THRESHOLD

if TYPE_CHECKING:
    import argparse

    from ..check import Checker
    from ..inquiry import Step
    from ..verdict import Verdict

__all__ = ["register"]

FINE, FAILED, USAGE, FLAGGED, INTERRUPTED = 0, 1, 2, 3, 130


def register(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "check",
        help="ask a question and tell whether the answer is made up",
        description="Sample answers to a question, group them by meaning, and stop when the belief is firm. "
        "Exit code: 0 steady, 3 flagged, 2 wrong usage, 1 failure, 130 interrupted.",
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("prompt", nargs="?", metavar="PROMPT", help="the question")
    what.add_argument("--file", metavar="FILE", help="check every line of FILE (- is standard input)")
    parser.add_argument("--model", default="smollm2", help="smollm2 (default), gguf:PATH, openai:MODEL, ...")
    parser.add_argument(
        "--base-url", metavar="URL", help="endpoint of openai:MODEL (default: $OPENAI_BASE_URL)"
    )
    parser.add_argument(
        "--judge", help="who decides which answers mean the same (default: the built-in judge)"
    )
    parser.add_argument("--estimator", default="bayes", help="bayes (default), histogram, ...")
    parser.add_argument("--prior", metavar="FILE", help="a prior fitted on training questions")
    parser.add_argument("--calibration", metavar="FILE", help="turns entropy into a probability")
    stop = parser.add_mutually_exclusive_group()
    stop.add_argument("--variance", type=float, metavar="G", help="stop at this variance of the entropy")
    stop.add_argument(
        "--confidence",
        type=float,
        metavar="P",
        help="stop when above or below the threshold with this probability",
    )
    parser.add_argument(
        "--max-samples", type=int, default=10, metavar="N", help="at most so many (default: 10)"
    )
    parser.add_argument("--max-seconds", type=float, metavar="S", help="at most so long")
    parser.add_argument(
        "--threshold", type=float, default=THRESHOLD, metavar="H", help="flag above H nats (default: log 2)"
    )
    parser.add_argument("--seed", type=int, help="the same seed gives the same draws, where the model can")
    parser.add_argument("--json", action="store_true", help="print the verdict as JSON, one line a prompt")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Check one prompt, or a file of them."""
    try:
        if arguments.file is None and not arguments.prompt.strip():
            raise InputError("the prompt is empty: ask a question")
        checker = _checker(arguments)
    except InputError as error:
        print(f"semtropy check: {error}", file=sys.stderr)
        return USAGE
    if arguments.file is not None:
        from ._many import check_file

        return check_file(checker, arguments)
    return _one(checker, arguments)


def _checker(arguments: argparse.Namespace) -> Checker:
    from ..check import Checker, Options
    from ..models import load_model
    from ..stopping import Budget, Decided, VarianceBelow

    options: Options = {
        "judge": arguments.judge,
        "estimator": arguments.estimator,
        "budget": Budget(samples=arguments.max_samples, seconds=arguments.max_seconds),
        "threshold": arguments.threshold,
    }
    if arguments.variance is not None:
        options["rule"] = VarianceBelow(arguments.variance)
    if arguments.confidence is not None:
        options["rule"] = Decided(arguments.threshold, arguments.confidence)
    if arguments.prior is not None:
        options["prior"] = _read("..estimators", "Prior", arguments.prior)
    if arguments.calibration is not None:
        options["calibration"] = _read("..calibration", "Calibration", arguments.calibration)
    settings = {} if arguments.base_url is None else {"base_url": arguments.base_url}
    if settings and arguments.model.partition(":")[0] not in ("openai", "completions"):
        raise InputError(
            f"--base-url goes with openai:MODEL or completions:MODEL, not with {arguments.model}"
        )
    options["model"] = load_model(arguments.model, **settings)
    return Checker.load(**options)


def _read(module: str, name: str, path: str) -> Any:
    return getattr(import_module(module, __package__), name).load(path)


def _one(checker: Checker, arguments: argparse.Namespace) -> int:
    steps: list[Step] = []
    interrupted = False
    try:
        if arguments.json or not sys.stdout.isatty():
            steps.extend(checker.stream(arguments.prompt, rng=arguments.seed))
        else:
            _watch(checker, arguments, steps)
    except KeyboardInterrupt:
        interrupted = True
        if not steps:
            raise
    from ..inquiry import conclude

    verdict = conclude(steps[-1], checker.terms)
    _print(verdict, arguments)
    if interrupted:
        return INTERRUPTED
    return FLAGGED if verdict.flagged else FINE


def _watch(checker: Checker, arguments: argparse.Namespace, steps: list[Step]) -> None:
    """Draw each step as it comes; `steps` keeps what is known if the user breaks off."""
    from rich.live import Live

    from ._drawing import draw_steps

    picture = draw_steps(arguments.prompt, steps, checker.terms)
    with Live(picture, auto_refresh=False) as live:
        for step in checker.stream(arguments.prompt, rng=arguments.seed):
            steps.append(step)
            live.update(draw_steps(arguments.prompt, steps, checker.terms), refresh=True)


def _print(verdict: Verdict, arguments: argparse.Namespace) -> None:
    if arguments.json:
        print(verdict.to_json())
    elif sys.stdout.isatty():
        from rich.console import Console

        from ._drawing import draw_verdict

        Console().print(draw_verdict(verdict))
    else:
        print(verdict.explain())
