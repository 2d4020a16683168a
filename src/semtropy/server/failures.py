"""Errors as HTTP: which status each kind gets, in the form OpenAI's clients read."""

from __future__ import annotations

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

__all__ = ["Problem", "body", "failure", "kind_of", "problem_of"]

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
    """A request that cannot be served: status, sentence and kind."""

    def __init__(self, status: int, message: str, kind: str = "invalid_request_error") -> None:
        self.status, self.message, self.kind = status, message, kind
        super().__init__(message)


def problem_of(error: Exception) -> Problem:
    """Any error as a problem; one that was not raised on purpose says nothing of the inside."""
    if isinstance(error, Problem):
        return error
    for kind, status, name in _STATUS:
        if isinstance(error, kind):
            return Problem(status, str(error), name)
    return Problem(500, "something went wrong inside the gateway; its log names the place", "server_error")


def kind_of(error: Exception) -> str:
    """The name an error is counted under."""
    return error.kind if isinstance(error, Problem) else type(error).__name__


def body(problem: Problem) -> dict[str, Any]:
    """The error in OpenAI's form."""
    return {"error": {"message": problem.message, "type": problem.kind, "param": None, "code": None}}


def failure(error: Exception) -> JSONResponse:
    """The reply an error becomes."""
    problem = problem_of(error)
    headers = {"Retry-After": "1"} if problem.status == 429 else None
    if problem.status == 401:
        headers = {"WWW-Authenticate": "Bearer"}
    return JSONResponse(body(problem), problem.status, headers)
