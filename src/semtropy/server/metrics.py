"""What the gateway counts, for Prometheus. Counters are exact; with several workers they add up over processes."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest, multiprocess

if TYPE_CHECKING:
    from ..inquiry import Step

__all__ = ["PARTS", "TEN", "Metrics"]

TEN = 10
"""What checks are compared with: a fixed ten samples."""

PARTS = ("first_byte", "upstream", "sampling", "judging", "estimating", "concluding", "check")
"""What is timed: the upstream's first byte and whole answer, the rounds of a check, its verdict, all of it."""

_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class Metrics:
    """The gateway's numbers. Each application has its own registry."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self.requests = Counter(
            "semtropy_requests",
            "Requests answered, by route and status",
            ["route", "status"],
            registry=registry,
        )
        self.checks = Counter(
            "semtropy_checks", "Checks finished: steady, flagged or error", ["outcome"], registry=registry
        )
        self.runs = Counter(
            "semtropy_runs",
            "How checks came by their samples: new, shared or cached",
            ["source"],
            registry=registry,
        )
        self.samples = Counter("semtropy_samples", "Samples drawn", registry=registry)
        self.saved = Counter(
            "semtropy_samples_saved",
            "Samples a fixed ten would have drawn beyond those drawn",
            registry=registry,
        )
        self.pairs = Counter("semtropy_judge_pairs", "Pairs of answers judged", registry=registry)
        self.blocked = Counter("semtropy_blocked", "Answers replaced by the refusal", registry=registry)
        self.errors = Counter("semtropy_errors", "Errors, by kind", ["kind"], registry=registry)
        self.seconds = Histogram(
            "semtropy_seconds",
            f"Latency of each part: {', '.join(PARTS)}",
            ["part"],
            buckets=_BUCKETS,
            registry=registry,
        )
        self.busy = Gauge(
            "semtropy_requests_in_progress",
            "Requests under way",
            registry=registry,
            multiprocess_mode="livesum",
        )
        self.waiting = Gauge(
            "semtropy_requests_waiting",
            "Requests in the queue",
            registry=registry,
            multiprocess_mode="livesum",
        )
        for source in ("new", "shared", "cached"):
            self.runs.labels(source)
        for outcome in ("steady", "flagged", "error"):
            self.checks.labels(outcome)
        for part in PARTS:
            self.seconds.labels(part)

    @contextmanager
    def timed(self, part: str) -> Iterator[None]:
        """Time a part, failures included."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds.labels(part).observe(time.perf_counter() - start)

    def drawn(self, step: Step) -> None:
        """Count a run that came to its end."""
        self.samples.inc(step.spent.samples)
        self.saved.inc(max(0, TEN - step.spent.samples))
        self.pairs.inc(step.spent.judge_calls)
        self.seconds.labels("check").observe(step.spent.seconds)

    def page(self) -> bytes:
        """The text Prometheus reads."""
        if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
            return generate_latest(self.registry)
        _forget_the_dead(Path(os.environ["PROMETHEUS_MULTIPROC_DIR"]))
        together = CollectorRegistry()
        multiprocess.MultiProcessCollector(together)  # type: ignore[no-untyped-call]
        return generate_latest(together)


def _forget_the_dead(folder: Path) -> None:
    """What a worker that is gone had under way is under way no more; what it counted stays counted."""
    for file in folder.glob("gauge_live*_*.db"):
        pid = int(file.stem.rpartition("_")[2])
        if not _runs(pid):
            multiprocess.mark_process_dead(pid)  # type: ignore[no-untyped-call]


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
