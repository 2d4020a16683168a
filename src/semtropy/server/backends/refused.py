"""The parameters that each of the upstream's models refused."""

from __future__ import annotations

from collections import OrderedDict

__all__ = ["MODELS", "RefusedParameters"]

MODELS = 256
"""Models about which something is remembered."""


class RefusedParameters:
    """The optional parameters that each model refused, for the `size` models asked last.

    Clients choose the names of models, so that their number must be bounded.
    """

    def __init__(self, size: int = MODELS) -> None:
        self._size = size
        self._found: OrderedDict[tuple[str, str], frozenset[str]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._found)

    def get(self, model: str, path: str) -> frozenset[str]:
        return self._found.get((model, path), frozenset())

    def set(self, model: str, path: str, refused: frozenset[str]) -> None:
        if not refused:  # what is not refused need not be remembered
            return
        self._found[model, path] = refused
        self._found.move_to_end((model, path))
        if len(self._found) > self._size:
            self._found.popitem(last=False)
