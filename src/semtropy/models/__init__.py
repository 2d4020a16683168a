"""Models: one file each, one line each in the registry below, loaded only when asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..errors import InputError

if TYPE_CHECKING:
    from ..nouns import Model

__all__ = ["FORMS", "load_model"]

# The part of a name before the colon -> where it is made, and how the name is written.
_REGISTRY = {
    "smollm2": ("llama_cpp", "smollm2", "smollm2"),
    "gguf": ("llama_cpp", "gguf", "gguf:PATH"),
    "openai": ("openai", "chat", "openai:MODEL"),
    "completions": ("openai", "completions", "completions:MODEL"),
    "hf": ("transformers", "hf", "hf:NAME_OR_PATH"),
    "replay": ("replay", "replay", "replay:RECORDING"),
    "scripted": ("scripted", "scripted", "scripted:FILE.json"),
}
FORMS = tuple(form for _, _, form in _REGISTRY.values())


def load_model(name: str, **options: Any) -> Model:
    """The model of that name; options go to its maker.

    >>> load_model("gpt-4")
    Traceback (most recent call last):
    ...
    semtropy.errors.InputError: no model is called 'gpt-4': write one of smollm2, gguf:PATH, openai:MODEL, ...
    """
    kind, _, rest = name.partition(":")
    if kind not in _REGISTRY:
        raise InputError(f"no model is called {name!r}: write one of {', '.join(FORMS)}")
    module, maker, form = _REGISTRY[kind]
    if bool(rest) != (":" in form):
        raise InputError(f"model {name!r} is not complete: write it as {form}")
    make = getattr(import_module(f".{module}", __name__), maker)
    model: Model = make(rest, **options) if rest else make(**options)
    return model
