"""Which sentences of a passage a judge reads for a claim, and what becomes of its verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semtropy.claims import Claim, relate, split
from semtropy.claims.relating import compare, facts_of, judged, resolved
from semtropy.errors import InputError


class Words:
    """Supports where all words of the claim are there, contradicts where both have a number and they differ."""

    def __init__(self) -> None:
        self.batches: list[list[tuple[str, str, str]]] = []

    def relation(self, batch: Sequence[tuple[str, str, str]]) -> Any:
        self.batches.append(list(batch))
        rows = []
        for _, premise, claim in batch:
            missing = set(claim.casefold().strip(".").split()) - set(
                premise.casefold().replace(".", "").split()
            )
            digits = any(word.isdigit() for word in missing)
            rows.append([0, 1, 0] if digits else [0, 0, 1] if missing else [1, 0, 0])
        return np.array(rows, dtype=float)


ANSWER = "Ada Lovelace was born in 1815. She wrote programs. She died in 1852."
PASSAGES = [
    "Ada Lovelace was a countess. Lovelace was born in 1815. Ada Lovelace wrote many programs. She liked horses.",
    "Ada Lovelace was born in 1816. Nothing else is known.",
]


def test_one_batch_and_three_answers_for_each_pair() -> None:
    judge = Words()
    found = relate("Who was Ada Lovelace?", split(ANSWER), PASSAGES, judge)
    assert found.shape == (3, 2, 3)
    assert len(judge.batches) == 1
    np.testing.assert_allclose(found.sum(axis=2), 1.0)
    assert found[0].argmax(axis=1).tolist() == [0, 1]
    assert found[1, 0].argmax() == 0


def test_the_nearest_sentences_are_read_in_their_order() -> None:
    filler = "The weather was fine. Trains ran. Cats slept. "
    passage = filler + "He studied botany in Uppsala. " + filler + "In Uppsala he taught botany for years."
    pairs = compare("Tell me about Linnaeus.", ["He taught botany in Uppsala."], [passage]).pairs
    assert [premise for _, premise, _ in pairs] == [
        filler + "He studied botany in Uppsala. In Uppsala he taught botany for years."
    ]


def test_a_passage_that_shares_no_word_is_judged_and_its_sentence_not_shown() -> None:
    pairs = compare("Who?", ["Cats purr."], ["Felines make a soft sound.", ""])
    assert pairs.pairs == (("Who?", "Felines make a soft sound.", "Cats purr."),)
    assert pairs.nearest == {}


def test_an_empty_passage_is_silent_and_not_judged() -> None:
    judge = Words()
    found = relate("Who?", ["Cats purr."], [""], judge)
    assert found.tolist() == [[[0.0, 0.0, 1.0]]]
    assert judge.batches == []


def test_the_same_words_need_no_judge() -> None:
    judge = Words()
    found = relate(
        "Who was Ada?", ["Ada Lovelace wrote programs!"], ["ada lovelace wrote programs. More."], judge
    )
    assert found.tolist() == [[[1.0, 0.0, 0.0]]]
    assert judge.batches == []


def test_a_sentence_that_says_the_claim_and_goes_on_supports_it() -> None:
    passage = "Timisoara is in Romania, the river Bega runs through it, and its mayor was unknown."
    found = relate("Where is Timisoara?", ["Timisoara is in Romania."], [passage])
    assert found[0, 0, 0] == 1.0


def test_pronouns_are_read_with_the_last_name_before() -> None:
    claims = split("Marie Curie was a physicist. She was born in Warsaw. Her sister was Bronia. "
                   "Pierre Curie was French. He died in 1906. It rained.")  # fmt: skip
    assert resolved("Tell me about Marie Curie.", claims) == [
        "Marie Curie was a physicist.",
        "Marie Curie was born in Warsaw.",
        "Marie Curie's sister was Bronia.",
        "Pierre Curie was French.",
        "Pierre Curie died in 1906.",
        "Pierre Curie rained.",
    ]
    assert resolved("Tell me a bio of Ada Lovelace.", [Claim("She lived.", 0, 10)]) == ["Ada Lovelace lived."]
    assert resolved("who?", [Claim("She lived.", 0, 10)]) == ["She lived."]
    assert resolved("who?", [Claim("Physics", 0, 7, lead="She won:")]) == ["She won: Physics"]


def test_judges_that_know_less_leave_the_rest_to_silence() -> None:
    class Entails:
        def entails(self, batch: Sequence[Any]) -> list[float]:
            return [0.25] * len(batch)

    class Relations:
        def relations(self, batch: Sequence[Any]) -> Any:
            return np.tile([0.7, 0.2, 0.1], (len(batch), 1))  # entailment, neutral, contradiction

    pair = [("q", "a", "b")]
    assert judged(Entails(), pair).tolist() == [[0.25, 0.0, 0.75]]
    np.testing.assert_allclose(judged(Relations(), pair), [[0.7, 0.1, 0.2]])
    assert judged(Entails(), []).shape == (0, 3)


def test_a_judge_that_returns_no_probabilities_is_named() -> None:
    class Odd:
        def relation(self, batch: Sequence[Any]) -> Any:
            return np.full((len(batch), 3), 4.0)

    with pytest.raises(InputError, match="three probabilities"):
        judged(Odd(), [("q", "a", "b")])


TEXTS = st.lists(
    st.sampled_from(
        ["Ada was born in 1815. ", "She wrote. ", "彼は学者です。", "كتب. ", "- x\n", "Cats purr. ", "?! "]
    ),
    max_size=6,
).map("".join)


@given(st.lists(TEXTS, max_size=4), TEXTS)
def test_any_texts_give_probabilities(passages: list[str], answer: str) -> None:
    claims = split(answer)
    found = relate("Who was Ada?", claims, passages, Words())
    assert found.shape == (len(claims), len(passages), 3)
    np.testing.assert_allclose(found.sum(axis=2), 1.0)


def test_scripts_without_spaces_share_letters() -> None:
    found = compare("誰？", ["彼は東京に住む。"], ["東京に住んでいた。", "猫がいる。"])
    assert list(found.nearest) == [(0, 0)]


@pytest.mark.parametrize(
    ("passage", "contradicts"),
    [
        ("Curie was a physicist and chemist who worked in France.", False),
        ("Curie discovered polonium and radium.", False),
        ("Curie was born in Paris in 1870.", True),
        ("She was born in Vienna, and died in 1934.", True),
    ],
)
def test_the_built_in_judge_tells_silence_from_contradiction(passage: str, contradicts: bool) -> None:
    """Its network takes the one for the other: a passage must say something in the claim's place."""
    found = relate("Who was Curie?", ["Curie was born in Warsaw in 1867."], [passage])[0, 0]
    assert found.argmax() == (1 if contradicts else 2)


def test_other_judges_are_believed() -> None:
    class Sure:
        def relation(self, batch: Sequence[Any]) -> Any:
            return np.tile([0.0, 1.0, 0.0], (len(batch), 1))

    found = relate("Who was Curie?", ["Curie was a teacher."], ["Curie baked bread."], Sure())
    assert found[0, 0].argmax() == 1


TWO_FACTS = "Ada Lovelace was born in London in 1815 and moved to Kent in 1835 with her family."


@pytest.mark.parametrize(
    ("passage", "expected"),
    [
        (
            "Ada Lovelace was born in London in 1815. Ada Lovelace moved to Kent in 1835 with her family.",
            [1, 0, 0],
        ),
        ("Ada Lovelace was born in London in 1815. She wrote.", [0.5, 0, 0.5]),
        ("Ada Lovelace was never in Kent.", [0.0, 0.0, 1.0]),
    ],
)
def test_a_sentence_of_two_facts_is_read_fact_by_fact(passage: str, expected: list[float]) -> None:
    class Entails:
        def entails(self, batch: Sequence[Any]) -> Any:
            return [float(set(b.strip(".").split()) <= set(a.replace(".", "").split())) for _, a, b in batch]

    np.testing.assert_allclose(relate("Who was Ada?", [TWO_FACTS], [passage], Entails())[0, 0], expected)


def test_one_contradicted_fact_contradicts_the_claim() -> None:
    class Places:
        def relation(self, batch: Sequence[Any]) -> Any:
            return np.array(
                [[1.0, 0.0, 0.0] if "London" in fact else [0.0, 1.0, 0.0] for _, _, fact in batch]
            )

    found = relate(
        "Who was Ada?", [TWO_FACTS], ["Ada Lovelace was born in London and moved to Rome."], Places()
    )
    assert found.argmax(axis=2).tolist() == [[1]]
    np.testing.assert_allclose(found.sum(axis=2), 1.0)


@pytest.mark.parametrize(
    ("claim", "facts"),
    [
        ("He was born in Ulm.", 1),
        ("Peter Breen (born October 28, 1965) is an American politician from the state of Illinois.", 2),
        ("In 2006, he was appointed commander of the forces, becoming the first to hold the position.", 2),
        (
            "Die Donau ist der zweitlängste Fluss Europas und fließt durch zehn Länder, bevor sie ins Meer mündet.",
            1,
        ),
    ],
)
def test_facts(claim: str, facts: int) -> None:
    found = facts_of(claim)
    assert len(found) == facts
    assert facts > 1 or found == [claim]


def test_a_less_precise_date_is_no_contradiction() -> None:
    said = "She received two Nobel Prizes. She died in 1934 in Passy, France."
    found = relate("Who was Curie?", ["Curie died on 4 July 1934 in Passy."], [said])[0, 0]
    assert found[1] == 0


class Doubtful:
    """Cannot decide."""

    def relation(self, batch: Sequence[tuple[str, str, str]]) -> Any:
        return np.tile([0.5, 0.1, 0.4], (len(batch), 1))


LONG_CLAIM = (
    "Ann Lee founded a school for nurses near Bath that trained four hundred women until war began in 1914."
)


@pytest.mark.parametrize(
    ("less", "more"),
    [
        ("Ann Lee founded a choir.", "Ann Lee founded a school for nurses."),
        # what the nearest sentences leave out counts, too
        (
            "Ann Lee founded a school. Nurses came. Bath is old. It rained. Trains ran.",
            "Ann Lee founded a school. Nurses came. Bath is old. Women trained there until the war. It began in 1914.",
        ),
        # a number tells more than a word
        ("Ann Lee founded a school near Oslo in 1816.", "Ann Lee founded a choir near Oslo in 1914."),
    ],
)
def test_where_the_judge_is_in_doubt_the_shared_words_of_a_long_claim_count(less: str, more: str) -> None:
    found = relate("Who was Ann Lee?", [LONG_CLAIM], [less, more], Doubtful())[0]
    assert found[0, 0] < found[1, 0]
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    np.testing.assert_allclose(found[:, 1] / found[:, 2], 0.25)


def test_all_words_shared_and_none() -> None:
    claim = "Ann Lee founded schools, hospitals, baths, parks, museums, choirs, shops, mills, farms, camps and inns."
    everything = claim.replace("founded", "founded many").replace(".", " there.")
    nothing = "Ann Lee liked tea. A choir sang."
    found = relate("Who was Ann Lee?", [claim], [everything, nothing], Doubtful())[0, :, 0]
    assert found[0] == pytest.approx(1 / (1 + np.exp(-1)))
    assert found[1] == pytest.approx(1 / (1 + np.exp(1 - 2 / 12)), abs=1e-9)


@given(st.floats(0, 1), st.lists(st.sampled_from(LONG_CLAIM.split()), min_size=1, max_size=12))
def test_any_support_gives_probabilities_and_certainty_stays(support: float, said: list[str]) -> None:
    class Fixed:
        def relation(self, batch: Sequence[tuple[str, str, str]]) -> Any:
            return np.tile([support, 1 - support, 0.0], (len(batch), 1))

    found = relate("", [LONG_CLAIM], [" ".join(said)], Fixed())[0, 0]
    assert np.all((found >= 0) & (found <= 1))
    assert found.sum() == pytest.approx(1.0)
    judged_at_all = found[2] < 1
    if support in (0.0, 1.0) and judged_at_all:
        assert found[0] == support
