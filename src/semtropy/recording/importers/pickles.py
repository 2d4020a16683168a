"""Opens pickles and `torch.save` files without running any code in them.

Loading a pickle the usual way imports and calls whatever it names. Here `unpickle` interprets it, and every name it may
use is in the table below, with a function that only makes data. Any other name is an error before anything was called.
"""

from __future__ import annotations

import io
import math
import pickletools
import sys
import zipfile
from collections.abc import Callable as Function
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import IO, Any, NoReturn

import numpy as np

from ...errors import InputError, RecordingError
from ...files import cannot_read
from ..limits import Allowance, Limits

# Data-only stand-ins for the arrays and tensors in a pickle.
#
# They hold what NumPy and torch stored and are read by `plain`, without calling either library's unpickling code. A
# pickle can fill each of them once, through `restore`, which validates; nothing else about them can be set.


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


# A pickle interpreter for data only: no imports, no calls but those of a given table, bounded memory and time.
#
# A pickle is a program for a stack machine. This one runs the opcodes that build containers, texts and numbers, and
# refuses every opcode that could do more. It looks up each name the pickle uses in `names`, where it finds a
# `Callable` (may be called), a marker (may be passed on), or nothing (`ForbiddenName`).


MOST_NESTED = 100
MOST_TUPLE_KEYS = 10_000  # tuples with equal hashes can be made at will, and a dict of them is slow
ATOMS = frozenset({str, int, float, bool, type(None), bytes})


class ForbiddenName(InputError):
    """The pickle names something that is not data."""

    def __init__(self, module: str, name: str) -> None:
        super().__init__(
            f"the pickle asks for {_printable(module)}.{_printable(name)}, which is none of the types a result file "
            "needs: nothing was run"
        )


def _printable(name: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in name[:100])


class Marker(StandIn):
    """A name a pickle may pass on and not call: a type of numbers, or one that is not needed."""

    __slots__ = ("kind",)
    kind: str | None

    def __init__(self, kind: str | None = None) -> None:
        self._set(kind=kind)


class Callable(StandIn):
    """A function a pickle may call."""

    __slots__ = ("function",)
    function: Function[..., Any]

    def __init__(self, function: Function[..., Any]) -> None:
        self._set(function=function)


# Opcodes whose argument is the value to push, with the memory of the object beyond its payload.
_PUSH = {
    "BININT": 40, "BININT1": 8, "BININT2": 40, "INT": 40, "LONG": 48, "LONG1": 48, "LONG4": 48,
    "STRING": 16, "BINSTRING": 16, "SHORT_BINSTRING": 16, "BINBYTES": 16, "SHORT_BINBYTES": 16, "BINBYTES8": 16,
    "BYTEARRAY8": 16, "UNICODE": 16, "SHORT_BINUNICODE": 16, "BINUNICODE": 16, "BINUNICODE8": 16,
    "FLOAT": 32, "BINFLOAT": 32,
}  # fmt: skip
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": ()}
_IGNORED = frozenset({"PROTO", "FRAME", "STOP"})
# About what an opcode costs in bytes; a hostile pickle is mostly these.
_COSTS = {
    "EMPTY_SET": 224, "EMPTY_DICT": 72, "EMPTY_LIST": 64, "LIST": 64, "DICT": 240, "FROZENSET": 224, "TUPLE": 56,
    "TUPLE1": 56, "TUPLE2": 64, "TUPLE3": 72, "MARK": 40, "MEMOIZE": 100, "PUT": 100, "BINPUT": 100,
    "LONG_BINPUT": 100, "REDUCE": 64, "NEWOBJ": 64, "SETITEM": 64,
}  # fmt: skip


class _Machine:
    """The stack, the marks on it, and the memo; `storage` resolves persistent ids."""

    def __init__(
        self,
        names: Mapping[str, Callable | Marker],
        allowance: Allowance,
        storage: Function[[Any], TensorStorage] | None,
    ) -> None:
        self.names, self.allowance, self.storage = names, allowance, storage
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}
        self.tuple_keys = 0

    def run(self, stream: Any) -> Any:
        """The value of the pickle at the position of `stream`."""
        spend, stack = self.allowance.spend, self.stack
        for opcode, argument, _ in pickletools.genops(stream):
            name = opcode.name
            if name in _PUSH:
                payload = sys.getsizeof(argument) if isinstance(argument, str | bytes | bytearray) else 0
                spend(_PUSH[name] + payload)
                if isinstance(argument, int) and argument.bit_length() > 2048:
                    raise InputError("a whole number of more than 600 digits")
                stack.append(argument)
            elif name in _CONSTANTS:
                spend(8)
                stack.append(_CONSTANTS[name])
            elif name not in _IGNORED:
                spend(_COSTS.get(name, 8))
                handler = _HANDLERS.get(name)
                if handler is None:
                    raise InputError(f"the pickle uses {name}, which no result file needs")
                handler(self, argument)
        if len(stack) != 1 or self.marks:
            raise InputError("the pickle does not end with one value")
        return stack[0]

    def pop(self) -> Any:
        if len(self.stack) <= (self.marks[-1] if self.marks else 0):
            raise InputError("the pickle takes a value that is not there")
        return self.stack.pop()

    def top(self, kind: type) -> Any:
        """The value on top, which must be exactly a `kind`."""
        value = self.pop()
        if type(value) is not kind:
            raise InputError(f"the pickle fills a {type(value).__name__} as if it were a {kind.__name__}")
        self.stack.append(value)
        return value

    def items(self) -> list[Any]:
        """The values above the last mark."""
        if not self.marks:
            raise InputError("the pickle closes a container it did not open")
        start = self.marks.pop()
        found = self.stack[start:]
        del self.stack[start:]
        return found

    def key(self, key: Any) -> Any:
        """`key`, if hashing it is cheap: hashing a deeply nested tuple would not end, or overflow the stack."""
        if type(key) is tuple:
            self.tuple_keys += 1
            if len(key) > 16 or self.tuple_keys > MOST_TUPLE_KEYS or not ATOMS.issuperset(map(type, key)):
                raise InputError("a key is a tuple of other things than a few texts and numbers")
        elif type(key) not in ATOMS:
            raise InputError(
                f"a key is of type {type(key).__name__}, not a text, a number or a tuple of them"
            )
        return key

    def pairs(self, found: list[Any]) -> Iterator[tuple[Any, Any]]:
        if len(found) % 2:
            raise InputError("a key has no value")
        self.allowance.spend(64 * len(found))
        return ((self.key(found[k]), found[k + 1]) for k in range(0, len(found), 2))

    def find(self, module: str, name: str) -> None:
        found = self.names.get(f"{module}.{name}")
        if found is None:
            raise ForbiddenName(module, name)
        self.stack.append(found)

    # One method per opcode, or group of opcodes, below.

    def mark(self, _: Any) -> None:
        self.marks.append(len(self.stack))

    def pop_one(self, _: Any) -> None:
        if self.marks and len(self.stack) == self.marks[-1]:
            self.marks.pop()
        else:
            self.pop()

    def pop_mark(self, _: Any) -> None:
        self.items()

    def duplicate(self, _: Any) -> None:
        value = self.pop()
        self.stack += [value, value]

    def get(self, place: int) -> None:
        if place not in self.memo:
            raise InputError(f"the pickle refers to value {place}, which is not there")
        self.stack.append(self.memo[place])

    def put(self, place: int) -> None:
        value = self.pop()
        self.stack.append(value)
        self.memo[place] = value

    def memoize(self, _: Any) -> None:
        self.put(len(self.memo))

    def list_append(self, _: Any) -> None:
        value = self.pop()
        self.top(list).append(value)

    def list_extend(self, _: Any) -> None:
        found = self.items()
        self.top(list).extend(found)

    def set_item(self, _: Any) -> None:
        value, key = self.pop(), self.key(self.pop())
        self.top(dict)[key] = value

    def set_items(self, _: Any) -> None:
        found = self.items()
        self.top(dict).update(self.pairs(found))

    def add_items(self, _: Any) -> None:
        found = self.items()
        self.allowance.spend(64 * len(found))
        self.top(set).update(map(self.key, found))

    def frozen(self, _: Any) -> None:
        found = self.items()
        self.allowance.spend(64 * len(found))
        self.stack.append(frozenset(map(self.key, found)))

    def tuple_of(self, count: int) -> None:
        found = [self.pop() for _ in range(count)]
        self.stack.append(tuple(reversed(found)))

    def named(self, pair: str) -> None:
        module, _, name = pair.partition(" ")
        self.find(module, name)

    def stack_named(self, _: Any) -> None:
        name, module = self.pop(), self.pop()
        if not (isinstance(name, str) and isinstance(module, str)):
            raise InputError("a name that is not text")
        self.find(module, name)

    def call(self, _: Any) -> None:
        arguments, function = self.pop(), self.pop()
        if type(function) is not Callable or type(arguments) is not tuple:
            raise InputError(f"the pickle calls a {type(function).__name__}")
        self.stack.append(self.called(function, arguments))

    def called(self, function: Callable, arguments: tuple[Any, ...]) -> Any:
        # Every call may copy its arguments, and one argument can be passed many times.
        self.allowance.spend(sum(map(_length, arguments)))
        if function.function in (set, frozenset):
            if len(arguments) > 1 or not all(type(a) in (list, tuple) for a in arguments):
                raise InputError("a set is made of something other than a list")
            return function.function(map(self.key, *arguments)) if arguments else function.function()
        try:
            return function.function(*arguments)
        except TypeError as error:
            raise InputError(f"the pickle makes a value in an unknown way ({error})") from None

    def build(self, _: Any) -> None:
        state, held = self.pop(), self.pop()
        if type(held) not in (Opaque, StoredDtype, StoredArray, StoredNamespace):
            raise InputError(f"the pickle sets the state of a {type(held).__name__}")
        held.restore(state)
        self.stack.append(held)

    def persistent(self, _: Any) -> None:
        if self.storage is None:
            raise InputError("a reference to something outside the pickle")
        self.stack.append(self.storage(self.pop()))


def _length(value: Any) -> int:
    """About the bytes a function may make of an argument."""
    return 64 * len(value) if isinstance(value, list | tuple | set | dict) else sys.getsizeof(value)


_HANDLERS: dict[str, Function[[_Machine, Any], None]] = {
    "MARK": _Machine.mark, "POP": _Machine.pop_one, "POP_MARK": _Machine.pop_mark, "DUP": _Machine.duplicate,
    "GET": _Machine.get, "BINGET": _Machine.get, "LONG_BINGET": _Machine.get,
    "PUT": _Machine.put, "BINPUT": _Machine.put, "LONG_BINPUT": _Machine.put, "MEMOIZE": _Machine.memoize,
    "EMPTY_LIST": lambda machine, _: machine.stack.append([]),
    "EMPTY_DICT": lambda machine, _: machine.stack.append({}),
    "EMPTY_SET": lambda machine, _: machine.stack.append(set()),
    "LIST": lambda machine, _: machine.stack.append(machine.items()),
    "TUPLE": lambda machine, _: machine.stack.append(tuple(machine.items())),
    "DICT": lambda machine, _: machine.stack.append(dict(machine.pairs(machine.items()))),
    "FROZENSET": _Machine.frozen, "TUPLE1": lambda machine, _: machine.tuple_of(1),
    "TUPLE2": lambda machine, _: machine.tuple_of(2), "TUPLE3": lambda machine, _: machine.tuple_of(3),
    "APPEND": _Machine.list_append, "APPENDS": _Machine.list_extend, "ADDITEMS": _Machine.add_items,
    "SETITEM": _Machine.set_item, "SETITEMS": _Machine.set_items,
    "GLOBAL": _Machine.named, "STACK_GLOBAL": _Machine.stack_named, "REDUCE": _Machine.call,
    "NEWOBJ": _Machine.call, "BUILD": _Machine.build, "BINPERSID": _Machine.persistent,
}  # fmt: skip


def check_size(value: Any, allowance: Allowance) -> None:
    """Refuse a value that is nested too deeply, contains itself, or is too large with shared parts written out.

    A list of a thousand references to a list of a thousand references takes kilobytes here and megabytes in a file.
    """
    known: dict[int, tuple[int, int]] = {}
    within: set[int] = set()

    def measured(held: Any) -> tuple[int, int]:
        """The depth and the size of a container."""
        if id(held) in known:
            return known[id(held)]
        if id(held) in within:
            raise InputError("a container holds itself")
        if len(within) >= MOST_NESTED:
            raise InputError(f"containers are nested more than {MOST_NESTED} deep")
        within.add(id(held))
        depth, size = 1, 64
        if isinstance(held, StoredArray | StoredTensor):
            size += list_bytes(held)
        for part in _parts(held):
            own = _atom_bytes(part)
            below, more = measured(part) if own is None else (0, own)
            depth, size = max(depth, below + 1), size + more
        if size > allowance.limit:
            allowance.spend(size)
        if depth > MOST_NESTED:
            raise InputError(f"containers are nested more than {MOST_NESTED} deep")
        within.discard(id(held))
        known[id(held)] = depth, size
        return depth, size

    measured(value)


def _parts(held: Any) -> Iterable[Any]:
    """What a container holds."""
    if isinstance(held, dict):
        return (part for pair in held.items() for part in pair)
    if isinstance(held, StoredNamespace):
        return (held.state,)
    if isinstance(held, StoredArray):
        return held.data if isinstance(held.data, list) else ()
    return held if isinstance(held, list | tuple | set | frozenset) else ()


def _atom_bytes(value: Any) -> int | None:
    """The size of a value without parts, None for a container."""
    if isinstance(value, str | bytes | bytearray):
        return 16 + len(value)
    if isinstance(
        value, list | tuple | dict | set | frozenset | StoredNamespace | StoredArray | StoredTensor
    ):
        return None
    return 16


_ZIP_MAGIC = b"PK\x03\x04"
_TORCH_MAGIC = 0x1950A86A20F9469CFC6C
_TRUNCATED = ("exhausted", "not enough data", "remain", "no newline", "ends too early")


def load_pickle(path: Path) -> Any:
    """The value in a pickle or a `torch.save` file; arrays and tensors are stand-ins to be read with `plain`."""
    try:
        size = path.stat().st_size
        allowed = Limits.default().unpacked_bytes(size)
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
        raise RecordingError(cannot_read(error), path=str(path)) from None
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
        return _Machine(self.names, self.allowance, found).run(stream)

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
