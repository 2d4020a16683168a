"""The study: the same draws for all, whatever the processes, the hash seed or the order of the rows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semtropy import Beliefs, Evidence, Partition
from semtropy.cli import main
from semtropy.cli.evaluate import parse_budgets
from semtropy.errors import InputError, RecordingError
from semtropy.estimators import NAMES, load_estimator
from semtropy.recording import Header, Recording, Row, write_recording
from semtropy.study.evaluate import METHODS, evaluate
from semtropy.study.evaluate.prepare import Split
from semtropy.study.evaluate.resampling import (
    ResamplingPlan,
    StudyQuestion,
    estimate_orders,
    natural_key,
    sample_order,
    sorted_by_id,
    without_repeats,
)

CHEAP = ["histogram", "length"]
PAIRWISE = {"coverage", "alphabet", "eigv", "degree", "kle", "semantic-density", "cocoa"}


def row(place: int, rng: np.random.Generator, *, samples: int = 20, full: bool = True) -> dict[str, object]:
    """A made-up question: the more meanings it has, the likelier its answer is wrong."""
    size = int(rng.integers(1, 6))
    answers = [{"text": f"a{pick}", "meaning": int(pick) // 2} for pick in rng.integers(0, 2 * size, samples)]
    if full:
        for answer in answers:
            answer["token_logprobs"] = [-0.5 - 0.2 * int(answer["meaning"]), -1.0 - 0.1 * size]
            answer["logprob"] = sum(answer["token_logprobs"])
    return {
        "id": f"q{place}",
        "question": "?",
        "answer": {
            "text": "a" * int(rng.integers(1, 9)),
            "correct": bool(rng.random() > size / 6),
            "logprob": -size / 2,
        },
        "samples": answers,
        "p_true": float(rng.random()),
    }


def made(questions: int = 60, *, seed: int = 0, model: str = "m", full: bool = True) -> Recording:
    rng = np.random.default_rng(seed)
    header = Header.make(model=model, dataset="d", temperature=1.0, eos_included=True)
    return Recording(
        header, tuple(Row(row(place, rng, full=full), header=header) for place in range(questions))
    )


class Variance:
    """A stand-in with a variance: the share of samples outside the largest meaning, firmer as samples grow."""

    name = "stand-in"
    has_variance = True
    uses_answer = False

    def __init__(self) -> None:
        self.seen: list[int] = []

    def batch(self, evidences: Sequence[Evidence]) -> Beliefs:
        self.seen.append(len(evidences))
        share = np.array([1 - max(evidence.counts) / evidence.n for evidence in evidences])
        return Beliefs(share, np.array([1 / evidence.n for evidence in evidences]))


def test_natural_order() -> None:
    assert sorted(["q10", "q9", "b", "q", "10", "9"], key=natural_key) == ["9", "10", "b", "q", "q9", "q10"]


@given(st.lists(st.text(max_size=6), max_size=8))
def test_natural_order_is_total(ids: list[str]) -> None:
    turned = ids[::-1]
    assert sorted(ids, key=natural_key) == sorted(turned, key=natural_key)
    assert len({natural_key(each) for each in ids}) == len(set(ids))


def test_a_smaller_budget_is_a_prefix() -> None:
    question = StudyQuestion.of(made(1).rows[0])
    long, short = (sample_order(question, ResamplingPlan(budget=budget, seed=3), 1) for budget in (10, 4))
    assert long[:4] == short


def test_draws_differ_between_seeds_draws_and_questions() -> None:
    first, second = (StudyQuestion.of(each) for each in made(2).rows)
    orders = [
        sample_order(first, ResamplingPlan(), 0),
        sample_order(first, ResamplingPlan(), 1),
        sample_order(first, ResamplingPlan(seed=1), 0),
        sample_order(second, ResamplingPlan(), 0),
    ]
    assert len(set(map(tuple, orders))) == 4


def test_draws_reach_every_sample_with_repeats() -> None:
    question = StudyQuestion.of(made(1).rows[0])
    orders = [sample_order(question, ResamplingPlan(), draw) for draw in range(60)]
    assert {pick for order in orders for pick in order} == set(range(20))  # the last one too
    assert any(len(set(order)) < len(order) for order in orders)


def test_beliefs_are_those_of_the_evidence_gathered_one_by_one() -> None:
    rows = made(5).rows
    plan = ResamplingPlan(budget=4, repeats=2)
    asked = [StudyQuestion.of(each) for each in rows]
    scores = estimate_orders(asked, {"stand-in": Variance()}, plan)["stand-in"]
    assert scores.mean.shape == (4, 2, 5)
    for place, each in enumerate(rows):
        for draw in range(2):
            order = sample_order(asked[place], plan, draw)
            for n in range(1, 5):
                samples = [each.samples[pick] for pick in order[:n]]
                meanings = Partition.of([each.meanings[pick] for pick in order[:n]])
                expected = Variance().batch([Evidence.gather(samples, meanings)])
                assert scores.mean[n - 1, draw, place] == expected.mean[0]
                assert scores.variance is not None
                assert scores.variance[n - 1, draw, place] == 1 / n


def test_beliefs_at_some_steps_are_those_of_all() -> None:
    asked = [StudyQuestion.of(each) for each in made(5).rows]
    whole = estimate_orders(asked, {"stand-in": Variance()}, ResamplingPlan(budget=5, repeats=2))["stand-in"]
    some = estimate_orders(
        asked, {"stand-in": Variance()}, ResamplingPlan(budget=5, repeats=2, steps=(2, 5))
    )["stand-in"]
    assert np.array_equal(some.mean, whole.mean[[1, 4]])


def test_shuffled_questions_are_split_by_chance_and_always_the_same() -> None:
    recording = made(30)
    turned = Recording(recording.header, tuple(reversed(recording.rows)))
    order, again, other = (
        [row.id for row in Split(shuffle=seed).order(sorted_by_id(rows))]
        for seed, rows in ((0, recording), (0, turned), (1, recording))
    )
    plain = [row.id for row in Split().order(sorted_by_id(turned))]
    assert order == again
    assert sorted(order) == sorted(plain)
    assert len({tuple(order), tuple(other), tuple(plain)}) == 3


def test_samples_without_a_probability_are_counted_not_dropped() -> None:
    recording = made(30)
    rows = [json.loads(json.dumps(dict(row))) for row in recording.rows]
    rows[25]["samples"][3]["complete"] = False
    rows[26]["samples"][0]["complete"] = False
    cut = Recording(recording.header, tuple(Row(row, header=recording.header) for row in rows))
    results = evaluate([cut], train=20, budgets=[2], estimators=["rescaled", "histogram"])
    assert results.estimators == ("rescaled", "histogram")
    [note] = results.notes
    assert "2 of 200 samples have no probability" in note


def test_equal_evidence_is_estimated_once() -> None:
    easy = {"id": "1", "question": "?", "samples": [{"text": "a", "logprob": -0.1, "meaning": 0}] * 30}
    estimator = Variance()
    estimate_orders(
        [StudyQuestion.of(Row(easy))], {"stand-in": estimator}, ResamplingPlan(budget=10, repeats=50)
    )
    assert estimator.seen == [10]  # one a budget, not 500


def test_what_bayes_does_not_look_at_does_not_change_its_beliefs() -> None:
    """The study estimates evidence without repeats and order: the same to the digits that order questions."""
    bayes = load_estimator("bayes")
    rng = np.random.default_rng(6)
    for full in (True, False):
        for row in made(12, seed=3, full=full).rows:
            judged = row.replace(
                answer={"text": row["samples"][0]["text"], "logprob": -1.0, "sampling_logprob": -6.0}
            )
            for each in (row, judged):
                draws = each.arrays()
                found = [
                    draws.evidence(rng.integers(0, 20, size=int(n))) for n in rng.integers(1, 11, size=4)
                ]
                plain, fewer = (
                    bayes.batch(part) for part in (found, [without_repeats(one) for one in found])
                )
                np.testing.assert_allclose(plain.mean, fewer.mean, atol=1e-9)
                np.testing.assert_allclose(plain.variance, fewer.variance, atol=1e-9)
                if each is judged:
                    shares, again = (
                        bayes.agreements(part) for part in (found, [without_repeats(one) for one in found])
                    )
                    np.testing.assert_allclose(shares, again, atol=1e-9)


def test_contract_of_the_json() -> None:
    told = json.loads(evaluate([made()], train=20, budgets=[1, 2, 10]).to_json())
    assert {"rows", "adaptive", "saving"} <= set(told)
    assert {"model", "dataset", "estimator", "budget", "auroc", "half_width"} <= set(told["rows"][0])
    # This recording does not say what its answers mean, how probable they are at the temperature of the samples, or
    # how its texts are related.
    assert {cell["estimator"] for cell in told["rows"]} == set(METHODS) - {"agreement", "g-nll", *PAIRWISE}
    assert {cell["budget"] for cell in told["rows"]} == {1, 2, 10}
    for cell in told["rows"]:
        assert 0 <= cell["auroc"] <= 1
        assert 0 <= cell["half_width"] < 0.2
        assert 0 <= cell["aurac"] <= 1
        assert 0 <= cell["ece"] <= 1
    for point in told["adaptive"]:
        assert {"model", "dataset", "estimator", "mean_budget", "auroc"} <= set(point)
    for each in told["saving"]:
        assert set(each) == {"model", "dataset", "estimator", "fraction"}


def test_one_sample_tells_histogram_nothing() -> None:
    cells = evaluate([made()], train=20, estimators=["histogram"], budgets=[1]).cells
    assert [(cell.auroc, cell.half_width) for cell in cells] == [(0.5, 0.0)]


def test_row_order_does_not_matter() -> None:
    recording = made()
    shuffled = [recording.rows[place] for place in np.random.default_rng(1).permutation(len(recording))]
    turned = Recording(recording.header, tuple(shuffled))
    for folds, names in ((None, None), (4, [*CHEAP, "bayes-paper"])):
        one, other = (
            evaluate([each], train=20, folds=folds, estimators=names, budgets=[1, 3]).to_json()
            for each in (recording, turned)
        )
        assert one == other


def test_seeds_matter_and_repeat() -> None:
    one, again, other = (
        evaluate([made()], train=20, estimators=CHEAP, seed=seed).to_json() for seed in (0, 0, 1)
    )
    assert one == again
    assert one != other


def test_other_questions_do_not_change_draws() -> None:
    """A recording's numbers are its own, whatever is evaluated beside it."""
    alone = evaluate([made(model="a")], train=20, estimators=CHEAP)
    beside = evaluate([made(seed=9, model="b"), made(model="a")], train=20, estimators=CHEAP)
    assert alone.cells == tuple(cell for cell in beside.cells if cell.model == "a")


ELSEWHERE = """
import json, sys
from semtropy.cli import main
if __name__ == "__main__":
    sys.exit(any(main(words) for words in json.loads(sys.argv[1])))
"""


def test_bytes_do_not_depend_on_processes_or_hash_seed(tmp_path: Path) -> None:
    paths = []
    for name, seed in (("a", 1), ("b", 2)):
        recording = made(70 if name == "a" else 30, seed=seed, model=name)
        paths.append(str(tmp_path / f"{name}.jsonl.gz"))
        write_recording(paths[-1], recording.header, recording.rows)
    written: list[dict[str, bytes]] = []
    for processes in ("1", "3"):  # in this process, and in one with another hash seed
        out, folder = tmp_path / f"{processes}.json", tmp_path / processes
        options = ["--train", "10", "--seeds", "2", "--budgets", "1-4"]
        both = ["evaluate", *paths, *options, "--processes", processes, "--json", str(out)]
        # Figures are drawn in the process of the command, one after the other: those of one recording tell.
        one = ["evaluate", paths[1], *options, "--processes", "1", "--out", str(folder)]
        if processes == "1":
            assert [main(both), main(one)] == [0, 0]
        else:
            (tmp_path / "elsewhere.py").write_text(ELSEWHERE)  # a file, which processes can import
            command = [sys.executable, str(tmp_path / "elsewhere.py"), json.dumps([both, one])]
            environment = {**os.environ, "PYTHONHASHSEED": "77"}
            subprocess.run(command, env=environment, check=True, capture_output=True)
        written.append({path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()})
        written[-1]["json"] = out.read_bytes()
    assert written[0] == written[1]
    assert {"report.html", "tables.md", "tables.tex", "results.json", "b--d.pdf", "b--d.png"} <= set(
        written[0]
    )


def test_folds_test_every_question() -> None:
    results = evaluate([made()], folds=5, estimators=CHEAP)
    assert results.tested[0].questions == 60
    assert results.tested[0].train is None


def test_the_first_questions_train() -> None:
    results = evaluate([made()], train=20, estimators=CHEAP)
    assert results.tested[0].questions == 40
    recording = made()
    tested = [not each["answer"]["correct"] for each in sorted_by_id(recording)[20:]]
    assert results.tested[0].wrong == sum(tested)


def test_missing_columns_drop_methods_and_say_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recording = made(full=False)
    bare = [{key: value for key, value in each.items() if key != "p_true"} for each in recording.rows]
    for each in bare:
        each["answer"] = {key: value for key, value in each["answer"].items() if key != "logprob"}
    write_recording(tmp_path / "r.jsonl", recording.header, bare)
    assert main(["evaluate", str(tmp_path / "r.jsonl"), "--train", "20", "--processes", "1"]) == 0
    said = capsys.readouterr()
    lines = [line for line in said.err.splitlines() if "dropped" in line]
    gone = {
        "rescaled": "logprob",
        "rescaled-length": "token_logprobs",
        "log-likelihood": "answer.logprob",
        "p-true": "p_true",
    }
    for name, column in gone.items():
        if name in NAMES:
            assert any(f" {name} is dropped: 40 of 40" in line and column in line for line in lines), name
    assert "histogram" in said.out
    assert "p-true" not in said.out


def test_ungraded_questions_are_left_out_and_counted() -> None:
    recording = made()
    rows = [dict(each) for each in recording.rows]
    for each in rows[30:35]:
        each["answer"] = {**each["answer"], "correct": None}
    kept = Recording(recording.header, tuple(Row(each, header=recording.header) for each in rows))
    results = evaluate([kept], train=20, estimators=CHEAP)
    assert results.tested[0].questions == 35
    assert any("5 of 40 test questions have no grade" in note for note in results.notes)


def test_a_recording_that_is_all_right_is_left_out() -> None:
    recording = made(model="all right")
    rows = [
        Row({**each, "answer": {"text": "a", "correct": True}}, header=recording.header) for each in recording
    ]
    flawless = Recording(recording.header, tuple(rows))
    results = evaluate([flawless, made()], train=20, estimators=CHEAP)
    assert [each.model for each in results.tested] == ["m"]
    assert any("all right on d: left out" in note for note in results.notes)
    with pytest.raises(InputError, match="every tested answer is correct"):
        evaluate([flawless], train=20, estimators=CHEAP)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "--train 200 leaves none to test"),
        ({"train": 0}, "at least one training question"),
        ({"folds": 1}, "--folds is 1"),
        ({"folds": 61}, "--folds is 61"),
        ({"train": 20, "estimators": ["magic"]}, "no estimator is called 'magic'"),
        ({"train": 20, "budgets": []}, "--budgets"),
        ({"train": 20, "budgets": [-1, 1]}, "--budgets"),
        ({"train": 20, "budgets": [0]}, "--budgets"),
        ({"train": 20, "seeds": 0}, "--seeds is 0"),
        ({"train": 20, "against": "magic"}, "against"),
    ],
)
def test_wrong_options_are_named(options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        evaluate([made()], **options)  # type: ignore[arg-type]


def test_two_recordings_of_one_pair_are_refused() -> None:
    with pytest.raises(InputError, match="two recordings are of m on d"):
        evaluate([made(), made(seed=1)], train=20, estimators=CHEAP)


def test_no_grades_at_all() -> None:
    recording = made()
    rows = [Row({**each, "answer": {"text": "a"}}, header=recording.header) for each in recording]
    with pytest.raises(InputError, match="no tested question has a grade"):
        evaluate([Recording(recording.header, tuple(rows))], train=20)


def test_no_meanings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recording = made()
    rows = [{**each, "samples": [{"text": "a"}]} for each in recording]
    write_recording(tmp_path / "r.jsonl", recording.header, rows)
    assert main(["evaluate", str(tmp_path / "r.jsonl"), "--train", "20", "--processes", "1"]) == 1
    assert "semtropy cluster" in capsys.readouterr().err


def test_an_empty_recording_and_a_missing_one(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="no questions"):
        evaluate([Recording(Header.make(), ())])
    with pytest.raises(RecordingError, match=r"none.jsonl: cannot be read"):
        evaluate([tmp_path / "none.jsonl"])
    with pytest.raises(InputError, match="no recording"):
        evaluate([])


def test_errors_cross_processes_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad.jsonl").write_text('{"semtropy_recording": 1}\n{"id": "1"}\n')
    assert main(["evaluate", str(tmp_path / "bad.jsonl"), "--processes", "2"]) == 1
    assert "bad.jsonl, line 2" in capsys.readouterr().err


@pytest.mark.parametrize(("text", "budgets"), [("1-3", [1, 2, 3]), ("5", [5]), ("2,5,8-9", [2, 5, 8, 9])])
def test_budgets_as_text(text: str, budgets: list[int]) -> None:
    assert parse_budgets(text) == budgets


@pytest.mark.parametrize("text", ["", "a", "1-", "-3", "1,,2", "1-999999999"])
def test_wrong_budgets_are_named(text: str) -> None:
    with pytest.raises(InputError, match="--budgets"):
        parse_budgets(text)


def test_paired_comparison_finds_a_difference() -> None:
    results = evaluate([made(800)], train=50, estimators=CHEAP, budgets=[10], against="length")
    (comparison,) = results.comparisons
    assert comparison.difference == pytest.approx(results.cells[0].auroc - results.cells[1].auroc)
    assert comparison.low < comparison.difference < comparison.high
    assert comparison.low > 0  # entropy tells these answers, their length does not


def test_draws_of_cut_off_samples_alone_do_not_end_a_study() -> None:
    recording = made()
    rows = [dict(each) for each in recording.rows]
    for each in rows[::3]:
        each["samples"] = [{**sample, "complete": False} for sample in each["samples"][:15]] + each[
            "samples"
        ][15:]
    cut = Recording(recording.header, tuple(Row(each, header=recording.header) for each in rows))
    results = evaluate([cut], train=20, estimators=["histogram", "rescaled"], budgets=[1, 2])
    assert results.estimators == ("histogram", "rescaled")
    assert results.cells[2].auroc == 0.5  # one sample: one meaning, whatever its weight


@pytest.mark.parametrize("name", ["james-stein", "nsb"])
def test_folds_share_one_number_of_meanings(name: str) -> None:
    """Every fold trains on questions of another size; with one sample nothing tells their questions apart."""
    header = Header.make(model="m", dataset="d", temperature=1.0, eos_included=True)
    rows = [
        {
            "id": f"q{place}",
            "question": "?",
            "answer": {"text": "a", "correct": place % 2 == 0},
            "samples": [{"text": f"a{k}", "meaning": k} for k in range(5 + place % 2)],
        }
        for place in range(12)
    ]
    recording = Recording(header, tuple(Row(each, header=header) for each in rows))
    results = evaluate([recording], estimators=[name], folds=2, budgets=[1], bootstrap=0)
    assert [cell.auroc for cell in results.cells] == [0.5]


@pytest.mark.parametrize("related", [False, True])
def test_a_pairwise_method_is_dropped_for_the_column_that_is_missing(related: bool) -> None:
    relations = {"texts": ["a0", "a1"], "entails": [[1, 0], [0, 1]], "contradicts": [[0, 1], [1, 0]]}
    header = Header.make(model="m", dataset="d", temperature=1.0, eos_included=True)
    rows = [
        {
            "id": f"q{place}",
            "question": "?",
            "answer": {"text": "a0", "correct": place % 2 == 0},
            "samples": [{"text": f"a{k}", "meaning": k} for k in range(2)],
            **({"relations": relations} if related else {}),
        }
        for place in range(6)
    ]
    recording = Recording(header, tuple(Row(each, header=header) for each in rows))
    names = ["histogram", "semantic-density", "cocoa"]
    results = evaluate([recording], estimators=names, folds=2, budgets=[1], bootstrap=0)
    said = {
        name: next(note for note in results.notes if f": {name} is dropped" in note) for name in names[1:]
    }
    if related:
        assert said["semantic-density"].endswith("6 of 6 tested questions lack samples[].token_logprobs")
        assert said["cocoa"].endswith("6 of 6 tested questions lack answer.sampling_logprob")
    else:
        assert all("lack relations (`semtropy relate` writes it" in note for note in said.values())
