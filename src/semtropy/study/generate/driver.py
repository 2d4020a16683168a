"""Drives `question_steps` against a model: a batch of questions in lockstep, or one question awaitably.

Models answer `sample`. Those that can do more are asked for more, by name:

complete(prompt, n, *, temperature, rng)             go on from the prompt as it stands, no template around it
complete_many(prompts, n, *, temperature, rngs)      the same for many prompts in one batch
continuation_logprobs([(prompt, continuation), ...]) log-probabilities of given continuations
acomplete, asample                                   awaitable twins
"""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ModelError, SemtropyError
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
    from collections.abc import Callable, Iterator, Sequence

    from ...nouns import Model, Question, Sample

__all__ = ["Backend", "Failed", "Finished", "Outcome", "QuestionTask", "drive", "drive_async"]

VOTES = 10  # draws that estimate P(True) where a model cannot weigh a continuation


@dataclass(frozen=True, slots=True)
class QuestionTask:
    """One question to be answered for the recording, or rehearsed for P(True)."""

    question: Question
    index: int
    rehearsal: bool = False

    def start(self, plan: GenerationPlan) -> QuestionSteps:
        return (
            rehearsal_steps(self.question, plan)
            if self.rehearsal
            else question_steps(self.question, self.index, plan)
        )


@dataclass(frozen=True, slots=True)
class Finished:
    """A question that is done."""

    id: str
    row: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Failed:
    """A question that could not be done, and why."""

    id: str
    reason: str


Outcome = Finished | Failed


class Backend:
    """What answers requests: a model, a grader, a judge."""

    def __init__(self, model: Model, plan: GenerationPlan) -> None:
        self.model = model
        self.grader = load_grader(plan.grader)
        self._judge: Any = None
        if plan.judge is not None:
            from ...meaning import load_judge

            self._judge = load_judge(plan.judge)

    def reply(self, requests: Sequence[Request]) -> list[Any]:
        """The results, in order, with an exception in place of a result that could not be had."""
        results: list[Any] = [None] * len(requests)
        for places in _alike(requests):
            batch = [requests[place] for place in places]
            try:
                replies = self._reply_alike(batch)
            except Exception as error:
                replies = [_as_ours(error, self.model)] * len(batch)
            for place, result in zip(places, replies, strict=True):
                results[place] = result
        return results

    def _reply_alike(self, batch: Sequence[Any]) -> list[Any]:
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
            drawn = [
                one(r.prompt, r.n, temperature=r.temperature, rng=rng)
                for r, rng in zip(batch, rngs, strict=True)
            ]
        return [_counted(samples, first.n, self.model) for samples in drawn]

    def _weigh(self, batch: Sequence[WeighContinuation]) -> list[float | None]:
        weigh = getattr(self.model, "continuation_logprobs", None)
        if weigh is not None:
            return [math.exp(value) for value in weigh([(r.prompt, r.continuation) for r in batch])]
        votes = [DrawSamples(request.prompt, VOTES, 1.0, request.seed) for request in batch]
        return [_vote(samples, r.continuation) for samples, r in zip(self._draw(votes), batch, strict=True)]

    def _group(self, request: GroupMeanings) -> list[int]:
        from ...meaning import cluster

        meanings: list[int] = cluster(request.question, list(request.texts), self._judge)
        return meanings

    async def areply(self, request: Request) -> Any:
        """One result, awaited; what is not a model's work runs in a thread."""
        draw = getattr(self.model, "acomplete", None) or getattr(self.model, "asample", None)
        try:
            if draw is None or isinstance(request, GradeAnswer | GroupMeanings):
                return (await asyncio.to_thread(self._reply_alike, [request]))[0]
            if isinstance(request, WeighContinuation):
                vote = DrawSamples(request.prompt, VOTES, 1.0, request.seed)
                return _vote(await self.areply(vote), request.continuation)
            rng = np.random.default_rng(request.seed)
            samples = await draw(request.prompt, request.n, temperature=request.temperature, rng=rng)
            return _counted(samples, request.n, self.model)
        except asyncio.CancelledError:
            raise
        except Exception as error:
            raise _as_ours(error, self.model) from error


def drive(tasks: Sequence[QuestionTask], plan: GenerationPlan, backend: Backend) -> list[Outcome]:
    """Answer a batch of questions, their like requests in one call."""
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


async def drive_async(task: QuestionTask, plan: GenerationPlan, backend: Backend) -> Outcome:
    """Answer one question, awaiting the model."""
    steps = task.start(plan)
    try:
        request = next(steps)
        while True:
            request = steps.send(await backend.areply(request))
    except StopIteration as done:
        return Finished(task.question.id, done.value)
    except SemtropyError as error:
        return Failed(task.question.id, str(error))


def _alike(requests: Sequence[Request]) -> Iterator[list[int]]:
    """The places of requests that can share a call."""
    groups: dict[object, list[int]] = {}
    for place, request in enumerate(requests):
        key: object = type(request)
        if isinstance(request, DrawSamples):
            key = (DrawSamples, request.n, request.temperature)
        groups.setdefault(key, []).append(place)
    yield from groups.values()


def _counted(samples: Sequence[Sample], n: int, model: Model) -> list[Sample]:
    if len(samples) != n:
        raise ModelError(f"{model.name} gave {len(samples)} answers where {n} were asked for")
    return list(samples)


def _vote(samples: Sequence[Sample], continuation: str) -> float | None:
    """The share of draws that begin with the continuation, of those that begin with a letter at all."""
    wanted = continuation.strip()
    said = [sample.text.strip()[:1] for sample in samples if sample.text.strip()]
    return said.count(wanted) / len(said) if said else None


def _as_ours(error: Exception, model: Model) -> SemtropyError:
    """A library's error as a ModelError, so that one question's failure is named and the run goes on."""
    if isinstance(error, SemtropyError):
        return error
    return ModelError(f"{model.name} failed: {type(error).__name__}: {error}")
