"""NLI checkpoints through transformers: a tiny one with random weights, made on the spot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from semtropy.errors import InputError
from semtropy.meaning import cluster, load_judge
from skips import needs

needs("torch", "transformers", reason="needs the extra transformers")

THREE = {0: "contradiction", 1: "neutral", 2: "entailment"}
TWO = {0: "entailment", 1: "not_entailment"}
TRIPLES = [
    ("Who wrote it?", "Mark Twain", "Samuel Clemens"),
    ("", "a dog", "a cat, and a very old one at that"),
]


def make_checkpoint(folder: Path, id2label: dict[int, str], positions: int = 96) -> Path:
    """A BERT of two small layers over the tokenizer that ships."""
    import torch
    import transformers

    from semtropy.meaning.builtin import FOLDER

    torch.manual_seed(1)
    config = transformers.BertConfig(
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=positions,
        num_labels=len(id2label),
        id2label=id2label,
        label2id={label: place for place, label in id2label.items()},
        initializer_range=0.5,
    )
    transformers.BertForSequenceClassification(config).save_pretrained(folder)
    tokenizer: Any = transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(FOLDER / "tokenizer.json"),
        cls_token="[CLS]",
        sep_token="[SEP]",
        pad_token="[PAD]",
        unk_token="[UNK]",
    )
    tokenizer.save_pretrained(folder)
    return folder


def test_the_label_order_comes_from_the_config(tmp_path: Path) -> None:
    one = load_judge(f"nli:{make_checkpoint(tmp_path / 'a', THREE)}")
    turned = {0: "entailment", 1: "neutral", 2: "contradiction"}
    other = load_judge(f"nli:{make_checkpoint(tmp_path / 'b', turned)}")
    # The same numbers under turned names: what supports here contradicts there.
    assert one.relation(TRIPLES)[:, [1, 0, 2]] == pytest.approx(other.relation(TRIPLES), abs=1e-6)
    assert one.entails(TRIPLES) == pytest.approx(other.relation(TRIPLES)[:, 1], abs=1e-6)


def test_two_way_checkpoints_have_no_contradiction(tmp_path: Path) -> None:
    judge = load_judge(f"nli:{make_checkpoint(tmp_path, TWO)}")
    assert not hasattr(judge, "relation")
    assert ((judge.entails(TRIPLES) > 0) & (judge.entails(TRIPLES) < 1)).all()
    with pytest.raises(InputError, match="either"):
        cluster("Who?", ["Twain", "Clemens"], judge, mode="relaxed")


def test_long_input_is_not_truncated(tmp_path: Path) -> None:
    judge = load_judge(f"nli:{make_checkpoint(tmp_path, THREE)}")
    long = "river " * 300
    values = judge.entails([("which " * 5000, "one", "two"), ("q", long + "one", long + "two")])
    assert np.isfinite(values).all()
    [[(first, second)]] = judge.judge.pairs("which " * 5000, "one", "two")
    assert first.endswith("one")
    assert second.endswith("two")


def test_unnamed_labels_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="none of the labels is 'entailment'"):
        load_judge(f"nli:{make_checkpoint(tmp_path, {0: 'LABEL_0', 1: 'LABEL_1'})}")


def test_a_checkpoint_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="could not be loaded"):
        load_judge(f"nli:{tmp_path / 'nowhere'}")
