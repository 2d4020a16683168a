"""The report of an evaluation: tables, figures and one HTML page."""

from __future__ import annotations

import base64
import html
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ... import __version__
from ...errors import one_line
from ...files import check_output_folder, make_folder, write_file
from .figures import blank_figure, draw_recording, figure_bytes, figure_style, figure_text, footnote
from .tables import auroc_table, recording_table, study_tables, to_html, to_latex, to_markdown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from .results import Results


# A figure of every method at one budget: AUROC with its interval, the best at the top.


TIED, OTHER = "#0072B2", "#888888"


def ranked_budget(results: Results) -> int:
    """The budget that is ranked: 5 samples, or the middle one where 5 was not measured."""
    return 5 if 5 in results.budgets else results.budgets[len(results.budgets) // 2]


def draw_ranking(results: Results, model: str, dataset: str, *, dark: bool = False) -> Figure:
    """Every method at one budget, ordered by AUROC; in blue those that no other beats beyond chance."""
    budget = ranked_budget(results)
    cells = [
        cell for cell in results.cells if (cell.model, cell.dataset, cell.budget) == (model, dataset, budget)
    ]
    cells.sort(key=lambda cell: cell.auroc)
    with figure_style(dark=dark):
        figure, axes = blank_figure(6.4, 1.3 + 0.19 * len(cells), dark=dark)
        for place, cell in enumerate(cells):
            colour = TIED if cell.tied else OTHER
            axes.plot([cell.low, cell.high], [place, place], color=colour, linewidth=1.4)
            axes.plot([cell.auroc], [place], color=colour, marker="o", markersize=4)
        axes.axvline(0.5, color=OTHER, linewidth=0.8, dashes=(3, 2))
        axes.set_yticks(range(len(cells)), [figure_text(cell.estimator) for cell in cells])
        axes.set_ylim(-0.7, len(cells) - 0.3)
        axes.set_xlabel(f"AUROC with N = {budget} samples")
        axes.set_title(figure_text(f"{model} on {dataset}"), fontsize=10)
        footnote(
            figure, results, model, dataset, "Blue: no other is better beyond chance, by paired differences."
        )
        return figure


# The report of an evaluation as one HTML page that needs no other file, on any screen, light or dark.


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


# Writes an evaluation to a folder: tables, figures, the JSON, and one HTML page with all of it.


# What the name of the file ends in, what it shows, and the function that draws it.
FIGURES = (
    ("", "AUROC against samples per question", draw_recording),
    ("--ranking", "AUROC of every method", draw_ranking),
)


def write_study(results: Results, folder: str | Path) -> list[Path]:
    """Write a report: tables, figures, the JSON, and one HTML page with all of it.

    results  what `evaluate` returned
    folder   where to write it; created if needed

    Returns:
        the files written.

    >>> import tempfile
    >>> from semtropy.study import example_recording
    >>> from semtropy.study.evaluate import evaluate
    >>> results = evaluate([example_recording()], estimators=["histogram"], folds=5, seeds=2, bootstrap=0)
    >>> [path.name for path in write_study(results, tempfile.mkdtemp())][:3]
    ['results.json', 'tables.md', 'tables.tex']
    """
    top = Path(folder)
    check_output_folder(top)
    make_folder(top / "figures")
    tables = study_tables(results)
    texts = {
        top / "results.json": results.to_json(),
        top / "tables.md": "\n".join(to_markdown(table) for table in tables),
        top / "tables.tex": "\n".join(to_latex(table) for table in tables),
    }
    for path, text in texts.items():  # the numbers first: whatever becomes of a figure, they are kept
        write_file(path, text)
    pictures, written, notes = [], [], list(results.notes)
    for model, dataset in results.pairs:
        for name, title, draw in FIGURES:
            try:
                light, dark = (draw(results, model, dataset, dark=each) for each in (False, True))
                pdf = figure_bytes(light, "pdf")
                shown = Picture(
                    f"{title}, {model} on {dataset}", figure_bytes(light, "png"), figure_bytes(dark, "png")
                )
            except Exception as error:  # matplotlib raises what its fonts and parsers raise
                reason = one_line(f"{type(error).__name__}: {error}", 200)
                notes.append(f"{model} on {dataset}: a figure could not be drawn ({reason})")
                continue
            pictures.append(shown)
            for kind, content in (("png", shown.light), ("pdf", pdf)):
                written.append(top / "figures" / f"{_slug(model)}--{_slug(dataset)}{name}.{kind}")
                write_file(written[-1], content)
    write_file(top / "report.html", report_html(replace(results, notes=tuple(notes)), pictures))
    return [*texts, top / "report.html", *written]


def summary(results: Results) -> str:
    """The main tables in Markdown: AUROC of each recording at a few budgets, and the share of samples needed.

    results  what `evaluate` returned

    >>> from semtropy.study import example_recording
    >>> from semtropy.study.evaluate import evaluate
    >>> results = evaluate([example_recording()], estimators=["histogram"], folds=5, seeds=2, bootstrap=0)
    >>> print(summary(results).partition("\\n")[0])
    ### AUROC, smollm2 on facts
    """
    tables = [recording_table(results, model, dataset) for model, dataset in results.pairs]
    tables += [table for table in study_tables(results) if table.title == "Share of samples needed"]
    return "\n".join(to_markdown(table) for table in tables)


def _slug(name: str) -> str:
    """A name with only characters that are safe in file names.

    >>> _slug("meta/Llama 2")
    'meta-Llama-2'
    """
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-") or "unnamed"
