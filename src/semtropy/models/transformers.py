"""`hf:NAME_OR_PATH`: any causal checkpoint through transformers, batched, with exact log-probabilities.

Answers are drawn here rather than by `generate`: each token inverts the cumulative distribution at one uniform
number. A sample therefore depends on its seed alone and not on its batch, and its log-probability is exactly that of
the distribution sampled from, end included. Which of the tokens that only end an answer was drawn does not matter,
so the last log-probability is that of any of them.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np

from ..errors import InputError, ModelError, PromptTooLong
from ..nouns import Sample
from ..pace import IN_PROCESS, WEIGHING
from .decoding import Decoding, Ends, TokenDraw, uniforms
from .seen_tree import SeenTree

if TYPE_CHECKING:
    from numpy.random import Generator

    from ..conversation import Prompt
    from ..pace import Pace

__all__ = ["Transformers", "Wrap"]

COLDEST = 1e-3  # used for temperature 0, where it gives the most likely token

REPLACEMENT = "\ufffd"  # stands for bytes that are no character: which ones is not known

Wrap = Callable[["Prompt"], str]
T = TypeVar("T")


class Transformers:
    """A loaded checkpoint and its tokenizer.

    `sample` applies `wrap` to a question; `complete` continues a prompt unchanged. An answer ends with an end token,
    or with any token that contains `stop`. `max_rows` bounds the answers per batch and `max_batch_tokens` the prompt
    tokens; both are halved when memory runs out.

    With `replacement=False` the draws of one call differ from each other: draws without replacement, each with the
    log-probability it has among all answers. There are fewer than `n` where all answers were drawn.
    """

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
        replacement: bool = True,
    ) -> None:
        if max_tokens < 1 or max_rows < 1:
            raise InputError(f"max_tokens is {max_tokens} and max_rows is {max_rows}: both are at least 1")
        self.name, self.max_tokens, self.eos_included = name, max_tokens, True
        self.replacement = replacement
        self._memory: dict[tuple[str, float], SeenTree] | None = None
        self._network, self._tokenizer, self._wrap = network.eval(), tokenizer, wrap
        self._max_rows, self._max_batch_tokens = max_rows, max_batch_tokens
        self._context = getattr(network.config, "max_position_embeddings", None) or 1 << 30
        self._ends = Ends.of(network, tokenizer, stop)

    @property
    def pace(self) -> Pace:
        """One answer after another, each with its probability; that of a given answer can be asked for.

        Not without replacement, where an answer that was weighed would have to be kept from being drawn.
        """
        return WEIGHING if self.replacement else IN_PROCESS

    @property
    def endings(self) -> frozenset[int]:
        """The tokens that end an answer and add nothing to it; all are reported as the end token."""
        return self._ends.pure

    def remembering(self) -> Self:
        """The same model, whose draws without replacement differ from those of its earlier calls too.

        Draws at temperature 1 also differ from what was drawn at another temperature, the answer that is judged.
        """
        own = copy.copy(self)
        own._memory = {}
        return own

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
        if not self.replacement:
            return self._complete_distinct(prompts, encoded, n, temperature, rngs)
        rows = [(place, uniforms(rng, n, self.max_tokens)) for place, rng in enumerate(rngs)]
        drawn = self._within_memory(lambda: self._complete(encoded, rows, n, temperature))
        return [[self._finish(tokens) for tokens in own] for own in drawn]

    def _complete(
        self,
        encoded: Sequence[list[int]],
        rows: Sequence[tuple[int, Any]],
        n: int,
        temperature: float,
        seen: Sequence[SeenTree] | None = None,
    ) -> list[list[list[TokenDraw]]]:
        # The rows of a prompt stay in order; a batch holds several prompts, or some rows of one.
        results: list[list[list[TokenDraw]]] = [[] for _ in encoded]
        for places, numbers in self._batches(encoded, rows, n):
            trees = None if seen is None else [seen[place] for place in places]
            drawn = self._draw([encoded[place] for place in places], numbers, temperature, trees)
            each = len(drawn) // len(places)
            for k, place in enumerate(places):
                results[place] += drawn[k * each : (k + 1) * each]
        return results

    def _complete_distinct(
        self,
        prompts: Sequence[str],
        encoded: Sequence[list[int]],
        n: int,
        temperature: float,
        rngs: Sequence[Generator],
    ) -> list[list[Sample]]:
        """`n` different continuations of each prompt, in rounds of `n` independent draws of what is unseen.

        The first occurrences among independent draws are draws without replacement, so a batch is as exact as one at
        a time. Rounds are of `n` for every prompt, so that its draws do not depend on the others.
        """
        trees = [self._seen(prompt, temperature) for prompt in prompts]
        found: list[list[Sample]] = [[] for _ in prompts]
        while unfinished := [k for k, tree in enumerate(trees) if len(found[k]) < n and not tree.exhausted]:
            rows = [(place, uniforms(rngs[k], n, self.max_tokens)) for place, k in enumerate(unfinished)]
            texts, seen = [encoded[k] for k in unfinished], [trees[k] for k in unfinished]
            drawn = self._within_memory(partial(self._complete, texts, rows, n, temperature, seen))
            for k, own in zip(unfinished, drawn, strict=True):
                for tokens in own:
                    if len(found[k]) < n and self._add(tokens, prompts[k], temperature, trees[k]):
                        found[k].append(self._finish(tokens))
        return found

    def _seen(self, prompt: str, temperature: float) -> SeenTree:
        """What not to draw: nothing yet, or what was drawn at this temperature since `remembering`."""
        if self._memory is None:
            return SeenTree()
        return self._memory.setdefault((prompt, temperature), SeenTree())

    def _add(self, drawn: list[TokenDraw], prompt: str, temperature: float, tree: SeenTree) -> bool:
        """Mark a continuation as drawn; False if it was drawn before."""
        ids = [each.token for each in drawn]
        if self._memory is not None and temperature != 1.0:
            self._seen(prompt, 1.0).add(ids, [math.exp(each.sampling_logprob) for each in drawn])
        return tree.add(ids, [math.exp(each.logprob) for each in drawn])

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
                logits = self._read([head + tail for head, tail in group], keep=keep)[0]
                table = torch.log_softmax(logits.double(), dim=-1)
            for row, (_, tail) in enumerate(group):
                at = keep - 1 - len(tail)
                results.append(math.fsum(float(table[row, at + k, token]) for k, token in enumerate(tail)))
        return results

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

    def _read(self, sequences: Sequence[list[int]], keep: int, cache: bool = False) -> tuple[Any, Any, Any]:
        """Logits of the last `keep` positions, the cache, and the attention mask of left-padded sequences."""
        import torch

        longest = max(map(len, sequences))
        ids = torch.zeros(len(sequences), longest, dtype=torch.long)
        mask = torch.zeros_like(ids)
        for row, sequence in enumerate(sequences):
            ids[row, longest - len(sequence) :] = torch.tensor(sequence)
            mask[row, longest - len(sequence) :] = 1
        ids, mask = ids.to(self._network.device), mask.to(self._network.device)
        out = self._network(
            input_ids=ids,
            attention_mask=mask,
            position_ids=(mask.cumsum(-1) - 1).clamp(min=0),
            use_cache=cache,
            logits_to_keep=keep,
        )
        return out.logits[:, -keep:], out.past_key_values if cache else None, mask

    def _draw(
        self,
        encoded: Sequence[list[int]],
        numbers: Any,
        temperature: float,
        seen: Sequence[SeenTree] | None = None,
    ) -> list[list[TokenDraw]]:
        """Draw the rows of `numbers` in one batch, the same number for each prompt."""
        import torch

        each = len(numbers) // len(encoded)
        with torch.inference_mode():
            logits, cache, mask = self._read(encoded, keep=1, cache=True)
            cache.batch_repeat_interleave(each)
            logits = logits[:, -1].repeat_interleave(each, dim=0)
            mask = mask.repeat_interleave(each, dim=0)
            decoding = Decoding(self._network, self._ends, logits, cache, mask)
            trees = None if seen is None else [tree for tree in seen for _ in range(each)]
            return decoding.run(torch.as_tensor(numbers, device=logits.device), temperature, trees)

    def _finish(self, drawn: list[TokenDraw]) -> Sample:
        ids = [each.token for each in drawn]
        tail = self._ends.tail(ids[-1])
        complete = tail is not None
        body = ids[:-1] if complete else ids
        text = self._tokenizer.decode(body, skip_special_tokens=True, clean_up_tokenization_spaces=False)
        return Sample(
            (text + (tail or "")).strip(),
            math.fsum(each.logprob for each in drawn),
            tuple(ids),
            tuple(each.logprob for each in drawn),
            complete,
            sampling_logprob=math.fsum(each.sampling_logprob for each in drawn),
            token_entropies=tuple(each.entropy for each in drawn),
        )
