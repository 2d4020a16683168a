"""What every route of one application works with."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from fastapi import Request

    from .desk import Desk
    from .kit import Kit
    from .local import Local
    from .metrics import Metrics
    from .settings import Settings
    from .upstream import Upstream

__all__ = ["State", "state_of"]


@dataclass(slots=True)
class State:
    """The parts of a running gateway; `trouble` says why it cannot get ready, `ready` that it is."""

    settings: Settings
    backend: Local | Upstream
    kit: Kit
    desk: Desk
    metrics: Metrics
    ready: bool = False
    trouble: str | None = None
    studying: asyncio.Lock = field(default_factory=asyncio.Lock)


def state_of(request: Request) -> State:
    """The state of the application a request came to."""
    held: Any = request.app.state
    return cast("State", held.semtropy)
