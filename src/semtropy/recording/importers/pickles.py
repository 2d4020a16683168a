"""Opens a pickle without running any code in it.

A pickle is a program: it names functions, and loading it calls them. Here every name it may use stands in one
table, and behind each is a stand-in that only holds data. Any other name is an error, raised before anything
was called.
"""

from __future__ import annotations

import io
import pickle
import struct
import zipfile
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from ...errors import InputError, RecordingError
from .arrays import TORCH_TYPES, ArrayState, Bystander, Dtype, Storage, Tensor, scalar

__all__ = ["load_pickle"]

_ZIP_MAGIC = b"PK\x03\x04"
_TORCH_MAGIC = 0x1950A86A20F9469CFC6C


def load_pickle(path: Path) -> Any:
    """What a pickle or a `torch.save` file holds; arrays and tensors come as stand-ins for `plain` to read."""
    try:
        with path.open("rb") as stream:
            magic = stream.read(4)
            stream.seek(0)
            return _load_zip(stream) if magic == _ZIP_MAGIC else _load_stream(stream)
    except ForbiddenName as error:
        raise RecordingError(str(error), path=str(path)) from None
    except (EOFError, zipfile.BadZipFile) as error:
        raise RecordingError(
            f"the file is cut short ({error or 'it ends too early'})", path=str(path)
        ) from None
    except FileNotFoundError:
        raise RecordingError("cannot be read: No such file or directory", path=str(path)) from None
    except (pickle.UnpicklingError, struct.error) as error:
        short = isinstance(error, struct.error) or "truncated" in str(error) or "exhausted" in str(error)
        message = "the file is cut short" if short else "is no pickle that can be read"
        raise RecordingError(f"{message} ({error})", path=str(path)) from None
    except Exception as error:  # a damaged or hostile pickle can raise anything; all of it is about this file
        reason = str(error) or type(error).__name__
        raise RecordingError(f"is no pickle that can be read ({reason})", path=str(path)) from None


class ForbiddenName(InputError):
    """The pickle names something that is not data."""

    def __init__(self, module: str, name: str) -> None:
        super().__init__(
            f"the pickle asks for {module}.{name}, which is none of the types a result file needs: nothing was run"
        )


class _Unpickler(pickle._Unpickler):
    """Names only from the table; storages by number.

    The one written in Python: that in C sets aside as much memory as a hostile pickle cares to name.
    """

    def __init__(self, stream: IO[bytes], storages: dict[str, Storage] | None = None) -> None:
        super().__init__(stream)
        self.storages = {} if storages is None else storages

    def find_class(self, module: str, name: str) -> Any:
        found = _NAMES.get(f"{module}.{name}")
        if found is None:
            raise ForbiddenName(module, name)
        return found

    def persistent_load(self, pid: Any) -> Storage:
        if not (
            isinstance(pid, tuple) and len(pid) >= 3 and pid[0] == "storage" and isinstance(pid[1], _TypeName)
        ):
            raise InputError("a reference to something that is no storage of numbers")
        return self.storages.setdefault(str(pid[2]), Storage(pid[1].kind))


class _TypeName:
    """The name of a torch type of numbers, or of an untyped storage (None)."""

    __slots__ = ("kind",)
    kind: str | None

    def __init__(self, kind: str | None) -> None:
        object.__setattr__(self, "kind", kind)

    def __setattr__(self, name: str, value: object) -> None:
        raise InputError("the pickle changes a type")


class _Maker:
    """A function a pickle may call; unlike a function it has nothing a pickle could set."""

    __slots__ = ("_make",)
    _make: Callable[..., Any]

    def __init__(self, make: Callable[..., Any]) -> None:
        object.__setattr__(self, "_make", make)

    def __call__(self, *arguments: Any) -> Any:
        return self._make(*arguments)

    def __setattr__(self, name: str, value: object) -> None:
        raise InputError("the pickle changes a function")


def _load_stream(stream: IO[bytes]) -> Any:
    """A plain pickle, or `torch.save`'s older form: several pickles in a row, then the storages' bytes."""
    first = _Unpickler(stream).load()
    if first != _TORCH_MAGIC:
        return first
    version, _ = _Unpickler(stream).load(), _Unpickler(stream).load()
    if version != 1001:
        raise InputError(f"torch's file version {version} is not read")
    storages: dict[str, Storage] = {}
    held = _Unpickler(stream, storages).load()
    for key in _Unpickler(stream).load():
        storage = storages.get(str(key))
        if storage is None:
            raise InputError("a storage nobody uses")
        count = int.from_bytes(_exactly(stream, 8), "little")
        storage.data = _exactly(stream, count * _item_size(storage.kind))
    return held


def _load_zip(stream: IO[bytes]) -> Any:
    """`torch.save`'s form since 1.6: a zip of data.pkl and a file for each storage."""
    with zipfile.ZipFile(stream) as archive:
        inner = [name for name in archive.namelist() if name.endswith("/data.pkl")]
        if len(inner) != 1:
            raise InputError("a zip file that torch.save did not write")
        folder = inner[0].removesuffix("data.pkl")
        if folder + "byteorder" in archive.namelist() and archive.read(folder + "byteorder") != b"little":
            raise InputError("numbers in big-endian order are not read")
        storages: dict[str, Storage] = {}
        held = _Unpickler(io.BytesIO(archive.read(inner[0])), storages).load()
        for key, storage in storages.items():
            storage.data = archive.read(f"{folder}data/{key}")
    return held


def _exactly(stream: IO[bytes], count: int) -> bytes:
    data = stream.read(count) if count < 2**48 else b""
    if len(data) != count:
        raise EOFError(f"{count} bytes of numbers were announced, {len(data)} are there")
    return data


def _item_size(kind: str | None) -> int:
    code = TORCH_TYPES.get(kind or "Byte", "<f8")
    return 2 if code == "bfloat16" else 1 if code == "?" else int(code[-1])


def _from_bytes(data: Any) -> Storage:
    """torch keeps a storage inside a plain pickle as the bytes of a file of its own."""
    held = _load_stream(io.BytesIO(data))
    if not isinstance(held, Storage):
        raise InputError("bytes that hold no storage of numbers")
    return held


def _tensor(storage: Any, offset: Any, size: Any, stride: Any, *_: Any) -> Tensor:
    return Tensor(storage, offset, size, stride)


def _typed_tensor(storage: Any, offset: Any, size: Any, stride: Any, *rest: Any) -> Tensor:
    kind = rest[2] if len(rest) > 2 else None  # after requires_grad and hooks
    return Tensor(storage, offset, size, stride, kind.kind if isinstance(kind, _TypeName) else None)


def _frombuffer(data: Any, dtype: Any, shape: Any, order: Any = "C", *_: Any) -> ArrayState:
    return ArrayState().fill(data, dtype, shape, order)


def _encode(text: Any, encoding: Any) -> bytes:
    """How older protocols write bytes."""
    if not (isinstance(text, str) and encoding in ("latin1", "latin-1")):
        raise InputError("bytes in an unknown writing")
    return text.encode("latin1")


def _table() -> dict[str, Any]:
    names: dict[str, Any] = {
        "collections.OrderedDict": OrderedDict,
        "collections.defaultdict": _Maker(lambda *_: {}),
        "_codecs.encode": _Maker(_encode),
        "numpy.dtype": Dtype,
        "numpy.ndarray": ArrayState,
        "torch._utils._rebuild_tensor": _Maker(_tensor),
        "torch._utils._rebuild_tensor_v2": _Maker(_tensor),
        "torch._utils._rebuild_tensor_v3": _Maker(_typed_tensor),
        "torch.storage._load_from_bytes": _Maker(_from_bytes),
        "torch.storage.UntypedStorage": _TypeName(None),
    }
    for builtins in ("builtins", "__builtin__"):  # the second is how older protocols spell it
        names |= {
            f"{builtins}.set": set,
            f"{builtins}.frozenset": frozenset,
            f"{builtins}.bytes": _Maker(lambda: b""),
        }
        # Named as the default of a defaultdict, never made use of.
        names |= dict.fromkeys((f"{builtins}.{name}" for name in ("list", "dict", "int", "float")), Bystander)
    for core in ("numpy.core", "numpy._core"):
        names[f"{core}.multiarray._reconstruct"] = ArrayState
        names[f"{core}.multiarray.scalar"] = _Maker(scalar)
        names[f"{core}.numeric._frombuffer"] = _Maker(_frombuffer)
    for kind in TORCH_TYPES:
        spelled = kind if kind[0].islower() else f"{kind}Storage"
        names[f"torch.{spelled}"] = names[f"torch.storage.{spelled}"] = _TypeName(kind)
    # Held beside the numbers and not needed.
    names |= dict.fromkeys(("argparse.Namespace", "torch.Size", "torch.device"), Bystander)
    graphs = ("graph.Graph", "digraph.DiGraph", "reportviews.EdgeView", "reportviews.NodeView")
    views = (
        "reportviews.OutEdgeView",
        "reportviews.DegreeView",
        "coreviews.AdjacencyView",
        "coreviews.AtlasView",
    )
    return names | dict.fromkeys((f"networkx.classes.{name}" for name in graphs + views), Bystander)


_NAMES = _table()
