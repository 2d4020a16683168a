"""The tables of the comparison page, on a small recording and on scores whose measures are plain."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from benchmarks import compare
from benchmarks.compare_measures import Measured, mean_gap
from benchmarks.compare_page import MARKED, fill_page, tables
from benchmarks.compare_samples import choose_questions
from benchmarks.compare_scores import ALONE, BUDGETS
from benchmarks.other_tools import polygraph_calls

from recordings_made import graded_recording
from semtropy.recording import read_recording
from semtropy.study.evaluate.prepare import METHODS

ROOT = Path(__file__).resolve().parents[2]
QUESTIONS = 24


def compared(path: Path, work: Path, *more: str) -> int:
    """Run the comparison of one recording without the built-in judge."""
    options = ["--judge", "exact", "--processes", "1", "--work", str(work)]
    return compare.main([f"{path}@{QUESTIONS}", *options, *more])


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the finished steps of a small recording, which is beside it."""
    folder = tmp_path_factory.mktemp("compare")
    assert compared(graded_recording(folder / "small.jsonl", questions=30, samples=6), folder / "work") == 0
    return folder / "work"


def again(work: Path, *more: str) -> int:
    return compared(work.parent / "small.jsonl", work, *more)


def test_every_method_has_a_row_or_a_missing_column(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    held = json.loads((work / "small.ours.json").read_text())
    assert {*held["scores"], *held["dropped"]} == {*METHODS, "bayes, samples alone"}
    assert held["dropped"]["kuhn"] == "samples[].token_logprobs"
    assert held["dropped"]["p-true"] == "p_true"
    assert len(held["wrong"]) == QUESTIONS
    assert again(work) == 0
    said = capsys.readouterr()
    assert "small: lm-polygraph and uqlm are left out" in said.err
    assert f"| small | {QUESTIONS} of 30 |" in said.out
    assert "The other tools were not run." in said.out
    assert all(f"\n| `{name}` |" in said.out for name in held["scores"])


def test_scores_of_the_answer_need_no_sample_and_others_do(work: Path) -> None:
    held = json.loads((work / "small.ours.json").read_text())
    numbers = {name: list(map(int, own)) for name, own in held["scores"].items()}
    assert numbers["bayes"] == numbers["length"] == list(BUDGETS)
    assert numbers["bayes, samples alone"] == numbers["histogram"] == numbers["eigv"] == list(BUDGETS[1:])
    assert held["scores"]["bayes"]["1"] != held["scores"]["bayes, samples alone"]["1"]
    asked = held["judgements"]
    assert asked["length"] == asked["unseen"] == asked["predictive-entropy"] == 0
    assert asked["histogram"] == asked["bayes"] == 0, "answers that differ in a number need no judge"
    assert asked["eigv"] == asked["kle"] > 0


def test_a_finished_step_is_not_made_again(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compare, "our_scores", lambda *given: pytest.fail("made again"))
    assert again(work) == 0


def test_scores_of_other_tools_stand_beside_ours(
    work: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ours = json.loads((work / "small.ours.json").read_text())
    own = {n: ours["scores"]["eigv"][n] for n in ("2", "5", "10")}
    name = "lm-polygraph/EigValLaplacian_NLI_score_entail"
    errors = {str(n): {"twice": 3 * n, "one-way": 0, "more than 1": 0} for n in BUDGETS[1:]}
    theirs = {
        "scores": {name: own},
        "milliseconds": {name: 0.25},
        "judgements": {name: 12.5},
        "undefined": {name: [1]},
        "errors": errors,
    }
    for file in work.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "small.theirs.json").write_text(json.dumps(theirs))
    assert compared(work.parent / "small.jsonl", tmp_path) == 0
    said = capsys.readouterr().out
    assert f"| `eigv` | `{name}` | 3 | 0.000 | 0.000 |" in said
    assert f"| `{name}` | 5 | 12.5 | 0.25 |" in said
    assert "| small | 3 / 6 / 15 / 30 | 0 / 0 / 0 / 0 |" in said
    assert f"Undefined: `{name}` at N = 1." in said


@pytest.mark.parametrize(
    ("script", "said"), [(None, "cannot be run"), ("#!/bin/sh\nexit 1\n", "install lm-polygraph")]
)
def test_tools_that_are_not_there_are_named(
    work: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], script: str | None, said: str
) -> None:
    python = tmp_path / "python"
    if script is not None:
        python.write_text(script)
        python.chmod(0o755)
    assert again(work, "--tools", str(python)) == 2
    line = capsys.readouterr().err.strip()
    assert line.startswith(f"benchmarks.compare: --tools {python}: ")
    assert said in line
    assert "\n" not in line


def scored(**scores: Any) -> Measured:
    """Four questions, the last two answered wrongly, with one draw of scores for each method at five samples."""
    held = {
        "questions": 4,
        "wrong": [False, False, True, True],
        "truth": [0.0, 0.1, 0.2, 0.3],
        "scores": {name: {"5": [values]} for name, values in scores.items()},
        "milliseconds": dict.fromkeys(scores, 1.0),
        "judgements": dict.fromkeys(scores, 2.0),
        "dropped": {"kuhn": "samples[].token_logprobs", "semantic-density": "samples[].token_logprobs"},
    }
    return Measured("made", held)


def test_measures_that_are_plain() -> None:
    made = scored(bayes=[1, 2, 3, 4], histogram=[0, 0, 0, 0], length=[4, 3, 2, 1])
    best, blind, wrong = (made.outcomes[name, 5] for name in ("bayes", "histogram", "length"))
    assert (best.auroc, best.rank, best.tied, best.half_width) == (1.0, pytest.approx(1.0), True, 0.0)
    assert (blind.auroc, blind.rank, blind.tied) == (0.5, 0.0, False)
    assert (wrong.auroc, wrong.rank, wrong.tied) == (0.0, pytest.approx(-1.0), False)
    gap = mean_gap([made, made], "histogram", 5)
    assert gap is not None
    assert (gap.auroc, gap.low, gap.high, gap.rank, gap.recordings) == (
        -0.5,
        -0.5,
        -0.5,
        pytest.approx(-1.0),
        2,
    )
    assert made.gap("histogram", 1) is None


def test_tables_say_what_is_missing_and_who_is_better() -> None:
    made = tables([scored(bayes=[4, 3, 2, 1], histogram=[1, 2, 3, 4])])
    assert "1 of 1 comparisons (recording, N, method) with `bayes`:" in made["beaten"]
    assert "| made | 5 | `histogram` +1.000 (+1.000 to +1.000) |" in made["beaten"]
    assert "`kuhn`, `semantic-density` (samples[].token_logprobs)" in made["recordings"]
    assert "| `histogram` | 1 | – | – | – | **+1.000** ± 0.000 / " in made["overview"]
    alone = {ALONE: [0, 0, 0, 0], "g-nll": [1, 2, 3, 4], "evidential": [1, 2, 3, 4]}
    said = tables([scored(bayes=[1, 2, 3, 4], **alone)])["beaten"]
    assert said.startswith("None of 3 comparisons (recording, N, method) with `bayes`.")
    assert f"1 of 1 comparisons (recording, N, method) with `{ALONE}`:" in said
    assert "| made | 5 | `evidential` +0.500 (+0.500 to +0.500) |" in said


def test_a_page_is_filled_and_one_without_places_is_refused(tmp_path: Path) -> None:
    every = [scored(bayes=[1, 2, 3, 4], histogram=[0, 0, 0, 0])]
    page = tmp_path / "page.md"
    places = [
        f"<!-- made by `python -m benchmarks.compare`: {name} -->\nold\n<!-- end of {name} -->\n"
        for name in tables(every)
    ]
    page.write_text("# Title\n\n" + "\n".join(places) + "\nThe end.\n")
    fill_page(every, page)
    first = page.read_text()
    assert "old" not in first
    assert first.endswith("The end.\n")
    fill_page(every, page)
    assert page.read_text() == first
    page.write_text("# Title\n" + "\n".join(places[1:]))
    with pytest.raises(SystemExit, match="needs one place for each of recordings, overview"):
        fill_page(every, page)


def test_the_page_in_the_docs_has_a_place_for_every_table() -> None:
    text = (ROOT / "docs" / "methods.md").read_text(encoding="utf-8")
    assert sorted(found["name"] for found in MARKED.finditer(text)) == sorted(
        tables([scored(bayes=[1, 2, 3, 4])])
    )
    assert all(f"\n| `{name}` |" in text for name in METHODS), "a method has no row: make the page again"


def test_questions_are_chosen_by_their_ids(tmp_path: Path) -> None:
    source = graded_recording(tmp_path / "all.jsonl", questions=20)
    header, *rows = source.read_text().splitlines()
    (tmp_path / "turned.jsonl").write_text("\n".join([header, *reversed(rows)]) + "\n")
    for name in ("all", "turned"):
        choose_questions(tmp_path / f"{name}.jsonl", tmp_path / f"{name}.chosen.jsonl", 5)
    assert (tmp_path / "all.chosen.jsonl").read_bytes() == (tmp_path / "turned.chosen.jsonl").read_bytes()
    ids = [row.id for row in read_recording(tmp_path / "all.chosen.jsonl")]
    assert len(ids) == 5
    assert ids == sorted(ids, key=int) != ["0", "1", "2", "3", "4"]


def test_judgements_of_lm_polygraph_are_counted() -> None:
    question = {"samples": [{"text": 0}, {"text": 1}, {"text": 1}], "orders": [[0, 1, 2]]}
    assert polygraph_calls({"semantic_matrix_entail"}, [question], 3) == 4
    assert polygraph_calls({"greedy_sentence_similarity"}, [question], 3) == 4
    assert polygraph_calls({"greedy_sentence_similarity"}, [question], 1) == 2
    assert polygraph_calls({"sample_log_probs"}, [question], 3) == 0
