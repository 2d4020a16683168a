"""`semtropy check`: ask a question until the verdict is decided; the exit code says which it is."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager, nullcontext
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError, SemtropyError
from ..files import check_output_file, decode_json, decode_text, read_text, text_lines
from ..options import OPTIONS, split_list
from ..stopping import Budget, Price, Rounds, rule_of
from ..verdict import Outcome, percent
from ._options import add_config, add_flags, read_config
from ._text import json_text, printable, say
from .progress import draws, still_asking

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator, Callable, Iterator, Sequence

    from numpy.random import Generator

    from ..checking import Checker
    from ..conversation import Prompt
    from ..inquiry.steps import Step
    from ..stopping import Rule
    from ..verdict import Verdict


# The exit codes of `semtropy check`, so that a script can tell the outcomes apart.


EXIT_CODES = {Outcome.STEADY: 0, Outcome.FLAGGED: 3, Outcome.UNDECIDED: 4, Outcome.NO_ANSWER: 5}
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
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "prompt", nargs="?", metavar="PROMPT", help="the question, in quotation marks (- is standard input)"
    )
    what.add_argument(
        "--file",
        metavar="FILE",
        help="check every line of FILE (- is standard input), or the question of every row of .jsonl, .csv, ...",
    )
    what.add_argument(
        "--messages",
        metavar="FILE",
        help="check a conversation: a JSON list of chat messages (- is standard input)",
    )
    add_flags(parser)
    add("--show-groups", action="store_true", help="list every wording under the meaning it was grouped with")
    add("--json", action="store_true", help="print the verdict as JSON, one line per prompt")
    add(
        "--dry-run",
        action="store_true",
        help="print what a check would ask for and what it may cost, and ask nothing",
    )
    add_config(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Check one prompt, or a file of them."""
    try:
        alone = (
            arguments.second_base_url is not None or arguments.second_when != OPTIONS["second_when"].default
        )
        read_config(arguments.config, arguments, arguments.words)
        if alone and not arguments.second:
            raise InputError("--second-base-url and --second-when go with --second: name the second model")
        for name in ("prompt", "system", "answer", "choices"):
            setattr(arguments, name, _typed(name, getattr(arguments, name)))
        arguments.opened = []  # models whose connections are closed at the end
        if arguments.prompt == "-":
            arguments.prompt = option_text("PROMPT", "-").strip()
        if arguments.prompt is not None and not arguments.prompt.strip():
            raise InputError("the prompt is empty: ask a question")
        if arguments.prompt is arguments.messages is arguments.file is None:
            raise InputError(
                'there is no question: add one in quotation marks, "Who wrote Faust?", or --file or --messages'
            )
        prompt = arguments.prompt if arguments.messages is None else _messages(arguments.messages)
        if arguments.file is not None and arguments.answer is not None:
            raise InputError("--answer goes with one prompt, not with --file")
        if arguments.dry_run:
            say(_plan(arguments))
            return 0
        checker = _checker(arguments)
    except InputError as error:
        say(f"semtropy check: {error}", file=sys.stderr)
        return USAGE
    try:
        if arguments.file is not None:
            return check_file(checker, arguments)
        verdict, interrupted = check_one(checker, prompt, arguments)
        return INTERRUPTED if interrupted else EXIT_CODES[verdict.outcome]
    finally:
        _keep_learned(checker, arguments)
        for model in arguments.opened:
            getattr(model, "close", lambda: None)()


def _typed(name: str, text: str | None) -> str | None:
    """A text of the command line as UTF-8, also where the locale is another one."""
    if text is None or not any("\ud800" <= each <= "\udfff" for each in text):
        return text
    try:
        return os.fsencode(text).decode()
    except UnicodeDecodeError:
        raise InputError(
            f"the {name} is not UTF-8 text: write it to a file, and save that as UTF-8"
        ) from None


def _price(arguments: argparse.Namespace) -> Price | None:
    return None if arguments.price_per_token is None else Price(per_token=arguments.price_per_token)


BRIEF_TOKENS = 64  # the limit of a brief answer: what one costs at most


def _plan(arguments: argparse.Namespace) -> str:
    """What a check would ask for, and what that may cost."""
    most = 10 if arguments.max_samples is None else arguments.max_samples
    given = arguments.answer is not None
    asked = "at most" if given else "one answer and at most"
    longest = arguments.max_tokens or BRIEF_TOKENS
    parts = [
        f"Would ask {arguments.model} for {asked} {most} sample{'s' * (most != 1)}, usually fewer.",
        f"With answers of up to {longest} tokens that is at most {longest * (most + (not given))} tokens a prompt.",
    ]
    if arguments.price_per_token is not None:
        money = arguments.price_per_token * longest * (most + (not given))
        parts.append(
            f"At {arguments.price_per_token:g} for a token it costs at most {money:.4g}, and the prompts."
        )
    else:
        parts.append("--price-per-token P gives the cost.")
    return " ".join(parts)


# What the flags ask for.


def _checker(arguments: argparse.Namespace) -> Checker:
    from ..checking import Checker

    written = _given(arguments, *OPTIONS.keys() - _FOR_THE_MODEL - {"answer"})
    options = {name: _READ[name](value) if name in _READ else value for name, value in written.items()}
    second = tuple(_second_model(name, arguments) for name in arguments.second or ())
    options |= {"budget": _budget(arguments), "rule": _rule(arguments), "prior": _prior(arguments)}
    options |= {"model": _model(arguments), "second": second, "judge": _judge(arguments)}
    if arguments.one_by_one:
        options["rounds"] = Rounds(growth=1.0)
    arguments.opened += [options["model"], *second]
    return Checker.load(**options)


def _given(arguments: argparse.Namespace, *names: str) -> dict[str, Any]:
    """Those of the options that were given."""
    return {name: value for name in names if (value := getattr(arguments, name, None)) is not None}


_FOR_THE_MODEL = {"base_url", "max_tokens"}


def _model(arguments: argparse.Namespace) -> Any:
    from ..models import is_endpoint, load_model

    if arguments.base_url is not None and not is_endpoint(arguments.model):
        raise InputError(
            f"--base-url goes with openai:MODEL or completions:MODEL, not with {arguments.model}"
        )
    return load_model(arguments.model, **_given(arguments, *_FOR_THE_MODEL))


def _judge(arguments: argparse.Namespace) -> Any:
    """The judge by name, or one that asks another model of the endpoint that is checked."""
    asked = (arguments.judge or "").removeprefix("llm:")
    from ..meaning import load_judge
    from ..models import is_endpoint, load_model

    if arguments.base_url is None or not is_endpoint(asked):
        return arguments.judge
    arguments.opened.append(load_model(asked, base_url=arguments.base_url))
    return load_judge("llm", model=arguments.opened[-1])


def _budget(arguments: argparse.Namespace) -> Budget | None:
    price = _price(arguments)
    if arguments.max_cost is not None and price is None:
        raise InputError("--max-cost needs --price-per-token: what a generated token costs")
    limits = _given(arguments, "max_samples", "max_seconds", "max_cost")
    given = {name.removeprefix("max_"): value for name, value in limits.items()}
    try:
        return Budget(**given, price=price) if given else None
    except InputError as error:
        raise InputError(str(error).replace("budget: ", "--max-")) from None


def _rule(arguments: argparse.Namespace) -> Rule | None:
    if arguments.variance is not None and not arguments.variance >= 0:
        raise InputError(f"--variance is {arguments.variance}: a variance in squared nats, 0 or more")
    return rule_of(arguments.threshold, arguments.variance, arguments.confidence)


def _second_model(name: str, arguments: argparse.Namespace) -> Any:
    """A second model: at its own address with its own key, or another model of the endpoint that is checked."""
    from ..models import is_endpoint, load_model

    given = _given(arguments, "max_tokens")
    if is_endpoint(name) and arguments.second_base_url is None:
        given |= _given(arguments, "base_url")
    elif is_endpoint(name):
        # Never the first provider's key: it is no business of the second one.
        key = os.environ.get("SECOND_API_KEY") or "none"
        given |= {"base_url": arguments.second_base_url, "api_key": key}
    return load_model(name, **given)


def _prior(arguments: argparse.Namespace) -> Any:
    """The prior: a fitted one, or one that learns, from what was learned before where that is kept."""
    fitted = None
    if arguments.prior not in (None, "learn"):
        fitted = _read("..estimators", "Prior", arguments.prior)
    if arguments.learned is not None:
        from ..estimators import LearnedPrior

        check_output_file(arguments.learned)
        if not Path(arguments.learned).exists():
            return LearnedPrior(fitted)
        if fitted is not None:
            raise InputError(
                f"--prior begins a prior that learns, and {arguments.learned} is there: leave out one"
            )
        return LearnedPrior.load(arguments.learned)
    many = arguments.file is not None and arguments.estimator == "bayes" and arguments.calibration is None
    return fitted or ("learn" if many or arguments.prior == "learn" else None)


def _keep_learned(checker: Checker, arguments: argparse.Namespace) -> None:
    """Say what the prior has learned from many prompts, and write it where it is to be kept."""
    learned = getattr(checker.terms.estimator, "learned", None)
    if learned is None:
        return
    if arguments.file is not None and not arguments.json and learned.questions:
        say(f"prior: {learned.state}", file=sys.stderr)
    if arguments.learned is not None:
        learned.save(arguments.learned)


# The values of flags that are not the text itself; `-` as the name of a file is standard input.


def option_text(option: str, path: str) -> str:
    """The text of the file that an option names; errors name the option too."""
    name = f"{option} {path}"
    if path != "-":
        return read_text(path, name)
    # Bytes, because text from standard input may have been decoded as something other than UTF-8.
    binary = getattr(sys.stdin, "buffer", None)
    return sys.stdin.read() if binary is None else decode_text(binary.read(), name)


def option_json(option: str, path: str) -> Any:
    """The value of the JSON file that an option names."""
    return decode_json(option_text(option, path), f"{option} {path}")


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


def _read(module: str, name: str, path: str) -> Any:
    return getattr(import_module(module, __package__), name).load(path)


def _schema(path: str) -> dict[str, Any]:
    data = option_json("--schema", path)
    if not isinstance(data, dict):
        raise InputError(f"--schema {path}: expected a JSON schema, which is an object")
    return data


def _tools(path: str) -> list[dict[str, Any]]:
    tools = option_json("--tools", path)
    if not isinstance(tools, list) or not all(isinstance(tool, dict) for tool in tools):
        raise InputError(f"--tools {path}: expected a list of tools, as in a request to an endpoint")
    return tools


# Options whose flag does not give the value itself: a file, a list with commas, or a word for None.
_READ: dict[str, Callable[[str], Any]] = {
    "schema": _schema,
    "tools": _tools,
    "choices": lambda text: [each.strip() for each in text.split(",")],
    "required": split_list,
    "claims": lambda text: None if text == "none" else text,
    "claim_prior": partial(_read, "..claims", "ClaimPrior"),
    "calibration": partial(_read, "..calibration", "Calibration"),
}


# One question.


def check_one(checker: Checker, prompt: Prompt, arguments: argparse.Namespace) -> tuple[Verdict, bool]:
    """Check and print, live in a terminal; whether the user broke off."""
    steps: list[Step] = []
    interrupted = False
    try:
        if arguments.json or not draws(sys.stdout):
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
    return verdict, interrupted


def _watch(checker: Checker, prompt: Prompt, arguments: argparse.Namespace, steps: list[Step]) -> None:
    """Draw each step as it comes; `steps` keeps what is known if the user breaks off."""
    from rich.live import Live

    from ..conversation import last_question
    from ._terminal import LivePicture, draw_steps

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
    elif draws(sys.stdout):
        from rich.console import Console

        from ._terminal import draw_verdict

        Console().print(draw_verdict(verdict))
    else:
        say(verdict.explain())
    price = _price(arguments)
    if price is not None and verdict.spent.tokens is not None and not arguments.json:
        say(
            f"Its {verdict.spent.tokens} generated tokens cost {price.of(verdict.spent):.4g}, the prompts not counted."
        )
    if arguments.show_groups and not arguments.json:
        listed = {line.strip() for line in verdict.sentences()} if verdict.claims else set()
        rest = [line for line in verdict.show_groups().splitlines() if line not in listed]
        if rest:
            say("\n".join(rest))


# Many prompts from a file, several at a time where the model can; results in the file's order.


_LONGEST = 200  # characters of a prompt that are shown with its verdict
_AT_ONCE = 16
_WORST_FIRST = (1, 3, 4, 5)  # of all prompts' exit codes: failure, flagged, undecided, no answer


def check_file(checker: Checker, arguments: argparse.Namespace) -> int:
    """Check every line; a prompt that fails is reported in its place and does not stop the others."""
    import asyncio

    try:
        prompts = _prompts(arguments.file)
    except InputError as error:
        say(f"semtropy check: {error}", file=sys.stderr)
        return 2
    codes: list[int] = []
    bar = _bar(len(prompts)) if draws(sys.stderr) else nullcontext(lambda: None)
    with bar as advance:
        try:
            asyncio.run(_print_all(checker, prompts, arguments, codes, advance))
        except KeyboardInterrupt:
            print(f"semtropy: interrupted after {len(codes)} of {len(prompts)} prompts", file=sys.stderr)
            return 130
    return next((code for code in _WORST_FIRST if code in codes), 0)


def _prompts(path: str) -> list[str]:
    """The lines of a text file, or the questions of the rows of JSON lines, JSON, CSV, Parquet or Arrow."""
    from ..study.generate.datasets import SUFFIXES, plain, read_records

    if path.endswith(SUFFIXES):
        rows = map(plain, read_records(Path(path)))
        prompts = [f"{row.context}\n\n{row.text}" if row.context else row.text for row in rows]
    else:
        prompts = list(filter(None, text_lines(option_text("--file", path))))
    if not prompts:
        raise InputError(f"--file {path}: no prompts in it; write one per line")
    return prompts


async def _print_all(
    checker: Checker, prompts: Sequence[str], arguments: argparse.Namespace, codes: list[int], advance: Any
) -> None:
    async for prompt, outcome in _outcomes(checker, prompts, arguments.seed):
        codes.append(1 if isinstance(outcome, SemtropyError) else EXIT_CODES[outcome.outcome])
        print(_line(prompt, outcome, as_json=arguments.json), flush=True)
        advance()


async def _outcomes(
    checker: Checker, prompts: Sequence[str], seed: int | None
) -> AsyncIterator[tuple[str, Any]]:
    import asyncio

    import numpy as np

    slots = asyncio.Semaphore(_AT_ONCE if hasattr(checker.model, "asample") else 1)
    rngs = np.random.default_rng(seed).spawn(len(prompts))

    async def one(prompt: str, rng: Generator) -> Any:
        async with slots:
            try:
                return await checker.acheck(prompt, rng=rng)
            except SemtropyError as error:
                return error

    tasks = [asyncio.create_task(one(prompt, rng)) for prompt, rng in zip(prompts, rngs, strict=True)]
    try:
        for prompt, task in zip(prompts, tasks, strict=True):
            yield prompt, await task
    finally:
        for task in tasks:
            task.cancel()
        for model in (checker.model, *checker.second):
            aclose = getattr(model, "aclose", None)
            if aclose is not None:
                await aclose()


def _line(prompt: str, outcome: Any, *, as_json: bool) -> str:
    """What is printed for a prompt: one line, whatever the answer contains."""
    shown = prompt if len(prompt) <= _LONGEST else f"{prompt[:_LONGEST]} ..."
    if isinstance(outcome, SemtropyError):
        if as_json:
            return json_text({"question": prompt, "error": str(outcome)})
        return _on_one_line(f"failed    {shown}: {outcome}")
    if as_json:
        return json_text(outcome.to_dict())
    if outcome.fields or outcome.claims:
        found = outcome.headline().rstrip(".")
        return _on_one_line(
            f"{outcome.outcome:9} {found}  {_samples(outcome.samples)}  {shown} -> {outcome.answer}"
        )
    agreement = "" if outcome.agreement is None else f"{_share(outcome.agreement.mean):>4} again  "
    return _on_one_line(
        f"{outcome.outcome:9} {agreement}{outcome.entropy.mean:.2f} nats  {_samples(outcome.samples)}  "
        f"{shown} -> {outcome.answer}"
    )


def _samples(count: int) -> str:
    return f"{count:2} {'sample ' if count == 1 else 'samples'}"


def _share(probability: float) -> str:
    """A probability in four columns; 0 and 100% only where they are exact."""
    return f"{percent(probability).replace('more than ', '>').replace('less than ', '<')}%"


def _on_one_line(text: str) -> str:
    return printable(text).replace("\n", "\\n")


@contextmanager
def _bar(total: int) -> Iterator[Any]:
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task("checking", total=total)
        yield lambda: bars.advance(task)
