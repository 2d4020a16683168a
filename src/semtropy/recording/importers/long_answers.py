"""Long answers with labelled claims: the layouts of SelfCheckGPT and FActScore."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .common import Imported, Source

_WRONG = {"accurate": True, "minor_inaccurate": False, "major_inaccurate": False}
_ATOMIC = {"S": True, "NS": False, "IR": None}


def read_selfcheckgpt(path: Path) -> Imported:
    """Read passages with labelled sentences and sampled passages, as in `wiki_bio_gpt3_hallucination`."""
    source = Source(path)
    rows = []
    for place, held in enumerate(_objects(source)):
        at = f"[{place}]"
        sentences = source.texts(source.item(held, "gpt3_sentences", at), f"{at}.gpt3_sentences")
        labels = source.item(held, "annotation", at)
        if not isinstance(labels, list) or len(labels) != len(sentences):
            source.fail(f"expected a label for each of {len(sentences)} sentences", f"{at}.annotation")
        claims = []
        for number, (text, label) in enumerate(zip(sentences, labels, strict=True)):
            if label not in _WRONG:
                source.fail(f"is {label!r}: choose from {', '.join(_WRONG)}", f"{at}.annotation[{number}]")
            claims.append({"text": text.strip(), "correct": _WRONG[label], "label": label})
        samples = source.texts(source.item(held, "gpt3_text_samples", at), f"{at}.gpt3_text_samples")
        answer = source.item(held, "gpt3_text", at)
        reference = held.get("wiki_bio_text")
        rows.append(
            {
                "id": str(held.get("wiki_bio_test_idx", place)),
                "question": f"Write a passage about {_subject(str(answer))}.",
                "references": [reference] if isinstance(reference, str) else [],
                "answer": {"text": str(answer), "correct": None},
                "samples": [{"text": text} for text in samples],
                "claims": claims,
            }
        )
    return Imported({"dataset": "wikibio", "model": "gpt-3", "temperature": 1.0, "eos_included": None}, rows)


def read_factscore(path: Path) -> Imported:
    """Read biographies with atomic facts that people labelled, as FActScore stores them, one JSON object per line.

    `samples`, a list of texts, is not part of that layout; where it is there, the answers are kept.
    """
    source = Source(path)
    rows, without = [], 0
    for place, held in enumerate(_objects(source)):
        at = f"[{place}]"
        annotations = source.item(held, "annotations", at)
        facts = [
            fact
            for sentence in (annotations if isinstance(annotations, list) else [])
            for fact in (source.mapping(sentence, f"{at}.annotations").get("human-atomic-facts") or [])
        ]
        claims = [
            {
                "text": source.item(fact, "text", f"{at}.annotations"),
                "correct": _ATOMIC.get(fact.get("label")),
            }
            for fact in facts
        ]
        samples = source.texts(held.get("samples") or [], f"{at}.samples")
        without += not samples
        topic = held.get("topic")
        rows.append(
            {
                "id": str(topic or place),
                "question": str(source.item(held, "input", at)),
                "references": [],
                "answer": {"text": str(source.item(held, "output", at)), "correct": None},
                "samples": [{"text": text} for text in samples],
                "claims": claims,
            }
        )
    notes = [f"{without} of {len(rows)} answers have no samples: add them as `samples`"] if without else []
    return Imported({"dataset": "factscore", "temperature": 1.0, "eos_included": None}, rows, notes)


def _objects(source: Source) -> list[Any]:
    """The objects of a JSON list, or of JSON lines."""
    text = source.read_text()
    try:
        held = json.loads(text) if text.lstrip().startswith("[") else None
        found = held if held is not None else [json.loads(line) for line in text.splitlines() if line.strip()]
    except ValueError as error:
        source.fail(f"is not JSON ({error})", "")
    return [source.mapping(each, f"[{place}]") for place, each in enumerate(found)]


def _subject(answer: str) -> str:
    """Whom a passage is about: what stands before its first bracket, comma or verb."""
    words = answer.split()
    for place, word in enumerate(words):
        if place and (
            word.startswith("(") or word in ("is", "was", "are", "were") or words[place - 1].endswith(",")
        ):
            return " ".join(words[:place]).rstrip(",")
    return " ".join(words[:6])
