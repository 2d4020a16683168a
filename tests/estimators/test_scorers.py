"""One conformance suite for every scorer, the published numbers, and the relations that pairwise ones read."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from recording_rows import known
from semtropy import read_recording
from semtropy.cli import main
from semtropy.errors import InputError, RecordingError
from semtropy.meaning import ScriptedJudge, load_judge
from semtropy.recording import Header, Recording, Row, write_recording
from semtropy.scorers import NAMES, load_scorer
from semtropy.scorers.pairwise import alphabet_size
from semtropy.scorers.row import ScorerRow
from semtropy.study.evaluate import evaluate
from semtropy.study.judging import JudgingReport, RowRelating, judge_recording

if TYPE_CHECKING:
    from semtropy.nouns import Judge

ENTAILS = [[1, 0.9, 0.1], [0.8, 1, 0.2], [0.1, 0.1, 1]]
CONTRADICTS = [[0, 0.05, 0.7], [0.1, 0, 0.6], [0.8, 0.7, 0]]
# The two toys: five draws of three meanings, and three answers with graded relations.
DRAWS = [(0, (0.8, 0.5)), (0, (0.8, 0.5)), (0, (0.5, 0.5, 0.4)), (1, (0.2, 0.25)), (2, (0.1, 0.2))]
PAIRWISE = [name for name in NAMES if "relations" in load_scorer(name).columns]
OF_SAMPLES = [name for name in NAMES if load_scorer(name).of_samples]


def draws_toy() -> Row:
    texts = ["a", "a", "aa", "b", "c"]
    samples = [
        {"text": text, "meaning": meaning, "token_logprobs": [math.log(p) for p in tokens]}
        for text, (meaning, tokens) in zip(texts, DRAWS, strict=True)
    ]
    answer = {"text": "a", "logprob": -0.1, "sampling_logprob": math.log(0.4), "correct": True}
    return Row({"id": "1", "question": "?", "answer": answer, "samples": samples, "p_true": 0.75})


def pairs_toy(answer: str = "x") -> Row:
    tokens = [(2, 0.4), (3, 0.1), (2, 0.05)]
    samples = [
        {"text": text, "meaning": place, "logprob": math.log(p), "tokens": list(range(n))}
        for place, (text, (n, p)) in enumerate(zip("xyz", tokens, strict=True))
    ]
    relations = {"texts": ["x", "y", "z"], "entails": ENTAILS, "contradicts": CONTRADICTS}
    judged = {"text": answer, "sampling_logprob": math.log(0.4)}
    return Row(
        {
            "id": "1",
            "question": "?",
            "answer": judged,
            "samples": samples,
            "relations": relations,
            "p_true": 0.5,
        }
    )


def related(row: Row) -> Row:
    relating = RowRelating()
    [(_, found, _)] = relating.find([row], load_judge("exact"))
    return relating.fill(row, found)


def relate_recording(source: Path, out: Path, judge: Judge, **options: Any) -> JudgingReport:
    return judge_recording(source, out, judge, RowRelating(**options))


def value(name: str, row: Row, order: list[int] | None = None) -> float:
    scorer, seen = load_scorer(name), ScorerRow.of(row)
    assert not scorer.missing(seen), name
    return scorer(seen if order is None else seen.pick(order))


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("g-nll", 0.916291),
        ("log-likelihood", 0.1),
        ("p-true", 0.25),
        ("unseen", 0.43),
        ("predictive-entropy", 2.208584),
        ("kuhn", 5.968765),
    ],
)
def test_numbers_of_the_first_toy(name: str, number: float) -> None:
    assert value(name, draws_toy()) == pytest.approx(number, abs=5e-7)


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("eigv", 1.812821),
        ("degree", 0.422222),
        ("kle", 0.997216),
        ("semantic-density", 1 - 0.820717),
        ("cocoa", 0.320702),
        ("alphabet", 1.812821),
    ],
)
def test_numbers_of_the_second_toy(name: str, number: float) -> None:
    assert value(name, pairs_toy()) == pytest.approx(number, abs=5e-7)


def test_hard_meanings_make_pairwise_scores_functions_of_counts() -> None:
    """With E = 1 or 0, eigv is the number of meanings and degree 1 - sum p^2."""
    row = draws_toy()
    texts = ["a", "aa", "b", "c"]
    same = [[float(one[0] == other[0]) for other in texts] for one in texts]
    held = {"texts": texts, "entails": same, "contradicts": [[1 - e for e in line] for line in same]}
    row = row.replace(relations=held)
    assert value("eigv", row) == pytest.approx(3)
    assert value("degree", row) == pytest.approx(0.56)
    assert value("kle", row) == pytest.approx(1.389982, abs=5e-7)
    assert value("alphabet", row) == pytest.approx(5)


def test_coverage_with_a_given_number_of_eigenvalues() -> None:
    from semtropy.estimators.counts import coverage_adjusted

    size = alphabet_size((3, 1, 1), 5.5)
    assert coverage_adjusted((3, 1, 1), 3 / size) == pytest.approx(1.525762, abs=5e-7)
    assert alphabet_size((1, 1, 1), 2.4) == 2.4
    assert coverage_adjusted((1, 1, 1), 1.0) == pytest.approx(1.561186, abs=5e-7)  # m / S = 1.25, at most 1


@pytest.mark.parametrize("name", OF_SAMPLES)
@pytest.mark.parametrize(
    "order",
    [[0], [3], [0] * 10, [0, 2, 3, 4], [4, 4, 3, 0, 2, 1]],
    ids=["one", "rare", "identical", "all different", "repeats"],
)
def test_no_draw_is_a_special_case(name: str, order: list[int]) -> None:
    assert math.isfinite(value(name, related(draws_toy()), order))


@pytest.mark.parametrize("name", [name for name in OF_SAMPLES if name != "bayes-poisson"])
def test_the_order_of_draws_does_not_matter(name: str) -> None:
    row = related(draws_toy())
    assert value(name, row, [0, 2, 3, 3]) == pytest.approx(value(name, row, [3, 0, 3, 2]), abs=1e-9)


def test_bayes_poisson_starts_from_the_first_draw() -> None:
    """Its rate is the perplexity of the first sample; the order of the others does not matter."""
    row = draws_toy()
    assert value("bayes-poisson", row, [0, 3, 4]) == pytest.approx(
        value("bayes-poisson", row, [0, 4, 3]), abs=1e-6
    )
    assert value("bayes-poisson", row, [4, 0]) > value("bayes-poisson", row, [0, 4])


@pytest.mark.parametrize("name", OF_SAMPLES)
def test_a_batch_of_scores_is_its_singles(name: str) -> None:
    scorer, seen = load_scorer(name), ScorerRow.of(related(draws_toy()))
    for orders in ([[0, 2, 3], [4, 4, 3], [1, 1, 1]], [[0], [1, 2]]):
        drawn = [seen.pick(order) for order in orders]
        together = scorer.many(drawn)
        assert together.mean == pytest.approx([scorer(each) for each in drawn], abs=1e-9)
        assert (together.variance is None) == (name != "bayes-poisson")


@pytest.mark.parametrize(
    "name", [name for name in OF_SAMPLES if name != "unseen"]
)  # it falls with what is seen
def test_scattered_draws_score_no_lower_than_agreeing_ones(name: str) -> None:
    row = related(draws_toy())
    assert value(name, row, [0, 3, 4]) > value(name, row, [0, 0, 0])


def test_what_is_far_below_the_likeliest_stays_finite() -> None:
    row = draws_toy()
    rare = [{**sample, "token_logprobs": [-2000.0]} for sample in row["samples"]]
    row = related(row.replace(samples=[*row["samples"][:1], *rare[1:]]))
    for name in OF_SAMPLES:
        assert math.isfinite(value(name, row)), name
        assert math.isfinite(value(name, row, [3, 4])), name


@pytest.mark.parametrize("name", NAMES)
def test_a_row_without_the_columns_lacks_them_all(name: str) -> None:
    bare = Row({"id": "1", "question": "?", "samples": [{"text": "a", "meaning": 0}]})
    assert load_scorer(name).missing(ScorerRow.of(bare)) == list(load_scorer(name).columns)


# ---- relations -------------------------------------------------------------------------------------------------


def recording(tmp_path: Path, rows: list[dict[str, Any]]) -> Path:
    header = Header.make(model="m", dataset="d", temperature=1.0, eos_included=True)
    write_recording(tmp_path / "in.jsonl", header, rows)
    return tmp_path / "in.jsonl"


def question(place: int, texts: str = "aab", answer: str = "c") -> dict[str, Any]:
    samples = [{"text": text, "meaning": ord(text) - ord("a")} for text in texts]
    return {
        "id": str(place),
        "question": f"q{place}",
        "answer": {"text": answer, "correct": place % 2 == 0},
        "samples": samples,
    }


def test_each_pair_of_different_texts_is_judged_once_in_both_directions(tmp_path: Path) -> None:
    judge = ScriptedJudge(lambda question, a, b: 0.25 if (a, b) == ("a", "b") else 0.5)
    source = recording(tmp_path, [question(0), question(1, "aaaa", "a"), question(2, "abcab")])
    report = relate_recording(source, tmp_path / "out.jsonl", judge, first=3)
    assert len(judge.asked) == len(set(judge.asked)) == report.tally.judgements == 6 + 0 + 6
    rows = read_recording(tmp_path / "out.jsonl").rows
    assert rows[0]["relations"]["texts"] == ["a", "b", "c"]  # the answer is one of them
    assert rows[0]["relations"]["entails"][0] == [1.0, 0.25, 0.5]
    assert rows[0]["relations"]["contradicts"] == [[0.0] * 3] * 3  # this judge leaves the rest to silence
    assert rows[1]["relations"]["entails"] == [[1.0]]
    assert rows[2].relations is not None
    assert rows[2].relations.texts == ("a", "b", "c")
    assert read_recording(tmp_path / "out.jsonl").header["relations_by"] == {"judge": "scripted", "first": 3}


def test_related_questions_are_kept(tmp_path: Path) -> None:
    judge = ScriptedJudge(lambda question, a, b: 0.5)
    source = recording(tmp_path, [question(0)])
    relate_recording(source, tmp_path / "one.jsonl", judge)
    again = relate_recording(tmp_path / "one.jsonl", tmp_path / "two.jsonl", judge)
    assert (again.kept, again.tally.judgements) == (1, 0)
    anew = relate_recording(tmp_path / "one.jsonl", tmp_path / "two.jsonl", judge, every=True)
    assert (anew.kept, anew.tally.judgements) == (0, 6)


def test_an_interrupted_relate_goes_on_where_it_stopped(tmp_path: Path) -> None:
    source, out = recording(tmp_path, [question(n) for n in range(40)]), tmp_path / "out.jsonl"

    def power_cut(question: str, a: str, b: str) -> float:
        if question == "q20":
            raise RuntimeError("power cut")
        return 0.5

    with pytest.raises(RuntimeError):
        relate_recording(source, out, ScriptedJudge(power_cut))
    assert not out.exists()
    judge = ScriptedJudge(lambda question, a, b: 0.5)
    report = relate_recording(source, out, judge)
    assert (report.questions, report.resumed, report.kept) == (40, 16, 0)  # a window of 16 was done
    assert {asked for asked, _, _ in judge.asked} == {f"q{n}" for n in range(16, 40)}
    relate_recording(source, tmp_path / "whole.jsonl", judge)
    assert out.read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".")) == []


def test_a_question_that_changed_is_judged_again_with_those_after_it(tmp_path: Path) -> None:
    rows = [question(n) for n in range(40)]
    out = tmp_path / "out.jsonl"
    with pytest.raises(ZeroDivisionError):
        relate_recording(
            recording(tmp_path, rows), out, ScriptedJudge(lambda q, a, b: 1 / 0 if q == "q39" else 0.5)
        )
    rows[5]["samples"][0]["text"] = "b"
    judge = ScriptedJudge(lambda question, a, b: 0.25)
    assert relate_recording(recording(tmp_path, rows), out, judge).resumed == 5
    found = [row["relations"]["entails"][0][1] for row in read_recording(out)]
    assert found == [0.5] * 5 + [0.25] * 35


def test_the_command_relates_and_the_study_reads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [question(n, "aaaaa" if n % 2 == 0 else "abcde", "a") for n in range(20)]
    source, out = recording(tmp_path, rows), tmp_path / "related.jsonl"
    assert main(["relate", str(source), str(out), "--judge", "exact", "--first", "4"]) == 0
    assert "judgements        " in capsys.readouterr().out
    command = ["evaluate", str(out), "--folds", "2", "--budgets", "2,3", "--processes", "1"]
    assert main([*command, "--estimators", "degree,histogram"]) == 0
    said = capsys.readouterr()
    assert "degree is dropped: 10 of 20 tested questions lack relations" in said.err
    assert "--pool" in said.err
    assert main([*command, "--estimators", "degree,histogram", "--pool", "4"]) == 0
    said = capsys.readouterr()
    assert "dropped" not in said.err
    assert "degree" in said.out


@pytest.mark.parametrize("options", [["--first", "0"], ["--judge", "magic"]])
def test_wrong_options_of_relate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str]
) -> None:
    source = recording(tmp_path, [question(0)])
    assert main(["relate", str(source), str(tmp_path / "out.jsonl"), *options]) == 2
    assert options[1] in capsys.readouterr().err
    assert not (tmp_path / "out.jsonl").exists()


def test_relate_does_not_write_over_its_input(tmp_path: Path) -> None:
    source = recording(tmp_path, [question(0)])
    with pytest.raises(InputError, match="the output is the input"):
        relate_recording(source, source, load_judge("exact"))


def test_a_pool_keeps_what_the_other_samples_say_of_the_answer() -> None:
    row = Row(question(0, "aabbc", "c"))
    cut = row.first(2)
    assert len(cut.samples) == 2
    assert cut.answer_meaning() == 1  # a meaning that none of the first two has
    assert row.first(9) is row


@pytest.mark.parametrize(
    ("held", "message"),
    [
        ([], "relations: expected an object"),
        (
            {"texts": ["a", "a"], "entails": [[1, 1], [1, 1]]},
            r"relations\.texts: expected a list of different",
        ),
        ({"texts": ["a"]}, r"relations\.entails: is missing: expected 1 lists"),
        ({"texts": ["a", "b"], "entails": [[1, 0]]}, r"relations\.entails: expected 2 lists"),
        ({"texts": ["a"], "entails": [[1, 0]]}, r"relations\.entails\[0\]: expected 1 numbers"),
        ({"texts": ["a"], "entails": [[1.5]]}, r"relations\.entails\[0\]: expected probabilities"),
        ({"texts": ["a"], "entails": [["1"]]}, r"relations\.entails\[0\]: expected 1 numbers"),
        ({"texts": ["a"], "entails": [[1]], "contradicts": [[-1]]}, r"relations\.contradicts\[0\]"),
    ],
)
def test_wrong_relations_are_named(held: Any, message: str) -> None:
    with pytest.raises(RecordingError, match=message):
        Row({**question(0), "relations": held})


# ---- scores of other tools ----------------------------------------------------------------------------------------


def stored(*scores: Any, name: str = "probe") -> Recording:
    rows = [question(n, "aab" if n % 2 == 0 else "abc", "a") for n in range(20)]
    header = Header.make(model="m", dataset="d")
    made = [
        Row({**row, "scores": {name: scores[n % len(scores)]}}, header=header) for n, row in enumerate(rows)
    ]
    return Recording(header, tuple(made))


def test_stored_scores_stand_in_the_same_table() -> None:
    results = evaluate([stored(0.1, 0.9)], folds=2, budgets=[1, 2])
    mine = [cell for cell in results.cells if cell.estimator == "probe"]
    assert [(cell.budget, cell.auroc) for cell in mine] == [(1, 1.0), (2, 1.0)]
    assert {"probe", "histogram"} <= set(results.estimators)
    assert any(each.estimator == "probe" for each in results.comparisons)


def test_a_list_is_one_score_for_each_number_of_samples() -> None:
    lists = stored([0.5, 0.1], [0.5, 0.9, 3.0])
    results = evaluate([lists], folds=2, budgets=[1, 2, 3], estimators=["probe", "histogram"])
    mine = {cell.budget: cell.auroc for cell in results.cells if cell.estimator == "probe"}
    assert mine == {1: 0.5, 2: 1.0}  # as far as every question has them


def test_a_stored_score_that_is_missing_somewhere_is_dropped_and_said() -> None:
    results = evaluate([stored(0.1, None)], folds=2, budgets=[1], estimators=["probe", "histogram"])
    assert results.estimators == ("histogram",)
    assert any(
        "probe is dropped: 10 of 20 tested questions lack scores.probe" in note for note in results.notes
    )


def test_unknown_names_say_what_is_stored() -> None:
    with pytest.raises(InputError, match=r"no estimator is called 'magic': .* the recordings store probe"):
        evaluate([stored(0.1, 0.2)], folds=2, estimators=["magic"])


def test_a_stored_score_may_not_take_the_name_of_a_method() -> None:
    with pytest.raises(InputError, match=r"scores\.kle: there is a method of that name"):
        evaluate([stored(0.1, 0.2, name="kle")], folds=2)


@pytest.mark.parametrize(
    ("held", "message"),
    [
        ([0.5], "scores: expected an object"),
        ({"probe": "high"}, r"scores\.probe: expected a number, a list of numbers or null, found text"),
        ({"probe": []}, r"scores\.probe"),
        ({"probe": [0.1, None]}, r"scores\.probe"),
        ({"probe": True}, r"scores\.probe"),
        ({" ": 0.5}, "one of the names is empty"),
    ],
)
def test_wrong_scores_are_named(held: Any, message: str) -> None:
    with pytest.raises(RecordingError, match=message):
        Row({**question(0), "scores": held})


def test_relations_and_scores_survive_every_format(tmp_path: Path) -> None:
    row = pairs_toy().replace(scores={"probe": [0.25, 0.5], "other": None})
    for name in ("r.jsonl", "r.jsonl.gz", "r.parquet"):
        write_recording(tmp_path / name, Header.make(model="m"), [row])
        [back] = read_recording(tmp_path / name).rows
        assert known(back.fields) == known(row.fields)  # in Parquet an unknown value is a missing key
        assert back.relations is not None
        assert np.array_equal(back.relations.contradicts, np.array(CONTRADICTS))
