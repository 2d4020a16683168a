"""Data-only stand-ins for the arrays and tensors in a pickle.

They hold what NumPy and torch stored and are read by `plain`, without calling either library's unpickling code. A
pickle can fill each of them once, through `restore`, which validates; nothing else about them can be set.
"""

from __future__ import annotations

import math
from typing import Any, NoReturn

import numpy as np

from ...errors import InputError

__all__ = [
    "TORCH_TYPES",
    "Opaque",
    "StandIn",
    "StoredArray",
    "StoredDtype",
    "StoredNamespace",
    "StoredTensor",
    "TensorStorage",
    "list_bytes",
    "plain",
    "scalar",
]

# The types of numbers torch stores, by the names of its storages and of its dtypes.
TORCH_TYPES = {
    "Double": "<f8", "float64": "<f8", "Float": "<f4", "float32": "<f4", "Half": "<f2", "float16": "<f2",
    "BFloat16": "bfloat16", "bfloat16": "bfloat16", "Long": "<i8", "int64": "<i8", "Int": "<i4", "int32": "<i4",
    "Short": "<i2", "int16": "<i2", "Char": "<i1", "int8": "<i1", "Byte": "<u1", "uint8": "<u1",
    "Bool": "?", "bool": "?",
}  # fmt: skip

MOST_DIMENSIONS = 8


class StandIn:
    """Base of the stand-ins: slots only, set by their own code alone, never through `__setstate__`."""

    __slots__ = ()

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise InputError(f"the pickle sets {type(self).__name__}.{name}")

    def __setstate__(self, state: object) -> NoReturn:
        raise InputError(f"the pickle sets the state of a {type(self).__name__}")

    def _set(self, **values: object) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)


class Opaque(StandIn):
    """An object of a class that is not needed; nothing of it is kept."""

    __slots__ = ()

    def __init__(self, *_: object) -> None:
        pass

    def restore(self, _: object) -> None:
        """Ignore the state: graphs hold themselves, and nobody reads them."""


class StoredNamespace(StandIn):
    """An `argparse.Namespace`: its attributes."""

    __slots__ = ("state",)
    state: dict[str, Any] | None

    def __init__(self, *_: object) -> None:
        self._set(state=None)

    def restore(self, state: object) -> None:
        if self.state is not None or not isinstance(state, dict):
            raise InputError("the state of a namespace is not what argparse writes")
        self._set(state=state)


class StoredDtype(StandIn):
    """A NumPy data type: its code and byte order."""

    __slots__ = ("code", "order", "restored")
    code: str
    order: str
    restored: bool

    def __init__(self, code: object = "", *_: object) -> None:
        if not isinstance(code, str):
            raise InputError("a NumPy type has no code")
        self._set(code=code, order="|", restored=False)

    def restore(self, state: object) -> None:
        if self.restored or not (isinstance(state, tuple) and len(state) > 2):
            raise InputError("the state of a NumPy type is not what NumPy writes")
        if state[1] not in ("<", ">", "|", "="):
            raise InputError("a NumPy type has no byte order")
        if state[2] is not None:
            raise InputError("arrays of structured records are not supported")
        self._set(order=state[1], restored=True)

    def numpy(self) -> np.dtype[Any]:
        code = self.code.lstrip("<>|=")
        size = code[1:]
        if code[:1] not in set("biufUSO") or not (size.isascii() and size.isdecimal() and len(size) < 10):
            raise InputError(f"arrays of type {self.code[:20]!r} are not supported")
        made: np.dtype[Any] = np.dtype(("<" if self.order in "|=" else self.order) + code)
        return made


class StoredArray(StandIn):
    """A NumPy array: shape, type and bytes as `ndarray.__reduce__` stored them."""

    __slots__ = ("data", "dtype", "order", "shape")
    shape: tuple[int, ...]
    dtype: StoredDtype | None
    order: str
    data: Any

    def __init__(self) -> None:
        self._set(shape=(), dtype=None, order="C", data=None)

    def restore(self, state: object) -> None:
        if not (isinstance(state, tuple) and len(state) == 5):
            raise InputError("the state of an array is not what NumPy writes")
        _, shape, dtype, fortran, data = state
        self.fill(data, dtype, shape, "F" if fortran else "C")

    def fill(self, data: Any, dtype: Any, shape: Any, order: Any) -> StoredArray:
        if self.dtype is not None:
            raise InputError("the pickle fills an array twice")
        if not (isinstance(dtype, StoredDtype) and _is_shape(shape) and order in ("C", "F")):
            raise InputError("an array has no shape or type")
        self._set(shape=shape, dtype=dtype, order=order, data=data)
        return self

    def tolist(self) -> Any:
        if self.dtype is None:
            raise InputError("an array has no numbers")
        size = math.prod(self.shape)
        objects = isinstance(self.data, list)
        values = np.arange(size) if objects else np.frombuffer(_bytes(self.data), dtype=self.dtype.numpy())
        held = len(self.data) if objects else values.size
        if held != size:
            raise InputError(f"an array of shape {self.shape} holds {held} values")
        nested = values.reshape(self.shape, order="F" if self.order == "F" else "C").tolist()
        return _picked(nested, self.data) if objects else nested


def _picked(places: Any, held: list[Any]) -> Any:
    """The objects at nested lists of indices."""
    return [_picked(inner, held) for inner in places] if isinstance(places, list) else held[places]


def scalar(dtype: Any, data: Any = b"") -> Any:
    """A NumPy number as a Python one."""
    if not isinstance(dtype, StoredDtype):
        raise InputError("a NumPy number has no type")
    kind = dtype.numpy()
    if kind.kind == "O" or len(_bytes(data)) != kind.itemsize:
        raise InputError("a NumPy number has bytes of another size than its type")
    return np.frombuffer(_bytes(data), dtype=kind)[0].item()


class TensorStorage(StandIn):
    """The flat numbers behind a tensor; `kind` None means untyped, then the tensor has the type."""

    __slots__ = ("data", "kind")
    kind: str | None
    data: bytes | None

    def __init__(self, kind: str | None) -> None:
        self._set(kind=kind, data=None)

    def fill(self, data: bytes) -> None:
        if self.data is not None:
            raise InputError("a storage has its numbers twice")
        self._set(data=data)


class StoredTensor(StandIn):
    """A torch tensor: a view of a storage."""

    __slots__ = ("kind", "offset", "size", "storage", "stride")
    storage: TensorStorage
    offset: int
    size: tuple[int, ...]
    stride: tuple[int, ...]
    kind: str | None

    def __init__(self, storage: Any, offset: Any, size: Any, stride: Any, kind: str | None = None) -> None:
        shapes = _is_shape(size) and _is_shape(stride) and _is_shape((offset,)) and len(size) == len(stride)
        if not (isinstance(storage, TensorStorage) and shapes):
            raise InputError("a tensor has no storage, size or stride")
        self._set(storage=storage, offset=offset, size=size, stride=stride, kind=kind or storage.kind)

    def tolist(self) -> Any:
        flat = _numbers(self.storage.data, self.kind)
        if 0 in self.size:
            return np.empty(self.size).tolist()
        last = self.offset + sum((n - 1) * step for n, step in zip(self.size, self.stride, strict=True))
        if last >= flat.size:
            raise InputError(f"a tensor reaches to number {last} of a storage of {flat.size}")
        places = np.array(self.offset)
        for n, step in zip(self.size, self.stride, strict=True):
            places = places[..., None] + np.arange(n) * step
        return flat[places].tolist()  # NumPy checks every index again


def list_bytes(held: StoredArray | StoredTensor) -> int:
    """About how much memory the nested lists of an array or tensor take.

    >>> list_bytes(StoredArray().fill(b"", StoredDtype("f8"), (30_000_000, 0), "C")) > 10**9
    True
    """
    shape = held.shape if isinstance(held, StoredArray) else held.size
    lists = sum(math.prod(shape[:depth]) for depth in range(len(shape)))
    return 64 * lists + 32 * math.prod(shape)


def _numbers(data: bytes | None, kind: str | None) -> np.ndarray[Any, Any]:
    code = TORCH_TYPES.get(kind or "")
    if code is None:
        raise InputError(f"tensors of type {kind} are not supported")
    if data is None:
        raise InputError("a tensor's storage is missing")
    if code == "bfloat16":
        halves = np.frombuffer(data, dtype="<u2")
        return (halves.astype("<u4") << 16).view("<f4")
    return np.frombuffer(data, dtype=code)


def _is_shape(value: object) -> bool:
    known = isinstance(value, tuple) and len(value) <= MOST_DIMENSIONS
    return known and all(type(n) is int and 0 <= n < 2**48 for n in value)  # type: ignore[attr-defined]


def _bytes(data: Any) -> bytes:
    if isinstance(data, bytes | bytearray):
        return bytes(data)
    raise InputError(f"the bytes of an array are a {type(data).__name__}")


def plain(value: Any, *, depth: int = 6) -> Any:
    """`value` with every array, tensor and NumPy number in it as Python lists and numbers."""
    if depth < 0:
        raise InputError("lists are nested more deeply than in any result file")
    if isinstance(value, StoredArray | StoredTensor):
        try:
            value = value.tolist()
        except (ValueError, TypeError) as error:
            raise InputError(str(error)) from None
    if isinstance(value, list | tuple):
        return [plain(inner, depth=depth - 1) for inner in value]
    return value
