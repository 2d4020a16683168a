"""Hostile pickles: none reads memory that is not its own, crashes, hangs, or takes a gigabyte."""

from __future__ import annotations

import io
import pickle
import struct
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from limited import limited
from semtropy.errors import InputError, RecordingError
from semtropy.recording.importers.pickles import load_pickle, plain

PROTO = b"\x80\x02"
needs_limits = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="reads the memory of a process as Linux tells it"
)


def name(module: str, attribute: str) -> bytes:
    return b"c" + module.encode() + b"\n" + attribute.encode() + b"\n"


def text(value: str) -> bytes:
    return b"X" + struct.pack("<I", len(value.encode())) + value.encode()


def number(value: int) -> bytes:
    return b"\x8a\x08" + struct.pack("<q", value)


def shape(*sizes: int) -> bytes:
    return b"(" + b"".join(map(number, sizes)) + b"t"


def storage(key: str = "0", kind: str = "FloatStorage") -> bytes:
    return b"(" + text("storage") + name("torch", kind) + text(key) + text("cpu") + b"K\x04tQ"


def tensor(offset: int, size: bytes, stride: bytes, held: bytes = storage()) -> bytes:
    rebuild = name("torch._utils", "_rebuild_tensor_v2")
    return rebuild + b"(" + held + number(offset) + size + stride + b"\x89}tR"


def torch_zip(data: bytes, numbers: bytes = b"\0" * 16) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("run/data.pkl", PROTO + data + b".")
        archive.writestr("run/data/0", numbers)
    return stream.getvalue()


def array(sizes: bytes, data: bytes = b"C\x00") -> bytes:
    dtype = name("numpy", "dtype") + text("f8") + b"\x85R"
    return name("numpy.core.numeric", "_frombuffer") + b"(" + data + dtype + sizes + text("C") + b"tR"


def items(**values: bytes) -> bytes:
    return b"}(" + b"".join(text(key) + value for key, value in values.items()) + b"u"


# --- memory of the process -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "state",
    [
        items(stride=shape(1_000_000)),
        items(stride=b"(" + number(-1000) + b"t"),
        items(offset=number(-4096)),
        items(size=shape(60_000)),
        b"N" + items(stride=shape(1_000_000)) + b"\x86",
        b"N" + items(offset=number(1 << 20)) + b"\x86",
    ],
)
def test_a_tensor_does_not_change_after_it_was_checked(state: bytes, tmp_path: Path) -> None:
    path = tmp_path / "run.pt"
    path.write_bytes(torch_zip(tensor(0, shape(2), shape(1)) + state + b"b"))
    with pytest.raises(RecordingError, match="the pickle sets the state of a StoredTensor"):
        plain(load_pickle(path))


@pytest.mark.parametrize(("offset", "size", "stride"), [(4, (1,), (1,)), (3, (2,), (1,)), (0, (3,), (2,))])
def test_a_tensor_stays_within_its_storage_at_both_ends(
    offset: int, size: tuple[int, ...], stride: tuple[int, ...], tmp_path: Path
) -> None:
    path = tmp_path / "run.pt"
    path.write_bytes(torch_zip(tensor(offset, shape(*size), shape(*stride))))
    with pytest.raises(InputError, match="reaches to number 4 of a storage of 4"):
        plain(load_pickle(path))
    path.write_bytes(torch_zip(tensor(-1, shape(1), shape(1))))
    with pytest.raises(RecordingError, match="no storage, size or stride"):
        load_pickle(path)


ARRAY_STATE = (
    b"(K\x01" + shape(1) + name("numpy", "dtype") + text("f8") + b"\x85R\x89C\x08" + b"\0" * 8 + b"t"
)
MAKE_ARRAY = (
    name("numpy.core.multiarray", "_reconstruct") + b"(" + name("numpy", "ndarray") + shape(0) + b"C\x01btR"
)


@pytest.mark.parametrize(
    "data",
    [
        MAKE_ARRAY + ARRAY_STATE + b"b" + ARRAY_STATE + b"b",
        MAKE_ARRAY + items(shape=shape(1_000_000)) + b"b",
        name("numpy", "dtype") + text("f8") + b"\x85R" + items(code=text("f4")) + b"b",
        name("argparse", "Namespace") + b")\x81" + items(a=b"K\x01") + b"b" + items(a=b"K\x02") + b"b",
        name("collections", "OrderedDict") + b")R" + items(items=b"K\x01") + b"b",
        name("collections", "OrderedDict") + b")R" + b"N" + items(items=b"K\x01") + b"\x86b",
        b"]" + items(append=b"K\x01") + b"b",
        name("builtins", "set") + b")R" + items(add=b"K\x01") + b"b",
        storage() + items(data=b"C\x01a") + b"b",
        name("torch", "FloatStorage") + items(kind=text("Double")) + b"b",
        name("_codecs", "encode") + items(function=b"N") + b"b",
    ],
    ids=lambda data: data[:30].decode("latin1"),
)
def test_no_stand_in_is_set_twice_or_by_name(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "run.pt"
    path.write_bytes(torch_zip(data))
    with pytest.raises(RecordingError, match=r"run\.pt: cannot be read as a pickle"):
        load_pickle(path)


def test_objects_in_arrays_of_equal_lists(tmp_path: Path) -> None:
    """NumPy would make a matrix of these."""
    held = np.empty(2, dtype=object)
    held[:] = [[1, 2], None]
    held[1] = [3, 4]
    path = tmp_path / "run.pkl"
    path.write_bytes(pickle.dumps(held))
    assert plain(load_pickle(path)) == [[1, 2], [3, 4]]


# --- memory and time -------------------------------------------------------------------------------------------


def doubled(times: int, start: bytes, pair: bytes) -> bytes:
    """A value that holds itself twice, `times` levels deep."""
    return start + b"q\x00" + (pair + b"q\x00") * times


HUNGRY: dict[str, Callable[[], bytes]] = {
    "an array of thirty million empty lists": lambda: PROTO + array(shape(30_000_000, 0)) + b".",
    "a tensor of thirty million empty lists": lambda: torch_zip(tensor(0, shape(30_000_000, 0), shape(0, 1))),
    "a tensor that repeats one number": lambda: torch_zip(tensor(0, shape(1 << 27), shape(0))),
    "many tensors of one storage": lambda: torch_zip(
        b"]("
        + storage()
        + b"q\x010"
        + tensor(0, shape(100_000), shape(1), b"h\x01") * 200
        + b"e",
        b"\0" * 400_000,
    ),
    "tuples of tuples of tuples": lambda: PROTO + doubled(60, b")", b"h\x00\x86") + b".",
    "lists of lists of lists": lambda: PROTO + doubled(60, b"]", b"](h\x00h\x00e") + b".",
    "a key that is tuples of tuples": lambda: PROTO + b"}" + doubled(60, b")", b"h\x00\x86") + b"K\x01s.",
    "a set of tuples of tuples": lambda: b"\x80\x04\x8f(" + doubled(60, b")", b"h\x00\x86") + b"\x90.",
    "a tuple two hundred thousand deep": lambda: PROTO + b")" + b"\x85" * 200_000 + b".",
    "a list two hundred thousand deep": lambda: PROTO + b"]" * 200_000 + b"a" * 199_999 + b".",
    "a key two hundred thousand deep": lambda: PROTO + b"})" + b"\x85" * 200_000 + b"K\x01s.",
    "an object a hundred thousand deep": lambda: PROTO
    + (name("argparse", "Namespace") + b"q\x00)\x81" + b"h\x00)\x81" * 99_999)
    + b"b" * 99_999
    + b".",
    "a list that holds itself": lambda: PROTO + b"]q\x00h\x00a.",
    "four million empty sets": lambda: b"\x80\x04]" + b"(" + b"\x8f" * 4_000_000 + b"e.",
    "eight million empty dicts": lambda: b"\x80\x04]" + b"(" + b"}" * 8_000_000 + b"e.",
    "one list made a set a hundred thousand times": lambda: (
        PROTO
        + name("builtins", "set")
        + b"q\x000]("
        + b"".join(b"M" + struct.pack("<H", k) for k in range(60_000))
        + b"e\x85q\x010](" + b"h\x00h\x01R" * 100_000 + b"e."
    ),
    "one text encoded a hundred thousand times": lambda: (
        PROTO + name("_codecs", "encode") + b"q\x000" + text("x" * 1_000_000) + text("latin1")
        + b"\x86q\x010](" + b"h\x00h\x01R" * 100_000 + b"e."
    ),
    "a storage within storages": lambda: PROTO + within(40) + b".",
    "one storage loaded a hundred thousand times": lambda: (
        PROTO + name("torch.storage", "_load_from_bytes") + b"q\x000B" + struct.pack("<I", 1 << 20)
        + (PROTO + b"]" + b"0]" * (1 << 20))[: (1 << 20) - 1] + b"."
        + b"\x85q\x010](" + b"h\x00h\x01R" * 100_000 + b"e."
    ),
    "bytes of the announced size": lambda: b"\x80\x05\x96" + struct.pack("<Q", 1 << 36) + b"abc.",
    "a frame of the announced size": lambda: b"\x80\x04\x95" + struct.pack("<Q", 1 << 36) + b"N.",
    "a whole number of a million digits": lambda: (
        PROTO + b"\x8b" + struct.pack("<i", 500_000) + b"\x7f" * 500_000 + b"."
    ),
    "a zip of zeros": lambda: zip_of_zeros(),
    "one text in a list a million times": lambda: (
        PROTO + text("x" * 100_000) + b"q\x000](" + b"h\x00" * 1_000_000 + b"e."
    ),
}  # fmt: skip


def within(times: int) -> bytes:
    data = b"N"
    for _ in range(times):
        inner = PROTO + data + b"."
        data = (
            name("torch.storage", "_load_from_bytes")
            + b"B"
            + struct.pack("<I", len(inner))
            + inner
            + b"\x85R"
        )
    return data


def zip_of_zeros() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("run/data.pkl", PROTO + tensor(0, shape(2), shape(1)) + b".")
        archive.writestr("run/data/0", b"\0" * 500_000_000)
    return stream.getvalue()


CHILD = """
from pathlib import Path
from semtropy.errors import SemtropyError
from semtropy.recording.importers import import_recording
from semtropy.recording.importers.pickles import plain
from semtropy.recording.importers.pickles import load_pickle
path = Path(sys.argv[1])
try:
    held = load_pickle(path)
    plain(held)
    for kind in ("nature", "paper", "lm-polygraph"):
        try:
            import_recording(kind, path, path.with_name("out.jsonl"))
        except SemtropyError as error:
            print(str(error)[:300])
except SemtropyError as error:
    print(str(error)[:300])
print("end", peak())
"""


@needs_limits
@pytest.mark.parametrize("case", HUNGRY)
def test_a_hostile_pickle_takes_little_memory_and_time(case: str, tmp_path: Path) -> None:
    path = tmp_path / "run.pkl"
    path.write_bytes(HUNGRY[case]())
    done = limited(CHILD, path, seconds=60.0)
    assert done.returncode == 0, done.stderr[-500:]
    *said, end = done.stdout.splitlines()
    assert said, "it was believed"
    assert all("run.pkl" in line and "MemoryError" not in line for line in said), said
    assert int(end.split()[1]) < 600_000, "kilobytes"


def test_the_limits_can_be_lifted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.pkl"
    held: Any = ["x" * 100_000] * 2_000
    path.write_bytes(pickle.dumps(held))
    with pytest.raises(RecordingError, match=r"unpacks to more than 64 MB: set SEMTROPY_LIMITS=off"):
        load_pickle(path)
    monkeypatch.setenv("SEMTROPY_LIMITS", "off")
    assert load_pickle(path) == held
