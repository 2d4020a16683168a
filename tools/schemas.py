"""JSON schemas of a verdict and of a recording, and the pages that show them.

Types and bounds are those of `Verdict.to_dict` and `semtropy.recording.schema`; descriptions come from docstrings.
Tests hold the schemas to the code: every verdict is valid, and a recording is valid exactly where `check_row` says so.
"""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

from semtropy.recording.schema import VERSION
from semtropy.samples import MOST_TOKEN_ENTROPY
from semtropy.stopping import Reason, Spent
from semtropy.verdict import ClaimVerdict, Outcome, Verdict

from .docstrings import read

__all__ = ["recording_schema", "schema_pages", "verdict_schema"]

Schema = dict[str, Any]
DRAFT = "https://json-schema.org/draft/2020-12/schema"
EXAMPLE = "What is the capital of France?"


def described(holder: Any, *names: str) -> dict[str, str]:
    """What the docstring of a class says of its fields, with the words of JSON: null for None."""
    known = read(holder.__doc__ or "", [each.name for each in fields(holder)]).described
    return {name: known[name].replace("None", "null") for name in names}


def maybe(kind: Schema) -> Schema:
    """The same, or null for unknown."""
    return {"anyOf": [kind, {"type": "null"}]}


def number(low: float | None = None, high: float | None = None) -> Schema:
    bounds = {"minimum": low, "maximum": high}
    return {"type": "number", **{key: value for key, value in bounds.items() if value is not None}}


TEXT, COUNT, TRUTH = {"type": "string"}, {"type": "integer", "minimum": 0}, {"type": "boolean"}
LOGPROB = number(high=1e-6)


def listed(items: Schema, length: int | None = None) -> Schema:
    size = {} if length is None else {"minItems": length, "maxItems": length}
    return {"type": "array", "items": items, **size}


def item(properties: dict[str, Schema], required: tuple[str, ...] | None = None) -> Schema:
    """An object; all properties are required unless named. Unknown keys are allowed."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties if required is None else required),
    }


def verdict_schema() -> Schema:
    """The schema of what `Verdict.to_dict` returns."""
    says = described(Verdict, "question", "answer", "outcome", "entropy", "meanings", "reason", "agreement")
    says |= described(
        Verdict,
        "probability",
        "score",
        "threshold",
        "prior",
        "guarantee",
        "judge",
        "warnings",
        "missing",
        "second",
    )
    says |= described(Spent, "samples", "rounds")
    says |= {
        "flagged": "whether the outcome is flagged",
        "cost": "tokens, judge calls and seconds; tokens may be null",
    }
    says |= {"untrusted": "the names of the fields not to trust"} | described(Verdict, "fields", "claims")
    meaning = item(
        {
            "text": TEXT,
            "count": COUNT,
            "floor": number(0, 1),
            "wordings": listed(item({"text": TEXT, "count": COUNT})),
            "has_answer": TRUTH,
        }
    )
    interval = maybe(listed(number(), 2))
    found: dict[str, Schema] = {
        "outcome": {"enum": [str(each) for each in Outcome]},
        "entropy": item({"mean": number(0), "variance": maybe(number(0)), "interval": interval}),
        "agreement": maybe(item({"mean": number(0, 1), "interval": interval})),
        "meanings": listed(meaning),
    }
    named = {
        "name": TEXT,
        "value": {},
        "required": TRUTH,
        **found,
        "flagged": TRUTH,
        "probability": maybe(number(0, 1)),
    }
    properties: dict[str, Schema] = {
        "question": TEXT,
        "answer": TEXT,
        **found,
        "samples": COUNT,
        "rounds": COUNT,
        "reason": {"enum": [str(each) for each in Reason]},
        "flagged": TRUTH,
        "missing": maybe(TEXT),
        "probability": maybe(number(0, 1)),
        "score": maybe(number(0, 1)),
        "threshold": number(0),
        "prior": maybe(TEXT),
        "guarantee": maybe(TEXT),
        "judge": maybe(TEXT),
        "cost": item({"tokens": maybe(COUNT), "judge_calls": COUNT, "seconds": number(0)}),
        "warnings": listed(TEXT),
        "claims": listed(item(_claim_properties(interval))),
    }
    structured = {"fields": listed(item(named)), "untrusted": listed(TEXT)}
    opinion: dict[str, Schema] = {
        "model": TEXT,
        "agreement": item({"mean": number(0, 1), "interval": interval}),
        "answers": listed(TEXT),
        "agree": COUNT,
        "instead": maybe(TEXT),
        "cost": item({"samples": COUNT, "tokens": maybe(COUNT)}),
        "claims": maybe(listed(COUNT, 3)),
        "without": {"enum": [str(each) for each in Outcome]},
        "others": listed({"type": "object"}),
    }
    structured["second"] = item(opinion)
    described_all = {
        name: {"description": says[name], **kind} for name, kind in (properties | structured).items()
    }
    return item(described_all, tuple(properties))


def _claim_properties(interval: Schema) -> dict[str, Schema]:
    """Those of `ClaimVerdict.to_dict`."""
    judged = (Outcome.STEADY, Outcome.FLAGGED, Outcome.UNDECIDED)
    kinds: dict[str, Schema] = {
        "text": TEXT,
        "start": COUNT,
        "end": COUNT,
        "outcome": {"enum": [str(each) for each in judged]},
        "agreement": item({"mean": number(0, 1), "interval": interval}),
        "supported": COUNT,
        "contradicted": COUNT,
        "silent": COUNT,
        "instead": maybe(TEXT),
    }
    says = described(ClaimVerdict, *kinds)
    return {name: {"description": says[name], **kind} for name, kind in kinds.items()}


def recording_schema() -> Schema:
    """The schema of one line of a recording: the header, or a question."""
    header = item(
        {
            "semtropy_recording": {"const": VERSION},
            "model": maybe(TEXT),
            "dataset": maybe(TEXT),
            "temperature": maybe(number(0)),
            "eos_included": maybe(TRUTH),
            "logprobs_of_sampling": maybe(TRUTH),
        },
        ("semtropy_recording",),
    )
    tokens = maybe(listed({"type": ["integer", "string"]}))
    common = {
        "text": TEXT,
        "logprob": maybe(LOGPROB),
        "token_logprobs": maybe(listed(LOGPROB)),
        "tokens": tokens,
        "complete": maybe(TRUTH),
        "meaning": maybe(COUNT),
    }
    answer = common | {
        "sampling_logprob": maybe(LOGPROB),
        "sampling_token_logprobs": maybe(listed(LOGPROB)),
        "token_entropies": maybe(listed(number(0, MOST_TOKEN_ENTROPY))),
        "token_texts": maybe(listed(TEXT)),
        "correct": maybe(TRUTH),
    }
    row = item(
        {
            "id": {"type": ["string", "integer"]},
            "question": TEXT,
            "context": maybe(TEXT),
            "references": maybe(listed(TEXT)),
            "answer": maybe(item(answer, ("text",))),
            "samples": listed(item(common, ("text",))),
            "p_true": maybe(number(0, 1)),
        },
        ("id", "question", "samples"),
    )
    return {"if": {"required": ["semtropy_recording"]}, "then": header, "else": row}


def schema_pages(root: Path) -> dict[Path, str]:
    """The two schemas as files, and the page that shows them."""
    schemas = {"verdict": verdict_schema(), "recording": recording_schema()}
    made = {
        name: {
            "$schema": DRAFT,
            "$id": f"urn:semtropy:{name}",
            "title": f"semtropy {name}",
            **schema,
        }
        for name, schema in schemas.items()
    }
    rows = [
        f"| `{name}` | {_kind(kind)} | {kind['description']} |"
        for name, kind in schemas["verdict"]["properties"].items()
    ]
    page = PAGE.format(rows="\n".join(rows), example=_example())
    files = {
        root / "docs" / "schemas" / f"{name}.json": json.dumps(made[name], indent=2) + "\n" for name in made
    }
    return {**files, root / "docs" / "json.md": page}


def _kind(kind: Schema) -> str:
    if "anyOf" in kind:
        return f"{_kind(kind['anyOf'][0])} or null"
    names = {"string": "text", "integer": "whole number", "array": "list", "boolean": "true or false"}
    return "text" if "enum" in kind else names.get(kind["type"], str(kind["type"]))


def _example() -> str:
    """A verdict as JSON, with the seconds, which differ each time, left at 0."""
    from semtropy import check
    from semtropy.models import ScriptedModel

    model = ScriptedModel(default={"Paris": 0.6, "Lyon": 0.4})
    verdict = check(EXAMPLE, model=model, judge="exact", estimator="histogram", rng=1).to_dict()
    verdict["cost"]["seconds"] = 0.0
    return json.dumps(verdict, indent=2, ensure_ascii=False)


PAGE = """\
# JSON: verdicts and recordings

<!-- Made by `make docs` from the code; do not edit. -->

What `semtropy check --json` prints, `POST /v1/check` returns and `Verdict.to_json` writes, field by field. Programs can
validate against the schemas: [schemas/verdict.json](schemas/verdict.json) for a verdict,
[schemas/recording.json](schemas/recording.json) for each line of a [recording](recordings.md).

```sh
semtropy check "What is the capital of France?" --json
```

Unknown is null, never 0. Keys may be added in later versions: ignore those you do not know.

## A verdict

| key | type | |
|---|---|---|
{rows}

For example:

```json
{example}
```

## A recording

The first line is a header with `semtropy_recording`, every further line one question; [Recordings](recordings.md)
explains the fields. In the schema, a line with the key `semtropy_recording` must be a header, and any other a question.
"""
