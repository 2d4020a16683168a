"""`python -m tools.docs` renews the generated pages; with `--check` it says what is wrong and fails instead."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from semtropy.cli import parser

from .api import public_names, too_many
from .checks import bad_commands, bad_links, pages, undocumented, unlisted
from .examples import private_uses
from .figures import FIGURES, stale_figures, with_figures, wrong_markers
from .generated import generated

__all__ = ["main", "problems"]

ROOT = Path(__file__).resolve().parent.parent
# argparse lays help out differently from this version on; the page shows the older form.
NEW_HELP = sys.version_info >= (3, 13)


def stale(root: Path) -> Iterator[str]:
    """Generated pages that no longer say what the code says."""
    for page, text in generated(root).items():
        if page.name == "cli.md" and NEW_HELP:
            continue
        if not page.exists() or page.read_text() != text:
            yield f"{page.relative_to(root)} is out of date: run `make docs`"


def problems(root: Path) -> Iterator[str]:
    """Everything wrong with the docs, as sentences."""
    top = parser()
    yield from undocumented(top)
    public = public_names()
    yield from too_many(public)
    yield from stale(root)
    yield from unlisted(root)
    held = {page.relative_to(root).as_posix(): page.read_text() for page in pages(root)}
    yield from wrong_markers(held)
    yield from stale_figures(held, made_figures(slow=False))
    for page in pages(root):
        yield from bad_links(page, root)
        if page.name != "CHANGELOG.md":  # it may speak of what is gone
            yield from bad_commands(page, root, top)
            for name in private_uses(page.read_text(), public):
                yield f"{page.relative_to(root)}: {name} is private: export it, or write of something else"


def made_figures(*, slow: bool) -> dict[str, str]:
    """The quick figures, or all of them; those whose data is not here are left as they are."""
    asked = {name: one for name, one in FIGURES.items() if (one.quick or slow) and one.possible}
    return {name: one.make() for name, one in asked.items()}


def main(arguments: list[str] | None = None) -> int:
    """Renew the generated pages, or check them all; 1 when something is wrong."""
    asked = argparse.ArgumentParser(prog="python -m tools.docs", description=__doc__)
    asked.add_argument("--check", action="store_true", help="change nothing; fail when a page is wrong")
    asked.add_argument("--figures", action="store_true", help="make the slow figures too, about a minute")
    options = asked.parse_args(arguments)
    if options.check:
        found = list(problems(ROOT))
        print(*found, sep="\n", end="\n" if found else "", file=sys.stderr)
        return 1 if found else 0
    figures = made_figures(slow=options.figures)
    for page in pages(ROOT):
        if (text := page.read_text()) != (renewed := with_figures(text, figures)):
            page.write_text(renewed)
    for page, text in generated(ROOT).items():
        page.write_text(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
