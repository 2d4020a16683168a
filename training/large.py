"""The large judge: all-mpnet-base-v2 with a low-rank adapter, since only the adapter has to be shipped.

Every matrix W of the twelve layers becomes W + B A with B and A of rank 32, and W, like the embeddings, stays as it
was published. Biases, norms, the bias of attention by distance and the head are small: they are trained and shipped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from .model import CrossEncoder, begin, trained

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

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
        """Take as adapter the best of its rank for a given weight."""
        u, s, v = torch.linalg.svd((weight - self.base.weight).float(), full_matrices=False)
        root = (s[:RANK] / SCALE).sqrt()
        self.b.data.copy_(u[:, :RANK] * root)
        self.a.data.copy_(root[:, None] * v[:RANK])


def adapted(start: Start, seed: int, teacher: CrossEncoder | None = None) -> CrossEncoder:
    """The network of the start with an adapter: untrained, or as near to a trained teacher as its rank allows."""
    model = begin(start, seed)
    _wrap(model)
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
    model = adapted(start, 4, _mean(build)).to(device)
    train.fit(model, encoded, made, seconds=seconds, rate=rate, tokens=tokens, seed=4)
    save_adapter(build / "adapter.pt", model)


def _mean(build: Path) -> CrossEncoder:
    """The mean of both teachers' weights; the second began as the first."""
    first, second = (trained(build / f"{name}.pt")[0] for name in ("first", "second"))
    other = second.state_dict()
    first.load_state_dict({name: (value + other[name]) / 2 for name, value in first.state_dict().items()})
    return first
