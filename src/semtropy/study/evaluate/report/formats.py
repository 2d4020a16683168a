"""Tables as text: Markdown, LaTeX, HTML."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from .tables import TableEntry

if TYPE_CHECKING:
    from .tables import ReportTable

__all__ = ["to_html", "to_latex", "to_markdown"]


def to_markdown(table: ReportTable) -> str:
    """A table in Markdown, its title as a heading."""
    texts = [[_markdown(entry) for entry in row] for row in table.rows]
    widths = [max(map(len, column)) for column in zip(table.columns, *texts, strict=True)]
    lines = [
        "| " + " | ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)) + " |"
        for row in [list(table.columns), ["-" * width for width in widths], *texts]
    ]
    return f"### {table.title}\n\n{table.caption}\n\n" + "\n".join(lines) + "\n"


def _markdown(entry: TableEntry | str | None) -> str:
    if isinstance(entry, TableEntry):
        text = entry.text("±")
        return f"**{text}**" if entry.bold else text
    return "–" if entry is None else entry.replace("|", "\\|")


def to_latex(table: ReportTable) -> str:
    """A table for LaTeX, without packages."""
    heads = " & ".join(_latex(column) for column in table.columns)
    lines = [" & ".join(_latex(entry) for entry in row) + r" \\" for row in table.rows]
    alignment = "".join("l" if isinstance(entry, str) else "c" for entry in table.rows[0])
    return "\n".join(
        [
            r"\begin{table}",
            r"\small\setlength{\tabcolsep}{3pt}\centering",
            rf"\caption{{{_latex(table.title + '. ' + table.caption)}}}",
            rf"\begin{{tabular}}{{{alignment}}}",
            r"\hline",
            heads + r" \\",
            r"\hline",
            *lines,
            r"\hline",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


_LATEX = {
    "\\": r"\textbackslash{}",
    **{mark: "\\" + mark for mark in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "−": "$-$",
}


def _latex(entry: TableEntry | str | None) -> str:
    if isinstance(entry, TableEntry):
        text = entry.text(r"\pm")
        return rf"$\mathbf{{{text}}}$" if entry.bold else f"${text}$"
    return "--" if entry is None else "".join(_LATEX.get(mark, mark) for mark in entry)


def to_html(table: ReportTable) -> str:
    """A table as HTML, its title as a heading."""
    heads = "".join(f"<th>{html.escape(column)}</th>" for column in table.columns)
    rows = "\n".join(
        "<tr>" + "".join(f"<td>{_html(entry)}</td>" for entry in row) + "</tr>" for row in table.rows
    )
    return (
        f"<h3>{html.escape(table.title)}</h3>\n<p>{html.escape(table.caption)}</p>\n"
        f'<div class="wide"><table><thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}\n</tbody></table></div>\n'
    )


def _html(entry: TableEntry | str | None) -> str:
    if isinstance(entry, TableEntry):
        text = html.escape(entry.text("±"))
        return f"<strong>{text}</strong>" if entry.bold else text
    return "–" if entry is None else html.escape(entry)
