"""`python -m tools.headline` draws docs/images/headline.svg: AUROC against samples, semtropy beside other methods.

The numbers are in docs/images/headline.json, which also has the command that made them. `python -m tools.headline
RESULTS.json ...` replaces them by the mean over the results of `semtropy evaluate --json`, one file per recording.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path
from statistics import mean
from typing import Any

__all__ = ["collect", "draw", "main"]

IMAGES = Path(__file__).resolve().parent.parent / "docs" / "images"
COMMAND = (
    "semtropy evaluate RECORDING --folds 3 --estimators bayes,bayes-paper,histogram,rescaled "
    "--budgets 0-10 --seeds 5 --bootstrap 0 --json RESULTS.json"
)
LABELS = {
    "bayes": "semtropy",
    "bayes-paper": "the TMLR paper",
    "histogram": "counting meanings",
    "rescaled": "rescaled probabilities",
}
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720, 340, 60, 170, 46, 52
LOW, HIGH = 0.5, 0.9
COLOURS = {  # on light pages, on dark ones
    "bayes": ("#0b6bcb", "#58a6ff"),
    "bayes-paper": ("#c2410c", "#f0883e"),
    "histogram": ("#6b7280", "#9198a1"),
    "rescaled": ("#a16207", "#d29922"),
}
STYLE = """
text { font: 13px system-ui, sans-serif; fill: #24292f }
.title { font-size: 15px; font-weight: 600 } .small { font-size: 12px; fill: #57606a }
.grid { stroke: #d0d7de; stroke-width: 1 } path { fill: none; stroke-width: 2 } path.bayes { stroke-width: 3.5 }
"""


def collect(results: list[dict[str, Any]]) -> dict[str, Any]:
    """The numbers of the figure: per method and number of samples, the mean AUROC over the recordings.

    >>> one = {"rows": [{"model": "m", "dataset": "d", "estimator": "bayes", "budget": 0, "auroc": 0.81}]}
    >>> collect([one])["auroc"]
    {'bayes': {'0': 0.81}}
    """
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    recordings = []
    for result in results:
        recordings += [f"{row['model']} on {row['dataset']}" for row in result["rows"][:1]]
        for row in result["rows"]:
            found[row["estimator"]][str(row["budget"])].append(row["auroc"])
    means = {name: {n: round(mean(each), 4) for n, each in by.items()} for name, by in found.items()}
    return {"command": COMMAND, "recordings": recordings, "auroc": means}


def style() -> str:
    """The colours of both kinds of page."""
    light, dark = (
        "\n".join(
            f"path.{name} {{ stroke: {both[k]} }} circle.{name}, text.{name} {{ fill: {both[k]} }}"
            for name, both in COLOURS.items()
        )
        for k in (0, 1)
    )
    grey = "text { fill: #e6edf3 } .small { fill: #9198a1 } .grid { stroke: #3d444d }"
    return f"{STYLE}{light}\n@media (prefers-color-scheme: dark) {{\n{grey}\n{dark}\n}}\n"


def draw(numbers: dict[str, Any]) -> str:
    """The figure as SVG, for light and dark pages."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
        f"<title>{describe(numbers)}</title><style>{style()}</style>",
        f'<text class="title" x="{LEFT}" y="22">Telling wrong answers from right ones (AUROC)</text>',
    ]
    for tick in (0.5, 0.6, 0.7, 0.8, 0.9):
        y = _y(tick)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}"/>')
        parts.append(f'<text class="small" x="{LEFT - 8}" y="{y + 4}" text-anchor="end">{tick:.1f}</text>')
    parts += [
        f'<text class="small" x="{_x(n)}" y="{HEIGHT - 30}" text-anchor="middle">{n}</text>'
        for n in range(11)
    ]
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(
        f'<text class="small" x="{middle}" y="{HEIGHT - 10}" text-anchor="middle">samples per question</text>'
    )
    ends = _spread({name: _y(by["10"]) for name, by in numbers["auroc"].items()})
    for name, by in numbers["auroc"].items():
        points = [(_x(int(n)), _y(value)) for n, value in by.items()]
        line = " ".join(f"{'L' if i else 'M'}{x} {y}" for i, (x, y) in enumerate(points))
        parts.append(f'<path class="{name}" d="{line}"/>')
        parts += [f'<circle class="{name}" cx="{x}" cy="{y}" r="3"/>' for x, y in points]
        parts.append(
            f'<text class="{name}" x="{WIDTH - RIGHT + 12}" y="{ends[name] + 4}">{LABELS[name]}</text>'
        )
    return "\n".join([*parts, "</svg>"]) + "\n"


def describe(numbers: dict[str, Any]) -> str:
    """The figure in a sentence."""
    ours, paper = numbers["auroc"]["bayes"], numbers["auroc"]["bayes-paper"]
    return (
        f"AUROC against samples, mean of {len(numbers['recordings'])} recordings: semtropy {ours['0']:.2f} with no "
        f"sample and {ours['10']:.2f} with ten, the paper's method {paper['1']:.2f} with one "
        f"and {paper['10']:.2f} with ten"
    )


def _x(n: int) -> float:
    return round(LEFT + 14 + n * (WIDTH - RIGHT - LEFT - 24) / 10, 1)


def _y(value: float) -> float:
    return round(TOP + (HIGH - value) / (HIGH - LOW) * (HEIGHT - TOP - BOTTOM), 1)


def _spread(places: dict[str, float], gap: float = 17) -> dict[str, float]:
    """The places of labels, moved down where two would overlap.

    >>> _spread({"a": 10.0, "b": 12.0})
    {'a': 10.0, 'b': 27.0}
    """
    out: dict[str, float] = {}
    last = float("-inf")
    for name, y in sorted(places.items(), key=lambda each: each[1]):
        last = out[name] = max(y, last + gap)
    return out


def main(arguments: list[str] | None = None) -> int:
    """Take new results where some are given, and draw."""
    asked = argparse.ArgumentParser(prog="python -m tools.headline", description=__doc__)
    asked.add_argument("results", nargs="*", type=Path, help="results of `semtropy evaluate --json`")
    options = asked.parse_args(arguments)
    store = IMAGES / "headline.json"
    if options.results:
        numbers = collect([json.loads(path.read_text(encoding="utf-8")) for path in options.results])
        store.write_text(json.dumps(numbers, indent=1) + "\n", encoding="utf-8")
    numbers = json.loads(store.read_text(encoding="utf-8"))
    (IMAGES / "headline.svg").write_text(draw(numbers), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
