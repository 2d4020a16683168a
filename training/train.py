"""Trains the teacher (mpnet-base) and the judge that ships (ten layers of gte-small), which learns from it.

Three sources of truth are mixed: labels, where a pair has one; the teacher; and, for sampled short answers, the judge
before this one and a language model's opinion whether two answers are the same. A run takes the seconds it is given.
"""

from __future__ import annotations

import json
import math
import random
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.nn import functional

from semtropy.meaning.answers import competes

from . import llm, written
from .model import QUESTION_TOKENS, CrossEncoder, begin, load, save, trained
from .pairs import NOT_ENTAILMENT, Pair, held_out, read
from .sources import passages

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .model import Start

LONGEST = 288
FACT = 11  # words of a claim that is one fact
SECOND_RUN = 0.55  # its part in the weights that ship
Triple = tuple[str, str, str]


@dataclass
class Examples:
    """Triples with the three probabilities to learn; where `rest` is set only the first of them is known.

    `copies` says how often each is read in a pass.
    """

    triples: list[Triple] = field(default_factory=list)
    targets: list[tuple[float, float, float]] = field(default_factory=list)
    rest: list[bool] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    copies: list[int] = field(default_factory=list)

    def add(
        self, kind: str, triple: Triple, target: Sequence[float], *, rest: bool = False, copies: int = 1
    ) -> None:
        """One more."""
        self.copies.append(copies)
        self.triples.append(triple)
        self.targets.append((target[0], target[1], target[2]))
        self.rest.append(rest)
        self.kinds.append(kind)

    def pairs(self, pairs: Sequence[Pair]) -> None:
        """Labelled pairs."""
        for pair in pairs:
            known = pair.label != NOT_ENTAILMENT
            target = [float(pair.label == n) for n in range(3)]
            self.add(pair.source, (pair.question, pair.a, pair.b), target, rest=not known)


class Encoded:
    """Triples as token ids on a device, in the form the shipped judge uses: `question premise [SEP] hypothesis`."""

    def __init__(self, triples: Sequence[Triple], tokenizer: bytes, device: str) -> None:
        from tokenizers import Tokenizer

        reader = Tokenizer.from_buffer(tokenizer)
        reader.no_padding()
        reader.no_truncation()
        texts = list(dict.fromkeys(text for triple in triples for text in triple))
        made = reader.encode_batch(texts, add_special_tokens=False)
        ids = {text: encoding.ids for text, encoding in zip(texts, made, strict=True)}
        mpnet = reader.token_to_id("<s>") is not None
        cls, sep = ([reader.token_to_id(name)] for name in (("<s>", "</s>") if mpnet else ("[CLS]", "[SEP]")))
        self.pad = reader.token_to_id("<pad>" if mpnet else "[PAD]")
        flat: list[int] = []
        starts, lengths, firsts = [], [], []
        for question, a, b in triples:
            asked, said = ids[question], ids[b][: LONGEST // 2]
            if len(asked) > QUESTION_TOKENS:
                asked = asked[: QUESTION_TOKENS // 3] + asked[-(QUESTION_TOKENS - QUESTION_TOKENS // 3) :]
            room = LONGEST - len(asked) - len(said) - 4
            first = cls + asked + ids[a][:room] + (sep + sep if mpnet else sep)
            row = first + said + sep
            starts.append(len(flat))
            lengths.append(len(row))
            firsts.append(len(first))
            flat += row
        self.flat = torch.tensor(flat, dtype=torch.int32, device=device)
        self.starts, self.firsts = (torch.tensor(x, device=device) for x in (starts, firsts))
        self.lengths = np.array(lengths)
        self.device = device

    def batches(
        self, tokens: int, rng: np.random.Generator | None, places: np.ndarray | None = None
    ) -> Iterator[np.ndarray]:
        """Places in batches of about so many tokens, pairs of like length together; in random order with `rng`."""
        places = np.arange(len(self.lengths)) if places is None else places
        noise = rng.random(len(places)) * 6 if rng is not None else 0
        order = places[np.argsort(self.lengths[places] + noise, kind="stable")]
        parts, start = [], 0
        while start < len(order):
            size = max(int(tokens // (self.lengths[order[min(start + 256, len(order) - 1)]] + 6)), 1)
            parts.append(order[start : start + size])
            start += size
        if rng is not None:
            rng.shuffle(parts)
        yield from parts

    def tensors(self, places: np.ndarray) -> dict[str, Any]:
        """Padded inputs of the places."""
        longest = int(-(-self.lengths[places].max() // 8) * 8)
        at = torch.from_numpy(places).to(self.device)
        column = torch.arange(longest, device=self.device)
        length = torch.from_numpy(self.lengths[places]).to(self.device)[:, None]
        mask = column < length
        index = (self.starts[at][:, None] + column).clamp(max=len(self.flat) - 1)
        ids = torch.where(mask, self.flat[index].long(), self.pad)
        types = ((column >= self.firsts[at][:, None]) & mask).long()
        return {"input_ids": ids, "attention_mask": mask.long(), "token_type_ids": types}


def loss_of(logits: Any, targets: Any, rest: Any) -> Any:
    """Cross-entropy; where only the probability of support is known, that of support against the other two."""
    logs = functional.log_softmax(logits.float(), dim=-1)
    full = -(targets * logs).sum(-1)
    other = torch.logsumexp(logs[:, 1:], dim=-1)
    known = -(targets[:, 0] * logs[:, 0] + (1 - targets[:, 0]) * other)
    return torch.where(rest, known, full).mean()


def fit(
    model: CrossEncoder, encoded: Encoded, examples: Examples, *, seconds: float, rate: float, tokens: int, seed: int,
    kept: float = 0.998,
) -> dict[str, Any]:  # fmt: skip
    """Train for so many seconds, warm-up and cosine decay by the clock; the running mean of the weights."""
    torch.manual_seed(seed)
    torch.backends.cuda.enable_cudnn_sdp(False)  # it compiles a plan for every new shape of a batch
    device, rng = encoded.device, np.random.default_rng(seed)
    parameters = [p for p in model.parameters() if p.requires_grad]
    decayed = [p for p in parameters if p.ndim > 1]
    plain = [p for p in parameters if p.ndim <= 1]
    optimizer = torch.optim.AdamW(
        [{"params": decayed, "weight_decay": 0.01}, {"params": plain, "weight_decay": 0.0}],
        lr=rate, fused=device == "cuda", betas=(0.9, 0.98),
    )  # fmt: skip
    targets = torch.tensor(examples.targets, device=device)
    rest = torch.tensor(examples.rest, device=device)
    repeated = np.repeat(np.arange(len(examples.copies)), examples.copies)
    mean = [p.detach().clone() for p in parameters]
    model.train()
    started, done, total, passes = time.time(), 0, 0.0, 0
    while True:
        for places in encoded.batches(tokens, rng, repeated):
            share = (time.time() - started) / seconds
            if share >= 1:
                print(f"{done} steps, {passes} full passes, {time.time() - started:.0f} s", flush=True)
                for parameter, value in zip(parameters, mean, strict=True):
                    parameter.data.copy_(value)
                return model.state_dict()
            for group in optimizer.param_groups:
                group["lr"] = rate * min(share / 0.06 + 0.01, 0.5 * (1 + math.cos(math.pi * share)) + 0.005)
            with torch.autocast(device, dtype=torch.bfloat16, enabled=device == "cuda"):
                logits = model(**encoded.tensors(places))
            at = torch.from_numpy(places).to(device)
            loss = loss_of(logits, targets[at], rest[at])
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(parameters, 1.0)
            optimizer.step()
            torch._foreach_lerp_(
                mean, [p.detach() for p in parameters], 1 - min(kept, (done + 1) / (done + 10))
            )
            done += 1
            if done % 50 == 0:
                total = float(loss.detach())
            if done % 400 == 0:
                print(f"step {done} loss {total:.4f} {time.time() - started:.0f} s", flush=True)
        passes += 1


@torch.inference_mode()
def predict(
    model: CrossEncoder, encoded: Encoded, tokens: int = 131072, only: np.ndarray | None = None
) -> np.ndarray:
    """Logits of every pair, in order, or of those places only, and zeros elsewhere."""
    model.eval()
    out = np.zeros((len(encoded.lengths), 3), dtype=np.float32)
    for places in encoded.batches(tokens, None, only):
        with torch.autocast(encoded.device, dtype=torch.bfloat16, enabled=encoded.device == "cuda"):
            logits = model(**encoded.tensors(places))
        out[places] = logits.float().cpu().numpy()
    return out


def softmax(logits: np.ndarray) -> np.ndarray:
    """Probabilities, a row a pair."""
    powers = np.exp(logits - logits.max(1, keepdims=True))
    return np.asarray(powers / powers.sum(1, keepdims=True))


def log_odds(logits: np.ndarray) -> np.ndarray:
    """Log-odds of support."""
    return np.asarray(logits[:, 0] - np.logaddexp(logits[:, 1], logits[:, 2]))


def judged_targets(
    rows: Sequence[dict[str, Any]], odds: np.ndarray, calibration: dict[str, float]
) -> np.ndarray:
    """What to learn of sampled short answers, two directions a row: the earlier judge, moved by the model's opinion.

    The product of both directions is the probability of one meaning; half of it comes from each of the two teachers,
    and the earlier judge says how it is shared between the directions.
    """
    hints = np.array([row["hints"] for row in rows]).reshape(-1)
    z = calibration["scale"] * odds + calibration["shift"] + calibration["hint"] * hints
    both = np.clip(1 / (1 + np.exp(-z)), 1e-4, 1 - 1e-4).reshape(-1, 2)
    product = both.prod(1)
    wanted = (product + np.array([row["same"] for row in rows])) / 2
    moved = both * np.sqrt(wanted / product)[:, None]
    return np.asarray(np.clip(moved, 0.002, 0.99))


def labelled(build: Path) -> Examples:
    """Everything that has a label: passages, wordings and short answers."""
    examples = Examples()
    examples.pairs(read(build / "labelled.jsonl.xz"))
    return examples


def add_judged(
    examples: Examples, build: Path, present: Path, calibration: dict[str, float], device: str
) -> None:
    """Sampled short answers with the earlier judge's opinion and the language model's."""
    rows = json.loads((build / "judged.json").read_text("utf-8"))
    triples = [t for row in rows for t in ((row["q"], row["a"], row["b"]), (row["q"], row["b"], row["a"]))]
    model, tokenizer = trained(present)
    odds = log_odds(predict(model.to(device), Encoded(triples, tokenizer, device)))
    for triple, p in zip(triples, judged_targets(rows, odds, calibration).reshape(-1), strict=True):
        examples.add("judged", triple, (float(p), 0.0, 0.0), rest=True)


def add_written(examples: Examples, folder: Path, rng: random.Random) -> list[tuple[Triple, float]]:
    """What the language model wrote and voted on; the votes of the held-out prompts are handed back."""
    kept: list[tuple[Triple, float]] = []
    written = json.loads((folder / "passages.json").read_text("utf-8"))
    for question, passage, claim, p in llm.vote_targets(written):
        if _tuning(question):
            kept.append(((question, passage, claim), p))
            continue
        near = passages.nearest(claim, passage, rng.choice((2, 3, 4, 5)))
        rival = competes(question, passage, claim)
        for text in (passage, near):
            triple = (question if rng.random() < 0.7 else "", text, claim)
            if rival:
                examples.add("voted", triple, (p, 0.0, 0.0), rest=True)
            else:  # nothing in its place: whatever does not support the claim is silent about it
                examples.add("silent", triple, (p, 0.0, 1 - p))
    by_question: dict[str, list[str]] = {}
    for row in written["rows"]:
        by_question.setdefault(row["question"], []).append(row["passage"])
    for question, texts in by_question.items():
        if not _tuning(question):
            examples.pairs(
                list(passages.from_text(texts, rng, "written", question if rng.random() < 0.7 else ""))
            )
    said = json.loads((folder / "wordings.json").read_text("utf-8"))
    examples.pairs(list(passages.wordings(said, rng, "written-wordings")))
    return kept


def _tuning(question: str) -> bool:
    return held_out(question) and held_out(question[::-1])


def teach(build: Path, start: Start, out: Path, *, device: str, seconds: float, tokens: int = 32768) -> None:
    """The teacher's first run, on everything with a label."""
    examples = labelled(build)
    add_judged(examples, build, build / "present.pt", _calibration(build), device)
    print(f"{len(examples.triples)} examples", flush=True)
    encoded = Encoded(examples.triples, start.tokenizer, device)
    model = begin(start, 0).to(device)
    save(
        out,
        start.config,
        fit(model, encoded, examples, seconds=seconds, rate=6e-5, tokens=tokens, seed=0),
        start.tokenizer,
    )


def distil(build: Path, *, device: str, seconds: float, tokens: int = 32768) -> None:
    """The second teacher, which also saw what was written, and both teachers' opinions of every example.

    Taught with votes, the teacher is better at short facts and worse at sentences that a passage supports in part,
    which the votes count as supported. So those who learn take a part of each.
    """
    examples, kept = everything(build, device)
    (build / "tune.json").write_text(json.dumps(kept, ensure_ascii=False), "utf-8")
    teacher, tokenizer = trained(build / "first.pt")
    encoded = Encoded(examples.triples, tokenizer, device)
    first = predict(teacher.to(device), encoded)
    state = fit(teacher, encoded, examples, seconds=seconds, rate=4e-5, tokens=tokens, seed=1)
    save(build / "second.pt", load(build / "first.pt").config, state, tokenizer)
    np.savez(build / "opinions.npz", first=first, second=predict(teacher, encoded))


def everything(build: Path, device: str) -> tuple[Examples, list[tuple[Triple, float]]]:
    """All examples, the same in each step, and the votes that are held out."""
    examples = labelled(build)
    add_judged(examples, build, build / "present.pt", _calibration(build), device)
    kept = add_written(examples, build, random.Random(11))
    print(f"{len(examples.triples)} examples", flush=True)
    return examples, kept


def student(
    build: Path, small: Start, *, device: str, seconds: tuple[float, float], tokens: int = 32768
) -> None:
    """The judge that ships: one run with the second teacher and the votes, one with the first, and the mean of both."""
    examples, _ = everything(build, device)
    opinions = np.load(build / "opinions.npz")
    encoded = Encoded(examples.triples, small.tokenizer, device)
    model = begin(small, 2).to(device)
    made = blended(examples, opinions["second"], np.where(np.array(examples.kinds) == "judged", 0.0, 0.5))
    one = fit(model, encoded, made, seconds=seconds[0], rate=2e-4, tokens=tokens, seed=2, kept=0.999)
    one = {name: value.clone() for name, value in one.items()}
    made = both_teachers(examples, opinions["first"], opinions["second"], (0.5, 0.2, 0.0))
    two = fit(model, encoded, made, seconds=seconds[1], rate=1.6e-4, tokens=tokens, seed=3)
    mean = {name: torch.lerp(one[name].float(), two[name].float(), SECOND_RUN) for name in one}
    save(build / "judge.pt", small.config, mean, small.tokenizer)


# Of each source of labelled pairs, how many a trained network reads again while it learns further.
_AGAIN = {"wordings": 90_000, "framed": 40_000, "mnli": 60_000, "snli": 20_000, "fever": 37_000, "text": 23_322,
          "roles": 8_000, "negation": 6_000, "declined": 5_000, "scitail": 11_552, "conjnli": 8_000, "paws": 6_486,
          "boolq": 5_336}  # fmt: skip
_AGAIN_OTHERWISE = 2_000
_COPIES = {"same": 2, "close": 3, "different": 1, "beside": 1, "apart": 1, "claim-s": 3, "claim-c": 3, "claim-n": 3,
           "sampled-same": 2, "sampled-other": 2}  # fmt: skip


def gathered(build: Path) -> Examples:
    """What a trained network learns further from: what was written for it, and a part of the labelled pairs."""
    examples, rng, seen = Examples(), random.Random(13), Counter[str]()
    for pair in read(build / "labelled.jsonl.xz"):
        if seen[pair.source] < _AGAIN.get(pair.source, _AGAIN_OTHERWISE):
            seen[pair.source] += 1
            examples.pairs([pair])
    made = [
        *written.answers(written.read(written.ANSWERS, "train"), rng),
        *written.claims(written.read(written.CLAIMS, "train"), rng),
        *written.sampled(written.read(written.SAMPLED, "train")),
    ]
    for kind, triple, target in dict.fromkeys(made):
        examples.add(kind, triple, target, rest=kind in written.OPEN, copies=_COPIES[kind])
    print(f"{len(examples.triples)} examples", Counter(examples.kinds).most_common(), flush=True)
    return examples


def refine(
    model: CrossEncoder, encoded: Encoded, examples: Examples, teacher: np.ndarray | None = None, *,
    seconds: float, rate: float, tokens: int = 32768, seed: int = 6,
) -> dict[str, Any]:  # fmt: skip
    """Train a network further for so many seconds, with the opinion of a teacher or without.

    Of what was written for it, a third of what it learns is the teacher's opinion. Of the labelled pairs, which it has
    seen, half is its own opinion before, or the mean of that and the teacher's, so that it forgets little.
    """
    new = np.isin(np.array(examples.kinds), list(_COPIES))
    opinions = predict(model, encoded, only=np.flatnonzero(~new))
    if teacher is not None:
        opinions = np.where(new[:, None], teacher, (teacher + opinions) / 2)
    share = np.where(new, 0.0 if teacher is None else 1 / 3, 0.5)
    made = blended(examples, opinions, share)
    return fit(model, encoded, made, seconds=seconds, rate=rate, tokens=tokens, seed=seed)


def both_teachers(
    examples: Examples, first: np.ndarray, second: np.ndarray, parts: tuple[float, float, float]
) -> Examples:
    """The examples with both teachers' opinions; the second has `parts` of votes on facts, other votes and the rest."""
    kinds = np.array(examples.kinds)
    voted, judged = np.isin(kinds, ("voted", "silent")), kinds == "judged"
    facts = voted & np.array([len(claim.split()) <= FACT for _, _, claim in examples.triples])
    own = np.select([facts, voted], parts[:2], parts[2])[:, None]
    share = np.select([judged, facts, voted], [0.0, 0.65, 0.97], 0.5)
    return blended(examples, (1 - own) * first + own * second, share)


def blended(examples: Examples, logits: np.ndarray, share: np.ndarray) -> Examples:
    """The examples with so large a share of a teacher's opinion in what is to be learnt."""
    opinion = softmax(logits)
    silent = np.array(examples.kinds) == "silent"
    opinion[silent, 2] += opinion[silent, 1]
    opinion[silent, 1] = 0.0
    targets, share = np.array(examples.targets, dtype=np.float32), share[:, None]
    others = opinion[:, 1:] / np.maximum(opinion[:, 1:].sum(1, keepdims=True), 1e-6)
    supports = (1 - share) * targets[:, :1] + share * opinion[:, :1]
    filled = np.concatenate([supports, (1 - supports) * others], 1)
    mixed = np.where(np.array(examples.rest)[:, None], filled, (1 - share) * targets + share * opinion)
    rest = [kind == "judged" for kind in examples.kinds]
    learnt = [(a, b, c) for a, b, c in mixed.tolist()]
    return Examples(examples.triples, learnt, rest, examples.kinds, examples.copies)


def _calibration(build: Path) -> dict[str, float]:
    found: dict[str, float] = json.loads((build / "calibration.json").read_text("utf-8"))
    return found
