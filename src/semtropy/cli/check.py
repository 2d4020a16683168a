"""`semtropy check`: ask a question until the verdict is decided; the exit code says which it is."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ..verdict import THRESHOLD
from ._exit import EXIT_CODES
from ._input import option_json
from ._structure import add_structure_options, structure_options
from ._text import json_text, say
from ._waiting import LivePicture, still_asking

if TYPE_CHECKING:
    import argparse

    from ..check import Checker
    from ..conversation import Prompt
    from ..inquiry import Step
    from ..verdict import Verdict

__all__ = ["register"]

USAGE, INTERRUPTED = 2, 130


def register(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "check",
        help="ask a question and report whether the answer is made up",
        description="Ask a question, and draw further samples only while they could change the verdict. "
        "Exit code: 0 steady, 3 flagged, 4 undecided, 5 no answer, 2 wrong usage, 1 failure, 130 interrupted.",
    )
    add = parser.add_argument
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("prompt", nargs="?", metavar="PROMPT", help="the question")
    what.add_argument("--file", metavar="FILE", help="check every line of FILE (- is standard input)")
    what.add_argument(
        "--messages",
        metavar="FILE",
        help="check a conversation: a JSON list of chat messages (- is standard input)",
    )
    add("--model", default="smollm2", help="smollm2 (default), gguf:PATH, openai:MODEL, ...")
    add(
        "--base-url",
        metavar="URL",
        help="base URL of the endpoint, for openai:MODEL (default: $OPENAI_BASE_URL)",
    )
    add(
        "--system",
        metavar="TEXT",
        help="a system message; '' sends none (default: one that asks for brief answers)",
    )
    add("--max-tokens", type=int, metavar="N", help="the longest answer, in tokens (default: the model's)")
    add(
        "--judge",
        metavar="J",
        help="the judge that groups answers by meaning: builtin (default), llm (asks the model that is checked), "
        "llm:MODEL, nli:NAME_OR_PATH, numeric, normalised or exact",
    )
    add_structure_options(parser)
    add("--estimator", default="bayes", help="bayes (default), histogram, ...")
    add("--prior", metavar="FILE", help="a prior fitted on training questions")
    add("--calibration", metavar="FILE", help="a file written by `semtropy calibrate`")
    stop = parser.add_mutually_exclusive_group()
    stop.add_argument(
        "--variance", type=float, metavar="G", help="stop at this variance of the entropy (the paper's rule)"
    )
    stop.add_argument(
        "--confidence",
        type=float,
        metavar="P",
        help="stop when the verdict is certain with this probability (default: 0.95)",
    )
    add(
        "--max-samples",
        type=int,
        default=10,
        metavar="N",
        help="draw at most N samples beside the answer; 0 judges the answer alone (default: 10)",
    )
    add(
        "--one-by-one",
        action="store_true",
        help="draw one sample per round: fewest samples, longest wait",
    )
    add(
        "--distinct",
        action="store_true",
        help="draw samples without replacement: none repeats the answer or another sample (hf: models)",
    )
    add("--max-seconds", type=float, metavar="S", help="stop after S seconds")
    add("--answer", metavar="TEXT", help="judge this answer instead of asking for one")
    add(
        "--answer-temperature",
        type=float,
        default=0.1,
        metavar="T",
        help="the temperature of the answer that is asked for (default: 0.1)",
    )
    add(
        "--threshold",
        type=float,
        default=THRESHOLD,
        metavar="H",
        help="flag above an entropy of H nats (default: 0.69, that of two equally likely meanings)",
    )
    add("--seed", type=int, help="seed for the draws, for models that support one")
    add("--show-groups", action="store_true", help="list every wording under the meaning it was grouped with")
    add("--json", action="store_true", help="print the verdict as JSON, one line per prompt")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Check one prompt, or a file of them."""
    try:
        if arguments.prompt is not None and not arguments.prompt.strip():
            raise InputError("the prompt is empty: ask a question")
        prompt = arguments.prompt if arguments.messages is None else _messages(arguments.messages)
        if arguments.file is not None and arguments.answer is not None:
            raise InputError("--answer goes with one prompt, not with --file")
        checker = _checker(arguments)
    except InputError as error:
        say(f"semtropy check: {error}", file=sys.stderr)
        return USAGE
    if arguments.file is not None:
        from ._many import check_file

        return check_file(checker, arguments)
    return _one(checker, prompt, arguments)


def _messages(path: str) -> list[dict[str, Any]]:
    """The conversation in a file: a JSON list of messages, or an object that has one under `messages`."""
    from ..conversation import as_messages

    data = option_json("--messages", path)
    messages = data.get("messages") if isinstance(data, dict) else data
    if not isinstance(messages, list):
        raise InputError(f'--messages {path}: expected a list like [{{"role": "user", "content": "..."}}]')
    try:
        return as_messages(messages)
    except InputError as error:
        raise InputError(f"--messages {path}: {error}") from error


def _checker(arguments: argparse.Namespace) -> Checker:
    from ..check import Checker, Options
    from ..meaning import load_judge
    from ..models import load_model
    from ..stopping import Budget, Decided, Rounds, VarianceBelow

    options: Options = {
        "judge": arguments.judge,
        "estimator": arguments.estimator,
        "budget": Budget(samples=arguments.max_samples, seconds=arguments.max_seconds),
        "threshold": arguments.threshold,
        "answer_temperature": arguments.answer_temperature,
        "system": arguments.system,
        **structure_options(arguments),  # type: ignore[typeddict-item]
    }
    if arguments.one_by_one:
        options["rounds"] = Rounds(growth=1.0)
    if arguments.variance is not None:
        if not arguments.variance >= 0:
            raise InputError(f"--variance is {arguments.variance}: a variance in squared nats, 0 or more")
        options["rule"] = VarianceBelow(arguments.variance)
    if arguments.confidence is not None:
        options["rule"] = Decided(arguments.threshold, arguments.confidence)
    if arguments.prior is not None:
        options["prior"] = _read("..estimators", "Prior", arguments.prior)
    if arguments.calibration is not None:
        options["calibration"] = _read("..calibration", "Calibration", arguments.calibration)
    address = {} if arguments.base_url is None else {"base_url": arguments.base_url}
    if address and arguments.model.partition(":")[0] not in ("openai", "completions"):
        raise InputError(
            f"--base-url goes with openai:MODEL or completions:MODEL, not with {arguments.model}"
        )
    if address and arguments.distinct:
        raise InputError("--distinct goes with hf:NAME_OR_PATH: an endpoint draws with replacement")
    longest = {} if arguments.max_tokens is None else {"max_tokens": arguments.max_tokens}
    if arguments.distinct:  # given by name, so that what cannot work is refused before the model is loaded
        options |= {"model": arguments.model, "max_tokens": arguments.max_tokens, "replacement": False}
    else:
        options["model"] = load_model(arguments.model, **address, **longest)
    asked = (arguments.judge or "").removeprefix("llm:")
    if address and asked.startswith(("openai:", "completions:")):  # another model of the same endpoint
        options["judge"] = load_judge("llm", model=load_model(asked, **address))
    return Checker.load(**options)


def _read(module: str, name: str, path: str) -> Any:
    return getattr(import_module(module, __package__), name).load(path)


def _one(checker: Checker, prompt: Prompt, arguments: argparse.Namespace) -> int:
    steps: list[Step] = []
    interrupted = False
    try:
        if arguments.json or not sys.stdout.isatty():
            with still_asking(checker.model.name, steps, sys.stderr):
                steps.extend(checker.stream(prompt, answer=arguments.answer, rng=arguments.seed))
        else:
            _watch(checker, prompt, arguments, steps)
    except KeyboardInterrupt:
        interrupted = True
        if not steps:
            raise
    verdict = checker.conclude(steps[-1])
    _print(verdict, arguments)
    return INTERRUPTED if interrupted else EXIT_CODES[verdict.outcome]


def _watch(checker: Checker, prompt: Prompt, arguments: argparse.Namespace, steps: list[Step]) -> None:
    """Draw each step as it comes; `steps` keeps what is known if the user breaks off."""
    from rich.live import Live

    from ..conversation import last_question
    from ._drawing import draw_steps

    question = last_question(prompt)
    picture = LivePicture(checker.model.name, lambda: draw_steps(question, steps, checker.terms))
    with Live(get_renderable=picture, refresh_per_second=2) as live:
        try:
            for step in checker.stream(prompt, answer=arguments.answer, rng=arguments.seed):
                steps.append(step)
                picture.update(len(step.samples))
                live.refresh()
        finally:
            picture.finish()


def _print(verdict: Verdict, arguments: argparse.Namespace) -> None:
    if arguments.json:
        print(json_text(verdict.to_dict()))
    elif sys.stdout.isatty():
        from rich.console import Console

        from ._drawing import draw_verdict

        Console().print(draw_verdict(verdict))
    else:
        say(verdict.explain())
    if arguments.show_groups and not arguments.json:
        say(verdict.show_groups())
