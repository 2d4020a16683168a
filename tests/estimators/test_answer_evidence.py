"""The judged answer as evidence: agreement, verdicts before the first sample, and answers that samples contradict."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recordings_made import graded_recording
from semtropy import Budget, Evidence, Prior, Sample, check, read_recording, score
from semtropy.cli import main
from semtropy.entropy.components import Observations
from semtropy.entropy.shares import share_distribution
from semtropy.errors import InputError
from semtropy.estimators.bayes import AgreementScore, Bayes
from semtropy.evidence import carrying_tokens
from semtropy.meaning import ScriptedJudge
from semtropy.models.scripted import ScriptedModel
from semtropy.nouns import JudgedAnswer
from semtropy.study.evaluate import evaluate
from semtropy.verdict import Outcome

BAYES = Bayes()


class Says:
    """A model that gives one answer, and other samples."""

    name = "says"

    def __init__(self, answer: Sample, samples: list[Sample]) -> None:
        self.answer, self.samples = answer, samples

    def sample(self, prompt, n, *, temperature=1.0, rng=None):
        return [self.answer] * n if temperature < 1 else (self.samples * n)[:n]


@st.composite
def evidences(draw) -> Evidence:
    """Evidence of a few samples and an answer, whose known probabilities leave room for others."""
    m = draw(st.integers(0, 4))
    counts = draw(st.lists(st.integers(1, 5), min_size=m, max_size=m))
    floors = draw(st.lists(st.floats(0, 0.2), min_size=m, max_size=m))
    logprob = draw(st.none() | st.floats(-30, -2))
    entropy = draw(st.none() | st.floats(0, 8))
    return Evidence(
        tuple(counts), tuple(floors), answer=JudgedAnswer(draw(st.integers(0, m)), logprob, None, entropy)
    )


@given(evidences())
@settings(max_examples=40, deadline=None)
def test_an_answer_never_spoils_a_belief_and_probabilities_sum_to_1(evidence):
    belief = BAYES(evidence)
    assert math.isfinite(belief.mean)
    assert belief.mean >= 0
    assert belief.variance >= 0
    parts = belief.distribution.components
    seen = np.array([share_distribution(parts, each)[0].mean for each in range(parts[0].floors.size)])
    assert belief.agreement.mean == pytest.approx(seen[evidence.answer.meaning], abs=2e-3)
    # The probability of a new meaning, computed without the others: one more meaning with one draw.
    assert seen.sum() + new_meaning(evidence) == pytest.approx(1, abs=1e-3)
    low, high = belief.agreement.interval()
    assert 0 <= low <= high <= 1


def new_meaning(evidence: Evidence) -> float:
    """The predictive probability of a meaning not seen yet, from the evidence with and without such a draw."""
    from semtropy.entropy.two_level import component_moments

    seen = Observations.of(evidence)
    components, log_prior = BAYES.prior.for_evidence(evidence, seen.floors.size)
    more = Observations(
        np.append(seen.floors, 0.0),
        np.append(seen.found, 0.0),
        (*seen.logprobs, ()),
        np.append(seen.no_logprob, 1.0),
    )
    before = component_moments([seen], components, tolerance=1e-6, log_prior=log_prior).log_evidence[0]
    after = component_moments([more], components, tolerance=1e-6).log_evidence[0]
    used = np.isfinite(before)  # columns that the belief leaves out are left out here too
    weights = np.exp((log_prior + before)[used] - (log_prior + before)[used].max())
    return float((weights / weights.sum()) @ np.exp(after[used] - before[used]))


def test_shares_of_a_dirichlet_are_known():
    """Without lower bounds a component is a Dirichlet, whose marginals are beta distributions."""
    from semtropy.entropy.distribution import PosteriorComponent

    part = PosteriorComponent(1.0, np.array([2.5, 1.5]), np.ones(2), np.zeros(2), 1.0, 0.5)
    own, rival = share_distribution([part], 0, 1)
    assert own.mean == pytest.approx(3.5 / 7)  # Dirichlet(3.5, 2.5, 1)
    assert rival == pytest.approx(2.5 / 7)
    assert own.cdf([0.5])[0] == pytest.approx(0.5, abs=1e-9)


def test_the_answer_alone_gives_a_belief_that_follows_its_probability():
    beliefs = [score([], answer=Sample("Paris", logprob)) for logprob in (-0.05, -0.5, -2.0, -8.0)]
    means = [belief.mean for belief in beliefs]
    agreements = [belief.agreement.mean for belief in beliefs]
    assert means == sorted(means)
    assert agreements == sorted(agreements, reverse=True)
    assert agreements[0] > 0.95
    assert agreements[-1] < 0.05


def test_a_sample_that_repeats_the_answer_tells_nothing_new():
    once = score([], answer=Sample("Paris", -0.5, tokens=(1, 2)))
    again = score(
        ["Paris"] * 3, logprobs=[-0.5] * 3, tokens=[(1, 2)] * 3, answer=Sample("Paris", -0.5, tokens=(1, 2))
    )
    assert again.mean == pytest.approx(once.mean)


@pytest.mark.parametrize("logprob", [None, -1e-3])
@pytest.mark.parametrize("estimator", ["bayes", "histogram"])
def test_an_answer_that_every_sample_contradicts_is_flagged(logprob, estimator):
    model = Says(Sample("Berlin", sampling_logprob=-6.0), [Sample("Paris", logprob, ("Paris",))])
    verdict = check(
        "Capital of France?", model=model, judge="exact", estimator=estimator, budget=Budget(samples=5)
    )
    assert verdict.outcome is Outcome.FLAGGED
    said = verdict.explain()
    assert "None of " in said or "means something else" in said or verdict.samples == 0
    if verdict.agreement is not None:
        assert verdict.agreement.mean < 0.1


def test_a_given_answer_is_judged_and_no_other_is_drawn():
    model = Says(Sample("never asked for"), [Sample("Paris", -0.05, ("Paris",))])
    verdict = check("Capital of France?", model=model, judge="exact", answer="Paris")
    assert verdict.answer == "Paris"
    assert verdict.outcome is Outcome.STEADY
    assert next(meaning for meaning in verdict.meanings if meaning.has_answer).text == "Paris"


def test_no_sample_is_drawn_where_the_answer_decides():
    sure = check("?", model=ScriptedModel(default={"Paris": 0.97, "Lyon": 0.03}), judge="exact", rng=0)
    assert (sure.samples, sure.outcome) == (0, Outcome.STEADY)
    spread = {f"name {i}": 1 / 500 for i in range(500)}
    unsure = check("?", model=ScriptedModel(default=spread), judge="exact", rng=0)
    assert (unsure.samples, unsure.outcome) == (1, Outcome.FLAGGED)  # a flag takes a sample that disagrees
    trained = replace(Prior.default(), trained_on=300)  # or a prior that knows such answers of this model
    unsure = check("?", model=ScriptedModel(default=spread), judge="exact", rng=0, estimator=Bayes(trained))
    assert (unsure.samples, unsure.outcome) == (0, Outcome.FLAGGED)


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (Sample(""), "empty"),
        (Sample("", complete=False), "--max-tokens"),
        (Sample("It was", complete=False), "cut off"),
        (Sample("I'm sorry, but I don't know."), "declined"),
        (Sample("Я не знаю"), "declined"),
        (Sample("我不知道。"), "declined"),
        (Sample("Unknown."), "declined"),
    ],
)
def test_silence_is_no_answer(answer, says):
    verdict = check("?", model=Says(answer, [Sample("x")]), judge="exact")
    assert (verdict.outcome, verdict.samples, verdict.flagged) == (Outcome.NO_ANSWER, 0, False)
    assert says in verdict.headline()


@pytest.mark.parametrize("text", ["Sorry", "Unknown Pleasures", "None", "I Don't Know How to Love Him", "N"])
def test_answers_that_look_like_refusals_are_answers(text):
    verdict = check("?", model=Says(Sample(text, sampling_logprob=-0.05), [Sample(text)]), judge="exact")
    assert verdict.outcome is Outcome.STEADY, text


def test_a_budget_that_ends_first_is_undecided():
    model = ScriptedModel(default={"a": 0.6, "b": 0.4})
    verdict = check("?", model=model, judge="exact", budget=Budget(samples=1), rng=1)
    assert verdict.outcome is Outcome.UNDECIDED
    assert "limit on samples" in verdict.explain()


@pytest.mark.parametrize("options", [{"threshold": math.nan}, {"threshold": -1.0}, {"rule": 0.1}])
def test_senseless_terms_are_refused_before_anything_is_asked(options):
    class Unasked:
        name = "unasked"

        def sample(self, *_, **__):
            raise AssertionError("a request was paid for")

    with pytest.raises(InputError, match=next(iter(options))):
        check("?", model=Unasked(), judge="exact", **options)


def test_impossible_log_probabilities_are_refused_and_certainty_is_not_believed():
    with pytest.raises(InputError, match="logprob is nan"):
        Sample("a", math.nan)
    with pytest.raises(InputError, match="logprob is 2"):
        Sample("a", 2.0)
    model = Says(Sample("a", sampling_logprob=0.0), [Sample(text, 0.0) for text in "abcd"])
    verdict = check("?", model=model, judge="exact", budget=Budget(samples=4))
    assert verdict.samples > 0
    assert verdict.entropy.variance > 0
    assert verdict.outcome is not Outcome.STEADY


def test_a_study_begins_before_the_first_sample(tmp_path):
    path = graded_recording(tmp_path / "made.jsonl")
    results = json.loads(evaluate([path], folds=2, budgets=[0, 1, 2], seeds=2, bootstrap=20).to_json())
    budgets = {}
    for row in results["rows"]:
        budgets.setdefault(row["estimator"], []).append(row["budget"])
    assert budgets["bayes"] == budgets["agreement"] == [0, 1, 2]
    assert budgets["histogram"] == [1, 2]
    first = {row["estimator"]: row["auroc"] for row in results["rows"] if row["budget"] == 0}
    assert first["agreement"] > 0.7


def test_agreement_in_batches_is_the_agreement_of_each():
    evidence = Evidence((2, 1), (0.3, 0.1), answer=JudgedAnswer(0, -2.0))
    assert AgreementScore()(evidence).mean == pytest.approx(1 - BAYES(evidence).agreement.mean, abs=1e-3)


def test_a_fitted_prior_from_the_command_line(tmp_path, capsys):
    path = graded_recording(tmp_path / "made.jsonl", questions=10)
    assert main(["prior", "fit", str(path), "--out", str(tmp_path / "prior.json")]) == 0
    assert "fitted on 10 questions, 10 of them with the answer" in capsys.readouterr().out
    prior = Prior.load(tmp_path / "prior.json")
    assert prior.trained_on == 10
    rows = read_recording(path).rows
    assert Bayes(prior)(rows[0].evidence()).mean < Bayes(prior)(rows[1].evidence()).mean
    assert main(["prior", "fit", str(path), "--out", str(tmp_path / "no" / "folder.json")]) == 2
    assert "no is not a folder" in capsys.readouterr().err


@pytest.mark.parametrize("entropy", [2e307, -0.1, float("nan"), float("inf")])
def test_a_token_entropy_no_vocabulary_has_is_refused(entropy: float) -> None:
    """2e307 made the log-weights of a belief infinite."""
    with pytest.raises(InputError, match="token entropy"):
        JudgedAnswer(0, -1.0, None, entropy)
    with pytest.raises(InputError, match="token entropy"):
        Sample("Paris", -1.0, token_entropies=(0.1, entropy))


ASKED = "What is the capital of Australia?"
CARRYING, OTHERS = (
    ("Canberra", "Sydney", "1913", "東京", "Москва"),
    ("the", "Capital", "of", "Australia", "is", "are"),
)


@given(
    st.lists(st.sampled_from(CARRYING + OTHERS), min_size=1, max_size=8),
    st.lists(st.integers(1, 5), min_size=1),
    st.sampled_from(["", "<|im_end|>"]),
)
def test_the_words_of_the_question_do_not_carry_an_answer_however_it_is_cut_into_tokens(words, sizes, end):
    text, tokens, sizes = " ".join(words), [], list(sizes)
    left = f" {text}."
    while left:
        sizes = [*sizes[1:], sizes[0]]
        tokens.append(left[: sizes[0]])
        left = left[sizes[0] :]
    starts = [sum(map(len, tokens[:place])) for place in range(len(tokens))]
    spans, offset = [], 1
    for word in words:
        spans += [range(offset, offset + len(word))] if word in CARRYING else []
        offset += len(word) + 1
    spans = spans or [range(1, 1 + len(text))]  # without a new word all of the text carries it
    places = [range(at, at + len(token)) for at, token in zip(starts, tokens, strict=True)]
    expected = [i for i, own in enumerate(places) if any(set(own) & set(span) for span in spans)]
    assert carrying_tokens(ASKED, text, [*tokens, end]) == expected


@pytest.mark.parametrize(
    ("question", "tokens", "expected"),
    [
        ("Who wrote Faust?", ["Fa", "ust", " was", " written", " by", " Go", "ethe", "."], " written Goethe"),
        ("Do penguins fly?", ["No", ",", " pengu", "ins", " are", " too", " heavy", "."], "No"),
        ("Do penguins fly?", ["Pengu", "ins", " can", " not", " fly", "."], " not"),
        ("How many moons has Mars?", ["Mars", " has", " ", "2", " moons", "."], "2"),
        ("Wer schrieb Faust?", ["Fa", "ust", " ist", " von", " Goethe", "."], " Goethe"),
        ("日本の首都はどこですか", ["日本", "の", "首都", "は", "", "東", "京", "で", "す", "。"], "東京"),
        ("Which comes first, red or blue?", ["Blue", "."], "Blue."),  # no word is new: all of them
    ],
)
def test_the_tokens_that_carry_an_answer(question, tokens, expected):
    found = carrying_tokens(question, "".join(tokens), tokens)
    assert "".join(tokens[place] for place in found) == expected
    assert carrying_tokens(question, "another text", tokens) == []


SENTENCES = [
    f"{start} the capital of Australia {verb} Canberra{end}."
    for start in ("Well,", "So,")
    for verb in ("is", "was", "has been")
    for end in ("", " today")
]


def worded(*, sure=None):
    """A model that says one thing in twelve sentences, each as unlikely; `sure` is how sure it is of the name."""
    samples = [Sample(text, math.log(0.02)) for text in SENTENCES]
    answer = replace(samples[0], logprob=None, sampling_logprob=math.log(0.02))
    if sure is not None:
        frame = math.log(0.02 / sure) + 0.1  # the words of the question have what is left
        pieces = (
            ("Well", -0.1),
            (", the capital of Australia is", frame),
            (" Canberra", math.log(sure)),
            (".", 0.0),
        )
        answer = replace(answer, pieces=pieces)
    return Says(answer, samples)


def test_a_sentence_whose_carrying_tokens_are_sure_needs_fewer_samples():
    def checked(sure):
        same = ScriptedJudge({}, default=1.0)
        return check(ASKED, model=worded(sure=sure), judge=same, rng=1)

    unknown, sure, unsure = checked(None), checked(0.98), checked(0.05)
    assert [each.outcome for each in (unknown, sure, unsure)] == [Outcome.STEADY] * 3  # no sample disagrees
    assert sure.samples < unknown.samples
    assert sure.samples < unsure.samples
