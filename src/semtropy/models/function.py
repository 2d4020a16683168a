"""A model made from any function `(messages, n, temperature) -> answers`, synchronous or asynchronous."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..capabilities import Pace
from ..conversation import as_messages
from ..errors import BadReply, InputError
from ..nouns import Model, Sample
from . import load_model, sync_bridge

if TYPE_CHECKING:
    from numpy.random import Generator

    from ..conversation import Prompt


AskFunction = Callable[[list[dict[str, Any]], int, float], Any]


def as_model(model: str | Model | AskFunction, **options: Any) -> Model:
    """The model that `model` stands for: a name, a Model, or a function that draws answers.

    options  keyword arguments of a model given by name, such as `max_tokens=`

    A function of the prompt alone is called once for each answer.

    >>> as_model(lambda prompt: "Paris").sample("Capital of France?", 2)[1].text
    'Paris'
    >>> as_model(lambda messages, n, temperature: ["Paris"] * n).sample("Capital of France?", 2)[1].text
    'Paris'
    """
    if isinstance(model, str):
        return load_model(model, **options)
    if options:
        raise InputError(
            f"{', '.join(options)} goes with a model given by name: set it where this model is made"
        )
    if isinstance(model, Model):
        return model
    if not callable(model):
        raise InputError(
            f"model is of type {type(model).__name__}: give a name, an object with `name` and `sample`, or a function "
            "of the prompt that returns an answer, or of (messages, n, temperature) that returns several"
        )
    calls = (model, getattr(model, "__call__", None))  # noqa: B004
    is_async = any(map(inspect.iscoroutinefunction, calls))
    if _takes_the_prompt_alone(model):
        model = _asked_one_by_one(model, is_async=is_async)
    return AsyncFunctionModel(model) if is_async else FunctionModel(model)


def _takes_the_prompt_alone(function: Callable[..., Any]) -> bool:
    """Whether a function takes one argument, the prompt, rather than messages, how many, and the temperature."""
    try:
        signature = inspect.signature(function)
        signature.bind([], 1, 1.0)
    except TypeError:
        try:
            signature.bind("")
        except TypeError:
            raise InputError(
                f"the model function takes {signature}: give one of (prompt) or of (messages, n, temperature)"
            ) from None
        return True
    except ValueError:  # built in, without a signature
        pass
    return False


def _asked_one_by_one(function: Callable[..., Any], *, is_async: bool) -> AskFunction:
    """A function of the prompt as one of messages, number and temperature: one call for each answer."""

    def prompt_of(messages: list[dict[str, Any]]) -> Any:
        return messages[0]["content"] if len(messages) == 1 else messages

    def ask(messages: list[dict[str, Any]], n: int, temperature: float) -> list[Any]:
        return [function(prompt_of(messages)) for _ in range(n)]

    async def aask(messages: list[dict[str, Any]], n: int, temperature: float) -> list[Any]:
        return list(await sync_bridge.together(function(prompt_of(messages)) for _ in range(n)))

    asked = aask if is_async else ask
    asked.__name__ = str(getattr(function, "__name__", type(function).__name__))
    return asked


class FunctionModel:
    """Draws answers by calling a function with the messages, how many answers to draw, and the temperature.

    The function returns texts or `Sample`s; where it returns fewer than asked for, it is called again, for one at a
    time. A `Sample.logprob` must be that of the whole answer, end included, at the temperature asked for.
    """

    def __init__(self, function: AskFunction) -> None:
        self.name = str(getattr(function, "__name__", type(function).__name__))
        self._function = function
        self._weighs: set[bool] = set()  # whether samples had log-probabilities so far
        self._weighs_answer = False

    @property
    def pace(self) -> Pace:
        """What is known so far of the log-probabilities that the function gives."""
        samples = True in self._weighs if self._weighs else None
        return Pace(weighs_answer=self._weighs_answer, weighs_samples=samples)

    def sample(
        self, prompt: Prompt, n: int, *, temperature: float = 1.0, rng: Generator | None = None
    ) -> list[Sample]:
        """Draw `n` answers; fewer where the function returns none."""
        messages = as_messages(prompt)
        samples = self._read(self._function(messages, n, temperature))
        while samples and len(samples) < n:
            more = self._read(self._function(messages, 1, temperature))
            if not more:
                break
            samples += more
        return samples[:n]

    def _read(self, reply: Any) -> list[Sample]:
        if inspect.iscoroutine(reply):
            reply.close()
            raise BadReply(f"the model function {self.name} returned a coroutine: define it with `async def`")
        answers = [reply] if isinstance(reply, str | Sample) else reply
        if not isinstance(answers, Sequence) or not all(isinstance(each, str | Sample) for each in answers):
            raise BadReply(
                f"the model function {self.name} returned {_described(reply)}: return the answer as text, or as a "
                "Sample; a function of (messages, n, temperature) may return a list of them"
            )
        samples = [Sample(each) if isinstance(each, str) else each for each in answers]
        self._weighs |= {sample.logprob is not None for sample in samples}
        self._weighs_answer |= any(sample.sampling_logprob is not None for sample in samples)
        return samples


class AsyncFunctionModel(sync_bridge.AwaitedModel, FunctionModel):
    """The same for a coroutine function; answers that are missing are asked for all at once."""

    async def asample(
        self, prompt: Prompt, n: int, *, temperature: float = 1.0, rng: Generator | None = None
    ) -> list[Sample]:
        """Draw `n` answers; fewer where the function returns none."""
        messages = as_messages(prompt)
        samples = self._read(await self._function(messages, n, temperature))
        if samples:
            missing = (self._function(messages, 1, temperature) for _ in range(n - len(samples)))
            samples += [
                sample for reply in await sync_bridge.together(missing) for sample in self._read(reply)
            ]
        return samples[:n]


def _described(reply: Any) -> str:
    if isinstance(reply, Sequence):
        kinds = sorted({type(each).__name__ for each in reply})
        return ", ".join(kinds)
    return type(reply).__name__
