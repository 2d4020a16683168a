"""Passing an answer to the client together with its verdict, or a refusal in its place."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx

from ..errors import SemtropyError
from .errors import Problem, as_problem, error_body, error_kind
from .sse import AnswerReader, EventSplitter, answer_of, event, is_done

if TYPE_CHECKING:
    from .backends import BackendReply
    from .schemas import CompletionRequest
    from .service import Gateway, PendingCheck

__all__ = ["NO_TEXT", "AnswerProxy", "CheckOutcome", "verdict_headers"]

NO_TEXT = "the answer has no text to compare: nothing was checked"


@dataclass(frozen=True, slots=True)
class CheckOutcome:
    """The content of the key `semtropy` (a verdict, an error or why nothing was checked), and whether to block."""

    payload: dict[str, Any]
    blocked: bool = False


class AnswerProxy:
    """One answer on its way to the client, and its check."""

    def __init__(
        self, gateway: Gateway, request: CompletionRequest, reply: BackendReply, *, log_fields: dict[str, Any]
    ) -> None:
        self.gateway, self.settings, self.service = gateway, gateway.settings, gateway.service
        self.request, self.reply, self.log_fields = request, reply, log_fields
        self.mode = request.options.mode or self.settings.mode
        self.place = request.options.place or self.settings.place
        self._check: PendingCheck | None = None

    @contextmanager
    def checking(self) -> Iterator[None]:
        """Run the check while the answer arrives; leaving the block leaves the check."""
        request, question = self.request, self.request.question
        if question is None:
            yield
            return
        identity = [request.kind, request.model, request.answer_fields, request.max_tokens, request.key]
        model = self.gateway.backend.sampler(request)
        self._check = self.service.start(question, model, request.options, identity=identity, answered=True)
        with self._check.run.joined():
            yield

    async def whole(self) -> tuple[bytes, dict[str, str]]:
        """The body with its verdict, and the same as headers."""
        with self.checking():
            raw = await _all(self.reply)
            try:
                parsed = json.loads(raw)
            except ValueError:
                parsed = None
            outcome = await self.outcome(answer_of(parsed))
        headers = verdict_headers(outcome)
        if not isinstance(parsed, dict):
            return raw, headers
        if outcome.blocked:
            raw = json.dumps(refused(parsed, self.settings.refusal, self.request.kind)).encode()
        return (raw if self.place == "headers" else _spliced(raw, outcome.payload)), headers

    async def stream(self) -> AsyncIterator[bytes]:
        """The upstream's events as they come, the verdict before the one that ends the stream."""
        splitter, reader, done = EventSplitter(), AnswerReader(), b""
        with ExitStack() as stack:
            try:
                async for chunk in self.reply.chunks:
                    for raw in splitter.feed(chunk):
                        if is_done(raw):
                            done = raw
                            continue
                        yield raw
                        reader.feed(raw)
                        if (
                            self._check is None
                        ):  # only once the first token is out: it must not wait for the check
                            stack.enter_context(self.checking())
            except httpx.HTTPError as error:
                self.service.metrics.errors.labels("upstream_cut").inc()
                yield _cut(error)
                return
            finally:
                await self.reply.close()
            if is_done(splitter.rest):
                done, splitter.rest = splitter.rest, b""
            if splitter.rest:
                yield splitter.rest
            yield self._last(reader, await self.outcome(reader.answer))
            yield done

    async def held_stream(self) -> tuple[bytes, dict[str, str]]:
        """The whole stream once the verdict is known, or a refusal as a stream; and the verdict's headers."""
        splitter, reader = EventSplitter(), AnswerReader()
        with self.checking():
            raw = await _all(self.reply)
            events = [*splitter.feed(raw), splitter.rest]
            for each in events:
                reader.feed(each)
            outcome = await self.outcome(reader.answer)
        if outcome.blocked:
            refusal = _refused_chunks(reader.first, self.settings.refusal, self.request.kind)
            events = [event(chunk) for chunk in refusal]
        passed = [each for each in events if not is_done(each)]
        whole = b"".join([*passed, self._last(reader, outcome), b"data: [DONE]\n\n"])
        return whole, verdict_headers(outcome)

    async def outcome(self, answer: str | None) -> CheckOutcome:
        """The verdict on `answer`, or the reason why there is none."""
        if self._check is None or answer is None:
            self.log_fields["skipped"] = True
            return CheckOutcome({"skipped": NO_TEXT})
        try:
            verdict = await self.service.verdict(self._check, answer)
        except SemtropyError as error:
            self.log_fields["check"] = error_kind(error)
            payload = {"error": {"kind": error_kind(error), "message": as_problem(error).message}}
            return self._judged(payload, withhold=self.settings.on_error == "block")
        self.log_fields |= {
            "flagged": verdict.flagged,
            "samples": verdict.samples,
            "source": self._check.source,
        }
        return self._judged(verdict.to_dict() | {"source": self._check.source}, withhold=verdict.flagged)

    def _judged(self, payload: dict[str, Any], *, withhold: bool) -> CheckOutcome:
        blocked = self.mode == "block" and withhold
        if blocked:
            self.log_fields["blocked"] = True
            self.service.metrics.blocked.inc()
            # The withheld answer must not reach the client through the verdict.
            payload = {**payload, "answer": None} if "answer" in payload else payload
            if "meanings" in payload:
                payload["meanings"] = [
                    {**meaning, "text": None, "wordings": []} for meaning in payload["meanings"]
                ]
        return CheckOutcome({**payload, "mode": self.mode, "blocked": blocked}, blocked)

    def _last(self, reader: AnswerReader, outcome: CheckOutcome) -> bytes:
        if self.place == "headers":  # headers are sent already: a comment, which readers of events ignore
            return f": semtropy {json.dumps(outcome.payload)}\n\n".encode()
        return event({**reader.first, "choices": [], "semtropy": outcome.payload})


def verdict_headers(outcome: CheckOutcome) -> dict[str, str]:
    """The verdict in headers."""
    payload = outcome.payload
    if "entropy" not in payload:
        return {"X-Semtropy-Verdict": "none"}
    headers = {
        "X-Semtropy-Verdict": "flagged" if payload["flagged"] else "steady",
        "X-Semtropy-Entropy": f"{payload['entropy']['mean']:.6g}",
        "X-Semtropy-Samples": str(payload["samples"]),
        "X-Semtropy-Blocked": "true" if outcome.blocked else "false",
    }
    if payload["probability"] is not None:
        headers["X-Semtropy-Probability"] = f"{payload['probability']:.6g}"
    return headers


def refused(reply: dict[str, Any], refusal: str, kind: str) -> dict[str, Any]:
    """The completion with the refusal as its only answer, without log-probabilities and alternatives."""
    said: dict[str, Any] = {"text": refusal}
    if kind == "chat":
        said = {"message": {"role": "assistant", "content": refusal, "refusal": None}}
    kept: dict[str, Any] = {
        name: reply[name] for name in ("id", "object", "created", "model", "usage") if name in reply
    }
    return {**kept, "choices": [{"index": 0, **said, "logprobs": None, "finish_reason": "content_filter"}]}


def _refused_chunks(frame: dict[str, Any], refusal: str, kind: str) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = [{"text": refusal}, {"text": ""}]
    if kind == "chat":
        parts = [{"delta": {"role": "assistant", "content": refusal}}, {"delta": {}}]
    return [
        {**frame, "choices": [{"index": 0, **part, "logprobs": None, "finish_reason": finish}]}
        for part, finish in zip(parts, (None, "content_filter"), strict=True)
    ]


async def _all(reply: BackendReply) -> bytes:
    try:
        return b"".join([chunk async for chunk in reply.chunks])
    except httpx.HTTPError as error:
        raise Problem(502, f"the upstream broke off ({type(error).__name__})", "upstream_error") from None
    finally:
        await reply.close()


def _spliced(raw: bytes, payload: dict[str, Any]) -> bytes:
    """The bytes of a JSON object with the key `semtropy` appended; all other bytes stay the same."""
    head = raw.rstrip()[:-1].rstrip()
    comma = b"" if head == b"{" else b","
    return (
        head
        + comma
        + b'"semtropy":'
        + json.dumps(payload, ensure_ascii=False, allow_nan=False).encode()
        + b"}"
    )


def _cut(error: Exception) -> bytes:
    return event(
        error_body(Problem(502, f"the upstream broke off ({type(error).__name__})", "upstream_error"))
    )
