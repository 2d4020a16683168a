"""`hf:NAME_OR_PATH`: any causal checkpoint through transformers, batched, with exact log-probabilities.

Answers are drawn here rather than by `generate`: each token inverts the cumulative distribution at one uniform
number. A sample therefore depends on its seed alone and not on its batch, and its log-probability is exactly that of
the distribution sampled from, end included. Which of the tokens that only end an answer was drawn does not matter,
so the last log-probability is that of any of them.
"""

from __future__ import annotations

import copy
import io
import math
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from ..capabilities import WEIGHING
from ..conversation import as_messages
from ..errors import InputError, ModelError, PromptTooLong, needs
from ..samples import TokenDraw, drawn_sample
from .prompt_template import END_TOKENS, brief_prompt

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.random import Generator

    from ..conversation import Prompt
    from ..nouns import Sample


# Batched ancestral sampling from a torch network, and the tokens that end an answer.


LEAST_SHARED = 16  # tokens of a prefix that are worth a cache


@dataclass(frozen=True)
class Ends:
    """The tokens that end an answer: those that add nothing to it, and those with text before a line break."""

    token: int  # reported in place of any of `pure`
    pure: frozenset[int]
    mixed: Mapping[int, str]  # token -> the text it adds to the answer

    def tail(self, token: int) -> str | None:
        """The text that an ending token adds to the answer; None if `token` does not end it."""
        return "" if token in self.pure else self.mixed.get(token)

    @classmethod
    def of(cls, network: Any, tokenizer: Any, stop: str | None) -> Ends:
        held = [tokenizer.eos_token_id, getattr(network.config, "eos_token_id", None)]
        held.append(getattr(getattr(network, "generation_config", None), "eos_token_id", None))
        known = tokenizer.get_vocab()
        held += [known[token] for token in END_TOKENS if token in known]
        flat = [token for item in held for token in (item if isinstance(item, list) else [item])]
        named = [token for token in flat if token is not None]
        pure, mixed = set(named), {}
        if stop:
            size = min(len(tokenizer), network.config.vocab_size)
            pieces = tokenizer.batch_decode([[k] for k in range(size)], clean_up_tokenization_spaces=False)
            for token, text in enumerate(pieces):
                if stop in text and token not in pure:
                    before = text.split(stop, 1)[0]
                    if before.strip() or text.strip():
                        mixed[token] = before
                    else:
                        pure.add(token)
        if not pure:
            raise InputError(
                "the tokenizer has no end token, so an answer would never end: choose another checkpoint"
            )
        return cls(named[0] if named else min(pure), frozenset(pure), mixed)


class Decoding:
    """A batch of answers being drawn token by token; finished ones leave the batch."""

    def __init__(self, network: Any, ends: Ends, logits: Any, cache: Any, mask: Any) -> None:
        import torch

        self._network, self._logits, self._cache, self._mask = network, logits, cache, mask
        self._end = ends.token
        self._pure = torch.tensor(sorted(ends.pure), device=logits.device)
        self._ending = torch.zeros(logits.shape[-1], dtype=torch.bool, device=logits.device)
        self._ending[[*ends.pure, *ends.mixed]] = True

    def run(self, numbers: Any, temperature: float) -> list[list[TokenDraw]]:
        """The tokens drawn for every row."""
        import torch

        rows, steps = numbers.shape
        drawn: list[list[TokenDraw]] = [[] for _ in range(rows)]
        alive = torch.arange(rows, device=numbers.device)
        running = torch.ones_like(alive, dtype=torch.bool)
        for step in range(steps):
            picked, *scores = self._pick(numbers[alive, step], temperature)
            columns = (picked.tolist(), *(score.tolist() for score in scores))
            for row, goes_on, *token in zip(alive.tolist(), running.tolist(), *columns, strict=True):
                if goes_on:
                    drawn[row].append(TokenDraw(*token))
            running = running & ~self._ending[picked]
            left = int(running.sum())
            if left == 0 or step + 1 == steps:
                break
            if left <= 0.75 * len(alive):  # then copying the cache costs less than computing finished rows
                kept = running.nonzero()[:, 0]
                alive, picked, running = alive[kept], picked[kept], running[kept]
                self._mask = self._mask[kept]
                self._cache.batch_select_indices(kept)
            self._advance(picked)
        return drawn

    def _pick(self, uniform: Any, temperature: float) -> tuple[Any, Any, Any, Any]:
        """Invert the cumulative distribution of each row at its uniform number, in double precision.

        Returns the tokens, their log-probabilities at `temperature` and at 1, and the entropies at 1.
        """
        import torch

        plain = torch.log_softmax(self._logits.double(), dim=-1)
        table = plain if temperature == 1.0 else torch.log_softmax(plain / temperature, dim=-1)
        cumulative = table.exp().cumsum(dim=-1)
        target = (uniform * cumulative[:, -1])[:, None]
        picked = torch.searchsorted(cumulative, target, right=True).clamp(max=table.shape[-1] - 1)
        ended = torch.isin(picked[:, 0], self._pure)

        def score(logs: Any) -> Any:
            own = torch.where(ended, logs[:, self._pure].logsumexp(dim=-1), logs.gather(1, picked)[:, 0])
            return own.clamp(max=0.0)

        entropy = -(plain.exp() * plain.clamp(min=-1e4)).sum(dim=-1)
        return torch.where(ended, self._end, picked[:, 0]), score(table), score(plain), entropy.clamp(min=0.0)

    def _advance(self, picked: Any) -> None:
        import torch

        self._mask = torch.cat([self._mask, torch.ones_like(self._mask[:, :1])], dim=1)
        out = self._network(
            input_ids=picked[:, None],
            attention_mask=self._mask,
            position_ids=self._mask.sum(-1, keepdim=True) - 1,
            past_key_values=self._cache,
            use_cache=True,
        )
        self._logits = out.logits[:, -1]


def uniforms(rng: Generator, n: int, steps: int) -> Any:
    """One row of uniform numbers per sample, each from a separate seed drawn from `rng`."""
    seeds = rng.integers(0, 2**63 - 1, size=n)
    return np.stack([np.random.default_rng(seed).random(steps) for seed in seeds])


COLDEST = 1e-3  # used for temperature 0, where it gives the most likely token

REPLACEMENT = "\ufffd"  # stands for bytes that are no character: which ones is not known

Wrap = Callable[["Prompt"], str]
T = TypeVar("T")


class Transformers:
    """A loaded checkpoint and its tokenizer.

    `sample` applies `wrap` to a question; `complete` continues a prompt unchanged. An answer ends with an end token,
    or with any token that contains `stop`. `max_rows` bounds the answers per batch and `max_batch_tokens` the prompt
    tokens; both are halved when memory runs out.
    """

    pace = WEIGHING

    def __init__(
        self,
        network: Any,
        tokenizer: Any,
        *,
        name: str = "hf",
        max_tokens: int = 32,
        stop: str | None = "\n",
        wrap: Wrap | None = None,
        max_rows: int = 128,
        max_batch_tokens: int = 16384,
    ) -> None:
        if max_tokens < 1 or max_rows < 1:
            raise InputError(f"max_tokens is {max_tokens} and max_rows is {max_rows}: both are at least 1")
        self.name, self.max_tokens, self.eos_included = name, max_tokens, True
        self._network, self._tokenizer, self._wrap = network.eval(), tokenizer, wrap
        self._max_rows, self._max_batch_tokens = max_rows, max_batch_tokens
        self._prefix, self._prefix_read = "", cast("tuple[list[int], dict[int, Any]] | None", None)
        self._context = getattr(network.config, "max_position_embeddings", None) or 1 << 30
        self._ends = Ends.of(network, tokenizer, stop)

    @property
    def endings(self) -> frozenset[int]:
        """The tokens that end an answer and add nothing to it; all are reported as the end token."""
        return self._ends.pure

    def sample(
        self, prompt: Prompt, n: int, *, temperature: float = 1.0, rng: Generator | None = None
    ) -> list[Sample]:
        """Draw `n` answers to a question or a conversation."""
        return self.complete(self._wrapped(prompt), n, temperature=temperature, rng=rng)

    def _wrapped(self, prompt: Prompt) -> str:
        """The prompt as text for the model to continue."""
        if isinstance(prompt, str) and not prompt.strip():
            raise InputError("the prompt is empty: ask something")
        if self._wrap:
            return self._wrap(prompt)
        if isinstance(prompt, str):
            return prompt
        raise InputError("form raw takes one text, not messages: load the model with form=chat or brief")

    def weigh(self, prompt: Prompt, answer: Sample) -> Sample | None:
        """The answer with its log-probability after the prompt, its end included, by one forward pass.

        It is that of the likelier way to write the answer in tokens, with or without a space before it. None for an
        answer that cannot be drawn: it is too long, or goes on after a line break that would end it.
        """
        head = self._encode(self._wrapped(prompt))
        spelled = [self._tokens_of(text) for text in (f" {answer.text}", answer.text)]
        tails = [tail for tail in spelled if tail is not None]
        if not tails:
            return None
        weighed = self._within_memory(lambda: self._token_draws(head, tails))
        best = max(weighed, key=lambda drawn: math.fsum(each.sampling_logprob for each in drawn))
        return replace(self._finish(best), text=answer.text, logprob=None, temperature=None)

    def _tokens_of(self, text: str) -> list[int] | None:
        """The tokens of an answer without its end; None where it could not be drawn as these tokens."""
        ids: list[int] = list(self._tokenizer(text, add_special_tokens=False).input_ids)
        decoded = self._tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)
        ends = any(self._ends.tail(token) is not None for token in ids)
        drawable = bool(ids) and not ends and len(ids) < self.max_tokens and REPLACEMENT not in text
        return ids if drawable and decoded.strip() == text.strip() else None

    def _token_draws(self, head: list[int], tails: Sequence[list[int]]) -> list[list[TokenDraw]]:
        """What drawing each of the token sequences after `head`, and then any end, would have reported."""
        import torch

        keep = 1 + max(map(len, tails))
        with torch.inference_mode():
            logits = self._read([head + tail for tail in tails], keep=keep)[0]
            table = torch.log_softmax(logits.double(), dim=-1)
            entropies = (-(table.exp() * table.clamp(min=-1e4)).sum(dim=-1)).clamp(min=0.0)
            ending = table[:, -1, sorted(self._ends.pure)].logsumexp(dim=-1).clamp(max=0.0)
        found = []
        for row, tail in enumerate(tails):
            start = keep - 1 - len(tail)
            logs = [float(table[row, start + k, token]) for k, token in enumerate(tail)]
            scored = zip([*tail, self._ends.token], [*logs, float(ending[row])], strict=True)
            spread = entropies[row, start:].tolist()
            found.append(
                [TokenDraw(token, log, log, own) for (token, log), own in zip(scored, spread, strict=True)]
            )
        return found

    def complete(
        self, prompt: str, n: int, *, temperature: float = 1.0, rng: Generator | None = None
    ) -> list[Sample]:
        """Draw `n` continuations of the prompt as it stands."""
        rngs = [rng if rng is not None else np.random.default_rng()]
        return self.complete_many([prompt], n, temperature=temperature, rngs=rngs)[0]

    def complete_many(
        self, prompts: Sequence[str], n: int, *, temperature: float = 1.0, rngs: Sequence[Generator]
    ) -> list[list[Sample]]:
        """Draw `n` continuations of each prompt; a prompt's draws depend on its own generator alone."""
        if n < 1 or temperature < 0:
            raise InputError(f"n is {n} and temperature is {temperature}: at least 1, and not below 0")
        encoded = [self._encode(prompt) for prompt in prompts]
        temperature = max(temperature, COLDEST)
        rows = [(place, uniforms(rng, n, self.max_tokens)) for place, rng in enumerate(rngs)]
        drawn = self._within_memory(lambda: self._complete(encoded, rows, n, temperature))
        return [[self._finish(tokens) for tokens in own] for own in drawn]

    def _complete(
        self, encoded: Sequence[list[int]], rows: Sequence[tuple[int, Any]], n: int, temperature: float
    ) -> list[list[list[TokenDraw]]]:
        # The rows of a prompt stay in order; a batch holds several prompts, or some rows of one.
        results: list[list[list[TokenDraw]]] = [[] for _ in encoded]
        for places, numbers in self._batches(encoded, rows, n):
            drawn = self._draw([encoded[place] for place in places], numbers, temperature)
            each = len(drawn) // len(places)
            for k, place in enumerate(places):
                results[place] += drawn[k * each : (k + 1) * each]
        return results

    def share_prefix(self, text: str) -> None:
        """Say that prompts of `continuation_logprobs` begin with this text, which is then read once for all of them."""
        if text != self._prefix:
            self._prefix, self._prefix_read = text, None

    def continuation_logprobs(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """The log-probability of each continuation after its prompt, at temperature 1."""
        encoded = []
        for prompt, continuation in pairs:
            tail = self._tokenizer(continuation, add_special_tokens=False).input_ids
            if not tail:
                raise InputError("the continuation is empty: give at least one token")
            encoded.append((self._encode(prompt, room=len(tail)), tail))
        return self._within_memory(lambda: self._weigh(encoded))

    def _weigh(self, encoded: Sequence[tuple[list[int], list[int]]]) -> list[float]:
        import torch

        results: list[float] = []
        longest = max((len(head) + len(tail) for head, tail in encoded), default=1)
        size = max(1, self._max_batch_tokens // longest)
        for start in range(0, len(encoded), size):
            group = encoded[start : start + size]
            keep = 1 + max(len(tail) for _, tail in group)
            with torch.inference_mode():
                read = self._prefix_of([head for head, _ in group])
                known = 0 if read is None else read[1]
                logits = self._read([head[known:] + tail for head, tail in group], keep, after=read)[0]
                table = torch.log_softmax(logits.double(), dim=-1)
            for row, (_, tail) in enumerate(group):
                at = keep - 1 - len(tail)
                results.append(math.fsum(float(table[row, at + k, token]) for k, token in enumerate(tail)))
        return results

    def _prefix_of(self, heads: Sequence[list[int]]) -> tuple[Any, int] | None:
        """The cache after the tokens that all these prompts share with the shared prefix, and their number."""
        if not self._prefix:
            return None
        if self._prefix_read is None:
            self._prefix_read = self._encode(self._prefix, room=0), {}
        ids, caches = self._prefix_read
        shared = len(ids) - 1  # the text after it may change how its last letters are split into tokens
        for head in heads:
            alike = (k for k, (one, other) in enumerate(zip(ids, head, strict=False)) if one != other)
            shared = min(shared, len(head) - 1, next(alike, shared))
        if shared < LEAST_SHARED:
            return None
        if shared not in caches:
            caches.clear()  # one is enough: a prefix is nearly always split in the same way
            caches[shared] = self._read([ids[:shared]], keep=1, cache=True)[1]
        return caches[shared], shared

    def _within_memory(self, work: Callable[[], T]) -> T:
        """Do the work, halving the batch size each time the device runs out of memory."""
        import torch

        while True:
            try:
                return work()
            except torch.OutOfMemoryError as error:
                if self._max_rows == 1:
                    raise ModelError(f"{self.name} does not fit the device's memory: {error}") from error
            self._max_rows = max(1, self._max_rows // 2)
            self._max_batch_tokens = max(1, self._max_batch_tokens // 2)
            torch.cuda.empty_cache()

    def _encode(self, prompt: str, room: int | None = None) -> list[int]:
        ids: list[int] = list(self._tokenizer(prompt).input_ids)
        room = self.max_tokens if room is None else room
        if not ids:
            raise InputError("the prompt is empty: ask something")
        if len(ids) + room > self._context:
            raise PromptTooLong(
                f"the prompt has {len(ids)} tokens, and {self.name} holds {self._context} "
                f"with {room} of them kept for the answer: shorten the prompt"
            )
        return ids

    def _batches(
        self, encoded: Sequence[list[int]], rows: Sequence[tuple[int, Any]], n: int
    ) -> list[tuple[list[int], Any]]:
        """The batches: whole prompts up to both limits, or some rows of one prompt."""
        if n > self._max_rows:
            step = self._max_rows
            return [([k], numbers[at : at + step]) for k, numbers in rows for at in range(0, n, step)]
        longest = max(map(len, encoded), default=1)
        size = max(1, min(self._max_rows // n, self._max_batch_tokens // longest))
        groups = [rows[at : at + size] for at in range(0, len(rows), size)]
        return [([k for k, _ in group], np.concatenate([x for _, x in group])) for group in groups]

    def _read(
        self,
        sequences: Sequence[list[int]],
        keep: int,
        cache: bool = False,
        after: tuple[Any, int] | None = None,
    ) -> tuple[Any, Any, Any]:
        """Logits of the last `keep` positions, the cache, and the attention mask of left-padded sequences.

        after  the cache of tokens that stand before all of them, and their number; it stays as it is
        """
        import torch

        longest = max(map(len, sequences))
        ids = torch.zeros(len(sequences), longest, dtype=torch.long)
        mask = torch.zeros_like(ids)
        for row, sequence in enumerate(sequences):
            ids[row, longest - len(sequence) :] = torch.tensor(sequence)
            mask[row, longest - len(sequence) :] = 1
        ids, mask = ids.to(self._network.device), mask.to(self._network.device)
        before: dict[str, Any] = {}
        if after is not None:
            known = copy.deepcopy(after[0])
            known.batch_repeat_interleave(len(sequences))
            before = {"past_key_values": known}
            mask = torch.cat([mask.new_ones(len(sequences), after[1]), mask], dim=1)
        out = self._network(
            input_ids=ids,
            attention_mask=mask,
            position_ids=(mask.cumsum(-1) - 1).clamp(min=0)[:, -longest:],
            use_cache=cache or bool(before),
            logits_to_keep=keep,
            **before,
        )
        return out.logits[:, -keep:], out.past_key_values if cache else None, mask

    def _draw(self, encoded: Sequence[list[int]], numbers: Any, temperature: float) -> list[list[TokenDraw]]:
        """Draw the rows of `numbers` in one batch, the same number for each prompt."""
        import torch

        each = len(numbers) // len(encoded)
        with torch.inference_mode():
            logits, cache, mask = self._read(encoded, keep=1, cache=True)
            cache.batch_repeat_interleave(each)
            logits = logits[:, -1].repeat_interleave(each, dim=0)
            mask = mask.repeat_interleave(each, dim=0)
            decoding = Decoding(self._network, self._ends, logits, cache, mask)
            return decoding.run(torch.as_tensor(numbers, device=logits.device), temperature)

    def _finish(self, drawn: list[TokenDraw]) -> Sample:
        ids = [each.token for each in drawn]
        tail = self._ends.tail(ids[-1])
        complete = tail is not None
        body = ids[:-1] if complete else ids
        text = self._tokenizer.decode(body, skip_special_tokens=True, clean_up_tokenization_spaces=False)
        return drawn_sample(text + (tail or ""), drawn, complete=complete)


# Loading a checkpoint and its tokenizer.


def hf(
    path: str, *, device: str | None = None, dtype: str = "float32", form: str = "brief", **options: Any
) -> Transformers:
    """The checkpoint at a hub name, a folder, or a GGUF file (dequantised).

    `form` is the prompt that `sample` makes of a question: `brief` (five short examples), `chat` (the checkpoint's
    chat template; answers may have several lines) or `raw` (the question alone).
    """
    wanted = {"float32", "bfloat16", "float16"}
    if dtype not in wanted:
        raise InputError(f"dtype is {dtype!r}: one of {', '.join(sorted(wanted))}")
    with needs("transformers", extra="transformers"):
        import torch
        import transformers
    place: dict[str, Any] = {"pretrained_model_name_or_path": path}
    if path.endswith(".gguf"):
        file = Path(path)
        place = {"pretrained_model_name_or_path": str(file.parent), "gguf_file": file.name}
    try:
        with redirect_stderr(io.StringIO()):  # hides the progress bars of transformers
            tokenizer = transformers.AutoTokenizer.from_pretrained(**place)
            network: Any = transformers.AutoModelForCausalLM.from_pretrained(**place)
    except (OSError, ValueError, ImportError) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ModelError(f"hf:{path} cannot be loaded: {reason}") from error
    if path.endswith(".gguf"):
        _split_digits(tokenizer, path)
    if network.dtype != getattr(torch, dtype):
        network = network.to(getattr(torch, dtype))
    network = network.to(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    if form == "chat":
        options.setdefault("stop", None)
    return Transformers(network, tokenizer, name=f"hf:{path}", wrap=_wrapper(form, tokenizer), **options)


def _split_digits(tokenizer: Any, path: str) -> None:
    """Give a tokenizer made from a GGUF file the digit splitting that transformers leaves out of it.

    SmolLM's splits every digit from its neighbours, the space before it included. Most text comes out the same
    without; fractions and other scripts' digits do not.
    """
    import gguf
    from tokenizers import pre_tokenizers

    field = gguf.GGUFReader(path).get_field("tokenizer.ggml.pre")
    if field is not None and field.contents() == "smollm":
        backend = tokenizer.backend_tokenizer
        split = pre_tokenizers.Digits(individual_digits=True)
        backend.pre_tokenizer = pre_tokenizers.Sequence([split, backend.pre_tokenizer])


def _wrapper(form: str, tokenizer: Any) -> Wrap | None:
    if form == "raw":
        return None
    if form == "brief":
        return brief_prompt
    if form == "chat":

        def chat(prompt: Prompt) -> str:
            said = as_messages(prompt)
            text: str = tokenizer.apply_chat_template(said, tokenize=False, add_generation_prompt=True)
            return text

        return chat
    raise InputError(f"form is {form!r}: one of brief, chat, raw")
