"""Trains the cross-encoder: several runs from one start, averaged."""

from __future__ import annotations

import json
import math
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.nn import functional

from .evaluate import aucs
from .model import QUESTION_TOKENS, CrossEncoder
from .pairs import ENTAILMENT, NOT_ENTAILMENT, Pair, read

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

LONGEST = 192


class Encoded:
    """Pairs as token ids, in the form the shipped judge uses: `question A [SEP] B`."""

    def __init__(self, pairs: Sequence[Pair], tokenizer: Any) -> None:
        tokenizer.no_padding()
        tokenizer.no_truncation()
        questions = list(dict.fromkeys(pair.question for pair in pairs))
        texts = list(dict.fromkeys(text for pair in pairs for text in (pair.a, pair.b)))
        ids = {
            text: encoding.ids
            for part in (questions, texts)
            for text, encoding in zip(
                part, tokenizer.encode_batch(part, add_special_tokens=False), strict=True
            )
        }
        cls, sep = tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")
        self.rows: list[tuple[list[int], int]] = []
        for pair in pairs:
            question = ids[pair.question]
            if len(question) > QUESTION_TOKENS:
                question = (
                    question[: QUESTION_TOKENS // 3] + question[-(QUESTION_TOKENS - QUESTION_TOKENS // 3) :]
                )
            first = [cls, *question, *ids[pair.a], sep]
            self.rows.append(([*first, *ids[pair.b], sep][:LONGEST], min(len(first), LONGEST)))
        self.labels = np.array([pair.label for pair in pairs])
        self.lengths = np.array([len(row) for row, _ in self.rows])

    def batches(self, size: int, rng: np.random.Generator | None) -> Iterator[Any]:
        """Places of pairs of like length together; in random order where `rng` is given."""
        noise = rng.random(len(self.rows)) * 4 if rng is not None else 0
        order = np.argsort(self.lengths + noise, kind="stable")
        parts = [order[start : start + size] for start in range(0, len(order), size)]
        if rng is not None:
            rng.shuffle(parts)
        yield from parts

    def tensors(self, places: Any, device: str) -> dict[str, Any]:
        """Padded inputs of the places."""
        longest = int(self.lengths[places].max())
        ids = np.zeros((len(places), longest), dtype=np.int64)
        mask, types = np.zeros_like(ids), np.zeros_like(ids)
        for line, place in enumerate(places):
            row, first = self.rows[place]
            ids[line, : len(row)] = row
            mask[line, : len(row)] = 1
            types[line, first : len(row)] = 1
        arrays = {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}
        return {name: torch.from_numpy(array).to(device, non_blocking=True) for name, array in arrays.items()}


def loss_of(logits: Any, labels: Any) -> Any:
    """Cross-entropy; where only "not entailment" is known, minus the log of the rest's probability."""
    logs = functional.log_softmax(logits.float(), dim=-1)
    rest = torch.logsumexp(logs[:, 1:], dim=-1)
    known = -logs.gather(1, labels.clamp(max=2).unsqueeze(1)).squeeze(1)
    return torch.where(labels == NOT_ENTAILMENT, -rest, known).mean()


def train(
    model: CrossEncoder,
    encoded: Encoded,
    cosines: Any,
    *,
    device: str,
    epochs: int,
    rate: float,
    size: int,
    seed: int,
    weight: float,
) -> None:
    """One run, in place: AdamW, linear warm-up and cosine decay, half precision on a GPU."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.01)
    steps = epochs * math.ceil(len(encoded.rows) / size)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda n: min((n + 1) / (0.06 * steps), 0.5 * (1 + math.cos(math.pi * min(n / steps, 1))))
    )
    labels = torch.from_numpy(encoded.labels)
    model.train()
    started, done, total = time.time(), 0, 0.0
    for _ in range(epochs):
        for places in encoded.batches(size, rng):
            with torch.autocast(device, dtype=torch.bfloat16, enabled=device == "cuda"):
                features = model.features(**encoded.tensors(places, device))
                logits, cosine = model.out(model.drop(features)), model.cosine(features).squeeze(-1)
            loss = loss_of(logits, labels[places].to(device))
            aim = torch.from_numpy(cosines[places]).to(device)
            known = torch.isfinite(aim)
            if weight and bool(known.any()):
                loss = loss + weight * functional.mse_loss(cosine.float()[known], aim[known])
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            done, total = done + 1, total + (float(loss.detach()) if done % 50 == 0 else 0.0)
            if done % 500 == 0:
                print(
                    f"step {done}/{steps} loss {total / (done // 50 + 1):.4f} {time.time() - started:.0f} s",
                    flush=True,
                )


@torch.inference_mode()
def predict(model: CrossEncoder, encoded: Encoded, *, device: str, size: int = 512) -> np.ndarray:
    """Logits of every pair, in order."""
    model.eval()
    out = np.zeros((len(encoded.rows), 3), dtype=np.float32)
    for places in encoded.batches(size, None):
        out[places] = model(**encoded.tensors(places, device)).float().cpu().numpy()
    return out


@torch.inference_mode()
def own_cosines(model: CrossEncoder, encoded: Encoded, *, device: str, size: int = 1024) -> np.ndarray:
    """What the network's second output says of every pair, in order."""
    model.eval()
    out = np.zeros(len(encoded.rows), dtype=np.float32)
    for places in encoded.batches(size, None):
        with torch.autocast(device, dtype=torch.bfloat16, enabled=device == "cuda"):
            cosine = model.cosine(model.features(**encoded.tensors(places, device)))
        out[places] = cosine.float().squeeze(-1).cpu().numpy()
    return out


@torch.inference_mode()
def embeddings(model: CrossEncoder, texts: Sequence[str], tokenizer: Any, *, device: str) -> dict[str, Any]:
    """Unit vectors of all-MiniLM-L6-v2 (mean of the tokens), by text; call before training."""
    model.eval()
    texts = sorted(dict.fromkeys(texts), key=len)
    tokenizer.enable_truncation(128)
    vectors: dict[str, Any] = {}
    size = 1024 if device == "cuda" else 32
    for start in range(0, len(texts), size):
        part = texts[start : start + size]
        encodings = tokenizer.encode_batch(part)
        longest = max(len(encoding.ids) for encoding in encodings)
        ids = torch.tensor([e.ids + [0] * (longest - len(e.ids)) for e in encodings], device=device)
        mask = (ids != 0).long()
        states = model.bert(input_ids=ids, attention_mask=mask).last_hidden_state
        weights = mask.unsqueeze(-1)
        mean = functional.normalize((states * weights).sum(1) / weights.sum(1), dim=-1).float().cpu().numpy()
        vectors.update(zip(part, mean, strict=True))
    tokenizer.no_truncation()
    return vectors


def cosines_of(pairs: Sequence[Pair], vectors: dict[str, Any]) -> np.ndarray:
    """The cosine of each pair's two answers; NaN where a vector is missing."""
    return np.array(
        [
            float(vectors[pair.a] @ vectors[pair.b]) if pair.a in vectors and pair.b in vectors else np.nan
            for pair in pairs
        ],
        dtype=np.float32,
    )


NAMED = (
    "alias",
    "alias-alike",
    "wordnet",
    "wordnet-names",
    "places",
    "names",
    "choices",
    "sampled",
    "general",
    "capitals",
    "rivals",
)


def run(
    data: Path, config: dict[str, Any], weights: dict[str, Any], tokenizer: Any, out: Path, *,
    device: str, epochs: int, size: int, seeds: Sequence[int], rates: Sequence[float], aux: float, limit: int | None,
    resume: Path | None = None, keep: float = 0.0,
) -> None:  # fmt: skip
    """Train one run a seed from the same head, average the runs, and write the weights and test logits.

    Where training is resumed, the network that it begins with is its own teacher of cosines, and `keep` of it is
    left in the result: what new pairs teach comes in, and little of what was known is lost.
    """
    out.mkdir(parents=True, exist_ok=True)
    pairs, tests = read(data / "train.jsonl.xz")[:limit], read(data / "test.jsonl.xz")
    tests += probe_pairs() + probe_pairs("related.jsonl")
    if limit:
        tests = tests[:: max(len(tests) // limit, 1)]
    torch.manual_seed(0)
    model = CrossEncoder(config).to(device)
    model.bert.load_state_dict(weights, strict=False)
    if resume:
        saved = torch.load(resume, map_location=device, weights_only=True)["weights"]
        model.load_state_dict({name: value.float() for name, value in saved.items()})
    fresh = {name: value.clone() for name, value in model.state_dict().items()}
    encoded, test_encoded = Encoded(pairs, tokenizer), Encoded(tests, tokenizer)
    report: dict[str, Any] = {}
    if resume:
        cosines = own_cosines(model, encoded, device=device)
        cosines[[pair.source not in NAMED for pair in pairs]] = np.nan
        report["before"] = aucs(tests, odds(predict(model, test_encoded, device=device)))
    else:
        named = [text for pair in pairs if pair.source in NAMED for text in (pair.a, pair.b)]
        vectors = embeddings(model, named + [t for p in tests for t in (p.a, p.b)], tokenizer, device=device)
        cosines = cosines_of(pairs, vectors)
        report["cosine"] = aucs(tests, cosines_of(tests, vectors))
    print(f"{len(pairs)} pairs, mean length {encoded.lengths.mean():.1f}", flush=True)
    total: dict[str, Any] = {}
    for seed, rate in zip(seeds, rates, strict=True):
        model.load_state_dict(fresh)
        train(
            model, encoded, cosines, device=device, epochs=epochs, rate=rate, size=size, seed=seed, weight=aux
        )
        for name, value in model.state_dict().items():
            total[name] = total.get(name, 0) + value.detach().double().cpu() / len(seeds)
        logits = predict(model, test_encoded, device=device)
        report[f"seed {seed} rate {rate}"] = aucs(tests, odds(logits))
        print(json.dumps(report[f"seed {seed} rate {rate}"]), flush=True)
    mixed = {name: (1 - keep) * value + keep * fresh[name].double().cpu() for name, value in total.items()}
    model.load_state_dict({name: value.to(fresh[name].dtype) for name, value in mixed.items()})
    logits = predict(model, test_encoded, device=device)
    report["average"] = aucs(tests, odds(logits))
    (out / "report.json").write_text(json.dumps(report, indent=1))
    print(json.dumps(report["average"]), flush=True)
    halves = {name: value.half().contiguous().cpu() for name, value in model.state_dict().items()}
    torch.save({"config": config, "weights": halves}, out / "judge.pt")


def odds(logits: np.ndarray) -> np.ndarray:
    """The log-odds of entailment."""
    rest = np.logaddexp(logits[:, 1], logits[:, 2])
    return np.asarray(logits[:, ENTAILMENT] - rest)


def probe_pairs(name: str = "probe.jsonl") -> list[Pair]:
    """The hand-written pairs of a file, of the source "probe" (or the file's name) and their kind."""
    path = Path(__file__).with_name(name)
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [
        Pair(
            f"{path.stem} {row['kind']}",
            row["question"],
            row["a"],
            row["b"],
            0 if row["entails"] else NOT_ENTAILMENT,
        )
        for row in rows
    ]
