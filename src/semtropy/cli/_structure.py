"""Options for structured answers: a schema, tools or choices, and the fields that the verdict waits for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ._input import option_json

if TYPE_CHECKING:
    import argparse

__all__ = ["add_structure_options", "structure_options"]


def add_structure_options(parser: argparse.ArgumentParser) -> None:
    """Add the options to a parser."""
    how = parser.add_mutually_exclusive_group()
    how.add_argument(
        "--schema",
        metavar="FILE",
        help="answers are JSON of the schema in FILE: each field gets a verdict, from the same samples",
    )
    how.add_argument(
        "--tools",
        metavar="FILE",
        help="answers may call the tools in FILE (a JSON list): the name and each argument get a verdict",
    )
    how.add_argument(
        "--choices", metavar="A,B,C", help="answers name one of these, separated by commas; needs no judge"
    )
    parser.add_argument(
        "--required",
        metavar="NAMES",
        help="the fields that the verdict waits for, separated by commas (default: those the schema requires)",
    )


def structure_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """What was given, as keyword arguments of `check`."""
    options: dict[str, Any] = {}
    if arguments.schema is not None:
        options["schema"] = _object(arguments.schema, "--schema")
    if arguments.tools is not None:
        tools = option_json("--tools", arguments.tools)
        if not isinstance(tools, list) or not all(isinstance(tool, dict) for tool in tools):
            raise InputError(
                f"--tools {arguments.tools}: expected a list of tools, as in a request to an endpoint"
            )
        options["tools"] = tools
    if arguments.choices is not None:
        options["choices"] = [each.strip() for each in arguments.choices.split(",")]
    if arguments.required is not None:
        options["required"] = [each.strip() for each in arguments.required.split(",") if each.strip()]
    return options


def _object(path: str, option: str) -> dict[str, Any]:
    data = option_json(option, path)
    if not isinstance(data, dict):
        raise InputError(f"{option} {path}: expected a JSON schema, which is an object")
    return data
