"""`check`, `acheck`, `stream`, `astream`: a question in, a verdict out; short drivers of the sampling loop."""

from __future__ import annotations

import asyncio
import functools
import inspect
import os
import threading
import time
from collections import deque
from collections.abc import Iterable, Mapping
from concurrent.futures import wait
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeGuard, TypeVar, cast
from weakref import WeakValueDictionary

import numpy as np

from .capabilities import IN_PROCESS, Pace
from .claims import ClaimPrior
from .claims.loop import LONG_SAMPLES, ClaimTerms, inquire_claims
from .claims.relating import judged
from .conversation import Prompt, as_messages, judge_question, last_question
from .errors import BadReply, InputError, SemtropyError, one_line
from .estimators import as_estimator
from .inquiry.conclusion import conclude
from .inquiry.consulting import consult
from .inquiry.loop import (
    LATE,
    Compare,
    Draw,
    Drawn,
    Exchange,
    Relate,
    Terms,
    inquire,
)
from .inquiry.steps import PENDING, Step
from .models import sync_bridge
from .models.function import as_model
from .nouns import Belief, Estimator, Evidence, Judge, JudgedAnswer, Model, Partition, Sample
from .options import Options, QuestionOptions, judge_name, question_options, with_defaults, with_signature
from .second import Consultation
from .stopping import RELAXATION, Budget, Decided, FixedSamples, Reason, Rule, Spent, check_threshold
from .tracing import record_verdict

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
    from concurrent.futures import Future
    from typing import Unpack

    from numpy.random import Generator

    from .models.sync_bridge import AwaitedModel
    from .nouns import Floats
    from .structured import Structure
    from .verdict import Verdict


# What the sampling loop asks for, from a model and a judge: one round of a check, within its seconds.


T = TypeVar("T")


def draw_round(model: Model, prompt: Prompt, draw: Draw, rng: Generator, deadline: float | None) -> Drawn:
    """Everything the round asks for. An asynchronous model is awaited in another thread."""
    if _is_awaitable(model):
        work = adraw_round(model, prompt, draw, rng, deadline)
        try:  # a model that blocks the event loop would keep it from the deadline
            return sync_bridge.run(work, _left(deadline, more=2 * sync_bridge.GRACE))
        except TimeoutError:
            if _left(deadline) != 0:
                raise
            return LATE
    if deadline is not None:
        return _in_time(sync_bridge.start(draw_round, model, prompt, draw, rng, None), deadline)
    parts = _parts(draw, rng)
    drawn = [model.sample(prompt, n, temperature=t, rng=child) if n else [] for n, t, child in parts]
    if draw.weigh is not None:
        weigh = getattr(model, "weigh", None)
        weighed = None if weigh is None else weigh(prompt, draw.weigh)
        drawn.append([] if weighed is None else [weighed])
    return _drawn(model, draw, drawn)


async def adraw_round(
    model: Model, prompt: Prompt, draw: Draw, rng: Generator, deadline: float | None
) -> Drawn:
    """Everything the round asks for, together; a model without `asample` works in a thread."""
    if _is_awaitable(model):
        work = _everything(model, prompt, draw, rng)
    else:
        work = sync_bridge.in_thread(draw_round, model, prompt, draw, rng, None)
    return await _ain_time(work, deadline)


def judge_round(judging: Callable[[], Floats], deadline: float | None) -> Floats | Drawn:
    """What a judge says, or `LATE`; with a deadline it works in a thread."""
    return judging() if deadline is None else _in_time(sync_bridge.start(judging), deadline)


async def ajudge_round(judging: Callable[[], Floats], deadline: float | None) -> Floats | Drawn:
    """`judge_round`, awaited: the judge works in a thread."""
    return await _ain_time(sync_bridge.in_thread(judging), deadline)


def _in_time(work: Future[T], deadline: float) -> T | Drawn:
    """The result of `work`, or `LATE`; its thread is left behind."""
    done, _ = wait([work], timeout=_left(deadline))
    return work.result() if done else LATE


async def _ain_time(work: Awaitable[T], deadline: float | None) -> T | Drawn:
    try:
        return await sync_bridge.finish(work, deadline)
    except sync_bridge.OutOfTime:
        return LATE


def _left(deadline: float | None, more: float = 0.0) -> float | None:
    """Seconds until the deadline."""
    return None if deadline is None else max(0.0, deadline + more - time.monotonic())


def _generator(rng: Generator | int | None) -> Generator:
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError):
        raise InputError(
            f"rng is {rng!r}: give a seed (a whole number from 0), a numpy.random.Generator, or None"
        ) from None


async def _everything(model: AwaitedModel, prompt: Prompt, draw: Draw, rng: Generator) -> Drawn:
    asked = [_asked(model, prompt, *part) for part in _parts(draw, rng)]
    if draw.weigh is not None:
        asked.append(_weighed(model, prompt, draw.weigh))
    return _drawn(model, draw, await sync_bridge.together(asked))


def _is_awaitable(model: Model) -> TypeGuard[AwaitedModel]:
    """Whether a model has an asynchronous twin."""
    return hasattr(model, "asample")


async def _asked(
    model: AwaitedModel, prompt: Prompt, n: int, temperature: float, rng: Generator
) -> list[Sample]:
    return await model.asample(prompt, n, temperature=temperature, rng=rng) if n else []


async def _weighed(model: object, prompt: Prompt, answer: Sample) -> list[Sample]:
    """The answer with its log-probability, or nothing where the model cannot tell it."""
    weigh = getattr(model, "aweigh", None)
    weighed = None if weigh is None else await weigh(prompt, answer)
    return [] if weighed is None else [weighed]


def _parts(draw: Draw, rng: Generator) -> list[tuple[int, float, Generator]]:
    """What to ask the model for, each part with its own stream of randomness so that order cannot matter."""
    answer_rng, sample_rng = rng.spawn(2)
    parts = [(draw.n, draw.temperature, sample_rng)]
    if draw.answer_at is not None:
        parts.append((1, draw.answer_at, answer_rng))
    return parts


def _drawn(model: object, draw: Draw, parts: list[Any]) -> Drawn:
    """The parts as the reply; a model that returns more than was asked for does not pass the budget."""
    samples, *others = parts
    answers = [_checked(model, part, 1) for part in others]
    return Drawn(_checked(model, samples, draw.n), answers[0][0] if answers and answers[0] else None)


def _checked(model: object, part: Any, n: int) -> list[Sample]:
    """The first `n` that a model returned, if they are samples."""
    several = isinstance(part, Iterable) and not isinstance(part, str | bytes | Mapping)
    found = list(islice(part, n)) if several else []
    if not several or not all(isinstance(each, Sample) for each in found):
        kinds = ", ".join(sorted({type(each).__name__ for each in found}))
        said = f"a list of {kinds}" if several else f"a {type(part).__name__}"
        name = getattr(model, "name", type(model).__name__)
        raise BadReply(f"the model {name} returned {said}: a list of Samples is expected")
    return found


SECOND_SECONDS = 60.0
"""How long a second model may take for an answer where the budget does not say."""


def second_round(model: Model, prompt: Prompt, draw: Draw, rng: Generator, deadline: float | None) -> Drawn:
    """`draw_round` of a second model: whatever goes wrong with it is part of the reply."""
    try:
        return draw_round(model, prompt, draw, rng, _second_deadline(deadline))
    except Exception as error:  # no failure of a second model may cost the verdict of the first
        return _failed(error)


async def asecond_round(
    model: Model, prompt: Prompt, draw: Draw, rng: Generator, deadline: float | None
) -> Drawn:
    """`second_round`, awaited."""
    try:
        return await adraw_round(model, prompt, draw, rng, _second_deadline(deadline))
    except Exception as error:
        return _failed(error)


def _second_deadline(deadline: float | None) -> float:
    own = time.monotonic() + SECOND_SECONDS
    return own if deadline is None else min(deadline, own)


def _failed(error: Exception) -> Drawn:
    known = isinstance(error, SemtropyError)
    return Drawn((), failed=one_line(str(error) if known else f"{type(error).__name__}: {error}", 200))


@dataclass(frozen=True, slots=True)
class Checker:
    """A model, a judge and the terms of asking, loaded once and used for many questions. `Checker.load` makes one.

    model      answers the questions
    judge      compares the answers
    terms      the estimator, the rule, the budget and the threshold
    system     a system message before every prompt; None for the model's own
    structure  reads answers field by field (from `schema`, `tools` or `choices`); None takes them as they are
    claims     how long answers are judged claim by claim; None judges them as a whole
    second     the second models, None where the answers of one were given; `terms.second` names them

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
    claims: ClaimTerms | None = None
    second: tuple[Model | None, ...] = ()

    @classmethod
    def load(cls, **options: Unpack[Options]) -> Checker:
        """Load what is named, and fill in the defaults; `answer`, `samples` and `rng` belong to a question."""
        stored = options.get("samples") is not None and "model" not in options
        options = with_defaults(options)
        estimator = as_estimator(options["estimator"], options["prior"])
        budget = Budget() if options["budget"] is None else options["budget"]
        check_threshold(options["threshold"])
        threshold, rule = float(options["threshold"]), options["rule"]
        consultation, second = _second(options, budget)
        if consultation is not None and isinstance(budget, Budget):
            budget = replace(budget, samples=consultation.own_samples)
        terms = Terms(
            estimator,
            _default_rule(estimator, budget, threshold) if rule is None else rule,
            budget,
            options["rounds"],
            answer_temperature=options["answer_temperature"],
            threshold=threshold,
            calibration=options["calibration"],
            second=consultation,
        )
        model = _StoredOnly() if stored else _model(options["model"], options)
        structure = _structure(options)
        judge = _judge("exact" if options["choices"] is not None else options["judge"], model)
        asked = model if structure is None else structure.asking(model)
        claims = _claims(options, terms)
        return cls(asked, judge, terms, options["system"], structure, claims, second)

    def stream(self, prompt: Prompt, **given: Unpack[QuestionOptions]) -> Iterator[Step]:
        """Yield a step for each round; the last has a reason."""
        rng, deadline, model = _generator(given.get("rng")), self._deadline(), self.model
        prompt, answer = self._prompt(prompt), given.get("answer")
        earlier = _stored(given.get("samples"), answer)
        exchange = self._exchange(prompt, answer, earlier)
        for event in exchange:
            if isinstance(event, Draw) and event.second is not None:
                exchange.reply = second_round(self._other(event), prompt, event, rng, deadline)
            elif isinstance(event, Draw):
                exchange.reply = draw_round(model, event.prompt or prompt, event, rng, deadline)
            elif isinstance(event, Step):
                yield self._seen(event)
            else:
                exchange.reply = judge_round(self._judging(event), deadline)

    async def astream(
        self,
        prompt: Prompt,
        *,
        answer: str | Sample | None = None,
        samples: Sequence[str | Sample] | None = None,
        rng: Generator | int | None = None,
        earlier: Step | None = None,
    ) -> AsyncIterator[Step]:
        """`stream`, asynchronous; `earlier` as in `inquire`."""
        earlier = _stored(samples, answer) if earlier is None else earlier
        rng, deadline, model = _generator(rng), self._deadline(earlier), self.model
        prompt = self._prompt(prompt)
        exchange = self._exchange(prompt, answer, earlier)
        # Samples that are there already are compared with an answer that came later, whatever time is left.
        judged_by = deadline if earlier is None else None
        events = iter(exchange)
        while (event := await self._next(events)) is not None:
            if isinstance(event, Draw) and event.second is not None:
                exchange.reply = await asecond_round(self._other(event), prompt, event, rng, deadline)
            elif isinstance(event, Draw):
                exchange.reply = await adraw_round(model, event.prompt or prompt, event, rng, deadline)
            elif isinstance(event, Step):
                yield self._seen(event)
            else:
                exchange.reply = await ajudge_round(self._judging(event), judged_by)

    def _judging(self, asked: Compare | Relate) -> Callable[[], Floats]:
        """What the judge is asked to do."""
        if isinstance(asked, Relate):
            return functools.partial(judged, self.judge, asked.pairs)
        return functools.partial(self.judge.entails, asked.pairs)

    def _seen(self, step: Step) -> Step:
        """The step as it is reported; the last one teaches a prior that learns.

        Stored samples end where they end, not at a limit.
        """
        learned = getattr(self.terms.estimator, "learned", None)
        if learned is not None and step.reason is not None and not (step.fields or step.claims):
            learned.learn(step.evidence)
        ended = isinstance(self.model, _StoredOnly) and step.reason in _ENDED
        return replace(step, reason=Reason.STORED) if ended else step

    async def _next(
        self, events: Iterator[Draw | Compare | Relate | Step]
    ) -> Draw | Compare | Relate | Step | None:
        """The next event, None after the last. Fields, of which there may be thousands, do not hold up the loop."""
        if self.structure is None:
            return next(events, None)
        return await asyncio.to_thread(next, events, None)

    def check(self, prompt: Prompt, **given: Unpack[QuestionOptions]) -> Verdict:
        """The verdict on `prompt`."""
        *_, last = self.stream(prompt, **given)
        return self._recorded(last)

    async def acheck(self, prompt: Prompt, **given: Unpack[QuestionOptions]) -> Verdict:
        """`check`, awaitable."""
        last = [step async for step in self.astream(prompt, **given)][-1]
        return self._recorded(last)

    def conclude(self, step: Step) -> Verdict:
        """The verdict after a step, with what the judge says of its grouping."""
        from .meaning.judges import judge_warnings

        texts = [sample.text for sample in (step.answer, *step.samples) if sample is not PENDING]
        verdict = conclude(step, self.terms, judge_warnings(self.judge, texts))
        return replace(verdict, judge=getattr(self.judge, "name", None))

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
            raise InputError(f"answer is of type {type(given).__name__}: give its text, or a Sample")
        if given is not None and given.sampling_logprob is None and given.logprob is not None:
            given = replace(given, sampling_logprob=given.logprob)
        question, about = last_question(prompt), judge_question(prompt)
        grouping = Grouper(about, self.judge) if self.structure is None else self.structure.grouping(about)

        def pace() -> Pace:
            return cast("Pace", getattr(self.model, "pace", IN_PROCESS))

        loop = inquire(question, self.terms.fixed(), grouping, answer=given, earlier=earlier, pace=pace)
        if self.terms.second is not None:
            loop = consult(loop, self.terms, grouping)
        if self.claims is None:
            return Exchange(loop)
        samples = () if earlier is None else earlier.samples
        terms = self.terms, self.claims
        return Exchange(
            inquire_claims(loop, question, about, *terms, answer=given, earlier=samples, pace=pace)
        )

    def _other(self, event: Draw) -> Model:
        """The second model that a round asks."""
        model = self.second[event.second or 0]
        assert model is not None  # one whose answers were given is not asked
        return model

    def _deadline(self, earlier: Step | None = None) -> float | None:
        seconds = self.terms.budget.seconds
        used = 0.0 if earlier is None else earlier.spent.seconds
        return None if seconds is None else time.monotonic() + seconds - used


_ENDED = (Reason.EXHAUSTED, Reason.SAMPLES, Reason.UNDECIDABLE)


class _StoredOnly:
    """The model of a check that only has samples that are there already: it gives no more."""

    name = "stored samples"
    pace = IN_PROCESS

    def sample(
        self, prompt: Prompt, n: int, *, temperature: float = 1.0, rng: Generator | None = None
    ) -> list[Sample]:
        return []


def _stored(samples: Sequence[str | Sample] | None, answer: str | Sample | None) -> Step | None:
    """Samples that are there already, as the last step of an inquiry that waits for its answer."""
    if samples is None:
        return None
    if isinstance(samples, int):
        raise InputError(
            f"samples is {samples}: to limit how many are drawn, give budget=Budget(samples={samples})"
        )
    if answer is None:
        raise InputError("samples goes with answer: give the answer that they are compared with")
    if isinstance(samples, str) or not all(isinstance(each, str | Sample) for each in samples):
        raise InputError("samples: give a list of texts or Samples")
    drawn = tuple(Sample(each) if isinstance(each, str) else each for each in samples)
    nothing = Evidence((), answer=JudgedAnswer(0))
    return Step(
        "", PENDING, drawn, Partition.of([]), None, nothing, Belief(0.0), Spent(samples=len(drawn), rounds=1)
    )


def _claims(options: Options, terms: Terms) -> ClaimTerms | None:
    """How long answers are judged; as a whole where the other options are about whole answers."""
    mode = options["claims"]
    if mode is None:
        return None
    prior = options["claim_prior"]
    if prior is not None and not isinstance(prior, ClaimPrior):
        raise InputError(f"claim_prior is {prior!r}: give a ClaimPrior, such as ClaimPrior.load(FILE)")
    limit = LONG_SAMPLES if options["budget"] is None else None
    found = ClaimTerms(mode, limit, prior, ask=bool(options["ask"]))
    named = [name for name in ("schema", "tools", "choices") if options.get(name) is not None]
    named += ["calibration"] if terms.calibration is not None else []
    if not named and terms.estimator.name == "bayes":
        if found.ask and terms.claim_calibration is not None:
            raise InputError(
                "ask=True: the calibration was fitted without follow-up questions: leave out one"
            )
        return found
    if mode != "auto":
        raise InputError(
            f"claims={mode!r} goes with the estimator bayes alone: leave out {', '.join(named) or 'the other'}"
        )
    return None


def _second(options: Options, budget: Budget) -> tuple[Consultation | None, tuple[Model | None, ...]]:
    """Which second models are asked, by name, and the models."""
    given, when = options["second"], options["second_when"]
    if when not in ("auto", "always"):
        raise InputError(f'second_when is {when!r}: "auto" (where it can change the verdict) or "always"')
    if given is None or given == ():
        return None, ()
    named = [name for name in ("schema", "tools", "choices") if options.get(name) is not None]
    if named:
        raise InputError(f"second is for answers in plain text: leave it out, or {named[0]}")
    plain: Options = {"max_tokens": options["max_tokens"]}
    found: list[tuple[str, tuple[Sample, ...] | None]] = []
    models: list[Model | None] = []
    for each in given if isinstance(given, tuple) else (given,):
        if isinstance(each, list):
            found.append(("another model", tuple(map(_as_sample, each))))
            models.append(None)
        else:
            models.append(_model(each, plain))
            found.append((getattr(models[-1], "name", None) or type(each).__name__, None))
    return Consultation(tuple(found), getattr(budget, "samples", 0), when == "always"), tuple(models)


def _as_sample(answer: str | Sample) -> Sample:
    if not isinstance(answer, str | Sample):
        raise InputError(f"second has an answer of type {type(answer).__name__}: give texts, or Samples")
    return Sample(answer) if isinstance(answer, str) else answer


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
    named = {name: given.get(name) for name in ("max_tokens", "base_url", "api_key")}
    options = {name: value for name, value in named.items() if value is not None}
    if not isinstance(model, str):
        return as_model(model, **options)
    address = [os.environ.get(name) for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY")]
    key = (model, *named.values(), *address)
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
    first, second = with_defaults(options)["model"], options.get("second")
    named = (first, *(second if isinstance(second, tuple) else (second,)))
    async with AsyncExitStack() as opened:
        for name, model in zip(named, (checker.model, *checker.second), strict=False):
            endpoint = getattr(model, "endpoint", None)
            if isinstance(name, str) and endpoint is not None:
                await opened.enter_async_context(endpoint)
        yield checker


def _judge(judge: str | Judge | None, model: Model) -> Judge:
    from .meaning import load_judge

    if isinstance(judge, str):
        judge_name(judge)
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


def checked(function: Callable[..., Any] | None = None, **options: Unpack[Options]) -> Any:
    """Make a function that asks a model return the verdict on its answer.

    The function takes the prompt and returns an answer. It is called once for the answer, and again for each sample
    that the verdict needs; further arguments are passed on. `async` functions stay so.

    function  the function; without it, `checked(**options)` is the decorator
    options   those of `check` but `model`

    >>> @checked(judge="exact", budget=Budget(samples=5))
    ... def ask(prompt):
    ...     return "Paris"
    >>> ask("What is the capital of France?")
    <Verdict steady: 'Paris', agreement 0.96, 5 samples>
    """
    if "model" in options:
        raise InputError("checked asks the function itself: leave out model")
    if function is None:
        return lambda each: checked(each, **options)
    if not callable(function):
        raise InputError(
            f"checked is given {function!r}: it decorates a function, and options have names, as in "
            '@checked(judge="exact")'
        )
    taken = _prompt_parameter(function)
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def averdict(*args: Any, **more: Any) -> Verdict:
            prompt, *rest = _prompt_first(taken, args, more)

            async def ask(asked: Any) -> Any:
                return await function(asked, *rest, **more)

            chosen: Options = {**options, "model": ask}
            return await acheck(prompt, **chosen)

        return averdict

    @functools.wraps(function)
    def verdict(*args: Any, **more: Any) -> Verdict:
        prompt, *rest = _prompt_first(taken, args, more)
        chosen: Options = {**options, "model": lambda asked: function(asked, *rest, **more)}
        return check(prompt, **chosen)

    return verdict


def _prompt_parameter(function: Callable[..., Any]) -> str:
    """The name of a function's first argument, which is the prompt."""
    named = inspect.signature(function).parameters.values()
    first = next((each for each in named if each.kind not in (each.KEYWORD_ONLY, each.VAR_KEYWORD)), None)
    if first is None:
        raise InputError(f"{function!r} takes no prompt: its first argument must be the question to ask")
    return first.name


def _prompt_first(name: str, args: tuple[Any, ...], more: dict[str, Any]) -> tuple[Any, ...]:
    """The arguments of a call with the prompt first, which may have been given by its name."""
    if not args and name not in more:
        raise InputError(f"no prompt was given: it is the first argument, {name}")
    return args if args else (more.pop(name),)
