"""Importer for result pickles of "Hallucination Detection on a Budget": a tuple of eight lists, one entry per question.

(is_hallucination, semantic_ids, response_list, token_log_probs, p_false, most_likely_answer, questions, contexts).
Their sequence probabilities include the end token.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .common import Imported, Source, join_identical
from .nature import read_answer
from .pickles import load_pickle

__all__ = ["read_paper"]

FIELDS = (
    "is_hallucination",
    "semantic_ids",
    "response_list",
    "token_log_probs",
    "p_false",
    "most_likely_answer",
    "questions",
    "contexts",
)


def read_paper(path: Path) -> Imported:
    """Read the results in `path`; model and dataset come from its name (MODEL--DATASET--results.pickle)."""
    source = Source(path)
    held = load_pickle(path)
    if not isinstance(held, tuple | list) or len(held) != len(FIELDS):
        source.fail(f"expected a tuple of {len(FIELDS)}: {', '.join(FIELDS)}", "")
    questions = source.sequence(held[6], "questions")
    columns = [
        source.sequence(column, name, len(questions)) for name, column in zip(FIELDS, held, strict=True)
    ]
    joined = 0
    rows = []
    for place, values in enumerate(zip(*columns, strict=True)):
        row, moved = _row(source, place, dict(zip(FIELDS, values, strict=True)))
        rows.append(row)
        joined += moved
    name = path.name.removeprefix("nnnp-").split("--")
    header = {
        "model": name[0] if len(name) > 1 else None,
        "dataset": name[1] if len(name) > 1 else None,
        "temperature": 1.0,
        "eos_included": True,
        "logprobs_of_sampling": True,
    }
    notes = [f"{joined} samples were moved to the meaning of an identical answer"] if joined else []
    return Imported(header, rows, notes)


def _row(source: Source, place: int, values: dict[str, Any]) -> tuple[dict[str, Any], int]:
    def at(name: str) -> str:
        return f"{name}[{place}]"

    texts = source.sequence(values["response_list"], at("response_list"))
    scores = source.sequence(values["token_log_probs"], at("token_log_probs"), len(texts))
    ids = source.sequence(values["semantic_ids"], at("semantic_ids"), len(texts))
    meanings, moved = join_identical(
        [source.text(text, f"{at('response_list')}[{n}]") for n, text in enumerate(texts)],
        [source.whole(label, f"{at('semantic_ids')}[{n}]") for n, label in enumerate(ids)],
    )
    samples = []
    for n, (text, score, meaning) in enumerate(zip(texts, scores, meanings, strict=True)):
        logprobs = source.logprobs(score, f"{at('token_log_probs')}[{n}]")
        known = {} if logprobs is None else {"token_logprobs": logprobs}
        samples.append({"text": text, **known, "meaning": meaning})
    p_false = source.number(values["p_false"], at("p_false"))
    context = values["contexts"]
    row = {
        "id": str(place),
        "question": source.text(values["questions"], at("questions")),
        "context": None if context is None else source.text(context, at("contexts")) or None,
        "references": [],
        "answer": _answer(source, values, at),
        "samples": samples,
        "p_true": None if p_false is None else min(1.0, max(0.0, 1.0 - p_false)),
    }
    return row, moved


def _answer(source: Source, values: dict[str, Any], at: Any) -> dict[str, Any]:
    held = values["most_likely_answer"]
    wrong = source.number(values["is_hallucination"], at("is_hallucination"))
    answer = {"text": held} if isinstance(held, str) else read_answer(source, held, at("most_likely_answer"))
    return {**answer, "correct": None if wrong is None else wrong < 0.5}
