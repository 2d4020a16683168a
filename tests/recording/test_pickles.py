"""Pickles are opened without running any code in them, whatever they hold."""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import struct
import sys
import types
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semtropy.errors import InputError, RecordingError
from semtropy.recording.importers.pickles import load_pickle, plain


def load(path: Path, data: bytes) -> Any:
    path.write_bytes(data)
    return load_pickle(path)


# --- hostile -----------------------------------------------------------------------------------------------------


class Touch:
    """Unpickled the usual way, it creates a file."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.marker),)


class Evaluate(Touch):
    def __reduce__(self) -> tuple[Any, ...]:
        return eval, (f"__import__('os').mkdir({str(self.marker)!r})",)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize(("kind", "name"), [(Touch, f"{os.name}.mkdir"), (Evaluate, "builtins.eval")])
def test_code_in_a_pickle_does_not_run(kind: type[Touch], name: str, protocol: int, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    data = pickle.dumps({"questions": ["2 + 2?"], "model": kind(marker)}, protocol=protocol)
    spelled = name if protocol >= 3 else name.replace("builtins", "__builtin__")
    with pytest.raises(
        RecordingError, match=rf"run\.pkl: the pickle asks for ({name}|{spelled}), .*nothing was run"
    ):
        load(tmp_path / "run.pkl", data)
    assert not marker.exists()
    pickle.loads(data)  # the same bytes do harm when loaded the usual way
    assert marker.exists()


def nested_in_storage(data: bytes) -> bytes:
    """`data` where torch keeps the bytes of a tensor."""
    return (
        b"\x80\x04\x8c\x0dtorch.storage\x8c\x10_load_from_bytes\x93B"
        + struct.pack("<I", len(data))
        + data
        + b"\x85R."
    )


def as_zip(data: bytes, name: str = "archive") -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr(f"{name}/data.pkl", data)
    return stream.getvalue()


def in_array(data: bytes) -> bytes:
    """`data` among the objects of a NumPy array."""
    whole = pickle.dumps(np.array(["HERE", None], dtype=object), protocol=2)
    return whole.replace(b"X\x04\x00\x00\x00HERE", data[2:-1])


@pytest.mark.parametrize("wrap", [nested_in_storage, as_zip, in_array])
def test_code_hidden_deeper_does_not_run(wrap: Any, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    # Protocol 2 has no frames, so that its opcodes can be put inside another pickle.
    data = wrap(pickle.dumps(Touch(marker), protocol=2))
    with pytest.raises(RecordingError, match=r"asks for \w+\.mkdir"):
        load(tmp_path / "run.pkl", data)
    assert not marker.exists()


def test_no_module_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "trap.py").write_text(f"open({str(tmp_path / 'marker')!r}, 'w').close()\nclass Thing: pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(RecordingError, match=r"asks for trap\.Thing"):
        load(tmp_path / "run.pkl", b"\x80\x04\x8c\x04trap\x8c\x05Thing\x93.")
    assert "trap" not in sys.modules
    assert not (tmp_path / "marker").exists()


def name(module: str, attribute: str) -> bytes:
    return b"c" + module.encode() + b"\n" + attribute.encode() + b"\n"


@pytest.mark.parametrize(
    ("module", "attribute"),
    [
        ("builtins", "getattr"),
        ("builtins", "exec"),
        ("operator", "attrgetter"),
        ("collections", "OrderedDict.__class__"),
        ("numpy", "load"),
        ("numpy.core.multiarray", "_reconstruct.__globals__"),
        ("torch", "load"),
        ("torch.serialization", "load"),
        ("semtropy.recording.importers.pickles", "load_pickle"),
        ("networkx.classes.graph", "nx._dispatchable"),
    ],
)
def test_any_other_name_is_refused(module: str, attribute: str, tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="nothing was run") as caught:
        load(tmp_path / "run.pkl", b"\x80\x02" + name(module, attribute) + b")R.")
    assert f"{module}.{attribute}" in str(caught.value)


@pytest.mark.parametrize(
    "target",
    [
        name("numpy", "dtype"),
        name("numpy", "ndarray"),
        name("argparse", "Namespace"),
        name("_codecs", "encode"),
        name("torch", "FloatStorage"),
        name("collections", "OrderedDict"),
        name("builtins", "set"),
    ],
)
@pytest.mark.parametrize("state", [b"}X\x04\x00\x00\x00codeK\x01s", b"N}X\x04\x00\x00\x00codeK\x01s\x86"])
def test_a_pickle_cannot_change_what_stands_in_for_a_type(
    target: bytes, state: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "run.pkl"
    with pytest.raises(RecordingError, match="cannot be read as a pickle"):
        load(path, b"\x80\x02" + target + state + b"b.")
    assert plain(load(path, pickle.dumps(np.array([1.5])))) == [1.5]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the file is truncated"),
        (pickle.dumps(list(range(1000)))[:-20], "the file is truncated"),
        (pickle.dumps(np.arange(1000.0))[:200], "the file is truncated"),
        (
            b"\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\x7f.",
            "cannot be read as a pickle|the file is truncated",
        ),
        (as_zip(b"\x80\x02N.")[:-30], "the file is truncated"),
        (b"question,text\n", "cannot be read as a pickle"),
        (b"\x80\x02K\x01Q.", "cannot be read as a pickle .a reference to something outside the pickle"),
        (as_zip(b"\x80\x02(X\x07\x00\x00\x00storageK\x01K\x02tQ."), ".*no storage of numbers"),
        (
            b"\x80\x02" + name("_codecs", "encode") + b"X\x01\x00\x00\x00aX\x03\x00\x00\x00rot\x86R.",
            ".*unknown encoding",
        ),
    ],
)
def test_a_damaged_pickle_says_so(data: bytes, message: str, tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match=rf"run\.pkl: ({message})"):
        load(tmp_path / "run.pkl", data)


def test_a_pickle_cannot_claim_all_memory(tmp_path: Path) -> None:
    """Opcode r names a place in the memo; taken as the size of a list it would be tens of gigabytes."""
    assert load(tmp_path / "run.pkl", b"\x80\x02K\x01r\xff\xff\xff\xff.") == 1
    with pytest.raises(RecordingError, match=r"run\.pkl"):
        load(tmp_path / "run.pkl", b"\x80\x05\x96\xff\xff\xff\xff\xff\xff\xff\x7f.")


SEEDS = [
    pickle.dumps({"a": np.arange(3.0), "b": [("text", [-0.5], None)], "c": np.float64(1)}, protocol=protocol)
    for protocol in (2, 4, 5)
]


@given(
    seed=st.sampled_from(SEEDS),
    edits=st.lists(st.tuples(st.integers(0, 10_000), st.binary(max_size=3)), min_size=1, max_size=6),
)
@settings(max_examples=500)
def test_a_damaged_pickle_never_gets_past_the_error(
    seed: bytes, edits: list[tuple[int, bytes]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    data = bytearray(seed)
    for place, replacement in edits:
        at = place % len(data)
        data[at : at + len(replacement)] = replacement
    path = tmp_path_factory.getbasetemp() / "fuzzed.pkl"
    with contextlib.suppress(RecordingError):
        held = load(path, bytes(data))
        with contextlib.suppress(InputError):
            plain(held)


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="No such file"):
        load_pickle(tmp_path / "absent.pkl")


# --- what such files need ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize(
    "array",
    [
        np.array([1.5, -0.0, 1e-300]),
        np.array([[1, 2], [3, 4]], dtype=np.int32),
        np.asfortranarray(np.arange(6, dtype=">f4").reshape(2, 3)),
        np.array([True, False]),
        np.array(["Paris", "Zürich"]),
        np.array([["a", None], [[1.0], "b"]], dtype=object),
        np.array(2.5),
        np.zeros((0, 3)),
        np.arange(4, dtype=np.float16),
    ],
    ids=str,
)
def test_arrays_come_as_lists(array: Any, protocol: int, tmp_path: Path) -> None:
    held = load(tmp_path / "a.pkl", pickle.dumps({"array": array, "again": array}, protocol=protocol))
    assert plain(held["array"]) == array.tolist()
    assert plain(held["again"]) == array.tolist()


@pytest.mark.parametrize("number", [np.float64(-0.25), np.float32(1.1), np.int64(-7), np.bool_(True)])
def test_numbers_of_numpy_come_as_plain_ones(number: Any, tmp_path: Path) -> None:
    held = load(tmp_path / "a.pkl", pickle.dumps([number]))
    assert held == [number.item()]
    assert type(held[0]) is type(number.item())


@pytest.mark.parametrize(
    "array",
    [
        np.array([(1, 2.0)], dtype=[("a", int), ("b", float)]),
        np.array(["2020-01-01"], dtype="M8[D]"),
        np.array([1j]),
    ],
    ids=["record", "date", "complex"],
)
def test_other_arrays_are_refused_when_read(array: Any, tmp_path: Path) -> None:
    with pytest.raises(Exception, match="are not supported"):
        plain(load(tmp_path / "a.pkl", pickle.dumps(array)))


def test_containers(tmp_path: Path) -> None:
    from argparse import Namespace
    from collections import OrderedDict, defaultdict

    held = {
        "o": OrderedDict(a=1),
        "d": defaultdict(list, {"x": [1]}),
        "s": {1, 2},
        "f": frozenset({3}),
        "b": b"\xff",
    }
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        assert load(tmp_path / "c.pkl", pickle.dumps(held, protocol=protocol)) == held
    args = load(tmp_path / "n.pkl", pickle.dumps(Namespace(model_name="m")))
    assert args.state == {"model_name": "m"}


# --- torch, without torch ----------------------------------------------------------------------------------------


@pytest.fixture
def fake_torch(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """Just enough of torch's names for a pickle to refer to them."""
    torch, utils = types.ModuleType("torch"), types.ModuleType("torch._utils")

    def _rebuild_tensor_v2(*_: Any) -> None:
        raise AssertionError("torch's own function was called")

    _rebuild_tensor_v2.__module__, _rebuild_tensor_v2.__qualname__ = "torch._utils", "_rebuild_tensor_v2"
    utils._rebuild_tensor_v2 = _rebuild_tensor_v2  # type: ignore[attr-defined]
    for kind in ("Float", "BFloat16", "Long"):
        setattr(torch, f"{kind}Storage", type(f"{kind}Storage", (), {"__module__": "torch"}))
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "torch._utils", utils)
    return torch


class TensorLike:
    """Pickles as torch.save writes a tensor: a function and a storage by number."""

    def __init__(
        self, torch: types.ModuleType, kind: str, key: str, size: Any, stride: Any, offset: int = 0
    ) -> None:
        self.kind, self.key = getattr(torch, f"{kind}Storage"), key
        self.size, self.stride, self.offset = size, stride, offset

    def __reduce__(self) -> tuple[Any, ...]:
        rebuild = sys.modules["torch._utils"]._rebuild_tensor_v2
        return rebuild, (StorageLike(self.kind, self.key), self.offset, self.size, self.stride, False, {})


class StorageLike:
    def __init__(self, kind: type, key: str) -> None:
        self.kind, self.key = kind, key


class TorchPickler(pickle.Pickler):
    def persistent_id(self, held: Any) -> Any:
        return ("storage", held.kind, held.key, "cpu", 6) if isinstance(held, StorageLike) else None


def torch_zip(held: Any, storages: dict[str, bytes]) -> bytes:
    inner, stream = io.BytesIO(), io.BytesIO()
    TorchPickler(inner, protocol=2).dump(held)
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("run/data.pkl", inner.getvalue())
        archive.writestr("run/byteorder", "little")
        for key, data in storages.items():
            archive.writestr(f"run/data/{key}", data)
    return stream.getvalue()


def test_a_torch_file_is_read_without_torch(fake_torch: types.ModuleType, tmp_path: Path) -> None:
    numbers = np.arange(6, dtype="<f4")
    halves = (np.array([1.5, -2.0], dtype="<f4").view("<u4") >> 16).astype("<u2")
    held = {
        "whole": TensorLike(fake_torch, "Float", "0", (2, 3), (3, 1)),
        "turned": TensorLike(fake_torch, "Float", "0", (3, 2), (1, 3)),
        "part": TensorLike(fake_torch, "Float", "0", (2,), (2,), offset=1),
        "half": TensorLike(fake_torch, "BFloat16", "1", (2,), (1,)),
        "none": TensorLike(fake_torch, "Long", "2", (0,), (1,)),
    }
    found = load(
        tmp_path / "run.pt", torch_zip(held, {"0": numbers.tobytes(), "1": halves.tobytes(), "2": b""})
    )
    assert {key: plain(value) for key, value in found.items()} == {
        "whole": [[0, 1, 2], [3, 4, 5]],
        "turned": [[0, 3], [1, 4], [2, 5]],
        "part": [1, 3],
        "half": [1.5, -2.0],
        "none": [],
    }


@pytest.mark.parametrize(("size", "stride"), [((7,), (1,)), ((2, 3), (4, 1)), ((10**9, 10**9), (0, 0))])
def test_a_tensor_cannot_reach_past_its_numbers(
    size: Any, stride: Any, fake_torch: types.ModuleType, tmp_path: Path
) -> None:
    held = TensorLike(fake_torch, "Float", "0", size, stride)
    data = torch_zip(held, {"0": np.arange(6, dtype="<f4").tobytes()})
    with pytest.raises(InputError, match=r"a tensor reaches to number|unpacks to more than"):
        plain(load(tmp_path / "run.pt", data))


def test_real_torch_agrees(tmp_path: Path) -> None:
    torch = pytest.importorskip(
        "torch", reason="torch is not installed: the stand-in tests above cover the format"
    )
    held = {
        "f": torch.randn(3, 4),
        "t": torch.randn(3, 4).T,
        "slice": torch.arange(10)[3:8:2],
        "b": torch.randn(5).to(torch.bfloat16),
        "h": torch.randn(5).to(torch.float16),
        "l": torch.tensor([[1, 2], [3, 4]]),
        "bool": torch.tensor([True, False]),
        "grad": torch.ones(2, requires_grad=True),
        "zero": torch.tensor(1.25),
        "numpy": np.arange(3.0),
    }
    expected = {key: value.tolist() for key, value in held.items()}
    for name_, write in {
        "zip.pt": lambda path: torch.save(held, path),
        "legacy.pt": lambda path: torch.save(held, path, _use_new_zipfile_serialization=False),
        "plain.pkl": lambda path: path.write_bytes(pickle.dumps(held)),
    }.items():
        write(tmp_path / name_)
        found = load_pickle(tmp_path / name_)
        assert {key: plain(value) for key, value in found.items()} == expected
