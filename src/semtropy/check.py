"""`check`, `acheck`, `stream`, `astream`: a question in, a verdict out; short drivers of the sampling loop."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypedDict, cast, runtime_checkable
from weakref import WeakValueDictionary

import numpy as np

from .errors import InputError
from .estimators import load_estimator
from .inquiry import Calibrated, Compare, Draw, Drawn, Grouping, Step, Terms, conclude, inquire
from .models import load_model, portal
from .nouns import Estimator, Evidence, Judge, Model, Sample
from .stopping import Budget, FixedSamples, Rounds, Rule, VarianceBelow
from .verdict import THRESHOLD

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from contextlib import AbstractAsyncContextManager
    from typing import Unpack

    from numpy.random import Generator

    from .nouns import Floats
    from .verdict import Verdict

__all__ = ["VARIANCE", "Checker", "Options", "acheck", "astream", "check", "stream"]

VARIANCE = 0.1
"""Sampling stops by default at this variance of the entropy, in squared nats."""


class Options(TypedDict, total=False):
    """What `check` and its siblings take beside the prompt and `rng`; names become objects.

    model        a name (see `semtropy.models.FORMS`) or a Model; default smollm2
    judge        a name or a Judge; default the best one that is installed
    estimator    a name or an Estimator; default bayes
    rule         when to stop; default VarianceBelow(0.1), or all of the budget for an estimator without variance
    budget       hard limits; default Budget(samples=10)
    prior        for an estimator given by name
    rounds       how many samples go out together
    threshold    flagged above this entropy in nats; default log 2
    calibration  turns a belief into a probability; its own threshold flags, or one half
    """

    model: str | Model
    judge: str | Judge | None
    estimator: str | Estimator
    rule: Rule | None
    budget: Budget | None
    prior: object
    rounds: Rounds | None
    threshold: float
    calibration: Calibrated | None


@dataclass(frozen=True, slots=True)
class Checker:
    """A model, a judge and the terms of asking, loaded once and used for many questions."""

    model: Model
    judge: Judge
    terms: Terms

    @classmethod
    def load(cls, **options: Unpack[Options]) -> Checker:
        """Names become objects; what is left out gets its default."""
        unknown = ", ".join(sorted(set(options) - set(Options.__annotations__)))
        if unknown:
            raise TypeError(
                f"check has no option {unknown}: choose from {', '.join(Options.__annotations__)}"
            )
        estimator = options.get("estimator", "bayes")
        prior = options.get("prior")
        if isinstance(estimator, str):
            estimator = load_estimator(estimator, **({} if prior is None else {"prior": prior}))
        elif prior is not None:
            raise InputError("prior goes with an estimator's name: give it to the estimator itself")
        budget = options.get("budget") or Budget()
        terms = Terms(
            estimator,
            options.get("rule") or _default_rule(estimator, budget),
            budget,
            options.get("rounds"),
            threshold=options.get("threshold", THRESHOLD),
            calibration=options.get("calibration"),
        )
        model = options.get("model", "smollm2")
        return cls(_named(model) if isinstance(model, str) else model, _judge(options.get("judge")), terms)

    def stream(self, prompt: str, *, rng: Generator | int | None = None) -> Iterator[Step]:
        """A step a round; the last has a reason."""
        rng, deadline = np.random.default_rng(rng), self._deadline()
        loop = inquire(prompt, self.terms, _grouping(prompt))
        reply: Drawn | Floats | None = None
        while True:
            try:
                event = loop.send(reply)
            except StopIteration:
                return
            reply = None
            if isinstance(event, Draw):
                reply = self._draw(prompt, event, rng, deadline)
            elif isinstance(event, Compare):
                reply = self.judge.entails(event.pairs)
            else:
                yield event

    async def astream(self, prompt: str, *, rng: Generator | int | None = None) -> AsyncIterator[Step]:
        """`stream`, asynchronous."""
        rng, deadline = np.random.default_rng(rng), self._deadline()
        loop = inquire(prompt, self.terms, _grouping(prompt))
        reply: Drawn | Floats | None = None
        while True:
            try:
                event = loop.send(reply)
            except StopIteration:
                return
            reply = None
            if isinstance(event, Draw):
                reply = await self._adraw(prompt, event, rng, deadline)
            elif isinstance(event, Compare):
                reply = await asyncio.to_thread(self.judge.entails, event.pairs)
            else:
                yield event

    def check(self, prompt: str, *, rng: Generator | int | None = None) -> Verdict:
        """The verdict on `prompt`."""
        *_, last = self.stream(prompt, rng=rng)
        return conclude(last, self.terms)

    async def acheck(self, prompt: str, *, rng: Generator | int | None = None) -> Verdict:
        """`check`, awaitable."""
        last = [step async for step in self.astream(prompt, rng=rng)][-1]
        return conclude(last, self.terms)

    def _deadline(self) -> float | None:
        seconds = self.terms.budget.seconds
        return None if seconds is None else time.monotonic() + seconds

    def _draw(self, prompt: str, draw: Draw, rng: Generator, deadline: float | None) -> Drawn:
        if isinstance(self.model, _Awaitable):
            return portal.run(self._adraw(prompt, draw, rng, deadline))
        drawn = [self.model.sample(prompt, n, temperature=t, rng=child) for n, t, child in _parts(draw, rng)]
        return _drawn(drawn)

    async def _adraw(self, prompt: str, draw: Draw, rng: Generator, deadline: float | None) -> Drawn:
        """Everything the round asks for, together; a model without `asample` works in a thread."""
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        try:
            async with asyncio.timeout(left) as limit:
                if not isinstance(self.model, _Awaitable):
                    return await asyncio.to_thread(self._draw, prompt, draw, rng, None)
                asample = self.model.asample
                parts = _parts(draw, rng)
                drawn = await asyncio.gather(
                    *(asample(prompt, n, temperature=t, rng=child) for n, t, child in parts)
                )
                return _drawn(drawn)
        except TimeoutError:
            if not limit.expired():
                raise
            return Drawn((), late=True)


@runtime_checkable
class _Awaitable(Protocol):
    """A model with an asynchronous twin."""

    async def asample(self, prompt: str, n: int, *, temperature: float, rng: Generator) -> list[Sample]: ...


def _parts(draw: Draw, rng: Generator) -> list[tuple[int, float, Generator]]:
    """What to ask the model for, each part with its own stream of randomness so that order cannot matter."""
    answer_rng, sample_rng = rng.spawn(2)
    parts = [(draw.n, draw.temperature, sample_rng)]
    if draw.answer_at is not None:
        parts.append((1, draw.answer_at, answer_rng))
    return parts


def _drawn(parts: list[list[Sample]]) -> Drawn:
    return Drawn(parts[0], parts[1][0] if len(parts) > 1 and parts[1] else None)


def _default_rule(estimator: Estimator, budget: Budget) -> Rule:
    """The paper's rule, or all of the budget for an estimator that has no variance to stop on."""
    if estimator(Evidence(counts=(1,))).variance is None:
        return FixedSamples(budget.samples)
    return VarianceBelow(VARIANCE)


_SHARED: WeakValueDictionary[tuple[str | None, ...], Model] = WeakValueDictionary()
_LOADING = threading.Lock()


def _named(name: str) -> Model:
    """One object for all checks under way that name the same model, so that its limits hold for them together."""
    key = (name, os.environ.get("OPENAI_BASE_URL"), os.environ.get("OPENAI_API_KEY"))
    with _LOADING:
        model = _SHARED.get(key)
        if model is None:
            model = _SHARED[key] = load_model(name)
        return model


@asynccontextmanager
async def _loaded(options: Options) -> AsyncIterator[Checker]:
    """A checker for one call; what the call itself opened is closed after it."""
    checker = await asyncio.to_thread(lambda: Checker.load(**options))
    ours = isinstance(options.get("model", "smollm2"), str) and hasattr(checker.model, "__aenter__")
    async with cast("AbstractAsyncContextManager[Any]", checker.model) if ours else nullcontext():
        yield checker


def _judge(judge: str | Judge | None) -> Judge:
    from .meaning import load_judge

    if judge is None or isinstance(judge, str):
        return load_judge(*([] if judge is None else [judge]))
    return judge


def _grouping(prompt: str) -> Grouping:
    from .meaning.partition import Grouper

    return Grouper(prompt)


def check(
    prompt: str,
    *,
    model: str | Model = "smollm2",
    judge: str | Judge | None = None,
    estimator: str | Estimator = "bayes",
    rule: Rule | None = None,
    budget: Budget | None = None,
    rng: Generator | int | None = None,
    **more: Any,
) -> Verdict:
    """Ask `prompt` until the belief about its semantic entropy is firm; the rest of the options are `Options`'.

    >>> from semtropy.models.scripted import ScriptedModel
    >>> verdict = check("Capital of France?", model=ScriptedModel(default={"Paris": 1.0}), estimator="histogram", rng=1)
    >>> verdict.answer, verdict.flagged, verdict.samples
    ('Paris', False, 10)
    """
    checker = Checker.load(model=model, judge=judge, estimator=estimator, rule=rule, budget=budget, **more)
    return checker.check(prompt, rng=rng)


async def acheck(
    prompt: str,
    *,
    model: str | Model = "smollm2",
    judge: str | Judge | None = None,
    estimator: str | Estimator = "bayes",
    rule: Rule | None = None,
    budget: Budget | None = None,
    rng: Generator | int | None = None,
    **more: Any,
) -> Verdict:
    """`check`, awaitable: many can run at once on one model."""
    options: Options = {
        "model": model,
        "judge": judge,
        "estimator": estimator,
        "rule": rule,
        "budget": budget,
    }
    async with _loaded({**options, **more}) as checker:  # type: ignore[typeddict-item]
        return await checker.acheck(prompt, rng=rng)


def stream(prompt: str, *, rng: Generator | int | None = None, **options: Unpack[Options]) -> Iterator[Step]:
    """A step a round, as each becomes known; `check` is the last of them."""
    return Checker.load(**options).stream(prompt, rng=rng)


async def astream(
    prompt: str, *, rng: Generator | int | None = None, **options: Unpack[Options]
) -> AsyncIterator[Step]:
    """`stream`, asynchronous."""
    async with _loaded(options) as checker:
        async for step in checker.astream(prompt, rng=rng):
            yield step
