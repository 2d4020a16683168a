"""Fuzzes the other files that commands read: questions, journals, priors, calibrations, scripts, tables of uqlm."""

from __future__ import annotations

import gzip
import io
import json
import math
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from semtropy import Prior, score
from semtropy.calibration import Calibration, Isotonic, Logistic
from semtropy.meaning.judges import Exact
from semtropy.models.scripted import scripted
from semtropy.nouns import Belief
from semtropy.recording import write_recording
from semtropy.recording.importers import import_recording
from semtropy.study.generate.datasets import load_dataset
from semtropy.study.judging import RowGrouping, judge_recording
from tools.fuzz import attack_all
from tools.fuzz.mutate import attempt, damaged, little_memory, with_odd_value
from tools.fuzz.recordings import HEADER, ROWS

if TYPE_CHECKING:
    import numpy as np

__all__ = ["CASES", "fuzz"]

CASES = 4_000

QUESTIONS = [
    {"id": f"q{k}", "question": f"{k} + {k}?", "answer": str(2 * k), "context": "Sums."} for k in range(4)
]
CURVES = (Logistic(2.0, -1.0), Isotonic((0.0, 1.0), (0.25, 0.75)))
UQLM_CSV = "prompts,responses,sampled_responses,score\n2 + 2?,4,\"['4', '5']\",0.5\n3 + 3?,6,\"['6']\",nan\n"


def fuzz(cases: int, seed: int) -> None:
    """Attack each reader in turn."""
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    try:
        for name in (".parquet", ".arrow"):  # libraries are loaded before memory is limited
            _load(_questions_as(name), folder / f"warm{name}")
        with little_memory():
            attack_all(lambda rng: _attack(rng, folder / "case"), cases, seed)
    finally:
        shutil.rmtree(folder)


def _attack(rng: np.random.Generator, place: Path) -> None:
    place.mkdir()
    try:
        MAKERS[int(rng.integers(len(MAKERS)))](rng, place)
        left = [path.name for path in place.rglob("*") if ".partial" in path.name]
        assert not left, f"left behind: {left}"
    finally:
        shutil.rmtree(place)


def _questions_as(suffix: str, rows: list[Any] | None = None) -> bytes:
    held = QUESTIONS if rows is None else rows
    if suffix in (".parquet", ".arrow"):
        import pyarrow as pa
        import pyarrow.parquet as pq

        table, sink = pa.Table.from_pylist(held), io.BytesIO()
        if suffix == ".parquet":
            pq.write_table(table, sink)
        else:
            with pa.ipc.new_stream(sink, table.schema) as writer:
                writer.write_table(table)
        return sink.getvalue()
    if suffix == ".csv":
        lines = [",".join(QUESTIONS[0]), *(",".join(row.values()) for row in QUESTIONS)]
        return "\n".join(lines).encode()
    lines = [json.dumps(row) for row in held]
    return (f"[{','.join(lines)}]" if suffix == ".json" else "\n".join(lines)).encode()


def _load(data: bytes, path: Path) -> None:
    path.write_bytes(data)
    attempt(load_dataset, str(path))


def _questions(rng: np.random.Generator, place: Path) -> None:
    suffix = (".jsonl", ".json", ".csv", ".txt", ".parquet", ".arrow")[int(rng.integers(6))]
    if suffix in (".jsonl", ".json") and rng.random() < 0.5:
        data = _questions_as(suffix, [with_odd_value(rng, row) for row in QUESTIONS])
    else:
        data = damaged(rng, _questions_as(suffix))
    if suffix in (".jsonl", ".json", ".csv") and rng.random() < 0.3:
        data, suffix = gzip.compress(data), f"{suffix}.gz"
        data = damaged(rng, data) if rng.random() < 0.5 else data
    _load(data, place / f"questions{suffix}")


def _journal(rng: np.random.Generator, place: Path) -> None:
    """Whatever lies where the journal was: an error, or the same output as without it."""
    source, out, other = place / "in.jsonl", place / "out.jsonl", place / "other.jsonl"
    write_recording(source, HEADER, ROWS)
    journal = place / ".out.jsonl.clustering"
    judge_recording(source, other, Exact(), RowGrouping(every=True))
    lines = [
        {"version": 2, "judge": "exact", "mode": "strict"},
        *([row["id"], "0" * 32, [0, 1, 2, 0]] for row in ROWS),
    ]
    data = "".join(json.dumps(line) + "\n" for line in lines).encode()
    journal.write_bytes(damaged(rng, data))
    if attempt(lambda: judge_recording(source, out, Exact(), RowGrouping(every=True))) is not None:
        assert out.read_bytes() == other.read_bytes()
        assert not journal.exists()


def _prior(rng: np.random.Generator, place: Path) -> None:
    path = place / "prior.json"
    data = json.dumps(with_odd_value(rng, Prior.default().as_dict())).encode()
    path.write_bytes(damaged(rng, data) if rng.random() < 0.3 else data)
    prior = attempt(Prior.load, path)
    if prior is not None:
        belief = attempt(
            lambda: score(["a", "a", "b"], logprobs=[-0.1, -0.1, -3.0], meanings=[0, 0, 1], prior=prior)
        )
        assert belief is None or (math.isfinite(belief.mean) and math.isfinite(belief.variance or 0.0))


def _calibration(rng: np.random.Generator, place: Path) -> None:
    path = place / "curve.json"
    curve = Calibration(CURVES[int(rng.integers(2))], "bayes", 0.5, 0.1)
    data = json.dumps(with_odd_value(rng, curve.to_dict())).encode()
    path.write_bytes(damaged(rng, data) if rng.random() < 0.3 else data)
    found = attempt(Calibration.load, path)
    if found is not None:
        assert 0 <= found(Belief(0.7, 0.1)) <= 1
        found.save(path)


def _script(rng: np.random.Generator, place: Path) -> None:
    path = place / "script.json"
    data = json.dumps(with_odd_value(rng, {"*": {"A": 0.5, "B": 0.5}, "Who?": {"C": 1.0}})).encode()
    path.write_bytes(damaged(rng, data) if rng.random() < 0.5 else data)
    model = attempt(scripted, str(path))
    if model is not None:
        attempt(model.sample, "Who?", 3)


def _uqlm(rng: np.random.Generator, place: Path) -> None:
    path = place / "results.csv"
    path.write_bytes(damaged(rng, UQLM_CSV.encode()))
    attempt(import_recording, "uqlm", path, place / "out.jsonl")


MAKERS: tuple[Callable[[np.random.Generator, Path], None], ...] = (
    _questions,
    _questions,
    _journal,
    _prior,
    _calibration,
    _script,
    _uqlm,
)
