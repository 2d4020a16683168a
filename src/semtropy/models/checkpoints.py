"""Loading `hf:NAME_OR_PATH`: a checkpoint and its tokenizer through transformers."""

from __future__ import annotations

import io
from contextlib import redirect_stderr
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..conversation import as_messages
from ..errors import InputError, MissingExtra, ModelError
from .transformers import Transformers

if TYPE_CHECKING:
    from ..conversation import Prompt
    from .transformers import Wrap


def hf(
    path: str,
    *,
    device: str | None = None,
    dtype: str = "float32",
    form: str = "brief",
    **options: Any,
) -> Transformers:
    """The checkpoint at a hub name, a folder, or a GGUF file (dequantised).

    `form` is the prompt that `sample` makes of a question: `brief` (five short examples), `chat` (the checkpoint's
    chat template; answers may have several lines) or `raw` (the question alone).
    """
    wanted = {"float32", "bfloat16", "float16"}
    if dtype not in wanted:
        raise InputError(f"dtype is {dtype!r}: one of {', '.join(sorted(wanted))}")
    torch, transformers = _libraries()
    place: dict[str, Any] = {"pretrained_model_name_or_path": path}
    if path.endswith(".gguf"):
        file = Path(path)
        place = {"pretrained_model_name_or_path": str(file.parent), "gguf_file": file.name}
    try:
        with redirect_stderr(io.StringIO()):  # hides the progress bars of transformers
            tokenizer = transformers.AutoTokenizer.from_pretrained(**place)
            network = transformers.AutoModelForCausalLM.from_pretrained(**place)
    except (OSError, ValueError, ImportError) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ModelError(f"hf:{path} cannot be loaded: {reason}") from error
    if path.endswith(".gguf"):
        _split_digits(tokenizer, path)
    if network.dtype != getattr(torch, dtype):
        network = network.to(getattr(torch, dtype))
    network = network.to(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    if form == "chat":
        options.setdefault("stop", None)
    return Transformers(network, tokenizer, name=f"hf:{path}", wrap=_wrapper(form, tokenizer), **options)


def _split_digits(tokenizer: Any, path: str) -> None:
    """Give a tokenizer made from a GGUF file the digit splitting that transformers leaves out of it.

    SmolLM's splits every digit from its neighbours, the space before it included. Most text comes out the same
    without; fractions and other scripts' digits do not.
    """
    import gguf
    from tokenizers import pre_tokenizers

    field = gguf.GGUFReader(path).get_field("tokenizer.ggml.pre")
    if field is not None and field.contents() == "smollm":
        backend = tokenizer.backend_tokenizer
        split = pre_tokenizers.Digits(individual_digits=True)
        backend.pre_tokenizer = pre_tokenizers.Sequence([split, backend.pre_tokenizer])


def _libraries() -> tuple[Any, Any]:
    try:
        import torch
        import transformers
    except ImportError as error:
        raise MissingExtra("transformers", extra="transformers") from error
    return torch, transformers


def _wrapper(form: str, tokenizer: Any) -> Wrap | None:
    if form == "raw":
        return None
    if form == "brief":
        from .prompt_template import brief_prompt

        return brief_prompt
    if form == "chat":

        def chat(prompt: Prompt) -> str:
            said = as_messages(prompt)
            text: str = tokenizer.apply_chat_template(said, tokenize=False, add_generation_prompt=True)
            return text

        return chat
    raise InputError(f"form is {form!r}: one of brief, chat, raw")
