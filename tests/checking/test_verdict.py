"""The verdict: JSON there and back, and sentences a person can act on."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semtropy.errors import InputError
from semtropy.stopping import Reason, Spent
from semtropy.verdict import ClaimVerdict, Entropy, Meaning, Outcome, Verdict, VerdictAgreement, Wording

number = st.floats(0, 10)
verdicts = st.builds(
    Verdict,
    question=st.text(min_size=1),
    answer=st.text(),
    entropy=st.builds(Entropy, number, st.none() | number, st.none() | st.tuples(number, number)),
    meanings=st.lists(
        st.builds(
            Meaning,
            st.text(),
            st.integers(0, 9),
            st.floats(0, 1),
            st.lists(st.builds(Wording, st.text(), st.integers(0, 9))).map(tuple),
            st.booleans(),
        ),
        min_size=1,
    ).map(tuple),
    spent=st.builds(
        Spent,
        st.integers(0, 99),
        st.integers(1, 9),
        st.none() | st.integers(0, 99),
        st.integers(0, 9),
        number,
    ),
    reason=st.sampled_from(list(Reason)),
    outcome=st.sampled_from(list(Outcome)),
    agreement=st.none() | st.builds(VerdictAgreement, st.floats(0, 1), st.none() | st.tuples(number, number)),
    missing=st.none() | st.text(),
    probability=st.none() | st.floats(0, 1),
    threshold=st.floats(0.1, 5),
    warnings=st.lists(st.text()).map(tuple),
)


@given(verdicts)
def test_json_there_and_back_is_the_same_verdict(verdict):
    assert Verdict.from_json(verdict.to_json()) == verdict
    assert Verdict.from_dict(json.loads(verdict.to_json())) == verdict


@given(verdicts)
def test_every_verdict_explains_itself(verdict):
    text = verdict.explain()
    assert str(verdict.reason) in text
    if verdict.outcome is not Outcome.NO_ANSWER:
        assert ("threshold" if verdict.probability is None else "the calibration gives") in text
        assert (verdict.agreement is None) != ("Asked again, the model would give this answer" in text)
    # without its first letter, which may lose its capital after "Note:"
    assert all(warning[1:].replace("\n", "\n    ") in text for warning in verdict.warnings)


def one(**changes) -> Verdict:
    settings = {
        "question": "Who?",
        "answer": "Ann",
        "entropy": Entropy(1.2, 0.1, (0.5, 1.9)),
        "meanings": (Meaning("Ann", 2, wordings=(Wording("Ann", 2),), has_answer=True), Meaning("Bob", 1)),
        "spent": Spent(samples=3, rounds=2, tokens=9, judge_calls=2, seconds=0.25),
        "reason": Reason.SAMPLES,
        "outcome": Outcome.FLAGGED,
    }
    return Verdict(**(settings | changes))


def test_the_keys_are_those_of_the_contract():
    keys = {"question", "answer", "entropy", "meanings", "samples", "rounds", "reason", "flagged"}
    keys |= {"probability", "threshold", "cost", "warnings", "outcome", "agreement", "missing", "claims"}
    keys |= {"score", "prior", "guarantee", "judge"}
    data = one().to_dict()
    assert set(data) == keys
    assert set(data["entropy"]) == {"mean", "variance", "interval"}
    assert set(data["cost"]) == {"tokens", "judge_calls", "seconds"}
    wordings = [{"text": "Ann", "count": 2}]
    ann = {"text": "Ann", "count": 2, "floor": 0.0, "wordings": wordings, "has_answer": True}
    assert data["meanings"][0] == ann
    assert set(one(agreement=VerdictAgreement(0.5)).to_dict()["agreement"]) == {"mean", "interval"}


def test_headlines():
    assert one().headline() == 'Likely made up: "Ann".'
    assert one(agreement=VerdictAgreement(0.3)).headline() == 'Likely made up: "Ann".'
    assert one(agreement=VerdictAgreement(0.77)).headline() == 'Possibly made up: "Ann".'
    assert one(agreement=VerdictAgreement(0.46)).headline() == 'Unsure: "Ann".'
    assert one(probability=0.8).headline() == 'Probably made up (80%): "Ann".'
    assert one(outcome=Outcome.STEADY).headline() == 'Looks steady: "Ann".'
    assert one(outcome=Outcome.UNDECIDED).headline() == 'Undecided: "Ann".'
    silent = one(answer=" ", outcome=Outcome.NO_ANSWER, missing="the model declined to answer")
    assert silent.headline() == "No answer: the model declined to answer."
    assert "Semantic entropy" not in silent.explain()


@pytest.mark.parametrize(
    ("counts", "sentence"),
    [
        ((0,), "No sample was drawn: there is only the answer to go by."),
        ((1,), "The one sample means what the answer means."),
        ((0, 1), 'The one sample means something else: "b1".'),
        ((0, 5), 'None of 5 samples means what the answer means; all of them say "b1".'),
        ((0, 2), 'Neither sample means what the answer means; both say "b1".'),
        ((0, 1, 1), "Neither sample means what the answer means, and they differ from each other, too."),
        (
            (0, 3, 2),
            'None of 5 samples means what the answer means; they have 2 meanings, the commonest "b1" (3 of 5).',
        ),
        ((1, 1), '1 of 2 samples means what the answer means; the other says "b1".'),
        (
            (1, 1, 1),
            "1 of 3 samples means what the answer means, and the other 2 differ from each other, too.",
        ),
        ((2, 3), '2 of 5 samples mean what the answer means; the other 3 say "b1".'),
        (
            (4, 1, 3),
            '4 of 8 samples mean what the answer means; the other 4 have 2 meanings, the commonest "b2" (3 of 8).',
        ),
    ],
)
def test_where_the_answer_stands_among_the_samples(counts, sentence):
    meanings = tuple(Meaning(f"b{i}", count, has_answer=i == 0) for i, count in enumerate(counts))
    assert sentence in one(meanings=meanings, spent=Spent(samples=sum(counts), rounds=1)).explain()


@pytest.mark.parametrize(
    ("outcomes", "headline"),
    [
        ("ff", "Do not trust either claim."),
        ("fff", "Do not trust any of the 3 claims."),
        ("sfu", "Do not trust 1 of 3 claims."),
        ("uu", "Undecided: both claims."),
        ("uuu", "Undecided: all 3 claims."),
        ("suu", "Undecided: 2 of 3 claims."),
        ("ss", "Looks steady: both claims."),
        ("ssu", "Looks steady: 2 of 3 claims; the other is undecided."),
    ],
)
def test_the_headline_of_a_long_answer_counts_as_people_do(outcomes, headline):
    kinds = {"s": Outcome.STEADY, "f": Outcome.FLAGGED, "u": Outcome.UNDECIDED}
    claims = tuple(ClaimVerdict("", 0, 0, kinds[each], VerdictAgreement(0.5), 1, 1, 1) for each in outcomes)
    steady = 2 * outcomes.count("s") > len(outcomes)
    whole = Outcome.FLAGGED if "f" in outcomes else Outcome.STEADY if steady else Outcome.UNDECIDED
    assert one(outcome=whole, claims=claims).headline() == headline


def test_an_interval_whose_ends_look_the_same_is_left_out():
    told = one(
        agreement=VerdictAgreement(0.9, (0.9, 0.902)), entropy=Entropy(0.33, 0.0, (0.33, 0.331))
    ).explain()
    assert "90 times in 100.\n" in told
    assert "Semantic entropy 0.33 nats, below" in told


def test_what_it_does_not_say_is_said():
    assert "repeats the same error every time" in one(outcome=Outcome.STEADY).explain()
    assert "may still be right" in one().explain()


def test_numbers_that_json_cannot_hold_are_refused():
    with pytest.raises(ValueError, match="JSON"):
        one(entropy=Entropy(math.nan)).to_json()


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("{}", "'cost' is missing"),
        ("[]", "expected an object"),
        ("{", "not a verdict"),
        ('{"entropy": 3, "cost": {}}', "not"),
    ],
)
def test_what_is_no_verdict_is_named(text, names):
    with pytest.raises(InputError, match=names):
        Verdict.from_json(text)


def test_an_unknown_reason_is_an_error():
    data = one().to_dict() | {"reason": "because"}
    with pytest.raises(InputError, match="because"):
        Verdict.from_dict(data)


def test_nothing_is_counted_where_nothing_was_drawn():
    """`0 x` and `0 samples` are numbers nobody can read anything from."""
    meanings = (
        Meaning("Rome", 2, 0.1, (Wording("Rome", 2),)),
        Meaning("Paris", 1, 0.5, (Wording("paris", 1), Wording("Paris", 0)), has_answer=True),
    )
    verdict = Verdict("?", "Paris", Outcome.FLAGGED, Entropy(0.9), meanings, Spent(3, 2), Reason.FIXED)
    assert verdict.show_groups().splitlines() == [
        "2 x Rome",
        "1 x Paris (the answer)",
        "      1 x paris",
        "      answer: Paris",
    ]
    alone = (Meaning("Paris", 0, 0.5, (Wording("Paris", 0),), has_answer=True),)
    verdict = Verdict("?", "Paris", Outcome.STEADY, Entropy(0.1), alone, Spent(0, 1, 2), Reason.DECIDED_LOW)
    assert verdict.show_groups() == "no sample: Paris (the answer)"
    assert "Cost: no sample, 2 tokens" in verdict.explain()


def test_a_verdict_shows_itself() -> None:
    verdict = one(answer="<b>Ann</b>")
    assert str(verdict) == verdict.explain()
    assert "\n" not in repr(verdict)
    assert len(repr(verdict)) < 150
    drawn = verdict._repr_html_()
    assert "&lt;b&gt;Ann&lt;/b&gt;" in drawn
    assert "<b>Ann" not in drawn
    assert drawn.count("Asked again, the model would give this answer") == (verdict.agreement is not None)
    assert verdict.to_row()["answer"] == "<b>Ann</b>"


def short(answer: str, *found: Meaning, warnings: tuple[str, ...] = ()) -> Verdict:
    spent = Spent(samples=sum(each.count for each in found))
    return Verdict("?", answer, Outcome.FLAGGED, Entropy(1.0), found, spent, Reason.FIXED, warnings=warnings)


def test_a_quotation_in_an_answer_stands_in_other_marks() -> None:
    answer = 'HTTP 404 means "Not Found."'
    own, other = Meaning(answer, 1, has_answer=True), Meaning('It means "Gone"', 2)
    told = short(answer, own, other).explain()
    assert 'Likely made up: “HTTP 404 means "Not Found."”\n' in told
    assert 'the other 2 say “It means "Gone"”.' in told
    assert '""' not in told
    agreement = VerdictAgreement(0.1, (0.0, 0.3))
    claim = ClaimVerdict(answer, 0, 27, Outcome.FLAGGED, agreement, 0, 3, 0, 'It means "Gone".')
    assert claim.sentence().startswith('flagged: “HTTP 404 means "Not Found."” All 3 samples contradict it;')
    assert claim.sentence().endswith('A sample says instead: “It means "Gone".”')


def test_an_empty_sample_says_nothing() -> None:
    verdict = short("Rome", Meaning("Rome", 2, has_answer=True), Meaning("", 1))
    assert "2 of 3 samples mean what the answer means; the other says nothing.\n" in verdict.explain()
    assert verdict.show_groups().splitlines() == ["2 x Rome (the answer)", "1 x (empty)"]


def test_a_long_sample_is_quoted_on_one_line_and_in_part() -> None:
    code = "4 strings.\n\n```python\n" + "print(4)\n" * 40 + "```"
    verdict = short("Five", Meaning("Five", 1, has_answer=True), Meaning(code, 1))
    told = verdict.explain().splitlines()[1]
    assert told.startswith(
        '1 of 2 samples means what the answer means; the other says "4 strings. ```python print(4)'
    )
    assert told.endswith('…"')
    assert len(told) < 200
    assert len(verdict.show_groups().splitlines()) == 2


def test_an_entropy_at_the_threshold_is_just_above_or_below() -> None:
    assert "0.69 nats, just below the threshold of 0.69." in one(entropy=Entropy(0.69)).explain()
    assert "0.69 nats, just above the threshold of 0.69." in one(entropy=Entropy(0.694)).explain()
    assert "0.70 nats, above the threshold of 0.69." in one(entropy=Entropy(0.70)).explain()


def test_a_note_has_a_capital_only_for_a_name() -> None:
    told = short("x", warnings=("All 4 answers differ.", "Ollama counts no tokens.")).explain()
    assert "Note: all 4 answers differ.\nNote: Ollama counts no tokens." in told


def test_an_open_claim_says_how_open_it_is_and_that_silence_is_weak_evidence() -> None:
    low, lower = VerdictAgreement(0.09, (0.0, 0.28)), VerdictAgreement(0.07, (0.0, 0.2))
    left_out = ClaimVerdict("It is old.", 0, 10, Outcome.UNDECIDED, low, 0, 0, 3)
    denied = ClaimVerdict("It is red.", 11, 21, Outcome.FLAGGED, lower, 0, 1, 2)
    assert left_out.sentence([left_out, denied]) == (
        'undecided: "It is old." None of 3 samples supports or contradicts it, which is only weak evidence against it; '
        "asked again, the model would repeat it 9 times in 100 (90% interval: 0 to 28)."
    )
    flagged = ClaimVerdict("It is new.", 0, 10, Outcome.FLAGGED, lower, 0, 0, 3)
    assert flagged.sentence([left_out, flagged]) == (
        'flagged: "It is new." None of 3 samples supports or contradicts it, and few samples support the other '
        "claim; asked again, the model would repeat it 7 times in 100 (90% interval: 0 to 20)."
    )
    assert denied.sentence([left_out, denied]) == (
        'flagged: "It is red." 1 of 3 samples contradicts it, and none supports it; '
        "asked again, the model would repeat it 7 times in 100."
    )


def test_a_claim_that_all_samples_contradict_says_why_it_may_be_repeated() -> None:
    wrong = ClaimVerdict("It is red.", 0, 10, Outcome.FLAGGED, VerdictAgreement(0.41, (0.1, 0.7)), 0, 2, 0)
    backed = [
        ClaimVerdict(f"It has {n}.", 0, 9, Outcome.STEADY, VerdictAgreement(0.9), 2, 0, 0) for n in range(4)
    ]
    why = "Both samples contradict it, but all 4 other claims are mostly supported, which speaks for this one, too;"
    assert why in wrong.sentence([wrong, *backed])
    assert "other claims" not in wrong.sentence([wrong])


@pytest.mark.parametrize(
    ("counts", "agreement", "others", "why"),
    [
        (
            (0, 0, 5),
            0.68,
            5,
            "it, which is only weak evidence against it, and the other claim is mostly supported;",
        ),
        (
            (1, 0, 4),
            0.42,
            0,
            "1 of 5 samples supports it, and the other 4 leave it open, which is only weak evidence",
        ),
        (
            (4, 0, 1),
            0.97,
            5,
            "and the other leaves it open, which is only weak evidence against it, and the other",
        ),
        (
            (1, 2, 2),
            0.74,
            5,
            "it and 2 contradict it, but the other claim is mostly supported, which speaks for this",
        ),
        (
            (3, 0, 2),
            0.15,
            1,
            "3 of 5 samples support it, but few samples support the other claim; asked again",
        ),
        ((3, 0, 2), 0.63, 1, "3 of 5 samples support it; asked again"),
        ((0, 0, 5), 0.1, 5, "it, which is only weak evidence against it; asked again"),
    ],
)
def test_a_number_that_its_samples_do_not_suggest_is_explained(counts, agreement, others, why) -> None:
    claim = ClaimVerdict("It is red.", 0, 10, Outcome.UNDECIDED, VerdictAgreement(agreement), *counts)
    other = ClaimVerdict("It has 2.", 0, 9, Outcome.STEADY, VerdictAgreement(0.9), others, 0, 5 - others)
    assert why in claim.sentence([claim, other])


@pytest.mark.parametrize(
    ("own", "mean", "interval", "floor", "said"),
    [
        (3, 0.29, (0.24, 0.46), 0.24, True),
        (0, 0.30, (0.19, 0.51), 0.0, True),  # those of the other samples are known
        (3, 0.29, (0.24, 0.46), None, False),
        (3, 0.47, (0.31, 0.69), 0.31, False),
        (5, 0.98, (0.88, 1.0), 0.6, False),
        (0, 0.18, (0.14, 0.31), 0.14, False),
    ],
)
def test_a_number_that_rests_on_probabilities_says_so(own, mean, interval, floor, said) -> None:
    other = Meaning("Lyon", 5 - own, 0.0 if floor is None else 0.2)
    found = (Meaning("Paris", own, floor or 0.0, has_answer=True), *([other] if own < 5 else []))
    verdict = one(meanings=found, spent=Spent(samples=5), agreement=VerdictAgreement(mean, interval))
    told = " The model also reports how probable these texts are, which says more than the counts."
    assert (told in verdict.explain()) == said
