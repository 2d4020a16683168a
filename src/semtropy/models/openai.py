"""`openai:MODEL` and `completions:MODEL`: endpoints that speak OpenAI's protocol.

Endpoints differ in what they support. Requests ask for log-probabilities, several answers at once, a seed and an
untruncated distribution; a parameter that an endpoint refuses is left out of later requests.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

import numpy as np

from ..capabilities import Pace
from ..conversation import as_messages
from ..errors import BadReply, InputError, ModelError, PromptTooLong
from . import is_endpoint, sync_bridge
from .endpoint import Endpoint, Refused, checked_address, error_said, shown_address
from .prompt_template import BRIEF, asks_for_long, brief_prompt, system_for
from .replies import are_logprobs, chat_sample, completion_sample, well_formed, with_usage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.random import Generator

    from ..conversation import Prompt
    from ..nouns import Sample, Token

    Beginning = tuple[tuple[Token, float], ...]


# The parameters of a request: everything that helps is sent, and what an endpoint refuses is left out afterwards.
#
# Refusals are remembered as a set of these words:
#
# logprobs     no log-probabilities
# exact        neither `top_k` nor `min_p`, which keep other servers from cutting the distribution
# n            one answer per request
# seed         no seed
# top_p        no `top_p`
# cold         no temperature other than 1, as with models that reason
# temperature  no temperature at all: the model's own, which is 1 for the models known to refuse it
# max_tokens   the limit is called `max_completion_tokens`, as with models that reason
# unweighed    log-probabilities were asked for, and none came back that can be used
# prompt       no log-probabilities of a prompt, by which a given answer would be weighed
# thinking     a short limit was used up before the answer began: the model thinks first


# What whole services refuse, so that the first request to them need not find it out.
_GOOGLE = {"exact", "seed", "thinking", "logprobs"}
_BY_HOST = {
    "api.openai.com": {"exact"},
    "api.anthropic.com": {"n", "top_p"},
    "generativelanguage.googleapis.com": _GOOGLE,
}
# By these words a service is known behind another address, so that one refusal teaches all of it.
_BY_WORDS = {r"Invalid JSON payload received": _GOOGLE}

THINKING_TOKENS = 4096
"""The default limit on tokens for a model that thinks before it answers."""

_OF_FIELD = {
    "logprobs": "logprobs",
    "top_logprobs": "logprobs",
    "top_k": "exact",
    "min_p": "exact",
    "n": "n",
    "seed": "seed",
    "top_p": "top_p",
    "temperature": "temperature",
    "max_tokens": "max_tokens",
}
# How endpoints name what they refuse, where they name no field.
_IN_MESSAGE = {
    "logprobs": r"logprob",
    "exact": r"top_k|min_p",
    "n": r"\bn\b|n_cmpl|slots|best_of|multiple candidates|candidate_?count|number of (choices|completions)",
    "seed": r"\bseed\b",
    "top_p": r"top_?p\b",
    "temperature": r"temperature",
    "max_tokens": r"max_completion_tokens",
}
_UNKNOWN_FIELD = r"unrecognized|unknown (field|param|arg)|extra (input|field)|unexpected|not permitted"
_NOT_BOTH = r"\b(both|together|only one|mutually)\b"
_TOO_LONG = (r"context|too long|maximum.*tokens", r"exceed|maximum|too long")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a request asks for where the endpoint takes it.

    max_tokens      the limit that the user set, None for the default
    default_tokens  the default limit of a model that answers at once
    logprobs        the fields that ask for log-probabilities
    """

    n: int
    temperature: float
    seed: int
    max_tokens: int | None
    default_tokens: int
    logprobs: Mapping[str, Any]

    def fields(self, refused: frozenset[str]) -> dict[str, Any]:
        """The fields of the request, without those that were refused.

        >>> Wanted(2, 0.1, 7, None, 64, {"logprobs": True}).fields(frozenset({"cold", "exact", "logprobs", "n"}))
        {'temperature': 1.0, 'top_p': 1.0, 'seed': 7, 'max_tokens': 64}
        """
        body: dict[str, Any] = {"temperature": self.drawn_at(refused), "top_p": 1.0, "n": self.n}
        body["seed"] = self.seed
        body["max_completion_tokens" if "max_tokens" in refused else "max_tokens"] = self.limit(refused)
        if "logprobs" not in refused:
            body |= self.logprobs
        if "exact" not in refused:
            body |= {"top_k": -1, "min_p": 0.0}
        for name in {"n", "seed", "top_p", "temperature"} & refused:
            del body[name]
        return body

    def drawn_at(self, refused: frozenset[str]) -> float:
        """The temperature at which the answers are drawn."""
        return 1.0 if refused & {"cold", "temperature"} else self.temperature

    def limit(self, refused: frozenset[str]) -> int:
        """The most tokens of an answer, those spent on thinking included."""
        if self.max_tokens is not None:
            return self.max_tokens
        return THINKING_TOKENS if refused & {"thinking", "max_tokens"} else self.default_tokens


def known_refusals(base_url: str) -> frozenset[str]:
    """What is known of a service before it is asked.

    >>> sorted(known_refusals("https://api.anthropic.com/v1")), known_refusals("http://localhost:8000/v1")
    (['n', 'top_p'], frozenset())
    """
    with suppress(ValueError):  # not an address; what is wrong with it is said where it is asked
        return frozenset(_BY_HOST.get(urlsplit(base_url).hostname or "", ()))
    return frozenset()


def newly_refused(error: Refused, sent: Mapping[str, Any], model: str) -> frozenset[str]:
    """What the refusal of the request with the fields `sent` teaches; nothing if it has another reason.

    Raises PromptTooLong where that is the reason.
    """
    field = _OF_FIELD.get(error.param or "")
    said = f"{error.param or ''} {error.message}"
    if field is None and all(re.search(words, said) for words in _TOO_LONG):
        raise PromptTooLong(f"the prompt is too long for {model}: {error.message}") from error
    found = {name for name, words in _IN_MESSAGE.items() if re.search(words, said, re.IGNORECASE)}
    if field is not None:
        found = {field}
    if not found and re.search(_UNKNOWN_FIELD, said, re.IGNORECASE):
        found = {"exact"}
    known = {name for words, all_of_it in _BY_WORDS.items() if re.search(words, said) for name in all_of_it}
    if {"temperature", "top_p"} <= found and re.search(_NOT_BOTH, said, re.IGNORECASE):
        found.remove("temperature")
    held = {_OF_FIELD[name] for name in sent if name in _OF_FIELD}
    found &= held if sent.get("n", 1) > 1 else held - {"n"}
    if "temperature" in found and sent["temperature"] != 1.0:
        found = found - {"temperature"} | {"cold"}
    return frozenset(found | known if found else found)


# The log-probability of an answer that is already there, read from those of a prompt that ends with it.
#
# vLLM returns them in chat for `prompt_logprobs`; completions endpoints return them for `echo`. One request reads the
# prompt once and generates a single token.


# Of each place of the prompt its token, and the likeliest where that is another one.
CHAT_FIELDS = {"prompt_logprobs": 1, "add_generation_prompt": False, "max_tokens": 1, "temperature": 1.0}
ECHO_FIELDS = {"echo": True, "logprobs": 1, "max_tokens": 1, "temperature": 1.0}
ECHO_END = "\n\n"  # what ends an answer among the examples of the brief prompt

Piece = tuple[str, float | None]


def prompted(reply: dict[str, Any], answer: Sample) -> Sample | None:
    """The answer with its log-probability from `prompt_logprobs`; None where it is not found there.

    The token after the answer is the one that the template ends a turn with, as the model itself does. After thinking,
    which a template may put before an answer, the probabilities are not those of the answers that are sampled.
    """
    pieces = [_prompt_token(place) for place in reply["prompt_logprobs"] if place]
    for end in range(len(pieces) - 1, 0, -1):
        start = _start(pieces[:end], answer.text)
        if start is not None:
            before = "".join(token for token, _ in pieces[:start]).rstrip()
            return None if before.endswith("</think>") else _weighed(answer, pieces[start : end + 1])
    return None


def echoed(reply: dict[str, Any], prompt: str, answer: Sample) -> Sample | None:
    """The answer with its log-probability from an echoed prompt that ends with it and `ECHO_END`."""
    logprobs = reply["choices"][0]["logprobs"]
    pieces = list(zip(map(well_formed, logprobs["tokens"]), logprobs["token_logprobs"], strict=True))
    place, offset = 0, 0
    while place < len(pieces) and offset + len(pieces[place][0]) <= len(prompt):
        offset += len(pieces[place][0])
        place += 1
    for end in range(place + 1, len(pieces)):
        said = "".join(token for token, _ in pieces[place:end])
        if said.strip() == answer.text and "\n" in pieces[end][0]:
            return _weighed(answer, pieces[place : end + 1]) if offset == len(prompt) else None
    return None


def _prompt_token(place: dict[str, dict[str, Any]]) -> Piece:
    """The prompt's own token: the only one, or the one that is not the likeliest."""
    entry = max(place.values(), key=lambda each: each.get("rank") or 0)
    return well_formed(str(entry["decoded_token"])), float(entry["logprob"])


def _start(pieces: Sequence[Piece], text: str) -> int | None:
    """Where the tokens begin that end here and spell `text`, or None."""
    said = ""
    for place in range(len(pieces) - 1, -1, -1):
        said = pieces[place][0] + said
        if said.strip() == text and pieces[place][0].strip():
            return place
        if len(said.strip()) >= len(text):
            return None
    return None


def _weighed(answer: Sample, pieces: Sequence[Piece]) -> Sample | None:
    values = [value for _, value in pieces if value is not None]
    if len(values) < len(pieces) or not are_logprobs(values):
        return None
    tokens = tuple(token for token, _ in pieces)
    logprobs = [min(0.0, value) for value in values]
    spelled = tuple(zip(tokens, logprobs, strict=True))
    return replace(answer, tokens=tokens, sampling_logprob=math.fsum(logprobs), pieces=spelled)


# Whether an endpoint's log-probabilities are those before or after the temperature is applied.
#
# Endpoints differ, and do not say. An answer drawn at a low temperature has nearly no loss per token after the
# temperature; before it, its tokens have the log-probabilities that samples with the same beginning have. Comparing
# the two for one prompt tells which it is, for all later prompts.


PROMPTS = 64  # prompts whose answer and samples wait for each other
SAMPLES = 4  # answers, and samples, of one prompt that are kept
TOKENS = 32  # with which each of them begins
SAME = 0.02  # log-probabilities that differ by less are the same number
TELLING = -0.05  # a token that is nearly certain has the same log-probability at every temperature


class TemperatureProbe:
    """Compares cold answers with samples of the same prompt until the question is settled.

    `before_temperature` is None until then.
    """

    def __init__(self) -> None:
        self.before_temperature: bool | None = None
        self._seen: OrderedDict[bytes, tuple[list[Beginning], list[Beginning]]] = OrderedDict()

    def observe(self, fields: dict[str, Any], temperature: float, samples: Sequence[Sample]) -> None:
        """Note the reply to one request: an answer at a temperature below 1, or samples at 1, in any order."""
        if self.before_temperature is not None or not samples:
            return
        # Clients choose the prompts and may repeat one for ever: of each only a digest and a few tokens are kept.
        prompt = hashlib.blake2b(json.dumps(fields, sort_keys=True, default=str).encode(), digest_size=16)
        cold, warm = self._seen.setdefault(prompt.digest(), ([], []))
        held = warm if temperature == 1.0 else cold
        held[:] = [*held, *map(_beginning, samples[:SAMPLES])][-SAMPLES:]
        while len(self._seen) > PROMPTS:
            self._seen.popitem(last=False)
        pairs = (pair for answer in cold for sample in warm for pair in _common_tokens(answer, sample))
        for reported, at_one in pairs:
            if at_one < TELLING:
                self.before_temperature = abs(reported - at_one) < SAME
                self._seen.clear()
                return


def _beginning(sample: Sample) -> Beginning:
    """The first tokens of a sample with their log-probabilities; none where they are unknown."""
    pairs = zip(sample.tokens or (), sample.token_logprobs or (), strict=False)
    return tuple(islice(pairs, TOKENS))


def _common_tokens(one: Beginning, other: Beginning) -> Iterator[tuple[float, float]]:
    """The log-probabilities of the tokens with which both begin."""
    for (token, logprob), (same, its) in zip(one, other, strict=False):
        if token != same:
            return
        yield logprob, its


DEFAULT_BASE_URL = "https://api.openai.com/v1"
PARAGRAPH_TOKENS = 256
LONG_TOKENS = 1024  # the default limit for answers that were not asked to be brief
MOST_CHOICES = 64  # answers per request; OpenAI allows 128
OLLAMA = "fp_ollama"  # by which its replies are known


class _OpenAIModel(sync_bridge.AwaitedModel):
    """Shared by both kinds of endpoint: builds requests, splits `n`, leaves out refused parameters."""

    path: str
    default_tokens: int

    def __init__(self, model: str, endpoint: Endpoint, *, max_tokens: int | None) -> None:
        if max_tokens is not None and max_tokens < 1:
            raise InputError(f"max_tokens is {max_tokens}: at least 1")
        self.model, self.endpoint, self.max_tokens = model, endpoint, max_tokens
        self.refused: frozenset[str] = known_refusals(endpoint.base_url)
        self.probe = TemperatureProbe()
        self._weighs_samples = self._weighs_ends = False

    async def ask(
        self,
        fields: dict[str, Any],
        n: int,
        temperature: float,
        rng: Generator | None,
        read: Callable[[dict[str, Any]], Sample],
        *,
        default_tokens: int | None = None,
    ) -> list[Sample]:
        """Draw `n` answers to the request with `fields` (messages or prompt); missing ones are requested one by one."""
        if n < 1:
            return []
        default = default_tokens or self.default_tokens
        wanted = Wanted(n, temperature, 0, self.max_tokens, default, self.logprobs())
        seeds = np.random.default_rng(rng).spawn(n)
        samples: list[Sample] = []
        if "n" not in self.refused:
            parts = [(min(MOST_CHOICES, n - at), seeds[at]) for at in range(0, n, MOST_CHOICES)]
            samples = await self._requests(fields, wanted, parts, read)
            if len(samples) >= n or not (samples or "n" in self.refused):
                return samples[:n]
            if len(samples) == len(parts) < n:  # it ignores `n`: from now on all go out at once
                self.refused |= {"n"}
        singles = [(1, seed) for seed in seeds[len(samples) :]]
        return samples + await self._requests(fields, wanted, singles, read)

    async def _requests(
        self,
        fields: dict[str, Any],
        wanted: Wanted,
        parts: Sequence[tuple[int, Generator]],
        read: Callable[[dict[str, Any]], Sample],
    ) -> list[Sample]:
        """The answers to several requests at once, in their order; a part is a number of answers and a generator."""
        asked = [replace(wanted, n=size, seed=int(rng.integers(1 << 31))) for size, rng in parts]
        requests = (self._request(fields, each, read) for each in asked)
        return [sample for some in await sync_bridge.together(requests) for sample in some]

    async def _request(
        self, fields: dict[str, Any], wanted: Wanted, read: Callable[[dict[str, Any]], Sample]
    ) -> list[Sample]:
        while True:
            refused = self.refused
            if wanted.n > 1 and "n" in refused:  # found out just now: `ask` sends single requests
                return []
            sent = wanted.fields(refused)
            try:
                reply = await self.endpoint.post(self.path, {"model": self.model, **fields, **sent})
            except Refused as error:
                if wanted.fields(self.refused) == sent:  # else a concurrent request found out the same
                    found = newly_refused(error, sent, self.model)
                    if not found:
                        raise ModelError(f"{self.endpoint.label}: {error}") from error
                    self.refused |= found
                continue
            samples = self._read(reply, read)
            thought = self.max_tokens is None and any(not (each.text or each.complete) for each in samples)
            if thought and wanted.limit(refused) < THINKING_TOKENS:
                self.refused |= {"thinking"}
                continue
            return self._weighed(fields, samples, wanted.drawn_at(refused), known="temperature" in sent)

    def _read(self, reply: dict[str, Any], read: Callable[[dict[str, Any]], Sample]) -> list[Sample]:
        choices = reply.get("choices")
        choices = choices[:MOST_CHOICES] if isinstance(choices, list) else choices
        failed = [each for each in choices if _has_error(each)] if isinstance(choices, list) else []
        message = error_said(failed[0] if failed else reply)[0]
        if not isinstance(choices, list) or failed or (message and not choices):
            said = f": {self.endpoint.masked(message)}" if message else ""
            what = "reports an error" if failed else "has no choices"
            raise BadReply(f"{self.endpoint.label}: the reply {what}{said}")
        if reply.get("system_fingerprint") == OLLAMA:  # it ignores `n`: no round trip to find that out
            self.refused |= {"n"}
        return with_usage([read(choice) for choice in choices], reply.get("usage"))

    def _weighed(
        self, fields: dict[str, Any], samples: list[Sample], temperature: float, *, known: bool
    ) -> list[Sample]:
        """The samples with the log-probabilities that are those of the sampling distribution, temperature 1."""
        samples = [replace(sample, temperature=temperature) for sample in samples]
        self.probe.observe(fields, temperature, samples)
        if temperature == 1.0 and known:
            self._learn_logprobs(samples)
            return samples
        # At other temperatures endpoints differ in which distribution's log-probabilities they report.
        before = known and self.probe.before_temperature
        return [
            replace(
                sample,
                logprob=None,
                sampling_logprob=sample.logprob if before else None,
                prefix_logprob=sample.prefix_logprob if before else None,
                pieces=sample.pieces if before else None,
            )
            for sample in samples
        ]

    def _learn_logprobs(self, samples: list[Sample]) -> None:
        """Note whether samples come with log-probabilities, and whether these include the end token."""
        complete = [sample for sample in samples if sample.complete]
        self._weighs_ends = self._weighs_ends or any(each.logprob is not None for each in complete)
        known = self._weighs_ends or any(each.prefix_logprob is not None for each in complete)
        self._weighs_samples = self._weighs_samples or known
        if complete and not self._weighs_samples:
            self.refused |= {"unweighed"}

    @property
    def pace(self) -> Pace:
        """What is known so far of the log-probabilities that the endpoint gives."""
        if self.refused & {"logprobs", "unweighed", "temperature"} and not self._weighs_samples:
            return Pace(weighs_answer=False, weighs_samples=False)
        return Pace(
            weighs_answer=self.probe.before_temperature,
            weighs_samples=self._weighs_samples or None,
            weighs_given=self._weighs_ends and not self.refused & {"exact", "prompt", "thinking"},
        )

    async def _weigh(
        self, body: dict[str, Any], read: Callable[[dict[str, Any]], Sample | None]
    ) -> Sample | None:
        """What one request tells of a given answer; an endpoint that does not take it is not asked again."""
        if not self.pace.weighs_given:
            return None
        try:
            reply = await self.endpoint.post(self.path, {"model": self.model, **body}, retries=0)
            return read(reply)
        except (ModelError, LookupError, TypeError, ValueError, AttributeError):
            self.refused |= {"prompt"}
            return None

    @abstractmethod
    def logprobs(self) -> dict[str, Any]:
        """The request fields that ask for log-probabilities."""

    async def aclose(self) -> None:
        """Close the connections of this event loop."""
        await self.endpoint.aclose()

    async def __aenter__(self) -> Self:
        await self.endpoint.__aenter__()
        return self

    async def __aexit__(self, *trouble: object) -> None:
        await self.endpoint.__aexit__(*trouble)

    def close(self) -> None:
        """Close the connections that synchronous calls opened."""
        sync_bridge.run(self.endpoint.aclose())


class Chat(_OpenAIModel):
    """A chat endpoint.

    `system` is sent before a question: it asks for brief answers, and is left out where the question asks for a long
    one. None sends no system message. Messages are sent as they are.
    """

    path = "/chat/completions"
    default_tokens = 64

    def __init__(
        self, model: str, endpoint: Endpoint, *, system: str | None = BRIEF, max_tokens: int | None = None
    ) -> None:
        super().__init__(model, endpoint, max_tokens=max_tokens)
        self.name, self.system = f"openai:{model}", system

    def logprobs(self) -> dict[str, Any]:
        return {"logprobs": True}

    async def asample(
        self, prompt: Prompt, n: int, *, temperature: float = 1.0, rng: Generator | None = None
    ) -> list[Sample]:
        """Draw `n` answers to a question, or to messages, which are sent as they are."""
        longest = None if system_for(prompt, self.system) == BRIEF else LONG_TOKENS
        fields = {"messages": self._messages(prompt)}
        return await self.ask(fields, n, temperature, rng, chat_sample, default_tokens=longest)

    async def aweigh(self, prompt: Prompt, answer: Sample) -> Sample | None:
        """The answer with its log-probability after the prompt, where the endpoint reports that of prompts (vLLM)."""
        messages = [*self._messages(prompt), {"role": "assistant", "content": answer.text}]
        body = {"messages": messages, **CHAT_FIELDS}
        return await self._weigh(body, lambda reply: prompted(reply, answer))

    def _messages(self, prompt: Prompt) -> list[dict[str, Any]]:
        return as_messages(prompt, system_for(prompt, self.system))


class Completions(_OpenAIModel):
    """A plain completions endpoint, prompted with brief examples before the question."""

    path = "/completions"
    default_tokens = 32

    def __init__(self, model: str, endpoint: Endpoint, *, max_tokens: int | None = None) -> None:
        super().__init__(model, endpoint, max_tokens=max_tokens)
        self.name = f"completions:{model}"

    def logprobs(self) -> dict[str, Any]:
        return {"logprobs": 1}

    async def asample(
        self, prompt: Prompt, n: int, *, temperature: float = 1.0, rng: Generator | None = None
    ) -> list[Sample]:
        """Draw `n` answers to a question or a conversation: brief ones, or a paragraph where it asks for more."""
        longest = PARAGRAPH_TOKENS if asks_for_long(prompt) else None
        return await self.acomplete(
            brief_prompt(prompt), n, temperature=temperature, rng=rng, default_tokens=longest
        )

    async def aweigh(self, prompt: Prompt, answer: Sample) -> Sample | None:
        """The answer with its log-probability after the prompt, where the endpoint echoes prompts."""
        before = brief_prompt(prompt)
        body = {"prompt": f"{before} {answer.text}{ECHO_END}", **ECHO_FIELDS}
        return await self._weigh(body, lambda reply: echoed(reply, before, answer))

    async def acomplete(
        self,
        prompt: str,
        n: int,
        *,
        temperature: float = 1.0,
        rng: Generator | None = None,
        default_tokens: int | None = None,
    ) -> list[Sample]:
        """Draw `n` continuations of `prompt` as it stands, each up to its first line break."""
        # A stop string at the line break would remove the end of the answer from the log-probabilities.
        fields = {"prompt": prompt, "stop": ["Question:"]}
        return await self.ask(fields, n, temperature, rng, completion_sample, default_tokens=default_tokens)

    def complete(
        self, prompt: str, n: int, *, temperature: float = 1.0, rng: Generator | None = None
    ) -> list[Sample]:
        """`acomplete`, awaited in a background thread."""
        return sync_bridge.run(self.acomplete(prompt, n, temperature=temperature, rng=rng))


def _has_error(choice: Any) -> bool:
    """Whether a choice is an error instead of an answer, as routers send them."""
    return isinstance(choice, dict) and bool(choice.get("error"))


def endpoint_address(name: str, options: Mapping[str, Any]) -> str | None:
    """The address at which the model called `name` is asked, without secrets; None for one in this process.

    >>> endpoint_address("openai:m", {"base_url": "http://me:secret@gpu-1:8000/v1/"}), endpoint_address("smollm2", {})
    ('http://gpu-1:8000/v1', None)
    """
    if not is_endpoint(name):
        return None
    base_url = options.get("base_url") or os.environ.get("OPENAI_BASE_URL") or DEFAULT_BASE_URL
    return shown_address(checked_address(base_url)[0])


def _endpoint(base_url: str | None, api_key: str | None, options: dict[str, Any]) -> Endpoint:
    base_url = base_url or os.environ.get("OPENAI_BASE_URL") or DEFAULT_BASE_URL
    known = ("timeout", "retry", "concurrency", "headers", "sleep")
    chosen = {name: options.pop(name) for name in known if name in options}
    return Endpoint(base_url, api_key=api_key or os.environ.get("OPENAI_API_KEY"), **chosen)


def chat(model: str, *, base_url: str | None = None, api_key: str | None = None, **options: Any) -> Chat:
    """A chat model; `base_url` and `api_key` default to OPENAI_BASE_URL and OPENAI_API_KEY."""
    return Chat(model, _endpoint(base_url, api_key, options), **options)


def completions(
    model: str, *, base_url: str | None = None, api_key: str | None = None, **options: Any
) -> Completions:
    """A plain completions model; the options are those of `chat`."""
    return Completions(model, _endpoint(base_url, api_key, options), **options)
