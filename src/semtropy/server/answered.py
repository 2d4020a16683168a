"""A model for checks of an answer that the client already has: it draws samples, but no answer of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..nouns import Sample

if TYPE_CHECKING:
    from ..nouns import Model

__all__ = ["answered"]

_GIVEN = Sample("", tokens=())
"""Stands where a check would draw its answer; the caller puts in the one the client got."""


class _Answered:
    def __init__(self, model: Any) -> None:
        self.name, self._model = model.name, model

    def sample(self, prompt: str, n: int, *, temperature: float = 1.0, **options: Any) -> list[Sample]:
        if temperature != 1.0:  # samples are drawn at 1, the answer below it
            return [_GIVEN]
        samples: list[Sample] = self._model.sample(prompt, n, temperature=temperature, **options)
        return samples


class _AnsweredAwaitable(_Answered):
    async def asample(self, prompt: str, n: int, *, temperature: float = 1.0, **options: Any) -> list[Sample]:
        if temperature != 1.0:
            return [_GIVEN]
        samples: list[Sample] = await self._model.asample(prompt, n, temperature=temperature, **options)
        return samples


def answered(model: Model) -> Model:
    """The model without its answers, with `asample` exactly where it has that."""
    return (_AnsweredAwaitable if hasattr(model, "asample") else _Answered)(model)
