"""`check`, `acheck`, `stream`, `astream`: a question in, a verdict out; short drivers of the sampling loop."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections import deque
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakValueDictionary

import numpy as np

from .asking import adraw_round, ajudge_round, draw_round, judge_round
from .conclusion import conclude
from .conversation import Prompt, as_messages, judge_question, last_question
from .errors import InputError
from .estimators import as_estimator
from .inquiry import (
    ANSWER_TEMPERATURE,
    PENDING,
    Compare,
    Draw,
    Exchange,
    Step,
    Terms,
    inquire,
)
from .models.function import as_model
from .nouns import Estimator, Judge, Model, Sample
from .options import Options, question_options, with_signature
from .pace import IN_PROCESS
from .stopping import RELAXATION, Budget, Decided, FixedSamples, Rule, check_threshold
from .tracing import record_verdict
from .verdict import THRESHOLD

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from contextlib import AbstractAsyncContextManager
    from typing import Unpack

    from numpy.random import Generator

    from .structured import Structure
    from .verdict import Verdict

__all__ = ["Checker", "Options", "acheck", "astream", "check", "stream"]


@dataclass(frozen=True, slots=True)
class Checker:
    """A model, a judge and the terms of asking, loaded once and used for many questions. `Checker.load` makes one.

    model      answers the questions
    judge      compares the answers
    terms      the estimator, the rule, the budget and the threshold
    system     a system message before every prompt; None for the model's own
    structure  reads answers field by field (from `schema`, `tools` or `choices`); None takes them as they are

    >>> from semtropy.models import ScriptedModel
    >>> checker = Checker.load(model=ScriptedModel(default={"Paris": 1.0}), judge="exact", threshold=0.5)
    >>> [checker.check(question, rng=1).answer for question in ("Capital of France?", "And its largest city?")]
    ['Paris', 'Paris']
    """

    model: Model
    judge: Judge
    terms: Terms
    system: str | None = None
    structure: Structure | None = None

    @classmethod
    def load(cls, **options: Unpack[Options]) -> Checker:
        """Load what is named, and fill in the defaults; `answer` and `rng` belong to a question and are ignored."""
        unknown = ", ".join(sorted(set(options) - set(Options.__annotations__)))
        if unknown:
            raise TypeError(
                f"check has no option {unknown}: choose from {', '.join(Options.__annotations__)}"
            )
        estimator = as_estimator(options.get("estimator", "bayes"), options.get("prior"))
        budget = options.get("budget")
        budget = Budget() if budget is None else budget
        threshold = options.get("threshold", THRESHOLD)
        check_threshold(threshold)
        threshold = float(threshold)
        rule = options.get("rule")
        replacement = _replacement(options)
        terms = Terms(
            estimator,
            _default_rule(estimator, budget, threshold) if rule is None else rule,
            budget,
            options.get("rounds"),
            answer_temperature=options.get("answer_temperature", ANSWER_TEMPERATURE),
            threshold=threshold,
            calibration=options.get("calibration"),
            replacement=replacement,
        )
        model = _model(options.get("model", "smollm2"), options)
        structure = _structure(options)
        judge = _judge("exact" if options.get("choices") is not None else options.get("judge"), model)
        asked = model if structure is None else structure.asking(model)
        return cls(asked, judge, terms, options.get("system"), structure)

    def stream(
        self, prompt: Prompt, *, answer: str | Sample | None = None, rng: Generator | int | None = None
    ) -> Iterator[Step]:
        """Yield a step for each round; the last has a reason."""
        rng, deadline, model = np.random.default_rng(rng), self._deadline(), self._asked_model()
        prompt = self._prompt(prompt)
        exchange = self._exchange(prompt, answer)
        for event in exchange:
            if isinstance(event, Draw):
                exchange.reply = draw_round(model, prompt, event, rng, deadline)
            elif isinstance(event, Compare):
                exchange.reply = judge_round(self.judge, event.pairs, deadline)
            else:
                yield event

    async def astream(
        self,
        prompt: Prompt,
        *,
        answer: str | Sample | None = None,
        rng: Generator | int | None = None,
        earlier: Step | None = None,
    ) -> AsyncIterator[Step]:
        """`stream`, asynchronous; `earlier` as in `inquire`."""
        rng, deadline, model = np.random.default_rng(rng), self._deadline(earlier), self._asked_model(earlier)
        prompt = self._prompt(prompt)
        exchange = self._exchange(prompt, answer, earlier)
        # Samples that are there already are compared with an answer that came later, whatever time is left.
        judged_by = deadline if earlier is None else None
        events = iter(exchange)
        while (event := await self._next(events)) is not None:
            if isinstance(event, Draw):
                exchange.reply = await adraw_round(model, prompt, event, rng, deadline)
            elif isinstance(event, Compare):
                exchange.reply = await ajudge_round(self.judge, event.pairs, judged_by)
            else:
                yield event

    async def _next(self, events: Iterator[Draw | Compare | Step]) -> Draw | Compare | Step | None:
        """The next event, None after the last. Fields, of which there may be thousands, do not hold up the loop."""
        if self.structure is None:
            return next(events, None)
        return await asyncio.to_thread(next, events, None)

    def check(
        self, prompt: Prompt, *, answer: str | Sample | None = None, rng: Generator | int | None = None
    ) -> Verdict:
        """The verdict on `prompt`."""
        *_, last = self.stream(prompt, answer=answer, rng=rng)
        return self._recorded(last)

    async def acheck(
        self, prompt: Prompt, *, answer: str | Sample | None = None, rng: Generator | int | None = None
    ) -> Verdict:
        """`check`, awaitable."""
        last = [step async for step in self.astream(prompt, answer=answer, rng=rng)][-1]
        return self._recorded(last)

    def conclude(self, step: Step) -> Verdict:
        """The verdict after a step, with what the judge says of its grouping."""
        from .meaning.scripts import judge_warnings

        texts = [sample.text for sample in (step.answer, *step.samples) if sample is not PENDING]
        return conclude(step, self.terms, judge_warnings(self.judge, texts))

    def _recorded(self, step: Step) -> Verdict:
        verdict = self.conclude(step)
        record_verdict(verdict)
        return verdict

    def _prompt(self, prompt: Prompt) -> Prompt:
        """The prompt as the model gets it: messages where it has some, or a system message."""
        if isinstance(prompt, str) and self.system is None:
            return prompt
        return as_messages(prompt, self.system)

    def _exchange(self, prompt: Prompt, answer: str | Sample | None, earlier: Step | None = None) -> Exchange:
        from .meaning.partition import Grouper

        given = Sample(answer) if isinstance(answer, str) else answer
        if not (given is None or isinstance(given, Sample)):
            raise InputError(f"answer is a {type(given).__name__}: give its text, or a Sample")
        if given is not None and given.sampling_logprob is None and given.logprob is not None:
            given = replace(given, sampling_logprob=given.logprob)
        question, about = last_question(prompt), judge_question(prompt)
        grouping = (
            Grouper(about, unlike=getattr(self.judge, "unlike", None))
            if self.structure is None
            else self.structure.grouping(about)
        )
        return Exchange(
            inquire(
                question,
                self.terms,
                grouping,
                answer=given,
                earlier=earlier,
                pace=lambda: getattr(self.model, "pace", IN_PROCESS),
            )
        )

    def _deadline(self, earlier: Step | None = None) -> float | None:
        seconds = self.terms.budget.seconds
        used = 0.0 if earlier is None else earlier.spent.seconds
        return None if seconds is None else time.monotonic() + seconds - used

    def _asked_model(self, earlier: Step | None = None) -> Model:
        """The model of one inquiry: without replacement, it remembers what it drew."""
        if self.terms.replacement:
            return self.model
        if earlier is not None:
            raise InputError("an inquiry without replacement cannot be continued: begin a new one")
        model: Model = cast("Any", self.model).remembering()
        return model


def _replacement(options: Options) -> bool:
    """Whether draws may repeat; those that may not are refused where answers are counted field by field."""
    replacement = bool(options.get("replacement", getattr(options.get("model"), "replacement", True)))
    named = [name for name in ("schema", "tools", "choices") if options.get(name) is not None]
    if named and not replacement:
        raise InputError(
            f"{named[0]} counts the values of fields, and draws without replacement cannot be counted: leave out "
            f"{named[0]}, or draw with replacement"
        )
    return replacement


def _structure(options: Options) -> Structure | None:
    named: dict[str, Any] = {name: options.get(name) for name in ("schema", "tools", "choices", "required")}
    if all(each is None for each in named.values()):
        return None
    from .structured import load_structure

    return load_structure(**named)


def _default_rule(estimator: Estimator, budget: Budget, threshold: float) -> Rule:
    """Until the verdict is decided, or the whole budget for an estimator without a distribution."""
    if getattr(estimator, "has_variance", True):
        return Decided(threshold, relaxation=RELAXATION)
    return FixedSamples(max(1, budget.samples if isinstance(budget, Budget) else 1))


_SHARED: WeakValueDictionary[tuple[object, ...], Model] = WeakValueDictionary()
_ENDPOINTS: deque[Model] = deque(maxlen=8)  # kept, so that what they refuse is found out once
_LOADING = threading.Lock()


def _model(model: str | Model | Callable[..., Any], given: Options) -> Model:
    """The model; one object for all checks under way that name it, so that its limits hold for them together."""
    max_tokens, replacement = given.get("max_tokens"), given.get("replacement", True)
    options: dict[str, Any] = {} if max_tokens is None else {"max_tokens": max_tokens}
    if not isinstance(model, str):
        return as_model(model, **options, **({"replacement": True} if "replacement" in given else {}))
    options |= {} if replacement else {"replacement": False}
    key = (
        model,
        max_tokens,
        replacement,
        os.environ.get("OPENAI_BASE_URL"),
        os.environ.get("OPENAI_API_KEY"),
    )
    with _LOADING:
        loaded = _SHARED.get(key)
        if loaded is None:
            loaded = _SHARED[key] = as_model(model, **options)
            if hasattr(loaded, "refused"):
                _ENDPOINTS.append(loaded)
        return loaded


@asynccontextmanager
async def _loaded(options: Options) -> AsyncIterator[Checker]:
    """A checker for one call; what the call itself opened is closed after it."""
    checker = await asyncio.to_thread(lambda: Checker.load(**options))
    ours = isinstance(options.get("model", "smollm2"), str) and hasattr(checker.model, "__aenter__")
    async with cast("AbstractAsyncContextManager[Any]", checker.model) if ours else nullcontext():
        yield checker


def _judge(judge: str | Judge | None, model: Model) -> Judge:
    from .meaning import load_judge

    if judge is None or isinstance(judge, str):
        return load_judge(judge, model=model)
    if not hasattr(judge, "entails"):
        raise InputError(f"judge is {judge!r}: give the name of one, or an object with `entails`")
    return judge


@with_signature
def check(prompt: Prompt, **options: Unpack[Options]) -> Verdict:
    """Ask `prompt` until the belief about its semantic entropy is precise enough, and return the verdict.

    `acheck`, `stream` and `astream` take the same parameters.

    prompt  the question, or chat messages that end with it

    >>> from semtropy.models import ScriptedModel
    >>> verdict = check("Capital of France?", model=ScriptedModel(default={"Paris": 1.0}), estimator="histogram", rng=1)
    >>> verdict.answer, verdict.flagged, verdict.samples
    ('Paris', False, 10)
    """
    return Checker.load(**options).check(prompt, **question_options(options))


@with_signature
async def acheck(prompt: Prompt, **options: Unpack[Options]) -> Verdict:
    """Check `prompt` asynchronously: many checks can run at once on one model.

    prompt  the question, or chat messages that end with it

    >>> from semtropy.models import ScriptedModel
    >>> model = ScriptedModel(default={"Paris": 1.0})
    >>> asyncio.run(acheck("Capital of France?", model=model, estimator="histogram", rng=1)).answer
    'Paris'
    """
    async with _loaded(options) as checker:
        return await checker.acheck(prompt, **question_options(options))


@with_signature
def stream(prompt: Prompt, **options: Unpack[Options]) -> Iterator[Step]:
    """Check `prompt` and yield a step after each round; the verdict of `check` is that of the last.

    prompt  the question, or chat messages that end with it

    >>> from semtropy.models import ScriptedModel
    >>> model = ScriptedModel(default={"Paris": 1.0})
    >>> steps = list(stream("Capital of France?", model=model, estimator="histogram", budget=Budget(samples=3), rng=1))
    >>> steps[-1].spent.samples
    3
    """
    return Checker.load(**options).stream(prompt, **question_options(options))


@with_signature
async def astream(prompt: Prompt, **options: Unpack[Options]) -> AsyncIterator[Step]:
    """Check `prompt` asynchronously and yield a step after each round.

    prompt  the question, or chat messages that end with it

    >>> from semtropy.models import ScriptedModel
    >>> async def samples():
    ...     model = ScriptedModel(default={"Paris": 1.0})
    ...     options = {"model": model, "estimator": "histogram", "budget": Budget(samples=3), "rng": 1}
    ...     return [step.spent.samples async for step in astream("Capital of France?", **options)]
    >>> asyncio.run(samples())[-1]
    3
    """
    async with _loaded(options) as checker:
        async for step in checker.astream(prompt, **question_options(options)):
            yield step
