"""Every error semtropy raises on purpose, as one tree.

SemtropyError
├── InputError (also a ValueError)      what was handed in cannot be right
│   └── RecordingError                  a recording is wrong: names file, line and field
├── StoreError                          a recording folder cannot be written: locked, full, or another run's
├── ConvergenceError                    an integral did not reach its tolerance
├── MissingExtra (also an ImportError)  a part needs a package that is not installed: names it
└── ModelError                          a model could not answer (its kinds live below it)
"""

from __future__ import annotations

__all__ = [
    "ConvergenceError",
    "InputError",
    "MissingExtra",
    "ModelError",
    "RecordingError",
    "SemtropyError",
    "StoreError",
]


class SemtropyError(Exception):
    """The root: catch this to catch everything semtropy raises on purpose."""


class InputError(SemtropyError, ValueError):
    """What was handed in cannot be right; the message names the field and the way out."""


class RecordingError(InputError):
    """A recording is wrong at a known place.

    >>> str(RecordingError("expected a number", path="run.jsonl", line=3, field="samples[0].logprob"))
    'run.jsonl, line 3, samples[0].logprob: expected a number'
    """

    def __init__(
        self, message: str, *, path: str | None = None, line: int | None = None, field: str | None = None
    ) -> None:
        self.message, self.path, self.line, self.field = message, path, line, field
        place = [path or "", f"line {line}" if line is not None else "", field or ""]
        where = ", ".join(part for part in place if part)
        super().__init__(f"{where}: {message}" if where else message)


class StoreError(SemtropyError):
    """A recording folder cannot be written: another writer holds it, the disk is full, or it is another run's."""


class ConvergenceError(SemtropyError):
    """An integral did not reach its tolerance with the nodes allowed."""


class MissingExtra(SemtropyError, ImportError):
    """A part needs a package that is not installed.

    >>> str(MissingExtra("xllamacpp", extra="local"))
    "this needs the package xllamacpp: pip install 'semtropy[local]'"
    """

    def __init__(self, package: str, *, extra: str) -> None:
        self.package, self.extra = package, extra
        super().__init__(f"this needs the package {package}: pip install 'semtropy[{extra}]'")


class ModelError(SemtropyError):
    """A model could not answer."""
