"""`python -m tools.site` builds the documentation site into site/ and checks it.

Zensical reads mkdocs.yml and a copy of docs/. There, links to files outside docs/ lead to the copy in `project/` or to
the source on the forge. Afterwards every internal link and anchor of the HTML must hold, every page must be in the
search index, and no page may load anything from another host.
"""

from __future__ import annotations

import argparse
import json
import os
import posixpath
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from .front import index_entries, mkdocs_yml, site_address, site_path
from .markdown import FENCE, HEADING, INLINE, LINK, anchor

__all__ = ["broken", "main", "relinked", "stage", "unsearchable"]

ROOT = Path(__file__).resolve().parent.parent
CODE = re.compile(f"{FENCE.pattern}|{INLINE.pattern}", re.MULTILINE | re.DOTALL)


def relinked(text: str, change: Callable[[str], str]) -> str:
    """The page with each link passed through `change`; code stays as it is.

    >>> relinked("[a](b.md) `[c](d.md)`", str.upper)
    '[a](B.MD) `[c](d.md)`'
    """

    def replace(found: re.Match[str]) -> str:
        target = found[1] or found[2]
        return found[0].replace(target, change(target), 1)

    parts, end = [], 0
    for code in CODE.finditer(text):
        parts += [LINK.sub(replace, text[end : code.start()]), code[0]]
        end = code.end()
    return "".join([*parts, LINK.sub(replace, text[end:])])


def named(text: str) -> str:
    """The page with the forge's anchor at each heading, so that a link holds in both places.

    >>> named("# Names\\n## Names")
    '# Names {#names}\\n## Names {#names-1}'
    """
    before: Counter[str] = Counter()
    parts, end = [], 0

    def add(found: re.Match[str]) -> str:
        return f"{found[0]} {{#{anchor(found[1], before)}}}"

    for code in FENCE.finditer(text):
        parts += [HEADING.sub(add, text[end : code.start()]), code[0]]
        end = code.end()
    return "".join([*parts, HEADING.sub(add, text[end:])])


def target_on_site(target: str, page: Path, place: str, kept: dict[Path, str]) -> str:
    """Where a link of `page`, which is at `place` on the site, leads there."""
    if re.match(r"[a-z][a-z0-9+.-]*:", target) or target.startswith("#"):
        return target
    path, hash_, name = target.partition("#")
    found = kept.get((page.parent / path).resolve())
    return (
        target if found is None else posixpath.relpath(found, posixpath.dirname(place) or ".") + hash_ + name
    )


def stage(root: Path, out: Path) -> None:
    """Copy the pages and pictures to `out`, and the other files they link to, with links that hold on the site."""
    kept = {(root / "docs" / entry.path).resolve(): site_path(entry.path) for entry in index_entries(root)}
    docs = root / "docs"
    for file in sorted(docs.rglob("*")):
        if file.is_file():
            kept.setdefault(file.resolve(), file.relative_to(docs).as_posix())
    waiting = list(kept)
    while waiting:
        file = waiting.pop()
        place = kept[file]
        (out / place).parent.mkdir(parents=True, exist_ok=True)
        if file.suffix != ".md":
            shutil.copy(file, out / place)
            continue

        def change(target: str, file: Path = file, place: str = place) -> str:
            linked = (file.parent / target.partition("#")[0]).resolve()
            if linked not in kept and linked.is_file():
                kept[linked] = f"files/{linked.relative_to(root.resolve()).as_posix()}"
                waiting.append(linked)
            return target_on_site(target, file, place, kept)

        text = relinked(file.read_text(encoding="utf-8"), change)
        (out / place).write_text(named(text), encoding="utf-8")


class _Page(HTMLParser):
    """The links, the anchors and what is loaded by one page of HTML."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.names: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.names |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag in {"img", "script", "source", "iframe"} and "src" in given:
            self.loads.append(given["src"])
        if tag == "link" and given.get("rel") in {"stylesheet", "icon", "preload", "preconnect"}:
            self.loads.append(given["href"])


def broken(site: Path) -> Iterator[str]:
    """Links and loads of the site that lead nowhere, and loads from another host."""
    held = {file.resolve(): _Page(file.read_text(encoding="utf-8")) for file in sorted(site.rglob("*.html"))}
    for file, page in held.items():
        place = file.relative_to(site.resolve())
        yield from (f"{place}: loads {each}" for each in page.loads if urlsplit(each).netloc)
        for link in [*page.links, *page.loads]:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or place.name == "404.html":
                continue
            found = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            found = found / "index.html" if found.is_dir() else found
            if not found.is_file():
                yield f"{place}: {link} leads to no file"
            elif parts.fragment and found in held and unquote(parts.fragment) not in held[found].names:
                yield f"{place}: {link} leads to no heading"


def unsearchable(site: Path, expected: list[str]) -> Iterator[str]:
    """Pages that the search index does not have, with text."""
    index = json.loads((site / "search.json").read_text(encoding="utf-8"))
    texts: dict[str, int] = {}
    for item in index["items"]:
        address = item["location"].partition("#")[0]
        texts[address] = texts.get(address, 0) + len(item["text"])
    for name in expected:
        if texts.get(site_address(name), 0) < 100:
            yield f"{name} is not in the search index"


def build(root: Path, work: Path) -> Path:
    """Stage and build; the folder of the site."""
    shutil.rmtree(work, ignore_errors=True)
    stage(root, work / "docs")
    (work / "mkdocs.yml").write_text(mkdocs_yml(root), encoding="utf-8")
    program = [sys.executable, "-m", "zensical", "build", "--clean", "--strict", "-f", "mkdocs.yml"]
    plain = {**os.environ, "NO_COLOR": "1"}
    done = subprocess.run(program, cwd=work, env=plain, capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    if done.returncode or re.search(r"warning|error", said, re.IGNORECASE):
        raise SystemExit(f"zensical: {said}")
    return work / "site"


def main(arguments: list[str] | None = None) -> int:
    """Build the site and check it; 1 when something is wrong."""
    asked = argparse.ArgumentParser(prog="python -m tools.site", description=__doc__)
    asked.add_argument("--out", type=Path, default=ROOT / "site", help="where the site goes")
    options = asked.parse_args(arguments)
    site = build(ROOT, ROOT / "build" / "site")
    expected = [site_path(entry.path) for entry in index_entries(ROOT)]
    found = [*broken(site), *unsearchable(site, expected)]
    print(*found, sep="\n", end="\n" if found else "", file=sys.stderr)
    if found:
        return 1
    shutil.rmtree(options.out, ignore_errors=True)
    shutil.copytree(site, options.out)
    print(f"{len(expected)} pages in {options.out.name}/: links hold, search finds every page")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
