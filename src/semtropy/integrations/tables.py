"""Verdicts that know how to become tables."""

from __future__ import annotations

from typing import Any

from ..verdict import Verdict
from .datasets import to_dataset
from .pandas import to_frame
from .uqlm import to_uqlm

__all__ = ["Verdicts"]


class Verdicts(list[Verdict]):
    """A list of verdicts with `to_frame()`, `to_dataset()` and `to_uqlm()`.

    >>> from semtropy import check
    >>> from semtropy.models import ScriptedModel
    >>> model = ScriptedModel(default={"Paris": 1.0})
    >>> verdicts = Verdicts(check(question, model=model, judge="exact", rng=1) for question in ("Capital?", "City?"))
    >>> len(verdicts), verdicts.to_uqlm()["data"]["responses"]
    (2, ['Paris', 'Paris'])
    """

    def to_frame(self) -> Any:
        """A pandas frame, one row each; needs pandas."""
        return to_frame(self)

    def to_dataset(self) -> Any:
        """A Hugging Face `Dataset` with the same columns; needs datasets."""
        return to_dataset(self)

    def to_uqlm(self) -> dict[str, Any]:
        """What uqlm's `UQResult(...)` takes."""
        return to_uqlm(self)
