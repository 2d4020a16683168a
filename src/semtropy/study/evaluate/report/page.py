"""The report of an evaluation as one HTML page that needs no other file, on any screen, light or dark."""

from __future__ import annotations

import base64
import html
from typing import TYPE_CHECKING, NamedTuple

from .... import __version__
from .formats import to_html
from .ranking import ranked_budget
from .tables import auroc_table, study_tables

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..results import Results

__all__ = ["Picture", "report_html"]

_STYLE = """
:root { color-scheme: light dark; --ink: #1a1a1a; --soft: #444; --paper: #fff; --line: #ddd; --mark: #0072B2; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #d7dce2; --soft: #a9b1ba; --paper: #161b22; --line: #3a424c; --mark: #58a6ff; }
}
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
       max-width: 78rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { margin-top: 2.5rem; } h3 { margin: 2rem 0 .25rem; font-size: 1.05rem; }
p { margin: .25rem 0 .75rem; color: var(--soft); }
code { overflow-wrap: anywhere; font-size: 13px; }
.wide { overflow-x: auto; max-width: 100%; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 13px; }
th, td { padding: .25rem .5rem; text-align: left; border-bottom: 1px solid var(--line); white-space: nowrap; }
thead th { border-bottom: 2px solid var(--soft); }
td:first-child, th:first-child { position: sticky; left: 0; background: var(--paper); }
figure { margin: 1.5rem 0; } img { width: 48rem; min-width: 30rem; height: auto; }
.choice { border: 0; padding: 0; margin: 1rem 0; }
.choice label { display: inline-block; padding: .2rem .6rem; margin: 0 .15rem .3rem 0; border: 1px solid var(--line);
                border-radius: .4rem; cursor: pointer; }
.choice label:has(input:checked) { border-color: var(--mark); color: var(--mark); }
.choice label:has(input:focus-visible) { outline: 2px solid var(--mark); }
.choice input { position: absolute; opacity: 0; }
.budget { display: none; }
@media (max-width: 40rem) { body { margin: 1rem auto; } th, td { padding: .2rem .35rem; } }
@media print { .budget { display: block; } }
"""


class Picture(NamedTuple):
    """A figure of the report as PNG files, for light and for dark pages."""

    title: str
    light: bytes
    dark: bytes

    def html(self) -> str:
        """The figure, in the version that fits the page."""
        light, dark = (f"data:image/png;base64,{base64.b64encode(each).decode()}" for each in self[1:])
        return (
            '<figure class="wide"><picture><source media="(prefers-color-scheme: dark)" '
            f'srcset="{dark}"><img alt="{html.escape(self.title)}" src="{light}"></picture></figure>'
        )


def report_html(results: Results, pictures: Sequence[Picture]) -> str:
    """The whole report as one page."""
    notes = "\n".join(f"<li>{html.escape(note)}</li>" for note in results.notes)
    figures = "\n".join(picture.html() for picture in pictures)
    others = [table for table in study_tables(results) if not table.title.startswith("AUROC, N =")]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<link rel="icon" href="data:,">\n'
        f"<title>semtropy study</title>\n<style>{_STYLE}{_choice_style(results)}</style>\n</head>\n<body>\n"
        f"<h1>How well do estimates of semantic entropy tell hallucinations?</h1>\n"
        f"<ul>\n{_tested(results)}\n</ul>\n"
        + (f"<h2>Notes</h2>\n<ul>\n{notes}\n</ul>\n" if notes else "")
        + f"<h2>AUROC</h2>\n{_choice(results)}\n<h2>Figures</h2>\n{figures}\n<h2>Further tables</h2>\n"
        + "\n".join(to_html(table) for table in others)
        + f"\n{_provenance(results)}</body>\n</html>\n"
    )


def _tested(results: Results) -> str:
    lines = []
    for each in results.tested:
        trained = (
            "priors trained across folds"
            if each.train is None
            else f"{each.train} questions trained the priors"
        )
        names = html.escape(f"{each.model} on {each.dataset}")
        share = f"{each.wrong} ({each.wrong / each.questions:.0%}) answered wrongly"
        lines.append(f"<li>{names}: {each.questions} questions tested, {share}; {trained}</li>")
    return "\n".join(lines)


def _choice(results: Results) -> str:
    """One table of AUROCs for each number of samples, of which the page shows the one that is chosen."""
    first = ranked_budget(results)
    buttons = "\n".join(
        f'<label><input type="radio" name="budget" id="n{n}"{" checked" if n == first else ""}> {n}</label>'
        for n in results.budgets
    )
    tables = "\n".join(
        f'<div class="budget" id="table-n{n}">{to_html(auroc_table(results, n))}</div>'
        for n in results.budgets
    )
    return f'<fieldset class="choice"><legend>Samples per question</legend>\n{buttons}\n</fieldset>\n{tables}'


def _choice_style(results: Results) -> str:
    return "".join(f"body:has(#n{n}:checked) #table-n{n} {{ display: block; }}\n" for n in results.budgets)


def _provenance(results: Results) -> str:
    """The command, the seed, versions and hashes."""
    held = results.provenance
    if held is None:
        return f"<p>Made by semtropy {html.escape(__version__)}.</p>\n"
    versions = ", ".join(f"{name} {version}" for name, version in held.versions.items())
    files = "\n".join(
        f"<li><code>{html.escape(name)}</code>: {f'SHA-256 <code>{sha}</code>' if sha else 'not a file'}</li>"
        for name, sha in held.recordings
    )
    return (
        f"<h2>Provenance</h2>\n<p><code>{html.escape(held.command)}</code></p>\n"
        f"<p>Seed {held.seed}, samples drawn {held.draws} times, {held.resamples} bootstrap resamples; "
        f"{html.escape(versions)}.</p>\n<ul>\n{files}\n</ul>\n"
    )
