"""Scoring answers that are already there: the function and the command."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import semtropy
from semtropy import Belief, Beliefs, Evidence, Partition, Sample
from semtropy.cli import main
from semtropy.errors import InputError, MissingExtra, RecordingError
from semtropy.estimators import load_estimator
from semtropy.recording import Header, Row, write_recording
from semtropy.scoring import Scored, row_scoring, score
from semtropy.verdict import Verdict

HEADER = {"semtropy_recording": 1, "model": "m", "dataset": "d", "temperature": 1.0, "eos_included": True}


class Mirror:
    """An estimator that shows what it was given."""

    name = "mirror"
    has_variance = True
    uses_answer = False

    def __init__(self) -> None:
        self.seen: list[Evidence] = []

    def __call__(self, evidence: Evidence) -> Belief:
        self.seen.append(evidence)
        return Belief(float(len(evidence.counts)), 0.25, notes=("seen",))

    def batch(self, evidences: Sequence[Evidence]) -> Beliefs:
        beliefs = [self(evidence) for evidence in evidences]
        return Beliefs(np.array([b.mean for b in beliefs]), np.array([b.variance for b in beliefs]))


def seen(*arguments: Any, **options: Any) -> Evidence:
    mirror = Mirror()
    score(*arguments, estimator=mirror, **options)
    return mirror.seen[0]


class FirstLetter:
    """A judge: answers that start alike mean the same."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, str]] = []

    def entails(self, batch: Sequence[tuple[str, str, str]]) -> Any:
        self.asked += batch
        return np.array([float(a[:1].lower() == b[:1].lower()) for _, a, b in batch])


# --- the function ------------------------------------------------------------------------------------------------


def test_it_is_exported() -> None:
    assert semtropy.score is score


def test_meanings_given_are_used_as_they_are() -> None:
    evidence = seen(
        ["Paris", "It is Paris", "Rome", "Paris"], meanings=["x", "x", "y", "x"], judge=FirstLetter()
    )
    assert evidence.counts == (3, 1)
    assert seen(["a", "b"], meanings=np.array([4, 4])).counts == (2,)


def test_log_probabilities_and_tokens_make_floors() -> None:
    texts = ["Paris", "Paris", "Paris", "Rome"]
    logprobs = [-1.0, -1.0, -2.0, None]
    by_text = seen(texts, logprobs=logprobs, meanings=[0, 0, 0, 1])
    assert by_text.distinct == (2, 0)
    assert by_text.floors == (math.exp(-1) + math.exp(-2), 0.0)
    by_tokens = seen(texts, logprobs=logprobs, meanings=[0, 0, 0, 1], tokens=[[1], [1], [2, 3], None])
    assert by_tokens == by_text
    tokens = [[1], [1], [1], [2]]
    same_tokens = seen(
        texts, logprobs=np.array([-1.0, -1.0, -1.0, -3.0]), meanings=[0, 0, 0, 1], tokens=tokens
    )
    assert same_tokens.distinct == (1, 1)


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.integers(0, 2), st.none() | st.just(-1.0)),
        min_size=1,
        max_size=8,
    )
)
def test_it_is_the_estimator_on_gathered_evidence(draws: list[tuple[str, int, float | None]]) -> None:
    texts, meanings, logprobs = zip(*draws, strict=True)
    expected = Evidence.gather([Sample(text, logprob) for text, _, logprob in draws], Partition.of(meanings))
    assert seen(texts, meanings=meanings, logprobs=logprobs) == expected
    assert (
        score(texts, meanings=meanings, estimator="histogram").mean
        == load_estimator("histogram")(expected).mean
    )


def test_the_judge_groups_what_has_no_meaning() -> None:
    judge = FirstLetter()
    evidence = seen(["Paris", "paris, France", "Rome", "Paris"], question="Capital?", judge=judge)
    assert evidence.counts == (3, 1)
    assert {asked[0] for asked in judge.asked} == {"Capital?"}


def test_given_meanings_are_completed() -> None:
    judge = FirstLetter()
    # "b" takes the meaning of the other "b"; "apple" that of "a", which the judge finds equal; "c" has its own.
    evidence = seen(
        ["a", "b", "b", "apple", "c", "c"], meanings=["x", "y", None, None, None, None], judge=judge
    )
    assert evidence.counts == (2, 2, 2)
    assert seen(["b", "b"], meanings=[0, None]).counts == (2,)


def test_identical_answers_with_different_meanings_are_told() -> None:
    belief = score(["a", "a"], meanings=[0, 1], estimator="histogram")
    assert belief.mean == pytest.approx(math.log(2))
    assert belief.notes == ("some identical answers were given different meanings",)
    assert score(["a", "a"], meanings=[0, 0], estimator="histogram").notes == ()


def test_a_judge_by_name() -> None:
    assert seen(["12", "twelve", "13"], judge="numeric").counts == (2, 1)
    with pytest.raises(InputError, match="no judge is called 'nobody'"):
        score(["a", "b"], judge="nobody", estimator="histogram")


def test_without_the_built_in_judge_spelling_decides_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    import semtropy.meaning

    real = semtropy.meaning.load_judge

    def bare(name: str | None = None) -> Any:
        if name is None:
            raise MissingExtra("onnxruntime", extra="local")
        return real(name)

    monkeypatch.setattr(semtropy.meaning, "load_judge", bare)
    belief = score(["The Paris.", "paris", "Rome"], estimator="histogram")
    assert belief.mean == pytest.approx(load_estimator("histogram")(Evidence(counts=(2, 1))).mean)
    assert "grouped by spelling alone" in belief.notes[0]


@pytest.mark.parametrize(
    ("texts", "options", "message"),
    [
        ("Paris", {}, "texts is one string"),
        ([], {}, "texts is empty"),
        (["a", None], {"meanings": [0, 0]}, r"texts\[1\] is of type NoneType: expected text"),
        (["a"], {"meanings": [0, 1]}, "meanings has 2 entries for 1 texts"),
        (["a"], {"meanings": [0], "logprobs": []}, "logprobs has 0 entries for 1 texts"),
        (["a"], {"meanings": [0], "tokens": [[1], [2]]}, "tokens has 2 entries for 1 texts"),
        (
            ["a"],
            {"meanings": [0], "logprobs": [math.nan]},
            r"logprobs\[0\] is nan: expected a finite number, or None",
        ),
        (
            ["a"],
            {"meanings": [0], "logprobs": [0.9]},
            r"logprobs\[0\] is 0.9: a log-probability is at most 0",
        ),
        (["a"], {"meanings": [0], "logprobs": ["low"]}, r"logprobs\[0\] is 'low': expected a number"),
        (["a"], {"meanings": [[0]]}, r"meanings holds \[0\], a list"),
        (["a"], {"meanings": [0], "estimator": "magic"}, "no estimator is called 'magic'"),
        (
            ["a"],
            {"meanings": [0], "estimator": "histogram", "prior": 1},
            "the estimator histogram takes no prior",
        ),
        (
            ["a"],
            {"meanings": [0], "estimator": Mirror(), "prior": 1},
            "prior is for an estimator given by name",
        ),
    ],
)
def test_bad_input_is_named(texts: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        score(texts, **options)


# --- rows of a recording -----------------------------------------------------------------------------------------

ROWS = [
    {
        "id": "q1",
        "question": "Capital of France?",
        "answer": {"text": "Paris", "correct": True},
        "samples": [
            {"text": "Paris", "logprob": -0.5, "meaning": 3},
            {"text": "paris", "logprob": -3.0, "meaning": 3},
            {"text": "Rome", "logprob": -2.0, "meaning": 1},
            {"text": "Paris", "logprob": -0.5, "meaning": 3},
        ],
    },
    {"id": "q2", "question": "2 + 2?", "samples": [{"text": "4", "meaning": 0}, {"text": "4", "meaning": 0}]},
]


def score_rows(rows: list[Row], *arguments: Any, **options: Any) -> Iterator[Scored]:
    return row_scoring(*arguments, **options)(rows)


def test_a_row_becomes_a_verdict() -> None:
    (first, second) = score_rows([Row(row) for row in ROWS], "histogram")
    assert (first.id, first.correct, first.flagged, second.flagged) == ("q1", True, False, False)
    found = first.verdict
    assert [(m.text, m.count, m.floor) for m in found.meanings] == [
        ("Paris", 3, math.exp(-0.5) + math.exp(-3)),
        ("Rome", 1, math.exp(-2)),
    ]
    assert (second.verdict.answer, second.correct, second.verdict.samples) == ("4", None, 2)
    assert Verdict.from_dict(first.to_dict()).to_dict() == {
        key: value for key, value in first.to_dict().items() if key not in ("id", "correct")
    }


def test_log_probabilities_that_are_no_floors_are_told() -> None:
    row = Row(ROWS[0], header=Header({**HEADER, "eos_included": False}))
    (line,) = score_rows([row], Mirror())
    assert line.verdict.warnings[:2] == (
        "seen",
        "log-probabilities were not used: the log-probabilities leave out the end token (eos_included)",
    )


@dataclass(frozen=True)
class HalfSure:
    estimator: str = "histogram"

    def __call__(self, belief: Belief) -> float:
        return 0.4

    def flags(self, belief: Belief) -> bool | None:
        return True


def test_a_calibration_says_how_probable_and_whether_to_flag() -> None:
    (line, _) = score_rows([Row(row) for row in ROWS], "histogram", calibration=HalfSure())
    assert (line.verdict.probability, line.flagged, line.to_dict()["flagged"]) == (0.4, True, True)


def test_a_judge_fills_what_is_missing() -> None:
    row = Row({**ROWS[0], "samples": [{"text": "Paris"}, {"text": "pari"}, {"text": "Rome"}]})
    (line,) = score_rows([row], "histogram", judge=FirstLetter())
    assert [meaning.count for meaning in line.verdict.meanings] == [2, 1]
    (line,) = score_rows([row], "histogram")  # the built-in judge
    assert [meaning.count for meaning in line.verdict.meanings] == [1, 1, 1]


def test_the_answer_is_grouped_with_its_samples() -> None:
    samples = [{"text": "Lyon"}, {"text": "Paris, of course"}]
    (line,) = score_rows([Row({**ROWS[0], "samples": samples})], judge=FirstLetter())
    assert [(meaning.text, meaning.has_answer) for meaning in line.verdict.meanings] == [
        ("Lyon", False),
        ("Paris, of course", True),
    ]


def test_rows_with_and_without_meanings_keep_their_order() -> None:
    bare = [{"text": "Rome"}, {"text": "Oslo"}, {"text": "Rome"}]
    rows = [{**ROWS[n % 2], "id": str(n), **({} if n % 3 else {"samples": bare})} for n in range(40)]
    done: list[int] = []
    lines = list(score_rows([Row(row) for row in rows], "histogram", judge="exact", watch=done.append))
    assert [line.id for line in lines] == [str(n) for n in range(40)]
    assert {line.verdict.samples for line in lines[::3]} == {3}
    assert done == list(range(1, 15))


def test_a_script_the_judge_cannot_read_is_noted() -> None:
    row = Row({**ROWS[1], "samples": [{"text": "Москва"}, {"text": "Киев"}]})
    (line,) = score_rows([row], "histogram")
    assert "Both answers are in a script" in " ".join(line.verdict.warnings)
    (line,) = score_rows([Row(ROWS[1])], "histogram")
    assert "script" not in " ".join(line.verdict.warnings)


def test_estimators_that_look_at_the_answer() -> None:
    row = {**ROWS[0], "answer": {"text": "Paris", "logprob": -0.25}, "p_true": 0.9}
    (doubted,) = score_rows([Row({**row, "p_true": 0.2})], "p-true")
    (trusted,) = score_rows([Row(row)], "p-true")
    assert doubted.verdict.entropy.mean > trusted.verdict.entropy.mean
    assert (trusted.flagged, trusted.to_dict()["flagged"]) == (None, None)
    (likely,) = score_rows([Row(row)], "log-likelihood")
    (unlikely,) = score_rows([Row({**row, "answer": {"text": "Paris", "logprob": -9.0}})], "log-likelihood")
    assert unlikely.verdict.entropy.mean > likely.verdict.entropy.mean
    with pytest.raises(RecordingError, match="p_true: is missing: p-true needs it"):
        list(score_rows([Row(ROWS[0])], "p-true"))
    with pytest.raises(RecordingError, match=r"answer\.logprob: is missing: log-likelihood needs it"):
        list(score_rows([Row(ROWS[0])], "log-likelihood"))


def test_bayes_is_the_default_and_has_an_interval() -> None:
    belief = score(["Paris", "Paris", "Rome"], meanings=[0, 0, 1], logprobs=[-0.5, -0.5, -2.0])
    interval = belief.interval(0.9)
    assert belief.variance is not None
    assert interval is not None
    assert 0 <= interval[0] < belief.mean < interval[1]
    (line, _) = score_rows([Row(row) for row in ROWS])
    assert line.verdict.entropy.interval is not None


# --- the command -------------------------------------------------------------------------------------------------


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    path = tmp_path / "run.jsonl"
    write_recording(path, HEADER, ROWS)
    return path


def test_the_table(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", str(recording), "--estimator", "histogram"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["id", "entropy", "90%", "interval", "meanings", "samples", "answer"]
    assert lines[1].split() == ["q1", "0.562", "2", "4", "Paris"]
    assert lines[2].split() == ["q2", "0.000", "1", "2", "4"]
    assert lines[3] == "2 questions, 0 flagged"


def test_json_lines(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", str(recording), "--estimator", "histogram", "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["id"] for line in lines] == ["q1", "q2"]
    assert lines[0]["entropy"] == {"mean": pytest.approx(0.5623351446), "variance": None, "interval": None}
    assert lines[0]["samples"] == 4


def test_lines_come_before_an_error_further_down(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recording.write_text(recording.read_text() + '{"id": "q3", "question": "?", "samples": [{"text": 4}]}\n')
    assert main(["score", str(recording), "--estimator", "histogram", "--json"]) == 1
    said = capsys.readouterr()
    assert len(said.out.splitlines()) == 2
    assert said.err == f"semtropy: {recording}, line 4, samples[0].text: expected text, found a number (4)\n"


def test_it_groups_by_itself_and_shows_how_far_it_is(
    recording: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    samples = [{"text": "Paris"}, {"text": "It is Paris."}, {"text": "Rome"}]
    rows = [{"id": str(n), "question": "Capital of France?", "samples": samples} for n in range(20)]
    write_recording(
        recording, HEADER, [*ROWS, *rows, {**rows[0], "id": "Киев", "samples": [{"text": "Киев"}]}]
    )
    for name in ("_FIRST", "_NEXT"):
        monkeypatch.setattr(f"semtropy.cli.progress.{name}", 0.0)
    assert main(["score", str(recording), "--estimator", "histogram"]) == 0
    said = capsys.readouterr()
    lines = [line.split()[:4] for line in said.out.splitlines()[3:-1]]
    assert lines == [*([str(n), "0.637", "2", "3"] for n in range(20)), ["Киев", "0.000", "1", "1"]]
    progress = [line for line in said.err.splitlines() if line.startswith("grouping by meaning: ")]
    assert len(progress) == 21
    assert re.fullmatch(
        r"grouping by meaning: 1/21 questions, [0-9.]+ (?:a second|s each), \d+:\d\d:\d\d left", progress[0]
    )
    assert progress[-1].endswith("0:00:00 left")


@pytest.mark.parametrize("patience", [0.0, 60.0])
def test_an_error_further_down_comes_after_what_was_grouped(
    recording: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, patience: float
) -> None:
    """Also where a line of progress is due, for which the rows are counted."""
    monkeypatch.setattr("semtropy.cli.progress._FIRST", patience)
    write_recording(recording, HEADER, [{**row, "samples": [{"text": "4"}, {"text": "5"}]} for row in ROWS])
    recording.write_text(recording.read_text() + '{"id": "q3", "question": "?", "samples": 4}\n')
    assert main(["score", str(recording), "--estimator", "histogram", "--json"]) == 1
    said = capsys.readouterr()
    assert [json.loads(line)["id"] for line in said.out.splitlines()] == ["q1", "q2"]
    assert "line 4" in said.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--estimator", "magic"], "no estimator is called 'magic'"),
        (["--estimator", "histogram", "--judge", "nobody"], ""),
    ],
)
def test_errors_are_one_line(
    options: list[str], message: str, recording: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_recording(recording, HEADER, [{**ROWS[0], "samples": [{"text": "a"}, {"text": "b"}]}])
    assert main(["score", str(recording), *options]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert len(said.splitlines()) == 1


def test_a_missing_file_and_a_wrong_option(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", str(tmp_path / "absent.jsonl"), "--estimator", "histogram"]) == 1
    assert "absent.jsonl: cannot be read: No such file or directory" in capsys.readouterr().err
    with pytest.raises(SystemExit) as stopped:
        main(["score"])
    assert stopped.value.code == 2


def test_the_agreement_of_a_hundred_samples_that_differ() -> None:
    """Seen in a recording: components of two kinds that share their factors are integrated one kind at a time."""
    counts = [7, 3, 12, 3, 1, 2, 2, 2, 8, 1, 1, 2, 1, 1, 2, 1, 1, 1, 3, 1, 1, 3, *[1] * 12, 2, *[1] * 27]
    texts = [str(meaning) for meaning, count in enumerate(counts) for _ in range(count)]
    belief = score(texts, answer="2", judge="exact")
    assert belief.agreement is not None
    assert belief.agreement.mean == pytest.approx(12 / 100, abs=0.03)


@pytest.mark.parametrize("logprob", [-700.0, -750.0, -1e4, -1e308])
@pytest.mark.parametrize("n", [0, 1, 3])
def test_a_long_text_may_be_all_but_impossible(logprob: float, n: int) -> None:
    """The probability of a thousand tokens is 0 as a float, which no meaning that was seen can have."""
    answer = semtropy.Sample("a", sampling_logprob=logprob)
    belief = semtropy.score(["b"] * n, logprobs=[logprob] * n, answer=answer, judge="exact")
    assert math.isfinite(belief.mean)
    plain = semtropy.score(
        ["b"] * n, logprobs=[-600.0] * n, answer=replace(answer, sampling_logprob=-600.0), judge="exact"
    )
    # The fits that the default prior combines differ in how they explain so improbable an answer, but not by much.
    assert belief.mean == pytest.approx(plain.mean, rel=0.02)
