"""The option `--engine` of commands that run on one machine or on a Ray cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse

    from ..study.engines import WorkEngine

__all__ = ["add_engine", "engine_of", "ray_options"]


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


def engine_of(arguments: argparse.Namespace) -> WorkEngine:
    """The engine that was chosen."""
    from ..study.engines import load_work_engine

    return load_work_engine(arguments.engine, **(ray_options(arguments) if arguments.engine == "ray" else {}))
