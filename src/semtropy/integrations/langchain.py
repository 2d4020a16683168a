"""LangChain and LangGraph: the agent's own model draws the samples, and the verdict is in the state."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, NotRequired

from ..errors import InputError, needs
from ..models.replies import chat_sample
from .bridge import Bridge

with needs("langchain", extra="langchain"):
    from langchain.agents.middleware import AgentMiddleware, AgentState, ExtendedModelResponse, ModelResponse
    from langchain_core.messages import AIMessage, SystemMessage, convert_to_openai_messages
    from langgraph.types import Command

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..nouns import Sample

__all__ = ["SemtropyMiddleware", "SemtropyState", "verdict_node"]

REFUSAL = "I am not sure enough of the answer to give it."
SECOND_TRY = "If you are not sure of the answer, say that you do not know it."
ACTIONS = ("annotate", "withhold", "retry")
KEY = "semtropy"


class SemtropyState(AgentState):
    """The state of an agent with the verdict on its last answer."""

    semtropy: NotRequired[dict[str, Any]]  # type: ignore[valid-type]


class SemtropyMiddleware(AgentMiddleware):
    """Checks each answer of an agent; a call of a tool is no answer and passes.

    on_flagged  "annotate" leaves the answer; "withhold" gives the refusal instead; "retry" asks once more, with the
                hint that not knowing is an answer, and keeps what then comes
    refusal     what "withhold" says
    sampling    settings of the model for samples; add `"logprobs": True` where it reports them
    options     those of `semtropy.check`, and `max_samples`

    The verdict is `state["semtropy"]`, and in the message's `response_metadata`. Where a check fails, the answer passes
    and `error` says why.
    """

    state_schema = SemtropyState

    def __init__(
        self,
        *,
        on_flagged: str = "annotate",
        refusal: str = REFUSAL,
        sampling: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        super().__init__()
        if on_flagged not in ACTIONS:
            raise InputError(f"on_flagged is {on_flagged!r}: one of {', '.join(ACTIONS)}")
        self._action, self._refusal = on_flagged, refusal
        self._sampling = {"temperature": 1.0} if sampling is None else dict(sampling)
        self._bridge = Bridge(**options)

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Call the model, and check what it answers."""
        response = handler(request)
        found = self._check(request, response, handler)
        if found is not None and found.get("flagged") and self._action == "retry":
            request = _with_hint(request)
            response = handler(request)
            found = self._check(request, response, handler)
        return self._result(response, found)

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """The same for `ainvoke` and `astream`; samples of a round are drawn together."""
        response = await handler(request)
        found = await self._acheck(request, response, handler)
        if found is not None and found.get("flagged") and self._action == "retry":
            request = _with_hint(request)
            response = await handler(request)
            found = await self._acheck(request, response, handler)
        return self._result(response, found)

    def _check(self, request: Any, response: Any, handler: Callable[[Any], Any]) -> dict[str, Any] | None:
        again = self._again(request)

        def ask(messages: list[dict[str, Any]], n: int, temperature: float) -> list[Sample]:
            return [_sample(_answer(handler(again)), self._sampling) for _ in range(n)]

        answer = _answer(response)
        if not _is_answer(answer):
            return None
        try:
            return self._bridge.check(_messages(request), answer=_text(answer), ask=ask).to_dict()
        except Exception as error:  # a check never costs the agent its answer
            return {"error": f"{type(error).__name__}: {error}"}

    async def _acheck(self, request: Any, response: Any, handler: Callable[[Any], Any]) -> Any:
        again = self._again(request)

        async def ask(messages: list[dict[str, Any]], n: int, temperature: float) -> list[Sample]:
            replies = await asyncio.gather(*(handler(again) for _ in range(n)))
            return [_sample(_answer(reply), self._sampling) for reply in replies]

        answer = _answer(response)
        if not _is_answer(answer):
            return None
        try:
            verdict = await self._bridge.acheck(_messages(request), answer=_text(answer), ask=ask)
            return verdict.to_dict()
        except Exception as error:
            return {"error": f"{type(error).__name__}: {error}"}

    def _again(self, request: Any) -> Any:
        return request.override(model_settings={**request.model_settings, **self._sampling})

    def _result(self, response: Any, found: dict[str, Any] | None) -> Any:
        if found is None:
            return response
        *before, last = response.result
        last.response_metadata[KEY] = found
        if found.get("flagged") and self._action == "withhold":
            last = AIMessage(self._refusal, id=last.id, response_metadata={KEY: found})
        model_response = ModelResponse(
            result=[*before, last], structured_response=response.structured_response
        )
        return ExtendedModelResponse(model_response=model_response, command=Command(update={KEY: found}))


def verdict_node(
    model: Any, *, out: str = KEY, sampling: Mapping[str, Any] | None = None, **options: Any
) -> Any:
    """A node for a plain LangGraph graph: the verdict on the last message of `state["messages"]`, under `out`.

    model     the chat model that gave the answer; it draws the samples
    sampling  its settings for samples
    options   those of `semtropy.check`, and `max_samples`
    """
    settings = {"temperature": 1.0} if sampling is None else dict(sampling)
    bridge = Bridge(**options)

    async def node(state: dict[str, Any]) -> dict[str, Any]:
        *before, answer = state["messages"]
        if not _is_answer(answer):
            return {out: None}
        sampler = model.bind(**settings)

        async def ask(messages: list[dict[str, Any]], n: int, temperature: float) -> list[Sample]:
            replies = await asyncio.gather(*(sampler.ainvoke(before) for _ in range(n)))
            return [_sample(reply, settings) for reply in replies]

        verdict = await bridge.acheck(convert_to_openai_messages(before), answer=_text(answer), ask=ask)
        return {out: verdict.to_dict()}

    return node


def _messages(request: Any) -> Sequence[dict[str, Any]]:
    system = [] if request.system_message is None else [request.system_message]
    found: Any = convert_to_openai_messages([*system, *request.messages])
    return found  # type: ignore[no-any-return]


def _with_hint(request: Any) -> Any:
    said = "" if request.system_message is None else f"{request.system_message.text}\n\n"
    return request.override(system_message=SystemMessage(said + SECOND_TRY))


def _answer(response: Any) -> Any:
    """The message that a handler returned: the last of a response, or the message itself."""
    return response.result[-1] if isinstance(response, ModelResponse) else response


def _is_answer(message: Any) -> bool:
    return isinstance(message, AIMessage) and not message.tool_calls


def _text(message: Any) -> str:
    return str(message.text)


def _sample(message: Any, sampling: Mapping[str, Any]) -> Sample:
    """A message as a sample; its log-probabilities count where it was drawn at temperature 1 without cuts."""
    meta = message.response_metadata
    whole = sampling.get("temperature") == 1 and sampling.get("top_p", 1) == 1 and not sampling.get("top_k")
    text = _text(message) or "".join(f"{call['name']}({call['args']})" for call in message.tool_calls)
    choice = {"message": {"content": text}, "logprobs": meta.get("logprobs")}
    choice["finish_reason"] = "stop" if message.tool_calls else meta.get("finish_reason")
    return chat_sample(choice, logprobs_of_sampling=whole)
