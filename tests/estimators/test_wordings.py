"""The form of an answer: one meaning in many wordings is not flagged, many meanings are."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest
from benchmarks.wordings import outcomes
from hypothesis import given
from hypothesis import strategies as st

from semtropy import Budget, Evidence, Partition, Prior, Sample, check
from semtropy.estimators.bayes import Bayes
from semtropy.evidence import NAME_WORDS, typical_words, word_count
from semtropy.meaning import ScriptedJudge
from semtropy.models import ScriptedModel
from semtropy.nouns import JudgedAnswer
from semtropy.stopping import Decided, Reason, Spent
from semtropy.verdict import Outcome

SURE = "the capital of Australia is Canberra, as far as anybody knows"


@pytest.mark.parametrize("number", [2, 4, 8, 20, 100, 1000])
def test_one_meaning_in_many_wordings_is_steady(number):
    found = outcomes(number, "sentences", same=True, checks=8)
    assert (found.flagged, found.steady) == (0, 8)
    assert sum(found.samples) / 8 <= 4
    assert min(found.agreement) > 0.9


@pytest.mark.parametrize("number", [2, 4, 8, 20, 100, 1000])
def test_as_many_meanings_are_flagged(number):
    found = outcomes(number, "sentences", same=False, checks=8)
    assert (found.flagged, found.steady) == (8, 0)


@pytest.mark.parametrize("number", [2, 20, 1000])
def test_words_that_only_word_a_sentence_do_not_speak_against_it(number):
    found = outcomes(number, "sentences", same=True, checks=4, words=True)
    assert (found.flagged, found.steady) == (0, 4)
    assert sum(found.samples) / 4 <= 4
    assert min(found.agreement) > 0.9
    assert outcomes(number, "sentences", same=False, checks=2, words=True).flagged == 2


@pytest.mark.parametrize("number", [4, 20, 1000])
def test_wordings_of_names_are_not_flagged_either(number):
    found = outcomes(number, "names", same=True, checks=3)
    assert found.flagged == 0


def rows(form, wordings, questions=40):
    """Questions whose samples all mean the same, in some equally likely wordings."""
    texts = [form.format("abcdefghijklmnop"[i]) for i in range(wordings)]
    logprob = -math.log(wordings)
    return [
        {
            "id": str(i),
            "question": "?",
            "answer": {
                "text": texts[i % wordings],
                "sampling_logprob": logprob,
                "meaning": 0,
                "correct": True,
            },
            "samples": [
                {"text": texts[(i + k) % wordings], "logprob": logprob, "meaning": 0} for k in range(16)
            ],
        }
        for i in range(questions)
    ]


@given(st.lists(st.integers(0, 500), min_size=1), st.integers(0, 500))
def test_more_words_never_make_a_shorter_form(counts, more):
    assert typical_words(counts) >= NAME_WORDS
    assert typical_words([count + more for count in counts]) >= typical_words(counts)
    assert typical_words(counts) >= sorted(counts)[len(counts) // 2]


def test_evidence_knows_the_words_of_answer_and_samples():
    samples = [Sample(SURE), Sample("Canberra.")]
    bare = Evidence.gather(samples, Partition((0, 0)), Sample("Canberra"), 0)
    assert bare.words == NAME_WORDS  # the median: a long sample among brief ones does not matter
    once = Evidence.gather(samples[:1], Partition((0,)), Sample("Canberra"), 0)
    assert once.words == NAME_WORDS  # one sample does not change the form of the answer
    worded = Evidence.gather([Sample(SURE)] * 2, Partition((0, 0)), Sample("Canberra"), 0)
    assert worded.words == 12  # a bare name of a model that writes sentences is one of its wordings
    assert Evidence.gather(samples[1:], Partition((0,)), Sample(SURE), 0).words == 12
    assert word_count(SURE) == 11


def test_a_flag_takes_a_sample_that_disagrees_or_a_prior_for_such_answers():
    unlikely = Evidence(counts=(), answer=JudgedAnswer(0, math.log(0.001)), words=NAME_WORDS)
    belief = Bayes()(unlikely)
    assert belief.unopposed
    assert Decided(0.69)(belief, Spent()) is None
    agreed = Evidence(counts=(1,), floors=(0.001,), answer=JudgedAnswer(0, math.log(0.001)), words=NAME_WORDS)
    assert Bayes()(agreed).unopposed
    other = replace(agreed, answer=JudgedAnswer(1, math.log(0.001)))
    assert not Bayes()(other).unopposed
    sentence = replace(other, words=24)
    assert Bayes()(sentence).unopposed  # one sentence that means something else may be another wording
    twice = Evidence(counts=(2,), floors=(0.001,), answer=JudgedAnswer(1, math.log(0.001)), words=24)
    assert not Bayes()(twice).unopposed
    fitted = replace(Prior.default(), trained_on=100)
    assert Decided(0.69)(Bayes(fitted)(unlikely), Spent()) is Reason.DECIDED_HIGH
    assert Bayes(fitted)(replace(unlikely, words=24)).unopposed  # fitted to names, not to sentences


def test_without_samples_an_unlikely_wording_is_undecided():
    model = ScriptedModel(default={f"{SURE} {letter}": 1 / 20 for letter in "abcdefghijklmnopqrst"})
    judge = ScriptedJudge({}, default=1.0)
    verdict = check("?", model=model, judge=judge, budget=Budget(samples=0), rng=1)
    assert (verdict.outcome, verdict.samples) == (Outcome.UNDECIDED, 0)


def test_forms_are_fitted_apart():
    names, sentences = rows("{0}anberra", 2), rows(f"{SURE} {{0}}", 8)
    both = Prior.fit([*names, *sentences])
    assert (both.trained_on, both.words) == (40, NAME_WORDS)
    assert both.longer is not None
    assert both.longer.trained_on == 40
    brief = Prior.fit(names)
    assert (brief.trained_on, brief.words) == (40, NAME_WORDS)
    assert part(brief, 12) == part(Prior.default(), 12)
    worded = Prior.fit(sentences)
    assert (worded.samples, worded.trained_on) == (Prior.default().samples, 0)
    assert worded.form(Evidence(counts=(1,), words=12)).trained_on == 40
    wording = Evidence(counts=(), answer=JudgedAnswer(0, math.log(1 / 8)), words=12)
    assert Bayes(worded)(wording).mean < 0.2 < Bayes()(wording).mean


def test_phrases_are_believed_to_be_names_or_sentences():
    names = rows("{0}anberra", 2)
    for row in names:  # a model that seldom says the same twice
        for k, sample in enumerate(row["samples"]):
            sample |= {"text": f"city {k}", "meaning": k, "logprob": math.log(0.05)}
        row["answer"] |= {"text": "city 0", "sampling_logprob": math.log(0.05)}
    fitted, shipped = Prior.fit(names), Prior.default()
    phrases = part(fitted, 6)
    assert (phrases.words, phrases.trained_on) == (6, 0)
    assert phrases.longer is part(fitted, 12)
    assert len(phrases.answered) == 1 + len(part(shipped, 12).answered)

    def entropy(prior, words):
        answer = JudgedAnswer(0, math.log(0.05))
        return Bayes(prior)(Evidence(counts=(), answer=answer, words=words)).mean

    assert entropy(fitted, 3) > entropy(fitted, 6) > entropy(fitted, 12) + 0.2
    assert entropy(fitted, 12) == entropy(shipped, 12)


def part(prior, words):
    """The part of a prior for answers of so many words."""
    return prior.form(Evidence(counts=(1,), words=words))


def test_a_prior_for_names_takes_what_is_slightly_longer():
    longer = [*rows("{0}anberra", 2), *rows("{0} new south wales today", 2, questions=4)]
    assert Prior.fit(longer).words == 6


def test_a_prior_with_forms_is_saved_and_combined(tmp_path):
    prior = Prior.fit([*rows("{0}anberra", 2), *rows(f"{SURE} {{0}}", 4)])
    prior.save(tmp_path / "prior.json")
    back = Prior.load(tmp_path / "prior.json")
    assert back.words == prior.words
    assert back.longer is not None
    assert prior.longer is not None
    assert back.longer.samples.components == prior.longer.samples.components
    assert json.loads((tmp_path / "prior.json").read_text())["longer"]["trained_on"] == 40
    both = Prior.combine([prior, Prior.fit(rows(f"{SURE} {{0}}", 8))])
    assert both.longer is not None
    assert (both.trained_on, both.longer.trained_on) == (40, 80)
    assert both.form(Evidence(counts=(1,), words=48)) is both.longer


def test_a_name_in_many_wordings_is_worded_like_a_sentence():
    def seen(wordings, words=NAME_WORDS):
        logprobs = ((math.log(0.1),) * wordings,)
        counts, floors = (wordings,), (0.1 * wordings,)
        return Evidence(counts=counts, floors=floors, distinct=counts, logprobs=logprobs, words=words)

    prior = Prior.default()
    assert prior.form(seen(2)) is prior
    assert prior.form(seen(3)) is part(prior, 12)
    assert prior.form(replace(seen(2), answer=JudgedAnswer(0, math.log(0.1)))) is part(prior, 12)
    assert prior.form(replace(seen(3), answer=JudgedAnswer(1, math.log(0.1)))) is prior  # samples disagree
    fitted = replace(prior, trained_on=100)
    assert fitted.form(seen(3)) is fitted
