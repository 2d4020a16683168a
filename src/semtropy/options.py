"""The keyword arguments that `check`, `acheck`, `stream` and `astream` share."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

from .inquiry import ANSWER_TEMPERATURE, Calibrated
from .verdict import THRESHOLD

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.random import Generator

    from .nouns import Estimator, Judge, Model, Sample
    from .stopping import Budget, Rounds, Rule

__all__ = ["Options", "question_options", "with_signature"]

Function = TypeVar("Function", bound="Callable[..., Any]")


class Options(TypedDict, total=False):
    """The keyword arguments of `check`, `acheck`, `stream` and `astream`.

    model        a name (see `semtropy.models.FORMS`), a Model, or a function `(messages, n, temperature)` that returns
                 texts or Samples, `async` or not; default "smollm2", the built-in model
    answer       the answer to judge, a str or a Sample, where there is one already; default: the model gives one
    system       a system message before the prompt; an empty one leaves out the one that `openai:` models get
    max_tokens   the longest answer of a model given by name, in tokens; default the model's
    replacement  False draws samples without replacement: none repeats the answer or another sample. For a model given
                 by name that decodes here (`hf:`), with an estimator that does not count draws, such as bayes
    answer_temperature  the temperature of the answer; default 0.1
    judge        a name (see `semtropy.meaning.NAMES`) or a Judge; "llm" asks the model that is checked; default the
                 built-in one
    estimator    a name or an Estimator; default "bayes"
    prior        the prior of an estimator given by name; default the one that ships
    rule         when to stop; default Decided(threshold): once more samples are unlikely to change the verdict. An
                 estimator without a distribution spends the whole budget
    budget       hard limits; default Budget(samples=10)
    rounds       how many samples are requested together; default Rounds()
    threshold    flag the answer above this entropy in nats; default log 2
    calibration  turns a belief into a probability; its own threshold flags, or one half
    schema       answers are JSON, judged field by field: a JSON schema, a dataclass, a TypedDict or a pydantic model
    tools        answers may call tools, judged by name and arguments: as in a request to an endpoint
    choices      answers name one of these texts; no judge is needed
    required     the fields that the verdict waits for; default those that the schema requires
    rng          a seed or a NumPy generator, for draws that can be repeated where the model allows it
    """

    model: str | Model | Callable[..., Any]
    answer: str | Sample | None
    system: str | None
    max_tokens: int | None
    replacement: bool
    answer_temperature: float
    judge: str | Judge | None
    estimator: str | Estimator
    prior: object
    rule: Rule | None
    budget: Budget | None
    rounds: Rounds | None
    threshold: float
    calibration: Calibrated | None
    schema: Any
    tools: Sequence[Mapping[str, Any]] | None
    choices: Sequence[str] | None
    required: Sequence[str] | None
    rng: Generator | int | None


# What concerns one question; the rest makes a Checker, which serves many.
_PER_QUESTION = ("answer", "rng")


def question_options(options: Options) -> dict[str, Any]:
    """Those that concern one question."""
    return {name: options[name] for name in _PER_QUESTION if name in options}  # type: ignore[literal-required]


def with_signature(function: Function) -> Function:
    """Give a function that takes `Options` a signature that names each of them, for `help` and editors."""
    prompt = inspect.Parameter(
        "prompt", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation="str | list[dict]"
    )
    defaults = {
        "answer_temperature": ANSWER_TEMPERATURE,
        "model": "smollm2",
        "replacement": True,
        "estimator": "bayes",
        "threshold": THRESHOLD,
    }
    named = [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=defaults.get(name), annotation=kind.__forward_arg__
        )
        for name, kind in Options.__annotations__.items()
    ]
    returns = inspect.signature(function).return_annotation
    function.__signature__ = inspect.Signature([prompt, *named], return_annotation=returns)  # type: ignore[attr-defined]
    return function
