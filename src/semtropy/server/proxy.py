"""Passing an answer to the client together with its verdict, or a refusal in its place.

Whatever goes wrong in a check, the client gets its answer: every failure of the check becomes `{"error": ...}`.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ..models.endpoint import parsed_reply
from ..verdict import ClaimVerdict, Outcome
from .dialects import Replacement
from .errors import Problem, as_problem, error_body, error_kind
from .requests import parts_of
from .settings import HOLDING
from .sse import EventSplitter, event, spliced

if TYPE_CHECKING:
    from ..nouns import Sample
    from ..verdict import Verdict
    from .backends import BackendReply
    from .checks import PendingCheck
    from .dialects import ReadAnswer
    from .gateway import Gateway
    from .requests import CompletionRequest
    from .settings import Settings


# What is said of an answer that is withheld: nothing that the model wrote.


_PARTS = re.compile(r"\[\d*\]|\.")
_TEXTS: dict[str, Any] = dict.fromkeys(("answer", "text", "instead", "value", "sentence"))
_TEXTS |= {"wordings": [], "answers": []}
"""Keys of a verdict that quote the model, and what they have where nothing is quoted."""
_OWN = frozenset({"answer", "content", "tool"})
"""Names of fields that no schema declares: those of a whole answer, and of the tool that is called."""


def allowed_text(text: str, verdict: Verdict, mode: str, settings: Settings) -> str | None:
    """What mode `block` or `trim` lets through of an answer: all of it, its steady claims, or nothing."""
    if mode == "trim" and any(claim.outcome is not Outcome.STEADY for claim in verdict.claims):
        return trimmed(text, verdict.claims) or None
    undecided = verdict.outcome is Outcome.UNDECIDED and settings.withhold == "undecided"
    return None if verdict.flagged or undecided else text


def trimmed(text: str, claims: Sequence[ClaimVerdict]) -> str:
    """The steady claims of an answer, and nothing else of it: in their order, on separate lines where they were.

    >>> from semtropy.verdict import ClaimVerdict, VerdictAgreement
    >>> text = "Ann was born in 1901. She won twice.\\n\\n- Oslo\\n- Bergen"
    >>> agreement, spans = VerdictAgreement(0.9), [(0, 21), (22, 36), (40, 44), (47, 53)]
    >>> outcomes = [Outcome.STEADY, Outcome.FLAGGED, Outcome.STEADY, Outcome.STEADY]
    >>> trimmed(text, [ClaimVerdict("", *span, each, agreement, 1, 0, 0) for span, each in zip(spans, outcomes)])
    'Ann was born in 1901.\\n\\nOslo\\nBergen'
    """
    kept, end = "", 0
    for claim in claims:
        if claim.outcome is Outcome.STEADY:
            breaks = min(text.count("\n", end, claim.start), 2)
            kept += ("\n" * breaks or " ") * bool(kept) + text[claim.start : claim.end]
            end = claim.end
    return kept


def withheld_verdict(
    payload: dict[str, Any], declared: Any = None, *, steady: str | None = None
) -> dict[str, Any]:
    """A verdict without the answer, the texts of the samples, and the names of fields that the model invented.

    declared  what the client says about the form of its answers (a schema); fields that are named in it keep their name
    steady    the outcome of claims that keep their text, None for none

    >>> field = {"name": "year", "value": 1912, "meanings": [{"text": "1912", "wordings": [], "count": 3}]}
    >>> verdict = {"answer": "...", "fields": [field, {**field, "name": "Dr Smith"}], "untrusted": ["Dr Smith"]}
    >>> withheld_verdict(verdict, {"properties": {"year": {}}})["fields"]
    [{'name': 'year', 'value': None, 'meanings': [{'text': None, 'wordings': [], 'count': 3}]}]
    """
    kept: dict[str, Any] = _emptied(payload, _TEXTS)
    if steady is not None:
        pairs = zip(payload["claims"], kept["claims"], strict=True)
        kept["claims"] = [claim if claim["outcome"] == steady else emptied for claim, emptied in pairs]
    if "fields" in kept:
        known = _OWN.union(*(part for part in parts_of(declared) if isinstance(part, dict)))
        kept["fields"] = [field for field in kept["fields"] if _is_declared(field["name"], known)]
        kept["untrusted"] = [name for name in kept["untrusted"] if _is_declared(name, known)]
    return kept


def trimmed_verdict(payload: dict[str, Any], left: str) -> dict[str, Any]:
    """The verdict on an answer of which only the steady claims are shown: `left`."""
    return withheld_verdict(payload, steady=Outcome.STEADY) | {"answer": left, "trimmed": True}


def without_texts(value: Any) -> Any:
    """A step of a check without any text of the model.

    >>> without_texts({"meanings": [{"text": "Paris", "wordings": ["Paris"], "count": 2}], "fields": [1]})
    {'meanings': [{'text': '', 'wordings': [], 'count': 2}], 'fields': []}
    """
    return _emptied(value, {"text": "", "instead": None, "wordings": [], "fields": [], "answers": []})


def _emptied(value: Any, empty: Mapping[str, Any]) -> Any:
    """Plain data with these values for these keys, wherever they stand."""
    if isinstance(value, list):
        return [_emptied(each, empty) for each in value]
    if not isinstance(value, dict):
        return value
    return {name: empty[name] if name in empty else _emptied(each, empty) for name, each in value.items()}


def _is_declared(name: str, known: frozenset[str]) -> bool:
    return all(part in known for part in _PARTS.split(name) if part)


NO_TEXT = "the answer has no text to compare: nothing was checked"
TOO_LONG = "the answer is too long to be checked"


@dataclass(frozen=True, slots=True)
class CheckOutcome:
    """The content of the key `semtropy` (a verdict, an error or why nothing was checked), and what the client gets.

    blocked  whether the answer is withheld
    instead  what the client gets in place of the answer, None for the answer as it came
    """

    payload: dict[str, Any]
    blocked: bool = False
    instead: Replacement | None = None


@dataclass(frozen=True, slots=True)
class PassedReply:
    """What the client gets: a body that was held back for its verdict, or one that is too long to hold, as it comes."""

    body: bytes | AsyncIterator[bytes]
    headers: dict[str, str]


class AnswerProxy:
    """One answer on its way to the client, and its check."""

    def __init__(
        self, gateway: Gateway, request: CompletionRequest, reply: BackendReply, *, log_fields: dict[str, Any]
    ) -> None:
        self.gateway, self.settings, self.checks = gateway, gateway.settings, gateway.checks
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
            self.checks.count_failure(error)
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
        return self.checks.start(
            prompt,
            self.gateway.backend.sampler(request),
            request.options,
            structure=request.structure,
            identity=[request.kind, request.model, fields, request.max_tokens, caller.identity],
            tenant=caller.identity,
            answered=True,
        )

    async def whole(self) -> PassedReply:
        """The body with its verdict, and the same as headers."""
        with ExitStack() as stack:
            raw = await self._held()
            if isinstance(raw, PassedReply):
                return raw
            parsed = _parsed(raw)
            outcome = await self.outcome(lambda: self.dialect.answer(parsed), stack)
        headers = verdict_headers(outcome)
        if parsed is None and outcome.blocked:
            raise Problem(502, "the upstream's reply is not JSON, so it cannot be checked", "upstream_error")
        if parsed is None:
            return PassedReply(raw, headers)
        if outcome.instead is not None:
            raw = json.dumps(self.dialect.reply(parsed, [outcome.instead])).encode()
        return PassedReply(
            raw if self.place == "headers" else spliced(raw, "semtropy", outcome.payload), headers
        )

    async def stream(self) -> AsyncIterator[bytes]:
        """The upstream's events as they come, the verdict in the last of them."""
        splitter, reader = EventSplitter(), self.dialect.reader()
        with ExitStack() as stack:
            try:
                async for chunk in self.reply.unpacked():
                    for raw in splitter.feed(chunk):
                        for passed in reader.feed(raw):
                            yield passed
                        self._start(stack)  # only once the first token is out: it must not wait for the check
            except Exception as error:
                self.checks.metrics.errors.labels("upstream_cut").inc()
                yield event(error_body(_cut(error)))
                return
            finally:
                await self.reply.close()
            for passed in reader.feed(_ended(splitter.take())):
                yield passed
            outcome = await self.outcome(reader.answer, stack)
            yield reader.ending(outcome.payload, self.place)

    async def held_stream(self) -> PassedReply:
        """The whole stream once the verdict is known, or another in its place; and the verdict's headers."""
        splitter, reader = EventSplitter(), self.dialect.reader()
        with ExitStack() as stack:
            self._start(stack)
            held = await self._held()
            if isinstance(held, PassedReply):
                return held
            events = [*splitter.feed(held), _ended(splitter.take())]
            passed = [each for raw in events for each in reader.feed(raw)]
            outcome = await self.outcome(reader.answer, stack)
        if outcome.instead is not None:
            events, reader = self.dialect.events(reader.frame, [outcome.instead]), self.dialect.reader()
            passed = [each for raw in events for each in reader.feed(raw)]
        whole = b"".join([*passed, reader.ending(outcome.payload, self.place)])
        return PassedReply(whole, verdict_headers(outcome))

    async def _held(self) -> bytes | PassedReply:
        """The whole body; the reply as it comes where it is above `max_reply`."""
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
        return b"".join(parts)

    def _too_long(self, body: bytes, chunks: AsyncIterator[bytes]) -> PassedReply:
        """An answer above `max_reply`: passed on unchecked, or refused where answers that fail are blocked."""
        self.log_fields["skipped"] = True
        if self.mode in HOLDING and self.settings.on_error == "block":
            raise Problem(502, TOO_LONG, "upstream_error")

        async def whole() -> AsyncIterator[bytes]:
            try:
                yield body
                async for chunk in chunks:
                    yield chunk
            finally:
                await self.reply.close()

        return PassedReply(whole(), {"X-Semtropy-Verdict": "none"})

    async def outcome(self, answered: Callable[[], ReadAnswer | None], stack: ExitStack) -> CheckOutcome:
        """The verdict on an answer, or the reason why there is none; noted for the operator."""
        found, request = await self._outcome(answered, stack), self.request
        self.gateway.traffic.add(
            found.payload, route=request.kind, model=request.model, question=request.question
        )
        return found

    async def _outcome(self, answered: Callable[[], ReadAnswer | None], stack: ExitStack) -> CheckOutcome:
        """What the client gets; samples are drawn only if they are needed."""
        try:
            read, question, unchecked = answered(), self.request.question, self.request.unchecked
            if read is None or question is None or unchecked is not None:
                self.log_fields["skipped"] = True
                return self._unchecked({"skipped": unchecked or NO_TEXT})
            answer = self.gateway.backend.weighed(self.request, read.sample)
            verdict, source = await self._verdict(question, answer, stack)
            payload = verdict.to_dict() | {"source": source, "finish_reason": read.finish}
            json.dumps(payload, allow_nan=False)  # what cannot be written must fail here, not in the reply
        except Exception as error:
            self.log_fields["check"] = error_kind(error)
            return self._unchecked(
                {"error": {"kind": error_kind(error), "message": as_problem(error).message}}
            )
        self.log_fields |= {"flagged": verdict.flagged, "samples": verdict.samples, "source": source}
        if self.mode not in HOLDING:
            return CheckOutcome({**payload, "mode": self.mode, "blocked": False})
        left = allowed_text(read.sample.text, verdict, self.mode, self.settings)
        if left is None:
            return self._blocked(payload)
        if left is not read.sample.text:
            shown = trimmed_verdict(payload, left) | {"mode": self.mode, "blocked": False}
            return CheckOutcome(shown, instead=Replacement(left, read.finish))
        # What the client gets is what was judged: not the thinking before it, nor other choices.
        instead = None if read.alone else Replacement(read.sample.text, read.finish, read.calls)
        return CheckOutcome({**payload, "mode": self.mode, "blocked": False}, instead=instead)

    def _unchecked(self, payload: dict[str, Any]) -> CheckOutcome:
        """An answer without a verdict: passed on, or withheld where answers whose check fails are."""
        if self.mode in HOLDING and self.settings.on_error == "block":
            return self._blocked(payload)
        said = {} if "skipped" in payload else {"mode": self.mode, "blocked": False}
        return CheckOutcome(payload | said)

    def _blocked(self, payload: dict[str, Any]) -> CheckOutcome:
        self.log_fields["blocked"] = True
        self.checks.metrics.blocked.inc()
        withheld = withheld_verdict(payload, self.request.declared) | {"mode": self.mode, "blocked": True}
        refusal = Replacement(self.settings.refusal, "content_filter")
        return CheckOutcome(withheld, blocked=True, instead=refusal)

    async def _verdict(self, question: str, answer: Sample, stack: ExitStack) -> tuple[Verdict, str]:
        if not self._started:
            alone = await self.checks.judge_alone(
                question, answer, self.request.options, structure=self.request.structure
            )
            if alone is not None:
                return alone, "new"
            self._start(stack)
        if self._failure is not None:
            raise self._failure
        assert self._check is not None
        return await self.checks.verdict(self._check, answer), self._check.source


def _ended(rest: bytes) -> bytes:
    """What came after the last event, as an event: the verdict must not become part of it."""
    return rest if not rest or rest.endswith((b"\n\n", b"\r\n\r\n", b"\r\r")) else rest + b"\n\n"


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
        raw.decode()
        parsed = parsed_reply(raw)
    except (ValueError, RecursionError):
        return None
    return parsed if isinstance(parsed, dict) else None


def _cut(error: Exception) -> Problem:
    if isinstance(error, Problem):
        return error
    return Problem(502, f"the upstream broke off ({type(error).__name__})", "upstream_error")
