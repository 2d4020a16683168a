"""DeepEval: a metric from 0 to 1 with the reason."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import needs
from ..verdict import score_reason
from .bridge import Bridge

with needs("deepeval", extra="deepeval"):
    from deepeval.metrics import BaseMetric
    from deepeval.test_case import SingleTurnParams

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..verdict import Verdict

__all__ = ["SemanticEntropyMetric"]


class SemanticEntropyMetric(BaseMetric):
    """The probability that the actual output deserves no flag; it passes from `threshold` on.

    threshold  the least score that passes
    ask        draws samples: `(messages, n, temperature)`; without it the option `model` does
    options    those of `semtropy.check`, and `max_samples`; `entropy_threshold` is its `threshold`
    """

    _required_params = (SingleTurnParams.INPUT, SingleTurnParams.ACTUAL_OUTPUT)

    def __init__(
        self,
        threshold: float = 0.5,
        *,
        ask: Callable[..., Any] | None = None,
        entropy_threshold: float | None = None,
        **options: Any,
    ) -> None:
        self.threshold, self._ask = threshold, ask
        self.async_mode, self.strict_mode, self.include_reason = True, False, True
        if entropy_threshold is not None:
            options["threshold"] = entropy_threshold
        self._bridge = Bridge(**options)

    def measure(self, test_case: Any, *args: Any, **kwargs: Any) -> float:
        """Score a test case."""
        return self._keep(self._bridge.check(test_case.input, answer=test_case.actual_output, ask=self._ask))

    async def a_measure(self, test_case: Any, *args: Any, **kwargs: Any) -> float:
        """`measure`, awaitable."""
        answer = test_case.actual_output
        return self._keep(await self._bridge.acheck(test_case.input, answer=answer, ask=self._ask))

    def is_successful(self) -> bool:
        """Whether the last test case passed."""
        return bool(self.success)

    @property
    def __name__(self) -> str:
        return "Semantic entropy"

    def _keep(self, verdict: Verdict) -> float:
        self.reason, self.score_breakdown = score_reason(verdict), verdict.to_dict()
        self.score = verdict.score or 0.0
        # DeepEval has no unscored: the error says why.
        self.error = self.reason if verdict.score is None else None
        self.success = verdict.score is not None and self.score >= self.threshold
        return self.score
