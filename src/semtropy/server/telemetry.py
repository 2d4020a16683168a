"""Logs as JSON lines, counters for Prometheus, and a wrapper that times the parts of a check.

Prompts, answers and keys are never passed to a logger. With several workers the counters are summed over processes.
"""

from __future__ import annotations

import json
import logging
import os
import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from functools import partial
from inspect import iscoroutinefunction
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest, multiprocess

from ..verdict import Outcome

if TYPE_CHECKING:
    from ..inquiry.steps import Step
    from ..nouns import Belief, Evidence


log = logging.getLogger("semtropy.server")

LOG_FIELDS = "semtropy.log_fields"
"""Key in the ASGI scope of the dict of fields for the request's log line; routes add to it."""

FIXED_SAMPLES = 10
"""The fixed number of samples with which adaptive checks are compared in `semtropy_samples_saved`."""

PARTS = ("first_byte", "upstream", "sampling", "judging", "estimating", "concluding", "check")
"""Labels of `semtropy_seconds`: the upstream's first byte and whole answer, parts of a round, verdict, check."""

_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class Metrics:
    """Counters, gauges and histograms of one application, in a separate registry."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        counter = partial(Counter, registry=self.registry)
        gauge = partial(Gauge, registry=self.registry, multiprocess_mode="livesum")
        self.requests = counter(
            "semtropy_requests", "Requests answered, by route and status", ["route", "status"]
        )
        outcomes = "Checks finished: steady, flagged, undecided, no answer or error"
        self.checks = counter("semtropy_checks", outcomes, ["outcome"])
        self.runs = counter("semtropy_runs", "Source of each check: new, shared or cached", ["source"])
        self.samples = counter("semtropy_samples", "Samples drawn")
        saved = "Samples a fixed ten would have drawn beyond those drawn"
        self.saved = counter("semtropy_samples_saved", saved)
        self.tokens = counter("semtropy_tokens", "Tokens generated for samples")
        self.second_answers = counter("semtropy_second_answers", "Answers of the second model")
        second_tokens = "Tokens generated for answers of the second model"
        self.second_tokens = counter("semtropy_second_tokens", second_tokens)
        self.pairs = counter("semtropy_judge_pairs", "Pairs of answers judged")
        self.blocked = counter("semtropy_blocked", "Answers replaced by the refusal")
        self.errors = counter("semtropy_errors", "Errors, by kind", ["kind"])
        self.seconds = Histogram(
            "semtropy_seconds",
            f"Latency of each part: {', '.join(PARTS)}",
            ["part"],
            buckets=_BUCKETS,
            registry=self.registry,
        )
        became = "Workers that became ready, those that replaced others included"
        self.workers_ready = counter("semtropy_workers_ready", became)
        self.busy = gauge("semtropy_requests_in_progress", "Requests under way")
        self.waiting = gauge("semtropy_requests_waiting", "Requests in the queue")
        for source in ("new", "shared", "cached"):
            self.runs.labels(source)
        for outcome in (*Outcome, "error"):
            self.checks.labels(outcome)
        for part in PARTS:
            self.seconds.labels(part)

    def timed(self, part: str) -> AbstractContextManager[object]:
        """Observe how long the block takes, also when it raises."""
        return self.seconds.labels(part).time()

    def run_finished(self, step: Step) -> None:
        """Count a run that has finished."""
        self.samples.inc(step.spent.samples)
        self.saved.inc(max(0, FIXED_SAMPLES - step.spent.samples))
        self.tokens.inc(step.spent.tokens or 0)
        self.pairs.inc(step.spent.judge_calls)
        self.seconds.labels("check").observe(step.spent.seconds)

    def exposition(self) -> bytes:
        """The metrics in Prometheus' text format."""
        return generate_latest(self._summed())

    def values(self, name: str, label: str, **labels: str) -> dict[str, float]:
        """The samples of that name by the values of `label`, those of other labels summed; `labels` must match."""
        found: dict[str, float] = {}
        for sample in self._samples(name):
            if labels.items() <= sample.labels.items():
                found[sample.labels[label]] = found.get(sample.labels[label], 0.0) + sample.value
        return found

    def value(self, name: str) -> float:
        """The sum of the samples of that name."""
        return float(sum(sample.value for sample in self._samples(name)))

    def _samples(self, name: str) -> Iterator[Any]:
        for family in self._summed().collect():
            yield from (sample for sample in family.samples if sample.name == name)

    @property
    def is_shared(self) -> bool:
        """Whether the counters are those of several workers."""
        return "PROMETHEUS_MULTIPROC_DIR" in os.environ

    def _summed(self) -> CollectorRegistry:
        """The counters: with several workers those of all of them."""
        if not self.is_shared:
            return self.registry
        _drop_dead_workers(Path(os.environ["PROMETHEUS_MULTIPROC_DIR"]))
        together = CollectorRegistry()
        multiprocess.MultiProcessCollector(together)  # type: ignore[no-untyped-call]
        return together


def _drop_dead_workers(folder: Path) -> None:
    """Remove the gauges of workers that have died; their counters stay in the sums."""
    for file in folder.glob("gauge_live*_*.db"):
        pid = int(file.stem.rpartition("_")[2])
        if not _is_running(pid):
            multiprocess.mark_process_dead(pid)  # type: ignore[no-untyped-call]


def _is_running(pid: int) -> bool:
    if os.name == "posix":  # elsewhere the same call would end the process
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
    return True


class JSONFormatter(logging.Formatter):
    """Formats a record as one line of JSON.

    Of an exception it keeps class and place but not the message, which may quote a prompt.
    """

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info and record.exc_info[0] is not None:
            kind, _, trace = record.exc_info
            line["error"] = kind.__name__
            line["at"] = [f"{at.filename}:{at.lineno}" for at in traceback.extract_tb(trace)[-8:]]
        return json.dumps(line)


def logging_config(level: str) -> dict[str, Any]:
    """For `logging.config.dictConfig`: everything to standard error as JSON lines, uvicorn's messages included."""
    handled = {"handlers": ["lines"], "level": level.upper(), "propagate": False}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"json": {"()": JSONFormatter}},
        "handlers": {
            "lines": {"class": "logging.StreamHandler", "formatter": "json", "stream": "ext://sys.stderr"}
        },
        "loggers": {
            "semtropy": handled,
            "uvicorn": handled,
            # httpx logs every URL it requests, query strings included.
            "httpx": {**handled, "level": "WARNING"},
        },
    }


_CALLS = {"sample", "asample", "weigh", "aweigh", "entails", "relation", "batch"}


class Timed:
    """A model, a judge or an estimator whose calls are timed under the label `part`; all else is its own."""

    def __init__(self, timed: Any, part: str, metrics: Metrics) -> None:
        self._timed, self._part, self._metrics = timed, part, metrics

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._timed, name)
        if name == "now":  # the estimator as it is at this moment
            return lambda: Timed(found(), self._part, self._metrics)
        return self._watched(found) if name in _CALLS else found

    def __call__(self, evidence: Evidence) -> Belief:
        return cast("Belief", self._watched(self._timed)(evidence))

    def _watched(self, call: Callable[..., Any]) -> Callable[..., Any]:
        async def awaited(*arguments: Any, **options: Any) -> Any:
            with self._metrics.timed(self._part):
                return await call(*arguments, **options)

        def called(*arguments: Any, **options: Any) -> Any:
            with self._metrics.timed(self._part):
                return call(*arguments, **options)

        return awaited if iscoroutinefunction(call) else called
