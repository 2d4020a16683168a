"""Many prompts from a file, several at a time where the model can; results in the file's order."""

from __future__ import annotations

import asyncio
import sys
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError, SemtropyError
from ..input_files import text_lines
from ._exit import EXIT_CODES
from ._input import option_text
from ._text import json_text, printable, say

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator, Iterator, Sequence

    from ..check import Checker

__all__ = ["check_file"]

_AT_ONCE = 16
_WORST_FIRST = (1, 3, 4, 5)  # of all prompts' exit codes: failure, flagged, undecided, no answer


def check_file(checker: Checker, arguments: argparse.Namespace) -> int:
    """Check every line; a prompt that fails is reported in its place and does not stop the others."""
    try:
        prompts = _prompts(arguments.file)
    except InputError as error:
        say(f"semtropy check: {error}", file=sys.stderr)
        return 2
    codes: list[int] = []
    bar = _bar(len(prompts)) if sys.stderr.isatty() else nullcontext(lambda: None)
    with bar as advance:
        try:
            asyncio.run(_print_all(checker, prompts, arguments, codes, advance))
        except KeyboardInterrupt:
            print(f"semtropy: interrupted after {len(codes)} of {len(prompts)} prompts", file=sys.stderr)
            return 130
    return next((code for code in _WORST_FIRST if code in codes), 0)


def _prompts(path: str) -> list[str]:
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
    slots = asyncio.Semaphore(_AT_ONCE if hasattr(checker.model, "asample") else 1)
    rngs = np.random.default_rng(seed).spawn(len(prompts))

    async def one(prompt: str, rng: np.random.Generator) -> Any:
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
        aclose = getattr(checker.model, "aclose", None)
        if aclose is not None:
            await aclose()


def _line(prompt: str, outcome: Any, *, as_json: bool) -> str:
    """What is printed for a prompt: one line, whatever the answer contains."""
    if isinstance(outcome, SemtropyError):
        if as_json:
            return json_text({"question": prompt, "error": str(outcome)})
        return _on_one_line(f"failed    {prompt}: {outcome}")
    if as_json:
        return json_text(outcome.to_dict())
    if outcome.fields:
        found = outcome.headline().rstrip(".")
        return _on_one_line(
            f"{outcome.outcome:9} {found}  {outcome.samples:2} samples  {prompt} -> {outcome.answer}"
        )
    agreement = "" if outcome.agreement is None else f"{outcome.agreement.mean:4.0%} again  "
    return _on_one_line(
        f"{outcome.outcome:9} {agreement}{outcome.entropy.mean:.2f} nats  {outcome.samples:2} samples  "
        f"{prompt} -> {outcome.answer}"
    )


def _on_one_line(text: str) -> str:
    return printable(text).replace("\n", "\\n")


@contextmanager
def _bar(total: int) -> Iterator[Any]:
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task("checking", total=total)
        yield lambda: bars.advance(task)
