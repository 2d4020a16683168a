"""Every error that semtropy raises deliberately, as one tree.

SemtropyError
├── InputError (also a ValueError)      an argument or a file is invalid
│   ├── ImpossibleLogprobs              log-probabilities that no distribution has: they sum to more than 1
│   └── RecordingError                  a recording is wrong: names file, line and field
├── StoreError                          a recording folder cannot be written: locked, full, or another run's
├── ConvergenceError                    an integral did not reach its tolerance
├── MissingExtra (also an ImportError)  a part needs a package that is not installed: names it
└── ModelError                          a model could not answer
    ├── BadKey                          the endpoint refused the key
    ├── UnknownModel                    no model of that name there
    ├── PromptTooLong                   the prompt does not fit the model's context
    ├── RateLimited                     still refused after the retries allowed
    ├── ModelTimeout                    no reply in the time allowed
    ├── BadReply                        a reply that is not what the protocol promises
    ├── NoAnswer                        the model returned nothing at all
    └── WeightsError                    model weights could not be fetched, or are not what they should be
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class SemtropyError(Exception):
    """The base class of all errors that semtropy raises deliberately.

    >>> from semtropy import load_estimator
    >>> try:
    ...     load_estimator("best")
    ... except SemtropyError as error:
    ...     print(type(error).__name__)
    InputError
    """


class InputError(SemtropyError, ValueError):
    """An argument or a file is invalid; the message names the field and the remedy."""


class ImpossibleLogprobs(InputError):
    """Log-probabilities of different sequences that sum to more than 1: not those of the distribution sampled from."""


class RecordingError(InputError):
    """A recording is wrong at a known place.

    >>> str(RecordingError("expected a number", path="run.jsonl", line=3, field="samples[0].logprob"))
    'run.jsonl, line 3, samples[0].logprob: expected a number'
    """

    def __init__(
        self, message: str, *, path: str | None = None, line: int | None = None, field: str | None = None
    ) -> None:
        message, field = one_line(message), one_line(field) if field else field
        self.message, self.path, self.line, self.field = message, path, line, field
        place = [path or "", f"line {line}" if line is not None else "", field or ""]
        where = ", ".join(part for part in place if part)
        super().__init__(f"{where}: {message}" if where else message)


def one_line(text: str, most: int = 600) -> str:
    """`text` without line breaks and control characters, shortened in the middle.

    >>> one_line("a\\tb\\n" + "c" * 1000, 9)
    'a b ...cc'
    """
    flat = " ".join("".join(c if c.isprintable() else " " for c in text[:100_000]).split())
    return flat if len(flat) <= most else f"{flat[: most - 5]}...{flat[-2:]}"


def nearest(name: str, names: Iterable[str], nearness: float = 0.6) -> str | None:
    """The name that was probably meant by one that does not exist; None where none is near.

    names     those that there are; one such as nli:NAME_OR_PATH stands for all that begin with nli:
    nearness  how similar the name must be, up to 1

    >>> nearest("bayse", ["bayes", "nsb"]), nearest("magic", ["bayes", "nsb"])
    ('bayes', None)
    >>> nearest("nil:roberta", ["nli:NAME_OR_PATH"]), nearest("NLI", ["nli:NAME_OR_PATH"])
    ('nli:roberta', 'nli:NAME_OR_PATH')
    """
    from difflib import get_close_matches

    forms = tuple(names)
    kind, _, rest = name.partition(":")
    starts = {form.partition(":")[0]: form for form in reversed(forms)}  # of several, the first form
    near = get_close_matches(kind.lower(), starts, n=1, cutoff=nearness)
    if not near:
        return None
    takes_rest = any(form.startswith(f"{near[0]}:") for form in forms)
    return f"{near[0]}:{rest}" if rest and takes_rest else starts[near[0]]


def meant(name: str, names: Iterable[str]) -> str:
    """What to write instead of a name that does not exist: the one that was probably meant, or the choice.

    >>> meant("bayse", ["bayes", "nsb"]), meant("magic", ["bayes", "nsb"])
    ('did you mean bayes?', 'choose one of bayes, nsb')
    """
    names = tuple(names)
    near = nearest(name, names)
    return f"choose one of {', '.join(names)}" if near is None else f"did you mean {near}?"


def unknown(kind: str, name: str, names: Iterable[str]) -> InputError:
    """The error for a name that does not exist.

    >>> print(unknown("estimator", "histogramm", ["bayes", "histogram"]))
    no estimator is called 'histogramm': did you mean histogram?
    """
    return InputError(f"no {kind} is called {name!r}: {meant(name, names)}")


class StoreError(SemtropyError):
    """A recording folder cannot be written: another writer holds it, the disk is full, or it is another run's."""


class ConvergenceError(SemtropyError):
    """An integral did not reach its tolerance with the nodes allowed."""


class MissingExtra(SemtropyError, ImportError):
    """A part needs a package that is not installed.

    >>> str(MissingExtra("xllamacpp", extra="local"))
    "this needs the extra local (package xllamacpp): pip install 'semtropy[local]'"
    """

    def __init__(self, package: str, *, extra: str) -> None:
        self.package, self.extra = package, extra
        super().__init__(f"this needs the extra {extra} (package {package}): pip install 'semtropy[{extra}]'")

    def __reduce__(self) -> tuple[partial[MissingExtra], tuple[str]]:
        # Errors cross processes; the default way would call the class with the whole message.
        return partial(MissingExtra, extra=self.extra), (self.package,)


@contextmanager
def needs(package: str, *, extra: str) -> Iterator[None]:
    """Around imports: a package that is not installed is named, and the extra that installs it."""
    try:
        yield
    except ImportError as error:
        raise MissingExtra(package, extra=extra) from error


class ModelError(SemtropyError):
    """A model could not answer."""


class BadKey(ModelError):
    """The endpoint refused the key, or wants one."""


class UnknownModel(ModelError):
    """The endpoint, or this machine, has no model of that name."""


class PromptTooLong(ModelError):
    """The prompt does not fit the model's context."""


class RateLimited(ModelError):
    """The endpoint still refused for load or quota after the retries allowed."""


class ModelTimeout(ModelError):
    """No reply in the time allowed."""


class BadReply(ModelError):
    """A reply that is not what the protocol promises."""


class NoAnswer(ModelError):
    """The model returned nothing at all."""


class WeightsError(ModelError):
    """Model weights could not be fetched, or are not what they should be."""
