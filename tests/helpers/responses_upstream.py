"""A loopback upstream that speaks OpenAI's responses API, from its documentation."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable
from typing import Any

__all__ = ["ResponsesUpstream"]


class ResponsesUpstream:
    """An ASGI application. `answers(question)` is a distribution over texts, or over lists of function calls as JSON.

    It refuses what the documented API does not take (`n`, `seed`, `max_tokens`, ...), and what `refuses` names, as
    reasoning models do. What it was asked is kept in `requests`, other paths in `others`.
    """

    KNOWN = frozenset(
        {
            "model",
            "input",
            "instructions",
            "temperature",
            "top_p",
            "max_output_tokens",
            "stream",
            "text",
            "tools",
        }
        | {
            "tool_choice",
            "store",
            "include",
            "previous_response_id",
            "conversation",
            "background",
            "metadata",
        }
        | {"reasoning", "top_logprobs", "truncation", "user", "parallel_tool_calls", "prompt"}
    )

    def __init__(
        self,
        answers: Callable[[str], dict[str, float]],
        *,
        refuses: tuple[str, ...] = (),
        status: str = "completed",
        broken: bool = False,
    ) -> None:
        self.answers, self.refuses, self.status, self.broken = answers, refuses, status, broken
        self.requests: list[dict[str, Any]] = []
        self.others: list[tuple[str, str, str, dict[str, str], bytes]] = []

    @property
    def samples(self) -> int:
        """The requests that do not store their answer."""
        return sum(body.get("store") is False for body in self.requests)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        raw, more = b"", True
        while more:
            message = await receive()
            raw, more = raw + message.get("body", b""), message.get("more_body", False)
        if scope["path"] != "/v1/responses" or scope["method"] != "POST":
            headers = {name.decode(): value.decode("latin-1") for name, value in scope["headers"]}
            query = scope["query_string"].decode()
            self.others.append((scope["method"], scope["path"], query, headers, raw))
            await _send(send, 201, b"application/json", json.dumps({"seen": scope["path"]}).encode())
            return
        body = json.loads(raw)
        self.requests.append(body)
        wrong = [name for name in body if name not in self.KNOWN or name in self.refuses]
        if wrong:
            error = {"message": f"Unsupported parameter: '{wrong[0]}'", "param": wrong[0], "code": None}
            await _send(send, 400, b"application/json", json.dumps({"error": error}).encode())
            return
        response = self._response(body)
        if not body.get("stream"):
            await _send(send, 200, b"application/json", json.dumps(response).encode())
            return
        events = _events(response)
        text = b"".join(events[:-1] if self.broken else events)
        await _send(send, 200, b"text/event-stream", text)

    def _response(self, body: dict[str, Any]) -> dict[str, Any]:
        asked = body.get("input")
        question = asked if isinstance(asked, str) else json.dumps(asked)
        spread = self.answers(question)
        cold = body.get("temperature", 1.0) < 1
        rng = random.Random(len(self.requests))
        text = (
            max(spread, key=spread.__getitem__)
            if cold
            else rng.choices(list(spread), list(spread.values()))[0]
        )
        calls = json.loads(text) if text.startswith("[") else None
        if calls is None:
            part: dict[str, Any] = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
            if "message.output_text.logprobs" in body.get("include", ()):
                entry = {"token": text, "logprob": math.log(spread[text]), "bytes": list(text.encode())}
                part["logprobs"] = [{**entry, "top_logprobs": []}]
            output = [
                {
                    "id": "msg_1",
                    "type": "message",
                    "role": "assistant",
                    "status": "completed",
                    "content": [part],
                }
            ]
        else:
            output = [
                {"id": f"fc_{k}", "type": "function_call", "call_id": f"c{k}", "status": "completed", **call}
                for k, call in enumerate(calls)
            ]
        cut = {"reason": "max_output_tokens"} if self.status == "incomplete" else None
        details = {
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 0},
        }
        return {
            "id": f"resp_{len(self.requests)}",
            "object": "response",
            "created_at": 1.0,
            "status": self.status,
            "incomplete_details": cut,
            "error": None,
            "instructions": body.get("instructions"),
            "model": body["model"],
            "output": [{"id": "rs_1", "type": "reasoning", "summary": []}, *output],
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": body.get("tools", []),
            "usage": {"input_tokens": 9, "output_tokens": 4, "total_tokens": 13, **details},
        }


def _events(response: dict[str, Any]) -> list[bytes]:
    item = response["output"][-1]
    begun = {**response, "status": "in_progress", "output": [], "usage": None}
    steps: list[dict[str, Any]] = [{"type": "response.created", "response": begun}]
    steps.append(
        {"type": "response.output_item.added", "output_index": 1, "item": {**item, "status": "in_progress"}}
    )
    if item["type"] == "message":
        part = item["content"][0]
        where = {"item_id": item["id"], "output_index": 1, "content_index": 0}
        words = part["text"].split(" ")
        for place, word in enumerate(words):
            delta = word if place == 0 else f" {word}"
            steps.append({"type": "response.output_text.delta", **where, "delta": delta, "logprobs": []})
        steps.append({"type": "response.output_text.done", **where, "text": part["text"], "logprobs": []})
    else:
        where = {"item_id": item["id"], "output_index": 1}
        done = {"type": "response.function_call_arguments.done", "arguments": item["arguments"]}
        steps.append({**done, **where, "name": item["name"]})
    steps.append({"type": "response.output_item.done", "output_index": 1, "item": item})
    steps.append({"type": f"response.{response['status']}", "response": response})
    return [
        f"event: {step['type']}\ndata: {json.dumps({**step, 'sequence_number': number})}\n\n".encode()
        for number, step in enumerate(steps)
    ]


async def _send(send: Any, status: int, kind: bytes, content: bytes) -> None:
    headers = [(b"content-type", kind), (b"x-upstream", b"scripted")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": content})
