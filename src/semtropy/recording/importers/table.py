"""Importer for tables: CSV with any usual delimiter, JSON, or JSON lines.

A table has one line per sample, and each line repeats the columns of its question. In JSON the column `text` may be a
list of all samples of a question; other columns of samples are then lists of the same length.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from .common import Imported, Source

QUESTION = ("id", "question", "context", "references", "answer", "answer_logprob", "correct", "p_true")
SAMPLE = ("text", "logprob", "token_logprobs", "tokens", "complete", "meaning")
COLUMNS = (*QUESTION, *SAMPLE)
TRUTH = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
DELIMITERS = (",", ";", "\t", "|")

Line = tuple[int, dict[str, Any]]  # the number of the line, and its fields by column


def read_table(path: Path, columns: Mapping[str, str] | None = None) -> Imported:
    """The table at `path`: columns `question` and `text` at least; unknown columns are kept with the sample.

    `columns` maps names of `COLUMNS` to the names in the file, as {"question": "prompt"}.
    """
    source, mapped = Source(path), dict(columns or {})
    text = source.read_text()
    seen, lines = (_json_lines if path.suffix in (".json", ".jsonl") else _csv_lines)(source, text)
    _check_columns(source, seen, mapped)
    rows: dict[str, dict[str, Any]] = {}
    labels: dict[str, dict[str, int]] = {}
    for number, fields in lines:
        # A mapped column takes the place of one that has its name already.
        record = {name: value for name, value in fields.items() if name not in mapped.values()}
        record |= {ours: fields.get(theirs) for ours, theirs in mapped.items()}
        for sample in _samples(source, record, number):
            _add(source, {name: _as_text(value) for name, value in sample.items()}, number, rows, labels)
    header = {"model": None, "dataset": None, "temperature": None, "eos_included": None}
    return Imported(header, list(rows.values()), _notes(seen, mapped, rows))


def _check_columns(source: Source, seen: Sequence[str], mapped: Mapping[str, str]) -> None:
    listed = f"it has {', '.join(seen)}" if seen else "it has none"
    for ours, theirs in mapped.items():
        if ours not in COLUMNS:
            source.fail(f"is no column of a recording: map one of {', '.join(COLUMNS)}", ours)
        if theirs not in seen:
            source.fail(f"is no column of the table: {listed}", theirs, 1)
    for name in ("question", "text"):
        if name not in seen and name not in mapped:
            source.fail(f"is no column of the table: {listed}. Use --map {name}=COLUMN", name, 1)


def _notes(
    seen: Sequence[str], mapped: Mapping[str, str], rows: Mapping[str, Mapping[str, Any]]
) -> list[str]:
    extra = [name for name in seen if name not in COLUMNS and name not in mapped.values()]
    notes = [
        f"columns: {', '.join(seen)}" + (f"; kept with each sample: {', '.join(extra)}" if extra else "")
    ]
    if any("logprob" in sample for row in rows.values() for sample in row["samples"]):
        notes.append(
            "log-probabilities are kept but not used: if they include the end token and belong to temperature 1, "
            "add --set temperature=1.0 --set eos_included=true"
        )
    return notes


def _csv_lines(source: Source, text: str) -> tuple[list[str], Iterator[Line]]:
    """The names of the columns, and the lines."""
    csv.field_size_limit(2**31 - 1)
    try:
        delimiter = "\t" if source.path.suffix == ".tsv" else _delimiter(text)
        reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        names = list(reader.fieldnames or ())
    except csv.Error as error:
        source.fail(f"is not CSV ({error})", "", 1)
    for name in names:
        if names.count(name) > 1:
            source.fail("is the name of two columns: rename one", name, 1)

    def lines() -> Iterator[Line]:
        try:
            for record in reader:
                if None in record or None in record.values():
                    source.fail("has more or fewer fields than the first line", "", reader.line_num)
                yield reader.line_num, record
        except csv.Error as error:
            source.fail(f"is not CSV ({error})", "", reader.line_num)

    return names, lines()


def _delimiter(text: str) -> str:
    """The delimiter that splits the first line into the most fields.

    >>> _delimiter('id;question;"a, b"'), _delimiter("text")
    (';', ',')
    """
    first = text.split("\n", 1)[0]
    return max(DELIMITERS, key=lambda delimiter: len(next(csv.reader([first], delimiter=delimiter), ())))


def _json_lines(source: Source, text: str) -> tuple[list[str], Iterator[Line]]:
    """The same from JSON: a list of objects, or one object per line."""
    whole = source.path.suffix == ".json"
    if whole:
        found = _parse(source, text, None)
        if not isinstance(found, list):
            source.fail("expected a list of objects", "")
        lines = list(enumerate(found, start=1))
    else:
        numbered = enumerate(text.split("\n"), start=1)
        lines = [(number, _parse(source, line, number)) for number, line in numbered if line.strip()]
    for number, record in lines:
        if not isinstance(record, dict):
            source.fail("expected an object", "", number)
    return list(dict.fromkeys(name for _, record in lines for name in record)), iter(lines)


def _parse(source: Source, text: str, line: int | None) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        source.fail(f"is not JSON ({error})", "", line)


def _samples(source: Source, record: dict[str, Any], line: int) -> Iterator[dict[str, Any]]:
    """The record, or one for each entry where `text` is a list."""
    for name in ("question", "text"):
        if record.get(name) is None:
            source.fail("is missing", name, line)
    texts = record["text"]
    if not isinstance(texts, list):
        yield record
        return
    lists = {
        name: value for name, value in record.items() if name not in QUESTION and isinstance(value, list)
    }
    for name, value in lists.items():
        if len(value) != len(texts):
            source.fail(f"has {len(value)} entries, and text has {len(texts)}", name, line)
    for place in range(len(texts)):
        yield {**record, **{name: value[place] for name, value in lists.items()}}


def _as_text(value: Any) -> str:
    """A value as a CSV file would have it: lists and numbers as JSON, unknown as nothing."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)


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
