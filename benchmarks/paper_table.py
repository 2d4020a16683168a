"""AUROCs and savings on the paper's own SVAMP samples, next to those of the paper.

Needs `../shared/data`, which is not part of the project. The labels differ: the paper graded one low-temperature
answer, the recordings the most frequent sample. So the cells agree within a few hundredths only.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from semtropy.study.evaluate import Results, evaluate

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
# Names of models in the recordings, and in the table of the paper.
MODELS = {"Llama-2-7b-chat": "Llama-2", "Llama-3.2-3B-Instruct": "Llama-3.2"}
# Our estimators, and the names of methods in the table of the paper.
METHODS = {"bayes-paper": "bayes", "histogram": "histogram", "rescaled": "rescaled"}


@dataclass(frozen=True, slots=True)
class CellPair:
    """One AUROC of ours, and that of the paper."""

    model: str
    estimator: str
    budget: int
    ours: float
    paper: float


def recordings(shared: Path = SHARED) -> list[Path]:
    """Paths of the recordings of the paper's samples."""
    return [shared / "recordings" / f"{name}--svamp.jsonl.gz" for name in MODELS]


def side_by_side(shared: Path = SHARED) -> Iterator[CellPair]:
    """Every cell that both tables have."""
    table = json.loads((shared / "paper-table.json").read_text())["auroc"]
    paper = {(c["model"], c["dataset"], c["method"], c["budget"]): c["auroc"] for c in table}
    results = evaluate(recordings(shared), estimators=list(METHODS), bootstrap=0)
    for cell in results.cells:
        theirs = paper[MODELS[cell.model], "SVAMP", METHODS[cell.estimator], cell.budget]
        yield CellPair(cell.model, cell.estimator, cell.budget, cell.auroc, theirs)


def gaps(cells: Iterable[CellPair]) -> dict[str, float]:
    """The mean absolute difference from the cells of the paper, for each estimator."""
    held = list(cells)
    return {
        name: float(np.mean([abs(cell.ours - cell.paper) for cell in held if cell.estimator == name]))
        for name in METHODS
    }


@functools.cache
def savings(shared: Path = SHARED) -> Results:
    """Adaptive `bayes-paper` and `histogram`, with 40 draws: with five, where a flat curve crosses is mostly noise."""
    return evaluate(recordings(shared), estimators=["bayes-paper", "histogram"], seeds=40, bootstrap=0)


def savings_table(shared: Path = SHARED) -> str:
    """The share of ten samples that adaptive `bayes-paper` needs to match `histogram` with ten, with 40 draws."""
    paper = json.loads((shared / "paper-table.json").read_text())["saving"]
    rows = ["| model | ours | the paper's |", "| --- | --- | --- |"]
    rows += [
        f"| {each.model} | {each.fraction:.2f} | {paper[MODELS[each.model]]['SVAMP']:.2f} |"
        for each in savings(shared).savings
        if each.rule == "variance"
    ]
    return "\n".join(rows)


def main() -> None:
    """Print the table in Markdown, and the mean differences."""
    if not SHARED.is_dir():
        print("skipped: needs the recordings in ../shared/data")
        return
    cells = list(side_by_side())
    for model in MODELS:
        print(f"\n{model}, ours / the paper's:\n")
        print("| N | " + " | ".join(METHODS) + " |")
        print("| --- |" + " --- |" * len(METHODS))
        for budget in sorted({cell.budget for cell in cells}):
            row = [c for c in cells if (c.model, c.budget) == (model, budget)]
            print(f"| {budget} | " + " | ".join(f"{c.ours:.3f} / {c.paper:.3f}" for c in row) + " |")
    apart = ", ".join(f"{gap:.3f} (`{name}`)" for name, gap in gaps(cells).items())
    print(f"\nOn average the cells are {apart} apart.")


if __name__ == "__main__":
    main()
