"""Engines run the tasks of `generate`: in this process, against an endpoint, or on a Ray cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from ....errors import InputError
from ....nouns import Model

if TYPE_CHECKING:
    from ..driver import Outcome, QuestionTask
    from ..requests import GenerationPlan

__all__ = ["ENGINES", "Engine", "MakeModel", "load_engine"]

MakeModel = Callable[
    [], Model
]  # called in the process that runs the model; this is pickled, the model is not

_REGISTRY = {"local": ("local", "LocalEngine"), "ray": ("ray", "RayGeneration")}
ENGINES = tuple(_REGISTRY)


class Engine(Protocol):
    """Runs tasks and yields their outcomes as they finish, in any order; closing the iterator stops the work."""

    def run(self, tasks: Sequence[QuestionTask], plan: GenerationPlan) -> Iterator[Outcome]: ...


def load_engine(name: str, make_model: MakeModel, **options: Any) -> Engine:
    """The engine of that name.

    name        "local": in this process, or against an endpoint; "ray": on a Ray cluster
    make_model  called without arguments where the model runs; returns the model
    options     keyword arguments of the engine, such as `batch=` and `concurrency=` of "local"

    >>> load_engine("slurm", lambda: None)
    Traceback (most recent call last):
    ...
    semtropy.errors.InputError: no engine is called 'slurm': choose one of local, ray
    """
    if name not in _REGISTRY:
        raise InputError(f"no engine is called {name!r}: choose one of {', '.join(ENGINES)}")
    module, attribute = _REGISTRY[name]
    engine: Engine = getattr(import_module(f".{module}", __name__), attribute)(make_model, **options)
    return engine
