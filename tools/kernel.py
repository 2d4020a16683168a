"""`python -m tools.kernel` says when the compiled kernel could not be built: pip keeps that to itself."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

__all__ = ["message"]

SOURCE = Path(__file__).parent.parent / "src/semtropy/entropy/_native/contour.c"


def message(*, source: bool, built: bool) -> str | None:
    """What a user should know about the kernel, or None when all is well."""
    if not source or built:
        return None
    return (
        "semtropy: the compiled kernel could not be built, so the NumPy form is used: same results, slower.\n"
        "semtropy: with a C compiler (Debian: apt-get install gcc), `make clean` and the same command again."
    )


if __name__ == "__main__":
    text = message(source=SOURCE.exists(), built=find_spec("semtropy.entropy._native.contour") is not None)
    if text:
        print(text)
