"""The engine of a cluster for `generate`: a pool of workers that each hold a model."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from ....errors import InputError
from ...engines.ray import RayEngine
from ..driver import Backend, Outcome, QuestionTask, drive

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from ..requests import GenerationPlan
    from . import MakeModel

__all__ = ["RayGeneration"]


class RayGeneration:
    """Answers questions on a Ray cluster; `options` are those of `RayEngine`, with one worker by default.

    Each worker has a model and answers `batch` questions at a time.
    """

    def __init__(
        self, make_model: MakeModel, *, batch: int = 1, workers: int | None = None, **options: Any
    ) -> None:
        if batch < 1:
            raise InputError(f"batch is {batch}: at least 1")
        self._make_model, self._batch = make_model, batch
        self._engine = RayEngine(workers=1 if workers is None else workers, **options)

    def run(self, tasks: Sequence[QuestionTask], plan: GenerationPlan) -> Iterator[Outcome]:
        """The outcomes as they arrive, one per question."""
        make = partial(_answering, self._make_model, plan)
        for _, outcomes, error in self._engine.in_any_order(make, tasks, batch=self._batch):
            yield from outcomes
            if error is not None:
                raise error


def _answering(
    make_model: MakeModel, plan: GenerationPlan
) -> Callable[[Iterable[QuestionTask]], Iterator[Outcome]]:
    backend = Backend(make_model(), plan)
    return lambda tasks: iter(drive(list(tasks), plan, backend))
