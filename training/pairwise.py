"""The judge's logits for all pairs of answers of recordings, on one GPU.

`python -m training.pairwise JUDGE OUT RECORDING ...`.

JUDGE is a network that `training.model.save` wrote; `--restore ONNX` makes it from the one that ships. OUT gets an .npz
for each recording: for each id an array of logits, the first text of a pair in rows and the second in columns. The
texts are the different ones of the answer and the first samples, in their order.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from .model import trained
from .restore import restored

if TYPE_CHECKING:
    from collections.abc import Sequence

QUESTION, LIMIT, SPECIAL = 32, 512, 4  # tokens, as `semtropy.meaning.builtin` has them
GPU_TOKENS = 400_000  # in a batch


def texts_of(row: dict[str, Any], samples: int) -> list[str]:
    """The different texts of the answer and the first samples, in their order."""
    return list(dict.fromkeys([row["answer"]["text"], *(each["text"] for each in row["samples"][:samples])]))


def shortened(ids: Sequence[int], room: int, gap: int) -> list[int]:
    """The beginning of a question and, twice as much, its end (`semtropy.meaning.networks.shorten`, in tokens)."""
    if len(ids) <= room:
        return list(ids)
    kept = max(room - 1, 0)
    if kept < 3:
        return list(ids[len(ids) - kept :])
    head = kept // 3 + (kept % 3 > 0)
    return [*ids[:head], gap, *ids[len(ids) - (kept - head) :]]


@torch.inference_mode()
def logits(model: Any, tokenizer: Any, question: str, texts: Sequence[str], device: str) -> np.ndarray:
    """The logits of all ordered pairs of a question's texts; NaN for a text with itself and for pairs too long."""
    plain = [tokenizer.encode(text, add_special_tokens=False).ids for text in texts]
    asked = tokenizer.encode(question, add_special_tokens=False).ids
    gap, start, end = (tokenizer.token_to_id(name) for name in ("…", "[CLS]", "[SEP]"))
    found = np.full((len(texts), len(texts), 3), np.nan, dtype=np.float16)
    pairs = []
    for i, a in enumerate(plain):
        for j, b in enumerate(plain):
            lengths = len(a) + len(b)
            if i != j and lengths <= LIMIT - SPECIAL:
                first = [start, *shortened(asked, min(QUESTION, LIMIT - SPECIAL - lengths), gap), *a, end]
                pairs.append((len(first), [*first, *b, end], i, j))
    pairs.sort(key=lambda pair: len(pair[1]))
    at = 0
    while at < len(pairs):
        rows = max(1, GPU_TOKENS // len(pairs[min(at + GPU_TOKENS // len(pairs[at][1]), len(pairs)) - 1][1]))
        part = pairs[at : at + rows]
        at += rows
        longest = len(part[-1][1])
        ids = np.zeros((len(part), longest), dtype=np.int64)
        for n, (_, line, _, _) in enumerate(part):
            ids[n, : len(line)] = line
        tokens = torch.from_numpy(ids).to(device)
        places = torch.arange(longest, device=device)
        firsts, wholes = (
            torch.tensor(held, device=device)[:, None]
            for held in ([p[0] for p in part], [len(p[1]) for p in part])
        )
        mask = places < wholes
        kinds = ((places >= firsts) & mask).long()
        out = model(tokens, mask.long(), kinds).float().cpu().numpy()
        found[[p[2] for p in part], [p[3] for p in part]] = out
    return found


def main() -> None:
    """Judge every recording whose file is not there yet."""
    parser = argparse.ArgumentParser(prog="python -m training.pairwise", description=__doc__)
    parser.add_argument("judge", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("recordings", type=Path, nargs="*")
    parser.add_argument("--samples", type=int, default=40)
    parser.add_argument("--limit", type=int, help="questions of each recording")
    parser.add_argument(
        "--restore", type=Path, help="a sentences.onnx to make JUDGE from, beside its tokenizer.json"
    )
    arguments = parser.parse_args()
    if arguments.restore:
        restored(arguments.restore.parent, arguments.judge)
    from tokenizers import Tokenizer

    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, raw = trained(arguments.judge)
    model = model.to(device)
    if device == "cuda":
        model = model.half()
    tokenizer = Tokenizer.from_str(raw.decode("utf-8"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True
    arguments.out.mkdir(parents=True, exist_ok=True)
    started = time.time()
    for path in arguments.recordings:
        target = arguments.out / (path.name.partition(".jsonl")[0] + ".npz")
        if target.exists():
            continue
        with gzip.open(path, "rt", encoding="utf-8") as file:
            rows = [json.loads(line) for line in file][1:]
        kept = {}
        for row in rows[: arguments.limit]:
            kept[row["id"]] = logits(
                model, tokenizer, row["question"], texts_of(row, arguments.samples), device
            )
        with target.with_suffix(".part").open("wb") as file:
            np.savez_compressed(file, **kept)
        target.with_suffix(".part").rename(target)
        print(f"{target.name}: {len(kept)} questions, {time.time() - started:.0f} s", flush=True)


if __name__ == "__main__":
    main()
