"""An OpenAI-compatible endpoint as the backend: requests pass unchanged, samples are drawn with the same fields."""

from __future__ import annotations

import asyncio
import hashlib
import re
import secrets
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx

from ...capabilities import Pace
from ...errors import BadReply, ModelError
from ...models import sync_bridge
from ...models.endpoint import Endpoint, Refused, Retry
from ...models.openai import Chat, Completions, TemperatureProbe
from ...models.replies import sample_with_calls, with_usage
from ...tracing import TRACE_HEADERS
from ..dialects import as_choice
from ..errors import Problem
from . import BackendReply

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.random import Generator

    from ...conversation import Prompt
    from ...nouns import Model, Sample
    from ..middleware import Caller
    from ..requests import CompletionRequest
    from ..settings import Settings


# The parameters that each of the upstream's models refused.


MODELS = 256
"""Models about which something is remembered."""


@dataclass(slots=True)
class Habits:
    """What was found out about one model: parameters that it refused, and what its log-probabilities are."""

    refused: frozenset[str] = frozenset()
    probe: TemperatureProbe = field(default_factory=TemperatureProbe)


class KnownHabits:
    """The habits of the `size` models asked last, apart for each tenant: one name may be two models.

    Clients choose the names of models, so that their number must be bounded. Tenants are kept as a salted digest.
    """

    def __init__(self, size: int = MODELS) -> None:
        self._size, self._salt = size, secrets.token_bytes(16)
        self._found: OrderedDict[tuple[bytes, str, str], Habits] = OrderedDict()

    def __len__(self) -> int:
        return len(self._found)

    def get(self, tenant: tuple[str | None, ...], model: str, path: str) -> Habits:
        digest = hashlib.blake2b(repr(tenant).encode(), key=self._salt, digest_size=16).digest()
        found = self._found.setdefault((digest, model, path), Habits())
        self._found.move_to_end((digest, model, path))
        if len(self._found) > self._size:
            self._found.popitem(last=False)
        return found


# Samples from the responses API: one request for each, none of them stored.


PATH = "/responses"
_LOGPROBS = "message.output_text.logprobs"
# Parameters that a model may refuse, and how endpoints name them.
_OPTIONAL = {
    "temperature": r"temperature",
    "top_p": r"top_?p\b",
    "include": r"include|logprob",
    "max_output_tokens": r"max_output_tokens",
    "store": r"\bstore\b",
}


class ResponsesModel(sync_bridge.AwaitedModel):
    """Draws further answers to one client's request to `/v1/responses`: same input and settings, at temperature 1.

    chat  the same model as a chat model, for other questions: a judge asks it
    """

    pace = Pace(weighs_answer=False, weighs_samples=False)

    def __init__(self, chat: Chat, fields: dict[str, Any], tokens: int | None, habits: Habits) -> None:
        self.name, self.plain = chat.name, chat
        self._fields, self._tokens, self._habits = fields, tokens, habits

    async def asample(
        self, prompt: Prompt, n: int, *, temperature: float = 1.0, rng: Generator | None = None
    ) -> list[Sample]:
        """Draw `n` answers, all at once."""
        drawn = await asyncio.gather(*(self._one(temperature) for _ in range(n)))
        return [sample for sample in drawn if sample is not None]

    async def _one(self, temperature: float) -> Sample | None:
        endpoint: Endpoint = self.plain.endpoint
        while True:
            refused = self._habits.refused
            sent = self._sent(temperature, refused)
            try:
                reply = await endpoint.post(PATH, sent)
            except Refused as error:
                found = _newly_refused(error, set(sent) & set(_OPTIONAL))
                if not found:
                    raise ModelError(f"{endpoint.label}: {error}") from error
                self._habits.refused |= found
                continue
            choice = as_choice(reply, calls=True)
            if choice is None and "output" not in reply:
                raise BadReply(f"{endpoint.label}: the reply has no output")
            if choice is None:
                return None
            usage = reply.get("usage")
            spent = {"completion_tokens": usage.get("output_tokens")} if isinstance(usage, dict) else None
            [sample] = with_usage([sample_with_calls(choice)], spent)
            return sample

    def _sent(self, temperature: float, refused: frozenset[str]) -> dict[str, Any]:
        wanted = {"temperature": temperature, "top_p": 1.0, "include": [_LOGPROBS], "store": False}
        if self._tokens is not None:
            wanted["max_output_tokens"] = self._tokens
        kept = {name: value for name, value in wanted.items() if name not in refused}
        return {"model": self.plain.model, **self._fields, **kept}


def _newly_refused(error: Refused, sent: set[str]) -> frozenset[str]:
    """The parameters among those sent that a refusal names."""
    said = f"{error.param or ''} {error.message}"
    return frozenset(name for name in sent if re.search(_OPTIONAL[name], said, re.IGNORECASE))


_HOP_BY_HOP = {
    "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "te", "trailer", "upgrade",
    "transfer-encoding", "content-length", "content-encoding", "server", "date",
}  # fmt: skip
# The gateway's own to say: its verdict, and which other web sites may read its replies.
_NOT_PASSED_BACK = ("x-semtropy-", "access-control-")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_PASSED_ON = ("user-agent", "accept", *TRACE_HEADERS)
_JUDGE_TOKENS = 64  # of a judge's reply, however short the client wants its answers
# Close idle connections before the upstream does (5 s is common): a request could meet a closing one.
_POOL = httpx.Limits(max_connections=None, max_keepalive_connections=256, keepalive_expiry=4.0)


def _proxy_for(url: str) -> str | None:
    """The proxy that the environment sets for `url`, or None."""
    parts = urlsplit(url)
    if proxy_bypass(parts.hostname or ""):
        return None
    return getproxies().get(parts.scheme) or getproxies().get("all")


class UpstreamBackend:
    """Passes requests to an OpenAI-compatible endpoint and draws samples from it."""

    def __init__(self, settings: Settings, base_url: str) -> None:
        self.settings, self.base_url = settings, base_url.rstrip("/")
        self.name = settings.upstream_model or "upstream"
        self._transport: httpx.AsyncHTTPTransport | None = None
        self._endpoint = Endpoint(
            base_url,
            timeout=settings.upstream_timeout,
            retry=Retry(times=3, base=0.2, longest=5.0),
            concurrency=settings.upstream_concurrency,
            label="the upstream",  # its address is not for clients
            max_reply=settings.max_reply,
        )
        self._known = KnownHabits()

    def load(self) -> None:
        """Nothing to load: the upstream is asked when a client asks."""

    async def aclose(self) -> None:
        await self._endpoint.aclose()
        if self._transport is not None:
            await self._transport.aclose()

    async def open(self, request: CompletionRequest, headers: Mapping[str, str]) -> BackendReply:
        """Pass a request on; the reply's body is read as it comes."""
        return await self.send("POST", request.path, request.caller, headers, request.raw)

    async def send(
        self, method: str, path: str, caller: Caller, headers: Mapping[str, str], content: bytes | None = None
    ) -> BackendReply:
        """One request under the base URL."""
        if self._transport is None:
            # The bare transport: redirects and cookies are not followed here, and the full client costs a millisecond.
            self._transport = httpx.AsyncHTTPTransport(limits=_POOL, proxy=_proxy_for(self.base_url))
        sent = caller.headers | {name: headers[name] for name in _PASSED_ON if name in headers}
        sent["accept-encoding"] = "identity"
        if content is not None:
            sent["content-type"] = headers.get("content-type", "application/json")
        key = self.settings.upstream_key or caller.key
        if key:
            sent["authorization"] = f"Bearer {key}"
        timeout = httpx.Timeout(self.settings.upstream_timeout, connect=10.0).as_dict()
        request = httpx.Request(
            method,
            self.base_url + path,
            content=content,
            headers=httpx.Headers(sent, encoding="latin-1"),  # as they were read
            extensions={"timeout": timeout},
        )
        try:
            reply = await self._transport.handle_async_request(request)
        except httpx.TimeoutException:
            raise Problem(504, "the upstream did not answer in time", "upstream_error") from None
        except httpx.ConnectError:
            why = "the upstream cannot be reached: is it running, and is its address right?"
            raise Problem(502, why, "upstream_error") from None
        except httpx.TransportError as error:
            raise Problem(502, f"the upstream broke off ({type(error).__name__})", "upstream_error") from None
        if 300 <= reply.status_code < 400:  # its Location would show the address, and clients would follow it
            await reply.aclose()
            raise Problem(502, "the upstream redirects: set upstream to where it leads", "upstream_error")
        if reply.status_code >= 600:
            await reply.aclose()
            message = f"the upstream answered with {reply.status_code}, which is no status of HTTP"
            raise Problem(502, message, "upstream_error")
        encoding = reply.headers.get("content-encoding", "").strip().lower() or None
        return BackendReply(
            reply.status_code, _passed_back(reply.headers), reply.aiter_raw(), reply.aclose, encoding
        )

    def sampler(self, request: CompletionRequest) -> Model:
        """A model that draws further answers to the request, with the client's key."""
        if request.kind == "responses":
            chat = self._asker(Chat, request.model, request.caller)
            assert isinstance(chat, Chat)
            habits = self._habits(request.caller, request.model, PATH)
            return ResponsesModel(chat, request.answer_fields, request.max_tokens, habits)
        kind = Chat if request.kind == "chat" else Completions
        asker = self._asker(kind, request.model, request.caller, request.max_tokens)
        habits = self._habits(request.caller, request.model, kind.path)
        return ConversationModel(asker, request.answer_fields, habits)

    def model(self, name: str | None, caller: Caller) -> Model:
        """The model that /v1/check asks."""
        name = name or self.settings.upstream_model
        if name is None:
            raise Problem(400, "model is missing: name one of the upstream's models")
        return self._asker(Chat, name, caller)

    def _asker(
        self, kind: type[Chat | Completions], model: str, caller: Caller, tokens: int | None = None
    ) -> Chat | Completions:
        endpoint = self._endpoint.with_key(self.settings.upstream_key or caller.key, caller.headers)
        asker = kind(model, endpoint, max_tokens=tokens)
        asker.default_tokens = self.settings.sample_tokens
        habits = self._habits(caller, model, kind.path)
        asker.refused |= habits.refused
        asker.probe = habits.probe
        return asker

    def _habits(self, caller: Caller, model: str, path: str) -> Habits:
        """What is known of a model as this caller sees it: by the key and the headers that the upstream gets."""
        tenant = (self.settings.upstream_key or caller.key, *map(repr, sorted(caller.headers.items())))
        return self._known.get(tenant, model, path)

    def weighed(self, request: CompletionRequest, answer: Sample) -> Sample:
        """The client's answer as evidence: its log-probability under the distribution of the samples, where known.

        It is known for an answer drawn at temperature 1, and at any other once the upstream is found to report
        log-probabilities before the temperature. Servers differ in the temperature they use by default.
        """
        temperature = request.temperature
        bare = replace(answer, logprob=None, sampling_logprob=None, temperature=None, prefix_logprob=None)
        if temperature is None or answer.token_logprobs is None:
            return replace(bare, tokens=None, token_logprobs=None, pieces=None)
        probe = self._habits(request.caller, request.model, request.path).probe
        if temperature != 1.0:
            probe.observe(request.answer_fields, temperature, [answer])
        known = temperature == 1.0 or probe.before_temperature
        if not known:
            return replace(bare, token_logprobs=None, pieces=None)
        return replace(bare, sampling_logprob=answer.logprob, prefix_logprob=answer.prefix_logprob)


def _passed_back(headers: httpx.Headers) -> dict[str, str]:
    """The headers of a reply that go to the client: byte for byte, whatever encoding they are in."""
    passed: dict[str, str] = {}
    for raw_name, raw_value in headers.raw:
        name, value = raw_name.decode("latin-1").lower(), _CONTROL.sub("", raw_value.decode("latin-1"))
        if name not in _HOP_BY_HOP and not name.startswith(_NOT_PASSED_BACK):
            passed[name] = f"{passed[name]}, {value}" if name in passed else value
    return passed


class ConversationModel(sync_bridge.AwaitedModel):
    """Draws further answers to one client's request: same messages and settings, at the temperature of the check."""

    def __init__(self, asker: Chat | Completions, fields: dict[str, Any], habits: Habits) -> None:
        self.name, self._asker, self._fields, self._habits = asker.name, asker, fields, habits

    @property
    def pace(self) -> Pace:
        """What is known so far of the log-probabilities that the upstream gives."""
        return self._asker.pace

    @property
    def plain(self) -> Chat | Completions:
        """The same model with the same key, for other questions: a judge asks it."""
        asker = self._asker
        plain = type(asker)(asker.model, asker.endpoint, max_tokens=max(asker.max_tokens or 0, _JUDGE_TOKENS))
        plain.refused = asker.refused
        return plain

    async def asample(
        self, prompt: Prompt, n: int, *, temperature: float = 1.0, rng: Generator | None = None
    ) -> list[Sample]:
        """Draw `n` answers."""
        samples = await self._asker.ask(self._fields, n, temperature, rng, sample_with_calls)
        self._habits.refused |= self._asker.refused
        return samples
