"""Running checks: identical ones are shared or served from the cache; all are counted and timed."""

from __future__ import annotations

import asyncio
import hashlib
import json
import secrets
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Hashable, Iterator
from contextlib import aclosing, contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..checking import Checker
from ..claims.loop import LONG_SAMPLES, ClaimTerms, inquire_claims
from ..errors import ModelTimeout, SemtropyError
from ..inquiry.conclusion import conclude
from ..inquiry.loop import Terms, inquire
from ..inquiry.steps import PENDING, FieldReader, Step
from ..meaning.cached import Cached
from ..meaning.partition import Grouper
from ..refusals import missing_answer
from ..stopping import Decided, Reason
from ..tracing import record_verdict
from ..verdict import Outcome
from .errors import error_kind
from .instruments import JUDGED_CHARACTERS
from .telemetry import Timed, log

if TYPE_CHECKING:
    from ..conversation import Prompt
    from ..inquiry.loop import Grouping
    from ..nouns import Judge, Model, Sample
    from ..structured import Structure
    from ..verdict import Verdict
    from .instruments import Tenant
    from .policy import Policy
    from .schemas import CheckOptions
    from .settings import Settings
    from .telemetry import Metrics


# Runs of checks, shared while they are under way and cached afterwards.


VERDICTS = 4
"""Answers to one question whose verdicts are kept."""

MOST_BYTES = 64_000_000
"""Size of all cached checks together, about. Long answers would fill gigabytes before there are `size` checks."""
PER_TOKEN = 100
"""Bytes that a token with its log-probability takes, about."""

Steps = Callable[[], AsyncIterator["Step"]]


class CheckRun:
    """One inquiry that any number of clients follow; it stops when the last of them leaves."""

    def __init__(self, steps: Steps) -> None:
        self.steps: list[Step] = []
        self.error: Exception | None = None
        self.finished_at: float | None = None
        self.keep = True
        self.size = 0  # in bytes, about
        # Remembers its judgements, for the answers that are compared with the samples later.
        self.judge: Judge | None = None
        # By answer; None for the one that the run drew.
        self.verdicts: OrderedDict[Sample | None, Verdict] = OrderedDict()
        self._followers = 0
        self._changed = asyncio.Event()
        self._task = asyncio.create_task(self._drive(steps))

    async def _drive(self, steps: Steps) -> None:
        try:
            async with aclosing(steps()) as source:  # type: ignore[type-var]
                async for step in source:
                    self.steps.append(step)
                    self._notify()
        except Exception as error:  # each follower raises it
            self.error = error
        finally:
            self.finished_at = time.monotonic()
            self.size = sum(map(_size, self.steps[-1].samples)) if self.steps else 0
            self._notify()

    def _notify(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    @property
    def alive(self) -> bool:
        """Whether it is still working towards its last step."""
        return self.finished_at is None and not self._task.cancelling()

    async def follow(self) -> AsyncIterator[Step]:
        """Every step from the first, as each arrives."""
        with self.joined():
            at = 0
            while True:
                changed = self._changed
                while at < len(self.steps):
                    yield self.steps[at]
                    at += 1
                if self.finished_at is not None:
                    if self.error is not None:
                        raise self.error
                    return
                if changed is self._changed:
                    await changed.wait()

    @contextmanager
    def joined(self) -> Iterator[None]:
        """Count as a follower inside the block; when the last follower leaves, an unfinished run is cancelled."""
        self._followers += 1
        try:
            yield
        finally:
            self._followers -= 1
            if not self._followers and self.finished_at is None:
                self._task.cancel()

    async def last(self) -> Step:
        """The last step."""
        async with aclosing(self.follow()) as steps:  # type: ignore[type-var]
            return [step async for step in steps][-1]

    def store_verdict(self, answer: Sample | None, verdict: Verdict) -> None:
        """Keep the verdict on `answer` and drop the distributions behind it, which are large."""
        self.verdicts[answer] = replace(verdict, belief=None, partition=None, draws=())
        self.size += 0 if answer is None else _size(answer)
        if len(self.verdicts) > VERDICTS:
            self.verdicts.popitem(last=False)
        self.steps = [replace(step, belief=replace(step.belief, distribution=None)) for step in self.steps]

    def cancel(self) -> None:
        """Stop at once."""
        self._task.cancel()


def _size(sample: Sample) -> int:
    """The bytes that a sample takes, about."""
    return len(sample.text) + PER_TOKEN * len(sample.tokens or sample.token_logprobs or ())


class RunCache:
    """Runs by the digest of their request: all under way, and up to `size` finished ones, for `seconds` each.

    Finished ones have `most_bytes` together.
    """

    def __init__(self, *, size: int, seconds: float, most_bytes: int = MOST_BYTES) -> None:
        self.size, self.seconds, self.most_bytes = size, seconds, most_bytes
        self._runs: OrderedDict[Hashable, CheckRun] = OrderedDict()

    def __len__(self) -> int:
        return len(self._runs)

    def get(self, key: Hashable, steps: Steps, *, keep: bool = True) -> tuple[CheckRun, str]:
        """The run for `key` and its source: "new", "shared" (joined while under way) or "cached"."""
        run = self._runs.get(key)
        if run is not None and run.alive:
            return run, "shared"
        if run is not None and run.finished_at is not None and self._fresh(run):
            self._runs.move_to_end(key)
            return run, "cached"
        run = self._runs[key] = CheckRun(steps)
        run.keep = keep
        self._runs.move_to_end(key)
        run._task.add_done_callback(lambda _: self._evict(key, run))
        return run, "new"

    def _fresh(self, run: CheckRun) -> bool:
        return (
            self.size > 0
            and run.keep
            and run.error is None
            and bool(run.steps)
            and run.steps[-1].reason is not None
            and run.finished_at is not None
            and time.monotonic() - run.finished_at < self.seconds
        )

    def _evict(self, key: Hashable, run: CheckRun) -> None:
        """Drop a run that failed, and the oldest finished ones above `size`."""
        if not self._fresh(run) and self._runs.get(key) is run:
            del self._runs[key]
        finished = [(old, held) for old, held in self._runs.items() if not held.alive]
        over, total = len(finished) - self.size, sum(held.size for _, held in finished)
        for old, held in finished:
            if over <= 0 and total <= self.most_bytes:
                return
            over, total = over - 1, total - held.size
            del self._runs[old]

    def cancel(self) -> None:
        """Stop everything under way."""
        for run in self._runs.values():
            run.cancel()


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


class Checks:
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
        tenant: Tenant | None = None,
        structure: Structure | None = None,
        seed: int | None = None,
        streamed: bool = False,
        answered: bool = False,
        answer: Sample | None = None,
    ) -> PendingCheck:
        """Start a check, or join an identical one.

        identity   everything that distinguishes this request from others; part of the cache key
        tenant     who asks, where clients are not to learn from each other
        structure  how its answers are read; None for plain text. The identity and the options determine it
        streamed   the caller follows the steps: shared while it runs, but not cached, as steps keep large distributions
        answered   the client gets its answer elsewhere: only samples are drawn
        answer     the answer to judge, where the caller has one
        """
        terms = self._terms(options, model.name, tenant)
        chosen_judge = self.policy.judge(options.judge, model)
        judge = Cached(Timed(chosen_judge, "judging", self.metrics), capacity=JUDGEMENTS)
        claims = self._claims(terms, structure, options)
        second = () if terms.second is None else (self.policy.instruments.second,)
        asked: Any = Timed(model, "sampling", self.metrics)
        checker = Checker(asked, judge, terms, structure=structure, claims=claims, second=second)

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

    def _terms(self, options: CheckOptions, model: str | None = None, tenant: Tenant | None = None) -> Terms:
        terms = self.policy.terms(options, model, tenant)
        timed: Any = Timed(terms.estimator, "estimating", self.metrics)
        return replace(terms, estimator=timed)

    def _claims(self, terms: Terms, structure: Structure | None, options: CheckOptions) -> ClaimTerms | None:
        """How long answers are judged: by their claims, unless something else is asked for whole answers."""
        if structure is not None or terms.calibration is not None or terms.estimator.name != "bayes":
            return None
        asked = options.budget is not None and options.budget.samples is not None
        return ClaimTerms(samples=None if asked else LONG_SAMPLES)

    async def judge_alone(
        self, question: str, answer: Sample, options: CheckOptions, *, structure: Structure | None = None
    ) -> Verdict | None:
        """The verdict on a client's answer that needs no samples; None where samples are needed.

        None are needed where the answer's own log-probability decides, where none are allowed, and where there is no
        answer.
        """
        terms = self._terms(options)
        if not terms.estimator.uses_answer or terms.second is not None:
            return None
        grouping: Grouping = Grouper(question) if structure is None else structure.grouping(question)
        if _is_missing(answer, grouping):
            budget = replace(terms.budget, samples=0)
            terms = replace(terms, rule=Decided(terms.threshold), budget=budget)
        if not terms.starts_with_answer(answer):
            return None
        claims = self._claims(terms, structure, options)
        inquiry: Any = inquire(question, terms, grouping, answer=answer)
        if claims is not None:
            inquiry = inquire_claims(inquiry, question, question, terms, claims, answer=answer)
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
            for said in () if verdict.second is None else (verdict.second, *verdict.second.others):
                self.metrics.second_answers.inc(said.samples)
                self.metrics.second_tokens.inc(said.tokens or 0)
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
        except ModelTimeout:  # of the judge: what is known of the samples says nothing of this answer
            unjudged = replace(step, answer=answer, missing=missing_answer(answer))
            verdict = await _conclude_in_time(unjudged, check.checker)
            warnings = (*verdict.warnings, NOT_COMPARED)
            return replace(verdict, outcome=Outcome.UNDECIDED, reason=Reason.SECONDS, warnings=warnings)
        self.metrics.samples.inc(judged.spent.samples - step.spent.samples)
        self.metrics.tokens.inc(max(0, (judged.spent.tokens or 0) - (step.spent.tokens or 0)))
        # Claims are compared anew, with the samples that were drawn before the answer was known to be long.
        before = 0 if judged.claims else step.spent.judge_calls
        self.metrics.pairs.inc(judged.spent.judge_calls - before)
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
    if not long or step.claims:  # claims are short, whatever they are part of
        return verdict
    warning = (
        f"{long} of {len(compared)} {'values' if step.fields else 'samples'} have more than {JUDGED_CHARACTERS} "
        "characters: they were compared by their beginning and end."
    )
    return replace(verdict, warnings=(*verdict.warnings, warning))
