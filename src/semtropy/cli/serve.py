"""`semtropy serve`: the gateway and the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import MissingExtra
from ..options import split_list
from ..server.settings import Settings, flag_fields, kind

if TYPE_CHECKING:
    import argparse


def register(commands: Any) -> None:
    """Add the command to the parser: a flag for every setting but the secrets."""
    parser = commands.add_parser(
        "serve",
        help="put a verdict on every answer of an endpoint, and show a page that explains it",
        description="Serve the gateway and the page. Every setting is also read from the environment "
        "(SEMTROPY_ and its name in capitals) and from a TOML file; keys only from there.",
    )
    parser.add_argument("--config", metavar="FILE", help="TOML file of settings (default: $SEMTROPY_CONFIG)")
    for each in flag_fields():
        default = (
            "" if each.default is None or "(default" in each.metadata["help"] else _default(each.default)
        )
        parser.add_argument(
            f"--{each.name.replace('_', '-')}",
            type=split_list if kind(each) is tuple else kind(each),
            metavar=_METAVAR[kind(each)],
            help=(each.metadata["help"] + default).replace("%", "%%"),
        )
    parser.set_defaults(run=run)


_METAVAR = {int: "N", float: "X", str: "TEXT", tuple: "A,B"}


def _default(value: object) -> str:
    if value == ():
        return " (default: none)"
    return f" (default: {value:.4g})" if isinstance(value, float) else f" (default: {value})"


def run(arguments: argparse.Namespace) -> int:
    """Gather the settings and serve until a signal to stop."""
    flags = {each.name: getattr(arguments, each.name) for each in flag_fields()}
    settings = Settings.gather(flags, file=arguments.config)
    try:
        from ..server.serve import serve
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("semtropy"):
            raise
        raise MissingExtra((error.name or "fastapi").partition(".")[0], extra="server") from error
    return serve(settings)
