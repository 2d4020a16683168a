"""Logs as JSON lines. Neither prompts nor answers nor keys are ever handed to a logger here."""

from __future__ import annotations

import json
import logging
import traceback
from datetime import UTC, datetime
from typing import Any

__all__ = ["JSONLines", "configuration", "log"]

log = logging.getLogger("semtropy.server")


class JSONLines(logging.Formatter):
    """A record as a line of JSON; of an exception its kind and place, but not its message: it may quote a prompt."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **getattr(record, "facts", {}),
        }
        if record.exc_info and record.exc_info[0] is not None:
            kind, _, trace = record.exc_info
            line["error"] = kind.__name__
            line["at"] = [f"{at.filename}:{at.lineno}" for at in traceback.extract_tb(trace)[-8:]]
        return json.dumps(line, ensure_ascii=False)


def configuration(level: str) -> dict[str, Any]:
    """For `logging.config.dictConfig`: everything to standard error as JSON lines, uvicorn's own lines too."""
    handled = {"handlers": ["lines"], "level": level.upper(), "propagate": False}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"json": {"()": JSONLines}},
        "handlers": {
            "lines": {"class": "logging.StreamHandler", "formatter": "json", "stream": "ext://sys.stderr"}
        },
        "loggers": {
            "semtropy": handled,
            "uvicorn": handled,
            # httpx names every URL it asks, query strings included.
            "httpx": {**handled, "level": "WARNING"},
        },
    }
