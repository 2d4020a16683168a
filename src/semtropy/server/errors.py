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


_WHOLE, _NUMBER, _OBJECT = "must be a whole number", "must be a number", "must be an object"
_PLAIN = {
    "extra_forbidden": "unknown field (docs/gateway.md lists those that are there)",
    "missing": "is missing",
    "string_type": "must be a string",
    "string_too_short": "must not be empty",
    "string_too_long": "has more than {max_length} characters",
    "list_type": "must be a list",
    "too_short": "needs at least {min_length}, not {actual_length}",
    "too_long": "takes at most {max_length}",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "int_type": _WHOLE,
    "int_parsing": _WHOLE,
    "int_from_float": _WHOLE,
    "float_type": _NUMBER,
    "float_parsing": _NUMBER,
    "finite_number": "must be a finite number",
    "greater_than": "must be more than {gt}",
    "greater_than_equal": "must be {ge} or more",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be {le} or less",
    "literal_error": "must be {expected}",
    "dict_type": _OBJECT,
    "model_type": _OBJECT,
    "model_attributes_type": _OBJECT,
    "value_error": "{error}",
}
"""Kinds of pydantic's errors, in our words; in braces, the limits that it names."""


def validation_message(error: Mapping[str, Any]) -> str:
    """What an error of pydantic says, with its place and in our words; the input is not repeated."""
    if error["type"] == "json_invalid":  # its place is a number of characters
        return f"the body is not JSON ({error['ctx']['error']} at character {error['loc'][-1]})"
    place = ".".join(str(part) for part in error["loc"] if part != "body") or "the body"
    plain = _PLAIN.get(error["type"])
    message = str(error["msg"]) if plain is None else plain.format(**error.get("ctx", {}))
    return message if error["type"] == "value_error" and place == "the body" else f"{place}: {message}"


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
