"""The JSON schemas say what the code says: of verdicts made here, and of recordings it accepts and refuses."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from tools.schemas import recording_schema, verdict_schema

from semtropy import Budget, Verdict, check
from semtropy.errors import InputError, RecordingError
from semtropy.models import ScriptedModel
from semtropy.recording.schema import check_header, check_row
from semtropy.study import example_recording

jsonschema = pytest.importorskip("jsonschema", reason="needs jsonschema: pip install jsonschema")

ROW: dict[str, Any] = {
    "id": "1",
    "question": "2 + 2?",
    "references": ["4"],
    "answer": {
        "text": "4",
        "logprob": -0.1,
        "sampling_logprob": -0.2,
        "correct": True,
        "token_entropies": [0.5],
        "token_texts": ["4"],
    },
    "samples": [{"text": "4", "logprob": -0.1, "token_logprobs": [-0.1], "tokens": [3, "x"], "meaning": 0}],
    "p_true": 0.5,
}
VALUES = (None, "text", 3, -3, 0.5, -0.5, 1.5, True, [], ["x"], [1], [-0.5], [0.5], {}, {"text": "x"})


def valid(schema: dict[str, Any], value: Any) -> bool:
    found: bool = jsonschema.Draft202012Validator(schema).is_valid(value)
    return found


@pytest.mark.parametrize("estimator", ["bayes", "histogram"])
@pytest.mark.parametrize("answers", [{"Paris": 1.0}, {"Paris": 0.5, "Lyon": 0.5}, {"": 1.0}])
def test_verdicts_are_valid_and_complete(answers: dict[str, float], estimator: str) -> None:
    model = ScriptedModel(default=answers)
    verdict = check(
        "Capital?", model=model, judge="exact", estimator=estimator, rng=1, budget=Budget(samples=4)
    )
    data = json.loads(verdict.to_json())
    jsonschema.validate(data, verdict_schema())
    assert list(data) == verdict_schema()["required"], "describe new keys of a verdict in tools/schemas.py"


def test_verdicts_on_structured_answers_are_valid_and_complete() -> None:
    schema = {"type": "object", "properties": {"year": {"type": "integer"}}, "required": ["year"]}
    model = ScriptedModel(default={'{"year": 1911}': 0.5, '{"year": 1912}': 0.5})
    data = json.loads(check("When?", model=model, judge="exact", schema=schema, rng=1).to_json())
    jsonschema.validate(data, verdict_schema())
    assert list(data) == [name for name in verdict_schema()["properties"] if name != "second"]
    assert set(data["fields"][0]) == set(verdict_schema()["properties"]["fields"]["items"]["properties"])


def test_verdicts_with_a_second_opinion_are_valid_and_complete() -> None:
    model, other = ScriptedModel(default={"Paris": 1.0}), ScriptedModel(default={"Lyon": 1.0})
    data = check("Capital?", model=model, judge="exact", second=other, rng=1).to_dict()
    jsonschema.validate(data, verdict_schema())
    assert list(data["second"]) == verdict_schema()["properties"]["second"]["required"]


def test_every_key_is_described() -> None:
    assert all(kind["description"] for kind in verdict_schema()["properties"].values())


def test_what_is_not_a_verdict_is_not_valid() -> None:
    model = ScriptedModel(default={"Paris": 1.0})
    data = check("Capital?", model=model, judge="exact", estimator="histogram", rng=1).to_dict()
    for key in set(data) - {
        "missing",
        "threshold",
        "flagged",
        "score",
        "claims",
        "prior",
        "guarantee",
        "judge",
    }:
        with pytest.raises(InputError):
            Verdict.from_dict({name: value for name, value in data.items() if name != key})
        assert not valid(verdict_schema(), {name: value for name, value in data.items() if name != key})
    assert not valid(verdict_schema(), {**data, "outcome": "perhaps"})


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a JSON value but the top."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, each in inner for place in ((*path, key), *places(each, (*path, key)))]


def replaced(place: tuple[Any, ...], value: Any) -> dict[str, Any]:
    row = copy.deepcopy(ROW)
    holder: Any = row
    for key in place[:-1]:
        holder = holder[key]
    holder[place[-1]] = value
    return row


def accepted(row: dict[str, Any]) -> bool:
    try:
        check_row(row)
    except RecordingError:
        return False
    return True


@pytest.mark.parametrize("place", places(ROW), ids=str)
def test_rows_are_valid_exactly_where_they_are_accepted(place: tuple[Any, ...]) -> None:
    assert valid(recording_schema(), ROW)
    differ = [v for v in VALUES if valid(recording_schema(), row := replaced(place, v)) != accepted(row)]
    assert differ == []


@pytest.mark.parametrize("key", ["semtropy_recording", "model", "temperature", "eos_included"])
def test_headers_are_valid_exactly_where_they_are_accepted(key: str) -> None:
    for value in (*VALUES, 1):
        header = {"semtropy_recording": 1, "model": "m", key: value}
        try:
            check_header(header)
        except RecordingError:
            assert not valid(recording_schema(), header), header
        else:
            assert valid(recording_schema(), header), header


def test_the_recording_that_ships_is_valid() -> None:
    import gzip

    with gzip.open(example_recording(), "rt") as lines:
        for line in lines:
            jsonschema.validate(json.loads(line), recording_schema())
