"""The bridge that every adapter uses: a given answer, the messages before it, and a function that draws samples."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from ..checking import Checker
from ..errors import InputError
from ..models.function import as_model
from ..options import OPTIONS, Options
from ..stopping import Budget

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..conversation import Prompt
    from ..nouns import Sample
    from ..verdict import Verdict

    Ask = Callable[[list[dict[str, Any]], int, float], Any]

__all__ = ["Bridge"]

_NOT_OURS = ("answer", "rng")


class Bridge:
    """Checks answers that another tool holds, with samples that this tool draws.

    max_samples  short for `budget=Budget(samples=...)`
    options      those of `semtropy.check` but `answer` and `rng`; `model` is needed only where the tool itself draws no
                 samples

    The judge and the estimator are loaded at the first check and serve all later ones.

    >>> bridge = Bridge(judge="exact", max_samples=5)
    >>> verdict = bridge.check("Capital of France?", answer="Paris", ask=lambda messages, n, temperature: ["Paris"] * n)
    >>> verdict.answer, str(verdict.outcome), verdict.samples
    ('Paris', 'steady', 5)
    """

    def __init__(self, *, max_samples: int | None = None, **options: Any) -> None:
        known = [name for name in OPTIONS if name not in _NOT_OURS]
        if unknown := sorted(set(options) - set(known)):
            said = f"there is no option {', '.join(unknown)}"
            raise InputError(f"{said}: choose from max_samples, {', '.join(known)}")
        if max_samples is not None:
            if options.get("budget") is not None:
                raise InputError("give max_samples or budget, not both")
            options["budget"] = Budget(samples=int(max_samples))
        self._options = cast("Options", options)
        self._checker: Checker | None = None
        self._loading = threading.Lock()

    def check(self, prompt: Prompt, *, answer: str | Sample, ask: Ask | None = None) -> Verdict:
        """The verdict on `answer` to `prompt`. `ask(messages, n, temperature)` draws; without it the model does."""
        return self._with(ask).check(prompt, answer=answer)

    async def acheck(self, prompt: Prompt, *, answer: str | Sample, ask: Ask | None = None) -> Verdict:
        """`check`, awaitable; `ask` may be a coroutine function."""
        import asyncio

        checker = await asyncio.to_thread(self._with, ask)
        return await checker.acheck(prompt, answer=answer)

    def _with(self, ask: Ask | None) -> Checker:
        with self._loading:
            if self._checker is None:
                options: Options = self._options.copy()
                options.setdefault("model", _nothing)
                self._checker = Checker.load(**options)
        if ask is None:
            if "model" not in self._options:
                raise InputError("no samples can be drawn: give `model`, such as model='openai:gpt-4o-mini'")
            return self._checker
        return replace(self._checker, model=as_model(ask))


def _nothing(messages: list[dict[str, Any]], n: int, temperature: float) -> list[str]:
    return []
