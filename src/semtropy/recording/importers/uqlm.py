"""Importer for uqlm's results: `UQResult.to_df()` as JSON or CSV, or `UQResult.to_dict()` as JSON (without prompts).

Its scores are confidences from 0 to 1, the higher the better: a question's `scores` hold one minus each. Entropies, and
columns that are no scores, are kept as they are.
Chat APIs leave the end token out of their log-probabilities, so the header says that they cannot be used as lower
bounds.
"""

from __future__ import annotations

import ast
import csv
import io
import json
import math
from pathlib import Path
from typing import Any

from ...numeric_checks import is_number
from .common import Imported, Source

FAILED = "Unable to get response"  # what uqlm writes where the endpoint returned nothing
# Columns by their names in a dict (plural) and in a data frame (singular).
NAMES = {
    "prompts": ("prompts", "prompt"),
    "responses": ("responses", "response"),
    "sampled_responses": ("sampled_responses",),
    "logprob": ("logprob", "logprobs"),
    "sampled_logprob": ("sampled_logprob", "multiple_logprobs", "multiple_logprob"),
}


def read_uqlm(path: Path) -> Imported:
    """The results at `path`."""
    source = Source(path)
    text = source.read_text()
    table, metadata = _csv(source, text) if path.suffix == ".csv" else _json(source, text)
    columns = {name: _column(source, table, spellings) for name, spellings in NAMES.items()}
    sampled = columns["sampled_responses"]
    if sampled is None:
        source.fail("is missing: only results with sampled responses can be imported", "sampled_responses")
    for name, column in columns.items():
        if column is not None:
            source.sequence(column, name, len(sampled))
    used = {spelling for spellings in NAMES.values() for spelling in spellings}
    others = {
        name: source.sequence(values, name, len(sampled))
        for name, values in table.items()
        if name not in used
    }
    dropped = 0
    rows = []
    for place in range(len(sampled)):
        values = {name: column[place] for name, column in columns.items() if column is not None}
        row, failed = _row(source, place, values)
        dropped += failed
        extra, scores = _split_scores({name: values[place] for name, values in others.items()})
        row |= {"scores": scores} if scores else {}
        rows.append({**row, "uqlm": _known(extra)} if extra else row)
    notes = [f"{dropped} failed responses were left out"] if dropped else []
    if columns["prompts"] is None:
        notes.append(
            "the file has no prompts (uqlm's to_dict() leaves them out; to_df().to_json(...) keeps them)"
        )
    return Imported(_header(metadata), rows, notes)


def _split_scores(columns: dict[str, Any]) -> tuple[dict[str, Any], dict[str, float | None]]:
    """The columns that are no scores, and the scores: higher is more suspicious, None where unknown."""
    extra: dict[str, Any] = {}
    scores: dict[str, float | None] = {}
    for name, value in columns.items():
        number = _number(value)
        entropy = name.endswith(("entropy_value", "entropy_values"))
        if value is None or (isinstance(value, float) and math.isnan(value)):
            scores[f"uqlm/{name}"] = None
        elif name.startswith("num_"):  # a count, even where it happens to be 0 or 1
            extra[name] = value
        elif number is not None and (entropy or 0 <= number <= 1):
            scores[f"uqlm/{name}"] = number if entropy else 1 - number
        else:
            extra[name] = value
    return extra, scores


def _number(value: Any) -> float | None:
    """A finite number, or text that is one (as in a CSV file); else None."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _header(metadata: Any) -> dict[str, Any]:
    held = metadata if isinstance(metadata, dict) else {}
    inner = held.get("parameters") if isinstance(held.get("parameters"), dict) else {}
    temperature = {**held, **(inner or {})}.get("sampling_temperature")
    known = is_number(temperature)
    return {
        "model": None,
        "dataset": None,
        "temperature": temperature if known else None,
        "eos_included": False,
        "uqlm": _known(held),
    }


def _json(source: Source, text: str) -> tuple[dict[str, Any], Any]:
    try:
        held = json.loads(text)
    except (ValueError, RecursionError) as error:
        source.fail(f"is not JSON ({error})", "")
    if isinstance(held, list):  # to_df().to_json(orient="records")
        names = dict.fromkeys(name for record in held for name in source.mapping(record, "records"))
        return {name: [record.get(name) for record in held] for name in names}, None
    metadata = held.get("metadata") if isinstance(held, dict) else None
    data = source.mapping(held.get("data", held) if isinstance(held, dict) else held, "data")
    # to_df().to_json(): each column a dict from row number to value
    return {
        name: list(values.values()) if isinstance(values, dict) else values for name, values in data.items()
    }, metadata


def _csv(source: Source, text: str) -> tuple[dict[str, Any], Any]:
    """A data frame as CSV, with lists in the form Python prints them."""
    csv.field_size_limit(2**31 - 1)
    lines = csv.DictReader(io.StringIO(text, newline=""))
    try:
        table: dict[str, Any] = {name: [] for name in lines.fieldnames or () if name}
        listed = {*NAMES["sampled_responses"], *NAMES["logprob"], *NAMES["sampled_logprob"]}
        for record in lines:
            for name, column in table.items():
                value = record.get(name) or None
                column.append(
                    _literal(source, value, name, lines.line_num) if name in listed and value else value
                )
    except csv.Error as error:
        source.fail(f"is not CSV ({error})", "", lines.line_num + 1)
    return table, None


class _NanIsNone(ast.NodeTransformer):
    """Replaces the name nan, which Python prints for an unknown number, by None."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.copy_location(ast.Constant(None), node) if node.id == "nan" else node


def _literal(source: Source, value: str, name: str, line: int) -> Any:
    try:
        return ast.literal_eval(_NanIsNone().visit(ast.parse(value.strip(), mode="eval")))
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        source.fail("expected a list as Python prints it; JSON is the safer form", name, line)


def _column(source: Source, table: dict[str, Any], spellings: tuple[str, ...]) -> list[Any] | None:
    for name in spellings:
        if table.get(name) is not None:
            return source.sequence(table[name], name)
    return None


def _row(source: Source, place: int, values: dict[str, Any]) -> tuple[dict[str, Any], int]:
    row: dict[str, Any] = {
        "id": str(place),
        "question": source.text(values.get("prompts") or "", f"prompts[{place}]"),
        "context": None,
        "references": [],
    }
    if isinstance(values.get("responses"), str):
        answer = {"text": values["responses"]}
        row["answer"] = {
            **answer,
            **_tokens(source, values.get("logprob"), f"logprob[{place}]"),
            "correct": None,
        }
        row["answer"].pop("tokens", None)
    at = f"sampled_responses[{place}]"
    texts = source.sequence(values["sampled_responses"], at)
    scores = values.get("sampled_logprob")
    known = (
        [None] * len(texts)
        if scores is None
        else source.sequence(scores, f"sampled_logprob[{place}]", len(texts))
    )
    samples = [
        {
            "text": source.text(text, f"{at}[{n}]"),
            **_tokens(source, known[n], f"sampled_logprob[{place}][{n}]"),
        }
        for n, text in enumerate(texts)
    ]
    row["samples"] = [sample for sample in samples if sample["text"] != FAILED]
    return row, len(samples) - len(row["samples"])


def _tokens(source: Source, value: Any, at: str) -> dict[str, Any]:
    """[{"token", "logprob", ...}] as the endpoint gave it; unknown where one is NaN."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return {}
    entries = source.sequence(value, at)
    scores = source.logprobs(
        [source.item(entry, "logprob", f"{at}[{n}]") for n, entry in enumerate(entries)], at
    )
    if scores is None:
        return {}
    tokens = [entry.get("token") for entry in entries]
    found: dict[str, Any] = {"token_logprobs": scores}
    return {**found, "tokens": tokens} if all(isinstance(token, str) for token in tokens) else found


def _known(value: Any) -> Any:
    """The value with None in place of NaN and infinity, which JSON cannot represent."""
    if isinstance(value, dict):
        return {str(key): _known(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_known(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
