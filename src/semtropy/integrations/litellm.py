"""LiteLLM: a guardrail for the proxy that checks each answer, with samples drawn by the proxy's own router."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from ..errors import needs
from ..models.replies import chat_sample, with_usage
from ..stopping import Budget
from ..tracing import event_attributes
from .bridge import Bridge

with needs("litellm", extra="litellm"):
    import litellm
    from litellm.integrations.custom_guardrail import CustomGuardrail
    from litellm.types.guardrails import GuardrailEventHooks
    from litellm.types.utils import Delta, ModelResponse, ModelResponseStream, StreamingChoices

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from ..nouns import Sample

__all__ = ["SemtropyGuardrail"]

REFUSAL = "I am not sure enough of the answer to give it."
KEY = "semtropy"
# Keys of `litellm_params` that are ours; LiteLLM passes its own defaults too.
OPTIONS = ("judge", "estimator", "prior", "threshold", "calibration")
# What shapes an answer: samples are drawn with it. Temperature, seed and log-probabilities are set by the check.
SHAPING = (
    "max_tokens", "max_completion_tokens", "stop", "response_format", "tools", "tool_choice",
    "reasoning_effort", "user",
)  # fmt: skip


class SemtropyGuardrail(CustomGuardrail):
    """Checks answers of chat completions after the call; `mode: post_call` in the proxy's configuration.

    withhold     whether flagged answers are replaced by the refusal
    refusal      what is said instead
    max_samples  the most samples of a check
    max_seconds  the most seconds of a check
    options      `judge`, `estimator`, `prior`, `threshold`, `calibration`, as in `semtropy.check`

    The verdict is `semtropy` in the reply and a header `x-semtropy-verdict`; LiteLLM's logs have its numbers. A tool
    call is no answer and passes. If a check fails, the answer passes.
    """

    def __init__(
        self,
        *,
        withhold: bool = False,
        refusal: str = REFUSAL,
        max_samples: int = 10,
        max_seconds: float | None = 30.0,
        **kwargs: Any,
    ) -> None:
        ours = {name: kwargs.pop(name) for name in OPTIONS if kwargs.get(name) is not None}
        super().__init__(**kwargs)
        self._withhold, self._refusal = withhold, refusal
        self._bridge = Bridge(budget=Budget(samples=int(max_samples), seconds=max_seconds), **ours)
        self._plain: set[str] = set()  # models that refused `n` or `logprobs`

    async def async_post_call_success_hook(
        self, data: dict[str, Any], user_api_key_dict: Any, response: Any
    ) -> Any:
        """Check a whole reply."""
        if not isinstance(response, ModelResponse) or not response.choices:
            return None
        message = response.choices[0].message
        if not data.get("messages") or not message.content or message.tool_calls:
            return None
        found = await self._check(data, message.content)
        response.semtropy = found
        if self._withhold and found.get("flagged"):
            message.content = self._refusal
            response.choices[0].finish_reason = "content_filter"
            response.choices[0].logprobs = None
        return response

    async def async_post_call_streaming_iterator_hook(
        self, user_api_key_dict: Any, response: Any, request_data: dict[str, Any]
    ) -> AsyncIterator[Any]:
        """Pass a stream on as it comes, then one chunk with the verdict; to withhold, wait for the verdict first."""
        runs = self.should_run_guardrail(data=request_data, event_type=GuardrailEventHooks.post_call)
        text, tools, held, last = "", False, [], None
        async for chunk in response:
            delta = chunk.choices[0].delta if getattr(chunk, "choices", None) else None
            text += getattr(delta, "content", None) or ""
            tools = tools or bool(getattr(delta, "tool_calls", None))
            last = chunk if delta is not None else last
            if runs is True and self._withhold:
                held.append(chunk)
            else:
                yield chunk
        found = None
        if runs is True and text and not tools and request_data.get("messages"):
            found = await self._check(request_data, text)
        if found is not None and self._withhold and found.get("flagged"):
            yield _chunk(last, found, content=self._refusal, finish="content_filter")
            return
        for chunk in held:
            yield chunk
        if found is not None:
            yield _chunk(last, found)

    async def async_post_call_response_headers_hook(
        self, data: dict[str, Any], user_api_key_dict: Any, response: Any, **more: Any
    ) -> dict[str, str] | None:
        """The verdict in a header, for clients that drop unknown keys."""
        found = getattr(response, KEY, None)
        if not isinstance(found, dict) or "outcome" not in found:
            return None
        return {"x-semtropy-verdict": found["outcome"], "x-semtropy-samples": str(found["samples"])}

    async def _check(self, data: dict[str, Any], answer: str) -> dict[str, Any]:
        async def ask(messages: list[dict[str, Any]], n: int, temperature: float) -> list[Sample]:
            return await self._draw(data, n)

        started = time.time()
        try:
            verdict = await self._bridge.acheck(data["messages"], answer=answer, ask=ask)
        except Exception as error:  # a check never costs the client its answer
            self._log(data, {"error": type(error).__name__}, "guardrail_failed_to_respond", started)
            return {"error": f"{type(error).__name__}: {error}"}
        withheld = "guardrail_intervened" if self._withhold else "guardrail_flagged"
        status = withheld if verdict.flagged else "success"
        self._log(data, event_attributes(verdict), status, started)
        return verdict.to_dict()

    async def _draw(self, data: Mapping[str, Any], n: int) -> list[Sample]:
        """`n` samples by the router, which runs no guardrails: in one request, or one each where that is refused."""
        body = {name: data[name] for name in SHAPING if data.get(name) is not None}
        body |= {"model": data["model"], "messages": data["messages"], "temperature": 1.0, "num_retries": 0}
        call = _completion()
        if data["model"] not in self._plain:
            try:
                return _samples(await call(**body, n=n, logprobs=True))
            except litellm.BadRequestError:
                self._plain.add(data["model"])
        replies = await asyncio.gather(*(call(**body) for _ in range(n)))
        return [sample for reply in replies for sample in _samples(reply)]

    def _log(self, data: dict[str, Any], said: dict[str, Any], status: Any, started: float) -> None:
        ended = time.time()
        score = said.get("gen_ai.evaluation.score.value")
        self.add_standard_logging_guardrail_information_to_request_data(
            guardrail_json_response=said,
            request_data=data,
            guardrail_status=status,
            start_time=started,
            end_time=ended,
            duration=ended - started,
            event_type=GuardrailEventHooks.post_call,
            tracing_detail={"detection_method": "semantic_entropy"}
            | ({} if score is None else {"confidence_score": score}),
        )


def _completion() -> Any:
    """The router's completion in the proxy, LiteLLM's own elsewhere."""
    try:
        from litellm.proxy.proxy_server import llm_router
    except ImportError:
        llm_router = None
    return litellm.acompletion if llm_router is None else llm_router.acompletion


def _samples(reply: Any) -> list[Sample]:
    body = reply.model_dump()
    drawn = [chat_sample(choice) for choice in body["choices"]]
    return with_usage(drawn, body.get("usage"))


def _chunk(last: Any, found: dict[str, Any], *, content: str | None = None, finish: str | None = None) -> Any:
    """One more chunk after `last`, with the verdict."""
    choice = StreamingChoices(index=0, delta=Delta(content=content), finish_reason=finish)
    return ModelResponseStream(
        id=last.id,
        created=last.created,
        model=last.model,
        choices=[choice],
        provider_specific_fields={},  # else a quick serializer is taken, which drops keys that it does not know
        **{KEY: found},
    )
