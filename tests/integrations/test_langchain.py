"""The middleware in a real agent on a scripted chat model, synchronous and asynchronous, and the node in a graph."""

from __future__ import annotations

import asyncio
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langchain", reason="needs LangChain: pip install 'semtropy[langchain]'")

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.graph import END, START, MessagesState, StateGraph
from pydantic import Field

from doc_scripts import shown_and_printed
from semtropy.errors import InputError
from semtropy.integrations.langchain import REFUSAL, SECOND_TRY, SemtropyMiddleware, verdict_node

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::PendingDeprecationWarning")

QUESTION = {"messages": [{"role": "user", "content": "What is the capital of France?"}]}


class Scripted(BaseChatModel):
    """A chat model that says the next of its messages each time, and keeps what it was asked."""

    replies: Any
    asked: list[Any] = Field(default_factory=list)
    settings: list[Any] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        self.asked.append(messages)
        self.settings.append(kwargs)
        reply = next(self.replies)
        message = AIMessage(reply) if isinstance(reply, str) else reply
        return ChatResult(generations=[ChatGeneration(message=message.model_copy())])

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self


def model(*replies: Any) -> Scripted:
    return Scripted(replies=cycle(replies), asked=[], settings=[])


def invoke(agent: Any, *, asynchronous: bool) -> dict[str, Any]:
    found: dict[str, Any] = asyncio.run(agent.ainvoke(QUESTION)) if asynchronous else agent.invoke(QUESTION)
    return found


both = pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])


@both
def test_a_steady_answer_has_its_verdict_in_the_state(asynchronous: bool) -> None:
    chat = model("Paris")
    agent = create_agent(chat, [], middleware=[SemtropyMiddleware(judge="exact", max_samples=6)])
    state = invoke(agent, asynchronous=asynchronous)
    assert state["semtropy"]["outcome"] == "steady"
    assert state["semtropy"]["score"] > 0.5
    assert state["messages"][-1].text == "Paris"
    assert state["messages"][-1].response_metadata["semtropy"] == state["semtropy"]
    assert len(state["messages"]) == 2, "samples are no part of the conversation"
    assert len(chat.asked) == 1 + state["semtropy"]["samples"]
    assert [each.get("temperature") for each in chat.settings[1:]] == [1.0] * state["semtropy"]["samples"]


@both
def test_a_flagged_answer_is_left_unless_asked_otherwise(asynchronous: bool) -> None:
    chat = model("Paris", "Lyon", "Rome", "Oslo", "Bonn")
    agent = create_agent(chat, [], middleware=[SemtropyMiddleware(judge="exact")])
    state = invoke(agent, asynchronous=asynchronous)
    assert state["semtropy"]["flagged"]
    assert state["semtropy"]["score"] < 0.5
    assert state["messages"][-1].text == "Paris"


@both
def test_a_flagged_answer_can_be_withheld(asynchronous: bool) -> None:
    chat = model("Paris", "Lyon", "Rome", "Oslo", "Bonn")
    agent = create_agent(chat, [], middleware=[SemtropyMiddleware(judge="exact", on_flagged="withhold")])
    state = invoke(agent, asynchronous=asynchronous)
    assert state["messages"][-1].text == REFUSAL
    assert state["semtropy"]["flagged"]


@both
def test_a_flagged_answer_can_be_asked_for_once_more(asynchronous: bool) -> None:
    class Humble(Scripted):
        def _generate(self, messages: list[BaseMessage], *rest: Any, **kwargs: Any) -> ChatResult:
            hinted = any(SECOND_TRY in message.text for message in messages)
            said = "I do not know." if hinted else next(self.replies)
            return ChatResult(generations=[ChatGeneration(message=AIMessage(said))])

    chat = Humble(replies=cycle(["Paris", "Lyon", "Rome", "Oslo"]))
    agent = create_agent(chat, [], middleware=[SemtropyMiddleware(judge="exact", on_flagged="retry")])
    state = invoke(agent, asynchronous=asynchronous)
    assert state["messages"][-1].text == "I do not know."


@both
def test_a_call_of_a_tool_is_no_answer(asynchronous: bool) -> None:
    @tool
    def capital(country: str) -> str:
        """The capital of a country."""
        return "Paris"

    call = AIMessage("", tool_calls=[{"name": "capital", "args": {"country": "France"}, "id": "1"}])

    class CallsOnce(Scripted):
        def _generate(self, messages: list[BaseMessage], *rest: Any, **kwargs: Any) -> ChatResult:
            self.asked.append(messages)
            made = call.model_copy() if isinstance(messages[-1], HumanMessage) else AIMessage("Paris")
            return ChatResult(generations=[ChatGeneration(message=made)])

    chat = CallsOnce(replies=cycle([""]), asked=[])
    agent = create_agent(chat, [capital], middleware=[SemtropyMiddleware(judge="exact")])
    state = invoke(agent, asynchronous=asynchronous)
    assert [message.type for message in state["messages"]] == ["human", "ai", "tool", "ai"]
    assert state["semtropy"]["outcome"] == "steady"
    assert len(chat.asked) == 2 + state["semtropy"]["samples"], "nothing was sampled for the call"


@both
def test_a_check_that_fails_leaves_the_answer(asynchronous: bool) -> None:
    class OneReply(Scripted):
        def _generate(self, messages: list[BaseMessage], *rest: Any, **kwargs: Any) -> ChatResult:
            if kwargs.get("temperature"):
                raise RuntimeError("temperature is not allowed")
            return ChatResult(generations=[ChatGeneration(message=AIMessage("Paris"))])

    agent = create_agent(OneReply(replies=cycle([""])), [], middleware=[SemtropyMiddleware(judge="exact")])
    state = invoke(agent, asynchronous=asynchronous)
    assert state["messages"][-1].text == "Paris"
    assert state["semtropy"] == {"error": "RuntimeError: temperature is not allowed"}


def test_log_probabilities_are_evidence() -> None:
    tokens = [
        {"token": "Paris", "logprob": -0.01, "bytes": None},
        {"token": "<|end|>", "logprob": -0.01, "bytes": None},
    ]
    reply = AIMessage("Paris", response_metadata={"logprobs": {"content": tokens}, "finish_reason": "stop"})
    plain = SemtropyMiddleware(judge="exact")
    priced = SemtropyMiddleware(judge="exact", sampling={"temperature": 1.0, "logprobs": True})
    without = create_agent(model("Paris"), [], middleware=[plain]).invoke(QUESTION)["semtropy"]["samples"]
    assert (
        create_agent(model(reply), [], middleware=[priced]).invoke(QUESTION)["semtropy"]["samples"] < without
    )


def test_a_wrong_action_is_named() -> None:
    with pytest.raises(InputError, match="on_flagged is 'block': one of annotate, withhold, retry"):
        SemtropyMiddleware(on_flagged="block")


def test_the_node_of_a_plain_graph() -> None:
    class State(MessagesState):
        verdict: dict[str, Any]

    chat = model("Paris")
    graph = StateGraph(State)
    graph.add_node("answer", lambda state: {"messages": [chat.invoke(state["messages"])]})
    graph.add_node("check", verdict_node(chat, out="verdict", judge="exact"))
    graph.add_edge(START, "answer")
    graph.add_edge("answer", "check")
    graph.add_edge("check", END)
    state = asyncio.run(graph.compile().ainvoke(QUESTION))
    assert state["verdict"]["outcome"] == "steady"


def test_the_script_of_the_page_prints_what_it_shows(tmp_path: Path) -> None:
    shown, printed = shown_and_printed("langchain.md", tmp_path)
    assert printed == shown
