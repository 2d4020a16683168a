"""OpenTelemetry: every verdict of a check or of the gateway is a `gen_ai.evaluation.result` event.

Nothing has to be called: an application that has set a provider gets the events. `record_verdict` sends one for a
verdict made elsewhere, such as one read from JSON.
"""

from __future__ import annotations

from ..tracing import EVENT, event_attributes, record_verdict

__all__ = ["EVENT", "event_attributes", "record_verdict"]
