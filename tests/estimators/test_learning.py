"""The prior that learns: what it learns, what it refuses to believe, and how it is kept."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from benchmarks.learning import MADE_UP, Rates, evidence_of, repeating
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import gammaln

from semtropy import load_estimator
from semtropy.checking import Checker
from semtropy.entropy.components import DirichletComponent, Observations, PitmanYorComponent, SequencePrior
from semtropy.entropy.two_level import component_moments
from semtropy.errors import InputError
from semtropy.estimators import LearnedPrior, Prior
from semtropy.estimators.learning import LEAST_UNSURE, _unsure
from semtropy.models import ScriptedModel
from semtropy.nouns import Evidence, JudgedAnswer


def drawn(shares, n, rng):
    counts = rng.multinomial(n, shares)
    return evidence_of(int(counts[0]), tuple(sorted((int(c) for c in counts[1:] if c), reverse=True)))


def learned_from(shares, questions, seed=0, samples=5):
    rng, learned = np.random.default_rng(seed), LearnedPrior()
    for _ in range(questions):
        learned.learn(drawn(shares, samples, rng))
    return learned


def unsure_share(prior):
    weights = np.exp(prior.samples.log_weights())
    return float(_unsure(prior.samples.components) @ weights)


@pytest.mark.parametrize(("share", "most"), [(0.97, 0.01), (0.9, 0.05)])
def test_models_that_repeat_themselves_are_seldom_flagged_and_made_up_answers_are(share, most):
    shares, rng = repeating(share, 5), np.random.default_rng(1)
    learned = learned_from(shares, 150)
    before = Rates.of(Prior.default(), shares, 300, rng)
    after, made_up = (Rates.of(learned.prior, each, 300, rng) for each in (shares, MADE_UP))
    assert after.flagged <= most + 0.01, after  # 300 trials
    assert after.undecided <= 0.15, after
    assert after.samples <= before.samples, after
    assert made_up.flagged >= 0.95


def test_before_the_first_question_it_is_the_prior_that_ships():
    learned = LearnedPrior()
    assert learned.prior is Prior.default()
    assert learned.state == "the one that ships, nothing learned yet"


def test_however_steady_the_model_a_share_of_unsure_questions_is_expected():
    assert unsure_share(learned_from((1.0,), 300).prior) == pytest.approx(LEAST_UNSURE, abs=0.01)
    assert unsure_share(learned_from(MADE_UP, 100).prior) > 0.8


@settings(max_examples=20)
@given(
    counts=st.lists(st.integers(1, 4), min_size=1, max_size=4),
    anchor=st.sampled_from([1.0, 20.0, 91.0]),
    size=st.sampled_from([5, 9]),
)
def test_an_anchored_component_is_the_component_after_that_many_draws_of_the_answer(counts, anchor, size):
    """Its evidence is that of the draws given the anchor's, and its moments are those after both."""
    for plain in (
        DirichletComponent(2.0, SequencePrior(0.1), (size,)),
        PitmanYorComponent(0.02, SequencePrior(0.1), (float(size),)),
    ):
        kind = type(plain)
        held = kind(
            plain.alpha if kind is DirichletComponent else 0.02, plain.sequences, plain.points, anchor
        )
        seen = Observations.of(Evidence(tuple(counts), answer=JudgedAnswer(0)))
        more = Observations.of(Evidence((counts[0] + int(anchor), *counts[1:])))
        alone = Observations.of(Evidence((int(anchor),)))
        found, after, before = (
            component_moments([each], [component])
            for each, component in ((seen, held), (more, plain), (alone, plain))
        )
        assert found.mean[0, 0] == pytest.approx(after.mean[0, 0], abs=1e-7)
        expected = after.log_evidence[0, 0] - before.log_evidence[0, 0]
        assert found.log_evidence[0, 0] == pytest.approx(expected, abs=1e-7)


def test_the_anchored_dirichlet_against_the_beta_binomial():
    """With two meanings: the answer's share is Beta(alpha + anchor, alpha)."""
    component = DirichletComponent(3.0, SequencePrior(0.1), (2,), anchor=10.0)
    seen = Observations.of(Evidence((4, 2), answer=JudgedAnswer(0)))
    a, b = 3.0 + 10.0, 3.0
    expected = sum(map(gammaln, (a + 4, b + 2, a + b))) - sum(map(gammaln, (a, b, a + b + 6)))
    assert component_moments([seen], [component]).log_evidence[0, 0] == pytest.approx(
        float(expected), abs=1e-9
    )


def test_anchored_components_are_left_out_where_a_log_probability_or_no_answer_is_known():
    prior = learned_from(repeating(0.95, 5), 60).prior
    assert any(component.anchor for component in prior.samples.components)
    bare = prior.for_evidence(Evidence((3,)), 1)[0]
    some = prior.for_evidence(Evidence((2,), (0.5,), answer=JudgedAnswer(0)), 1)[0]
    assert not any(component.anchor for component in (*bare, *some))
    assert load_estimator("bayes", prior=prior)(Evidence((3, 1))).mean > 0


def test_nothing_is_learned_from_what_says_nothing():
    learned = LearnedPrior()
    for evidence in (
        Evidence((3,)),  # no answer
        Evidence((), answer=JudgedAnswer(0, math.log(0.5))),  # no sample
        Evidence((2,), (0.5,), (0,), answer=JudgedAnswer(0)),  # a field's bounds
    ):
        learned.learn(evidence)
    assert learned.questions == 0


def test_with_log_probabilities_a_tilt_is_learned():
    """Improbable answers that samples repeat all the same, and the reverse."""

    def taught(counts, repeats):
        learned = LearnedPrior()
        for i in range(repeats):
            p = 0.15 + 0.001 * i
            learned.learn(Evidence(counts, answer=JudgedAnswer(0, math.log(p))))
        return learned.prior

    question = Evidence((), answer=JudgedAnswer(0, math.log(0.2)))
    before, steadier, wilder = (
        load_estimator("bayes", prior=prior)(question).mean
        for prior in (Prior.default(), taught((4,), 40), taught((1, 1, 1, 1), 40))
    )
    assert steadier < before < wilder


def test_a_change_of_the_model_is_noticed_and_said():
    learned, rng = LearnedPrior(), np.random.default_rng(3)
    for share in (0.97, 0.6):
        for _ in range(120):
            learned.learn(drawn(repeating(share, 5), 4, rng))
    assert learned.changed
    assert learned.state.endswith("since the model began to answer differently")
    assert learned.questions <= 130


def test_a_model_that_stays_the_same_has_not_changed():
    assert not learned_from(repeating(0.9, 5), 300, samples=4).changed


def test_it_is_kept_as_counts_and_read_back(tmp_path):
    learned, path = learned_from(repeating(0.9, 5), 30), tmp_path / "learned.json"
    learned.learn(
        Evidence((2,), (0.5,), (1,), (0,), ((math.log(0.5),),), answer=JudgedAnswer(0, math.log(0.5), 0))
    )
    learned.save(path)
    again = LearnedPrior.load(path)
    assert (again.state, again.prior) == (learned.state, learned.prior)
    held = json.loads(path.read_text())
    known = {
        "counts", "meaning", "words", "logprob", "logprobs", "no_logprob", "sequence", "token_entropy",
        "carried_logprob",
    }  # fmt: skip
    assert all(set(each) <= known for each in held["evidence"])


HEAD = '"semtropy_learned_prior": 1, "start": null, "changed": false, "questions": 1'


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "{}",
        '{"semtropy_learned_prior": 2}',
        f'{{{HEAD}, "evidence": 3}}',
        f'{{{HEAD}, "evidence": [{{"counts": 1}}]}}',
    ],
)
def test_another_file_is_an_error_that_names_it(tmp_path, text):
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(InputError, match=r"x\.json"):
        LearnedPrior.load(path)


def test_the_learned_mixture_survives_the_file_of_a_prior(tmp_path):
    prior = learned_from(repeating(0.9, 5), 60).prior
    prior.save(tmp_path / "prior.json")
    question = evidence_of(4, (1,))
    again = Prior.load(tmp_path / "prior.json")
    means = [load_estimator("bayes", prior=each)(question).mean for each in (prior, again)]
    assert means[0] == pytest.approx(means[1], abs=1e-4)


class WithoutLogprobs(ScriptedModel):
    def sample(self, *arguments, **options):
        from dataclasses import replace

        return [
            replace(each, logprob=None, sampling_logprob=None, token_logprobs=None)
            for each in super().sample(*arguments, **options)
        ]


def test_a_checker_learns_from_every_question_and_says_so():
    model = WithoutLogprobs(default={"Paris": 0.9, "Lyon": 0.05, "Nice": 0.05})
    checker = Checker.load(model=model, judge="exact", prior="learn")
    verdicts = [checker.check(f"question {i}?", rng=i) for i in range(12)]
    assert verdicts[-1].prior == "learned from 12 questions"
    assert "Prior: learned from 12 questions." in verdicts[-1].explain()
    assert not any("prior" in note for verdict in verdicts for note in verdict.warnings)
    assert sum(v.samples for v in verdicts[-4:]) < sum(v.samples for v in verdicts[:4])
    shared = Checker.load(model=model, judge="exact", prior=checker.terms.estimator.learned)
    shared.check("question 13?", rng=13)
    assert checker.terms.estimator.state == "learned from 13 questions"


def test_only_bayes_learns():
    with pytest.raises(InputError, match="prior"):
        load_estimator("bayes-paper", prior="learn")
