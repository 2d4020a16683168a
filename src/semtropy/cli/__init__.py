"""The command line: one file per command, each of which parses arguments, calls the library and prints."""

from __future__ import annotations

import argparse
import importlib
import io
import os
import re
import shlex
import sys
from typing import TYPE_CHECKING, Any, NoReturn

from .. import __version__
from ..errors import InputError, RecordingError, SemtropyError, meant, nearest
from ._text import printable, say

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


# Each module has `register(subparsers)`, which sets `run` on its parser, and `resumes` where a second run goes on.
# Heavy imports wait until `run`.
COMMANDS: tuple[str, ...] = (
    "check",
    "doctor",
    "demo",
    "serve",
    "score",
    "generate",
    "cluster",
    "relate",
    "meanings",
    "evaluate",
    "calibrate",
    "label",
    "prior",
    "recording",
    "datasets",
    "models",
    "import_",
)


# What argparse says, and how it is said here.
_PLAINER = tuple(
    (re.compile(rf"^{pattern}$", re.DOTALL), plainer)
    for pattern, plainer in (
        (r"argument ([\w-]+): invalid int value: (.*)", r"\1 is \2: expected a whole number"),
        (r"argument ([\w-]+): invalid float value: (.*)", r"\1 is \2: expected a number"),
        (
            r"argument ([\w-]+): not allowed with argument ([\w-]+)",
            r"\1 does not go with \2: give one of them",
        ),
        (r"argument ([\w-]+): expected one argument", r"\1 needs a value after it"),
        (r"argument ([\w-]+): ignored explicit argument (.*)", r"\1 takes no value, and \2 was given"),
        (r"the following arguments are required: (.*)", r"\1 is missing"),
        (r"ambiguous option: (\S+) could match (.*)", r"\1 may be one of \2: write it in full"),
    )
)


class _Parser(argparse.ArgumentParser):
    """A parser, and its commands' parsers, that names the command or option meant by one it does not know."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        first = next(iter(args or ()), "").partition("=")[0]
        known = tuple(self._option_string_actions)
        if (
            first.startswith("--")
            and self._subparsers is not None
            and not any(each.startswith(first) for each in known)
        ):
            otherwise = f": options follow the command, as in `{self.prog} COMMAND {first}`"
            self.error(_unknown("option", first, known, otherwise, nearness=0.75))
        found, unknown = super().parse_known_args(args, namespace)
        for word in unknown:
            name = word.partition("=")[0]
            if name.startswith("-"):
                self.error(_unknown("option", name, self._option_string_actions, ""))
            self.error(f"{word!r} is one word too many: put a question in quotation marks")
        return found, unknown

    def error(self, message: str) -> NoReturn:
        """End with one line; control characters of the arguments are shown as escapes."""
        for pattern, plainer in _PLAINER:
            message = pattern.sub(plainer, message)
        self.exit(2, f"{self.prog}: {printable(message)} (`{self.prog} --help` lists what there is)\n")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if isinstance(action, argparse._SubParsersAction) and value not in action.choices:
            names = list(action.choices)
            if " " in value.strip():
                self.error(f"to ask a question, write {self.prog} check {shlex.quote(value)}")
            self.error(_unknown("command", value, names, f": choose one of {', '.join(names)}"))
        if action.choices is not None and value not in action.choices:
            name = next(iter(action.option_strings), action.metavar or action.dest)
            self.error(f"{name} is {value!r}: {meant(str(value), map(str, action.choices))}")
        super()._check_value(action, value)


def _unknown(kind: str, name: str, names: Iterable[str], otherwise: str, nearness: float = 0.6) -> str:
    """The error for a name that does not exist, with the one that was probably meant."""
    near = nearest(name, names, nearness)
    return f"there is no {kind} {name}" + (otherwise if near is None else f": did you mean {near}?")


def parser(commands: Sequence[str] = COMMANDS) -> argparse.ArgumentParser:
    """The command line as a parser, with all commands or some of them; the docs are generated from the whole."""
    top = _Parser(
        prog="semtropy",
        description="Tell when a language model is making its answer up, for as few extra samples as possible.",
    )
    top.add_argument("--version", action="version", version=f"semtropy {__version__}")
    places = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name in commands:
        importlib.import_module(f".{name}", __name__).register(places)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; an error becomes one line. Exit code 2 for wrong usage, 1 for other failures."""
    _print_anything()
    words = (sys.argv[1:] if argv is None else list(argv)) or ["--help"]
    named = [name for name in COMMANDS if name.rstrip("_") == words[0]]  # whose parser is enough
    needed = () if words[0] == "--version" else named or COMMANDS
    arguments = parser(needed).parse_args(words, argparse.Namespace(words=words))
    try:
        _check_values(arguments)
        code = int(arguments.run(arguments))
        if sys.stdout is not None:  # None where it was closed by the caller
            sys.stdout.flush()
        return code
    except SemtropyError as error:
        say(f"semtropy: {error}", file=sys.stderr)
        wrong_usage = isinstance(error, InputError) and not isinstance(error, RecordingError)
        return 2 if wrong_usage else 1
    except KeyboardInterrupt:
        resumes = getattr(arguments, "resumes", False)
        way_on = ": run the same command again to continue" if resumes else ""
        print(f"semtropy: interrupted{way_on}", file=sys.stderr)
        return 130
    except BrokenPipeError:
        _abandon_output()
        return 1
    except OSError as error:
        say(f"semtropy: {error.filename or 'the output'}: {error.strerror or error}", file=sys.stderr)
        _abandon_output()
        return 1
    except MemoryError:
        print("semtropy: not enough memory: try fewer questions or samples at a time", file=sys.stderr)
        return 1


def _check_values(arguments: argparse.Namespace) -> None:
    """Refuse a seed and the name of a judge now: many commands use theirs late, or not at all."""
    seed, judge = getattr(arguments, "seed", None), getattr(arguments, "judge", None)
    if seed is not None and seed < 0:
        raise InputError(f"--seed is {seed}: give a whole number, 0 or more")
    if judge is not None:
        from ..options import judge_name

        judge_name(judge)


def _print_anything() -> None:
    """Show characters that the output's encoding lacks as escapes."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _abandon_output() -> None:
    """Drop what standard output did not take: Python would try again at its end, and complain."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
