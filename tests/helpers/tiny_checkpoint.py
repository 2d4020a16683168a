"""A small Llama with random weights and a byte-level tokenizer, made on the spot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path


def make_checkpoint(folder: Path, *, context: int = 256, scale: float = 1.0) -> Path:
    """Save a checkpoint that transformers can load by path; `scale` above 1 makes it surer of itself."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=300,
        special_tokens=["<|endoftext|>", "<|im_end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(["Question: who?\n\n\nAnswer: nobody \n\n\n"] * 5, trainer)
    wrapped = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|endoftext|>")
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(wrapped),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=context,
        initializer_range=0.15,
        eos_token_id=wrapped.eos_token_id,
        bos_token_id=None,
        pad_token_id=None,
    )
    network: Any = LlamaForCausalLM(config)
    with torch.no_grad():
        network.lm_head.weight *= 4 * scale
        ends = [0, 1, *(k for k in range(len(wrapped)) if "\n" in wrapped.decode([k]))]
        network.lm_head.weight[ends] *= 1.5  # so that answers do end
    network.save_pretrained(folder)
    wrapped.save_pretrained(folder)
    return folder
