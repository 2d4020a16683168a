"""`python -m tools.release TAG` says whether a tag can be released: it has to fit the version and the changelog."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from semtropy import __version__

from .docs import problems

__all__ = ["main", "release_problems"]

ROOT = Path(__file__).resolve().parent.parent


def release_problems(tag: str, version: str, changelog: str) -> Iterator[str]:
    """What is wrong with releasing `version` under `tag`.

    >>> text = "## [Unreleased]\\n\\n### Added\\n\\n## [1.2.0] - 2026-01-02\\n\\n- It works.\\n"
    >>> list(release_problems("v1.2.0", "1.2.0", text)), list(release_problems("v1.3.0", "1.2.0", text))
    ([], ['the tag is v1.3.0 and the version is 1.2.0: the tag has to be v1.2.0'])
    """
    if tag != f"v{version}":
        yield f"the tag is {tag} and the version is {version}: the tag has to be v{version}"
    sections = re.split(r"^## \[(.+?)\]", changelog, flags=re.MULTILINE)[1:]
    held = dict(zip(sections[::2], sections[1::2], strict=True))
    if not re.match(r" - \d{4}-\d\d-\d\d\n", held.get(version, "")):
        yield f"CHANGELOG.md has no section [{version}] with a date"
    if "\n- " in held.get("Unreleased", ""):
        yield f"CHANGELOG.md: lines under Unreleased belong under [{version}]"


def main(arguments: list[str] | None = None) -> int:
    """Check a tag; 1 when it cannot be released."""
    asked = argparse.ArgumentParser(prog="python -m tools.release", description=__doc__)
    asked.add_argument("tag", help="such as v0.2.0")
    options = asked.parse_args(arguments)
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    found = [*release_problems(options.tag, __version__, changelog), *problems(ROOT)]
    print(*found, sep="\n", end="\n" if found else "", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
