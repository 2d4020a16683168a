"""Structured answers: one belief for each field, from the same samples."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import json
import math
from typing import Annotated, Any, Literal, TypedDict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semtropy import Budget, FixedSamples, Reason, Sample, Verdict, check, stream
from semtropy.errors import InputError
from semtropy.meaning import ScriptedJudge
from semtropy.models.replies import calls_to_text
from semtropy.models.scripted import ScriptedModel
from semtropy.stopping import Rounds
from semtropy.structured import Choices, JsonAnswers, ToolCalls, load_structure
from semtropy.structured.document import find_json, plain, schema_of_type
from semtropy.verdict import Outcome

CITY = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "year": {"type": "integer"}},
    "required": ["city", "year"],
}


class Dealt:
    """A model that gives one answer, and deals the samples in order."""

    name = "dealt"

    def __init__(self, answer: str | Sample, samples: list[str | Sample]) -> None:
        self.answer, self.waiting = _sample(answer), [_sample(each) for each in samples]
        self.dealt = 0

    def sample(self, prompt: str, n: int, *, temperature: float = 1.0, rng: Any = None) -> list[Sample]:
        if temperature < 1:
            return [self.answer] * n
        drawn, self.waiting = self.waiting[:n], self.waiting[n:]
        self.dealt += len(drawn)
        return drawn


def _sample(each: str | Sample) -> Sample:
    return Sample(each) if isinstance(each, str) else each


def city(name: Any, year: Any, **more: Any) -> str:
    return json.dumps({"city": name, "year": year, **more})


def fields_of(answer: Any, samples: list[Any], schema: Any = CITY, **options: Any) -> dict[str, Any]:
    """The verdicts by field on dealt samples, all of which are used."""
    texts = [each if isinstance(each, str) else json.dumps(each) for each in (answer, *samples)]
    options = {"judge": "exact", "rule": FixedSamples(max(1, len(samples))), **options}
    verdict = check("q", model=Dealt(texts[0], texts[1:]), schema=schema, **options)
    return {field.name: field for field in verdict.fields}


def agreeing(field: Any) -> int:
    return sum(meaning.count for meaning in field.meanings if meaning.has_answer)


# What a verdict says


def test_the_wrong_field_is_named_and_the_right_one_is_not() -> None:
    samples = [city("Paris", year) for year in (250, 300, 52, 987, 1163, 508, 845, 1190, 360, 451)]
    verdict = check("q", model=Dealt(city("Paris", 1802), samples), schema=CITY, judge="exact")
    assert verdict.untrusted == ("year",)
    assert verdict.flagged
    assert [field.outcome for field in verdict.fields] == [Outcome.STEADY, Outcome.FLAGGED]
    assert verdict.headline() == "Do not trust: year."
    assert verdict.fields[1].value == 1802


def test_sampling_stops_when_the_required_fields_are_decided_and_not_before() -> None:
    samples = [city("Paris", 1000 + k, note=str(k)) for k in range(40)]
    optional = {**CITY, "required": ["city"]}
    budget = Budget(samples=40)
    one = check("q", model=Dealt(city("Paris", 1), samples), schema=optional, judge="exact", budget=budget)
    both = check("q", model=Dealt(city("Paris", 1), samples), schema=CITY, judge="exact", budget=budget)
    plain_one = check("q", model=Dealt("Paris", ["Paris"] * 40), judge="exact", budget=budget)
    plain_two = check("q", model=Dealt("1", [str(1000 + k) for k in range(40)]), judge="exact", budget=budget)
    assert one.samples == plain_one.samples
    assert both.samples == max(plain_one.samples, plain_two.samples) < plain_one.samples + plain_two.samples
    assert one.outcome is Outcome.STEADY
    assert one.untrusted == ("year", "note"), "fields that are not required are named all the same"
    assert both.flagged


def test_a_field_has_the_belief_that_a_plain_check_of_its_values_has() -> None:
    years = [1912, 1912, 1911, 1912, 1910, 1912]
    field = fields_of(city("Oslo", 1912), [city("Oslo", year) for year in years])["year"]
    alone = check(
        "q", model=Dealt("1912", [str(year) for year in years]), judge="exact", rule=FixedSamples(len(years))
    )
    assert field.entropy.mean == pytest.approx(alone.entropy.mean, abs=1e-9)
    assert field.agreement is not None
    assert alone.agreement is not None
    assert field.agreement.mean == pytest.approx(alone.agreement.mean, abs=1e-9)


def test_fields_come_back_from_json() -> None:
    verdict = check("q", model=Dealt(city("Oslo", 1), [city("Oslo", 2)] * 10), schema=CITY, judge="exact")
    assert Verdict.from_json(verdict.to_json()) == verdict
    data = verdict.to_dict()
    assert data["untrusted"] == ["year"]
    assert [field["name"] for field in data["fields"]] == ["city", "year"]
    assert "fields" not in check("q", model=Dealt("a", ["a"] * 10), judge="exact").to_dict()


def test_required_overrides_the_schema_and_takes_in_what_is_below() -> None:
    schema = {
        "type": "object",
        "properties": {"why": {"type": "string"}, "at": {"type": "object", "properties": {"x": {}, "y": {}}}},
        "required": ["why", "at"],
    }
    samples = [json.dumps({"why": str(k), "at": {"x": 1, "y": 2}}) for k in range(10)]
    verdict = check("q", model=Dealt(samples[0], samples), schema=schema, judge="exact", required=["at"])
    assert {field.name: field.required for field in verdict.fields} == {
        "why": False,
        "at.x": True,
        "at.y": True,
    }
    assert verdict.outcome is Outcome.STEADY


def test_the_steps_of_a_stream_have_the_fields() -> None:
    steps = list(
        stream("q", model=Dealt(city("Oslo", 1), [city("Oslo", 2)] * 10), schema=CITY, judge="exact")
    )
    assert [field.name for field in steps[-1].fields] == ["city", "year"]
    assert steps[-1].fields[0].step.samples[0].text == "Oslo"


# Calls of tools that were not offered


def test_a_call_of_a_tool_that_was_not_offered_is_not_trusted():
    tools = [{"name": "weather", "parameters": {"type": "object"}}]
    call = json.dumps({"tool_calls": [{"name": "delete_all", "arguments": {"path": "/"}}]})
    verdict = check("Will it rain?", model=ScriptedModel(default={call: 1.0}), tools=tools, rng=1)
    assert "tool" in verdict.untrusted
    assert "tool: delete_all, which was not offered" in verdict.explain()
    assert verdict.outcome is not Outcome.STEADY


# Answers and samples that are not JSON


def test_an_unparsed_sample_is_an_outcome_of_every_field_and_said() -> None:
    answer, samples = (
        city("Oslo", 1),
        [city("Oslo", 1), '{"city": "Oslo', "I would say Oslo.", city("Oslo", 1)],
    )
    verdict = check("q", model=Dealt(answer, samples), schema=CITY, judge="exact", rule=FixedSamples(4))
    for field in verdict.fields:
        assert {meaning.text: meaning.count for meaning in field.meanings} == {
            field.shown: 2,
            "(unparsed)": 2,
        }
    assert "2 of 4 samples are not JSON: in every field they count as another value." in verdict.warnings


@pytest.mark.parametrize("answer", ["Oslo, in 1048.", '{"city": "Oslo"', "[1]", '{"city": 1, "city": 2}'])
def test_an_answer_that_is_not_such_json_is_no_answer(answer: str) -> None:
    verdict = check("q", model=Dealt(answer, [city("Oslo", 1)] * 9), schema=CITY, judge="exact")
    assert verdict.outcome is Outcome.NO_ANSWER
    assert verdict.missing == "the model's reply is not JSON as the schema asks for"
    assert verdict.fields == ()


def test_a_refusal_is_called_one() -> None:
    verdict = check("q", model=Dealt("I'm sorry, I can't help.", []), schema=CITY, judge="exact")
    assert verdict.missing == "the model declined to answer"


def test_a_required_field_that_is_missing_is_not_to_be_trusted() -> None:
    found = fields_of({"city": "Oslo"}, [{"city": "Oslo"}] * 10)
    assert found["year"].outcome is Outcome.NO_ANSWER
    assert found["year"].untrusted
    assert found["year"].sentence() == "year: required, but not in the answer"
    assert found["city"].outcome is Outcome.STEADY


def test_a_field_whose_text_reads_like_a_refusal_is_a_value() -> None:
    found = fields_of(city("unknown", 1), [city("unknown", 1)] * 8)
    assert found["city"].outcome is Outcome.STEADY


@pytest.mark.parametrize(
    "text",
    [
        '{"city": "Oslo", "year": 1}',
        'Sure! Here it is:\n```json\n{"city": "Oslo", "year": 1}\n```\nAnything else?',
        'Answer: {"city": "Oslo", "year": 1} (as far as I know)',
        '\n {\n  "year" : 1.0e0 ,\r\n "city":"Oslo"}',
    ],
)
def test_json_is_found_where_models_put_it(text: str) -> None:
    node = find_json(text)
    assert node is not None
    assert plain(node) == {"city": "Oslo", "year": 1}
    assert text[node.value["city"].start : node.value["city"].end] == '"Oslo"'


@pytest.mark.parametrize(
    "text",
    ["", "{", '{"a"}', "{'a': 1}", "[1e999]", "[1,]", '{"a": 1,}', '{"a": NaN}', "[" * 500 + "]" * 500],
)
def test_what_is_not_json_is_unparsed(text: str) -> None:
    assert find_json(text) is None


documents = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(documents)
def test_documents_are_read_as_json_reads_them(value: Any) -> None:
    text = json.dumps({"v": value})
    node = find_json(text)
    assert node is not None
    assert plain(node) == {"v": value}


@given(st.text(alphabet='{}[]",:0123456789eE.-+tfn \\u`ab'))
def test_any_text_is_read_or_unparsed(text: str) -> None:
    node = find_json(text)
    assert node is None or json.loads(text[node.start : node.end], strict=False) == plain(node)


# Values


@pytest.mark.parametrize(
    ("schema", "one", "other", "same"),
    [
        ({"type": "number"}, 12, 12.0, True),
        ({"type": "number"}, 0.1, "0.10", True),
        ({"type": "integer"}, 12, "twelve", True),
        ({"type": "integer"}, 12, 13, False),
        ({"type": "number"}, 1, True, False),
        ({"type": "string", "format": "date"}, "2024-07-04", "July 4, 2024", True),
        ({"type": "string", "format": "date"}, "2024-07-04", "2024-07-05", False),
        (
            {"type": "string", "format": "date-time"},
            "2024-07-04T12:00:00Z",
            "2024-07-04T14:00:00+02:00",
            True,
        ),
        ({"type": "string", "format": "time"}, "14:00", "14:00:00", True),
        ({"enum": ["Red", "Green"]}, "red", "Red", True),
        ({"enum": [1, 2]}, 1, 2, False),
        ({"type": "boolean"}, True, False, False),
        ({"type": ["string", "null"]}, None, "null", False),
        ({"type": "string", "format": "email"}, "a@b.org", "A@B.org", True),
        ({"type": "string", "format": "uuid"}, "9f", "9e", False),
        ({"type": "string", "pattern": "^[A-Z]+$"}, "DE", "DK", False),
        ({"$ref": "#/$defs/amount"}, 5, 5.0, True),
        ({"anyOf": [{"type": "null"}, {"type": "number"}]}, 5, 6, False),
        ({}, "Paris", "Paris", True),
        ({}, {}, [], False),
        ({}, {"a": 1}, {"a": 1.0}, True),
    ],
)
def test_values_are_compared_without_a_judge(schema: Any, one: Any, other: Any, same: bool) -> None:
    whole = {
        "type": "object",
        "properties": {"v": schema},
        "required": ["v"],
        "$defs": {"amount": {"type": "number"}},
    }
    silent = ScriptedJudge({})  # an error wherever it is asked
    found = fields_of({"v": one}, [{"v": other}], whole, judge=silent)
    assert all(agreeing(field) == int(same) for field in found.values())


def test_text_is_for_the_judge_who_sees_what_the_field_is_about() -> None:
    schema = {
        "type": "object",
        "properties": {"place": {"type": "string", "description": "where she was born"}},
    }
    judge = ScriptedJudge(lambda question, a, b: 1.0)
    found = fields_of({"place": "Warsaw"}, [{"place": "Warszawa"}], schema, judge=judge)
    assert agreeing(found["place"]) == 1
    assert {question for question, _, _ in judge.asked} == {"q (where she was born)"}


# Lists


def listed(answer: list[Any], samples: list[list[Any]], items: Any = None, **more: Any) -> dict[str, Any]:
    schema = {
        "type": "object",
        "properties": {"of": {"type": "array", "items": items or {"type": "string"}, **more}},
        "required": ["of"],
    }
    return fields_of({"of": answer}, [{"of": each} for each in samples], schema)


def test_a_list_is_judged_item_by_item_in_any_order() -> None:
    found = listed(
        ["copper", "lead"], [["copper", "tin"], ["tin", "copper"], ["zinc", "copper"], ["copper"]] * 3
    )
    assert found["of[0]"].outcome is Outcome.STEADY
    assert found["of[1]"].flagged
    assert found["of[1]"].value == "lead"


def test_what_most_samples_list_and_the_answer_does_not_is_named() -> None:
    found = listed(["copper"], [["copper", "tin"]] * 9 + [["copper"]])
    assert found["of[+]"].flagged
    assert found["of[+]"].value == "tin"
    assert found["of[+]"].sentence().startswith("of[+]: without tin (flagged; 1 of 10 samples agree")
    few = listed(["copper"], [["copper", "tin"]] + [["copper"]] * 9)
    assert few["of[+]"].outcome is Outcome.STEADY


def test_an_empty_list_is_a_value() -> None:
    assert listed([], [[]] * 8)["of"].outcome is Outcome.STEADY
    assert listed([], [["tin"]] * 8)["of"].flagged


def test_places_count_where_the_schema_fixes_them() -> None:
    pair = {"minItems": 2, "maxItems": 2}
    found = listed([1, 2], [[1, 3]] * 8, {"type": "number"}, **pair)
    assert {name: field.flagged for name, field in found.items()} == {"of[0]": False, "of[1]": True}


def test_objects_in_a_list_are_the_same_if_all_their_fields_are() -> None:
    person = {"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "number"}}}
    anna, twin = {"name": "Anna", "age": 4}, {"age": 4.0, "name": "anna"}
    found = listed([anna, {"name": "Ben", "age": 5}], [[twin, {"name": "Ben", "age": 6}]] * 8, person)
    assert found["of[0]"].outcome is Outcome.STEADY
    assert found["of[1]"].flagged


# Lower bounds


def spelled(text: str, pieces: list[str], logprobs: list[float], *, end: float | None = -0.1) -> Sample:
    assert "".join(pieces) == text
    whole = None if end is None else math.fsum([*logprobs, end])
    more = [] if end is None else ["<end>"]
    values = [*logprobs, *([] if end is None else [end])]
    return Sample(text, whole, (*pieces, *more), tuple(values), sampling_logprob=whole)


TEXT = '{"city": "Oslo", "year": 12}'
PIECES = ['{"', "city", '":', ' "', "Oslo", '",', ' "', "year", '":', " ", "12", "}"]
LOGPROBS = [-0.01, -0.01, 0.0, 0.0, -0.2, 0.0, 0.0, 0.0, 0.0, 0.0, -3.0, -0.05]


@pytest.mark.parametrize("end", [-0.1, None])
def test_the_bound_of_a_field_is_the_probability_of_the_answer_up_to_its_end(end: float | None) -> None:
    drawn = spelled(TEXT, PIECES, LOGPROBS, end=end)
    verdict = check(
        "q", model=Dealt(Sample(TEXT), [drawn] * 3), schema=CITY, judge="exact", rule=FixedSamples(3)
    )
    floors = {field.name: field.meanings[0].floor for field in verdict.fields}
    assert floors["city"] == pytest.approx(math.exp(-0.22))
    assert floors["year"] == pytest.approx(math.exp(-3.27)), "the brace ends the number, so it counts"
    assert not any("log-probability" in warning for warning in verdict.warnings)


def test_without_tokens_the_whole_answer_bounds_each_field() -> None:
    one, two = Sample(city("Oslo", 1), math.log(0.3)), Sample(city("Oslo", 2), math.log(0.2))
    model = Dealt(Sample(city("Oslo", 1)), [one, two, one, two])
    verdict = check("q", model=model, schema=CITY, judge="exact", rule=FixedSamples(4))
    floors = {field.name: sorted(m.floor for m in field.meanings) for field in verdict.fields}
    assert floors["city"] == pytest.approx([0.5]), "two different answers with one city"
    assert floors["year"] == pytest.approx([0.2, 0.3])


def test_where_a_sample_is_unparsed_only_whole_answers_bound() -> None:
    drawn = spelled(TEXT, PIECES, LOGPROBS)
    broken = Sample('{"city": "Oslo', -2.0, ('{"city": "Oslo',), (-2.0,))
    model = Dealt(Sample(TEXT), [drawn, broken, drawn])
    verdict = check("q", model=model, schema=CITY, judge="exact", rule=FixedSamples(3))
    assert verdict.fields[0].meanings[0].floor == pytest.approx(math.exp(drawn.logprob or 0))


def test_a_probable_answer_needs_no_sample_and_the_improbable_rest_of_it_no_belief() -> None:
    """The first field's bound decides it at once; a plain check of the text would flag it for its length."""
    sure = Sample(TEXT, sampling_logprob=math.log(0.97), logprob=math.log(0.97))
    verdict = check("q", model=Dealt(sure, []), schema=CITY, judge="exact")
    assert verdict.samples == 0
    assert verdict.outcome is Outcome.STEADY
    varied = [Sample(city("Oslo", 1, note="x" * k), -20.0 - k) for k in range(12)]
    model = Dealt(varied[0], varied)
    verdict = check("q", model=model, schema=CITY, judge="exact")
    assert verdict.outcome is Outcome.STEADY, "answers that differ elsewhere are no evidence against a field"


def test_log_probabilities_that_sum_to_more_than_one_are_not_used() -> None:
    samples = [Sample(city("Oslo", k), math.log(0.5)) for k in range(4)]
    verdict = check(
        "q", model=Dealt(city("Oslo", 0), samples), schema=CITY, judge="exact", rule=FixedSamples(4)
    )
    assert all(meaning.floor == 0 for field in verdict.fields for meaning in field.meanings)


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.sampled_from("xyz"), st.floats(0.01, 1)), min_size=1, max_size=6
    )
)
def test_bounds_are_below_the_true_probabilities(drawn: list[tuple[str, str, float]]) -> None:
    """For any joint distribution of two fields, in any order of draws, no bound exceeds the marginal."""
    weights: dict[tuple[str, str], float] = {}
    for a, b, weight in drawn:
        weights[a, b] = weights.get((a, b), 0) + weight
    total = math.fsum(weights.values()) * 1.001  # the rest of the probability is elsewhere
    samples = [Sample(json.dumps({"a": a, "b": b}), math.log(w / total)) for (a, b), w in weights.items()]
    schema = {"type": "object", "required": ["a", "b"]}
    model = Dealt(samples[0].text, samples)
    options: dict[str, Any] = {"judge": "exact", "estimator": "histogram", "rule": FixedSamples(len(samples))}
    verdict = check("q", model=model, schema=schema, **options)
    for field in verdict.fields:
        place = "ab".index(field.name)
        for meaning in field.meanings:
            marginal = sum(w for pair, w in weights.items() if pair[place] == meaning.text) / total
            assert meaning.floor <= marginal + 1e-9


def test_a_field_after_certain_text_is_as_well_known_as_a_plain_answer() -> None:
    """Its own tokens have the probability of the value: the same evidence as the value sampled alone, unframed."""
    texts, logprobs = (
        ["Oslo", "Oslo", "Bergen", "Oslo"],
        [math.log(0.6), math.log(0.6), math.log(0.3), math.log(0.6)],
    )
    pieces = ['{"city": ', '"Oslo"', ', "year": 1}']
    drawn = [
        spelled(city(text, 1), [pieces[0], f'"{text}"', pieces[2]], [-0.001, logprob, -5.0])
        for text, logprob in zip(texts, logprobs, strict=True)
    ]
    rule = FixedSamples(4)
    structured = check(
        "q", model=Dealt(Sample(city("Oslo", 1)), drawn), schema=CITY, judge="exact", rule=rule
    )
    plainly = [Sample(text, lp, (text,)) for text, lp in zip(texts, logprobs, strict=True)]
    alone = check("q", model=Dealt("Oslo", plainly), judge="exact", rule=rule)
    assert structured.fields[0].entropy.mean == pytest.approx(alone.entropy.mean, abs=1e-9)


def two(
    name: str, year: int, sure: float, certain: float, *, entropies: tuple[float, float] | None = None
) -> Sample:
    """An object of two fields: the probability of the first value, and that of the second given the first."""
    pieces = ['{"city":', f' "{name}"', ', "year":', f" {year}", "}"]
    made = spelled("".join(pieces), pieces, [-1e-4, math.log(sure), -1e-4, math.log(certain), -1e-4])
    if entropies is not None:
        made = dataclasses.replace(made, token_entropies=(0.0, entropies[0], 0.0, entropies[1], 0.0, 0.0))
    return made


def test_a_value_that_was_improbable_when_it_was_written_needs_no_sample_to_be_named() -> None:
    """Also after an uncertain field: given less, the value can only vary more."""
    model = Dealt(two("Oslo", 12, 0.02, 0.02), [])
    verdict = check("q", model=model, schema=CITY, judge="exact")
    assert (verdict.samples, verdict.untrusted) == (0, ("city", "year"))


def test_a_value_that_follows_from_a_made_up_one_is_named() -> None:
    """Each city has its own year: every year is certain given the city, and none is known."""
    drawn = [two(f"City {k}", k, 0.04, 0.999) for k in range(10)]
    verdict = check("q", model=Dealt(drawn[0], drawn[1:]), schema=CITY, judge="exact")
    assert verdict.untrusted == ("city", "year")
    alone = check("q", model=Dealt(drawn[0], []), schema=CITY, judge="exact", budget=Budget(samples=0))
    assert alone.fields[1].outcome is Outcome.UNDECIDED, "the answer alone does not tell"


def test_a_value_that_stays_while_others_before_it_change_is_soon_steady() -> None:
    drawn = [two(f"City {k}", 12, 0.04, 0.97) for k in range(10)]
    verdict = check("q", model=Dealt(drawn[0], drawn[1:]), schema=CITY, judge="exact")
    assert verdict.untrusted == ("city",)
    counted = check(
        "q", model=Dealt(drawn[0].text, [each.text for each in drawn]), schema=CITY, judge="exact"
    )
    assert 1 <= verdict.samples <= 3 < counted.samples


def test_one_value_after_different_text_is_one_sequence() -> None:
    """Two beginnings with the same year, of probability 0.6 each, are not two years with 1.2 in all."""
    drawn = [two(f"City {k % 2}", 12, 0.5, 0.6) for k in range(4)]
    verdict = check("q", model=Dealt(drawn[0], drawn), schema=CITY, judge="exact", rule=FixedSamples(4))
    plainly = [Sample("12", math.log(0.6) - 1e-4, ("12",))] * 4
    alone = check("q", model=Dealt(plainly[0], plainly), judge="exact", rule=FixedSamples(4))
    year = verdict.fields[1]
    assert alone.entropy.mean > 0.3
    assert year.entropy.mean > 0.2, "0.4 of the probability is elsewhere"


@pytest.mark.parametrize("prose", ["", "Norway, I think: "])
def test_marks_and_keys_before_a_value_do_not_make_it_uncertain_and_prose_does(prose: str) -> None:
    """An endpoint that is restricted to a schema reports what the model would have written instead of a brace."""
    pieces = [*([prose] if prose else []), '{"city":', ' "Oslo"', ', "year":', " 12", "}"]
    unsure = math.log(0.05)
    logprobs = [*([unsure] if prose else []), unsure, -0.01, unsure, -0.01, -1e-4]
    answer = spelled("".join(pieces), pieces, logprobs)
    verdict = check("q", model=Dealt(answer, []), schema=CITY, judge="exact", budget=Budget(samples=0))
    expected = Outcome.UNDECIDED if prose else Outcome.STEADY
    assert [field.outcome for field in verdict.fields] == [expected] * 2


def test_token_entropies_outside_a_value_do_not_count_against_it() -> None:
    def entropy(*entropies: float) -> float:
        answer = two("Oslo", 12, 0.95, 0.9, entropies=(entropies[0], entropies[1]))
        options: dict[str, Any] = {"schema": CITY, "judge": "exact", "budget": Budget(samples=0)}
        return check("q", model=Dealt(answer, []), **options).fields[0].entropy.mean

    assert entropy(2.0, 0.1) > entropy(0.2, 0.1) + 0.01, "those of its own tokens do"
    assert entropy(0.2, 3.0) == entropy(0.2, 0.1)


def test_a_token_that_spells_two_fields_is_not_taken_for_one_of_them() -> None:
    """Its probability is that of both: as a field's own it would be far too low."""
    drawn = [
        Sample(city("Oslo", year), math.log(0.05), (city("Oslo", year),), (math.log(0.05),))
        for year in range(8)
    ]
    verdict = check(
        "q", model=Dealt(Sample(city("Oslo", 0)), drawn), schema=CITY, judge="exact", rule=FixedSamples(8)
    )
    assert verdict.fields[0].outcome is Outcome.STEADY
    assert verdict.fields[1].flagged


def test_the_answer_alone_decides_a_field_by_its_own_tokens() -> None:
    sure = spelled(TEXT, PIECES, [-0.001] * len(PIECES))
    unsure = spelled(TEXT, PIECES, [-0.001] * 10 + [-4.0, -0.001])
    budget = Budget(samples=0)
    fields = {
        name: check("q", model=Dealt(each, []), schema=CITY, judge="exact", budget=budget).fields
        for name, each in (("sure", sure), ("unsure", unsure))
    }
    assert [field.outcome for field in fields["sure"]] == [Outcome.STEADY, Outcome.STEADY]
    assert [field.flagged for field in fields["unsure"]] == [False, True]


def test_a_decided_field_stays_so_while_others_go_on() -> None:
    """The city is decided after five samples; the sixth speaks against it, and the year needs more."""
    names = ["Oslo"] * 5 + ["Rome"] * 1 + ["Oslo"] * 2
    years = [1, 1, 2, 1, 1, 2, 1, 1]
    samples = [city(*pair) for pair in zip(names, years, strict=True)]
    options: dict[str, Any] = {"schema": CITY, "judge": "exact", "rounds": Rounds(growth=1.0)}
    steps = list(stream("q", model=Dealt(city("Oslo", 1), samples), budget=Budget(samples=8), **options))
    first = [step.fields[0].step.reason for step in steps]
    decided = next(place for place, reason in enumerate(first) if reason is not None)
    assert decided < len(first) - 1
    assert all(reason is Reason.DECIDED_LOW for reason in first[decided:])


# Choices


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("B", 1),
        ("b.", 1),
        ("(B)", 1),
        ("B) Paris", 1),
        ("**B**", 1),
        ("Answer: B", 1),
        ("The correct answer is (C).", 2),
        ("A cat", None),
        ("A and B", None),
        ("E", None),
        ("", None),
    ],
)
def test_letters_are_found(text: str, found: int | None) -> None:
    assert Choices(["A", "B", "C", "D"]).find(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Yes.", 0),
        ("yes, it is", 0),
        ("No", 1),
        ("I would say no.", 1),
        ("yes and no", None),
        ("Norway", None),
    ],
)
def test_words_are_found(text: str, found: int | None) -> None:
    assert Choices(["yes", "no"]).find(text) == found


def test_multiple_choice_asks_no_judge_and_counts_what_names_none() -> None:
    samples = ["B", "(B)", "B.", "b", "C", "none of these", "who knows"]
    verdict = check("q", model=Dealt("B", samples), choices=["A", "B", "C"], rule=FixedSamples(7))
    assert verdict.spent.judge_calls == 0
    assert sorted(meaning.count for meaning in verdict.meanings) == [1, 2, 4]
    assert verdict.fields == ()
    none = check("q", model=Dealt("Perhaps", ["B"] * 9), choices=["A", "B", "C"])
    assert none.outcome is Outcome.NO_ANSWER
    assert none.missing == "it names none of the choices A, B, C"


# Tool calls

WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
            "required": ["city"],
        },
    },
}


def call(name: str, **arguments: Any) -> str:
    return calls_to_text([{"id": "x", "function": {"name": name, "arguments": json.dumps(arguments)}}])


def called(answer: str, samples: list[str]) -> dict[str, Any]:
    options: dict[str, Any] = {"judge": "exact", "rule": FixedSamples(len(samples))}
    verdict = check("q", model=Dealt(answer, samples), tools=[WEATHER], **options)
    return {field.name: field for field in verdict.fields}


def test_tool_calls_are_judged_by_name_then_by_argument() -> None:
    found = called(
        call("weather", city="Oslo", days=3), [call("weather", city="Oslo", days=k) for k in range(9)]
    )
    assert {name: field.required for name, field in found.items()} == {
        "tool": True,
        "weather.city": True,
        "weather.days": False,
    }
    assert {name for name, field in found.items() if field.flagged} == {"weather.days"}
    assert found["tool"].value == "weather"


def test_another_tool_or_a_text_instead_of_a_call_is_another_outcome() -> None:
    other = [call("search", query="Oslo"), "I would look it up.", call("weather", city="Oslo")]
    found = called(call("weather", city="Oslo"), other * 3)
    assert found["tool"].flagged or found["tool"].outcome is Outcome.UNDECIDED
    assert agreeing(found["tool"]) == agreeing(found["weather.city"]) == 3
    said = called("It is raining.", ["It is raining."] * 8)
    assert said["content"].outcome is Outcome.STEADY
    assert said["tool"].value is None


def test_two_calls_of_one_tool_are_told_apart() -> None:
    both = json.dumps(
        {"tool_calls": [{"name": "weather", "arguments": {"city": c}} for c in ("Oslo", "Bergen")]}
    )
    found = called(both, [both] * 5)
    assert found["tool"].value == "weather, weather"
    assert {found["weather.city"].value, found["weather#2.city"].value} == {"Oslo", "Bergen"}


def parallel(*cities: str) -> str:
    return json.dumps({"tool_calls": [{"name": "weather", "arguments": {"city": c}} for c in cities]})


def test_calls_of_one_tool_may_come_in_any_order() -> None:
    orders = [parallel("Oslo", "Bergen"), parallel("Bergen", "Oslo")]
    found = called(orders[0], orders * 3)
    assert [field.value for field in found.values()] == ["weather, weather", "Oslo", "Bergen"]
    assert all(agreeing(field) == 6 for field in found.values())
    found = called(orders[0], [parallel("Rome", "Oslo")] * 6)
    assert agreeing(found["weather.city"]) == 6, "one call is the same, wherever it stands"
    assert agreeing(found["weather#2.city"]) == 0


def test_arguments_of_tools_that_the_answer_does_not_call_are_no_fields() -> None:
    """The name says that samples call another tool; what they call it with is nothing to trust or not."""
    others = [call("search", query="Oslo"), "I would look it up.", parallel("Oslo", "Bergen")]
    assert list(called(call("weather", city="Oslo"), others * 3)) == ["tool", "weather.city"]
    optional = called(call("weather", city="Oslo"), [call("weather", city="Oslo", days=3)] * 6)
    assert optional["weather.days"].flagged, "an argument that the answer leaves out is"
    assert list(called("No.", others * 3)) == ["tool", "content"]


@pytest.mark.parametrize("arguments", ['{"city": "Os', "Oslo", None, [1]])
def test_a_call_whose_arguments_are_not_an_object_lacks_those_that_are_required(arguments: Any) -> None:
    """However often it is repeated: nothing can be called with it."""
    broken = calls_to_text([{"function": {"name": "weather", "arguments": arguments}}])
    found = called(broken, [broken] * 6)
    assert found["tool"].outcome is Outcome.STEADY
    assert found["weather.city"].sentence() == "weather.city: required, but not in the answer"
    assert not agreeing(called(call("weather", city="Oslo"), [broken] * 6)["weather.city"])


def test_a_tool_without_required_arguments_is_called_without_any() -> None:
    bare = [calls_to_text([{"function": {"name": "now", "arguments": each}}]) for each in ("", "{}", {})]
    options: dict[str, Any] = {"tools": [{"name": "now"}], "judge": "exact", "rule": FixedSamples(6)}
    assert check("q", model=Dealt(bare[0], bare * 2), **options).outcome is Outcome.STEADY


@pytest.mark.parametrize("count", [1, 2])
def test_the_name_of_a_tool_is_judged_by_its_own_tokens(count: int) -> None:
    """Arguments that vary say nothing against it, with log-probabilities too."""
    spread = {parallel(*[f"City {k}"] * count): 0.1 for k in range(10)}
    model = ScriptedModel(default=spread)
    verdict = check("q", model=model, tools=[WEATHER], judge="exact", rng=1)
    assert verdict.fields[0].outcome is Outcome.STEADY
    assert all(field.flagged for field in verdict.fields[1:])


# Schemas from types


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass
class Point:
    x: float
    y: float


class Extra(TypedDict, total=False):
    note: str


@dataclasses.dataclass
class Everything:
    name: Annotated[str, "what people call it"]
    when: datetime.date
    colour: Colour
    size: Literal["s", "m"]
    where: Point
    tags: list[str]
    pair: tuple[int, str]
    counts: dict[str, int]
    maybe: int | None = None
    extra: Extra | None = None


def test_a_dataclass_is_a_schema() -> None:
    made = schema_of_type(Everything)
    properties = made["properties"]
    assert made["required"] == [f.name for f in dataclasses.fields(Everything)][:-2]
    assert properties["name"] == {"type": "string", "description": "what people call it"}
    assert properties["when"] == {"type": "string", "format": "date"}
    assert properties["colour"] == {"enum": ["red", "blue"]}
    assert properties["size"] == {"enum": ["s", "m"]}
    assert properties["where"]["properties"]["x"] == {"type": "number"}
    assert properties["pair"]["prefixItems"] == [{"type": "integer"}, {"type": "string"}]
    assert properties["counts"]["additionalProperties"] == {"type": "integer"}
    assert properties["extra"]["anyOf"][0]["required"] == []
    with pytest.raises(InputError, match="has no JSON schema"):
        schema_of_type(list[complex])


def test_a_pydantic_model_is_a_schema() -> None:
    pydantic = pytest.importorskip("pydantic")
    Inner = pydantic.create_model("Inner", year=(int, ...))
    Outer = pydantic.create_model("Outer", city=(str, ...), built=(Inner, ...), old=(Inner | None, None))
    text = json.dumps({"city": "Oslo", "built": {"year": 1}, "old": {"year": 2}})
    found = fields_of(text, [text] * 3, Outer)
    assert {name: field.required for name, field in found.items()} == {
        "city": True,
        "built.year": True,
        "old.year": False,
    }


def test_openai_s_response_format_is_a_schema() -> None:
    wrapped = {"type": "json_schema", "json_schema": {"name": "city", "strict": True, "schema": CITY}}
    assert JsonAnswers(wrapped).schema == CITY


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"schema": "city"}, "schema is of type str"),
        ({"schema": {"properties": ["city"]}}, "properties must be an object"),
        ({"schema": {"x": {1, 2}}}, "cannot be written as JSON"),
        ({"choices": "ABC"}, "must be a list of texts"),
        ({"choices": ["A", "a"]}, "at least two, all different"),
        ({"choices": ["A", "B"], "schema": CITY}, "give one of them"),
        ({"required": ["city"]}, "goes with schema or tools"),
        ({"schema": CITY, "required": "city"}, "a list of field names"),
        ({"tools": [{"type": "function"}]}, r"tools\[0\] has no name"),
        ({"schema": {"properties": {"a": {"$ref": "#/$defs/b"}}}}, "refers to nothing"),
        (
            {"schema": {"type": "strng"}},
            r"schema\.type is 'strng': choose one of object, array, string, number",
        ),
        ({"schema": {"properties": {"a": {"type": "strng"}}}}, r"schema\.properties\.a\.type is 'strng'"),
        ({"schema": {"properties": {"a": {"type": ["string", "nul"]}}}}, r"properties\.a\.type is 'nul'"),
        (
            {"schema": {"properties": {"a": {"items": {"type": "int"}}}}},
            r"properties\.a\.items\.type is 'int'",
        ),
        ({"schema": {"anyOf": [{"type": "null"}, {"type": "text"}]}}, r"schema\.anyOf\[1\]\.type is 'text'"),
        ({"schema": {"$defs": {"a": {"type": "float"}}}}, r"schema\.\$defs\.a\.type is 'float'"),
        (
            {"schema": {"properties": {"a": "string"}}},
            r"schema\.properties\.a is 'string': expected a schema",
        ),
        ({"schema": {"type": {"a": 1}}}, r"schema\.type is {'a': 1}: choose one of"),
        (
            {"tools": [{"name": "find", "parameters": {"properties": {"a": {"type": "str"}}}}]},
            r"parameters of find\.properties\.a\.type is 'str'",
        ),
    ],
)
def test_what_cannot_be_is_refused(options: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        check("q", model=Dealt('{"a": 1}', []), judge="exact", **options)


def test_names_and_values_in_a_schema_are_no_types() -> None:
    named = {
        "type": {"type": "string"},
        "items": {"const": {"type": "strng"}},
        "any": True,
        "of": {"type": ["null"]},
    }
    schema = {"type": "object", "properties": named, "examples": [{"type": "strng"}]}
    assert load_structure(schema).schema == schema  # type: ignore[union-attr]


def test_a_recursive_schema_ends_with_the_answer() -> None:
    schema = {
        "type": "object",
        "properties": {"n": {"type": "number"}, "next": {"$ref": "#"}},
        "required": ["n"],
    }
    found = fields_of({"n": 1, "next": {"n": 2}}, [{"n": 1, "next": {"n": 2, "next": {"n": 3}}}], schema)
    assert set(found) == {"n", "next.n", "next.next.n"}


def test_draws_do_not_depend_on_the_structure() -> None:
    """A structured check of a scripted model draws what a plain one draws."""
    model = ScriptedModel(default={city("Oslo", 1): 0.5, city("Oslo", 2): 0.5})
    rule = FixedSamples(6)
    plainly = check("q", model=model, judge="exact", rule=rule, rng=np.random.default_rng(4))
    fielded = check("q", model=model, judge="exact", rule=rule, rng=np.random.default_rng(4), schema=CITY)
    assert [draw.text for draw in plainly.draws] == [draw.text for draw in fielded.draws]


def test_tools_may_share_definitions() -> None:
    tool = {
        "name": "go",
        "parameters": {"properties": {"to": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"type": "number"}}},
    }
    structure = ToolCalls([tool])
    reading = structure.read(call("go", to=1))
    assert reading is not None
    assert reading.schema["$defs"] == {"n": {"type": "number"}}


def test_an_optional_field_is_not_decided_with_the_whole() -> None:
    schema = {**CITY, "required": ["city"]}
    samples = [city("Paris", year) for year in (3, 7, 3, 7, 7, 3, 7, 3)]
    verdict = check("q", model=Dealt(city("Paris", 3), samples), schema=schema, judge="exact")
    assert [field.outcome for field in verdict.fields] == [Outcome.STEADY, Outcome.UNDECIDED]


def test_a_field_that_is_not_required_is_named_as_such() -> None:
    samples = [city("Paris", year) for year in (250, 300, 52, 987, 1163, 508, 845, 1190, 360, 451)]
    options = {"schema": CITY, "required": ["city"], "judge": "exact", "rule": FixedSamples(10)}
    verdict = check("q", model=Dealt(city("Paris", 1802), samples), **options)
    assert verdict.outcome is Outcome.STEADY
    assert verdict.headline() == "Looks steady: city. Not required, and not to be trusted: year."
