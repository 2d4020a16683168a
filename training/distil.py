"""Teaches the shipped judge by sampled answers: a teacher's opinion of pairs as they come, beside the labelled pairs.

For a pair of sampled answers the network is run in both directions, and the product of the two probabilities of
entailment is fitted to the teacher's probability that the answers mean the same. A direction is free to be entailed
where the other is not ("Paris, France" and "Paris").
"""

from __future__ import annotations

import json
import math
import random
import time
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.nn import functional

from .evaluate import aucs
from .generate import invented
from .model import CrossEncoder
from .pairs import NOT_ENTAILMENT, Pair, read
from .sources import judged
from .train import Encoded, loss_of, odds, predict, probe_pairs

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Recipe:
    """One run: learning rate, passes over the labelled pairs, and how the teacher is listened to.

    `soft` pairs of sampled answers go into each step beside `hard` labelled ones; `weight` is the share of their loss,
    `slope` the steepness of the teacher's probability, and `positive` the weight of pairs that the teacher calls the
    same.
    """

    rate: float = 1e-4
    epochs: float = 2.0
    hard: int = 512
    soft: int = 160
    weight: float = 1.0
    slope: float = 1.5
    positive: float = 1.0
    seed: int = 0


# The four runs whose weights are averaged in the judge that ships.
RECIPES = (
    Recipe(rate=1.5e-4, epochs=4, weight=3.0, positive=6.0, hard=320, soft=320, seed=10),
    Recipe(rate=1e-4, epochs=4, weight=3.0, positive=10.0, hard=320, soft=320, slope=2.0, seed=11),
    Recipe(rate=2e-4, epochs=4, weight=4.0, positive=4.0, hard=256, soft=384, slope=1.0, seed=12),
    Recipe(rate=1.5e-4, epochs=4, weight=2.0, positive=4.0, hard=384, soft=256, seed=13),
)
INVENTED = 9000  # pairs of made-up names


def run(
    data: Path, answers: Path, start: dict[str, Any], config: dict[str, Any], tokenizer: Any, out: Path, *,
    device: str, seconds: float, limit: int | None = None, recipes: Sequence[Recipe] = RECIPES,
) -> None:  # fmt: skip
    """Train every recipe from `start`, average the runs and write judge.pt and distil.jsonl, a line for each run."""
    judged.check_split(answers)
    held = {row.question for side in ("tune", "test") for row in judged.read(answers, side)}
    pairs = labelled(data, held, limit)
    pairs += invented.pairs(random.Random(5), test=False, count=limit // 10 if limit else INVENTED)
    rows = judged.read(answers, "train")
    hard, total, lines = Encoded(pairs, tokenizer), dict[str, Any](), []
    model = CrossEncoder(config).to(device)
    for recipe in recipes:
        model.load_state_dict(start, strict=False)
        soft = list(islice(judged.soft_pairs(rows, recipe.slope), limit))
        batches = SoftBatches(soft, tokenizer, recipe.soft, np.random.default_rng(recipe.seed))
        train(model, hard, batches, recipe, device=device, seconds=seconds)
        for name, value in model.state_dict().items():
            total[name] = total.get(name, 0) + value.detach().double().cpu() / len(recipes)
        each = 1500 if limit is None else 2
        lines.append(describe(recipe, report(model, data, tokenizer, device=device, each=each)))
        print(lines[-1], flush=True)
    model.load_state_dict({name: value.to(torch.float32) for name, value in total.items()}, strict=False)
    out.mkdir(parents=True, exist_ok=True)
    (out / "distil.jsonl").write_text("\n".join(lines) + "\n")
    save(model, config, out / "judge.pt")


def labelled(data: Path, questions: set[str], limit: int | None = None) -> list[Pair]:
    """The labelled training pairs, without those that ask a question kept for tuning or testing."""
    return [pair for pair in read(data / "train.jsonl.xz")[:limit] if pair.question not in questions]


def same_loss(there: Any, back: Any, same: Any, positive: float) -> Any:
    """Cross-entropy of the product of both directions' probabilities with the teacher's."""
    logs = _log_entails(there) + _log_entails(back)
    rest = torch.log(-torch.expm1(logs.clamp(max=-1e-6)))
    weights = 1 + (positive - 1) * same
    return -(weights * (same * logs + (1 - same) * rest)).sum() / weights.sum()


def _log_entails(logits: Any) -> Any:
    return functional.log_softmax(logits.float(), dim=-1)[:, 0]


class SoftBatches:
    """Sampled pairs in both directions, in random batches of like length, again and again."""

    def __init__(
        self, pairs: Sequence[judged.SoftPair], tokenizer: Any, size: int, rng: np.random.Generator
    ) -> None:
        def encoded(turned: bool) -> Encoded:
            rows = [
                Pair("judged", p.question, p.b if turned else p.a, p.a if turned else p.b, NOT_ENTAILMENT)
                for p in pairs
            ]
            return Encoded(rows, tokenizer)

        self.there, self.back = encoded(False), encoded(True)
        self.same = torch.tensor([pair.same for pair in pairs])
        self._size, self._rng = size, rng
        self._queue: list[Any] = []

    def next(self) -> Any:
        """The places of the next batch."""
        if not self._queue:
            self._queue = list(self.there.batches(self._size, self._rng))
        return self._queue.pop()


def train(
    model: CrossEncoder,
    hard: Encoded,
    soft: SoftBatches,
    recipe: Recipe,
    *,
    device: str,
    seconds: float = math.inf,
) -> None:
    """One run, in place: AdamW, linear warm-up and cosine decay, half precision on a GPU.

    Where the pace of the first steps says that it would take more than `seconds`, there are fewer steps.
    """
    torch.manual_seed(recipe.seed)
    rng = np.random.default_rng(recipe.seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=recipe.rate, weight_decay=0.01)
    steps = int(recipe.epochs * math.ceil(len(hard.rows) / recipe.hard))
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda n: min((n + 1) / (0.06 * steps), 0.5 * (1 + math.cos(math.pi * min(n / steps, 1))))
    )  # reads `steps` as it is at each step
    labels = torch.from_numpy(hard.labels)
    model.train()
    started, done, sums = time.time(), 0, np.zeros(2)
    paced = started
    while done < steps:
        for places in hard.batches(recipe.hard, rng):
            chosen = soft.next()
            with torch.autocast(device, dtype=torch.bfloat16, enabled=device == "cuda"):
                logits = model(**hard.tensors(places, device))
                there = model(**soft.there.tensors(chosen, device))
                back = model(**soft.back.tensors(chosen, device))
            one = loss_of(logits, labels[places].to(device))
            two = same_loss(there, back, soft.same[chosen].to(device), recipe.positive)
            optimizer.zero_grad(set_to_none=True)
            (one + recipe.weight * two).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            done += 1
            if done == 60:
                paced = time.time()
            if done == 160:
                steps = min(steps, int(seconds / ((time.time() - paced) / 100)))
            if done % 20 == 0:
                sums += (float(one.detach()), float(two.detach()))
            if done % 400 == 0:
                print(f"step {done}/{steps} losses {sums / 20} {time.time() - started:.0f} s", flush=True)
                sums[:] = 0
            if done >= steps:
                return


def pair_odds(
    model: CrossEncoder, rows: Sequence[judged.JudgedQuestion], tokenizer: Any, *, device: str
) -> Any:
    """Log-odds of entailment of every ordered pair of a question's answers: rows (question, i, j, log-odds)."""
    places = [
        (n, i, j)
        for n, row in enumerate(rows)
        for i in range(len(row.texts))
        for j in range(len(row.texts))
        if i != j
    ]
    pairs = [Pair("", rows[n].question, rows[n].texts[i], rows[n].texts[j], 0) for n, i, j in places]
    values = odds(predict(model, Encoded(pairs, tokenizer), device=device, size=2048))
    return np.column_stack([np.array(places, dtype=float), values])


def report(
    model: CrossEncoder, data: Path, tokenizer: Any, *, device: str, each: int = 1500
) -> dict[str, float]:
    """Areas under the curve on held-out labelled pairs and the probes."""
    tests = read(data / "test.jsonl.xz")
    kept: dict[str, list[Pair]] = {}
    for pair in tests:
        kept.setdefault(pair.source, []).append(pair)
    chosen = [pair for rows in kept.values() for pair in rows[:each]]
    chosen += probe_pairs() + probe_pairs("fresh.jsonl") + probe_pairs("related.jsonl")
    return aucs(chosen, odds(predict(model, Encoded(chosen, tokenizer), device=device, size=2048)))


def save(model: CrossEncoder, config: dict[str, Any], path: Path) -> None:
    """Weights in half precision."""
    halves = {name: value.half().contiguous().cpu() for name, value in model.state_dict().items()}
    torch.save({"config": config, "weights": halves}, path)


def describe(recipe: Recipe, figures: dict[str, Any]) -> str:
    """A line of JSON for the log."""
    return json.dumps({"recipe": {name: getattr(recipe, name) for name in Recipe.__slots__}, **figures})
