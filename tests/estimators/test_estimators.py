"""One conformance suite for every entropy estimator, then what each one promises."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import semtropy.estimators
from semtropy import Evidence, Partition, Sample
from semtropy.entropy import contour, two_level
from semtropy.entropy.components import DirichletComponent, PitmanYorComponent, SequencePrior
from semtropy.errors import InputError
from semtropy.estimators import NAMES, PaperPrior, Prior, load_estimator
from semtropy.estimators.fitting import ComponentMixture
from semtropy.estimators.nonparametric import _moments
from semtropy.nouns import Estimator

COUNTS = ("miller-madow", "chao-shen", "james-stein", "nsb", "pitman-yor")  # these see nothing but counts
ENTROPY = ("bayes", "bayes-paper", "histogram", "rescaled", "evidential", *COUNTS)
DRAWS = [
    Evidence(counts=(1,), floors=(0.3,)),
    Evidence(counts=(1,), floors=(0.999,)),
    Evidence(counts=(3, 1), floors=(0.5, 0.1)),
    Evidence(counts=(1, 1, 1, 1, 1), floors=(0.1, 0.01, 1e-5, 1e-12, 0.2)),
    Evidence(counts=(1,) * 12, floors=(0.01,) * 12),
]


def draws(*answers: tuple[str, float | None], tokens: list[tuple[int, ...]] | None = None) -> Evidence:
    samples = [
        Sample(text, logprob, tokens[i] if tokens else None) for i, (text, logprob) in enumerate(answers)
    ]
    return Evidence.gather(samples, Partition.of([sample.text for sample in samples]))


@pytest.fixture(params=ENTROPY)
def estimator(request: pytest.FixtureRequest) -> Estimator:
    return load_estimator(request.param)


def test_names_are_the_contract() -> None:
    assert set(NAMES) == {*ENTROPY, "rescaled-length"}


def test_it_keeps_the_protocol(estimator: Estimator) -> None:
    assert isinstance(estimator, Estimator)
    assert estimator.name in NAMES


@pytest.mark.parametrize("evidence", DRAWS)
def test_beliefs_are_entropies(estimator: Estimator, evidence: Evidence) -> None:
    belief = estimator(evidence)
    assert belief.mean >= 0
    assert np.isfinite(belief.mean)
    if belief.variance is None:
        assert belief.interval() is None
        assert belief.probability_above(0.5) is None
    else:
        assert belief.variance >= 0
        low, high = belief.interval(0.9) or (1.0, 0.0)
        assert 0 <= low <= high
        assert 0 <= (belief.probability_above(0.5) or 0.0) <= 1


def test_a_batch_is_its_singles(estimator: Estimator) -> None:
    together = estimator.batch(DRAWS)
    for i, evidence in enumerate(DRAWS):
        alone = estimator(evidence)
        assert together.mean[i] == pytest.approx(alone.mean, abs=1e-5)
        if together.variance is not None:
            assert together.variance[i] == pytest.approx(alone.variance, abs=1e-5)


def test_the_order_of_meanings_does_not_matter(estimator: Estimator) -> None:
    one = estimator(Evidence(counts=(3, 1), floors=(0.5, 0.1)))
    other = estimator(Evidence(counts=(1, 3), floors=(0.1, 0.5)))
    assert one.mean == pytest.approx(other.mean, abs=1e-6)


def test_scattered_answers_have_more_entropy_than_agreeing_ones(estimator: Estimator) -> None:
    agreeing = estimator(Evidence(counts=(5,), floors=(0.9,)))
    scattered = estimator(Evidence(counts=(1,) * 5, floors=(0.02,) * 5))
    assert agreeing.mean < scattered.mean


def test_an_unknown_name_lists_the_known() -> None:
    with pytest.raises(InputError, match="histogram"):
        load_estimator("magic")


EDGES = {
    "one sample": Evidence(counts=(1,), floors=(0.3,)),
    "identical": Evidence(counts=(10,), floors=(0.9,)),
    "all different": Evidence(counts=(1,) * 10, floors=(0.01,) * 10),
    "no probability": Evidence(counts=(1,), floors=(1e-300,)),
    "all of the probability": Evidence(counts=(2, 1), floors=(0.75, 0.25)),
    "one hundred meanings": Evidence(counts=(1,) * 100, floors=(1e-3,) * 100),
}


@pytest.mark.parametrize("edge", EDGES)
def test_no_edge_is_a_special_case(estimator: Estimator, edge: str) -> None:
    belief = estimator(EDGES[edge])
    assert 0 <= belief.mean < math.inf
    assert belief.variance is None or 0 <= belief.variance < math.inf


@pytest.mark.parametrize("name", COUNTS)
def test_estimators_of_counts_see_nothing_else(name: str) -> None:
    one = load_estimator(name)(Evidence(counts=(3, 1), floors=(0.5, 0.1)))
    assert one == replace(load_estimator(name)(Evidence(counts=(1, 3))), distribution=one.distribution)


@pytest.mark.parametrize("name", [*COUNTS, "histogram"])
def test_doubled_counts_say_no_more_is_unseen(name: str) -> None:
    once, twice = (load_estimator(name)(Evidence(counts=counts)).mean for counts in ((3, 1, 1), (6, 2, 2)))
    assert twice <= once + 1e-12
    assert name == "histogram" or twice < once


@pytest.mark.parametrize(
    ("name", "options", "counts", "mean", "variance"),
    [
        ("histogram", {}, (3, 1, 1), 0.950271, None),
        ("miller-madow", {}, (3, 1, 1), 1.150271, None),
        ("chao-shen", {}, (3, 1, 1), 1.489525, None),
        ("chao-shen", {}, (1, 1, 1), 2.460487, None),
        ("chao-shen", {}, (1,), 0.0, None),
        ("james-stein", {"size": 5}, (3, 1, 1), 1.512954, None),
        ("james-stein", {"size": 20}, (3, 1, 1), 2.155117, None),
        ("james-stein", {"size": 3}, (3, 1, 1), math.log(3), None),
        ("nsb", {"size": 5}, (3, 1, 1), 1.2199, 0.0730),
        ("nsb", {"size": 20}, (3, 1, 1), 1.6491, 0.2985),
        ("nsb", {"size": 100}, (3, 1, 1), 1.8366, 0.5148),
        ("pitman-yor", {}, (2, 2, 4, 1), 1.815, 0.235),
    ],
)
def test_published_numbers(
    name: str, options: dict[str, int], counts: tuple[int, ...], mean: float, variance: float | None
) -> None:
    belief = load_estimator(name, **options)(Evidence(counts=counts))
    digits = 5e-4 if name == "pitman-yor" else 5e-5
    assert belief.mean == pytest.approx(mean, abs=digits)
    assert belief.variance == (None if variance is None else pytest.approx(variance, abs=digits))


def test_one_sample_leaves_nsb_at_half_of_the_largest_entropy() -> None:
    assert load_estimator("nsb", size=50)(DRAWS[0]).mean == pytest.approx(math.log(50) / 2, abs=1e-4)


@pytest.mark.parametrize("name", ["nsb", "james-stein"])
def test_the_number_of_meanings_is_told_or_assumed(name: str) -> None:
    assert any("K = 10" in note for note in load_estimator(name)(DRAWS[0]).notes)
    assert not load_estimator(name, size=7)(DRAWS[0]).notes
    for wrong in (0, -1, 2.5, "7", True):
        with pytest.raises(InputError, match="size"):
            load_estimator(name, size=wrong)


def test_pitman_yor_says_where_no_meaning_repeats() -> None:
    assert any("twice" in note for note in load_estimator("pitman-yor")(Evidence(counts=(1, 1))).notes)
    assert not load_estimator("pitman-yor")(Evidence(counts=(2, 1))).notes


def test_pitman_yor_agrees_with_simulated_processes() -> None:
    """Means and variances of the entropy under posteriors drawn by stick breaking."""
    rng = np.random.default_rng(3)
    counts, alpha, discount = (3, 1), np.array([1.5]), np.array([0.3])
    mean, variance = _moments(counts, alpha, discount)
    m, draws, sticks = len(counts), 4000, 3000
    shares = rng.dirichlet([*(c - 0.3 for c in counts), 1.5 + m * 0.3], size=draws)
    order = np.arange(1, sticks + 1)
    broken = rng.beta(1 - 0.3, 1.5 + m * 0.3 + 0.3 * order, size=(draws, sticks))
    inner = broken * np.exp(np.log1p(-broken).cumsum(axis=1) - np.log1p(-broken))
    p = np.concatenate([shares[:, :m], shares[:, m:] * inner], axis=1)
    h = -np.where(p > 0, p * np.log(np.where(p > 0, p, 1.0)), 0.0).sum(axis=1)
    assert h.mean() == pytest.approx(mean[0], abs=0.04)
    assert h.var() == pytest.approx(variance[0], rel=0.1)


def test_evidential_counts_what_has_no_probability_as_unseen() -> None:
    evidential = load_estimator("evidential")
    belief = evidential(Evidence(counts=(2, 1)))
    assert belief.mean == pytest.approx(math.log(3))
    assert any("log-probability" in note for note in belief.notes)
    assert evidential(Evidence(counts=(2, 1), floors=(0.6, 0.6))).mean == pytest.approx(math.log(2))


@pytest.mark.parametrize("name", ["bayes", "bayes-paper"])
def test_the_belief_firms_up_as_floors_do(name: str) -> None:
    variances = [load_estimator(name)(Evidence(counts=(1,), floors=(f,))).variance for f in (0.2, 0.9, 0.98)]
    assert variances == sorted(variances, reverse=True)


# ---- floors --------------------------------------------------------------------------------------------------


def test_two_tokenisations_of_one_string_raise_the_floor() -> None:
    evidence = draws(("113", -1.2), ("113", -3.0))
    assert evidence.distinct == (2,)
    assert evidence.floors[0] == pytest.approx(np.exp(-1.2) + np.exp(-3.0))
    assert evidence.string_floors[0] == pytest.approx(np.exp(-1.2))
    by_tokens = draws(("113", -1.2), ("113", -1.2), tokens=[(1, 2), (3,)])
    assert by_tokens.distinct == (2,)


def test_the_same_sequence_drawn_twice_does_not() -> None:
    assert draws(("113", -1.2), ("113", -1.2)).floors == draws(("113", -1.2)).floors
    bayes = load_estimator("bayes")
    assert bayes(draws(("113", -1.2), ("113", -1.2))).mean == bayes(draws(("113", -1.2))).mean


def test_a_sample_without_log_probability_adds_no_floor() -> None:
    evidence = draws(("113", -1.2), ("113", None), ("7", None))
    assert evidence.floors == pytest.approx((np.exp(-1.2), 0.0))
    assert evidence.no_logprob == (1, 1)
    assert load_estimator("bayes")(evidence).mean > 0


def test_a_cut_off_sample_adds_no_floor() -> None:
    samples = [Sample("It is", -1.0, complete=False)]
    assert Evidence.gather(samples, Partition((0,))).floors == (0.0,)


def test_without_log_probabilities_bayes_counts() -> None:
    belief = load_estimator("bayes")(Evidence(counts=(4, 1)))
    assert any("counts" in note for note in belief.notes)
    assert belief.mean < load_estimator("bayes")(Evidence(counts=(1, 1, 1, 1, 1))).mean


def test_rounding_does_not_order_questions() -> None:
    bayes = load_estimator("bayes")
    means = {bayes(draws(("4", logprob))).mean for logprob in (-3e-8, -4e-8)}
    assert len(means) == 1
    zero = bayes(draws(("4", 0.0)))  # what servers send that know no log-probabilities: unknown, not certain
    assert zero.mean == bayes(draws(("4", None))).mean


def test_where_nothing_is_left_to_find_the_entropy_is_known() -> None:
    evidence = Evidence.gather([Sample("4", math.log(0.75)), Sample("5", math.log(0.25))], Partition((0, 1)))
    belief = load_estimator("bayes")(evidence)
    assert belief.mean == pytest.approx(-0.75 * math.log(0.75) - 0.25 * math.log(0.25), abs=1e-5)
    assert belief.variance == 0
    assert belief.interval(0.9) == (belief.mean, belief.mean)
    assert (belief.probability_above(0.5), belief.probability_above(0.6)) == (1.0, 0.0)
    assert load_estimator("bayes")(Evidence(counts=(3,), floors=(1.0,))).mean == 0


def test_rounded_log_probabilities_may_exceed_one_by_a_little_and_no_more() -> None:
    rounded = [Sample("4", math.log(0.752)), Sample("5", math.log(0.251))]
    assert load_estimator("bayes")(Evidence.gather(rounded, Partition((0, 1)))).variance == 0
    wrong = [Sample("4", math.log(0.8)), Sample("5", math.log(0.4))]
    with pytest.raises(InputError, match=r"sum to 1\.2: .*another temperature"):
        load_estimator("bayes")(Evidence.gather(wrong, Partition((0, 1))))


def test_the_shipped_prior_is_of_version_2_and_reaches_open_questions() -> None:
    held = json.loads((Path(semtropy.estimators.__file__).parent / "default_prior.json").read_text())
    assert held["semtropy_prior"] == 2
    shipped = Prior.default()
    assert shipped.trained_on == 0
    for mixture in (shipped.samples, *shipped.answered):
        assert sum(sum(own) for own in mixture.weights) == pytest.approx(1)
        assert any(component.alpha < 0 for component in mixture.components)  # an unbounded number of meanings


def test_more_meanings_than_any_in_training_is_no_special_case() -> None:
    rows = [_row(i, 2) for i in range(6)]
    belief = load_estimator("bayes", prior=Prior.fit(rows))(Evidence(counts=(1,) * 40, floors=(1e-3,) * 40))
    assert belief.mean > np.log(20)


# ---- the compiled and the NumPy form -------------------------------------------------------------------------


def many(n: int) -> list[Evidence]:
    """Evidence of n meanings: counts alone, equal lower bounds, one large and many tiny ones."""
    return [
        Evidence(counts=(1,) * n),
        Evidence(counts=(1,) * n, floors=(0.5 / n,) * n),
        Evidence(counts=(n, *(1,) * (n - 1)), floors=(0.3, *(1e-9,) * (n - 1))),
    ]


@pytest.mark.parametrize("meanings", [500, 1000])
def test_many_meanings_are_no_special_case(meanings: int) -> None:
    bayes = load_estimator("bayes")
    together = bayes.batch(many(meanings))
    for i, evidence in enumerate(many(meanings)):
        belief = bayes(evidence)
        low, high = belief.interval(0.9) or (0.0, 0.0)
        assert 0 < low < belief.mean < high < np.log(8 * meanings) + 1
        assert 0 < (belief.variance or 0.0) < 0.01
        assert together.mean[i] == pytest.approx(belief.mean, abs=1e-6)
    counts, even, uneven = together.mean
    assert np.log(meanings) < even < counts  # a lower bound on every meaning leaves less for unseen ones
    assert uneven < even


@pytest.mark.parametrize("count", [10**9, 10**20, 10**300])
@pytest.mark.parametrize("name", ["bayes", "bayes-paper", "nsb", "pitman-yor"])
def test_counts_out_of_range_are_input_errors(name: str, count: int) -> None:
    with pytest.raises(InputError, match="largest"):
        load_estimator(name)(Evidence(counts=(count,)))


def test_compiled_and_numpy_beliefs_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    if contour._kernel is None:
        pytest.skip("the compiled kernel is not built on this machine")
    rng = np.random.default_rng(5)
    evidences = [*DRAWS, *many(300)]
    for n in (1, 2, 3, 5, 8, 12):
        for scale in (0.1, 3.0):
            floors = rng.dirichlet(np.full(n, scale)) * rng.uniform(0.05, 1.0)
            evidences.append(Evidence(counts=(1,) * n, floors=tuple(np.maximum(floors, 1e-30).tolist())))
    priors = Prior.default(), Prior.fit([_row(i, 1 + i % 7) for i in range(14)])
    compiled = [load_estimator("bayes", prior=prior).batch(evidences) for prior in priors]
    monkeypatch.setattr(contour, "_kernel", None)
    for prior, found in zip(priors, compiled, strict=True):
        plain = load_estimator("bayes", prior=prior).batch(evidences)
        np.testing.assert_allclose(found.mean, plain.mean, atol=1e-7)
        np.testing.assert_allclose(found.variance, plain.variance, atol=1e-7)


def test_columns_that_are_left_out_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    bayes, evidences = (
        load_estimator("bayes"),
        [*DRAWS, Evidence(counts=(1,) * 3, floors=(0.02, 1e-9, 1e-10))],
    )
    evidences.append(Evidence(counts=(1,) * 3, floors=(0.02, 1e-16, 1e-34)))
    quick = bayes.batch(evidences)
    monkeypatch.setattr(two_level, "NEGLIGIBLE", -np.inf)
    np.testing.assert_allclose(quick.mean, bayes.batch(evidences).mean, atol=1e-7)


def test_what_a_belief_leaves_out_is_bounded_in_sum() -> None:
    for evidence in DRAWS:
        kept = load_estimator("bayes")(evidence).distribution.components
        assert sum(part.weight for part in kept) >= 1 - 1e-4


# ---- priors --------------------------------------------------------------------------------------------------


def _row(i: int, meanings: int) -> dict[str, object]:
    samples = [
        {"text": str(j % meanings), "logprob": float(np.log(0.9 / meanings)), "meaning": j % meanings}
        for j in range(20)
    ]
    return {"id": str(i), "question": "?", "samples": samples}


def test_the_estimator_says_what_its_prior_was_fitted_on_and_a_belief_needs_no_note_about_it() -> None:
    trained = load_estimator("bayes", prior=Prior.fit([_row(i, 1 + i % 3) for i in range(9)]))
    assert (load_estimator("bayes").state, trained.state) == (None, "fitted on 9 questions")
    assert not any("prior" in note for note in load_estimator("bayes")(DRAWS[0]).notes)


def test_fitting_moves_the_belief_the_right_way() -> None:
    few = load_estimator("bayes", prior=Prior.fit([_row(i, 1) for i in range(12)]))
    many = load_estimator("bayes", prior=Prior.fit([_row(i, 10) for i in range(12)]))
    assert few(DRAWS[0]).mean < many(DRAWS[0]).mean


def test_priors_round_trip(tmp_path: Path) -> None:
    prior = Prior.fit([_row(i, 1 + i % 3) for i in range(9)])
    prior.save(tmp_path / "prior.json")
    back = Prior.load(tmp_path / "prior.json")
    assert back.trained_on == 9
    one, other = (load_estimator("bayes", prior=p)(DRAWS[2]).mean for p in (prior, back))
    assert one == pytest.approx(other, abs=1e-5)


VERSION_1 = {
    "semtropy_prior": 1,
    "trained_on": 3,
    "kinds": [
        {
            "alpha": 0.2,
            "sizes": [1, 10],
            "theta": 0.1,
            "main": 2,
            "evenness": 1.0,
            "discount": 0.0,
            "weights": [1, 3],
        },
        {
            "endless": 0.25,
            "concentrations": [0.5, 9.0],
            "theta": 1.0,
            "main": 0,
            "evenness": 0.0,
            "discount": 0.5,
            "weights": [2, 2],
        },
    ],
}


def test_prior_files_of_version_1_are_read(tmp_path: Path) -> None:
    (tmp_path / "prior.json").write_text(json.dumps(VERSION_1))
    mixture = ComponentMixture(
        (
            DirichletComponent(0.2, SequencePrior(0.1, main=2, evenness=1.0), (1, 10)),
            PitmanYorComponent(0.25, SequencePrior(1.0, discount=0.5), (0.5, 9.0)),
        ),
        ((0.125, 0.375), (0.25, 0.25)),
    )
    assert Prior.load(tmp_path / "prior.json") == Prior(mixture, (mixture,), trained_on=3)


def test_prior_files_are_written_in_version_2(tmp_path: Path) -> None:
    prior = Prior.from_dict(VERSION_1)
    prior.save(tmp_path / "prior.json")
    written = json.loads((tmp_path / "prior.json").read_text())
    assert written["semtropy_prior"] == 2
    assert (
        written["samples"][1]
        == written["answered"][0][1]
        == {
            "type": "pitman-yor",
            "discount": 0.25,
            "concentrations": [0.5, 9.0],
            "sequences": {"theta": 1.0, "main": 0, "evenness": 0.0, "discount": 0.5},
            "weights": [0.25, 0.25],
        }
    )
    assert Prior.load(tmp_path / "prior.json") == prior


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"semtropy_prior": 3}, "must be 2 or 1"),
        ({"kinds": []}, "sum to more than 0"),
        ({"kinds": [{**VERSION_1["kinds"][0], "weights": [1]}]}, "one weight"),
        ({"kinds": [{**VERSION_1["kinds"][0], "weights": [1, -1]}]}, "one weight"),
        ({"kinds": [{**VERSION_1["kinds"][0], "weights": [1, float("nan")]}]}, "one weight"),
        ({"kinds": [{**VERSION_1["kinds"][0], "alpha": float("nan")}]}, "alpha"),
        ({"kinds": [{**VERSION_1["kinds"][0], "sizes": [10, 1]}]}, "sizes"),
        ({"kinds": [{**VERSION_1["kinds"][1], "concentrations": [0.5, 0.5]}]}, "concentrations"),
        ({"kinds": [{"alpha": 0.2}]}, "sizes"),
        (
            {"semtropy_prior": 2, "samples": [{"type": "poisson", "sequences": VERSION_1["kinds"][0]}]},
            "poisson",
        ),
    ],
)
def test_a_wrong_prior_file_is_an_error_that_names_it(tmp_path: Path, change: dict, message: str) -> None:
    (tmp_path / "prior.json").write_text(json.dumps({**VERSION_1, **change}))
    with pytest.raises(InputError, match=rf"prior\.json: .*{message}"):
        Prior.load(tmp_path / "prior.json")


@pytest.mark.parametrize("text", ["", "[]", "3", '{"semtropy_prior": 2}'])
def test_a_file_that_is_no_prior_is_an_error_that_names_it(tmp_path: Path, text: str) -> None:
    (tmp_path / "prior.json").write_text(text)
    with pytest.raises(InputError, match=r"prior\.json"):
        Prior.load(tmp_path / "prior.json")
    with pytest.raises(InputError, match="missing"):
        Prior.load(tmp_path / "missing.json")


def test_no_training_questions_is_the_default() -> None:
    assert Prior.fit([]) == Prior.default()
    assert PaperPrior.fit([]).trained_on == 0


def test_the_papers_rule() -> None:
    prior = PaperPrior.from_sizes([1, 2, 2, 9])
    assert prior.weights == (0.25, 0.5, 0.0, 0.0, 0.0, 0.0, 0.25)
    sizes, weights = prior.given(2)
    assert sizes.tolist() == [2, 7]
    assert weights.tolist() == pytest.approx([2 / 3, 1 / 3])
    assert prior.given(9)[0].tolist() == [9]


def test_the_papers_draws_come_near_its_integrals() -> None:
    rng = np.random.default_rng(0)
    exact = load_estimator("bayes-paper", alpha=0.9)(DRAWS[2])
    drawn = load_estimator("bayes-paper", alpha=0.9, method="importance", draws=50_000, rng=rng)(DRAWS[2])
    assert drawn.mean == pytest.approx(exact.mean, abs=0.02)


def test_a_training_question_without_meanings_is_told() -> None:
    with pytest.raises(InputError, match="cluster"):
        Prior.fit([{"id": "7", "samples": [{"text": "a"}]}])


@pytest.mark.parametrize("name", ["james-stein", "nsb"])
def test_a_number_of_meanings_takes_no_memory(name: str) -> None:
    # An array of K numbers: at K = 10**9 the process was killed.
    small, large = (load_estimator(name, size=size)(Evidence(counts=(3, 1))).mean for size in (10**6, 10**12))
    assert small < large < 3 * small
    with pytest.raises(InputError, match="size"):
        load_estimator(name, size=10**400)


@pytest.mark.parametrize("size", [2, 5, 1000])
def test_james_stein_is_the_entropy_of_all_shares(size: int) -> None:
    counts = np.zeros(size)
    counts[:2] = 3, 1
    p, n = counts / 4, 4
    shrunk = min(1.0, (1 - (p**2).sum()) / ((n - 1) * ((1 / size - p) ** 2).sum()))
    mixed = shrunk / size + (1 - shrunk) * p
    expected = -(mixed[mixed > 0] * np.log(mixed[mixed > 0])).sum()
    assert load_estimator("james-stein", size=size)(Evidence(counts=(3, 1))).mean == pytest.approx(expected)
