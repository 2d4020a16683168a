"""A pickle interpreter for data only: no imports, no calls but those of a given table, bounded memory and time.

A pickle is a program for a stack machine. This one runs the opcodes that build containers, texts and numbers, and
refuses every opcode that could do more. `load_data` looks up each name the pickle uses in `names`, where it finds a
`Callable` (may be called), a marker (may be passed on), or nothing (`ForbiddenName`).
"""

from __future__ import annotations

import pickletools
import sys
from collections.abc import Callable as Function
from collections.abc import Iterator, Mapping
from typing import IO, TYPE_CHECKING, Any

from ...errors import InputError
from .arrays import (
    Opaque,
    StandIn,
    StoredArray,
    StoredDtype,
    StoredNamespace,
    StoredTensor,
    TensorStorage,
    list_bytes,
)

if TYPE_CHECKING:
    from ..limits import Allowance

__all__ = ["Callable", "ForbiddenName", "Marker", "check_size", "load_data"]

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


def load_data(
    stream: IO[bytes] | Any,
    names: Mapping[str, Callable | Marker],
    allowance: Allowance,
    storage: Function[[Any], TensorStorage] | None = None,
) -> Any:
    """The value of the pickle at the position of `stream`; `storage` resolves persistent ids."""
    return _Machine(names, allowance, storage).run(stream)


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
    """The stack, the marks on it, and the memo."""

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
            raise InputError(f"a key is a {type(key).__name__}, not a text, a number or a tuple of them")
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
    depths: dict[int, int] = {}
    sizes: dict[int, int] = {}
    path = [_Open(value)]
    open_now = {id(value)}
    while path:
        node = path[-1]
        for child in node.children:
            size = _atom_bytes(child)
            if size is not None:
                node.size += size
            elif id(child) in sizes:
                node.take(depths[id(child)], sizes[id(child)])
            elif id(child) in open_now:
                raise InputError("a container holds itself")
            else:
                path.append(_Open(child))
                open_now.add(id(child))
                break
        else:
            path.pop()
            open_now.discard(id(node.value))
            depths[id(node.value)], sizes[id(node.value)] = node.depth, node.size
            if path:
                path[-1].take(node.depth, node.size)
        if node.depth > MOST_NESTED or len(path) > MOST_NESTED:
            raise InputError(f"containers are nested more than {MOST_NESTED} deep")
        if node.size > allowance.limit:
            allowance.spend(node.size)


class _Open:
    """A container whose children are being added up."""

    __slots__ = ("children", "depth", "size", "value")

    def __init__(self, value: Any) -> None:
        self.value, self.depth, self.size = value, 1, 64
        children: Any = ()
        if isinstance(value, dict):
            children = (part for pair in value.items() for part in pair)
        elif isinstance(value, list | tuple | set | frozenset):
            children = value
        elif isinstance(value, StoredNamespace):
            children = (value.state,)
        elif isinstance(value, StoredArray | StoredTensor):
            self.size += list_bytes(value)
            children = value.data if isinstance(value, StoredArray) and isinstance(value.data, list) else ()
        self.children = iter(children)

    def take(self, depth: int, size: int) -> None:
        self.depth, self.size = max(self.depth, depth + 1), self.size + size


def _atom_bytes(value: Any) -> int | None:
    """The size of a value without parts, None for a container."""
    if isinstance(value, str | bytes | bytearray):
        return 16 + len(value)
    if isinstance(
        value, list | tuple | dict | set | frozenset | StoredNamespace | StoredArray | StoredTensor
    ):
        return None
    return 16
