"""The desk where checks are ordered: identical ones are shared or remembered, all are counted and timed."""

from __future__ import annotations

import asyncio
import hashlib
import json
import secrets
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..check import Checker
from ..errors import SemtropyError
from ..inquiry import Step, Terms, conclude
from .answered import answered
from .failures import kind_of
from .logs import log
from .runs import Run, Runs
from .timing import timed_estimator, timed_judge, timed_model

if TYPE_CHECKING:
    from ..nouns import Model
    from ..verdict import Verdict
    from .kit import Kit
    from .metrics import Metrics
    from .options import Choices
    from .settings import Settings

__all__ = ["Desk", "Order"]


@dataclass(frozen=True, slots=True)
class Order:
    """A check under way: its run, its terms, and how it was come by (new, shared, cached)."""

    run: Run
    terms: Terms
    source: str


class Desk:
    """Orders checks and turns their last step into a verdict."""

    def __init__(self, settings: Settings, kit: Kit, metrics: Metrics) -> None:
        self.settings, self.kit, self.metrics = settings, kit, metrics
        self.runs = Runs(size=settings.cache_size, seconds=settings.cache_seconds)
        self._salt = secrets.token_bytes(16)

    def order(
        self,
        question: str,
        model: Model,
        choices: Choices,
        *,
        about: Any,
        seed: int | None = None,
        streamed: bool = False,
        given: bool = False,
    ) -> Order:
        """Start a check, or join one that is the same. `about` is all that tells one request from another.

        `given` is for a client that has its answer already: the check draws samples alone.
        A streamed one is shared while it is under way but not remembered: its steps keep large distributions.
        """
        terms = self.kit.terms(choices)
        terms = replace(terms, estimator=timed_estimator(terms.estimator, self.metrics))
        model = timed_model(model, self.metrics)
        judge = timed_judge(self.kit.judge(choices.judge), self.metrics)
        checker = Checker(answered(model) if given else model, judge, terms)

        async def steps() -> AsyncIterator[Step]:
            last: Step | None = None
            async for step in checker.astream(question, rng=seed):
                last = step
                yield step
            if last is not None:
                self.metrics.drawn(last)

        chosen = choices.model_dump(exclude={"mode", "place", "cache"}, mode="json")
        told = json.dumps([question, about, chosen, seed, streamed], sort_keys=True)
        # A client's key is part of what is asked; only this digest, salted anew by each process, outlives the request.
        key = hashlib.blake2b(told.encode(), key=self._salt).digest()
        name = key if choices.cache else secrets.token_bytes(16)
        run, source = self.runs.get(name, steps, remember=choices.cache and not streamed)
        self.metrics.runs.labels(source).inc()
        return Order(run, terms, source)

    async def verdict(self, order: Order, answer: str | None = None) -> Verdict:
        """Wait for the verdict; `answer` is what the client was given, where that was not drawn by the check."""
        try:
            step = await order.run.last()
        except Exception as error:
            self.failed(error)
            raise
        return await self.conclude(step, order, answer)

    async def conclude(self, step: Step, order: Order, answer: str | None = None) -> Verdict:
        """The verdict a last step stands for, counted."""
        run = order.run
        if run.verdict is None:  # its interval takes a while: once a run, and not where every request waits
            with self.metrics.timed("concluding"):
                found = await asyncio.to_thread(conclude, step, order.terms)
            if run.remembered:
                run.settle(found)
        else:
            found = run.verdict
        verdict = found if answer is None else replace(found, answer=answer)
        self.metrics.checks.labels("flagged" if verdict.flagged else "steady").inc()
        return verdict

    def failed(self, error: Exception) -> None:
        """Count a check that came to nothing."""
        self.metrics.checks.labels("error").inc()
        self.metrics.errors.labels(kind_of(error)).inc()
        if not isinstance(error, SemtropyError):
            log.error("check failed", exc_info=error)
