"""The options of a check, each declared once.

An `Option` is a keyword argument of `check`; its `Flag`s are how it is written as text. The command line, the file
semtropy.toml, the settings of the gateway, the keys of a request and the adapters all read this table.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import wrap
from typing import TYPE_CHECKING, Annotated, Any, TypedDict, TypeVar, cast

from .errors import InputError, meant, nearest, unknown
from .files import toml_table
from .inquiry.loop import ANSWER_TEMPERATURE
from .verdict import THRESHOLD

if TYPE_CHECKING:
    from numpy.random import Generator

    from .claims import ClaimPrior
    from .nouns import Estimator, Judge, Model, Sample
    from .stopping import Budget, Calibrated, Rounds, Rule

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Option:
    """One keyword argument of `check`: what it is, and its default."""

    about: str
    default: Any = None


@dataclass(frozen=True, slots=True)
class Flag:
    """How an option, or a part of one, is written as text; it takes the default of the option with its name.

    name     its name in files and settings; the flag of the command line is this with dashes
    help     what `semtropy check --help` says
    kind     str, int, float, bool for a flag without a value, list for one that may be given several times
    metavar  what stands for its value in the help
    among    the values that are allowed, if few are
    group    flags of one group exclude each other
    config   whether semtropy.toml may set it
    setting  what the gateway's settings say of it, None where it is none; with a default and a least value there
    request  a key of a request: arguments of pydantic's Field, such as its limits
    """

    name: str
    help: str
    kind: type = str
    metavar: str | None = None
    among: tuple[str, ...] | None = None
    group: str | None = None
    config: bool = False
    setting: str | None = None
    setting_default: Any = None
    setting_least: float | None = None
    request: Mapping[str, Any] = field(default_factory=dict)

    @property
    def words(self) -> str:
        """The flag as it is typed.

        >>> FLAGS["max_samples"].words
        '--max-samples'
        """
        return f"--{self.name.replace('_', '-')}"

    @property
    def default(self) -> Any:
        """The default of the option with its name; None for a part of one."""
        return OPTIONS[self.name].default if self.name in OPTIONS else None


# The table is laid out by hand: for each option its type, what it is, and how it is written.
# fmt: off
class Options(TypedDict, total=False):
    """The keyword arguments of `check`, `acheck`, `stream` and `astream`."""

    model: Annotated[
        "str | Model | Callable[..., Any]",
        Option("a name (see `semtropy.models.FORMS`), a Model, or a function `(prompt)` that returns an "
               "answer or `(messages, n, temperature)` that returns several, texts or Samples, `async` or "
               'not; default "smollm2", the built-in model', default="smollm2"),
        Flag("model", "smollm2 (default), gguf:PATH, openai:MODEL, ...", config=True,
             setting="the model to use without an upstream",
             request={"description": "the upstream's model to ask"}),
    ]
    base_url: Annotated[
        "str | None",
        Option("the address of the endpoint, for a model `openai:` or `completions:`; default "
               "OPENAI_BASE_URL"),
        Flag("base_url", "base URL of the endpoint, for openai:MODEL (default: $OPENAI_BASE_URL)",
             metavar="URL", config=True),
    ]
    api_key: Annotated[
        "str | None",
        Option("its key; default OPENAI_API_KEY"),
    ]
    system: Annotated[
        "str | None",
        Option("a system message before the prompt; an empty one leaves out the one that `openai:` models "
               "get"),
        Flag("system", "a system message; '' sends none (default: one that asks for brief answers)",
             metavar="TEXT", config=True,
             request={"max_length": 100_000, "description": "a system message before the prompt"}),
    ]
    max_tokens: Annotated[
        "int | None",
        Option("the longest answer of a model given by name, in tokens; default the model's"),
        Flag("max_tokens", "the longest answer, in tokens (default: the model's)", kind=int, metavar="N"),
    ]
    judge: Annotated[
        "str | Judge | None",
        Option('a name (see `semtropy.meaning.NAMES`) or a Judge; "llm" asks the model that is checked; '
               "default the built-in one"),
        Flag("judge",
             "the judge that groups answers by meaning: builtin (default), builtin-large (better at long "
             "answers, 405 MB to download), llm (asks the model that is checked), llm:MODEL, nli:NAME_OR_PATH, "
             "numeric, normalised or exact", metavar="J", config=True,
             setting="the judge that groups answers by meaning; llm asks the model that answers (default: "
             "the built-in one)"),
    ]
    second: Annotated[
        Any,
        Option("another model, as for `model`, to ask the same question where its answer can change the "
               "verdict; or a list of its answers. A tuple holds several models"),
        Flag("second",
             "another model, named like --model, to ask the same question where its answer can change the "
             "verdict; may be repeated", kind=list, metavar="M", config=True,
             setting="another model, such as openai:MODEL, to ask the same question where its answer can "
             "change the verdict; it sees the prompts of all clients"),
        Flag("second_base_url",
             "base URL of the second model, for openai:MODEL; its key is read from $SECOND_API_KEY",
             metavar="URL", config=True),
    ]
    second_when: Annotated[
        str,
        Option('when to ask second models: "auto" (default), where it can change the verdict, or "always"',
               default="auto"),
        Flag("second_when",
             "when to ask second models: auto (default), where it can change the verdict, or always",
             among=("auto", "always")),
    ]
    schema: Annotated[
        Any,
        Option("answers are JSON, judged field by field: a JSON schema, a dataclass, a TypedDict or a "
               "pydantic model"),
        Flag("schema",
             "answers are JSON of the schema in FILE: each field gets a verdict, from the same samples",
             metavar="FILE", group="structure",
             request={"description": "answers are JSON of this schema, judged field by field"}),
    ]
    tools: Annotated[
        "Sequence[Mapping[str, Any]] | None",
        Option("answers may call tools, judged by name and arguments: as in a request to an endpoint"),
        Flag("tools",
             "answers may call the tools in FILE (a JSON list): the name and each argument get a verdict",
             metavar="FILE", group="structure"),
    ]
    choices: Annotated[
        "Sequence[str] | None",
        Option("answers name one of these texts; no judge is needed"),
        Flag("choices", "answers name one of these, separated by commas; needs no judge", metavar="A,B,C",
             group="structure",
             request={"min_length": 2, "max_length": 100, "description": "the answer names one of these"}),
    ]
    required: Annotated[
        "Sequence[str] | None",
        Option("the fields that the verdict waits for; default those that the schema requires"),
        Flag("required",
             "the fields that the verdict waits for, separated by commas (default: those the schema "
             "requires)", metavar="NAMES",
             request={"max_length": 100,
                      "description": "the fields of a structured answer that the verdict waits for"}),
    ]
    claims: Annotated[
        "str | None",
        Option('how to judge long answers: "auto" (default) claim by claim where there are several claims, '
               '"sentences" always claim by claim, "model" with claims that the model lists, None as a whole',
               default="auto"),
        Flag("claims",
             "how to judge long answers: auto (default) claim by claim where there are several claims, "
             "sentences always claim by claim, model with claims that the model lists, none as a whole",
             among=("auto", "sentences", "model", "none")),
    ]
    ask: Annotated[
        bool,
        Option("True asks about claims that no sample mentions: the model turns each into a question, "
               "which it answers on its own", default=False),
        Flag("ask",
             "ask about claims that no sample mentions: the model turns each into a question and answers it",
             kind=bool),
    ]
    estimator: Annotated[
        "str | Estimator",
        Option('a name or an Estimator; default "bayes"', default="bayes"),
        Flag("estimator", "bayes (default), histogram, ...", config=True, setting="estimator of the entropy"),
    ]
    prior: Annotated[
        object,
        Option('the prior of an estimator given by name; default the one that ships. "learn", or a '
               "LearnedPrior, learns from every question that a Checker is asked, from the counts of its "
               "samples alone"),
        Flag("prior",
             "a prior fitted on training questions, or `learn` for one that learns from every prompt "
             "(default: the prior that ships; with --file and no --calibration, learn)",
             metavar="FILE", config=True,
             setting="`learn` keeps a prior for each model, which learns from the counts of every check; "
             "`default` is the prior that ships; a file holds a prior fitted on training questions",
             setting_default="learn"),
        Flag("learned", "keep what the prior learns in FILE (counts, no text), and start from what FILE has",
             metavar="FILE",
             setting="folder that keeps learned priors across restarts, as counts without text; "
             "none keeps nothing (default: learned in the cache folder)"),
    ]
    claim_prior: Annotated[
        "ClaimPrior | None",
        Option("what to expect of the claims of a long answer: a `semtropy.claims.ClaimPrior`; default the "
               "one that ships"),
        Flag("claim_prior", "a prior of long answers, by `semtropy prior fit --claims`", metavar="FILE"),
    ]
    calibration: Annotated[
        "Calibrated | None",
        Option("turns a belief into a probability; its own threshold flags, or one half"),
        Flag("calibration", "a file written by `semtropy calibrate`", metavar="FILE", config=True,
             setting="file written by `semtropy calibrate`"),
    ]
    rule: Annotated[
        "Rule | None",
        Option("when to stop; default Decided(threshold): once more samples are unlikely to change the "
               "verdict. An estimator without a distribution spends the whole budget"),
        Flag("variance", "stop at this variance of the entropy (the paper's rule)", kind=float, metavar="G",
             group="rule",
             setting="stop sampling at this variance of the entropy (the paper's rule), instead of "
             "`confidence`", setting_least=0, request={"ge": 0}),
        Flag("confidence", "stop when the verdict is certain with this probability (default: 0.95)",
             kind=float, metavar="P", group="rule",
             setting="stop sampling when the verdict is certain with this probability (default: 0.95)",
             request={"gt": 0.5, "lt": 1}),
    ]
    budget: Annotated[
        "Budget | None",
        Option("hard limits; default Budget(samples=10)"),
        Flag("max_samples",
             "draw at most N samples beside the answer; 0 judges the answer alone (default: 10, long "
             "answers 5)", kind=int, metavar="N", config=True,
             setting="upper limit on the samples of a check, whatever a request sets", setting_default=10,
             setting_least=1, request={"ge": 0, "le": 2**53, "description": "0 judges the answer alone"}),
        Flag("max_seconds", "stop after S seconds", kind=float, metavar="S", config=True,
             setting="upper limit on the seconds of a check, whatever a request sets", setting_default=30.0,
             setting_least=0.1, request={"ge": 0.1}),
        Flag("price_per_token",
             "what a generated token costs, to print what the check cost and to limit it with --max-cost",
             kind=float, metavar="P", config=True),
        Flag("max_cost", "stop before the check costs more than this", kind=float, metavar="C"),
    ]
    rounds: Annotated[
        "Rounds | None",
        Option("how many samples are requested together; default Rounds()"),
        Flag("one_by_one", "draw one sample per round: fewest samples, longest wait", kind=bool,
             request={"description": "draw one sample per round: fewest samples, longest wait"}),
    ]
    answer: Annotated[
        "str | Sample | None",
        Option("the answer to judge, a str or a Sample, if you already have one; default: the model "
               "gives one"),
        Flag("answer", "judge this answer instead of asking for one", metavar="TEXT",
             request={"max_length": 100_000, "description": "judge this answer; no other is drawn"}),
    ]
    samples: Annotated[
        "Sequence[str | Sample] | None",
        Option("other answers to the same prompt that you already have, texts or Samples, with `answer`; "
               "semtropy asks no model unless you name one, which may then add to them"),
    ]
    answer_temperature: Annotated[
        float,
        Option("the temperature of the answer; default 0.1", default=ANSWER_TEMPERATURE),
        Flag("answer_temperature", "the temperature at which the answer is drawn (default: 0.1)",
             kind=float, metavar="T"),
    ]
    threshold: Annotated[
        float,
        Option("flag the answer above this entropy in nats; default log 2", default=THRESHOLD),
        Flag("threshold",
             "flag above an entropy of H nats (default: 0.69, that of two equally likely meanings)",
             kind=float, metavar="H", config=True, setting="flag above this entropy in nats", setting_least=0,
             request={"gt": 0, "le": 100}),
    ]
    rng: Annotated[
        "Generator | int | None",
        Option("a seed or a NumPy generator, for draws that can be repeated where the model allows it"),
        Flag("seed", "seed for the draws, for models that support one", kind=int,
             request={"ge": 0, "lt": 2**63}),
    ]
# fmt: on


class QuestionOptions(TypedDict, total=False):
    """What concerns one question; the rest makes a Checker, which serves many."""

    answer: "str | Sample | None"
    samples: "Sequence[str | Sample] | None"
    rng: "Generator | int | None"


OPTIONS: dict[str, Option] = {name: kind.__metadata__[0] for name, kind in Options.__annotations__.items()}
FLAGS: dict[str, Flag] = {
    flag.name: flag for kind in Options.__annotations__.values() for flag in kind.__metadata__[1:]
}


def _table() -> str:
    """What each option is, as the lines of a docstring."""
    rows = (f"{name:20} {option.about}" for name, option in OPTIONS.items())
    return "\n".join(line for row in rows for line in wrap(row, 110, subsequent_indent=" " * 21))


Options.__doc__ = f"{Options.__doc__}\n\n{_table()}\n"


_FLAGS_MEANT = {
    "max_samples": "write budget=Budget(samples=...)",
    "max_seconds": "write budget=Budget(seconds=...)",
    "confidence": "write rule=Decided(threshold, confidence)",
    "seed": "write rng=...",
}
"""Flags of the command line, as Python has them."""


KINDS: dict[type, str] = {str: "text", int: "a whole number", float: "a number"}
KINDS |= dict.fromkeys((list, tuple), "a list of texts")
"""The types of values in files and in the environment, in words."""


def split_list(text: str) -> tuple[str, ...]:
    """The parts of a list separated by commas.

    >>> split_list("a, b")
    ('a', 'b')
    """
    return tuple(part.strip() for part in text.split(",") if part.strip())


def judge_name(name: str) -> str:
    """The name of a judge, if there is one of that name; nothing is loaded.

    >>> judge_name("nli:roberta-large-mnli")
    'nli:roberta-large-mnli'
    >>> judge_name("numerical")
    Traceback (most recent call last):
    ...
    semtropy.errors.InputError: no judge is called 'numerical': did you mean numeric?
    """
    from .meaning import NAMES

    kind, colon, rest = name.partition(":")
    if name not in NAMES and not (rest and any(form.startswith(kind + colon) for form in NAMES)):
        raise unknown("judge", name, NAMES)
    return name


def read_values(path: str, kinds: Mapping[str, type], noun: str, known: str) -> dict[str, Any]:
    """The values in a TOML file, each of the type that belongs to its name.

    noun   what a name stands for: an option, a setting
    known  where the names that there are can be seen
    """
    found = toml_table(path)
    for name, value in found.items():
        if name not in kinds:
            near = nearest(name, kinds)
            raise InputError(
                f"{path}: there is no {noun} {name!r}: {known if near is None else f'did you mean {near}?'}"
            )
        kind = kinds[name]
        if kind is float and type(value) is int and abs(value) < 1e300:
            found[name] = value = float(value)
        texts = isinstance(value, list) and all(isinstance(each, str) for each in value)
        if not (texts if kind in (list, tuple) else type(value) is kind):
            raise InputError(f"{path}, {name}: expected {KINDS[kind]}")
    return found


def with_defaults(options: Options) -> Options:
    """The options with the defaults of those that are left out; an option that there is not is a `TypeError`."""
    others = ", ".join(sorted(set(options) - set(OPTIONS)))
    if others:
        raise TypeError(f"check has no option {others}: {_FLAGS_MEANT.get(others) or meant(others, OPTIONS)}")
    defaults = {name: option.default for name, option in OPTIONS.items()}
    return cast("Options", {**defaults, **options})


def question_options(options: Options) -> QuestionOptions:
    """Those that concern one question."""
    found = {name: value for name, value in options.items() if name in QuestionOptions.__annotations__}
    return cast("QuestionOptions", found)


def with_signature(function: Function) -> Function:
    """Give a function that takes `Options` a signature that names each of them, for `help` and editors."""
    keyword, either = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
    prompt = inspect.Parameter("prompt", either, annotation="str | list[dict]")
    named = [
        inspect.Parameter(name, keyword, default=OPTIONS[name].default, annotation=_spelled(kind.__origin__))
        for name, kind in Options.__annotations__.items()
    ]
    returns = inspect.signature(function).return_annotation
    function.__signature__ = inspect.Signature([prompt, *named], return_annotation=returns)  # type: ignore[attr-defined]
    return function


def _spelled(kind: Any) -> str:
    """A type as the table writes it."""
    return str(getattr(kind, "__forward_arg__", None) or getattr(kind, "__name__", kind))
