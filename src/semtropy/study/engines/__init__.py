"""Engines apply work to a stream of items, in this process or on a Ray cluster, with the same results."""

from __future__ import annotations

from typing import Any

from ...errors import InputError
from .work import MakeWork, WorkEngine, work_here

__all__ = ["ENGINES", "MakeWork", "WorkEngine", "load_work_engine", "work_here"]

ENGINES = ("local", "ray")


def load_work_engine(name: str, **options: Any) -> WorkEngine:
    """The engine of that name; `options` are those of `RayEngine`.

    >>> load_work_engine("slurm")
    Traceback (most recent call last):
    ...
    semtropy.errors.InputError: no engine is called 'slurm': choose one of local, ray
    """
    if name == "local":
        return work_here
    if name != "ray":
        raise InputError(f"no engine is called {name!r}: choose one of {', '.join(ENGINES)}")
    from .ray import RayEngine, import_ray

    import_ray()  # fails now, not after the work has begun, where Ray is missing
    return RayEngine(**options)
