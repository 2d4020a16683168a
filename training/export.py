"""From trained weights to the files the package ships: ONNX, int8, the tokenizer and the calibration."""

from __future__ import annotations

import hashlib
import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    import numpy as np

    from .model import CrossEncoder


def export(model: CrossEncoder, path: Path) -> None:
    """Write the network as ONNX in fp32, with free batch size and length."""
    ids = torch.ones((2, 16), dtype=torch.int64)
    names = ["input_ids", "attention_mask", "token_type_ids"]
    axes = {name: {0: "batch", 1: "length"} for name in names}
    with torch.inference_mode():
        torch.onnx.export(
            model, (ids, ids, torch.zeros_like(ids)), str(path), input_names=names, output_names=["logits"],
            dynamic_axes=axes, opset_version=17, dynamo=False,
        )  # fmt: skip


def quantise(source: Path, target: Path) -> None:
    """Weights as int8, a scale a channel, in 7 bits so that no processor's int8 product saturates."""
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from onnxruntime.quantization.shape_inference import quant_pre_process

    with tempfile.TemporaryDirectory() as folder:
        prepared = Path(folder) / "prepared.onnx"
        quant_pre_process(str(source), str(prepared), skip_symbolic_shape=True)
        quantize_dynamic(
            str(prepared), str(target), per_channel=True, reduce_range=True, weight_type=QuantType.QInt8
        )


# Log-odds added to support: for sentences chosen on tune sides (docs/judge-card.md); passages need none.
SHIFTS = {"sentence": -0.5, "passage": 0.0}


def network(shifts: dict[str, float]) -> dict[str, Any]:
    """How the outputs of a network for sentences and passages are read; it reads the forms that it has a shift for."""
    return {
        "outputs": ["supports", "contradicts", "silent"],
        "calibration": {"scale": 1.0, "hint": 0.0, "shift": shifts},
    }


def settings(folder: Path) -> None:
    """Write the network of sentences into judge.json, with a digest of both networks in the name, for caches."""
    networks = b"".join((folder / name).read_bytes() for name in ("judge.onnx", "sentences.onnx"))
    made = json.loads((folder / "judge.json").read_text("utf-8"))
    made["name"] = f"builtin-3-{hashlib.sha256(networks).hexdigest()[:8]}"
    made["sentences"] = network(SHIFTS)
    (folder / "judge.json").write_text(json.dumps(made, indent=1) + "\n")


def calibrate(odds: np.ndarray, entails: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
    """Platt's scale and shift: a logistic regression of the label on the log-odds."""
    from scipy.optimize import minimize
    from scipy.special import expit, log_expit

    def loss(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        z = parameters[0] * odds + parameters[1]
        value = -(weights * (entails * log_expit(z) + (1 - entails) * log_expit(-z))).sum()
        slope = weights * (expit(z) - entails)
        return float(value), slope @ _columns(odds)

    found = minimize(loss, [1.0, 0.0], jac=True)
    return float(found.x[0]), float(found.x[1])


def _columns(odds: np.ndarray) -> np.ndarray:
    import numpy as np

    return np.column_stack([odds, np.ones_like(odds)])
