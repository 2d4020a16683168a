"""Models made from a function: of either kind, with texts or samples, and what they may return."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest

from semtropy import Budget, FixedSamples, Sample, acheck, check, checked
from semtropy.errors import BadReply, InputError
from semtropy.models.function import as_model


class Asked:
    """A function that keeps what it was asked."""

    def __init__(self, reply):
        self.reply, self.calls = reply, []

    def __call__(self, messages, n, temperature):
        self.calls.append((messages, n, temperature))
        return self.reply(n)


class AskedLater(Asked):
    async def __call__(self, messages, n, temperature):
        return super().__call__(messages, n, temperature)


KINDS = [Asked, AskedLater]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", [str, Sample])
def test_it_is_asked_with_messages_a_number_and_a_temperature(kind, text):
    function = kind(lambda n: [text("Paris")] * n)
    options = {"model": function, "judge": "exact", "rule": FixedSamples(3), "system": "Be brief."}
    verdicts = [check("Capital of France?", **options), asyncio.run(acheck("Capital of France?", **options))]
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Capital of France?"},
    ]
    assert [verdict.answer for verdict in verdicts] == ["Paris"] * 2
    assert [verdict.samples for verdict in verdicts] == [3, 3]
    assert sorted(function.calls[:2], key=lambda call: call[1]) == [(messages, 1, 0.1), (messages, 3, 1.0)]


@pytest.mark.parametrize("kind", KINDS)
def test_one_that_gives_one_at_a_time_is_called_again(kind):
    function = kind(lambda n: "Paris")
    assert len(as_model(function).sample("Capital?", 4)) == 4
    assert [n for _, n, _ in function.calls] == [4, 1, 1, 1]


@pytest.mark.parametrize("kind", KINDS)
def test_one_that_gives_none_is_not_asked_for_ever(kind):
    function = kind(lambda n: [])
    assert as_model(function).sample("Capital?", 4) == []
    assert len(function.calls) == 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("reply", "says"),
    [(5, "returned int: return the answer"), ([5, "a"], "returned int, str"), (None, "returned NoneType")],
)
def test_what_is_no_answer_is_named(kind, reply, says):
    with pytest.raises(BadReply, match=says):
        as_model(kind(lambda n: reply)).sample("Capital?", 1)


def test_a_function_that_forgets_to_await_is_named():
    async def ask(messages, n, temperature):
        return ["Paris"]

    with pytest.raises(BadReply, match="define it with `async def`"):
        as_model(lambda *asked: ask(*asked)).sample("Capital?", 1)
    assert as_model(partial(ask)).sample("Capital?", 1)[0].text == "Paris"


def test_what_is_no_model_is_named():
    with pytest.raises(InputError, match="model is of type int: give a name"):
        check("Capital?", model=5)


def test_log_probabilities_of_samples_count():
    def ask(messages, n, temperature):
        return [Sample("Paris", -0.01)] * n

    weighed = check("Capital?", model=ask, judge="exact", rule=FixedSamples(2))
    assert weighed.meanings[0].floor == pytest.approx(0.99, abs=0.001)


def test_tokens_that_a_function_counts_keep_a_budget():
    def ask(messages, n, temperature):
        return [Sample(f"Paris {k}", token_count=100) for k in range(n)]

    verdict = check("Capital?", model=ask, judge="exact", budget=Budget(samples=50, tokens=600))
    assert verdict.spent.tokens <= 600
    assert verdict.samples < 6


def test_a_function_of_the_prompt_alone_is_a_model() -> None:
    asked: list[object] = []

    def ask(prompt: object) -> str:
        asked.append(prompt)
        return "Paris"

    assert [each.text for each in as_model(ask).sample("Capital?", 3)] == ["Paris"] * 3
    assert asked == ["Capital?"] * 3
    with pytest.raises(InputError, match=r"takes \(a, b\)"):
        as_model(lambda a, b: "Paris")


def test_a_checked_function_returns_verdicts() -> None:
    @checked(judge="exact")
    def ask(prompt: object, *, city: str) -> str:
        return city

    @checked(judge="exact")
    async def aask(prompt: object) -> str:
        return "Rome"

    assert ask("Capital?", city="Paris").answer == "Paris"
    assert asyncio.run(aask("Capital?")).answer == "Rome"
