"""Models by name: one module for each backend, imported on first use."""

from __future__ import annotations

import re
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from .endpoint import Retry
from .scripted import ScriptedModel

if TYPE_CHECKING:
    from ..nouns import Model

__all__ = ["FORMS", "Retry", "ScriptedModel", "load_model"]

# Prefix of a model's name -> its module, the function in it, and the form of the name.
_REGISTRY = {
    "smollm2": ("llama_cpp", "smollm2", "smollm2"),
    "gguf": ("llama_cpp", "LlamaCpp", "gguf:PATH"),
    "gguf-brief": ("llama_cpp", "gguf_brief", "gguf-brief:PATH"),
    "openai": ("openai", "chat", "openai:MODEL"),
    "completions": ("openai", "completions", "completions:MODEL"),
    "hf": ("transformers", "hf", "hf:NAME_OR_PATH"),
    "replay": ("replay", "replay", "replay:RECORDING"),
    "scripted": ("scripted", "scripted", "scripted:FILE.json"),
}
FORMS = tuple(form for _, _, form in _REGISTRY.values())
"""The forms of a model's name that `load_model` knows."""
_SERVERS = (
    "ollama", "vllm", "sglang", "llamacpp", "llama.cpp", "lmstudio", "anthropic", "gemini", "groq", "azure",
)  # fmt: skip
_NAMED = re.compile(
    rf"(?P<server>{'|'.join(map(re.escape, _SERVERS))}|openai)[:/](?P<model>.+)", re.IGNORECASE
)


def load_model(name: str, **options: Any) -> Model:
    """Load the model called `name`.

    name     one of the forms in `semtropy.models.FORMS`, such as "smollm2" or "openai:gpt-4o-mini"
    options  keyword arguments of that model, such as `base_url=` for an endpoint

    >>> load_model("gpt-4")
    Traceback (most recent call last):
    ...
    semtropy.errors.InputError: unknown model 'gpt-4': did you mean openai:gpt-4? A name is one of smollm2, ...
    """
    check_name(name)
    kind, _, rest = name.partition(":")
    module, maker, form = _REGISTRY[kind]
    make = getattr(import_module(f".{module}", __name__), maker)
    try:
        model: Model = make(rest, **options) if rest else make(**options)
    except TypeError as error:
        unknown = re.search(r"unexpected keyword argument '(\w+)'", str(error))
        if unknown is None or unknown[1] not in options:
            raise
        endpoint = (
            ": for an endpoint, name its model as openai:MODEL"
            if unknown[1] in ("base_url", "api_key")
            else ""
        )
        raise InputError(f"the model {form} has no option {unknown[1]}{endpoint}") from error
    return model


def check_name(name: str) -> None:
    """Refuse a name that no model has; nothing is loaded."""
    if not isinstance(name, str):
        raise InputError(f"a model's name is of type {type(name).__name__}: it is one of {', '.join(FORMS)}")
    kind, _, rest = name.partition(":")
    if kind not in _REGISTRY:
        raise InputError(
            f"unknown model {name!r}: did you mean {_meant(name)}? A name is one of {', '.join(FORMS)}"
        )
    form = _REGISTRY[kind][2]
    if bool(rest) != (":" in form):
        wrong = "has too much" if rest else "is incomplete"
        raise InputError(f"model {name!r} {wrong}: write it as {form}")


def is_endpoint(name: str) -> bool:
    """Whether the model of that name is asked at an address.

    >>> is_endpoint("openai:gpt-4o-mini"), is_endpoint("smollm2")
    (True, False)
    """
    return name.startswith(("openai:", "completions:"))


def _meant(name: str) -> str:
    """What a name that is not known probably stands for.

    >>> _meant("openia:gpt-4o"), _meant("gpt-4o"), _meant("openai/gpt-4o")
    ('openai:gpt-4o', 'openai:gpt-4o', 'openai:gpt-4o')
    >>> _meant("ollama:qwen3:4b")
    'openai:qwen3:4b, with the address of the server as base URL'
    """
    known = _NAMED.fullmatch(name)
    if known is not None:
        address = (
            "" if known["server"].lower() == "openai" else ", with the address of the server as base URL"
        )
        return f"openai:{known['model']}{address}"
    kind = name.partition(":")[0]
    near = get_close_matches(kind, _REGISTRY, n=1, cutoff=0.75)
    return f"{near[0]}{name[len(kind) :]}" if near else f"openai:{name}"
