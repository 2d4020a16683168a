"""The gateway: the parts of one running application, loaded in the background and closed at its end."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from ..errors import SemtropyError
from .errors import Problem, error_kind
from .telemetry import log

if TYPE_CHECKING:
    from fastapi import Request

    from .backends.local import LocalBackend
    from .backends.upstream import UpstreamBackend
    from .checks import Checks
    from .policy import Policy
    from .settings import Settings
    from .telemetry import Metrics
    from .traffic import Traffic


KEEP_SECONDS = 30.0
"""Time between two writings of what priors have learned."""


@dataclass(slots=True)
class Gateway:
    """The parts of a gateway, and whether it is ready; `load_error` says why it cannot be."""

    settings: Settings
    backend: LocalBackend | UpstreamBackend
    policy: Policy
    checks: Checks
    metrics: Metrics
    traffic: Traffic
    ready: bool = False
    load_error: str | None = None
    all_ready: bool = False

    def check_ready(self) -> None:
        """Refuse a request as long as something that it may need is not loaded."""
        if not self.ready:
            why = f"cannot get ready: {self.load_error}" if self.load_error else "is getting ready"
            raise Problem(503, f"the gateway {why}", "server_error")

    def status(self) -> str:
        """What is waited for, or `ready` as soon as all workers have been ready once."""
        if not self.ready:
            return self.load_error or "loading"
        if not self.all_ready:
            others = self.settings.workers > 1 and self.metrics.is_shared
            known = self.metrics.value("semtropy_workers_ready_total") if others else self.settings.workers
            self.all_ready = known >= self.settings.workers
        return "ready" if self.all_ready else "other workers are loading"

    async def run(self) -> None:
        """Load models and judges; then write what the priors learned now and then, in case the process dies.

        Until all is loaded only /healthz, /metrics and the page answer; the rest gets 503.
        """
        try:
            await asyncio.to_thread(self.policy.instruments.load)
            await asyncio.to_thread(self.backend.load)
        except Exception as error:
            self.load_error = str(error) if isinstance(error, SemtropyError) else error_kind(error)
            cause = None if isinstance(error, SemtropyError) else error
            log.error("cannot get ready", exc_info=cause, extra={"fields": {"reason": self.load_error}})
            return
        self.ready = True
        self.metrics.workers_ready.inc()
        log.info("ready", extra={"fields": {"model": self.backend.name}})
        while True:
            await asyncio.sleep(KEEP_SECONDS)
            await asyncio.to_thread(self.policy.instruments.keep_learned)

    async def close(self) -> None:
        """Stop the checks under way, keep what was learned, and close the connections."""
        await asyncio.to_thread(self.policy.instruments.keep_learned)
        self.checks.runs.cancel()
        await self.backend.aclose()


def gateway_of(request: Request) -> Gateway:
    """The gateway that a request came to."""
    held: Any = request.app.state
    return cast("Gateway", held.gateway)
