"""`semtropy models`: list the models; fetch or remove the weights of the built-in one and of the larger judge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import InputError, meant

if TYPE_CHECKING:
    import argparse

    from ..models.weights import Weights


def register(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "models",
        help="list models; download or delete the weights of the built-in model and of the larger judge",
        description="List the available models, or download or delete cached weights.",
    )
    parser.add_argument(
        "action",
        nargs="?",
        choices=("list", "fetch", "remove"),
        default="list",
        help="what to do (default: list)",
    )
    parser.add_argument(
        "name",
        nargs="?",
        default="smollm2",
        help="which weights: smollm2, the built-in model, or builtin-large, the larger judge (default: smollm2)",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """List, fetch or remove."""
    from ..models import weights

    if arguments.action == "list":
        return _list()
    known = _known()
    if arguments.name not in known:
        raise InputError(f"unknown weights {arguments.name!r}: {meant(arguments.name, known)}")
    chosen = known[arguments.name]
    if arguments.action == "remove":
        removed = weights.remove(chosen)
        print(f"{arguments.name}: {'removed' if removed else 'was not there'}")
        return 0
    path = weights.where(chosen)
    if path is None:
        with weights.shown(f"Fetching {arguments.name}") as progress:
            path = weights.fetch(chosen, progress=progress)
    print(f"{arguments.name}: {path}")
    return 0


def _list() -> int:
    from ..models import FORMS, weights

    for name, chosen in _known().items():
        path = weights.where(chosen)
        state = f"here: {path}" if path else f"not fetched yet, {chosen.wheel_size / 1e6:.0f} MB to download"
        print(f"{name:13} {chosen.description}, {chosen.licence}; {state}")
    print("Also:", ", ".join(form for form in FORMS if form != weights.SMOLLM2.name))
    return 0


def _known() -> dict[str, Weights]:
    from ..meaning import large
    from ..models import weights

    return {each.name: each for each in (weights.SMOLLM2, large.described())}
