"""A small Llama with random weights and a vocabulary of bytes as a GGUF file, made on the spot.

For what does not depend on what a model says: it answers in a hundredth of the time that the built-in model takes.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np

WIDTH, INNER, LAYERS, HEADS, SHARED_HEADS = 32, 64, 2, 4, 2
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
TEMPLATE = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] "
    "+ '<|im_end|>\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)
PRINTED = [*range(33, 127), *range(161, 173), *range(174, 256)]
"""The bytes that stand for themselves in a vocabulary; the others are the characters from 256 on, in order."""


def make_gguf(folder: Path) -> Path:
    """Write the file, which has a chat template; an answer has a few tokens, one of which is much likelier."""
    path = folder / "tiny.gguf"
    tensors = _tensors(len(SPECIAL) + 256)
    fields = _fields()
    with path.open("wb") as file:
        file.write(b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(fields)))
        for key, (kind, value) in fields.items():
            file.write(_text(key) + _value(kind, value))
        place = 0
        for name, values in tensors.items():
            shape = values.shape[::-1]
            file.write(_text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, 0, place))
            place += values.nbytes
        file.write(bytes(-file.tell() % 32))
        for values in tensors.values():
            file.write(values.tobytes())  # each takes a multiple of 32 bytes, as the format wants
    return path


def _letters() -> list[str]:
    """How each byte is written in a vocabulary."""
    others = iter(range(256, 512))
    return [chr(byte if byte in PRINTED else next(others)) for byte in range(256)]


def _fields() -> dict[str, tuple[str, Any]]:
    letters = _letters()
    space = letters[ord(" ")]
    return {
        "general.architecture": ("text", "llama"),
        "general.name": ("text", "tiny"),
        "llama.block_count": ("number", LAYERS),
        "llama.context_length": ("number", 8192),
        "llama.embedding_length": ("number", WIDTH),
        "llama.feed_forward_length": ("number", INNER),
        "llama.attention.head_count": ("number", HEADS),
        "llama.attention.head_count_kv": ("number", SHARED_HEADS),
        "llama.attention.layer_norm_rms_epsilon": ("real", 1e-5),
        "llama.rope.dimension_count": ("number", WIDTH // HEADS),
        "tokenizer.ggml.model": ("text", "gpt2"),
        "tokenizer.ggml.pre": ("text", "smollm"),
        "tokenizer.ggml.tokens": ("texts", [*SPECIAL, *letters]),
        "tokenizer.ggml.token_type": ("numbers", [3] * len(SPECIAL) + [1] * len(letters)),
        "tokenizer.ggml.merges": (
            "texts",
            [f"{space} {space}"],
        ),  # none that gives a token, but there must be some
        "tokenizer.ggml.bos_token_id": ("number", 1),
        "tokenizer.ggml.eos_token_id": ("number", 2),
        "tokenizer.ggml.add_bos_token": ("flag", False),
        "tokenizer.chat_template": ("text", TEMPLATE),
    }


def _text(text: str) -> bytes:
    encoded = text.encode()
    return struct.pack("<Q", len(encoded)) + encoded


def _value(kind: str, value: Any) -> bytes:
    """The number of a kind in the format, then the value."""
    match kind:
        case "number":
            return struct.pack("<II", 4, value)
        case "real":
            return struct.pack("<If", 6, value)
        case "flag":
            return struct.pack("<I?", 7, value)
        case "numbers":
            return struct.pack(f"<IIQ{len(value)}i", 9, 5, len(value), *value)
        case "texts":
            return struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(_text, value))
    return struct.pack("<I", 8) + _text(value)


def _tensors(tokens: int) -> dict[str, np.ndarray[Any, Any]]:
    """Random matrices. What the first number of a token's vector adds is the same everywhere: letters and an end."""
    rng = np.random.default_rng(9)
    narrow = WIDTH // HEADS * SHARED_HEADS
    shapes = {"attn_q": (WIDTH, WIDTH), "attn_k": (narrow, WIDTH), "attn_v": (narrow, WIDTH)}
    shapes |= {"attn_output": (WIDTH, WIDTH), "ffn_gate": (INNER, WIDTH), "ffn_up": (INNER, WIDTH)}
    shapes |= {"ffn_down": (WIDTH, INNER)}
    found = {"token_embd.weight": rng.normal(size=(tokens, WIDTH))}
    found["token_embd.weight"][:, 0] = 4.0
    for layer in range(LAYERS):
        for name, shape in shapes.items():
            found[f"blk.{layer}.{name}.weight"] = rng.normal(scale=0.2, size=shape)
        for name in ("attn_norm", "ffn_norm"):
            found[f"blk.{layer}.{name}.weight"] = np.ones(WIDTH)
    found["output_norm.weight"] = np.ones(WIDTH)
    found["output.weight"] = rng.normal(scale=0.7, size=(tokens, WIDTH))
    found["output.weight"][:, 0] = -5.0
    letters = [len(SPECIAL) + letter for letter in b" abcdefghijklmnopqrstuvwxyz"]
    found["output.weight"][letters, 0] = 0.0
    found["output.weight"][[2, len(SPECIAL) + ord("\n")], 0] = 1.4, 1.4
    return {name: values.astype("<f4") for name, values in found.items()}
