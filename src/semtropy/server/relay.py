"""Passing an answer on with its verdict: beside it, after it, or instead of it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx

from ..errors import SemtropyError
from .events import AnswerReader, Splitter, answer_of, event, is_done
from .failures import Problem, body, kind_of, problem_of

if TYPE_CHECKING:
    from .desk import Order
    from .exchange import Incoming, Reply
    from .state import State

__all__ = ["NO_TEXT", "Finding", "Relay", "verdict_headers"]

NO_TEXT = "the answer has no text to compare: nothing was checked"


@dataclass(frozen=True, slots=True)
class Finding:
    """What goes under `semtropy`, and whether the answer is withheld."""

    told: dict[str, Any]
    blocked: bool = False


class Relay:
    """One answer on its way to the client."""

    def __init__(self, state: State, incoming: Incoming, reply: Reply, *, facts: dict[str, Any]) -> None:
        self.state, self.settings, self.desk = state, state.settings, state.desk
        self.incoming, self.reply, self.facts = incoming, reply, facts
        self.mode = incoming.choices.mode or self.settings.mode
        self.place = incoming.choices.place or self.settings.place
        self._order: Order | None = None

    @contextmanager
    def checking(self) -> Iterator[None]:
        """The check runs while the answer is on its way; a client that leaves takes its part of it along."""
        incoming, question = self.incoming, self.incoming.question
        if question is None:
            yield
            return
        about = [incoming.kind, incoming.model, incoming.about, incoming.max_tokens, incoming.key]
        model = self.state.backend.sampler(incoming)
        self._order = self.desk.order(question, model, incoming.choices, about=about, given=True)
        with self._order.run.joined():
            yield

    async def whole(self) -> tuple[bytes, dict[str, str]]:
        """The body with its verdict, and the headers that say the same."""
        with self.checking():
            raw = await _all(self.reply)
            try:
                parsed = json.loads(raw)
            except ValueError:
                parsed = None
            finding = await self.finding(answer_of(parsed))
        headers = verdict_headers(finding)
        if not isinstance(parsed, dict):
            return raw, headers
        if finding.blocked:
            raw = json.dumps(refused(parsed, self.settings.refusal, self.incoming.kind)).encode()
        return (raw if self.place == "headers" else _spliced(raw, finding.told)), headers

    async def stream(self) -> AsyncIterator[bytes]:
        """The upstream's events as they come, the verdict before the one that ends the stream."""
        splitter, reader, done = Splitter(), AnswerReader(), b""
        with ExitStack() as stack:
            try:
                async for chunk in self.reply.chunks:
                    for raw in splitter.feed(chunk):
                        if is_done(raw):
                            done = raw
                            continue
                        yield raw
                        reader.feed(raw)
                        if self._order is None:  # not before the first token is out: it must not wait for us
                            stack.enter_context(self.checking())
            except httpx.HTTPError as error:
                self.desk.metrics.errors.labels("upstream_cut").inc()
                yield _cut(error)
                return
            finally:
                await self.reply.close()
            if is_done(splitter.rest):
                done, splitter.rest = splitter.rest, b""
            if splitter.rest:
                yield splitter.rest
            yield self._last(reader, await self.finding(reader.answer))
            yield done

    async def held_stream(self) -> tuple[bytes, dict[str, str]]:
        """The whole stream once it may pass, or a refusal in its form; and the headers, which can wait for it too."""
        splitter, reader = Splitter(), AnswerReader()
        with self.checking():
            raw = await _all(self.reply)
            events = [*splitter.feed(raw), splitter.rest]
            for each in events:
                reader.feed(each)
            finding = await self.finding(reader.answer)
        if finding.blocked:
            refusal = _refused_chunks(reader.first, self.settings.refusal, self.incoming.kind)
            events = [event(chunk) for chunk in refusal]
        passed = [each for each in events if not is_done(each)]
        whole = b"".join([*passed, self._last(reader, finding), b"data: [DONE]\n\n"])
        return whole, verdict_headers(finding)

    async def finding(self, answer: str | None) -> Finding:
        """The verdict on `answer`, or why there is none."""
        if self._order is None or answer is None:
            self.facts["skipped"] = True
            return Finding({"skipped": NO_TEXT})
        try:
            verdict = await self.desk.verdict(self._order, answer)
        except SemtropyError as error:
            self.facts["check"] = kind_of(error)
            told = {"error": {"kind": kind_of(error), "message": problem_of(error).message}}
            return self._judged(told, withhold=self.settings.on_error == "block")
        self.facts |= {"flagged": verdict.flagged, "samples": verdict.samples, "source": self._order.source}
        return self._judged(verdict.to_dict() | {"source": self._order.source}, withhold=verdict.flagged)

    def _judged(self, told: dict[str, Any], *, withhold: bool) -> Finding:
        blocked = self.mode == "block" and withhold
        if blocked:
            self.facts["blocked"] = True
            self.desk.metrics.blocked.inc()
            # What is withheld must not come through beside the refusal.
            told = {**told, "answer": None} if "answer" in told else told
            if "meanings" in told:
                told["meanings"] = [{**meaning, "text": None} for meaning in told["meanings"]]
        return Finding({**told, "mode": self.mode, "blocked": blocked}, blocked)

    def _last(self, reader: AnswerReader, finding: Finding) -> bytes:
        if self.place == "headers":  # they are long gone: a comment, which every reader of events passes over
            return f": semtropy {json.dumps(finding.told)}\n\n".encode()
        return event({**reader.first, "choices": [], "semtropy": finding.told})


def verdict_headers(finding: Finding) -> dict[str, str]:
    """The verdict in headers."""
    told = finding.told
    if "entropy" not in told:
        return {"X-Semtropy-Verdict": "none"}
    headers = {
        "X-Semtropy-Verdict": "flagged" if told["flagged"] else "steady",
        "X-Semtropy-Entropy": f"{told['entropy']['mean']:.6g}",
        "X-Semtropy-Samples": str(told["samples"]),
        "X-Semtropy-Blocked": "true" if finding.blocked else "false",
    }
    if told["probability"] is not None:
        headers["X-Semtropy-Probability"] = f"{told['probability']:.6g}"
    return headers


def refused(reply: dict[str, Any], refusal: str, kind: str) -> dict[str, Any]:
    """The reply with the refusal as its only answer; log-probabilities and alternatives would give it away."""
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


async def _all(reply: Reply) -> bytes:
    try:
        return b"".join([chunk async for chunk in reply.chunks])
    except httpx.HTTPError as error:
        raise Problem(502, f"the upstream broke off ({type(error).__name__})", "upstream_error") from None
    finally:
        await reply.close()


def _spliced(raw: bytes, told: dict[str, Any]) -> bytes:
    """The bytes of a JSON object with one more key at its end; those before it stay as they are."""
    head = raw.rstrip()[:-1].rstrip()
    comma = b"" if head == b"{" else b","
    return (
        head + comma + b'"semtropy":' + json.dumps(told, ensure_ascii=False, allow_nan=False).encode() + b"}"
    )


def _cut(error: Exception) -> bytes:
    return event(body(Problem(502, f"the upstream broke off ({type(error).__name__})", "upstream_error")))
