"""`smollm2` and `gguf:PATH`: GGUF models in this process through llama.cpp (the package xllamacpp).

A file with a chat template is asked as a chat, in that template. One without, and the built-in model, continues a few
examples.

Draws must not depend on what was computed before. A token evaluated in a batch and the same token evaluated alone
differ by quantisation noise (up to several hundredths in probability on SmolLM2), so every question starts from the
same cached state, reached by the same steps, and every draw evaluates its tokens alone.
"""

from __future__ import annotations

import http.client
import json
import math
import os
import secrets
import signal
import struct
import threading
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar
from urllib.parse import urlsplit

import numpy as np
from scipy.special import entr, logsumexp

from ..capabilities import WEIGHING
from ..conversation import as_messages
from ..errors import BadReply, InputError, ModelError, PromptTooLong, WeightsError, needs
from ..nouns import Sample
from ..samples import TokenDraw, drawn_sample
from . import weights
from .prompt_template import (
    BRIEF,
    END_TOKENS,
    HEAD,
    LONG_HEAD,
    asks_for_long,
    brief_prompt,
    system_for,
    text_only,
)
from .replies import without_thinking

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.random import Generator

    from ..conversation import Message, Prompt
    from .weights import Progress


# Reads the metadata of a GGUF file that sampling needs: its context length, end tokens and chat template.


# GGUF value types -> struct codes; 8 is a string and 9 an array.
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_LONGEST = 1 << 26  # longer than any real field; bounds the memory a damaged length can claim


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """Name, context length, end token, all tokens that end an answer, and whether there is a chat template."""

    name: str
    context: int
    end: int
    endings: frozenset[int]
    has_template: bool


def read_gguf_header(path: Path) -> GgufHeader:
    """Read the header of the GGUF file at `path`; the weights are not touched."""
    try:
        with path.open("rb") as file:
            fields = _fields(file)
    except FileNotFoundError as error:
        raise WeightsError(f"{path}: no such file") from error
    except (OSError, struct.error, UnicodeDecodeError, ValueError, KeyError) as error:
        raise WeightsError(f"{path}: not a GGUF file that can be read: {error}") from error
    architecture = fields.get("general.architecture")
    tokens: list[str] = fields.get("tokenizer.ggml.tokens", [])
    end = fields.get("tokenizer.ggml.eos_token_id")
    if architecture is None or end is None or not tokens:
        raise WeightsError(f"{path}: has no vocabulary or no end token: is it a language model?")
    endings = {number for number, token in enumerate(tokens) if token in END_TOKENS}
    endings |= {
        fields[key] for key in ("tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id") if key in fields
    }
    return GgufHeader(
        name=str(fields.get("general.name", path.stem)),
        context=int(fields.get(f"{architecture}.context_length", 2048)),
        end=int(end),
        endings=frozenset({int(end), *endings}),
        has_template=bool(fields.get("tokenizer.chat_template")),
    )


def _fields(file: BinaryIO) -> dict[str, Any]:
    if file.read(4) != b"GGUF":
        raise ValueError("it does not begin with GGUF")
    version, _, count = struct.unpack("<IQQ", file.read(20))
    if version not in (2, 3):
        raise ValueError(f"version {version} is not known")
    return {_string(file): _value(file, *struct.unpack("<I", file.read(4))) for _ in range(count)}


def _string(file: BinaryIO) -> str:
    return file.read(_length(file)).decode("utf-8", errors="replace")


def _length(file: BinaryIO) -> int:
    (length,) = struct.unpack("<Q", file.read(8))
    if length > _LONGEST:
        raise ValueError(f"a field claims a length of {length}")
    return int(length)


def _value(file: BinaryIO, kind: int) -> Any:
    if kind == _STRING:
        return _string(file)
    if kind == _ARRAY:
        (item,) = struct.unpack("<I", file.read(4))
        length = _length(file)
        if item in (_STRING, _ARRAY):
            return [_value(file, item) for _ in range(length)]
        code = _SCALARS[item]
        return list(struct.unpack(f"<{length}{code}", file.read(length * struct.calcsize(code))))
    code = _SCALARS[kind]
    (value,) = struct.unpack(f"<{code}", file.read(struct.calcsize(code)))
    return value


T = TypeVar("T")

# The number of likeliest tokens per position among which those that end the answer are summed.
_ALTERNATIVES = 64
BRIEF_TOKENS = 32  # of an answer in a few words
_WEIGHING_SLOT = 1  # keeps a long shared prefix while answers are drawn in slot 0
PARAGRAPH_TOKENS = 128
CHAT_TOKENS, LONG_CHAT_TOKENS = 64, 512  # of a brief answer in a chat, and of any other
FORMS = ("chat", "brief")
_CONTEXT = {"chat": 4096, "brief": 2048}
_COLDEST = 1e-3  # stands for temperature 0


class LlamaCpp:
    """A GGUF model. Sampling is exact: no top-k, top-p, min-p or penalty changes the distribution.

    form    "chat": the file's own chat template; "brief": the question after a few examples; None takes the
            template where the file has one
    system  the system message before a question, in a chat; None sends none. Messages are passed on as they are

    An answer ends at an end token and, except in a chat, at its first line break. Which of these tokens ended it does
    not matter, so the log-probability is that of the answer's tokens followed by any of them.
    """

    pace = WEIGHING

    def __init__(
        self,
        path: str | Path,
        *,
        name: str | None = None,
        form: str | None = None,
        system: str | None = BRIEF,
        threads: int | None = None,
        context: int | None = None,
        max_tokens: int | None = None,
    ) -> None:
        if any(given is not None and given < 1 for given in (max_tokens, context)):
            raise InputError(f"max_tokens is {max_tokens}, context is {context}: both are at least 1")
        self.path = Path(path).expanduser()
        self.header: GgufHeader = read_gguf_header(self.path)
        self.name = name or f"gguf:{path}"
        self.form, self.system = _form(form, self.header, self.path), system
        self.max_tokens = max_tokens
        self.threads = threads or threads_for(self.path.stat().st_size)
        room = min(context or _CONTEXT[self.form], self.header.context)
        self._key = secrets.token_hex()
        self._server = _load(self.path, room, self.threads, self._key)
        self._lock = threading.Lock()
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="semtropy-llama")
        self._ready: str | None = None
        self._head, self._head_read = "", False
        self._prefix, self._prefix_read = "", False

    def sample(
        self, prompt: Prompt, n: int, *, temperature: float = 1.0, rng: Generator | None = None
    ) -> list[Sample]:
        """Draw `n` answers to a question or a conversation: brief ones, or longer ones where it asks for more."""
        if self.form == "chat":
            messages, limit = self._asked(prompt)
            text = self.rendered(messages)
        else:
            limit = self.max_tokens or (PARAGRAPH_TOKENS if asks_for_long(prompt) else BRIEF_TOKENS)
            text = brief_prompt(prompt)
        lines = self.form == "brief"
        return self.complete(text, n, temperature=temperature, rng=rng, max_tokens=limit, lines=lines)

    def _asked(self, prompt: Prompt) -> tuple[list[dict[str, Any]], int]:
        """The messages for a prompt, and the longest answer to it in tokens."""
        system = system_for(prompt, self.system)
        limit = self.max_tokens or (CHAT_TOKENS if system == BRIEF else LONG_CHAT_TOKENS)
        return as_messages(prompt, system), limit

    def weigh(self, prompt: Prompt, answer: Sample) -> Sample | None:
        """The answer with its log-probability after the prompt, its end included; None where it is not known.

        llama.cpp gives no log-probabilities of a prompt. In a chat the answer is drawn with a grammar that allows its
        tokens alone. Elsewhere an answer with a probability above one half is the one that temperature 0 draws; that
        of any other stays unknown.
        """
        wanted = answer.text.strip()
        if self.form == "chat":
            messages, limit = self._asked(prompt)
            tokens = self._post("/tokenize", {"content": wanted, "parse_special": False})["tokens"]
            if not 0 < len(tokens) < limit:
                return None
            only = {"grammar": f"root ::= {' '.join(f'<[{token}]>' for token in tokens)}", "n_predict": limit}
            (made,) = self._draw(self.rendered(messages), [0], 0.0, only, lines=False)
        else:
            (made,) = self.sample(prompt, 1, temperature=0.0)
        if made.text != wanted or not made.complete or made.sampling_logprob is None:
            return None
        return replace(made, text=answer.text, logprob=None)

    def complete(
        self,
        prompt: str,
        n: int,
        *,
        temperature: float = 1.0,
        rng: Generator | None = None,
        schema: dict[str, Any] | None = None,
        max_tokens: int | None = None,
        lines: bool = True,
    ) -> list[Sample]:
        """Draw `n` continuations of `prompt` as it stands, each up to its first line break.

        Without `lines` only an end token ends them, as after `rendered` messages. With a JSON `schema` the tokens are
        restricted to it; log-probabilities are those before the restriction.
        """
        seeds = np.random.default_rng(rng).integers(1 << 31, size=n)
        more: dict[str, Any] = {"n_predict": max_tokens or self.max_tokens or BRIEF_TOKENS}
        if schema is not None:
            more["json_schema"] = schema
        return self._draw(prompt, seeds, temperature, more, lines=lines)

    def _draw(
        self, prompt: str, seeds: Iterable[int], temperature: float, more: dict[str, Any], *, lines: bool
    ) -> list[Sample]:
        """A continuation of the prompt for each seed; with `lines` it ends at a line break."""
        with self._lock:
            try:
                if self._ready != prompt:
                    self._prepare(prompt)
                return [self._one(prompt, temperature, int(seed), more, lines=lines) for seed in seeds]
            except BaseException:
                self._ready = None  # an interrupted request leaves the cache in an unknown state
                raise

    def rendered(self, messages: Sequence[Message]) -> str:
        """The conversation in the file's chat template, up to where the answer begins."""
        said = [_chat_message(message, place) for place, message in enumerate(messages)]
        body = {"messages": said, "chat_template_kwargs": {"enable_thinking": False}}
        return str(self._post("/apply-template", body)["prompt"])

    def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """What llama.cpp replies at its loopback address, where alone the package applies templates."""
        place = urlsplit(self._server.listening_address)
        link = http.client.HTTPConnection(place.hostname or "", place.port, timeout=60.0)
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self._key}"}
        try:
            link.request("POST", path, json.dumps(body), headers)
            reply: dict[str, Any] = json.loads(link.getresponse().read())
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise ModelError(f"llama.cpp did not reply to {path}: {error}") from error
        finally:
            link.close()
        if "error" in reply:
            raise _error(reply["error"])
        return reply

    def share_head(self, text: str) -> None:
        """Say that prompts of `complete` begin with this text, which is then read once for those in a row."""
        if text != self._head:
            self._head, self._head_read = text, False

    def share_prefix(self, text: str) -> None:
        """Say that prompts of `continuation_logprobs` begin with this text, which is then read once for all of them."""
        if text != self._prefix:
            self._prefix, self._prefix_read = text, False

    def continuation_logprobs(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """The log-probability that each prompt is continued with the text, one token, at temperature 1.

        Minus infinity where the text is not among the likeliest tokens. White space before it does not count.
        """
        with self._lock:
            try:
                return [self._weigh(prompt, continuation) for prompt, continuation in pairs]
            except BaseException:
                self._prefix_read = False
                raise

    def _weigh(self, prompt: str, continuation: str) -> float:
        own: dict[str, Any] = {"id_slot": _WEIGHING_SLOT, "n_predict": 0}
        shared = bool(self._prefix) and prompt.startswith(self._prefix)
        if shared:
            if not self._prefix_read:
                self._ask({**own, "prompt": self._prefix, "cache_prompt": False})
                self._prefix_read = True
            # Back to the state after the prefix, with its last token evaluated alone: every prompt starts from it.
            self._ask({**own, "prompt": self._prefix})
        else:
            self._prefix_read = False
        more = {"n_predict": 1, "samplers": ["temperature"], "n_probs": _ALTERNATIVES, "cache_prompt": shared}
        for seed in range(8):
            entries, _ = _entries(self._ask({**own, **more, "prompt": prompt, "seed": seed}))
            if entries:  # there are none where the token drawn is half a character
                break
        else:
            raise BadReply("llama.cpp gave no probabilities of the next token")
        wanted = continuation.strip().encode()
        found = [e["logprob"] for e in entries[0]["top_logprobs"] if bytes(e["bytes"]).strip() == wanted]
        return min(0.0, float(logsumexp(found))) if found else -math.inf

    def _prepare(self, prompt: str) -> None:
        """Bring the cache to the state from which draws for this prompt always start."""
        self._ready = None
        heads = (head for head in (self._head, HEAD, LONG_HEAD) if head)
        shared = next((head for head in heads if prompt.startswith(head)), None)
        if shared is None:
            self._ask({"prompt": prompt, "n_predict": 0, "cache_prompt": False})
        else:
            # Twice, so that its last token is evaluated alone the first time, as it is every later time.
            afresh = shared == self._head and not self._head_read
            self._ask({"prompt": shared, "n_predict": 0, **({"cache_prompt": False} if afresh else {})})
            self._head_read = self._head_read or afresh
            self._ask({"prompt": shared, "n_predict": 0})
            self._ask({"prompt": prompt, "n_predict": 0})
        self._ready = prompt

    def _one(
        self, prompt: str, temperature: float, seed: int, more: dict[str, Any], *, lines: bool
    ) -> Sample:
        request = {
            **more,
            "prompt": prompt,
            "temperature": temperature,
            "seed": seed,
            "samplers": ["temperature"],
            "n_probs": _ALTERNATIVES,
            # Log-probabilities before the temperature is applied: those of the samples, whatever it is.
            "post_sampling_probs": False,
        }
        entries, finish = self._streamed(request, lines=lines)
        if entries is None:  # a stream omits the probabilities of tokens that form one character
            entries, finish = _entries(self._ask(request))
        return _sample(entries, finish, self.header, temperature, lines=lines)

    def _streamed(
        self, request: dict[str, Any], *, lines: bool
    ) -> tuple[list[dict[str, Any]] | None, str | None]:
        """Stream the answer, with `lines` up to its first line break; None if the stream left tokens out."""
        entries: list[dict[str, Any]] = []
        text: list[str] = []
        finish: list[str | None] = [None]

        def on_token(chunk: dict[str, Any]) -> bool:
            found, finish[0] = _entries(chunk)
            entries.extend(found)
            text.append(chunk["choices"][0].get("text") or "")
            return lines and any(b"\n" in bytes(entry["bytes"]) for entry in found)

        self._ask(request | {"stream": True}, on_token)
        whole = b"".join(bytes(entry["bytes"]) for entry in entries) == "".join(text).encode()
        return (entries if whole else None), finish[0]

    def _ask(self, request: dict[str, Any], on_token: Any = None) -> dict[str, Any]:
        request = {"id_slot": 0, **request}
        failed: list[dict[str, Any]] = []
        raised: list[Exception] = []
        interrupted = threading.Event()

        def receive(chunk: dict[str, Any]) -> bool:
            """Take a chunk of the stream; True ends it."""
            if interrupted.is_set():
                return True
            if "error" in chunk:
                failed.append(chunk["error"])
                return True
            try:
                return bool(on_token(chunk))
            except Exception as error:  # llama.cpp would swallow it
                raised.append(error)
                return True

        # Python delivers Ctrl-C to the main thread, inside whatever runs there. In a callback of llama.cpp it would be
        # lost, so callbacks run in another thread and this one does nothing but wait.
        try:
            reply = _result(
                self._worker.submit(
                    self._server.handle_completions, request, *([receive] if on_token else [])
                )
            )
        except BaseException:
            interrupted.set()
            raise
        if raised:
            raise raised[0]
        if isinstance(reply, dict) and "error" in reply:
            failed.append(reply["error"])
        if failed:
            raise _error(failed[0])
        return reply if isinstance(reply, dict) else {}


def _form(form: str | None, header: GgufHeader, path: Path) -> str:
    """The form in which questions are asked."""
    if form not in (None, *FORMS):
        raise InputError(f"form is {form!r}: one of {', '.join(FORMS)}")
    if form == "chat" and not header.has_template:
        raise InputError(f"{path} has no chat template: load it with form=brief")
    return form or ("chat" if header.has_template else "brief")


def _chat_message(message: Message, place: int) -> dict[str, Any]:
    """A message as chat templates know it: text, from the system, the user, the assistant or a tool."""
    role = "system" if message["role"] == "developer" else message["role"]
    return {**message, "role": role, "content": text_only(message, place)}


def _result(future: Future[T]) -> T:
    """The result of `future`; waits in short steps, since Windows cannot interrupt a longer one."""
    while True:
        done, _ = wait([future], timeout=0.2)
        if done:
            return future.result()


def _entries(chunk: dict[str, Any]) -> tuple[list[dict[str, Any]], str | None]:
    try:
        choice = chunk["choices"][0]
        return (choice.get("logprobs") or {}).get("content") or [], choice.get("finish_reason")
    except (KeyError, IndexError, TypeError) as error:
        raise BadReply(f"llama.cpp sent an unexpected reply: {error!r}") from error


def _sample(
    entries: list[dict[str, Any]],
    finish: str | None,
    header: GgufHeader,
    temperature: float,
    *,
    lines: bool = True,
) -> Sample:
    """The sample: the tokens up to the end, and the log-probability that the answer ends there.

    Without `lines` only end tokens end it, and what the model thought aloud before it is left out.
    """
    if not lines and finish == "stop" and entries:  # the last token is an end, whether we know it or not
        header = replace(header, endings=header.endings | {int(entries[-1]["id"])})
    text, complete = b"", False
    drawn: list[TokenDraw] = []
    for entry in entries:
        token, piece = int(entry["id"]), bytes(entry["bytes"])
        if _ends(token, piece, header, lines=lines):
            alternatives = {int(other["id"]): other for other in (*entry["top_logprobs"], entry)}
            ending = [
                e["logprob"]
                for t, e in alternatives.items()
                if _ends(t, bytes(e["bytes"]), header, lines=lines)
            ]
            drawn.append(_scored(header.end, ending, entry, temperature))
            complete = True
            break
        drawn.append(_scored(token, [entry["logprob"]], entry, temperature))
        text += piece
        if lines and b"\n" in piece:  # text and end in one token, such as a full stop and a line break
            text = text[: text.index(b"\n")]
            complete = True
            break
    # llama.cpp stopped at an end token that we do not know: the answer is complete, its probability unknown.
    end_has_no_logprob = not complete and finish == "stop"
    answer = text.decode("utf-8", errors="replace")
    if not lines and (after := without_thinking(answer)) != answer:  # of the answer alone it is not known
        return Sample(after.strip(), complete=complete, token_count=len(drawn))
    return drawn_sample(answer, drawn, complete=complete or end_has_no_logprob, whole=not end_has_no_logprob)


def _scored(token: int, logprobs: list[float], entry: dict[str, Any], temperature: float) -> TokenDraw:
    """A token, or all tokens with `logprobs` together, scored among the alternatives of `entry`.

    The alternatives are the likeliest tokens. At a temperature below 1 they hold all of the probability but for
    rounding; for the entropy, what they leave counts as one more token.
    """
    own = np.array(logprobs)
    others = np.array([other["logprob"] for other in entry["top_logprobs"]])
    logprob = sampling = min(0.0, float(logsumexp(own)))
    if temperature != 1.0:
        cold = max(temperature, _COLDEST)
        logprob = min(0.0, float(logsumexp(own / cold) - logsumexp(others / cold)))
    shares = np.exp(others)
    rest = max(0.0, 1.0 - float(shares.sum()))
    return TokenDraw(token, logprob, sampling, float(entr(shares).sum() + entr(rest)))


def _ends(token: int, piece: bytes, header: GgufHeader, *, lines: bool = True) -> bool:
    """Whether the token ends an answer and adds nothing to it."""
    return token in header.endings or (lines and b"\n" in piece and not piece.strip())


def _error(error: dict[str, Any]) -> ModelError:
    message = str(error.get("message", error))
    if error.get("type") == "exceed_context_size_error":
        return PromptTooLong(
            f"the prompt has {error.get('n_prompt_tokens')} tokens and the context holds {error.get('n_ctx')}: "
            "shorten it, or load the model with a larger context"
        )
    return ModelError(f"llama.cpp: {message}")


def _load(path: Path, context: int, threads: int, key: str) -> Any:
    with needs("xllamacpp", extra="local"):
        import xllamacpp
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_ctx, params.n_parallel = 2 * context, 2  # each slot has half of it
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.cache_ram_mib = 0  # restoring a saved state would change the numbers
    params.verbosity, params.warmup = -1, False
    params.api_keys = [key]  # the package also listens on loopback: a random key keeps others out
    try:
        return xllamacpp.Server(params)
    except Exception as error:
        raise WeightsError(f"{path}: llama.cpp could not load it: {error}") from error
    finally:
        _restore_ctrl_c()


def _restore_ctrl_c() -> None:
    """Give Ctrl-C back to Python: some versions of llama.cpp's server install a handler that ends the process."""
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is threading.main_thread() and handler is not None:
        signal.signal(signal.SIGINT, handler)


def threads_for(size: int) -> int:
    """The number of threads for a model of `size` bytes.

    llama.cpp's threads wait for each other by spinning, so one that has to share its core holds up all of them:
    beside one busy process, two threads on two cores took seconds per token. A small model runs on one thread; a large
    one gets the cores that are idle now, at most half of them.
    """
    if size < 1 << 29:
        return 1
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    busy = math.ceil(os.getloadavg()[0]) if hasattr(os, "getloadavg") else 0
    return max(1, min(cores // 2, cores - busy))


@cache
def _shared(path: Path, max_tokens: int | None, threads: int | None, process: int) -> LlamaCpp:
    """One model per process, never freed: llama.cpp's threads do not survive a fork, and ending them there crashes."""
    return LlamaCpp(path, name="smollm2", form="brief", max_tokens=max_tokens, threads=threads)


def smollm2(
    *, progress: Progress | None = None, max_tokens: int | None = None, threads: int | None = None
) -> LlamaCpp:
    """SmolLM2-135M-Instruct, fetched on first use with a progress bar; loaded once per process."""
    path = weights.where(weights.SMOLLM2)
    if path is None and progress is None:
        with weights.shown("Fetching the model smollm2") as progress:
            path = weights.fetch(weights.SMOLLM2, progress=progress)
    path = path or weights.fetch(weights.SMOLLM2, progress=progress)
    return _shared(path, max_tokens, threads, os.getpid())


def gguf_brief(path: str, **options: Any) -> LlamaCpp:
    """The GGUF model at `path`, asked after a few examples even if it has a chat template."""
    return LlamaCpp(path, name=f"gguf-brief:{path}", form="brief", **options)
