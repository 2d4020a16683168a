"""Reads the metadata of a GGUF file that sampling needs: its context length and end tokens."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

from ..errors import WeightsError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["GgufHeader", "read_gguf_header"]

# GGUF value types -> struct codes; 8 is a string and 9 an array.
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_LONGEST = 1 << 26  # longer than any real field; bounds the memory a damaged length can claim

# Special tokens that end a turn or a text, whatever the file's own end token is.
_ENDINGS = {
    "<|endoftext|>",
    "<|im_end|>",
    "<|end_of_text|>",
    "<|eot_id|>",
    "<|end|>",
    "<end_of_turn>",
    "<eos>",
    "</s>",
}


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """Name, context length, end token and all tokens that end an answer."""

    name: str
    context: int
    end: int
    endings: frozenset[int]


def read_gguf_header(path: Path) -> GgufHeader:
    """Read the header of the GGUF file at `path`; the weights are not touched."""
    try:
        with path.open("rb") as file:
            fields = _fields(file)
    except FileNotFoundError as error:
        raise WeightsError(f"{path}: no such file") from error
    except (OSError, struct.error, UnicodeDecodeError, ValueError, KeyError) as error:
        raise WeightsError(f"{path}: not a GGUF file that can be read: {error}") from error
    architecture = fields.get("general.architecture")
    tokens: list[str] = fields.get("tokenizer.ggml.tokens", [])
    end = fields.get("tokenizer.ggml.eos_token_id")
    if architecture is None or end is None or not tokens:
        raise WeightsError(f"{path}: has no vocabulary or no end token: is it a language model?")
    endings = {number for number, token in enumerate(tokens) if token in _ENDINGS}
    endings |= {
        fields[key] for key in ("tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id") if key in fields
    }
    return GgufHeader(
        name=str(fields.get("general.name", path.stem)),
        context=int(fields.get(f"{architecture}.context_length", 2048)),
        end=int(end),
        endings=frozenset({int(end), *endings}),
    )


def _fields(file: BinaryIO) -> dict[str, Any]:
    if file.read(4) != b"GGUF":
        raise ValueError("it does not begin with GGUF")
    version, _, count = struct.unpack("<IQQ", file.read(20))
    if version not in (2, 3):
        raise ValueError(f"version {version} is not known")
    return {_string(file): _value(file, *struct.unpack("<I", file.read(4))) for _ in range(count)}


def _string(file: BinaryIO) -> str:
    return file.read(_length(file)).decode("utf-8", errors="replace")


def _length(file: BinaryIO) -> int:
    (length,) = struct.unpack("<Q", file.read(8))
    if length > _LONGEST:
        raise ValueError(f"a field claims a length of {length}")
    return int(length)


def _value(file: BinaryIO, kind: int) -> Any:
    if kind == _STRING:
        return _string(file)
    if kind == _ARRAY:
        (item,) = struct.unpack("<I", file.read(4))
        length = _length(file)
        if item in (_STRING, _ARRAY):
            return [_value(file, item) for _ in range(length)]
        code = _SCALARS[item]
        return list(struct.unpack(f"<{length}{code}", file.read(length * struct.calcsize(code))))
    code = _SCALARS[kind]
    (value,) = struct.unpack(f"<{code}", file.read(struct.calcsize(code)))
    return value
