"""Writes an evaluation to a folder: tables, figures, the JSON, and one HTML page with all of it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from ...output import check_output_folder, make_folder, write_file
from .figures import draw_recording, figure_bytes
from .formats import to_latex, to_markdown
from .page import Picture, report_html
from .ranking import draw_ranking
from .tables import recording_table, study_tables

if TYPE_CHECKING:
    from ..results import Results

__all__ = ["summary", "write_study"]

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
    drawn = top / "figures"
    check_output_folder(top)
    make_folder(drawn)
    tables = study_tables(results)
    texts = {
        top / "results.json": results.to_json(),
        top / "tables.md": "\n".join(to_markdown(table) for table in tables),
        top / "tables.tex": "\n".join(to_latex(table) for table in tables),
    }
    pictures, written = [], []
    for model, dataset in results.pairs:
        for name, title, draw in FIGURES:
            light, dark = (draw(results, model, dataset, dark=each) for each in (False, True))
            shown = Picture(
                f"{title}, {model} on {dataset}", figure_bytes(light, "png"), figure_bytes(dark, "png")
            )
            pictures.append(shown)
            for kind, content in (("png", shown.light), ("pdf", figure_bytes(light, "pdf"))):
                path = drawn / f"{_slug(model)}--{_slug(dataset)}{name}.{kind}"
                write_file(path, content)
                written.append(path)
    texts[top / "report.html"] = report_html(results, pictures)
    for path, text in texts.items():
        write_file(path, text)
    return [*texts, *written]


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
