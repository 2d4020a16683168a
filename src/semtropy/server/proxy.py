"""Passing an answer to the client together with its verdict, or a refusal in its place.

Whatever goes wrong in a check, the client gets its answer: every failure of the check becomes `{"error": ...}`.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from .errors import Problem, as_problem, error_body, error_kind
from .sse import EventSplitter, event
from .withholding import is_withheld, withheld_verdict

if TYPE_CHECKING:
    from ..nouns import Sample
    from ..verdict import Verdict
    from .backends import BackendReply
    from .dialects import ReadAnswer, StreamReader
    from .requests import CompletionRequest
    from .service import Gateway, PendingCheck

__all__ = ["NO_TEXT", "AnswerProxy", "CheckOutcome", "PassedReply", "verdict_headers"]

NO_TEXT = "the answer has no text to compare: nothing was checked"
TOO_LONG = "the answer is too long to be checked"


@dataclass(frozen=True, slots=True)
class CheckOutcome:
    """The content of the key `semtropy` (a verdict, an error or why nothing was checked), and whether to block."""

    payload: dict[str, Any]
    blocked: bool = False


@dataclass(frozen=True, slots=True)
class PassedReply:
    """A body that was held back for its verdict; `rest` is what follows of one that is too long to hold."""

    body: bytes
    headers: dict[str, str]
    rest: AsyncIterator[bytes] | None = None


class AnswerProxy:
    """One answer on its way to the client, and its check."""

    def __init__(
        self, gateway: Gateway, request: CompletionRequest, reply: BackendReply, *, log_fields: dict[str, Any]
    ) -> None:
        self.gateway, self.settings, self.service = gateway, gateway.settings, gateway.service
        self.request, self.reply, self.log_fields = request, reply, log_fields
        self.mode = request.options.mode or self.settings.mode
        self.place = request.options.place or self.settings.place
        self.dialect = request.dialect
        self._started = False
        self._check: PendingCheck | None = None
        self._failure: Exception | None = None

    def _start(self, stack: ExitStack) -> None:
        """Start the check, unless it is under way; when the stack unwinds, it is left."""
        if self._started:
            return
        try:
            self._check = self._started_check()
        except Exception as error:
            self.service.count_failure(error)
            self._started, self._failure = True, error
        if self._check is not None:
            self._started = True
            stack.enter_context(self._check.run.joined())

    def _started_check(self) -> PendingCheck | None:
        """The check of this answer, None where samples are not wanted or would do more than answer."""
        request, prompt, budget = self.request, self.request.prompt, self.request.options.budget
        none_wanted = budget is not None and budget.samples == 0
        if prompt is None or none_wanted or request.unchecked is not None:
            return None
        fields, caller = request.answer_fields, request.caller
        return self.service.start(
            prompt,
            self.gateway.backend.sampler(request),
            request.options,
            structure=request.structure,
            identity=[request.kind, request.model, fields, request.max_tokens, caller.identity],
            answered=True,
        )

    async def whole(self) -> PassedReply:
        """The body with its verdict, and the same as headers."""
        with ExitStack() as stack:
            held = await self._held()
            if held.rest is not None:
                return held
            raw = held.body
            parsed = _parsed(raw)
            outcome = await self.outcome(lambda: self.dialect.answer(parsed), stack)
        headers = verdict_headers(outcome)
        if parsed is None and outcome.blocked:
            raise Problem(502, "the upstream's reply is not JSON, so it cannot be checked", "upstream_error")
        if parsed is None:
            return PassedReply(raw, headers)
        if outcome.blocked:
            raw = json.dumps(self.dialect.refusal(parsed, self.settings.refusal)).encode()
        return PassedReply(raw if self.place == "headers" else _spliced(raw, outcome.payload), headers)

    async def stream(self) -> AsyncIterator[bytes]:
        """The upstream's events as they come, the verdict before the one that ends the stream."""
        splitter, reader, last = EventSplitter(), self.dialect.reader(), b""
        with ExitStack() as stack:
            try:
                async for chunk in self.reply.unpacked():
                    for raw in splitter.feed(chunk):
                        reader.feed(raw)
                        if self.dialect.ends(raw):
                            last = raw
                            continue
                        yield raw
                        self._start(stack)  # only once the first token is out: it must not wait for the check
            except Exception as error:
                self.service.metrics.errors.labels("upstream_cut").inc()
                yield event(error_body(_cut(error)))
                return
            finally:
                await self.reply.close()
            rest = splitter.take()
            reader.feed(rest)
            if self.dialect.ends(rest):
                last, rest = rest, b""
            if rest:
                # An event without its blank line: the verdict must not become part of it.
                yield rest if rest.endswith((b"\n\n", b"\r\n\r\n", b"\r\r")) else rest + b"\n\n"
            yield self._last(reader, last, await self.outcome(reader.answer, stack))

    async def held_stream(self) -> PassedReply:
        """The whole stream once the verdict is known, or a refusal as a stream; and the verdict's headers."""
        splitter, reader, last = EventSplitter(), self.dialect.reader(), b""
        with ExitStack() as stack:
            self._start(stack)
            held = await self._held()
            if held.rest is not None:
                return held
            events = [*splitter.feed(held.body), splitter.take()]
            for each in events:
                reader.feed(each)
            outcome = await self.outcome(reader.answer, stack)
        if outcome.blocked:
            passed, last = self.dialect.refusal_events(reader, self.settings.refusal)
        else:
            passed = [each for each in events if not self.dialect.ends(each)]
            last = next((each for each in events if self.dialect.ends(each)), b"")
        whole = b"".join([*passed, self._last(reader, last, outcome)])
        return PassedReply(whole, verdict_headers(outcome))

    async def _held(self) -> PassedReply:
        """The whole body, or for one above `max_reply` its beginning and the rest as it comes."""
        chunks, parts, size = self.reply.unpacked(), [], 0
        try:
            async for chunk in chunks:
                parts.append(chunk)
                size += len(chunk)
                if size > self.settings.max_reply:
                    return self._too_long(b"".join(parts), chunks)
        except Exception as error:
            await self.reply.close()
            raise _cut(error) from None
        await self.reply.close()
        return PassedReply(b"".join(parts), {})

    def _too_long(self, body: bytes, chunks: AsyncIterator[bytes]) -> PassedReply:
        """An answer above `max_reply`: passed on unchecked, or refused where answers that fail are blocked."""
        self.log_fields["skipped"] = True
        if self.mode == "block" and self.settings.on_error == "block":
            raise Problem(502, TOO_LONG, "upstream_error")

        async def rest() -> AsyncIterator[bytes]:
            try:
                async for chunk in chunks:
                    yield chunk
            finally:
                await self.reply.close()

        return PassedReply(body, {"X-Semtropy-Verdict": "none"}, rest())

    async def outcome(self, answered: Callable[[], ReadAnswer | None], stack: ExitStack) -> CheckOutcome:
        """The verdict on an answer, or the reason why there is none; samples are drawn only if they are needed."""
        try:
            read, question, unchecked = answered(), self.request.question, self.request.unchecked
            if read is None or question is None or unchecked is not None:
                return self._skipped(unchecked or NO_TEXT)
            answer = self.gateway.backend.weighed(self.request, read.sample)
            verdict, source = await self._verdict(question, answer, stack)
            payload = verdict.to_dict() | {"source": source, "finish_reason": read.finish}
            json.dumps(payload, allow_nan=False)  # what cannot be written must fail here, not in the reply
        except Exception as error:
            self.log_fields["check"] = error_kind(error)
            payload = {"error": {"kind": error_kind(error), "message": as_problem(error).message}}
            return self._judged(payload, withhold=self.settings.on_error == "block")
        self.log_fields |= {
            "flagged": verdict.flagged,
            "samples": verdict.samples,
            "source": source,
        }
        return self._judged(payload, withhold=is_withheld(verdict, self.settings))

    def _skipped(self, why: str) -> CheckOutcome:
        """An answer that is not checked: passed on, or withheld where answers whose check fails are."""
        self.log_fields["skipped"] = True
        withhold = self.mode == "block" and self.settings.on_error == "block"
        return self._judged({"skipped": why}, withhold=True) if withhold else CheckOutcome({"skipped": why})

    async def _verdict(self, question: str, answer: Sample, stack: ExitStack) -> tuple[Verdict, str]:
        if not self._started:
            alone = await self.service.judge_alone(
                question, answer, self.request.options, structure=self.request.structure
            )
            if alone is not None:
                return alone, "new"
            self._start(stack)
        if self._failure is not None:
            raise self._failure
        assert self._check is not None
        return await self.service.verdict(self._check, answer), self._check.source

    def _judged(self, payload: dict[str, Any], *, withhold: bool) -> CheckOutcome:
        blocked = self.mode == "block" and withhold
        if blocked:
            self.log_fields["blocked"] = True
            self.service.metrics.blocked.inc()
            body = self.request.body
            payload = withheld_verdict(payload, [body.get("response_format"), body.get("text")])
        return CheckOutcome({**payload, "mode": self.mode, "blocked": blocked}, blocked)

    def _last(self, reader: StreamReader, last: bytes, outcome: CheckOutcome) -> bytes:
        if self.place == "headers":  # headers are sent already: a comment, which readers of events ignore
            return f": semtropy {json.dumps(outcome.payload)}\n\n".encode() + last
        return self.dialect.ending(reader, last, outcome.payload)


def verdict_headers(outcome: CheckOutcome) -> dict[str, str]:
    """The verdict in headers."""
    payload = outcome.payload
    if "entropy" not in payload:
        return {"X-Semtropy-Verdict": "none"}
    headers = {
        "X-Semtropy-Verdict": payload["outcome"],
        "X-Semtropy-Entropy": f"{payload['entropy']['mean']:.6g}",
        "X-Semtropy-Samples": str(payload["samples"]),
        "X-Semtropy-Blocked": "true" if outcome.blocked else "false",
    }
    if "untrusted" in payload:  # models may invent names: escaped, and bounded in number and length
        names = (quote(name, safe=".[]+#", errors="replace")[:100] for name in payload["untrusted"][:20])
        headers["X-Semtropy-Untrusted"] = ",".join(names)
    if payload["probability"] is not None:
        headers["X-Semtropy-Probability"] = f"{payload['probability']:.6g}"
    return headers


def _parsed(raw: bytes) -> dict[str, Any] | None:
    """The JSON object in a reply; None for anything else, also in another encoding, to which nothing can be added."""
    try:
        parsed = json.loads(raw.decode())
    except (ValueError, RecursionError):
        return None
    return parsed if isinstance(parsed, dict) else None


def _spliced(raw: bytes, payload: dict[str, Any]) -> bytes:
    """The bytes of a JSON object with the key `semtropy` appended; all other bytes stay the same."""
    head = raw.rstrip()[:-1].rstrip()
    comma = b"" if head == b"{" else b","
    return head + comma + b'"semtropy":' + json.dumps(payload, allow_nan=False).encode() + b"}"


def _cut(error: Exception) -> Problem:
    if isinstance(error, Problem):
        return error
    return Problem(502, f"the upstream broke off ({type(error).__name__})", "upstream_error")
