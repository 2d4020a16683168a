"""What passes through a gateway, for its operator: totals, the last hour by the minute, and the latest verdicts.

Totals come from the counters, which are summed over processes. The last hour and the latest verdicts are those of one
process. Texts are kept only where the setting `traffic` is `texts`.
"""

from __future__ import annotations

import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ..verdict import Outcome

if TYPE_CHECKING:
    from .settings import Settings
    from .telemetry import Metrics

LATEST = 100
"""Verdicts that are kept."""
MINUTES = 60
"""Minutes whose verdicts are counted apart."""
TEXT = 2000
"""Characters kept of a question or an answer, where texts are kept at all."""
NAME = 80
"""Characters kept of the name of a model, which clients choose."""
TOTALS = ("samples", "samples_saved", "tokens", "second_answers", "second_tokens", "judge_pairs", "blocked")
"""Counters that are shown as they are."""
TIMED = ("first_byte", "upstream", "check")
"""Parts whose latency is shown."""
SHARES = {"median": 0.5, "p95": 0.95}


class Traffic:
    """The latest verdicts of one process, and what the counters say."""

    def __init__(
        self, settings: Settings, metrics: Metrics, *, clock: Callable[[], float] = time.time
    ) -> None:
        self._settings, self._metrics, self._clock = settings, metrics, clock
        self._since = clock()
        self._latest: deque[dict[str, Any]] = deque(maxlen=LATEST)
        self._minutes: OrderedDict[int, Counter[str]] = OrderedDict()

    def add(self, payload: dict[str, Any], *, route: str, model: str, question: str | None) -> None:
        """Note what one client got.

        payload   what stands under `semtropy` in a reply: a verdict, an error, or why nothing was checked
        route     chat, completions, responses or check
        question  kept only where texts are
        """
        if self._settings.traffic == "none":
            return
        now = self._clock()
        outcome = str(payload.get("outcome") or ("error" if "error" in payload else "not checked"))
        minute = int(now // 60)
        self._minutes.setdefault(minute, Counter())[outcome] += 1
        while len(self._minutes) > MINUTES:
            self._minutes.popitem(last=False)
        row = {"time": now, "route": route, "model": model[:NAME], "outcome": outcome, **_figures(payload)}
        if self._settings.traffic == "texts":
            row |= {"question": _cut(question), "answer": _cut(payload.get("answer"))}
        self._latest.appendleft(row)

    def to_dict(self, *, operator: bool) -> dict[str, Any]:
        """Everything as plain data; the latest verdicts, which are those of every client, only for the operator."""
        minute = int(self._clock() // 60)
        hour = [
            {"minute": 60 * each, **self._minutes.get(each, {})}
            for each in range(minute - MINUTES + 1, minute + 1)
        ]
        return {
            "since": self._since,
            "now": self._clock(),
            "processes": self._settings.workers,
            "totals": self._totals(),
            "latency": {part: latency(self._buckets(part)) for part in TIMED},
            "hour": hour,
            "latest": list(self._latest) if operator else None,
            "texts": self._settings.traffic == "texts",
        }

    def _totals(self) -> dict[str, Any]:
        found: dict[str, Any] = {name: self._metrics.value(f"semtropy_{name}_total") for name in TOTALS}
        checks = self._metrics.values("semtropy_checks_total", "outcome")
        verdicts = sum(checks.get(outcome, 0.0) for outcome in Outcome)
        requests = self._metrics.values("semtropy_requests_total", "route")
        return found | {
            "requests": sum(count for route, count in requests.items() if route.startswith("/v1/")),
            "checks": checks,
            "verdicts": verdicts,
            "flagged_share": checks.get(Outcome.FLAGGED, 0.0) / verdicts if verdicts else None,
            "sources": self._metrics.values("semtropy_runs_total", "source"),
            "errors": self._metrics.values("semtropy_errors_total", "kind"),
        }

    def _buckets(self, part: str) -> list[tuple[float, float]]:
        found = self._metrics.values("semtropy_seconds_bucket", "le", part=part)
        return sorted((float(edge), count) for edge, count in found.items())


def latency(buckets: Sequence[tuple[float, float]]) -> dict[str, float | None]:
    """The median and the 95th percentile of a histogram: pairs of an upper edge and how many lie below it.

    Between two edges they are interpolated; beyond the last they are that edge. None where nothing was timed.

    >>> latency([(0.5, 0), (1.0, 10), (float("inf"), 10)])
    {'count': 10, 'median': 0.75, 'p95': 0.975}
    >>> latency([(0.1, 0), (float("inf"), 0)])
    {'count': 0, 'median': None, 'p95': None}
    """
    count = buckets[-1][1] if buckets else 0
    return {"count": count, **{name: _quantile(buckets, share * count) for name, share in SHARES.items()}}


def _quantile(buckets: Sequence[tuple[float, float]], rank: float) -> float | None:
    if not rank:
        return None
    for (low, below), (high, within) in pairwise([(0.0, 0.0), *buckets]):
        if within >= rank:
            return low if high == float("inf") else low + (high - low) * (rank - below) / (within - below)
    return None


def _figures(payload: dict[str, Any]) -> dict[str, Any]:
    """The numbers of a verdict; unknown is None. Nothing that the client or the model wrote."""
    agreement, cost = payload.get("agreement"), payload.get("cost") or {}
    claims, second = payload.get("claims") or [], payload.get("second")
    return {
        "agreement": None if agreement is None else agreement["mean"],
        "claims": len(claims),
        "claims_flagged": sum(claim["outcome"] == Outcome.FLAGGED for claim in claims),
        "second": None if second is None else second["agreement"]["mean"],
        "samples": payload.get("samples"),
        "tokens": cost.get("tokens"),
        "seconds": cost.get("seconds"),
        "source": payload.get("source"),
        "blocked": bool(payload.get("blocked")),
        "error": payload["error"].get("kind") if "error" in payload else None,
    }


def _cut(text: Any) -> str | None:
    return text[:TEXT] if isinstance(text, str) else None
