"""Engines run the tasks of `generate`: in this process, against an endpoint, or on a Ray cluster.

A task is a generator of requests (`requests.py`). Each is answered by a model, a grader or a judge (`TaskBackend`), for
a batch of questions in lockstep, or for one question with `await`.

Every model has `sample`. These optional methods are used where a model has them:

complete(prompt, n, *, temperature, rng)             continue the prompt as it is, without a chat template
complete_many(prompts, n, *, temperature, rngs)      the same for a batch of prompts
continuation_logprobs([(prompt, continuation), ...]) log-probabilities of the given continuations
share_head(text)                                     prompts of `complete` begin with it: read it once
share_prefix(text)                                   prompts of `continuation_logprobs` begin with it: read it once
acomplete, asample                                   the same with `await`
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ...errors import InputError, ModelError, SemtropyError, unknown
from ...nouns import Model
from ..engines import ENGINES, RayEngine
from .graders import load_grader
from .requests import (
    DrawSamples,
    GenerationPlan,
    GradeAnswer,
    GroupMeanings,
    QuestionSteps,
    Request,
    WeighContinuation,
    question_steps,
    rehearsal_steps,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...nouns import Question, Sample


VOTES = 10  # samples that estimate P(True) where a model cannot score a continuation


@dataclass(frozen=True, slots=True)
class QuestionTask:
    """One question to be answered for the recording, or as a worked example of P(True)."""

    question: Question
    index: int
    rehearsal: bool = False

    def start(self, plan: GenerationPlan) -> QuestionSteps:
        """The requests of this task, as a generator."""
        return (
            rehearsal_steps(self.question, plan)
            if self.rehearsal
            else question_steps(self.question, self.index, plan)
        )


@dataclass(frozen=True, slots=True)
class Finished:
    """A question that was answered, with its row."""

    id: str
    row: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Failed:
    """A question that could not be answered, and why."""

    id: str
    reason: str


Outcome = Finished | Failed


class TaskBackend:
    """Answers requests with a model, a grader and a judge."""

    def __init__(self, model: Model, plan: GenerationPlan) -> None:
        self.model = model
        self.grader = load_grader(plan.grader)
        self._judge: Any = None
        if plan.judge is not None:
            from ...meaning import load_judge

            self._judge = load_judge(plan.judge)

    def reply(self, requests: Sequence[Request]) -> list[Any]:
        """The results in order; an exception takes the place of a result that failed."""
        results: list[Any] = [None] * len(requests)
        for places in _batches(requests):
            batch = [requests[place] for place in places]
            try:
                replies = self._reply_batch(batch)
            except Exception as error:
                replies = [_as_semtropy_error(error, self.model)] * len(batch)
            for place, result in zip(places, replies, strict=True):
                results[place] = result
        return results

    def _reply_batch(self, batch: Sequence[Any]) -> list[Any]:
        match batch[0]:
            case DrawSamples():
                return self._draw(batch)
            case WeighContinuation():
                return self._weigh(batch)
            case GradeAnswer():
                return [self.grader(request.question, request.answer) for request in batch]
            case GroupMeanings():
                return [self._group(request) for request in batch]
        raise TypeError(f"not a request: {batch[0]!r}")

    def _draw(self, batch: Sequence[DrawSamples]) -> list[list[Sample]]:
        first = batch[0]
        rngs = [np.random.default_rng(request.seed) for request in batch]
        many = getattr(self.model, "complete_many", None)
        if many is not None:
            prompts = [request.prompt for request in batch]
            drawn = many(prompts, first.n, temperature=first.temperature, rngs=rngs)
        else:
            one = getattr(self.model, "complete", self.model.sample)
            if share := getattr(self.model, "share_head", None):
                share(first.shared)
            drawn = [
                one(r.prompt, r.n, temperature=r.temperature, rng=rng)
                for r, rng in zip(batch, rngs, strict=True)
            ]
        return [self._counted(samples, first.n) for samples in drawn]

    def _counted(self, samples: Sequence[Sample], n: int) -> list[Sample]:
        if len(samples) != n:
            raise ModelError(f"{self.model.name} gave {len(samples)} answers where {n} were asked for")
        return list(samples)

    def _weigh(self, batch: Sequence[WeighContinuation]) -> list[float | None]:
        weigh, share = (getattr(self.model, name, None) for name in ("continuation_logprobs", "share_prefix"))
        if weigh is not None:
            if share is not None:
                share(batch[0].shared)
            return [math.exp(value) for value in weigh([(r.prompt, r.continuation) for r in batch])]
        votes = [DrawSamples(request.prompt, VOTES, 1.0, request.seed) for request in batch]
        return [_vote(samples, r.continuation) for samples, r in zip(self._draw(votes), batch, strict=True)]

    def _group(self, request: GroupMeanings) -> list[int]:
        from ...meaning import cluster

        meanings: list[int] = cluster(request.question, list(request.texts), self._judge)
        return meanings

    async def areply(self, request: Request) -> Any:
        """One result, awaited; grading and grouping run in a thread."""
        draw = getattr(self.model, "acomplete", None) or getattr(self.model, "asample", None)
        try:
            if draw is None or isinstance(request, GradeAnswer | GroupMeanings):
                return (await asyncio.to_thread(self._reply_batch, [request]))[0]
            if isinstance(request, WeighContinuation):
                vote = DrawSamples(request.prompt, VOTES, 1.0, request.seed)
                return _vote(await self.areply(vote), request.continuation)
            rng = np.random.default_rng(request.seed)
            samples = await draw(request.prompt, request.n, temperature=request.temperature, rng=rng)
            return self._counted(samples, request.n)
        except asyncio.CancelledError:
            raise
        except Exception as error:
            raise _as_semtropy_error(error, self.model) from error


def drive(tasks: Sequence[QuestionTask], plan: GenerationPlan, backend: TaskBackend) -> list[Outcome]:
    """Answer a batch of questions; requests of the same kind share one call."""
    outcomes: dict[int, Outcome] = {}
    waiting: dict[int, tuple[QuestionSteps, Request]] = {}

    def advance(place: int, step: Callable[[], Request]) -> Request | None:
        try:
            return step()
        except StopIteration as done:
            outcomes[place] = Finished(tasks[place].question.id, done.value)
        except SemtropyError as error:
            outcomes[place] = Failed(tasks[place].question.id, str(error))
        return None

    for place, task in enumerate(tasks):
        steps = task.start(plan)
        request = advance(place, lambda steps=steps: next(steps))  # type: ignore[misc]
        if request is not None:
            waiting[place] = (steps, request)
    while waiting:
        results = backend.reply([request for _, request in waiting.values()])
        for (place, (steps, _)), result in zip(list(waiting.items()), results, strict=True):
            send = steps.throw if isinstance(result, BaseException) else steps.send
            request = advance(place, lambda send=send, result=result: send(result))  # type: ignore[misc]
            if request is None:
                del waiting[place]
            else:
                waiting[place] = (steps, request)
    return [outcomes[place] for place in range(len(tasks))]


async def drive_async(task: QuestionTask, plan: GenerationPlan, backend: TaskBackend) -> Outcome:
    """Answer one question with an asynchronous model."""
    steps = task.start(plan)
    try:
        request = next(steps)
        while True:
            request = steps.send(await backend.areply(request))
    except StopIteration as done:
        return Finished(task.question.id, done.value)
    except SemtropyError as error:
        return Failed(task.question.id, str(error))


def _batches(requests: Sequence[Request]) -> Iterator[list[int]]:
    """Indices of the requests that can share a call, group by group."""
    groups: dict[object, list[int]] = {}
    for place, request in enumerate(requests):
        key: object = type(request)
        if isinstance(request, DrawSamples):
            key = (DrawSamples, request.n, request.temperature)
        groups.setdefault(key, []).append(place)
    yield from groups.values()


def _vote(samples: Sequence[Sample], continuation: str) -> float | None:
    """The share of non-empty samples that begin with the continuation; None where all are empty."""
    wanted = continuation.strip()
    said = [sample.text.strip()[:1] for sample in samples if sample.text.strip()]
    return said.count(wanted) / len(said) if said else None


def _as_semtropy_error(error: Exception, model: Model) -> SemtropyError:
    """Another library's exception as a `ModelError`, so that one failed question does not end the run."""
    if isinstance(error, SemtropyError):
        return error
    return ModelError(f"{model.name} failed: {type(error).__name__}: {error}")


# The engines themselves. What makes the model is called in the process that runs it: this is pickled, the model is not.


MakeModel = Callable[[], Model]


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
    if name not in ENGINES:
        raise unknown("engine", name, ENGINES)
    return LocalEngine(make_model, **options) if name == "local" else RayGeneration(make_model, **options)


# The engine of one machine: batches in process, or concurrent requests to an endpoint.


class LocalEngine:
    """Answers questions in this process.

    An asynchronous model answers up to `concurrency` questions at once; any other answers `batch` questions at a time.
    Questions in progress when the process is killed are drawn again by the next run. The model is created once, at
    the first question.
    """

    def __init__(self, make_model: MakeModel, *, batch: int = 1, concurrency: int = 1) -> None:
        if batch < 1 or concurrency < 1:
            raise InputError(f"batch is {batch} and concurrency is {concurrency}: both are at least 1")
        self._make_model, self._batch, self._concurrency = make_model, batch, concurrency
        self._backend: TaskBackend | None = None

    def run(self, tasks: Sequence[QuestionTask], plan: GenerationPlan) -> Iterator[Outcome]:
        """The outcomes, as questions finish."""
        if self._backend is None:
            self._backend = TaskBackend(self._make_model(), plan)
        awaitable = hasattr(self._backend.model, "asample") or hasattr(self._backend.model, "acomplete")
        if awaitable and self._concurrency > 1:
            yield from self._run_async(tasks, plan, self._backend)
        else:
            for start in range(0, len(tasks), self._batch):
                yield from drive(tasks[start : start + self._batch], plan, self._backend)

    def _run_async(
        self, tasks: Sequence[QuestionTask], plan: GenerationPlan, backend: TaskBackend
    ) -> Iterator[Outcome]:
        queue = iter(tasks)
        loop = asyncio.new_event_loop()
        running: set[asyncio.Task[Outcome]] = set()
        try:
            while True:
                room = self._concurrency - len(running)
                running |= {
                    loop.create_task(drive_async(task, plan, backend)) for task in islice(queue, room)
                }
                if not running:
                    return
                waiting = asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                done, running = loop.run_until_complete(waiting)
                for task in done:
                    yield task.result()
        finally:
            for task in running:
                task.cancel()
            if running:
                loop.run_until_complete(asyncio.wait(running))
            aclose = getattr(backend.model, "aclose", None)
            if aclose is not None:  # its connections belong to this loop
                loop.run_until_complete(aclose())
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.run_until_complete(loop.shutdown_default_executor())
            loop.close()


# The engine of a cluster for `generate`: a pool of workers that each hold a model.


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
    backend = TaskBackend(make_model(), plan)
    return lambda tasks: iter(drive(list(tasks), plan, backend))
