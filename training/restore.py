"""The shipped judge's weights back from its int8 file, as a start for further training."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

_SUFFIX = "_quantized"


def restore(path: Path) -> dict[str, Any]:
    """The state of a `CrossEncoder` without its cosine output; weights are exact to int8 rounding."""
    import onnx
    import torch
    from onnx import numpy_helper

    graph = onnx.load(str(path)).graph
    tensors = {item.name: numpy_helper.to_array(item) for item in graph.initializer}
    owners = {
        name.removesuffix(_SUFFIX): _parameter(node.name)
        for node in graph.node
        for name in node.input
        if name.endswith(_SUFFIX) and "MatMul" in node.op_type
    }
    state: dict[str, Any] = {}
    for name, tensor in tensors.items():
        if name.endswith(_SUFFIX):
            stem = name.removesuffix(_SUFFIX)
            zero = tensors[f"{stem}_zero_point"].astype(np.float32)
            values = (tensor.astype(np.float32) - zero) * tensors[f"{stem}_scale"]
            owner = owners.get(stem, stem)
            state[owner] = torch.from_numpy(
                values if owner.startswith("bert.embeddings") else values.T.copy()
            )
        elif re.fullmatch(r"(?:bert\.|dense|out).*(?:weight|bias)", name):
            state[name] = torch.from_numpy(tensor.astype(np.float32))
    return state


def restored(folder: Path, out: Path) -> None:
    """Write the network for sentences of a judge's folder as `training.model.save` does."""
    from .model import save

    state = restore(folder / "sentences.onnx")
    words, width = state["bert.embeddings.word_embeddings.weight"].shape
    layers = 1 + max(int(name.split(".")[3]) for name in state if name.startswith("bert.encoder.layer."))
    config = {
        "model_type": "bert", "vocab_size": words, "hidden_size": width, "num_hidden_layers": layers,
        "num_attention_heads": 12, "intermediate_size": 4 * width, "max_position_embeddings": 512, "type_vocab_size": 2,
    }  # fmt: skip
    save(out, config, state, (folder / "tokenizer.json").read_bytes())


def _parameter(node: str) -> str:
    """ "/bert/encoder/layer.0/attention/self/query/MatMul_quant" is the weight of that layer's query."""
    place = node.strip("/").split("/")[:-1]
    return ".".join([*place, "weight"])
