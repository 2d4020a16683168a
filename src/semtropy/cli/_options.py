"""What several commands share: the file with defaults, the engine, and the judging of a recording."""

from __future__ import annotations

import sys
from collections import defaultdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ..options import FLAGS, read_values

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from ..study.engines import WorkEngine
    from ..study.judging import RowJudging


# The option `--engine` of commands that run on one machine or on a Ray cluster.


def add_engine(
    parser: argparse.ArgumentParser, *, workers: str = "workers (default: one per CPU of the cluster)"
) -> None:
    """Add where the command runs, and the options of Ray."""
    add = parser.add_argument
    add(
        "--engine",
        choices=("local", "ray"),
        default="local",
        help="run on this machine or on a Ray cluster (default: local); the results are the same",
    )
    add("--workers", type=int, metavar="N", help=f"ray: number of {workers}")
    add("--gpus", type=float, default=0.0, metavar="N", help="ray: GPUs per worker (default: 0)")
    add(
        "--address",
        metavar="A",
        help="ray: address of the cluster (default: $RAY_ADDRESS, or a new local one)",
    )


def ray_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """The options of Ray that were given."""
    return {"workers": arguments.workers, "gpus": arguments.gpus, "address": arguments.address}


def check_local(arguments: argparse.Namespace) -> None:
    """Refuse options of Ray where it was not chosen."""
    given = [name for name, value in ray_options(arguments).items() if value]
    if given:
        raise InputError(f"--{given[0]} goes with --engine ray: add that, or leave --{given[0]} out")


def engine_of(arguments: argparse.Namespace) -> WorkEngine:
    """The engine that was chosen."""
    from ..study.engines import load_work_engine

    if arguments.engine == "local":
        check_local(arguments)
    return load_work_engine(arguments.engine, **(ray_options(arguments) if arguments.engine == "ray" else {}))


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add a flag for every option of a check that can be written as text."""
    groups: defaultdict[str | None, Any] = defaultdict(parser.add_mutually_exclusive_group, {None: parser})
    how: dict[type, dict[str, Any]] = {bool: {"action": "store_true"}, list: {"action": "append"}}
    for flag in FLAGS.values():
        known = {"choices": flag.among, "default": flag.default, "metavar": flag.metavar}
        given = {name: value for name, value in known.items() if value is not None}
        given |= how.get(flag.kind, {"type": flag.kind})
        groups[flag.group].add_argument(flag.words, help=flag.help, **given)


def add_judging(parser: argparse.ArgumentParser) -> None:
    """Add the input, the output and the judge."""
    add = parser.add_argument
    add("source", metavar="IN", help="a recording (.jsonl, .jsonl.gz, .parquet) or the folder of a run")
    add("out", metavar="OUT", help="the recording to write: .jsonl, .jsonl.gz or .parquet")
    add(
        "--judge",
        metavar="J",
        help="builtin, builtin-large, exact, normalised, numeric, nli:NAME_OR_PATH or llm:MODEL (default: builtin)",
    )
    add("--cache", type=Path, metavar="FILE", help="an SQLite file that stores judgements for later runs")
    add_engine(parser)


def judge_and_report(arguments: argparse.Namespace, judging: RowJudging, *, doing: str) -> int:
    """Judge, with progress, and report what it took."""
    if arguments.cache is not None and arguments.engine == "ray":
        raise InputError("--cache is a file of one machine: leave it out with --engine ray")
    from ..meaning import load_judge
    from ..recording import open_recording
    from ..study.judging import judge_recording
    from .progress import GroupingProgress

    # By name, since None may be another judge on another machine.
    load = partial(load_judge, arguments.judge or "builtin", cache=arguments.cache)
    report = judge_recording(
        arguments.source,
        arguments.out,
        load(),
        judging,
        engine=engine_of(arguments),
        load=load if arguments.engine == "ray" else None,
        watch=GroupingProgress(
            lambda: sum(1 for _ in open_recording(arguments.source).rows), sys.stderr, doing=doing
        ),
    )
    print(f"{arguments.out}", *report.lines(), sep="\n")
    return 0


# The file with a user's defaults for `check` and `doctor`.


CONFIG = "semtropy.toml"


def _configurable() -> dict[str, type]:
    return {flag.name: flag.kind for flag in FLAGS.values() if flag.config}


def add_config(parser: argparse.ArgumentParser) -> None:
    """Add the option that names the file."""
    parser.add_argument(
        "--config",
        metavar="FILE",
        help=f"a TOML file with defaults for these options: {', '.join(_configurable())} (default: {CONFIG} in your "
        "configuration folder, if it is there)",
    )


def read_config(path: str | None, arguments: argparse.Namespace, given: Sequence[str]) -> None:
    """Set the options that were not given on the command line from the file.

    A file in the working directory is not read unless it is named: it could send your key to any address.
    """
    file = _config_file() if path is None else Path(path)
    if file is None or (path is None and not file.is_file()):
        return
    known = f"choose from {', '.join(_configurable())}"
    for name, value in read_values(str(file), _configurable(), "option", known).items():
        if hasattr(arguments, name) and not any(_names(word, FLAGS[name].words) for word in given):
            setattr(arguments, name, value)


def _names(word: str, flag: str) -> bool:
    """Whether a word of the command line is this flag; the beginning of a flag is enough.

    >>> _names("--base-url=x", "--base-url"), _names("--base", "--base-url"), _names("--", "--base-url")
    (True, True, False)
    """
    name = word.partition("=")[0]
    return len(name) > 2 and name.startswith("--") and flag.startswith(name)


def _config_file() -> Path | None:
    try:
        from platformdirs import user_config_path
    except ImportError:
        return None
    return user_config_path("semtropy") / CONFIG
