"""The engine of a cluster: Ray Data with a pool of actors that each hold a model.

Questions stream through the pool with Ray's back-pressure; lost actors are restarted and their questions asked again.
Rows come back to this process, which alone writes the recording.
"""

from __future__ import annotations

import json
import logging
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ....errors import InputError, MissingExtra, ModelError
from ....nouns import Question
from ..driver import Backend, Failed, Finished, Outcome, QuestionTask, drive

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..requests import GenerationPlan
    from . import MakeModel

__all__ = ["RayEngine"]

MOST_BLOCKS = 5000


class RayEngine:
    """Answers questions on a Ray cluster: at `address`, or in RAY_ADDRESS, else one started on this machine.

    Each of `workers` actors takes `cpus` and `gpus` of its node and answers `batch` questions at a time.
    """

    def __init__(
        self,
        make_model: MakeModel,
        *,
        batch: int = 1,
        workers: int = 1,
        cpus: float = 1.0,
        gpus: float = 0.0,
        address: str | None = None,
    ) -> None:
        if batch < 1 or workers < 1:
            raise InputError(f"batch is {batch} and workers is {workers}: both are at least 1")
        self._make_model, self._batch, self._workers = make_model, batch, workers
        self._cpus, self._gpus, self._address = cpus, gpus, address

    def run(self, tasks: Sequence[QuestionTask], plan: GenerationPlan) -> Iterator[Outcome]:
        """The outcomes as they arrive, one per question."""
        if not tasks:
            return
        ray = _ray()
        if not ray.is_initialized():
            ray.init(address=self._address, log_to_driver=False, logging_level=logging.WARNING)
        waiting = {task.question.id: task for task in tasks}
        try:
            for row in self._stream(ray, tasks, plan):
                outcome = _unpack(row["outcome"])
                if waiting.pop(outcome.id, None) is not None:
                    yield outcome
        except ray.exceptions.RayError as error:
            raise ModelError(
                f"the Ray cluster failed with {len(waiting)} questions left ({type(error).__name__}: {error}). "
                "Finished questions are stored: run the same command again to continue"
            ) from error

    def _stream(
        self, ray: Any, tasks: Sequence[QuestionTask], plan: GenerationPlan
    ) -> Iterator[dict[str, Any]]:
        import ray.data as data

        context = data.DataContext.get_current()
        context.enable_progress_bars = False
        context.execution_options.verbose_progress = False
        # A block is the unit of work and of loss: one batch, or more where there are more than MOST_BLOCKS batches.
        blocks = min(MOST_BLOCKS, -(-len(tasks) // self._batch))
        questions = data.from_items([{"task": _pack(task)} for task in tasks], override_num_blocks=blocks)
        answered = questions.map_batches(
            _Worker,
            fn_constructor_args=(self._make_model, plan),
            batch_size=self._batch,
            batch_format="numpy",
            compute=data.ActorPoolStrategy(size=self._workers),
            num_cpus=self._cpus,
            num_gpus=self._gpus,
            max_restarts=-1,
            max_task_retries=-1,
        )
        return iter(answered.iter_rows())


class _Worker:
    """One actor: creates its model, then answers batches."""

    def __init__(self, make_model: MakeModel, plan: GenerationPlan) -> None:
        self._plan = plan
        self._backend = Backend(make_model(), plan)

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        tasks = [_unpack_task(str(text)) for text in batch["task"]]
        return {"outcome": [_pack_outcome(outcome) for outcome in drive(tasks, self._plan, self._backend)]}


def _ray() -> Any:
    try:
        import ray
    except ImportError as error:
        raise MissingExtra("ray", extra="ray") from error
    return ray


def _pack(task: QuestionTask) -> str:
    return json.dumps(asdict(task))


def _unpack_task(text: str) -> QuestionTask:
    fields = json.loads(text)
    question = fields.pop("question")
    return QuestionTask(Question(**{**question, "references": tuple(question["references"])}), **fields)


def _pack_outcome(outcome: Outcome) -> str:
    return json.dumps([type(outcome).__name__, asdict(outcome)])


def _unpack(text: str) -> Outcome:
    kind, fields = json.loads(text)
    return Finished(**fields) if kind == "Finished" else Failed(**fields)
