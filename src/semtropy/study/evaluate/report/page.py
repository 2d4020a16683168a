"""The report of an evaluation as one HTML page that needs no other file."""

from __future__ import annotations

import base64
import html
from typing import TYPE_CHECKING

from .... import __version__
from .formats import to_html
from .tables import study_tables

if TYPE_CHECKING:
    from ..results import Results

__all__ = ["report_html"]

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #1a1a1a; background: #fff;
       max-width: 78rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { margin-top: 2.5rem; } h3 { margin: 2rem 0 .25rem; font-size: 1.05rem; }
p { margin: .25rem 0 .75rem; color: #444; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 13px; }
th, td { padding: .25rem .5rem; text-align: left; border-bottom: 1px solid #ddd; white-space: nowrap; }
thead th { border-bottom: 2px solid #888; }
figure { margin: 1.5rem 0; } img { max-width: 100%; height: auto; width: 48rem; }
"""


def report_html(results: Results, pictures: dict[tuple[str, str], bytes]) -> str:
    """The whole report as one page; `pictures` are PNG files by (model, dataset), embedded in it."""
    figures = "\n".join(
        f'<figure><img alt="AUROC against samples a question, {html.escape(model)} on {html.escape(dataset)}" '
        f'src="data:image/png;base64,{base64.b64encode(picture).decode()}"></figure>'
        for (model, dataset), picture in pictures.items()
    )
    tested = "\n".join(
        f"<li>{html.escape(each.model)} on {html.escape(each.dataset)}: {each.questions} questions tested, "
        f"{each.wrong} answered wrongly; "
        + (
            "priors trained across folds"
            if each.train is None
            else f"{each.train} questions trained the priors"
        )
        + "</li>"
        for each in results.tested
    )
    notes = "\n".join(f"<li>{html.escape(note)}</li>" for note in results.notes)
    tables = "\n".join(to_html(table) for table in study_tables(results))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<link rel="icon" href="data:,">\n'
        f"<title>semtropy study</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<h1>How well do estimates of semantic entropy tell hallucinations?</h1>\n<ul>\n{tested}\n</ul>\n"
        + (f"<h2>Notes</h2>\n<ul>\n{notes}\n</ul>\n" if notes else "")
        + f"<h2>Figures</h2>\n<p>Bands and bars are 1.96 standard errors over the draws.</p>\n{figures}\n"
        f"<h2>Tables</h2>\n{tables}\n<p>Made by semtropy {__version__}.</p>\n</body>\n</html>\n"
    )
