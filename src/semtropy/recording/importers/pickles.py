"""Opens pickles and `torch.save` files without running any code in them.

Loading a pickle the usual way imports and calls whatever it names. Here `unpickle` interprets it, and every name it may
use is in the table below, with a function that only makes data. Any other name is an error before anything was called.
"""

from __future__ import annotations

import io
import zipfile
from functools import partial
from pathlib import Path
from typing import IO, Any

from ...errors import InputError, RecordingError
from ..limits import Allowance, Limits
from .arrays import (
    TORCH_TYPES,
    Opaque,
    StoredArray,
    StoredDtype,
    StoredNamespace,
    StoredTensor,
    TensorStorage,
    scalar,
)
from .unpickle import Callable, ForbiddenName, Marker, check_size, load_data

__all__ = ["load_pickle"]

_ZIP_MAGIC = b"PK\x03\x04"
_TORCH_MAGIC = 0x1950A86A20F9469CFC6C
_TRUNCATED = ("exhausted", "not enough data", "remain", "no newline", "ends too early")


def load_pickle(path: Path, *, limits: Limits | None = None) -> Any:
    """The value in a pickle or a `torch.save` file; arrays and tensors are stand-ins to be read with `plain`."""
    try:
        size = path.stat().st_size
        allowed = (limits or Limits.default()).unpacked_bytes(size)
        with path.open("rb") as stream:
            magic = stream.read(4)
            stream.seek(0)
            loader = _Loader(Allowance(allowed))
            held = (
                loader.load_zip(stream) if magic == _ZIP_MAGIC else loader.load_stream(_Bounded(stream, size))
            )
        check_size(held, Allowance(allowed))
        return held
    except ForbiddenName as error:
        raise RecordingError(str(error), path=str(path)) from None
    except OSError as error:
        raise RecordingError(f"cannot be read: {error.strerror or error}", path=str(path)) from None
    except Exception as error:  # a damaged or hostile pickle can raise anything; all of it is about this file
        reason = str(error) or type(error).__name__
        truncated = isinstance(error, EOFError | zipfile.BadZipFile) or any(w in reason for w in _TRUNCATED)
        message = "the file is truncated" if truncated else "cannot be read as a pickle"
        raise RecordingError(f"{message} ({reason})", path=str(path)) from None


class _Bounded:
    """A stream that knows how much is left, so that a length in the file cannot claim more memory than that."""

    def __init__(self, stream: IO[bytes], size: int) -> None:
        self._stream, self._left = stream, size

    def read(self, count: int) -> bytes:
        if not 0 <= count <= self._left:
            raise EOFError(f"{count} bytes were announced, {self._left} are there")
        data = self._stream.read(count)
        self._left -= len(data)
        return data

    def readline(self) -> bytes:
        data = self._stream.readline()
        self._left -= len(data)
        return data


def _in_memory(data: bytes) -> _Bounded:
    return _Bounded(io.BytesIO(data), len(data))


class _Loader:
    """Loads one file; all of its pickles and storages share one allowance of memory."""

    def __init__(self, allowance: Allowance, *, nested: bool = False) -> None:
        self.allowance = allowance
        self.names = dict(_NAMES)
        if not nested:
            self.names["torch.storage._load_from_bytes"] = Callable(self.from_bytes)

    def load(self, stream: _Bounded, storages: dict[str, TensorStorage] | None = None) -> Any:
        found = None if storages is None else partial(_storage, storages)
        return load_data(stream, self.names, self.allowance, found)

    def load_stream(self, stream: _Bounded) -> Any:
        """A plain pickle, or `torch.save`'s older form: several pickles in a row, then the storages' bytes."""
        first = self.load(stream)
        if type(first) is not int or first != _TORCH_MAGIC:
            return first
        version, _ = self.load(stream), self.load(stream)
        if type(version) is not int or version != 1001:
            raise InputError("this version of torch's file format is not supported")
        storages: dict[str, TensorStorage] = {}
        held = self.load(stream, storages)
        keys = self.load(stream)
        if not isinstance(keys, list):
            raise InputError("the keys of torch's storages are not a list")
        for key in keys:
            storage = storages.get(key) if isinstance(key, str) else None
            if storage is None:
                raise InputError("a storage that no tensor uses")
            count = int.from_bytes(stream.read(8), "little")
            storage.fill(stream.read(count * _item_size(storage.kind)))
        return held

    def load_zip(self, stream: IO[bytes]) -> Any:
        """`torch.save`'s form since 1.6: a zip of data.pkl and a file for each storage."""
        with zipfile.ZipFile(stream) as archive:
            inner = [name for name in archive.namelist() if name.endswith("/data.pkl")]
            if len(inner) != 1:
                raise InputError("a zip file that torch.save did not write")
            folder = inner[0].removesuffix("data.pkl")
            order = f"{folder}byteorder"
            if order in archive.namelist() and self.member(archive, order) != b"little":
                raise InputError("numbers in big-endian order are not supported")
            storages: dict[str, TensorStorage] = {}
            held = self.load(_in_memory(self.member(archive, inner[0])), storages)
            for key, storage in storages.items():
                storage.fill(self.member(archive, f"{folder}data/{key}"))
        return held

    def member(self, archive: zipfile.ZipFile, name: str) -> bytes:
        """A file of the archive; what it unpacks to is taken off the allowance first."""
        info = archive.getinfo(name)
        self.allowance.spend(info.file_size)
        with archive.open(info) as file:
            return file.read(info.file_size)

    def from_bytes(self, data: Any) -> TensorStorage:
        """torch keeps a storage inside a plain pickle as the bytes of a whole file."""
        if not isinstance(data, bytes | bytearray):
            raise InputError("the bytes of a storage are missing")
        held = _Loader(self.allowance, nested=True).load_stream(_in_memory(bytes(data)))
        if not isinstance(held, TensorStorage):
            raise InputError("bytes that hold no storage of numbers")
        return held


def _storage(storages: dict[str, TensorStorage], pid: Any) -> TensorStorage:
    """The storage that a persistent id ("storage", type, key, ...) stands for."""
    known = isinstance(pid, tuple) and len(pid) >= 3 and pid[0] == "storage"
    if not (known and type(pid[1]) is Marker and type(pid[2]) is str):
        raise InputError("a reference to something that is no storage of numbers")
    return storages.setdefault(pid[2], TensorStorage(pid[1].kind))


def _item_size(kind: str | None) -> int:
    code = TORCH_TYPES.get(kind or "Byte", "<f8")
    return 2 if code == "bfloat16" else 1 if code == "?" else int(code[-1])


def _tensor(storage: Any, offset: Any, size: Any, stride: Any, *_: Any) -> StoredTensor:
    return StoredTensor(storage, offset, size, stride)


def _typed_tensor(storage: Any, offset: Any, size: Any, stride: Any, *rest: Any) -> StoredTensor:
    kind = rest[2] if len(rest) > 2 else None  # after requires_grad and hooks
    return StoredTensor(storage, offset, size, stride, kind.kind if type(kind) is Marker else None)


def _frombuffer(data: Any, dtype: Any, shape: Any, order: Any = "C", *_: Any) -> StoredArray:
    return StoredArray().fill(data, dtype, shape, order)


def _encode(text: Any, encoding: Any) -> bytes:
    """How older protocols write bytes."""
    if not (isinstance(text, str) and encoding in ("latin1", "latin-1")):
        raise InputError("bytes in an unknown encoding")
    return text.encode("latin1")


def _table() -> dict[str, Callable | Marker]:
    opaque, empty_dict, unused = Callable(Opaque), Callable(lambda *_: {}), Marker()
    names: dict[str, Callable | Marker] = {
        "collections.OrderedDict": empty_dict,  # the items follow
        "collections.defaultdict": empty_dict,
        "_codecs.encode": Callable(_encode),
        "numpy.dtype": Callable(StoredDtype),
        "numpy.ndarray": unused,
        "argparse.Namespace": Callable(StoredNamespace),
        "torch._utils._rebuild_tensor": Callable(_tensor),
        "torch._utils._rebuild_tensor_v2": Callable(_tensor),
        "torch._utils._rebuild_tensor_v3": Callable(_typed_tensor),
        "torch.storage.UntypedStorage": unused,
    }
    for builtins in ("builtins", "__builtin__"):  # the second is how older protocols spell it
        names |= {
            f"{builtins}.set": Callable(set),
            f"{builtins}.frozenset": Callable(frozenset),
            f"{builtins}.bytes": Callable(lambda: b""),
        }
        # Named as the default of a defaultdict, never called.
        names |= dict.fromkeys((f"{builtins}.{name}" for name in ("list", "dict", "int", "float")), unused)
    for core in ("numpy.core", "numpy._core"):
        names[f"{core}.multiarray._reconstruct"] = Callable(lambda *_: StoredArray())
        names[f"{core}.multiarray.scalar"] = Callable(scalar)
        names[f"{core}.numeric._frombuffer"] = Callable(_frombuffer)
    for kind in TORCH_TYPES:
        spelled = kind if kind[0].islower() else f"{kind}Storage"
        names[f"torch.{spelled}"] = names[f"torch.storage.{spelled}"] = Marker(kind)
    # Held beside the numbers and not needed.
    names |= dict.fromkeys(("torch.Size", "torch.device"), opaque)
    graphs = ("graph.Graph", "digraph.DiGraph", "reportviews.EdgeView", "reportviews.NodeView")
    views = (
        "reportviews.OutEdgeView",
        "reportviews.DegreeView",
        "coreviews.AdjacencyView",
        "coreviews.AtlasView",
    )
    return names | dict.fromkeys((f"networkx.classes.{name}" for name in graphs + views), opaque)


_NAMES = _table()
