"""The tables of `benchmarks.compare`, between two markers of a page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

__all__ = ["Outcome", "fill_page", "tables"]

MARKED = re.compile(
    r"(<!-- made by `python -m benchmarks\.compare` -->\n).*?(<!-- end of compare -->)", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """One method on one recording with one number of samples."""

    recording: str
    method: str
    budget: int
    auroc: float
    half_width: float
    tied: bool
    aurac: float
    rank: float

    def __str__(self) -> str:
        area = f"{self.auroc:.3f}"
        return f"{f'**{area}**' if self.tied else area} ± {self.half_width:.2f} / {self.aurac:.2f} / {self.rank:.2f}"


def fill_page(held: Mapping[str, Any], page: Path | None) -> None:
    """Print the tables, or put them into the page."""
    text = tables(held)
    if page is None:
        print(text)
        return
    before = page.read_text(encoding="utf-8")
    after, count = MARKED.subn(lambda found: f"{found[1]}{text}\n{found[2]}", before)
    if count != 1:
        raise SystemExit(
            f"{page}: has no place for the tables: <!-- made by `python -m benchmarks.compare` -->"
        )
    page.write_text(after, encoding="utf-8")


def tables(held: Mapping[str, Any]) -> str:
    """All tables in Markdown."""
    outcomes = [Outcome(**each) for own in held.values() for each in own["outcomes"]]
    return "\n\n".join(
        [overview(outcomes, held), *(one_recording(name, own, outcomes) for name, own in held.items())]
    )


def overview(outcomes: Sequence[Outcome], held: Mapping[str, Any]) -> str:
    """Each method over all recordings: mean AUROC, how often nothing beats it, and its time."""
    budgets = sorted({each.budget for each in outcomes})
    times: dict[str, list[float]] = {}
    for own in held.values():
        for name, value in own["milliseconds"].items():
            times.setdefault(name, []).append(value)
    rows = []
    for method in dict.fromkeys(each.method for each in outcomes):
        mine = [each for each in outcomes if each.method == method]
        areas = [_mean(each.auroc for each in mine if each.budget == n) for n in budgets]
        spent = f"{mean(times[method]):.2f}" if method in times else "0"
        count = len({each.recording for each in mine})
        rows.append(
            [f"`{method}`", *areas, f"{sum(each.tied for each in mine)} of {len(mine)}", str(count), spent]
        )
    heads = ["method", *(f"N = {n}" for n in budgets), "unbeaten", "recordings", "ms"]
    return "### All recordings\n\n" + _table(heads, rows)


def one_recording(name: str, own: Mapping[str, Any], outcomes: Sequence[Outcome]) -> str:
    """One recording: AUROC, AURAC and rank correlation of each method by number of samples."""
    mine = [each for each in outcomes if each.recording == name]
    budgets = sorted({each.budget for each in mine})
    cells = {(each.method, each.budget): each for each in mine}
    rows = [
        [f"`{method}`", *(str(cells[method, n]) if (method, n) in cells else "–" for n in budgets)]
        for method in dict.fromkeys(each.method for each in mine)
    ]
    judged = own["judgements"]
    about = (
        f"{own['questions']} questions, {own['wrong'] / own['questions']:.0%} answered wrongly. With 5 samples, "
        f"grouping takes {judged['grouping']:.1f} judgements per question, and all pairs {judged['pairs']:.1f}."
    )
    return f"### {name}\n\n{about}\n\n" + _table(["method", *(f"N = {n}" for n in budgets)], rows)


def _mean(values: Iterable[float]) -> str:
    found = list(values)
    return f"{mean(found):.3f}" if found else "–"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
