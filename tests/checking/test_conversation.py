"""Conversations: what models are sent, what the judge reads, and what is wrong with a list of messages."""

from __future__ import annotations

import asyncio
import json
from contextlib import closing

import pytest

from scripted_endpoint import ScriptedEndpoint, serving
from semtropy import Budget, FixedSamples, Sample, acheck, astream, check, stream
from semtropy.cli import main
from semtropy.conversation import CONTEXT, as_messages, judge_question
from semtropy.errors import InputError
from semtropy.meaning import load_judge
from semtropy.models import load_model
from semtropy.models.openai import BRIEF
from semtropy.models.prompt_template import HEAD, brief_prompt

FOLLOW_UP = [
    {"role": "user", "content": "Who won the Nobel Prize in Physics in 1911?"},
    {"role": "assistant", "content": "Wilhelm Wien."},
    {"role": "user", "content": "And in 1912?"},
]
SYSTEM = {"role": "system", "content": "You know everything about prizes."}


class RecordingJudge:
    """The exact judge, which keeps the questions it was asked with."""

    def __init__(self):
        self.questions, self._judge = set(), load_judge("exact")

    def entails(self, batch):
        self.questions |= {question for question, _, _ in batch}
        return self._judge.entails(batch)


def coin(prompt):
    return {"heads": 0.75, "tails": 0.25}


@pytest.fixture
def endpoint(monkeypatch):
    made = ScriptedEndpoint(coin)
    with serving(made) as url:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        yield made


def test_an_endpoint_gets_the_messages_as_they_are(endpoint):
    messages = [SYSTEM, *FOLLOW_UP, {"role": "user", "content": "Quickly!", "name": "ada"}]
    verdict = check(messages, model="openai:m", judge="exact")
    assert verdict.question == "Quickly!"
    assert all(body["messages"] == messages for body in endpoint.requests)


def test_the_answer_before_the_samples_is_one_request(endpoint):
    check("Which side?", model="openai:m", judge="exact", budget=Budget(samples=0))
    assert [(body["n"], body["temperature"]) for body in endpoint.requests] == [(1, 0.1)]


def test_a_question_alone_gets_the_system_message_that_asks_for_few_words(endpoint):
    check("Which side?", model="openai:m", judge="exact")
    assert endpoint.requests[0]["messages"][0] == {"role": "system", "content": BRIEF}


@pytest.mark.parametrize("prompt", ["And in 1912?", FOLLOW_UP])
def test_a_system_message_comes_first(endpoint, prompt):
    check(prompt, model="openai:m", judge="exact", system="You are a coin.")
    assert endpoint.requests[0]["messages"] == as_messages(prompt, "You are a coin.")


def test_an_empty_system_message_sends_none(endpoint):
    check("Which side?", model="openai:m", judge="exact", system="")
    assert endpoint.requests[0]["messages"] == [{"role": "user", "content": "Which side?"}]


def test_every_driver_takes_messages_and_judges_the_follow_up_with_its_subject(endpoint):
    rule = FixedSamples(6)
    question = "Who won the Nobel Prize in Physics in 1911?\nAnd in 1912?"

    async def awaited(judge):
        options = {"model": "openai:m", "judge": judge, "rule": rule, "rng": 1}
        verdict = await acheck(FOLLOW_UP, **options)
        steps = [step async for step in astream(FOLLOW_UP, **options)]
        return [verdict.question, steps[-1].question]

    judge = RecordingJudge()
    options = {"model": "openai:m", "judge": judge, "rule": rule, "rng": 1}
    said = [
        check(FOLLOW_UP, **options).question,
        [*stream(FOLLOW_UP, **options)][-1].question,
        *asyncio.run(awaited(judge)),
    ]
    assert said == ["And in 1912?"] * 4
    assert judge.questions == {question}


def user(*texts):
    return [{"role": "user", "content": text} for text in texts]


def test_the_judge_reads_as_much_as_it_needs_and_no_more():
    assert judge_question("And in 1912?") == "And in 1912?"
    assert judge_question([SYSTEM, *FOLLOW_UP]) == judge_question(FOLLOW_UP)
    alone = "Which American physicist received the Nobel Prize for measuring the charge of an electron?"
    assert judge_question([*FOLLOW_UP, *user(alone)]) == alone
    pointing = "In which city was the American physicist who won that prize in the end born and raised?"
    assert judge_question(user(alone, pointing)) == f"{alone}\n{pointing}"
    assert judge_question(user(pointing, alone, "And after that?")) == f"{alone}\nAnd after that?"
    many = judge_question(user(*(f"{number}: is it {'very ' * 40}large?" for number in range(50))))
    assert many.endswith("large?")
    assert len(many) < CONTEXT + 300
    assert judge_question(user("法国的首都是哪里？", "那德国呢？")) == "法国的首都是哪里？\n那德国呢？"


def test_images_reach_the_endpoint_and_not_the_judge(endpoint):
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
    messages = [{"role": "user", "content": [{"type": "text", "text": "Who is this?"}, picture]}]
    assert check(messages, model="openai:m", judge="exact").question == "Who is this?"
    assert endpoint.requests[0]["messages"] == messages
    with pytest.raises(InputError, match=r"messages\[0\]\.content has a part that is not text"):
        brief_prompt(messages)


def test_a_model_that_continues_text_gets_the_turns_as_lines():
    prompt = brief_prompt([SYSTEM, *FOLLOW_UP])
    assert prompt == (
        HEAD + "You know everything about prizes.\n\nQuestion: Who won the Nobel Prize in Physics in 1911?\n"
        "Answer: Wilhelm Wien.\n\nQuestion: And in 1912?\nAnswer:"
    )
    twice = [{"role": "user", "content": "Here is a text."}, {"role": "user", "content": "Who wrote it?"}]
    assert brief_prompt(twice) == HEAD + "Question: Here is a text.\nWho wrote it?\nAnswer:"


def test_the_built_in_model_answers_a_conversation(smollm2):
    verdict = check(FOLLOW_UP, model=smollm2, judge="exact", budget=Budget(samples=1), rng=1)
    assert verdict.question == "And in 1912?"


@pytest.mark.parametrize(
    ("messages", "says"),
    [
        ([], "messages is empty"),
        (["Who?"], r"messages\[0\] is of type str: an object with role and content"),
        ([{"content": "Who?"}], r"messages\[0\]\.role is missing"),
        ([{"role": "user", "content": 5}], r"messages\[0\]\.content is of type int"),
        ([{"role": "user", "content": ""}], r"messages\[0\]\.content is empty"),
        ([*FOLLOW_UP[:2]], "the last message is the assistant's: leave it out"),
        ([SYSTEM], "no user message has text"),
        (5, "the prompt is of type int: give a question as text, or a list of messages"),
    ],
)
def test_what_is_wrong_with_messages_is_named(messages, says):
    with pytest.raises(InputError, match=says):
        check(messages, model=lambda *_: ["Paris"], judge="exact")


def test_two_system_messages_are_one_too_many():
    with pytest.raises(InputError, match="give one of them"):
        check([SYSTEM, *FOLLOW_UP], model=lambda *_: ["Paris"], system="Another.")


def test_messages_that_clients_return_are_taken():
    from openai.types.chat import ChatCompletionMessage

    answered = ChatCompletionMessage(role="assistant", content="Wilhelm Wien.")
    assert as_messages([FOLLOW_UP[0], answered, FOLLOW_UP[2]]) == FOLLOW_UP


ANSWERED = ["Dalén", Sample("Dalén"), Sample("Dalén", logprob=-0.01)]


@pytest.mark.parametrize("answer", ANSWERED, ids=["text", "sample", "weighed"])
def test_a_given_answer_makes_no_second_paid_call(endpoint, answer):
    options = {"model": "openai:m", "judge": "exact", "answer": answer, "budget": Budget(samples=2)}

    async def awaited():
        await acheck(FOLLOW_UP, **options)
        return [step async for step in astream(FOLLOW_UP, **options)]

    verdicts = [check(FOLLOW_UP, **options), [*stream(FOLLOW_UP, **options)][-1], asyncio.run(awaited())[-1]]
    assert all(body["temperature"] == 1.0 for body in endpoint.requests)
    drawn = sum(body["n"] for body in endpoint.requests if "prompt_logprobs" not in body)
    assert drawn == sum(verdict.spent.samples for verdict in verdicts) + verdicts[0].samples


def test_the_command_line_makes_no_second_paid_call_either(endpoint, capsys):
    main(["check", "Which side?", "--model", "openai:m", "--judge", "exact", "--answer", "edge", "--json"])
    verdict = json.loads(capsys.readouterr().out)
    assert verdict["answer"] == "edge"
    assert sum(body["n"] for body in endpoint.requests) == verdict["samples"]
    assert all(body["temperature"] == 1.0 for body in endpoint.requests)


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_conversation_from_a_file(endpoint, tmp_path, capsys, wrapped):
    file = tmp_path / "chat.json"
    file.write_text(json.dumps({"model": "x", "messages": FOLLOW_UP} if wrapped else FOLLOW_UP))
    options = ["--model", "openai:m", "--judge", "exact", "--system", "Be a coin.", "--max-tokens", "7"]
    code = main(["check", "--messages", str(file), *options, "--answer-temperature", "0.4", "--json"])
    assert code in (0, 3, 4)
    assert json.loads(capsys.readouterr().out)["question"] == "And in 1912?"
    assert endpoint.requests[0]["messages"] == as_messages(FOLLOW_UP, "Be a coin.")
    assert {body["temperature"] for body in endpoint.requests} == {0.4, 1.0}
    assert all(body["max_tokens"] == 7 for body in endpoint.requests)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{", "chat.json: is not JSON (expecting property name"),
        ("{}", 'expected a list like [{"role": "user"'),
        ("[{}]", "messages[0].role is missing"),
        (None, "No such file"),
    ],
)
def test_a_wrong_file_of_messages_is_one_line(tmp_path, capsys, content, says):
    file = tmp_path / "chat.json"
    if content is not None:
        file.write_text(content)
    assert main(["check", "--messages", str(file), "--model", "openai:m"]) == 2
    message = capsys.readouterr().err
    assert says in message
    assert message.count("\n") == 1


def test_options_of_the_model_are_refused_where_it_has_none(tmp_path, capsys):
    file = tmp_path / "script.json"
    file.write_text('{"*": {"Paris": 1.0}}')
    assert main(["check", "Who?", "--model", f"scripted:{file}", "--max-tokens", "9"]) == 2
    assert "the model scripted:FILE.json has no option max_tokens" in capsys.readouterr().err


def test_the_longest_answer_can_be_set_in_python(endpoint):
    check("Which side?", model="openai:m", judge="exact", max_tokens=9)
    assert endpoint.requests[0]["max_tokens"] == 9
    with closing(load_model("openai:m")) as model, pytest.raises(InputError, match="given by name"):
        check("Which side?", model=model, max_tokens=9)


def test_an_answer_at_the_temperature_of_the_samples_is_weighed_like_them(endpoint):
    steps = [*stream("Which side?", model="openai:m", judge="exact", answer_temperature=1.0, rng=2)]
    assert steps[0].evidence.answer.logprob is not None


@pytest.mark.parametrize("temperature", [-0.1, 2.5, float("nan")])
def test_a_temperature_out_of_range_is_refused_before_anything_is_paid_for(endpoint, temperature):
    with pytest.raises(InputError, match="answer_temperature"):
        check("Which side?", model="openai:m", answer_temperature=temperature)
    assert not endpoint.requests
