"""Long recordings: importers, methods of the field on the same votes, the claim prior, and `score`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from semtropy.claims import ClaimPrior
from semtropy.cli import main
from semtropy.errors import InputError, RecordingError
from semtropy.recording import read_recording
from semtropy.recording.importers import import_recording
from semtropy.study.claims import (
    METHODS,
    LongAnswer,
    average_precision,
    claims_json,
    claims_table,
    read_answers,
    study_claims,
)

RNG = np.random.default_rng(5)


def made(rates: list[float], wrong: list[bool], samples: int = 6) -> LongAnswer:
    supports = (RNG.random((len(rates), samples)) < np.array(rates)[:, None]).astype(float)
    contradicts = (1 - supports) * 0.5
    known = np.ones(len(rates), dtype=bool)
    return LongAnswer(supports, contradicts, np.array(wrong), known, np.linspace(0.2, 0.9, len(rates)))


ANSWERS = [made([0.9, 0.8, 0.1], [False, False, True]) for _ in range(10)] + [
    made([0.2, 0.1, 0.1], [True, True, True]) for _ in range(10)
]


def test_every_method_gives_a_figure_at_every_budget() -> None:
    figures = study_claims(ANSWERS, budgets=[1, 3, 99], seeds=2)
    assert {figure.method for figure in figures} == set(METHODS)
    assert {figure.budget for figure in figures} == {1, 3, 6}
    at = {(figure.method, figure.budget): figure.auroc for figure in figures}
    assert at["pooled", 1] > at["share", 1] > 0.6
    assert all(0 <= figure.precision <= 1 for figure in figures)
    table = claims_table(figures)
    assert table.count("\n") == 4 + len(METHODS)
    assert json.loads(json.dumps(claims_json(figures)))["claims"][0]["method"] == "pooled"


def test_methods_that_lack_their_votes_are_left_out() -> None:
    bare = [LongAnswer(a.supports, None, a.wrong, a.labelled, None) for a in ANSWERS]
    assert {figure.method for figure in study_claims(bare, budgets=[2], seeds=1)} == {
        "pooled",
        "share",
        "closeness",
    }


def test_closeness_is_that_of_a_graph_drawn_by_hand() -> None:
    # Claims a, b; the answer makes both, one sample supports a alone: a reaches answer and sample in 1 step, b in 2.
    votes = np.array([[1.0], [0.0]])
    answer = LongAnswer(votes, None, np.array([False, True]), np.ones(2, dtype=bool), None)
    scores = METHODS["closeness"](answer)
    assert scores is not None
    assert scores.tolist() == pytest.approx([1 - 3 / 4, 1 - 3 / 6])


def test_average_precision_against_its_definition() -> None:
    scores, wrong = np.array([0.9, 0.5, 0.5, 0.1]), np.array([True, False, True, False])
    assert average_precision(scores, wrong) == pytest.approx((1 / 1 + 2 / 3) / 2)


def test_one_label_is_not_enough() -> None:
    with pytest.raises(InputError, match="right and wrong"):
        study_claims([made([0.5], [True])])


def selfcheck(tmp_path: Path, **changed: Any) -> Path:
    row = {
        "gpt3_text": "Ada Lovelace (1815-1852) was a countess. She flew planes.",
        "wiki_bio_text": "Ada Lovelace was ...",
        "gpt3_sentences": ["Ada Lovelace (1815-1852) was a countess.", "She flew planes."],
        "annotation": ["accurate", "major_inaccurate"],
        "gpt3_text_samples": ["Ada Lovelace (1815-1852) was a countess.", "Ada Lovelace was a poet."],
        "wiki_bio_test_idx": 7,
    } | changed
    path = tmp_path / "wikibio.json"
    path.write_text(json.dumps([row]))
    return path


def test_the_layout_of_selfcheckgpt(tmp_path: Path) -> None:
    target = tmp_path / "out.jsonl"
    assert main(["import", "selfcheckgpt", str(selfcheck(tmp_path)), str(target)]) == 0
    (row,) = read_recording(target)
    assert row.id == "7"
    assert "Ada Lovelace" in row.question
    assert [claim["correct"] for claim in row.fields["claims"]] == [True, False]
    assert len(row.samples) == 2
    with pytest.raises(RecordingError, match="annotation"):
        import_recording("selfcheckgpt", selfcheck(tmp_path, annotation=["accurate"]), target)
    with pytest.raises(RecordingError, match="choose from"):
        import_recording("selfcheckgpt", selfcheck(tmp_path, annotation=["accurate", "fine"]), target)


def test_the_layout_of_factscore(tmp_path: Path) -> None:
    facts = [
        {"text": "Ada was born.", "label": "S"},
        {"text": "Ada flew.", "label": "NS"},
        {"text": "x", "label": "IR"},
    ]
    line = {
        "input": "Question: Tell me a bio of Ada.",
        "output": "Ada was born. Ada flew.",
        "topic": "Ada",
        "annotations": [
            {"text": "Ada was born.", "human-atomic-facts": facts},
            {"text": "?", "is-relevant": False},
        ],
        "samples": ["Ada was born."],
    }
    source, target = tmp_path / "fact.jsonl", tmp_path / "out.jsonl"
    source.write_text(json.dumps(line) + "\n")
    assert import_recording("factscore", source, target).notes == []
    (row,) = read_recording(target)
    assert [claim["correct"] for claim in row.fields["claims"]] == [True, False, None]
    source.write_text("{not json")
    with pytest.raises(RecordingError, match="not JSON"):
        import_recording("factscore", source, target)


def stored(tmp_path: Path, *, votes: Any = None) -> Path:
    path = tmp_path / "long.jsonl"
    lines = [json.dumps({"semtropy_recording": 1, "model": "m", "dataset": "d", "temperature": 1.0})]
    for number in range(6):
        wrong = number % 2 == 0
        claims = [
            {"text": "Ada was born.", "correct": True, "supports": votes or [1.0, 0.9, 1.0]},
            {
                "text": "Ada flew.",
                "correct": not wrong,
                "supports": [0.0, 0.1, 0.0] if wrong else [1.0, 1.0, 0.8],
            },
        ]
        row = {
            "id": str(number),
            "question": "Tell me about Ada.",
            "references": [],
            "answer": {"text": "Ada was born. Ada flew.", "correct": None},
            "samples": [
                {"text": "Ada was born."},
                {"text": "Ada was born. Ada sang."},
                {"text": "Ada was born."},
            ],
            "claims": claims,
        }
        lines.append(json.dumps(row))
    path.write_text("\n".join(lines) + "\n")
    return path


def test_evaluate_prints_and_writes_the_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "figures.json"
    options = ["--claims", "--budgets", "1-3", "--processes", "1"]
    assert main(["evaluate", str(stored(tmp_path)), *options, "--json", str(out)]) == 0
    assert "| pooled | " in capsys.readouterr().out
    assert {row["budget"] for row in json.loads(out.read_text())["claims"]} == {1, 2, 3}


def test_wrong_votes_name_their_place(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match=r"claims\[0\].supports"):
        read_answers([stored(tmp_path, votes=[1.0])])
    with pytest.raises(RecordingError, match="claims"):
        LongAnswer.of(next(iter(read_recording(_without_claims(tmp_path)))))


def _without_claims(tmp_path: Path) -> Path:
    path = tmp_path / "short.jsonl"
    row = {"id": "1", "question": "?", "references": [], "samples": [{"text": "a"}]}
    path.write_text(json.dumps({"semtropy_recording": 1}) + "\n" + json.dumps(row) + "\n")
    return path


def test_prior_fit_for_claims(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "prior.json"
    assert main(["prior", "fit", str(stored(tmp_path)), "--claims", "--out", str(out)]) == 0
    assert "6 answers" in capsys.readouterr().out
    prior = ClaimPrior.load(out)
    assert prior.trained_on == 6
    out.write_text("{}")
    with pytest.raises(InputError, match="not a claim prior"):
        ClaimPrior.load(out)


def test_score_judges_long_rows_by_their_claims(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", str(stored(tmp_path)), "--judge", "exact", "--json"]) == 0
    first = json.loads(capsys.readouterr().out.splitlines()[0])
    assert [claim["text"] for claim in first["claims"]] == ["Ada was born.", "Ada flew."]
    assert first["claims"][0]["supported"] == 3
    assert first["reason"] == "All stored samples were used."
