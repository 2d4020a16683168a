"""The incremental partition: its cascade, its invariants, and the failures known from other tools."""

from __future__ import annotations

import math
import os
import random
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semtropy import Evidence, Sample, score
from semtropy.errors import InputError
from semtropy.estimators import load_estimator
from semtropy.meaning import Cached, ScriptedJudge, cluster, load_judge
from semtropy.meaning.grouping import GroupingTask, cluster_many
from semtropy.meaning.judges import Exact, Numeric
from semtropy.meaning.partition import Grouper, Tally

QUESTION = "What is the capital of France?"


def by_first_letter(question: str, a: str, b: str) -> float:
    return float(a[:1].casefold() == b[:1].casefold())


def never(question: str, a: str, b: str) -> float:
    raise AssertionError(f"the judge was asked about {a!r} and {b!r}")


class TestCascade:
    def test_identical_strings_never_reach_the_judge(self) -> None:
        assert cluster(QUESTION, ["Paris"] * 5, ScriptedJudge(never)) == [0] * 5

    def test_same_tokens_never_reach_the_judge(self) -> None:
        assert cluster(QUESTION, ["Paris", " Paris?"], ScriptedJudge(never), tokens=[(7, 2), (7, 2)]) == [
            0,
            0,
        ]

    @pytest.mark.parametrize("other", ["paris", "Paris.", " PARIS ", '"Paris"', "“Paris”", "the Paris"])
    def test_spelling_never_reaches_the_judge(self, other: str) -> None:
        assert cluster(QUESTION, ["Paris", other], ScriptedJudge(never)) == [0, 0]

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("12", "twelve"),
            ("1,000", "1000"),
            ("5 km", "5000 metres"),
            ("July 4, 1776", "4th of July 1776"),
            ("1912", "in 1912"),
            ("50%", "50 percent"),
            ("$5 million", "$5m"),
            ("14th", "fourteenth"),
        ],
    )
    def test_same_number_or_date_never_reaches_the_judge(self, one: str, other: str) -> None:
        assert cluster("How many?", [one, other], ScriptedJudge(never)) == [0, 0]

    @pytest.mark.parametrize("question", ["When did it open?", "Wann war das?", "Quand est-il né ?"])
    def test_a_question_may_leave_open_how_exact_a_date_is(self, question: str) -> None:
        """Two days of one year stay apart, also where the year came first."""
        texts = ["1904", "27 October 1904", "October 1904", "28 October 1904", "1905"]
        assert cluster(question, texts, Numeric()) == [0, 0, 0, 1, 2]
        assert cluster("Which day was it?", texts[:2], Numeric()) == [0, 1]

    def test_most_frequent_meaning_first(self) -> None:
        judge = ScriptedJudge(lambda q, a, b: 0.0)
        cluster(QUESTION, ["Rome", "Paris", "Paris", "Oslo"], judge)
        assert [(a, b) for _, a, b in judge.asked[1:]] == [("Paris", "Oslo"), ("Rome", "Oslo")]

    def test_the_second_direction_only_where_the_first_entails(self) -> None:
        judge = ScriptedJudge({("Paris", "Paris, France"): 1.0, ("Paris, France", "Paris"): 1.0}, default=0.0)
        assert cluster(QUESTION, ["Rome", "Paris", "Paris, France"], judge) == [0, 1, 1]
        asked = [(a, b) for _, a, b in judge.asked]
        assert asked[0] == ("Rome", "Paris")
        assert asked[1:] == [
            ("Rome", "Paris, France"),
            ("Paris", "Paris, France"),
            ("Paris, France", "Paris"),
        ]

    def test_relaxed_asks_both_directions_in_one_batch(self) -> None:
        placing = Grouper(QUESTION, mode="relaxed")
        for _ in placing.place("Rome"):
            pass
        assert [(a, b) for _, a, b in next(placing.place("Paris"))] == [("Rome", "Paris"), ("Paris", "Rome")]

    def test_stops_at_the_first_match(self) -> None:
        judge = ScriptedJudge(by_first_letter)
        assert cluster(QUESTION, ["Paris", "Rome", "Pari"], judge) == [0, 1, 0]
        assert len(judge.asked) == 3

    def test_tally_says_how_each_sample_was_placed(self) -> None:
        [grouped] = cluster_many([GroupingTask(QUESTION, ["12", "12", "Twelve", "12.", "Paris"])], Numeric())
        tally = grouped.tally
        assert tally == Tally(samples=5, identical=1, normalised=1, quantities=1, pairs=1, judgements=1)

    @pytest.mark.parametrize(
        ("judge", "meanings"),
        [("exact", [0, 1, 2, 0, 3]), ("normalised", [0, 0, 1, 0, 2]), ("numeric", [0, 0, 0, 0, 1])],
    )
    def test_each_judge_of_spelling_means_what_its_name_says(self, judge: str, meanings: list[int]) -> None:
        assert cluster("How many?", ["12 km", "12 km.", "12,000 m", "12 km", "13 km"], judge) == meanings
        assert cluster(
            "How many?", ["12 km", "12 km.", "12,000 m", "12 km", "13 km"], Cached(load_judge(judge))
        ) == (meanings)

    def test_silence_is_one_meaning_and_is_not_judged(self) -> None:
        assert cluster(QUESTION, ["", "Paris", " ", "..."], ScriptedJudge(never)) == [0, 1, 0, 0]


class TestNumbersNeverMerge:
    """Whatever the judge says, and also by way of a representative that fits both."""

    ALWAYS = ScriptedJudge(lambda q, a, b: 1.0)

    @pytest.mark.parametrize(
        "texts",
        [
            ["5", "$5", "€5"],
            ["a few", "5 km", "5 miles"],
            ["some", "x = 2", "x = -2"],
            ["cold", "-5", "5"],
            ["pi", "3.1", "3.11"],
            ["a long time", "5 million years", "about 500,000 years"],
            ["in the afternoon", "3pm", "4pm"],
        ],
    )
    def test_through_a_representative(self, texts: list[str]) -> None:
        assert cluster("How much?", texts, self.ALWAYS) == [0, 0, 1]

    def test_the_comparison_says_why(self) -> None:
        [grouped] = cluster_many([GroupingTask("How much?", ["5", "$5", "€5"])], self.ALWAYS)
        asked, refused = grouped.comparisons
        assert (asked.first, asked.second, asked.probability, asked.joined) == ("5", "$5", 1.0, True)
        assert (refused.first, refused.second, refused.probability, refused.joined) == (
            "$5",
            "€5",
            None,
            False,
        )

    def test_every_wording_of_a_meaning(self) -> None:
        grouper = Grouper("Capital?")
        for text in ("Paris", "paris.", "Paris", "PARIS"):
            for _ in grouper.place(text):
                pass
        assert grouper.wordings == (("Paris", "paris.", "PARIS"),)


class TestPrior:
    """The base rate is part of the decision: where all answers differ, joining takes stronger evidence."""

    def grouper(self, *counts: int) -> Grouper:
        grouper = Grouper("Who?")
        for name, count in zip("ABCDEFGHIJ", counts, strict=False):
            placing = grouper.place(f"Person {name}")
            try:
                next(placing)
                while True:
                    placing.send(np.array([0.0]))
            except StopIteration:
                pass
            for _ in range(count - 1):
                for _ in grouper.place(f"Person {name}"):
                    pass
        return grouper

    def test_even_at_the_first_comparison(self) -> None:
        assert self.grouper(1).needed(0) == pytest.approx(0.5)

    def test_stronger_evidence_where_all_differ(self) -> None:
        """(1 + 1/2) / (8 + 1/2) at weight 0.6: log-odds of 1.04 are needed."""
        assert self.grouper(*[1] * 8).needed(3) == pytest.approx(
            1 / (1 + math.exp(0.6 * math.log(1.5 / 8.5)))
        )
        assert self.grouper(*[1] * 8).needed(3) > 0.7

    def test_less_with_a_clear_majority_but_bounded(self) -> None:
        assert self.grouper(6, 1).needed(0) < 0.4
        assert self.grouper(99).needed(0) == pytest.approx(1 / (1 + math.exp(0.6 * 2)))

    def test_judges_that_are_certain_are_not_moved(self) -> None:
        texts = ["ant", "bee", "cow", "dog", "Ant Farm", "elk"]
        assert cluster("?", texts, ScriptedJudge(by_first_letter)) == [0, 1, 2, 3, 0, 4]
        assert cluster("?", texts, ScriptedJudge(by_first_letter), prior=0) == [0, 1, 2, 3, 0, 4]

    def test_a_fixed_threshold_on_request(self) -> None:
        texts = ["ant", "bee", "cow", "dog", "elk", "ants"]
        judge = ScriptedJudge({("ant", "ants"): 0.6, ("ants", "ant"): 0.6}, default=0.0)
        assert cluster("?", texts, judge) == [0, 1, 2, 3, 4, 5]
        assert cluster("?", texts, judge, prior=0) == [0, 1, 2, 3, 4, 0]


class TestModes:
    ONE_WAY = ScriptedJudge({("Paris, France", "Paris"): 1.0}, default=0.0)

    def test_one_way_entailment_is_not_taken_for_both(self) -> None:
        assert cluster(QUESTION, ["Paris", "Paris, France"], self.ONE_WAY) == [0, 1]

    def test_either_direction_by_name(self) -> None:
        assert cluster(QUESTION, ["Paris", "Paris, France"], self.ONE_WAY, mode="either") == [0, 0]

    def test_relaxed_forbids_contradiction(self) -> None:
        class ThreeWay:
            def __init__(self, back: list[float]) -> None:
                self.back = back

            def entails(self, batch: list[tuple[str, str, str]]) -> np.ndarray:
                return self.relation(batch)[:, 0]

            def relation(self, batch: list[tuple[str, str, str]]) -> np.ndarray:
                return np.array([[0.8, 0.1, 0.1] if a == "Paris" else self.back for _, a, _ in batch])

        texts = ["Paris", "Lutetia"]
        assert cluster(QUESTION, texts, ThreeWay([0.1, 0.1, 0.8]), mode="relaxed") == [0, 0]
        assert cluster(QUESTION, texts, ThreeWay([0.1, 0.8, 0.1]), mode="relaxed") == [0, 1]
        assert cluster(QUESTION, texts, ThreeWay([0.1, 0.8, 0.1])) == [0, 1]

    def test_relaxed_needs_contradictions(self) -> None:
        with pytest.raises(InputError, match="either"):
            cluster(QUESTION, ["Paris", "Rome"], "numeric", mode="relaxed")

    def test_unknown_mode_names_the_known(self) -> None:
        with pytest.raises(InputError, match="strict, relaxed, either"):
            Grouper(QUESTION, mode="loose")


class TestKnownFailuresOfOtherTools:
    def test_an_answer_equivalent_to_two_groups_joins_one(self) -> None:
        apart = {("b", "a"), ("a", "b")}
        judge = ScriptedJudge(lambda q, a, b: float((a, b) not in apart))
        assert cluster("?", ["a", "b", "c"], judge) == [0, 1, 0]

    def test_five_identical_strings_have_entropy_zero_and_never_less(self) -> None:
        meanings = cluster(QUESTION, ["Paris"] * 5, ScriptedJudge(never))
        samples = [Sample("Paris", math.log(0.2))] * 5
        partition = Grouper(QUESTION).partition.of(meanings)
        assert load_estimator("histogram")(Evidence.gather(samples, partition)).mean == 0.0

    @pytest.mark.parametrize("estimator", ["histogram", "rescaled", "bayes", "bayes-paper"])
    def test_no_estimator_makes_identical_strings_negative(self, estimator: str) -> None:
        belief = score(["Paris"] * 5, logprobs=[math.log(0.2)] * 5, judge="exact", estimator=estimator)
        assert belief.mean >= 0
        if not estimator.startswith("bayes"):  # those leave room for what five draws have not shown
            assert belief.mean == 0

    def test_a_judge_that_is_not_transitive_still_gives_each_sample_one_meaning(self) -> None:
        rng = random.Random(5)
        texts = [f"answer {chr(97 + n)}" for n in range(12)]
        judge = ScriptedJudge(lambda q, a, b: float(rng.random() < 0.5))
        meanings = cluster("?", texts, judge)
        assert len(meanings) == len(texts)
        Grouper("?").partition.of(meanings)

    @pytest.mark.parametrize("value", [math.nan, math.inf])
    def test_a_judge_that_breaks_is_an_error_not_a_meaning(self, value: float) -> None:
        with pytest.raises(InputError, match="between 0 and 1"):
            cluster("?", ["a", "b"], ScriptedJudge({}, default=value))

    def test_too_few_judgements_is_an_error(self) -> None:
        class Short:
            def entails(self, batch: list[tuple[str, str, str]]) -> np.ndarray:
                return np.ones(0)

        with pytest.raises(InputError, match="one per pair"):
            cluster("?", ["a", "b"], Short())


WORDS = st.lists(st.sampled_from(["ant", "Ape", "bee", "bat", "cow", "12", "twelve", "", "13"]), max_size=14)


class TestInvariants:
    @given(WORDS)
    def test_numbered_by_first_appearance_and_identical_strings_together(self, texts: list[str]) -> None:
        meanings = cluster("?", texts, ScriptedJudge(by_first_letter))
        seen: dict[str, int] = {}
        fresh = 0
        for text, meaning in zip(texts, meanings, strict=True):
            assert 0 <= meaning <= fresh
            fresh = max(fresh, meaning + 1)
            assert seen.setdefault(text, meaning) == meaning

    @given(WORDS)
    def test_growing_never_reassigns(self, texts: list[str]) -> None:
        whole = cluster("?", texts, ScriptedJudge(by_first_letter))
        for n in range(len(texts)):
            assert cluster("?", texts[:n], ScriptedJudge(by_first_letter)) == whole[:n]

    @given(st.lists(WORDS, max_size=9), st.integers(1, 10))
    def test_batching_across_questions_changes_nothing(self, questions: list[list[str]], window: int) -> None:
        tasks = [GroupingTask(str(n), texts, label=n) for n, texts in enumerate(questions)]
        together = list(cluster_many(tasks, ScriptedJudge(by_first_letter), window=window))
        assert [grouped.label for grouped in together] == list(range(len(questions)))
        for texts, grouped in zip(questions, together, strict=True):
            assert grouped.meanings == cluster("?", texts, ScriptedJudge(by_first_letter))

    def test_the_hash_seed_changes_nothing(self) -> None:
        code = (
            "from semtropy.meaning import cluster, ScriptedJudge\n"
            "import zlib\n"
            "judge = ScriptedJudge(lambda q, a, b: float((zlib.crc32((a + b).encode()) >> 3) % 3 > 0))\n"
            "print(cluster('?', [f'answer {chr(97 + n % 17)}' for n in range(40)], judge))"
        )
        outputs = {
            subprocess.run(
                [sys.executable, "-c", code],
                env={**os.environ, "PYTHONHASHSEED": seed},
                capture_output=True,
                check=True,
                text=True,
            ).stdout
            for seed in ("0", "1", "2")
        }
        assert len(outputs) == 1


class TestInput:
    def test_one_string_is_not_a_list_of_answers(self) -> None:
        with pytest.raises(InputError, match="a list of answers"):
            cluster("?", "Paris", Exact())

    def test_tokens_must_match_texts(self) -> None:
        with pytest.raises(InputError, match="one per text"):
            cluster("?", ["Paris"], Exact(), tokens=[])

    def test_a_thing_that_cannot_judge(self) -> None:
        with pytest.raises(InputError, match="no judge"):
            cluster("?", ["Paris"], object())  # type: ignore[arg-type]

    def test_no_answers_no_meanings(self) -> None:
        assert cluster("?", [], Exact()) == []
