"""Errors as HTTP replies: the status of each error class, in the JSON form that OpenAI's clients read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi.responses import JSONResponse

from ..errors import (
    BadKey,
    InputError,
    ModelError,
    ModelTimeout,
    PromptTooLong,
    RateLimited,
    SemtropyError,
    UnknownModel,
)

_STATUS: tuple[tuple[type[Exception], int, str], ...] = (
    (BadKey, 401, "authentication_error"),
    (UnknownModel, 404, "invalid_request_error"),
    (PromptTooLong, 413, "invalid_request_error"),
    (RateLimited, 429, "rate_limit_error"),
    (ModelTimeout, 504, "upstream_error"),
    (ModelError, 502, "upstream_error"),
    (InputError, 400, "invalid_request_error"),
    (SemtropyError, 500, "server_error"),
)


class Problem(Exception):
    """A request that cannot be served: HTTP status, message and OpenAI's error type."""

    def __init__(self, status: int, message: str, kind: str = "invalid_request_error") -> None:
        self.status, self.message, self.kind = status, message, kind
        super().__init__(message)


def as_problem(error: Exception) -> Problem:
    """Any exception as a Problem. The message of an unexpected one is not shown: it may quote internals."""
    if isinstance(error, Problem):
        return error
    for kind, status, name in _STATUS:
        if isinstance(error, kind):
            return Problem(status, str(error), name)
    return Problem(500, "internal error in the gateway; its log names the place", "server_error")


_PLAIN = {
    "extra_forbidden": "unknown field (docs/gateway.md lists those that are there)",
    "missing": "this field is missing",
}


def validation_message(error: Mapping[str, Any]) -> str:
    """What an error of pydantic says, with its place and in our words; the input is not repeated."""
    place = ".".join(str(part) for part in error["loc"] if part != "body")
    message = _PLAIN.get(error["type"], str(error["msg"]))
    return f"{place}: {message}" if place else message


def error_kind(error: Exception) -> str:
    """The label under which an error is counted and logged."""
    return error.kind if isinstance(error, Problem) else type(error).__name__


def error_body(problem: Problem) -> dict[str, Any]:
    """The error in OpenAI's form."""
    return {"error": {"message": problem.message, "type": problem.kind, "param": None, "code": None}}


def error_response(error: Exception) -> JSONResponse:
    """The HTTP reply for an error."""
    problem = as_problem(error)
    headers = {"Retry-After": "1"} if problem.status in (429, 503) else None
    if problem.status == 401:
        headers = {"WWW-Authenticate": "Bearer"}
    return JSONResponse(error_body(problem), problem.status, headers)
