"""Figures in the docs, made by running the code: `python -m tools.figures NAME` prints one.

A page holds a figure between two comments, which `make docs` fills:

    <!-- made by `python -m tools.figures NAME` -->
    ...
    <!-- end of NAME -->

Quick figures are made again by every `make check`. Slow ones (a minute at most) are made again by a test, so a figure
that the code no longer gives fails one or the other.
"""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, fields
from pathlib import Path

__all__ = ["FIGURES", "Figure", "main", "stale_figures", "with_figures", "wrong_markers"]

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared" / "data"
MARKED = re.compile(
    r"(?P<from><!-- made by `python -m tools\.figures (?P<name>[\w-]+)` -->\n)"
    r"(?P<text>.*?)(?P<to><!-- end of (?P=name) -->)",
    re.DOTALL,
)
BEGINS = re.compile(r"<!-- made by `python -m tools\.figures ([\w-]+)` -->")


@dataclass(frozen=True, slots=True)
class Figure:
    """How a figure is made."""

    make: Callable[[], str]
    quick: bool = False
    needs: Path | None = None  # data that is not part of the project

    @property
    def possible(self) -> bool:
        """Whether what it needs is here."""
        return self.needs is None or self.needs.exists()


def study_example() -> str:
    """AUROC of every estimator at five samples, on the recording that ships."""
    from semtropy.study import example_recording
    from semtropy.study.evaluate import evaluate
    from semtropy.study.evaluate.report import summary

    printed = summary(evaluate([example_recording()], folds=5, budgets=[5]))
    return "\n".join(row for row in printed.splitlines() if row.startswith("|"))


def paper_table() -> str:
    """AUROC on the paper's own samples beside the paper's cells."""
    from benchmarks.paper_table import main

    return _printed(main)


def paper_savings() -> str:
    """The share of samples that adaptive `bayes-paper` needs on the paper's own samples."""
    from benchmarks.paper_table import savings_table

    return savings_table()


def score_example() -> str:
    """The first lines that `semtropy score` prints for the recording that ships."""
    from semtropy.cli import main
    from semtropy.study import example_recording

    printed = _printed(lambda: main(["score", str(example_recording()), "--estimator", "histogram"]))
    return "\n".join(["```text", *(row.rstrip() for row in printed.splitlines()[:5]), "```"])


def gateway_settings() -> str:
    """The settings of the gateway as a table."""
    from semtropy.server.settings import Settings, environment_name

    rows = ["| setting | flag | environment | default | what it does |", "|---|---|---|---|---|"]
    for each in fields(Settings):
        flag = "" if each.metadata["secret"] else f"`--{each.name.replace('_', '-')}`"
        default = f"{each.default:.4g}" if isinstance(each.default, float) else str(each.default)
        shown = "" if each.default in (None, ()) else f"`{default}`"
        named = f"`{each.name}` | {flag} | `{environment_name(each.name)}`"
        rows.append(f"| {named} | {shown} | {each.metadata['help']} |")
    return "\n".join(rows) + "\n"


def _of_providers(name: str) -> Callable[[], str]:
    def make() -> str:
        from . import providers

        made: str = getattr(providers, name)()
        return made

    return make


FIGURES = {
    "provider-commands": Figure(_of_providers("provider_commands"), quick=True),
    "provider-table": Figure(_of_providers("provider_table"), quick=True),
    "gateway-settings": Figure(gateway_settings, quick=True),
    "study-example": Figure(study_example),
    "paper-table": Figure(paper_table, quick=True, needs=SHARED),
    "paper-savings": Figure(paper_savings, needs=SHARED),
    "score-example": Figure(score_example, quick=True),
}


def _printed(command: Callable[[], object]) -> str:
    with redirect_stdout(io.StringIO()) as said, redirect_stderr(io.StringIO()):
        command()
    return said.getvalue().strip()


def with_figures(text: str, made: dict[str, str]) -> str:
    """The page with the figures that were made in their places.

    >>> page = "<!-- made by `python -m tools.figures sum` -->\\n3\\n<!-- end of sum -->\\n"
    >>> print(with_figures(page, {"sum": "4"}), end="")
    <!-- made by `python -m tools.figures sum` -->
    4
    <!-- end of sum -->
    """
    return MARKED.sub(
        lambda found: (
            f"{found['from']}{made[found['name']].strip()}\n{found['to']}"
            if found["name"] in made
            else found[0]
        ),
        text,
    )


def wrong_markers(pages: dict[str, str]) -> Iterator[str]:
    """Markers that name no figure or do not end, and figures that stand on no page, as sentences."""
    used = set()
    for page, text in pages.items():
        whole = {found["name"] for found in MARKED.finditer(text)}
        for name in BEGINS.findall(text):
            used.add(name)
            if name not in FIGURES:
                yield f"{page}: there is no figure {name}"
            elif name not in whole:
                yield f"{page}: the figure {name} has no end: write <!-- end of {name} --> below it"
    yield from (f"the figure {name} stands on no page" for name in sorted(set(FIGURES) - used))


def stale_figures(pages: dict[str, str], made: dict[str, str]) -> Iterator[str]:
    """Pages that show other figures than those that were made."""
    for page, text in pages.items():
        for found in MARKED.finditer(text):
            name = found["name"]
            if name in made and found["text"].strip() != made[name].strip():
                yield f"{page}: the figure {name} is out of date: run `make docs`"


def main(arguments: list[str] | None = None) -> int:
    """Print the figures named."""
    for name in sys.argv[1:] if arguments is None else arguments:
        if name not in FIGURES:
            print(f"there is no figure {name}: choose from {', '.join(FIGURES)}", file=sys.stderr)
            return 1
        print(FIGURES[name].make())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
