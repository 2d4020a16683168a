"""The tables of `benchmarks.compare` in Markdown, each between two markers of a page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import mean

from benchmarks.compare_measures import REFERENCE, Gap, Measured, Outcome, mean_gap
from benchmarks.compare_scores import ALONE, BUDGETS, TIMED

__all__ = ["fill_page", "tables"]

MARKED = re.compile(
    r"(?P<from><!-- made by `python -m benchmarks\.compare`: (?P<name>\w+) -->\n).*?"
    r"(?P<to><!-- end of (?P=name) -->)",
    re.DOTALL,
)
# The same formula here and there. The first of ours is compared with each of theirs.
TWINS = {
    "eigv": ("lm-polygraph/EigValLaplacian_NLI_score_entail",),
    "degree": ("lm-polygraph/DegMat_NLI_score_entail",),
    "predictive-entropy": ("lm-polygraph/MonteCarloSequenceEntropy",),
    "kle": ("lm-polygraph/KernelLanguageEntropy",),
    "cocoa": ("lm-polygraph/CocoaMSP",),
    "semantic-density": ("lm-polygraph/SemanticDensity", "uqlm/semantic_density"),
    "histogram": ("lm-polygraph/SemanticEntropyEmpirical", "uqlm/discrete_entropy_values"),
}
ERRORS = {
    "twice": "uqlm: an answer in two clusters",
    "one-way": "uqlm: joined by entailment one way",
    "more than 1": "lm-polygraph: a class with probability above 1",
}
NO_SAMPLES = {"g-nll", "log-likelihood", "length", "p-true"}
SEE_ANSWER = {
    *NO_SAMPLES,
    *("bayes", "agreement", "cocoa", "semantic-density"),
    *("lm-polygraph/SemanticDensity", "lm-polygraph/CocoaMSP"),
}


def fill_page(every: Sequence[Measured], page: Path | None) -> None:
    """Print the tables, or put each into its place on the page."""
    made = tables(every)
    if page is None:
        print("\n\n".join(made.values()))
        return
    before = page.read_text(encoding="utf-8")
    places = [found["name"] for found in MARKED.finditer(before)]
    if sorted(places) != sorted(made):
        raise SystemExit(
            f"{page}: needs one place for each of {', '.join(made)}; it has {', '.join(places) or 'none'}"
        )
    after = MARKED.sub(lambda found: f"{found['from']}{made[found['name']]}\n{found['to']}", before)
    page.write_text(after, encoding="utf-8")


def tables(every: Sequence[Measured]) -> dict[str, str]:
    """All tables by name."""
    return {
        "recordings": _recordings(every),
        "overview": _overview(every),
        "beaten": "\n\n".join(_beaten(every, reference) for reference in (REFERENCE, ALONE)),
        "cost": _cost(every),
        "twins": _twins(every),
        "errors": _errors(every),
        "details": "\n\n".join(map(_details, every)),
    }


def _recordings(every: Sequence[Measured]) -> str:
    rows = [
        [
            each.name,
            f"{each.wrong.size} of {each.held['questions']:,}",
            f"{each.wrong.mean():.0%}",
            _lacking(each.held["dropped"]),
        ]
        for each in every
    ]
    return _table(["recording", "questions", "wrong answers", "not possible, for want of a column"], rows)


def _lacking(dropped: Mapping[str, str]) -> str:
    columns: dict[str, list[str]] = {}
    for method, column in dropped.items():
        columns.setdefault(column, []).append(f"`{method}`")
    return "; ".join(f"{', '.join(methods)} ({column})" for column, methods in columns.items()) or "–"


def _overview(every: Sequence[Measured]) -> str:
    """Each method minus `bayes` on the recordings that both have scores for."""
    rows = []
    for method in _methods(every):
        gaps = [mean_gap(every, method, n) for n in BUDGETS]
        cells = [_gap(gap) for gap in gaps]
        if method == REFERENCE:
            cells = [_mean_outcome([each.outcomes.get((method, n)) for each in every]) for n in BUDGETS]
        count = max((gap.recordings for gap in gaps if gap is not None), default=0)
        rows.append([f"`{method}`", str(count), *cells])
    return _table(["method", "recordings", *_columns(BUDGETS)], rows)


def _gap(gap: Gap | None) -> str:
    if gap is None:
        return "–"
    area = _signed(gap.auroc, 3)
    width = (gap.high - gap.low) / 2
    return (
        f"{f'**{area}**' if gap.high >= 0 else area} ± {width:.3f} / "
        f"{_signed(gap.aurac, 2)} / {_signed(gap.rank, 2)}"
    )


def _mean_outcome(outcomes: Iterable[Outcome | None]) -> str:
    known = [each for each in outcomes if each is not None]
    if not known:
        return "–"
    parts = (
        ((each.auroc for each in known), 3),
        ((each.aurac for each in known), 2),
        ((each.rank for each in known), 2),
    )
    return " / ".join(f"{mean(values):.{digits}f}" for values, digits in parts)


def _signed(value: float, digits: int) -> str:
    text = f"{value:+.{digits}f}"
    return f"{0:.{digits}f}" if float(text) == 0 else text.replace("-", "−")


def _beaten(every: Sequence[Measured], reference: str) -> str:
    """Where a method is better than the reference beyond chance; without the answer, among those that do not see it."""
    rows, compared, count = [], 0, 0
    for each in every:
        rivals = [
            name
            for name in each.methods
            if name != reference and not (reference == ALONE and sees_answer(name))
        ]
        for n in BUDGETS:
            gaps = {name: gap for name in rivals if (gap := each.gap(name, n, reference)) is not None}
            better = sorted(
                (name for name, gap in gaps.items() if gap.low > 0), key=lambda name: -gaps[name].auroc
            )
            said = [
                f"`{name}` {_signed(gap.auroc, 3)} ({_signed(gap.low, 3)} to {_signed(gap.high, 3)})"
                for name in better
                for gap in [gaps[name]]
            ]
            compared, count = compared + len(gaps), count + len(better)
            if said:
                rows.append([each.name, str(n), "; ".join(said)])
    if not rows:
        return f"None of {compared:,} comparisons (recording, N, method) with `{reference}`."
    heads = ["recording", "N", f"better than `{reference}`"]
    return f"{count} of {compared:,} comparisons (recording, N, method) with `{reference}`:\n\n" + _table(
        heads, rows
    )


def sees_answer(method: str) -> bool:
    """Whether a method looks at the judged answer."""
    return method in SEE_ANSWER or method.startswith("uqlm/")


def _cost(every: Sequence[Measured]) -> str:
    rows = []
    for method in _methods(every):
        asked, spent = (
            [each.held[key][method] for each in every if method in each.methods and method in each.held[key]]
            for key in ("judgements", "milliseconds")
        )
        free = method in NO_SAMPLES
        samples = (
            "0"
            if free
            else f"0 to {TIMED}"
            if any((method, 0) in each.outcomes for each in every)
            else str(TIMED)
        )
        rows.append([f"`{method}`", samples, f"{mean(asked):.1f}", "0" if free else f"{mean(spent):.2f}"])
    return _table(["method", "samples", "judgements", "milliseconds"], rows)


def _twins(every: Sequence[Measured]) -> str:
    rows = []
    for ours, theirs in TWINS.items():
        for other in theirs:
            gaps = [
                each.outcomes[other, n].auroc - each.outcomes[ours, n].auroc
                for each in every
                for n in BUDGETS
                if (ours, n) in each.outcomes and (other, n) in each.outcomes
            ]
            if gaps:
                far = max(gaps, key=abs)
                rows.append(
                    [f"`{ours}`", f"`{other}`", str(len(gaps)), _signed(mean(gaps), 3), _signed(far, 3)]
                )
    heads = ["here", "there", "cells", "mean difference of AUROC", "largest"]
    return _table(heads, rows) if rows else "The other tools were not run."


def _errors(every: Sequence[Measured]) -> str:
    """How many questions show each known error, and which scores are undefined."""
    ran = [each for each in every if each.held.get("errors")]
    if not ran:
        return "The other tools were not run."
    numbers = BUDGETS[1:]
    rows = [
        [each.name, *(" / ".join(str(each.held["errors"][str(n)][kind]) for n in numbers) for kind in ERRORS)]
        for each in ran
    ]
    undefined = sorted(
        {
            f"`{name}` at N = {', '.join(map(str, ns))}"
            for each in ran
            for name, ns in each.held["undefined"].items()
            if ns
        }
    )
    said = f"Questions that show each error, at N = {', '.join(map(str, numbers))}:\n\n"
    table = _table(["recording", *ERRORS.values()], rows)
    return said + table + (f"\n\nUndefined: {'; '.join(undefined)}." if undefined else "")


def _details(each: Measured) -> str:
    """One recording: AUROC, AURAC and rank correlation of each method by number of samples."""
    rows = [
        [f"`{method}`", *(_cell(each.outcomes.get((method, n))) for n in BUDGETS)] for method in each.methods
    ]
    about = f"{each.wrong.size} questions, {each.wrong.mean():.0%} answered wrongly."
    return f"### {each.name}\n\n{about}\n\n" + _table(["method", *_columns(BUDGETS)], rows)


def _cell(outcome: Outcome | None) -> str:
    if outcome is None:
        return "–"
    area = f"{outcome.auroc:.3f}"
    return (
        f"{f'**{area}**' if outcome.tied else area} ± {outcome.half_width:.2f} / "
        f"{outcome.aurac:.2f} / {outcome.rank:.2f}".replace("-", "−")
    )


def _methods(every: Sequence[Measured]) -> list[str]:
    """All methods in the order of the tables: ours, then those of other tools."""
    found = dict.fromkeys(method for each in every for method in each.methods)
    return sorted(found, key=lambda name: "/" in name)


def _columns(budgets: Iterable[int]) -> list[str]:
    return [f"N = {n}" for n in budgets]


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
