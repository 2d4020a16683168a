"""Figures of a judge: areas under the curve by source, the adjusted Rand index of groupings, wordings and support.

Figures of the network alone are functions of `score`: triples in, logits of supports, contradicts and silent out.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from .pairs import ENTAILMENT, Pair, side_of
from .sources.passages import LABELS, forms, lines, nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence
    from pathlib import Path

    Score = Callable[[Sequence[tuple[str, str, str]]], np.ndarray]

NEAREST = 4  # sentences of a long premise that are read with a claim
MATCHED = ("factscore--gpt-4", "popqa--gpt-3.5-turbo")


def auc(scores: np.ndarray, positive: np.ndarray) -> float:
    """The probability that an entailing pair scores above another one, ties counting half.

    >>> auc(np.array([0.1, 0.4, 0.4, 0.9]), np.array([False, False, True, True]))
    0.875
    """
    order = np.argsort(scores, kind="stable")
    ordered = scores[order]
    ranks = np.empty(len(scores))
    # Ties share the mean of their ranks.
    _, first, counts = np.unique(ordered, return_index=True, return_counts=True)
    ranks[order] = np.repeat(first + (counts + 1) / 2, counts)
    n, m = int(positive.sum()), int((~positive).sum())
    return float((ranks[positive].sum() - n * (n + 1) / 2) / (n * m))


def aucs(pairs: Sequence[Pair], scores: np.ndarray) -> dict[str, float]:
    """By source, and the probe as a whole."""
    labels = np.array([pair.label == ENTAILMENT for pair in pairs])
    sources = np.array([pair.source for pair in pairs])
    figures: dict[str, float] = {}
    groups = {source: sources == source for source in sorted(set(sources))}
    groups |= {name: np.char.startswith(sources, name) for name in ("probe", "fresh", "related")}
    for source, chosen in groups.items():
        chosen = chosen & np.isfinite(scores)
        if len(set(labels[chosen])) == 2:
            figures[source] = round(auc(scores[chosen], labels[chosen]), 4)
    return figures


def adjusted_rand(one: Sequence[Hashable], other: Sequence[Hashable]) -> float:
    """The adjusted Rand index of two groupings of the same things; 1 where both put all together or all apart.

    >>> adjusted_rand([0, 0, 1, 1], [5, 5, 7, 7]), round(adjusted_rand([0, 0, 1, 1], [0, 1, 0, 1]), 3)
    (1.0, -0.5)
    """
    cells = _pairs(Counter(zip(one, other, strict=True)))
    rows, columns = _pairs(Counter(one)), _pairs(Counter(other))
    expected = rows * columns / max(len(one) * (len(one) - 1) / 2, 1)
    most = (rows + columns) / 2
    return 1.0 if most == expected else (cells - expected) / (most - expected)


def _pairs(counts: Counter[Hashable]) -> float:
    return sum(count * (count - 1) / 2 for count in counts.values())


def log_odds(logits: np.ndarray) -> np.ndarray:
    """Log-odds of support."""
    return np.asarray(logits[:, 0] - np.logaddexp(logits[:, 1], logits[:, 2]))


def wordings(path: Path, side: str, score: Score, shift: float = 0.0, seed: int = 3) -> dict[str, Any]:
    """The share of pairs that are merged, both directions being above one half, by kind of pair.

    For every answer of a question one pair of each kind: the bare answer and a sentence with it, two such sentences,
    and the same with the sentence of another answer, which must stay apart.
    """
    rng = random.Random(seed)
    kinds: dict[str, list[tuple[str, str, str]]] = {}
    for row in lines(path):
        if side_of(row["question"]) != side:
            continue
        answers = forms(row)
        for place, (bare, *said) in enumerate(answers):
            others = [text for n, other in enumerate(answers) if n != place for text in other[1:]]
            drawn: dict[str, tuple[str, str]] = {}
            if said:
                drawn["bare, sentence"] = (bare, rng.choice(said))
            if len(said) > 1:
                one, two = rng.sample(said, 2)
                drawn["sentence, sentence"] = (one, two)
            if others:
                drawn["bare, other sentence"] = (bare, rng.choice(others))
            if said and others:
                drawn["sentence, other sentence"] = (rng.choice(said), rng.choice(others))
            for kind, (one, two) in drawn.items():
                kinds.setdefault(kind, []).append((row["question"], one, two))
    figures: dict[str, Any] = {}
    for kind, triples in kinds.items():
        there = log_odds(score(triples))
        back = log_odds(score([(q, b, a) for q, a, b in triples]))
        merged = np.minimum(there, back) + shift >= 0
        figures[kind] = {"pairs": len(triples), "merged": round(float(merged.mean()), 4)}
    return figures


def support(folder: Path, score: Score, most: int = NEAREST, every: int = 1) -> dict[str, float]:
    """The area under the curve of support: against a 31B model's votes, and against `matched` of two files."""
    rows = lines(folder / "wikibio-gpt3.jsonl.gz")[::every]
    triples, votes = [], []
    for row in rows:
        for claim, said in zip(row["claims"], row["supported"]["gemma-31b-prompt"], strict=True):
            for sample, vote in zip(row["samples"], said, strict=True):
                triples.append((row.get("prompt", ""), nearest(claim["text"], sample, most), claim["text"]))
                votes.append(vote == "1")
    logits = score(triples)
    figures = {"wikibio": round(auc(log_odds(logits), np.array(votes)), 4)}
    apart = logits[~np.array(votes)]
    figures["of the unsupported, contradicted"] = round(float((apart[:, 1] > apart[:, 2]).mean()), 4)
    for name in MATCHED:
        triples, votes = [], []
        for row in lines(folder / f"{name}.jsonl.gz")[::every]:
            for claim in row["claims"]:
                for sample, vote in zip(row["samples"], (claim.get("matched") or "")[1:], strict=False):
                    triples.append((row["prompt"], nearest(claim["text"], sample, most), claim["text"]))
                    votes.append(vote == "1")
        figures[name] = round(auc(log_odds(score(triples)), np.array(votes)), 4)
    return figures


def inference(path: Path, score: Score) -> float:
    """The share of MultiNLI pairs whose three-way label is right."""
    rows = lines(path)
    found = score([("", row["passage"], row["claim"]) for row in rows]).argmax(1)
    return round(float(np.mean(found == np.array([LABELS[row["label"]] for row in rows]))), 4)


class Onnx:
    """A network as it ships, on so many threads; pairs run one by one."""

    def __init__(self, model: Path, tokenizer: Path, threads: int = 2) -> None:
        import onnxruntime
        from tokenizers import Tokenizer

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
        own = self._session.get_modelmeta().custom_metadata_map.get("tokenizer.json")
        self._tokenizer = Tokenizer.from_str(own or tokenizer.read_text("utf-8"))
        self._inputs = [item.name for item in self._session.get_inputs()]
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(512, strategy="only_first")
        self._threads = threads

    def __call__(self, triples: Sequence[tuple[str, str, str]]) -> np.ndarray:
        """Logits of every triple."""
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(self._threads) as pool:
            return np.array(list(pool.map(self._one, triples)))

    def _one(self, triple: tuple[str, str, str]) -> np.ndarray:
        question, a, b = triple
        encoding = self._tokenizer.encode(f"{question} {a}".strip(), b)
        feeds = (encoding.ids, encoding.attention_mask, encoding.type_ids)
        names = ("input_ids", "attention_mask", "token_type_ids")
        known = dict(zip(names, feeds, strict=True))
        arrays = {name: np.array([known[name]], dtype=np.int64) for name in self._inputs}
        return np.asarray(self._session.run(None, arrays)[0][0])
