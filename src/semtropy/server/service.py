"""Running checks: identical ones are shared or served from the cache; all are counted and timed."""

from __future__ import annotations

import asyncio
import hashlib
import json
import secrets
from collections.abc import AsyncIterator
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

from ..check import Checker
from ..conclusion import conclude
from ..errors import ModelTimeout, SemtropyError
from ..fields import FieldReader
from ..inquiry import PENDING, Step, Terms, inquire
from ..meaning.cached import Cached
from ..meaning.partition import Grouper
from ..refusals import missing_answer
from ..stopping import Decided, Reason
from ..tracing import record_verdict
from ..verdict import Outcome
from .errors import error_kind
from .policy import JUDGED_CHARACTERS
from .run_cache import CheckRun, RunCache
from .telemetry import log, timed_estimator, timed_judge, timed_model

if TYPE_CHECKING:
    from fastapi import Request

    from ..conversation import Prompt
    from ..inquiry import Grouping
    from ..nouns import Model, Sample
    from ..structured import Structure
    from ..verdict import Verdict
    from .backends.local import LocalBackend
    from .backends.upstream import UpstreamBackend
    from .policy import Policy
    from .schemas import CheckOptions
    from .settings import Settings
    from .telemetry import Metrics

__all__ = ["Gateway", "PendingCheck", "Service", "gateway_of"]


JUDGEMENTS = 1000
"""Judgements that a run remembers: those of its samples, when the answer is compared with them."""
NOT_COMPARED = "There was no time to compare the answer with the samples."
JUDGING = 1.0
"""Seconds that comparing an answer with the samples may take, whatever drawing them took."""
CONCLUDING = 10.0
"""Seconds that a verdict may take once sampling is over; the intervals of thousands of fields could take minutes."""
SLACK = 0.2
"""Seconds that a check may take beyond its budget to end by itself, with what it has spent brought up to date."""


@dataclass(frozen=True, slots=True)
class PendingCheck:
    """A check that was started or joined: its run, what draws and judges, and its source (new, shared or cached)."""

    prompt: Prompt
    run: CheckRun
    checker: Checker
    source: str

    @property
    def terms(self) -> Terms:
        return self.checker.terms


class Service:
    """Starts checks, shares and caches them, and turns their last step into a verdict."""

    def __init__(self, settings: Settings, policy: Policy, metrics: Metrics) -> None:
        self.settings, self.policy, self.metrics = settings, policy, metrics
        self.runs = RunCache(size=settings.cache_size, seconds=settings.cache_seconds)
        self._salt = secrets.token_bytes(16)

    def start(
        self,
        prompt: Prompt,
        model: Model,
        options: CheckOptions,
        *,
        identity: Any,
        structure: Structure | None = None,
        seed: int | None = None,
        streamed: bool = False,
        answered: bool = False,
        answer: Sample | None = None,
    ) -> PendingCheck:
        """Start a check, or join an identical one.

        identity   everything that distinguishes this request from others; part of the cache key
        structure  how its answers are read; None for plain text. The identity and the options determine it
        streamed   the caller follows the steps: shared while it runs, but not cached, as steps keep large distributions
        answered   the client gets its answer elsewhere: only samples are drawn
        answer     the answer to judge, where the caller has one
        """
        terms = self._terms(options)
        chosen_judge = self.policy.judge(options.judge, model)
        judge = Cached(timed_judge(chosen_judge, self.metrics), capacity=JUDGEMENTS)
        checker = Checker(timed_model(model, self.metrics), judge, terms, structure=structure)

        async def steps() -> AsyncIterator[Step]:
            last: Step | None = None
            source = checker.astream(prompt, answer=PENDING if answered else answer, rng=seed)
            async for step in _within(source, terms.budget.seconds):
                last = step
                yield step
            if last is not None:
                self.metrics.run_finished(last)

        chosen = options.model_dump(exclude={"mode", "place", "cache"}, mode="json")
        content = json.dumps([prompt, identity, chosen, seed, streamed, answered], sort_keys=True)
        # The identity holds the client's key: only this digest, salted anew by each process, outlives the request.
        digest = hashlib.blake2b(content.encode(), key=self._salt).digest()
        name = digest if options.cache else secrets.token_bytes(16)
        run, source = self.runs.get(name, steps, keep=options.cache and not streamed)
        if source == "new":
            run.judge = judge
        elif run.judge is not None:
            checker = replace(checker, judge=run.judge)
        self.metrics.runs.labels(source).inc()
        return PendingCheck(prompt, run, checker, source)

    def _terms(self, options: CheckOptions) -> Terms:
        terms = self.policy.terms(options)
        return replace(terms, estimator=timed_estimator(terms.estimator, self.metrics))

    async def judge_alone(
        self, question: str, answer: Sample, options: CheckOptions, *, structure: Structure | None = None
    ) -> Verdict | None:
        """The verdict on a client's answer that needs no samples; None where samples are needed.

        None are needed where the answer's own log-probability decides, where none are allowed, and where there is no
        answer.
        """
        terms = self._terms(options)
        if not terms.estimator.uses_answer:
            return None
        grouping: Grouping = Grouper(question) if structure is None else structure.grouping(question)
        if _is_missing(answer, grouping):
            budget = replace(terms.budget, samples=0)
            terms = replace(terms, rule=Decided(terms.threshold), budget=budget)
        if not terms.starts_with_answer(answer):
            return None
        inquiry = inquire(question, terms, grouping, answer=answer)
        step = await asyncio.to_thread(next, inquiry)
        if not isinstance(step, Step) or step.reason is None:  # a judge is needed, or samples
            return None
        with self.metrics.timed("concluding"):
            verdict = await asyncio.to_thread(conclude, step, terms)
        self.metrics.run_finished(step)
        self.metrics.runs.labels("new").inc()
        self.metrics.checks.labels(verdict.outcome).inc()
        record_verdict(verdict)
        return verdict

    async def verdict(self, check: PendingCheck, answer: Sample | None = None) -> Verdict:
        """Wait for the verdict. `answer` is the one the client got, where the check did not draw it."""
        try:
            step = await check.run.last()
        except Exception as error:
            self.count_failure(error)
            raise
        return await self.conclude(step, check, answer)

    async def conclude(self, step: Step, check: PendingCheck, answer: Sample | None = None) -> Verdict:
        """The verdict of a run's last step on `answer`, or on the answer that the run drew; counted."""
        run = check.run
        verdict = run.verdicts.get(answer)
        if verdict is None:  # its interval takes a while: computed once, outside the event loop
            with self.metrics.timed("concluding"):
                verdict = await self._concluded(step, check, answer)
            if run.keep:
                run.store_verdict(answer, verdict)
        self.metrics.checks.labels(verdict.outcome).inc()
        record_verdict(verdict)
        return verdict

    async def _concluded(self, step: Step, check: PendingCheck, answer: Sample | None) -> Verdict:
        if answer is None:
            return await _conclude_in_time(step, check.checker)
        seconds = check.terms.budget.seconds
        left = None if seconds is None else max(JUDGING, seconds - step.spent.seconds)
        steps = check.checker.astream(check.prompt, answer=answer, earlier=step)
        try:
            judged = [each async for each in _within(steps, left)][-1]
        except (
            ModelTimeout
        ):  # the judge was too slow: what is known of the samples says nothing of this answer
            unjudged = replace(step, answer=answer, missing=missing_answer(answer))
            verdict = await _conclude_in_time(unjudged, check.checker)
            warnings = (*verdict.warnings, NOT_COMPARED)
            return replace(verdict, outcome=Outcome.UNDECIDED, reason=Reason.SECONDS, warnings=warnings)
        self.metrics.samples.inc(judged.spent.samples - step.spent.samples)
        self.metrics.pairs.inc(judged.spent.judge_calls - step.spent.judge_calls)
        return await _conclude_in_time(judged, check.checker)

    def count_failure(self, error: Exception) -> None:
        """Count a failed check; an unexpected error is logged too."""
        self.metrics.checks.labels("error").inc()
        self.metrics.errors.labels(error_kind(error)).inc()
        if not isinstance(error, SemtropyError):
            log.error("check failed", exc_info=error)


def _is_missing(answer: Sample, grouping: Grouping) -> bool:
    """Whether there is no answer to judge."""
    if not isinstance(grouping, FieldReader):
        return missing_answer(answer) is not None
    with suppress(StopIteration):  # reads the answer; where a judge must compare its parts, it is one
        next(grouping.place(answer.text, answer.tokens))
        return False
    return grouping.missing(answer) is not None


async def _within(source: AsyncIterator[Step], seconds: float | None) -> AsyncIterator[Step]:
    """The steps that come within `seconds`, the last of them repeated with the reason where time runs out.

    The loop keeps its budget while it samples. This holds it while a judge or an estimator works, too: they cannot be
    interrupted, but the client need not wait for them.
    """
    deadline = None if seconds is None else asyncio.get_running_loop().time() + seconds + SLACK
    last: Step | None = None
    async with aclosing(source):  # type: ignore[type-var]
        while True:
            try:
                async with asyncio.timeout_at(deadline) as limit:
                    last = await anext(source)
            except StopAsyncIteration:
                return
            except TimeoutError:
                if not limit.expired():
                    raise
                if last is None:
                    raise ModelTimeout("the check took longer than its budget of seconds") from None
                if last.reason is None:
                    yield replace(last, reason=Reason.SECONDS)
                return
            yield last


async def _conclude_in_time(step: Step, checker: Checker) -> Verdict:
    try:
        async with asyncio.timeout(CONCLUDING):
            return await asyncio.to_thread(_conclude, step, checker)
    except TimeoutError:
        raise ModelTimeout("the answer has too many parts for a verdict in time") from None


def _conclude(step: Step, checker: Checker) -> Verdict:
    """`conclude`, with a warning where answers were too long to be compared in full."""
    verdict = checker.conclude(step)
    compared = [sample for field in step.fields for sample in field.step.samples] or step.samples
    long = sum(len(sample.text) > JUDGED_CHARACTERS for sample in compared)
    if not long:
        return verdict
    warning = (
        f"{long} of {len(compared)} {'values' if step.fields else 'samples'} have more than {JUDGED_CHARACTERS} "
        "characters: they were compared by their beginning and end."
    )
    return replace(verdict, warnings=(*verdict.warnings, warning))


@dataclass(slots=True)
class Gateway:
    """The parts of one running application, and whether it is ready; `load_error` says why it cannot be."""

    settings: Settings
    backend: LocalBackend | UpstreamBackend
    policy: Policy
    service: Service
    metrics: Metrics
    ready: bool = False
    load_error: str | None = None
    uploading: asyncio.Lock = field(default_factory=asyncio.Lock)


def gateway_of(request: Request) -> Gateway:
    """The gateway that a request came to."""
    held: Any = request.app.state
    return cast("Gateway", held.gateway)
