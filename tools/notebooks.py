"""`python -m tools.notebooks` runs the notebooks and stores what they print; `--check` compares instead.

The cells of a notebook run in order in one namespace. What they write to standard output, the value of a last
expression and open figures are the output, as in Jupyter. That is all these notebooks need, so no kernel is started
and neither ipykernel nor its forty packages are installed. Figures are drawn again but not compared, as fonts differ;
nor is the text of cells with the tag `varies`, which show a model's words and times.
"""

from __future__ import annotations

import argparse
import ast
import base64
import io
import json
import os
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import chdir, redirect_stdout
from pathlib import Path
from typing import Any

__all__ = ["NOTEBOOKS", "different", "main", "run"]

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = tuple(sorted((ROOT / "notebooks").glob("*.ipynb")))
VARIES = "varies"

Cell = dict[str, Any]


def run(notebook: dict[str, Any]) -> dict[str, Any]:
    """The notebook with the outputs of a fresh run, in an empty folder."""
    os.environ.setdefault("MPLBACKEND", "agg")
    namespace: dict[str, Any] = {"__name__": "__main__"}
    cells, count = [], 0
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, chdir(folder):
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                count += 1
                cell = {**cell, "execution_count": count, "outputs": _outputs(cell, namespace, count)}
            cells.append(cell)
    return {**notebook, "cells": cells}


def _outputs(cell: Cell, namespace: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """What one cell prints, is worth, and draws."""
    tree = ast.parse("".join(cell["source"]))
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value, name = io.StringIO(), None, f"<cell {count}>"
    with redirect_stdout(printed), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "FigureCanvasAgg is non-interactive")  # plt.show()
        exec(compile(tree, name, "exec"), namespace)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), name, "eval"), namespace)
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": _lines(printed.getvalue())})
    drawn = list(_figures())
    outputs += [{"data": each, "metadata": {}, "output_type": "display_data"} for each in drawn]
    if value is not None and not drawn:  # a plot's last call is worth an object that nobody wants to read
        data = {"text/plain": _lines(repr(value))}
        outputs.append(
            {"data": data, "execution_count": count, "metadata": {}, "output_type": "execute_result"}
        )
    return outputs


def _figures() -> Iterator[dict[str, Any]]:
    """The figures that are open, as PNG; they are closed."""
    if "matplotlib.pyplot" not in sys.modules:
        return
    plt = sys.modules["matplotlib.pyplot"]
    for number in plt.get_fignums():
        buffer = io.BytesIO()
        plt.figure(number).savefig(buffer, format="png", dpi=80, bbox_inches="tight")
        yield {
            "image/png": base64.b64encode(buffer.getvalue()).decode() + "\n",
            "text/plain": ["<figure>"],
        }
    plt.close("all")


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def different(stored: dict[str, Any], fresh: dict[str, Any]) -> Iterator[str]:
    """Cells whose stored output is not that of a fresh run."""
    for place, (old, new) in enumerate(zip(stored["cells"], fresh["cells"], strict=True), start=1):
        if old["cell_type"] != "code":
            continue
        before, now = (_comparable(cell) for cell in (old, new))
        if before != now:
            yield f"cell {place} shows {before!r} and prints {now!r}"


def _comparable(cell: Cell) -> list[str]:
    """The texts that a cell shows; for a cell that varies, only which outputs there are."""
    if VARIES in cell["metadata"].get("tags", ()):
        return [output["output_type"] for output in cell["outputs"]]
    return [
        "".join(output["text"] if "text" in output else output["data"]["text/plain"])
        for output in cell["outputs"]
    ]


def main(arguments: list[str] | None = None) -> int:
    """Run every notebook; with `--check`, 1 when one shows something else than it prints."""
    asked = argparse.ArgumentParser(prog="python -m tools.notebooks", description=__doc__)
    asked.add_argument("--check", action="store_true", help="compare with what is stored, and write nothing")
    options = asked.parse_args(arguments)
    wrong = 0
    for path in NOTEBOOKS:
        stored = json.loads(path.read_text(encoding="utf-8"))
        fresh = run(stored)
        found = list(different(stored, fresh))
        print(f"{path.name}: {'in step' if not found else f'{len(found)} cells differ'}")
        if options.check:
            print(*found, sep="\n", end="\n" if found else "", file=sys.stderr)
            wrong += bool(found)
        elif found:
            path.write_text(json.dumps(fresh, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
