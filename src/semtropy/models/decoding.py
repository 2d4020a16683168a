"""Batched ancestral sampling from a torch network, and the tokens that end an answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.random import Generator

    from .seen_tree import SeenTree

__all__ = ["Decoding", "Ends", "TokenDraw", "uniforms"]

END_TOKENS = ("<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|end_of_text|>", "<end_of_turn>", "</s>")


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


class TokenDraw(NamedTuple):
    """One token drawn: its log-probability at the temperature of the draw and at 1, and the entropy at 1 in nats."""

    token: int
    logprob: float
    sampling_logprob: float
    entropy: float


class Decoding:
    """A batch of answers being drawn token by token; finished ones leave the batch."""

    def __init__(self, network: Any, ends: Ends, logits: Any, cache: Any, mask: Any) -> None:
        import torch

        self._network, self._logits, self._cache, self._mask = network, logits, cache, mask
        self._end = ends.token
        self._pure = torch.tensor(sorted(ends.pure), device=logits.device)
        self._ending = torch.zeros(logits.shape[-1], dtype=torch.bool, device=logits.device)
        self._ending[[*ends.pure, *ends.mixed]] = True

    def run(
        self, numbers: Any, temperature: float, seen: Sequence[SeenTree] | None = None
    ) -> list[list[TokenDraw]]:
        """The tokens drawn for every row; none of the sequences in its tree of those `seen` is drawn."""
        import torch

        rows, steps = numbers.shape
        drawn: list[list[TokenDraw]] = [[] for _ in range(rows)]
        alive = torch.arange(rows, device=numbers.device)
        running = torch.ones_like(alive, dtype=torch.bool)
        at: list[SeenTree | None] = [None] * rows if seen is None else list(seen)
        for step in range(steps):
            nodes = [at[row] for row in alive.tolist()]
            picked, *scores = self._pick(numbers[alive, step], temperature, nodes)
            columns = (picked.tolist(), *(score.tolist() for score in scores))
            for row, goes_on, *token in zip(alive.tolist(), running.tolist(), *columns, strict=True):
                if goes_on:
                    drawn[row].append(TokenDraw(*token))
                node = at[row]
                at[row] = node.children.get(token[0]) if node is not None and goes_on else None
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

    def _pick(
        self, uniform: Any, temperature: float, nodes: Sequence[SeenTree | None]
    ) -> tuple[Any, Any, Any, Any]:
        """Invert the cumulative distribution of each row at its uniform number, in double precision.

        At a node of a tree of sequences seen, tokens have the share of their probability that is unseen. Returns the
        tokens, their log-probabilities at `temperature` and at 1, and the entropies at 1.
        """
        import torch

        plain = torch.log_softmax(self._logits.double(), dim=-1)
        table = plain if temperature == 1.0 else torch.log_softmax(plain / temperature, dim=-1)
        cumulative = self._unseen(table.exp(), nodes).cumsum(dim=-1)
        target = (uniform * cumulative[:, -1])[:, None]
        picked = torch.searchsorted(cumulative, target, right=True).clamp(max=table.shape[-1] - 1)
        ended = torch.isin(picked[:, 0], self._pure)

        def score(logs: Any) -> Any:
            own = torch.where(ended, logs[:, self._pure].logsumexp(dim=-1), logs.gather(1, picked)[:, 0])
            return own.clamp(max=0.0)

        entropy = -(plain.exp() * plain.clamp(min=-1e4)).sum(dim=-1)
        return torch.where(ended, self._end, picked[:, 0]), score(table), score(plain), entropy.clamp(min=0.0)

    def _unseen(self, shares: Any, nodes: Sequence[SeenTree | None]) -> Any:
        """The probability of each row's next tokens without what was seen; which token ends it does not matter."""
        for row, node in enumerate(nodes):
            for token, child in () if node is None else node.children.items():
                shares[row, self._pure if token == self._end else token] *= child.unseen
        return shares

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
