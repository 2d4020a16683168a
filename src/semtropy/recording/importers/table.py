"""Importer for CSV and TSV tables with one line per sample; each line repeats the columns of its question."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .common import Imported, Source

__all__ = ["read_table"]

QUESTION = ("id", "question", "context", "references", "answer", "answer_logprob", "correct", "p_true")
SAMPLE = ("text", "logprob", "token_logprobs", "tokens", "complete", "meaning")
TRUTH = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


def read_table(path: Path) -> Imported:
    """The table at `path`: columns `question` and `text` at least; columns it does not know stay with the sample."""
    source = Source(path)
    csv.field_size_limit(2**31 - 1)
    rows: dict[str, dict[str, Any]] = {}
    labels: dict[str, dict[str, int]] = {}
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            lines = csv.DictReader(stream, delimiter="\t" if path.suffix == ".tsv" else ",", strict=True)
            for name in ("question", "text"):
                if name not in (lines.fieldnames or ()):
                    source.fail(
                        "is no column of the table, which needs `question` and `text`",
                        name,
                        1,
                    )
            for record in lines:
                if None in record or None in record.values():
                    source.fail("has more or fewer fields than the first line", "", lines.line_num)
                _add(source, record, lines.line_num, rows, labels)
    except OSError as error:
        source.fail(f"cannot be read: {error.strerror or error}", "")
    except UnicodeDecodeError:
        source.fail("is not UTF-8 text", "")
    except csv.Error as error:
        source.fail(f"is not CSV ({error})", "", lines.line_num)
    header = {"model": None, "dataset": None, "temperature": None, "eos_included": None}
    has_logprobs = any("logprob" in sample for row in rows.values() for sample in row["samples"])
    notes = (
        [
            "log-probabilities are kept but not used: if they include the end token and belong to temperature 1, "
            "add --set temperature=1.0 --set eos_included=true"
        ]
        if has_logprobs
        else []
    )
    return Imported(header, list(rows.values()), notes)


def _add(
    source: Source,
    record: dict[str, str],
    line: int,
    rows: dict[str, dict[str, Any]],
    labels: dict[str, dict[str, int]],
) -> None:
    key = record.get("id") or record["question"]
    asked = _question(source, record, line, key if record.get("id") else str(len(rows)))
    row = rows.get(key)
    if row is None:
        row = rows[key] = {**asked, "samples": []}
    else:
        for name, value in asked.items():
            if name != "id" and row.get(name) != value:
                source.fail(f"differs from an earlier line of the same question ({key!r})", name, line)
    numbers = labels.setdefault(key, {})
    sample: dict[str, Any] = {"text": record["text"]}
    for name, value in record.items():
        if name in QUESTION or name == "text" or value == "":
            continue
        if name == "meaning":  # any label: numbered by first appearance
            sample[name] = numbers.setdefault(value, len(numbers))
        else:
            sample[name] = _PARSERS[name](source, value, name, line) if name in _PARSERS else value
    row["samples"].append(sample)


def _question(source: Source, record: dict[str, str], line: int, identity: str) -> dict[str, Any]:
    references = record.get("references") or ""
    row: dict[str, Any] = {
        "id": identity,
        "question": record["question"],
        "context": record.get("context") or None,
        "references": _list(source, references, "references", line)
        if references.startswith("[")
        else [references] * bool(references),
    }
    if record.get("answer"):
        row["answer"] = {"text": record["answer"]}
        if record.get("answer_logprob"):
            row["answer"]["logprob"] = _number(source, record["answer_logprob"], "answer_logprob", line)
        verdict = record.get("correct")
        row["answer"]["correct"] = _truth(source, verdict, "correct", line) if verdict else None
    if record.get("p_true"):
        row["p_true"] = _number(source, record["p_true"], "p_true", line)
    return row


def _number(source: Source, value: str, name: str, line: int) -> float:
    try:
        return float(value)
    except ValueError:
        source.fail(f"expected a number, found {value!r}", name, line)


def _truth(source: Source, value: str, name: str, line: int) -> bool:
    if value.lower() not in TRUTH:
        source.fail(f"expected true or false, found {value!r}", name, line)
    return TRUTH[value.lower()]


def _list(source: Source, value: str, name: str, line: int) -> Any:
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, list):
        source.fail(f"expected a list as JSON, found {value[:40]!r}", name, line)
    return found


_PARSERS: dict[str, Callable[[Source, str, str, int], Any]] = {
    "logprob": _number,
    "token_logprobs": _list,
    "tokens": _list,
    "complete": _truth,
}
