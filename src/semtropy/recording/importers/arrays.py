"""Stand-ins for the arrays and tensors of a pickle: what NumPy and torch stored, read without running their code.

Each is inert until `plain` asks for its numbers, and then reads them from the stored bytes alone.
"""

from __future__ import annotations

import math
from typing import Any, NoReturn

import numpy as np

from ...errors import InputError

__all__ = [
    "TORCH_TYPES",
    "ArrayState",
    "Bystander",
    "Dtype",
    "Frozen",
    "Storage",
    "Tensor",
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


class Frozen(type):
    """A class that a pickle cannot change."""

    def __setattr__(cls, name: str, value: object) -> NoReturn:
        raise InputError(f"the pickle sets {cls.__name__}.{name}")


class Bystander(metaclass=Frozen):
    """An object such a file also holds, of a class nobody needs: all that is kept is its state."""

    state: object = None

    def __init__(self, *_: object) -> None:
        pass

    def __setstate__(self, state: object) -> None:
        self.state = state


class Dtype(metaclass=Frozen):
    """A NumPy number type: its code and byte order."""

    code = ""
    order = "|"

    def __init__(self, code: object = "", *_: object) -> None:
        self.code = str(code)

    def __setstate__(self, state: Any) -> None:
        if isinstance(state, tuple) and len(state) > 2 and state[1] in ("<", ">", "|", "="):
            if state[2] is not None:
                raise InputError("arrays of packed records are not read")
            self.order = state[1]

    def numpy(self) -> np.dtype[Any]:
        code = self.code.lstrip("<>|=")
        if code[:1] not in set("biufUSO") or not code[1:].isdecimal():
            raise InputError(f"arrays of type {self.code!r} are not read")
        made: np.dtype[Any] = np.dtype(("<" if self.order in "|=" else self.order) + code)
        return made


class ArrayState(metaclass=Frozen):
    """A NumPy array: shape, type and bytes as `ndarray.__reduce__` stored them."""

    shape: tuple[int, ...] = ()
    dtype: Dtype | None = None
    order = "C"
    data: Any = None

    def __init__(self, *_: object) -> None:
        pass

    def __setstate__(self, state: Any) -> None:
        _, shape, dtype, fortran, data = state
        self.fill(data, dtype, shape, "F" if fortran else "C")

    def fill(self, data: Any, dtype: Any, shape: Any, order: Any) -> ArrayState:
        if not (isinstance(dtype, Dtype) and _is_shape(shape) and order in ("C", "F")):
            raise InputError("an array has no shape or type")
        self.shape, self.dtype, self.order, self.data = shape, dtype, order, data
        return self

    def tolist(self) -> Any:
        if self.dtype is None:
            raise InputError("an array has no numbers")
        if isinstance(self.data, list):  # an array of objects
            values = np.empty(len(self.data), dtype=object)
            values[:] = self.data
        else:
            values = np.frombuffer(_bytes(self.data), dtype=self.dtype.numpy())
        if values.size != math.prod(self.shape):
            raise InputError(f"an array of shape {self.shape} holds {values.size} values")
        return values.reshape(self.shape, order="F" if self.order == "F" else "C").tolist()


def scalar(dtype: Any, data: Any = b"") -> Any:
    """A NumPy number as a plain one."""
    if not isinstance(dtype, Dtype):
        raise InputError("a NumPy number has no type")
    kind = dtype.numpy()
    if kind.kind == "O" or len(_bytes(data)) != kind.itemsize:
        raise InputError("a NumPy number has bytes of another size than its type")
    return np.frombuffer(_bytes(data), dtype=kind)[0].item()


class Storage:
    """The flat numbers behind a tensor."""

    def __init__(self, kind: str | None, data: bytes | None = None) -> None:
        self.kind, self.data = kind, data  # kind None: untyped, the tensor says


class Tensor(metaclass=Frozen):
    """A torch tensor: a view of a storage."""

    def __init__(self, storage: Any, offset: Any, size: Any, stride: Any, kind: str | None = None) -> None:
        numbers = (offset, *size, *stride) if _is_shape(size) and _is_shape(stride) else (-1,)
        if not isinstance(storage, Storage) or not _is_shape(numbers) or len(size) != len(stride):
            raise InputError("a tensor has no storage, size or stride")
        self.storage, self.offset, self.size, self.stride = storage, offset, size, stride
        self.kind = kind or storage.kind

    def tolist(self) -> Any:
        flat = _numbers(self.storage.data, self.kind)
        if 0 in self.size:
            return np.empty(self.size).tolist()
        last = self.offset + sum((n - 1) * step for n, step in zip(self.size, self.stride, strict=True))
        if last >= flat.size:
            raise InputError(f"a tensor reaches to number {last} of a storage of {flat.size}")
        if math.prod(self.size) > max(flat.size, 1) * 64:
            raise InputError(f"a tensor of size {self.size} repeats a storage of {flat.size} numbers")
        steps = [step * flat.itemsize for step in self.stride]
        return np.lib.stride_tricks.as_strided(
            flat[self.offset :], self.size, steps, writeable=False
        ).tolist()


def _numbers(data: bytes | None, kind: str | None) -> np.ndarray[Any, Any]:
    code = TORCH_TYPES.get(kind or "")
    if code is None or data is None:
        raise InputError(
            f"tensors of type {kind} are not read" if code is None else "a tensor's storage is missing"
        )
    if code == "bfloat16":
        halves = np.frombuffer(data, dtype="<u2")
        return (halves.astype("<u4") << 16).view("<f4")
    return np.frombuffer(data, dtype=code)


def _is_shape(value: object) -> bool:
    return isinstance(value, tuple) and all(type(n) is int and 0 <= n < 2**48 for n in value)


def _bytes(data: Any) -> bytes:
    if isinstance(data, bytes | bytearray):
        return bytes(data)
    raise InputError(f"the bytes of an array are a {type(data).__name__}")


def plain(value: Any, *, depth: int = 6) -> Any:
    """`value` with every array, tensor and NumPy number in it as plain lists and numbers."""
    if depth < 0:
        raise InputError("lists within lists within lists: deeper than any result file")
    if isinstance(value, ArrayState | Tensor):
        try:
            value = value.tolist()
        except (ValueError, TypeError) as error:
            raise InputError(str(error)) from None
    if isinstance(value, list | tuple):
        return [plain(inner, depth=depth - 1) for inner in value]
    return value
