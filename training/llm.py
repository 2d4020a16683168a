"""Runs the language model that writes and votes: from a GGUF's tensors on one GPU, in large batches."""

from __future__ import annotations

import json
import math
import random
import time
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from . import writer

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_NAMES = {
    "attn_norm.weight": "input_layernorm.weight", "ffn_norm.weight": "post_attention_layernorm.weight",
    "attn_q.weight": "self_attn.q_proj.weight", "attn_q.bias": "self_attn.q_proj.bias",
    "attn_k.weight": "self_attn.k_proj.weight", "attn_k.bias": "self_attn.k_proj.bias",
    "attn_v.weight": "self_attn.v_proj.weight", "attn_v.bias": "self_attn.v_proj.bias",
    "attn_output.weight": "self_attn.o_proj.weight", "ffn_gate.weight": "mlp.gate_proj.weight",
    "ffn_up.weight": "mlp.up_proj.weight", "ffn_down.weight": "mlp.down_proj.weight",
}  # fmt: skip
CONFIG = {
    "vocab_size": 151936, "hidden_size": 1536, "intermediate_size": 8960, "num_hidden_layers": 28,
    "num_attention_heads": 12, "num_key_value_heads": 2, "max_position_embeddings": 4096, "rms_norm_eps": 1e-6,
    "tie_word_embeddings": True, "rope_parameters": {"rope_type": "default", "rope_theta": 1e6},
}  # fmt: skip
SAMPLES, CLAIMS = 5, 8


def tensors(data: Path, index: Path, device: str) -> dict[str, Any]:
    """The tensors of a GGUF's data part in bfloat16; `index` lists (name, type, shape, start, bytes)."""
    raw = np.memmap(data, dtype=np.uint8, mode="r")
    found = {}
    for name, kind, shape, start, size in json.loads(index.read_text()):
        part = torch.from_numpy(np.array(raw[start : start + size])).to(device)
        if kind in _BLOCKS:
            width, values = _BLOCKS[kind]
            blocks = part.view(-1, width)
            rows = torch.cat([values(piece).bfloat16() for piece in blocks.split(1 << 18)])
        else:
            rows = part.view(torch.float32).bfloat16()
        found[name] = rows.reshape(shape[::-1])
    return found


def _half(block: Any) -> Any:
    return block.contiguous().view(torch.float16).float()


def _q6(block: Any) -> Any:
    """Q6_K: 256 weights in 210 bytes."""
    n = len(block)
    low, high = block[:, :128].reshape(n, 2, 1, 64), block[:, 128:192].reshape(n, 2, 1, 32)
    scale = block[:, 192:208].contiguous().view(torch.int8).float() * _half(block[:, 208:210])
    low = torch.cat([low & 15, low >> 4], 2).reshape(n, 2, 4, 32)
    high = torch.cat([(high >> shift) & 3 for shift in (0, 2, 4, 6)], 2)
    values = (low | (high << 4)).to(torch.int8) - 32
    return (scale[:, :, None] * values.reshape(n, 16, 16).float()).reshape(n, 256)


def _q4(block: Any) -> Any:
    """Q4_K: 256 weights in 144 bytes."""
    n = len(block)
    first, middle, last = block[:, 4:16].reshape(n, 3, 4).unbind(1)
    scale = torch.cat([first & 0x3F, (last & 0x0F) | ((first >> 2) & 0x30)], 1).float() * _half(block[:, 0:2])
    least = torch.cat([middle & 0x3F, (last >> 4) | ((middle >> 2) & 0x30)], 1).float() * _half(block[:, 2:4])
    packed = block[:, 16:144].reshape(n, 4, 1, 32)
    values = torch.cat([packed & 15, packed >> 4], 2).reshape(n, 8, 32).float()
    return (scale[:, :, None] * values - least[:, :, None]).reshape(n, 256)


_BLOCKS = {12: (144, _q4), 14: (210, _q6)}


class Writer:
    """Continues prompts and answers yes/no questions; texts in, texts and log-odds out."""

    def __init__(
        self, weights: dict[str, Any], tokenizer: Any, device: str, config: dict[str, Any] = CONFIG
    ) -> None:
        from transformers import Qwen2Config, Qwen2ForCausalLM

        with torch.device("meta"):
            self.model = Qwen2ForCausalLM(Qwen2Config(**config))
        state = {
            "model.norm.weight": weights["output_norm.weight"],
            "lm_head.weight": weights["output.weight"],
        }
        state["model.embed_tokens.weight"] = weights.get("token_embd.weight", weights["output.weight"])
        for name, value in weights.items():
            if name.startswith("blk."):
                _, layer, rest = name.split(".", 2)
                state[f"model.layers.{layer}.{_NAMES[rest]}"] = value
        self.model.load_state_dict(state, strict=True, assign=True)
        rotary = type(self.model.model.rotary_emb)  # the meta device leaves it without values
        self.model.model.rotary_emb = rotary(self.model.config)
        self.model.to(device).eval()
        self.tokenizer, self.device = tokenizer, device
        self.ends = [tokenizer.token_to_id(name) for name in ("<|im_end|>", "<|endoftext|>")]
        self.yes = [tokenizer.encode(word).ids[0] for word in ("Yes", "yes")]
        self.no = [tokenizer.encode(word).ids[0] for word in ("No", "no")]

    @torch.inference_mode()
    def write(
        self,
        prompts: Sequence[str],
        limit: int,
        *,
        times: int = 1,
        rows: int = 2048,
        temperature: float = 0.9,
    ) -> list[list[str]]:
        """`times` continuations of each prompt."""
        out: list[list[str]] = [[] for _ in prompts]
        ids = [encoding.ids for encoding in self.tokenizer.encode_batch(list(prompts))]
        order = sorted(range(len(ids)), key=lambda n: len(ids[n]))
        step = max(rows // times, 1)
        for start in range(0, len(order), step):
            part = order[start : start + step]
            tokens, mask = self._left([ids[n] for n in part])
            made = self.model.generate(
                input_ids=tokens, attention_mask=mask, max_new_tokens=limit, do_sample=True, temperature=temperature,
                top_k=0, top_p=1.0, num_return_sequences=times, pad_token_id=self.ends[0], eos_token_id=self.ends,
            )  # fmt: skip
            texts = self.tokenizer.decode_batch(
                made[:, tokens.shape[1] :].cpu().tolist(), skip_special_tokens=True
            )
            for n, place in enumerate(part):
                out[place] = texts[n * times : (n + 1) * times]
        return out

    def votes(self, passages: Sequence[str], asked: Sequence[Sequence[str]], rows: int = 96) -> np.ndarray:
        """Log-odds of yes: does the passage say the sentence? As many sentences for each passage."""
        parts = [writer.vote_parts(passage, said) for passage, said in zip(passages, asked, strict=True)]
        return self.odds_of_yes(parts, rows)

    @torch.inference_mode()
    def odds_of_yes(self, parts: Sequence[tuple[str, Sequence[str]]], rows: int = 96) -> np.ndarray:
        """Log-odds of yes after each prompt: the part that several prompts share, and as many ends of it."""
        each = len(parts[0][1])
        out = np.zeros((len(parts), each), dtype=np.float32)
        order = sorted(range(len(parts)), key=lambda n: len(parts[n][0]))
        for start in range(0, len(order), rows):
            chosen = order[start : start + rows]
            shared, mask = self._left(
                [e.ids for e in self.tokenizer.encode_batch([parts[n][0] for n in chosen])]
            )
            places = (mask.cumsum(1) - 1).clamp(min=0)
            cache = self.model.model(
                input_ids=shared, attention_mask=mask, position_ids=places, use_cache=True
            ).past_key_values
            cache.batch_repeat_interleave(each)
            rest = [
                e.ids for e in self.tokenizer.encode_batch([text for n in chosen for text in parts[n][1]])
            ]
            longest = max(map(len, rest))
            tokens = torch.full((len(rest), longest), self.ends[0])
            own = torch.zeros_like(tokens)
            for n, line in enumerate(rest):
                tokens[n, : len(line)] = torch.tensor(line)
                own[n, : len(line)] = 1
            tokens, own = tokens.to(self.device), own.to(self.device)
            before = mask.repeat_interleave(each, 0)
            states = self.model.model(
                input_ids=tokens,
                attention_mask=torch.cat([before, own], 1),
                position_ids=before.sum(1, keepdim=True) + torch.arange(longest, device=self.device),
                past_key_values=cache,
                use_cache=True,
            ).last_hidden_state
            last = states[torch.arange(len(rest), device=self.device), own.sum(1) - 1]
            logits = self.model.lm_head(last).float()
            odds = logits[:, self.yes].logsumexp(1) - logits[:, self.no].logsumexp(1)
            out[chosen] = odds.view(-1, each).cpu().numpy()
        return out

    def _left(self, rows: Sequence[Sequence[int]]) -> tuple[Any, Any]:
        longest = max(map(len, rows))
        tokens = torch.full((len(rows), longest), self.ends[0])
        mask = torch.zeros_like(tokens)
        for n, row in enumerate(rows):
            tokens[n, longest - len(row) :] = torch.tensor(row)
            mask[n, longest - len(row) :] = 1
        return tokens.to(self.device), mask.to(self.device)


def run(
    model: Writer, prompts: list[dict[str, Any]], known: list[dict[str, Any]], out: Path, seed: int = 5
) -> None:
    """Write passages, facts, votes and wordings to `out`; `known` are labelled pairs that the votes are scaled on."""
    rng = random.Random(seed)
    started = time.time()

    def note(text: str) -> None:
        print(f"{text} {time.time() - started:.0f} s", flush=True)

    asked = [row for row in prompts if row["kind"] == "passage"]
    written = model.write([row["text"] for row in asked], asked[0]["limit"], times=SAMPLES, rows=3300)
    note(f"passages {len(written)}")
    passages = [[part for text in texts if len(part := writer.finished(text)) >= 2] for texts in written]
    split = [
        (n, rng.choice(parts)) for n, texts in enumerate(passages) for parts in texts if rng.random() < 0.8
    ]
    made = model.write(writer.split_prompts([sentence for _, sentence in split]), 90)
    note(f"facts {len(made)}")
    facts: dict[int, list[str]] = defaultdict(list)
    for (n, _), [text] in zip(split, made, strict=True):
        facts[n] += writer.facts(text)
    rows: list[dict[str, Any]] = []
    for n, texts in enumerate(passages):
        about = asked[n]["about"]
        for place, parts in enumerate(texts):
            others = [part for k, own in enumerate(texts) if k != place for part in own]
            if len(others) < 4:
                continue
            stranger = rng.choice([other for other in rng.sample(passages, 8) if other] or [texts])
            claims = rng.sample(others, min(4, len(others))) + rng.sample(facts[n], min(3, len(facts[n])))
            claims += [rng.choice(rng.choice(stranger)), *rng.choices(others, k=CLAIMS)]
            rows.append({**about, "passage": " ".join(parts), "claims": claims[:CLAIMS]})
    rng.shuffle(rows)
    voted = model.votes([row["passage"] for row in rows], [row["claims"] for row in rows])
    note(f"votes {voted.size}")
    for row, odds in zip(rows, voted, strict=True):
        row["odds"] = [round(float(value), 3) for value in odds]
    on = model.votes([row["a"] for row in known], [[row["b"]] for row in known], rows=512)[:, 0]
    note(f"scaling {len(on)}")
    scaling = [[round(float(odds), 3), int(row["label"] == 0)] for odds, row in zip(on, known, strict=True)]
    _save(out / "passages.json", {"rows": rows, "scaling": scaling})
    everyday = [row for row in prompts if row["kind"] == "everyday"]
    told = model.write([row["text"] for row in everyday], everyday[0]["limit"])
    wordings = list(writer.read_everyday(texts[0] for texts in told))
    note(f"everyday {len(wordings)} of {len(everyday)}")
    asked = [row for row in prompts if row["kind"] == "wording"]
    by_limit = sorted({row["limit"] for row in asked})
    for limit in by_limit:
        part = [row for row in asked if row["limit"] == limit]
        said = model.write([row["text"] for row in part], limit)
        found = list(
            writer.read_wordings((row["about"], texts[0]) for row, texts in zip(part, said, strict=True))
        )
        wordings += found
        note(f"wordings {len(part)} in {len(found)} questions")
    _save(out / "wordings.json", wordings)


def _save(path: Path, data: Any) -> None:
    part = path.with_suffix(".part")
    part.write_text(json.dumps(data, ensure_ascii=False), "utf-8")
    part.rename(path)


def vote_targets(written: dict[str, Any]) -> list[tuple[str, str, str, float]]:
    """(question, passage, claim, probability of support), the log-odds scaled on the labelled pairs (Platt)."""
    from .export import calibrate

    odds, yes = np.array(written["scaling"], dtype=float).T
    scale, shift = calibrate(odds, yes, np.ones_like(odds))
    print(f"votes: scale {scale:.3f} shift {shift:.3f}")
    return [
        (row["question"], row["passage"], claim, 1 / (1 + math.exp(-(scale * value + shift))))
        for row in written["rows"]
        for claim, value in zip(row["claims"], row["odds"], strict=True)
    ]
