"""Our cells beside the paper's, on the paper's own SVAMP samples (`../shared/data`, not part of the project).

Labels differ: the paper graded one low-temperature answer, the recordings the most frequent sample. Both show the
same order of methods; no closer agreement than a few hundredths is to be expected.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from semtropy.study.evaluate import evaluate

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
# The recordings' names of models, and the table's.
MODELS = {"Llama-2-7b-chat": "Llama-2", "Llama-3.2-3B-Instruct": "Llama-3.2"}
# Our estimators, and the table's names of methods.
METHODS = {"bayes-paper": "bayes", "histogram": "histogram", "rescaled": "rescaled"}


@dataclass(frozen=True, slots=True)
class Beside:
    """One cell of ours and of the paper's."""

    model: str
    estimator: str
    budget: int
    ours: float
    paper: float


def recordings(shared: Path = SHARED) -> list[Path]:
    """The paper's samples that are at hand."""
    return [shared / "recordings" / f"{name}--svamp.jsonl.gz" for name in MODELS]


def side_by_side(shared: Path = SHARED) -> Iterator[Beside]:
    """Every cell both have."""
    table = json.loads((shared / "paper-table.json").read_text())["auroc"]
    paper = {(c["model"], c["dataset"], c["method"], c["budget"]): c["auroc"] for c in table}
    results = evaluate(recordings(shared), estimators=list(METHODS), bootstrap=0)
    for cell in results.cells:
        theirs = paper[MODELS[cell.model], "SVAMP", METHODS[cell.estimator], cell.budget]
        yield Beside(cell.model, cell.estimator, cell.budget, cell.auroc, theirs)


def gaps(cells: Iterable[Beside]) -> dict[str, float]:
    """The mean distance of our cells from the paper's, for each estimator."""
    held = list(cells)
    return {
        name: float(np.mean([abs(cell.ours - cell.paper) for cell in held if cell.estimator == name]))
        for name in METHODS
    }


def main() -> None:
    """Print the table in Markdown, and how far apart the cells are on average."""
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
