"""Adaptive curves, savings, tables, figures and the report, from beliefs that are known."""

from __future__ import annotations

import hashlib
import html
import itertools
import json
import pickle
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr

from recordings_made import graded_recording
from semtropy.errors import MissingExtra
from semtropy.study.evaluate import evaluate, report
from semtropy.study.evaluate.figures import draw_recording, figure_bytes, styles
from semtropy.study.evaluate.measure import RULES, MeasureOptions, curve, grid, measure, saving, stops, sweep
from semtropy.study.evaluate.metrics import auroc, interval, resampled_auroc
from semtropy.study.evaluate.prepare import METHODS, Fold, StudyRecording
from semtropy.study.evaluate.report import draw_ranking, write_study
from semtropy.study.evaluate.resampling import ResamplingPlan, Scores, StudyQuestion
from semtropy.study.evaluate.results import Results  # noqa: TC001
from semtropy.study.evaluate.tables import (
    ReportTable,
    TableEntry,
    auroc_table,
    study_tables,
    to_html,
    to_latex,
    to_markdown,
)

BUDGET, DRAWS, QUESTIONS = 10, 3, 40


@pytest.fixture(scope="module")
def beliefs() -> tuple[np.ndarray, dict[str, Scores]]:
    """Scores that get better with samples, and variances that shrink sooner for some questions."""
    rng = np.random.default_rng(0)
    wrong = np.arange(QUESTIONS) % 2 == 0
    n = np.arange(1, BUDGET + 1)[:, None, None]
    mean = wrong + rng.normal(size=(BUDGET, DRAWS, QUESTIONS)) * 1.5 / np.sqrt(n)
    variance = (1 + np.arange(QUESTIONS) % 5) * rng.uniform(0.9, 1.1, (BUDGET, DRAWS, QUESTIONS)) / n
    noisy = wrong + rng.normal(size=(BUDGET, DRAWS, QUESTIONS)) * 3 / np.sqrt(n)
    constant = rng.normal(size=(1, 1, QUESTIONS))
    return wrong, {
        "bayes": Scores(mean, variance),
        "histogram": Scores(noisy, None),
        "length": Scores(constant, None, None),
        "bayes-paper@0.25": Scores(mean, variance),
    }


@pytest.fixture(scope="module")
def results(beliefs: tuple[np.ndarray, dict[str, Scores]]) -> Results:
    return measured(*beliefs, bootstrap=100)


def measured(wrong: np.ndarray, scores: dict[str, Scores], bootstrap: int) -> Results:
    questions = tuple(StudyQuestion(str(at), bool(bad), None) for at, bad in enumerate(wrong))  # type: ignore[arg-type]
    folds = (Fold(test=questions, threshold=0.5),)
    methods = ("bayes", "histogram", "length")
    recording = StudyRecording("model/1 & co", "d", 5, folds, methods, ("a note",), scores)
    plan = ResamplingPlan(budget=BUDGET, repeats=DRAWS)
    options = MeasureOptions(budgets=tuple(range(1, 11)), plan=plan, bootstrap=bootstrap)
    return measure(recording, options)


@given(st.lists(st.lists(st.floats(0, 1), min_size=4, max_size=4), min_size=1, max_size=5), st.floats(0, 1))
def test_stops_at_the_first_firm_belief(rows: list[list[float]], threshold: float) -> None:
    expected = [next((n for n, value in enumerate(row) if value <= threshold), 3) for row in rows]
    assert stops(np.array(rows).T, threshold).tolist() == expected


def test_stops_agree_with_the_rule_of_live_checks() -> None:
    stopping = pytest.importorskip("semtropy.stopping")
    from semtropy import Belief

    rng = np.random.default_rng(1)
    variance = rng.random((10, 30))
    rule = stopping.VarianceBelow(0.2)
    expected = [
        next((n for n in range(10) if rule(Belief(1.0, variance[n, q]), stopping.Spent(samples=n + 1))), 9)
        for q in range(30)
    ]
    assert stops(variance, 0.2).tolist() == expected


def test_sweep_goes_from_one_sample_to_all() -> None:
    rng = np.random.default_rng(2)
    wrong = rng.random(50) < 0.5
    mean, statistic = rng.random((10, 50)), rng.random((10, 50)) + 0.1
    budgets, areas = sweep(mean, statistic, wrong)
    assert (np.diff(budgets) > 0).all()
    assert (budgets[0], budgets[-1]) == (1.0, 10.0)
    assert areas[0] == auroc(mean[0], wrong)
    assert areas[-1] == auroc(mean[-1], wrong)


def test_curve_is_the_mean_of_the_draws(beliefs: tuple[np.ndarray, dict[str, Scores]]) -> None:
    wrong, scores = beliefs
    threshold = np.full(QUESTIONS, 0.5)
    areas, widths = curve(scores["bayes"], wrong, RULES["variance"], threshold)
    assert areas.shape == widths.shape == (2000,)
    ends = auroc(scores["bayes"].mean, wrong).mean(axis=1)
    assert areas[0] == pytest.approx(ends[0])
    assert areas[-1] == pytest.approx(ends[-1])
    assert (grid(10)[0], grid(10)[-1]) == (1.0, 10.0)


def test_decided_stops_where_the_side_of_the_threshold_is_clear() -> None:
    mean = np.array([[0.5, 3.0, 0.5]])
    doubt = RULES["decided"](mean, np.array([[0.25, 0.25, 0.0]]), np.array([0.5, 0.5, 0.5]))
    assert doubt[0, 0] == pytest.approx(0.5)
    assert doubt[0, 1] == pytest.approx(2.87e-7, rel=0.01)
    assert doubt[0, 2] == pytest.approx(0.5)  # certain to be on the threshold itself: on neither side
    assert RULES["decided"](mean, np.zeros((1, 3)), np.array([0.1, 0.1, 0.1])).tolist() == [[0.0, 0.0, 0.0]]


def test_saving_is_the_first_budget_that_reaches_the_target() -> None:
    points, areas = np.array([1.0, 2.0, 4.0, 8.0]), np.array([0.6, 0.8, 0.7, 0.9])
    assert saving(points, areas, 0.75) == 0.2
    assert saving(points, areas, 0.85) == 0.8
    assert saving(points, areas, 0.95) is None


def test_results_of_known_beliefs(results: Results, beliefs: tuple[np.ndarray, dict[str, Scores]]) -> None:
    wrong, scores = beliefs
    cell = next(cell for cell in results.cells if (cell.estimator, cell.budget) == ("bayes", 7))
    areas = auroc(scores["bayes"].mean[6], wrong)
    assert cell.auroc == pytest.approx(areas.mean(), abs=1e-9)
    assert cell.low < cell.auroc < cell.high
    assert cell.half_width == pytest.approx((cell.high - cell.low) / 2)
    assert cell.half_width > 1.96 * areas.std(ddof=1) / np.sqrt(DRAWS)  # other questions count as well
    assert [(each.estimator, each.budget) for each in results.cells] == list(
        itertools.product(("bayes", "histogram", "length"), range(1, 11))
    )
    assert {each.auroc for each in results.cells if each.estimator == "length"} == {results.cells[20].auroc}
    assert [(each.estimator, each.rule) for each in results.savings] == [
        ("bayes", "variance"),
        ("bayes", "decided"),
    ]
    fraction = results.savings[0].fraction
    assert fraction is not None
    assert 0.1 <= fraction < 1
    assert {each.alpha for each in results.trials} == {0.25}
    assert {(each.estimator, each.against) for each in results.comparisons} == {
        ("histogram", "bayes"),
        ("length", "bayes"),
    }


def test_curve_and_saving_agree_in_the_json(results: Results) -> None:
    told = results.to_dict()
    assert [point["mean_budget"] for point in told["adaptive"]] == np.round(grid(BUDGET), 6).tolist()
    target = next(row for row in told["rows"] if (row["estimator"], row["budget"]) == ("histogram", 10))[
        "auroc"
    ]
    reached = next(point for point in told["adaptive"] if point["auroc"] >= target - 1e-6)
    assert told["saving"][0]["fraction"] == pytest.approx(reached["mean_budget"] / 10, abs=1e-3)
    assert {point["rule"] for point in told["rules"]["adaptive"]} == {"decided"}


def test_bars_without_a_bootstrap_are_over_the_draws_alone(
    beliefs: tuple[np.ndarray, dict[str, Scores]], results: Results
) -> None:
    wrong, scores = beliefs
    plain = measured(wrong, scores, bootstrap=0)
    cell = next(cell for cell in plain.cells if (cell.estimator, cell.budget) == ("bayes", 7))
    areas = auroc(scores["bayes"].mean[6], wrong)
    assert cell.half_width == pytest.approx(1.96 * areas.std(ddof=1) / np.sqrt(DRAWS), abs=1e-9)
    assert not plain.comparisons


def test_bold_is_what_no_other_beats_by_paired_differences(results: Results) -> None:
    for budget in (1, 5, 10):
        cells = {cell.estimator: cell for cell in results.cells if cell.budget == budget}
        best = max(cells.values(), key=lambda cell: cell.auroc)
        assert best.tied
        gaps = {each.estimator: each for each in results.comparisons if each.budget == budget}
        for name, cell in cells.items():
            if best.estimator == "bayes" and name != "bayes":
                assert cell.tied == (gaps[name].high >= 0)
    table = auroc_table(results, 10)
    assert [row[1].bold for row in table.rows if isinstance(row[1], TableEntry)].count(True) >= 1


def test_intervals_cover_the_truth_as_often_as_they_say() -> None:
    """Normal scores with a known AUROC: other questions and other draws each time."""
    rng = np.random.default_rng(4)
    truth, covered, trials = float(ndtr(1 / np.sqrt(2 + 2 * 0.5))), 0, 120
    for trial in range(trials):
        wrong = np.arange(80) % 2 == 0
        question = rng.normal(size=80) + wrong
        drawn = question + rng.normal(size=(5, 80)) * np.sqrt(0.5)
        low, high = interval(resampled_auroc(drawn, wrong, resamples=200, seed=trial))
        covered += low <= truth <= high
    assert 0.88 <= covered / trials <= 1.0


def test_resampling_draws_widens_the_interval() -> None:
    """A score that orders well in some draws and badly in others is uncertain, however many questions there are."""
    wrong = np.arange(400) % 2 == 0
    rng = np.random.default_rng(0)
    good, bad = wrong + 0.3 * rng.normal(size=400), rng.normal(size=400)
    low, high = interval(resampled_auroc(np.stack([good, bad, good, bad]), wrong, resamples=300))
    assert high - low > 0.3
    low, high = interval(resampled_auroc(np.stack([good] * 4), wrong, resamples=300))
    assert high - low < 0.05


def test_tables_in_three_forms(results: Results) -> None:
    table = auroc_table(results, 5)
    markdown, latex, page = to_markdown(table), to_latex(table), to_html(table)
    assert "### AUROC, N = 5" in markdown
    assert re.search(r"\*\*0\.\d{3} ± 0\.\d{3}\*\*", markdown)
    assert r"model/1 \& co" in latex
    assert re.search(r"\$\\mathbf\{0\.\d{3} \\pm 0\.\d{3}\}\$", latex)
    assert latex.count(r"\begin{tabular}") == latex.count(r"\end{tabular}") == 1
    assert "model/1 &amp; co" in page
    assert len({line.count("|") for line in markdown.splitlines() if line.startswith("|")}) == 1


def test_hostile_names_stay_text() -> None:
    table = ReportTable("t", "c", ("model",), (("<script>|\\_{}%",),))
    assert "<script>" not in to_html(table)
    assert "\\|" in to_markdown(table)
    assert r"\textbackslash{}\_\{\}\%" in to_latex(table)


def test_every_study_table_is_there(results: Results) -> None:
    titles = [table.title for table in study_tables(results)]
    assert titles[:10] == [f"AUROC, N = {n}" for n in range(1, 11)]
    assert titles[10:] == [
        "AURAC, N = 10",
        "Calibration error, N = 10",
        "Share of samples needed",
        "Comparisons",
        "Sensitivity to alpha",
    ]


def test_figure_shows_every_method(results: Results) -> None:
    figure = draw_recording(results, "model/1 & co", "d")
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert sorted(labels) == ["bayes (adaptive)", "histogram", "length"]
    assert figure_bytes(figure, "pdf").startswith(b"%PDF")
    assert figure_bytes(figure, "png") == figure_bytes(draw_recording(results, "model/1 & co", "d"), "png")


def test_figures_say_how_many_questions_what_share_and_what_the_bars_are(results: Results) -> None:
    for draw in (draw_recording, draw_ranking):
        for dark in (False, True):
            figure = draw(results, "model/1 & co", "d", dark=dark)
            said = figure._supxlabel.get_text()
            assert "n = 40 questions, 50% answered wrongly" in said
            assert "95% over questions and draws" in said
    assert (
        "at the first N with a variance of at most t"
        in draw_recording(results, "model/1 & co", "d")._supxlabel.get_text()
    )


def test_every_estimator_has_its_own_style() -> None:
    assert len(set(styles([*METHODS, "a stored score"]).values())) == len(METHODS) + 1


class Links(HTMLParser):
    """Collects what a page would ask for."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [
            value or "" for name, value in attrs if name in {"src", "srcset", "href", "data", "action"}
        ]


def test_report_is_one_file_that_asks_for_nothing(results: Results, tmp_path: Path) -> None:
    written = write_study(results, tmp_path / "deep" / "out")
    assert all(path.is_file() for path in written)
    page = (tmp_path / "deep" / "out" / "report.html").read_text()
    links = Links()
    links.feed(page)
    assert links.found
    assert all(link.startswith("data:") for link in links.found)
    assert "@import" not in page
    assert "url(" not in page
    assert "<script" not in page
    assert "a note" in page
    assert page.count('type="radio"') == page.count('class="budget"') == 10
    assert page.count(" checked") == 1
    assert "prefers-color-scheme: dark" in page
    assert 'name="viewport"' in page
    for name in ("figures/model-1-co--d.png", "figures/model-1-co--d.pdf", "tables.tex", "results.json"):
        assert (tmp_path / "deep" / "out" / name).stat().st_size > 500


def test_results_say_how_they_were_made(tmp_path: Path) -> None:
    path = graded_recording(tmp_path / "made.jsonl", questions=20)
    found = evaluate(
        [path], estimators=["histogram"], folds=2, budgets=[1, 2, 3, 5], seeds=3, seed=7, shuffle=True
    )
    held = found.provenance
    assert held is not None
    assert held.command == (
        "semtropy evaluate made.jsonl --estimators histogram --budgets 1-3,5 --seeds 3 --folds 2 --seed 7 "
        "--bootstrap 1000 --shuffle"
    )
    assert held.recordings == (("made.jsonl", hashlib.sha256(path.read_bytes()).hexdigest()),)
    assert {"semtropy", "python", "numpy", "scipy"} == set(held.versions)
    assert json.loads(found.to_json())["provenance"]["seed"] == 7
    write_study(found, tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_text()
    assert html.escape(held.command) in page
    assert str(held.recordings[0][1]) in page
    assert str(tmp_path) not in page


def test_missing_extra_crosses_processes() -> None:
    error = pickle.loads(pickle.dumps(MissingExtra("pyarrow", extra="study")))
    assert (error.package, error.extra) == ("pyarrow", "study")
    assert "semtropy[study]" in str(error)


HOSTILE = {
    "unfinished mathematics and a lone surrogate": "a $\\frac{x$ m\ud800",
    "two lines and control characters": "one\n\ntwo | \\ nul\x00bell\x07",
}


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE.keys())
def test_no_name_keeps_a_study_from_being_written(results: Results, tmp_path: Path, name: str) -> None:
    def renamed(part: Any) -> Any:
        known = {"model": name} | ({"estimator": f"probe {name}"} if hasattr(part, "estimator") else {})
        return replace(part, **known)

    parts = ("tested", "cells", "curves", "savings", "comparisons", "trials")
    hostile = replace(results, **{part: tuple(map(renamed, getattr(results, part))) for part in parts})
    written = write_study(hostile, tmp_path)
    assert {path.suffix for path in written} == {".json", ".md", ".tex", ".html", ".png", ".pdf"}
    assert json.loads((tmp_path / "results.json").read_text())["tested"][0]["model"] == name
    assert "could not be drawn" not in (tmp_path / "report.html").read_text()
    tables = (tmp_path / "tables.md").read_text()
    assert (
        len({line.count(" | ") for line in tables.split("###")[1].splitlines() if line.startswith("|")}) == 1
    )
    assert "\n\n" not in (tmp_path / "tables.tex").read_text().replace("\\end{table}\n\n", "")
    assert all(mark.isprintable() or mark == "\n" for mark in (tmp_path / "tables.tex").read_text())


def test_a_figure_that_fails_costs_no_results(
    results: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*given: object, **more: object) -> None:
        assert (tmp_path / "results.json").is_file(), "the numbers come first"
        raise ValueError("no font")

    monkeypatch.setattr(report, "FIGURES", (("", "AUROC", fail),))
    written = write_study(results, tmp_path)
    assert [path.name for path in written] == ["results.json", "tables.md", "tables.tex", "report.html"]
    assert "a figure could not be drawn (ValueError: no font)" in (tmp_path / "report.html").read_text()
