"""Fuzzes the reader of pickles: damaged files and random programs end in data or a clear error, in little memory."""

from __future__ import annotations

import io
import pickle
import shutil
import struct
import tempfile
import zipfile
from pathlib import Path

import numpy as np

from semtropy.recording.importers import import_recording
from semtropy.recording.importers.pickles import _NAMES, load_pickle, plain
from tools.fuzz import attack_all
from tools.fuzz.mutate import attempt, damaged, little_memory

__all__ = ["CASES", "fuzz"]

CASES = 20_000

ANSWER = {"response": "4", "token_log_likelihoods": [-0.5], "accuracy": 1.0}
RESPONSES = [("4", [-0.5, -0.25], np.zeros(3), 1.0), ("5", np.array([-1.5]), None, 0.0)]
QUESTION = {"question": "2 + 2?", "context": None, "most_likely_answer": ANSWER, "responses": RESPONSES}
NATURE = {"q1": {**QUESTION, "reference": {"answers": {"text": ["4"]}}}}
LOGPROBS = [[[-0.5], [-1.5]]]
PAPER = ([False], [[0, 1]], [["4", "5"]], LOGPROBS, [0.1], [ANSWER], ["2 + 2?"], [None])
POLYGRAPH = {
    "stats": {
        "input_texts": ["2 + 2?"],
        "sample_texts": [["4", "5"]],
        "sample_log_probs": [np.array([-0.5, -1.5])],
        "sample_tokens": [[[1], [2]]],
    },
    "gen_metrics": {("sequence", "Accuracy"): np.array([1.0])},
    "estimations": {("sequence", "PTrue"): [0.1]},
}
SEEDS = [pickle.dumps(held, protocol=p) for held in (NATURE, PAPER, POLYGRAPH) for p in (0, 2, 3, 4, 5)]


def fuzz(cases: int, seed: int) -> None:
    """Attack with damaged result files, damaged torch files, and programs of random opcodes."""
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    try:
        for data in SEEDS:
            _use(data, folder / "warm.pkl")
        with little_memory():
            attack_all(lambda rng: _use(_made(rng), folder / "run.pkl"), cases, seed)
    finally:
        shutil.rmtree(folder)


def _use(data: bytes, path: Path) -> None:
    path.write_bytes(data)
    attempt(lambda: plain(load_pickle(path)))
    for kind in ("nature", "paper", "lm-polygraph"):
        attempt(import_recording, kind, path, path.with_name("out.jsonl"))
    left = [file.name for file in path.parent.iterdir() if "partial" in file.name]
    assert not left, f"left behind: {left}"


def _made(rng: np.random.Generator) -> bytes:
    data = SEEDS[int(rng.integers(len(SEEDS)))]
    match int(rng.integers(5)):
        case 0 | 1:
            return damaged(rng, data)
        case 2:
            return _torch_file(rng)
        case _:
            return b"\x80\x04" + _program(rng, int(rng.integers(1, 60))) + b"."


def _torch_file(rng: np.random.Generator) -> bytes:
    """A torch file with a random program inside, sometimes damaged itself."""
    stream = io.BytesIO()
    deflated = zipfile.ZIP_DEFLATED if rng.random() < 0.3 else zipfile.ZIP_STORED
    with zipfile.ZipFile(stream, "w", deflated) as archive:
        program = _program(rng, 10) + _tensor(rng) + _program(rng, int(rng.integers(0, 10)))
        archive.writestr("run/data.pkl", b"\x80\x02" + program + b".")
        for key in range(int(rng.integers(0, 3))):
            archive.writestr(f"run/data/{key}", bytes(int(rng.integers(0, 64))))
    return damaged(rng, stream.getvalue()) if rng.random() < 0.3 else stream.getvalue()


def _name(rng: np.random.Generator) -> bytes:
    names = [*_NAMES, "torch.storage._load_from_bytes", "os.system", "builtins.eval"]
    module, _, attribute = names[int(rng.integers(len(names)))].rpartition(".")
    return f"c{module}\n{attribute}\n".encode()


def _number(rng: np.random.Generator) -> bytes:
    edges = (0, 1, -1, 2, 3, 8, 255, 2**31, 2**47, 2**48, 2**62, -(2**62), 10_000_000)
    return b"\x8a\x08" + struct.pack("<q", edges[int(rng.integers(len(edges)))])


def _text(rng: np.random.Generator) -> bytes:
    words = (
        "",
        "f8",
        "i4",
        "U3",
        "O8",
        "<",
        "C",
        "latin1",
        "0",
        "1",
        "storage",
        "stats",
        "question",
        "x" * 200,
    )
    word = words[int(rng.integers(len(words)))].encode()
    return b"X" + struct.pack("<I", len(word)) + word


def _tensor(rng: np.random.Generator) -> bytes:
    kind = ("FloatStorage", "ByteStorage", "BFloat16Storage", "LongStorage")[int(rng.integers(4))]
    key = str(int(rng.integers(3))).encode()
    storage = (
        b"(X\x07\x00\x00\x00storagectorch\n" + kind.encode() + b"\nX\x01\x00\x00\x00" + key + b"NK\x04tQ"
    )
    numbers = b"".join(_number(rng) for _ in range(int(rng.integers(0, 4))))
    made = b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + _number(rng)
    return made + b"(" + numbers + b"t(" + numbers + b"t\x89}tR"


ATOMS = (
    b"N",
    b"\x88",
    b"\x89",
    b")",
    b"]",
    b"}",
    b"\x8f",
    b"K\x01",
    b"G\xbf\xe0\0\0\0\0\0\0",
    b"C\x08abcdefgh",
    b"C\x00",
)
ACTIONS = (
    b"(",
    b"t",
    b"l",
    b"d",
    b"e",
    b"a",
    b"s",
    b"u",
    b"\x90",
    b"\x91",
    b"\x85",
    b"\x86",
    b"\x87",
    b"R",
    b"b",
)
MORE = (
    b"\x81",
    b"0",
    b"1",
    b"2",
    b"\x94",
    b"q\x00",
    b"q\x01",
    b"h\x00",
    b"h\x01",
    b"Q",
    b"\x93",
    b"o",
    b"\x82\x01",
    b"\x97",
)


def _program(rng: np.random.Generator, length: int) -> bytes:
    """Random opcodes; values come more often than what consumes them, so that most of a program runs."""
    made = b""
    for _ in range(length):
        match int(rng.integers(10)):
            case 0 | 1 | 2:
                made += ATOMS[int(rng.integers(len(ATOMS)))]
            case 3:
                made += _name(rng)
            case 4:
                made += _number(rng)
            case 5:
                made += _text(rng)
            case 6:
                made += _tensor(rng)
            case 7 | 8:
                made += ACTIONS[int(rng.integers(len(ACTIONS)))]
            case _:
                made += MORE[int(rng.integers(len(MORE)))]
    return made
