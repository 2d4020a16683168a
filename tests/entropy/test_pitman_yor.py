"""Pitman-Yor components: partition probabilities, moments, the distribution of the entropy, and fitted priors."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.accuracy import pitman_yor_moments
from benchmarks.reference import pitman_yor_seen
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import digamma

import semtropy.entropy.contour as contour
from semtropy import Evidence
from semtropy.entropy import Moments
from semtropy.entropy.components import DirichletComponent, Observations, PitmanYorComponent, SequencePrior
from semtropy.entropy.distribution import Mixture, PosteriorComponent
from semtropy.entropy.distribution import unseen as unseen_pitman_yor
from semtropy.entropy.distribution.unseen import block_moments, pitman_yor_table, skewness
from semtropy.entropy.two_level import component_moments
from semtropy.errors import InputError
from semtropy.estimators import Prior, load_estimator

discounts, concentrations = st.floats(0.02, 0.9), st.floats(0.05, 200)


def counted(counts: list[int], kind: PitmanYorComponent | DirichletComponent) -> Moments:
    """Draws without a known probability: counts alone."""
    nothing = np.zeros(len(counts))
    seen = Observations(nothing, nothing, ((),) * len(counts), np.array(counts, dtype=float))
    found = component_moments([seen], [kind])
    return Moments(found.mean[0], found.variance[0], found.log_evidence[0])


def stick_breaking(concentration: float, discount: float, draws: int, sticks: int) -> np.ndarray:
    """Entropies of processes drawn meaning by meaning; what is left has the entropy that is expected of it."""
    rng = np.random.default_rng(0)
    rest, entropy = np.ones(draws), np.zeros(draws)
    for i in range(1, sticks + 1):
        share = rng.beta(1 - discount, concentration + i * discount, draws)
        x = np.maximum(rest * share, 1e-300)
        entropy -= x * np.log(x)
        rest = rest * (1 - share)
    left, _ = block_moments(-discount, concentration + sticks * discount)
    return entropy - rest * np.log(rest) + rest * left


@given(concentrations, discounts)
@settings(max_examples=40, deadline=None)
def test_the_partitions_of_three_draws_sum_to_one(concentration: float, discount: float) -> None:
    kind = PitmanYorComponent(discount, SequencePrior(1.0), (concentration,))
    ways = (([3], 1), ([2, 1], 3), ([1, 1, 1], 1))
    total = sum(ways * np.exp(counted(counts, kind).log_evidence[0]) for counts, ways in ways)
    assert total == pytest.approx(1, abs=1e-9)


@given(st.lists(st.integers(1, 30), min_size=1, max_size=6), concentrations, discounts)
@settings(max_examples=40, deadline=None)
def test_without_floors_the_mean_is_that_of_archer_park_and_pillow(
    counts: list[int], concentration: float, discount: float
) -> None:
    n, seen = np.array(counts, dtype=float), len(counts)
    total, unseen = concentration + n.sum(), concentration + seen * discount
    shares = ((n - discount) * digamma(n - discount + 1)).sum() + unseen * digamma(1 - discount)
    found = counted(counts, PitmanYorComponent(discount, SequencePrior(1.0), (concentration,)))
    assert found.mean[0] == pytest.approx(digamma(total + 1) - shares / total, abs=1e-10)


@pytest.mark.parametrize("floor", [1e-300, 1e-12, 0.3, 1 - 1e-6])
@pytest.mark.parametrize(
    ("discount", "theta", "concentration"), [(0.25, 0.1, 0.3), (0.26, 15.0, 0.2), (0.8, 1.0, 50.0)]
)
def test_moments_agree_with_real_integrals(
    floor: float, discount: float, theta: float, concentration: float
) -> None:
    found = pitman_yor_moments(floor, PitmanYorComponent(discount, SequencePrior(theta), (concentration,)))
    unseen = concentration + discount
    mean, variance, _ = pitman_yor_seen(-discount - theta, theta, floor, unseen, discount)
    assert abs(float(found.mean[0] - mean)) < 1e-9
    assert abs(float(found.variance[0] / variance - 1)) < 1e-7


def test_a_small_discount_is_many_meanings_of_small_alpha() -> None:
    seen = Observations.of(Evidence(counts=(3, 1), floors=(0.4, 0.05)))
    unbounded = PitmanYorComponent(1e-6, SequencePrior(0.3), (2.0,))
    many = DirichletComponent(2e-6, SequencePrior(0.3), (1_000_000,))
    one, other = (component_moments([seen], [kind]) for kind in (unbounded, many))
    assert one.mean[0, 0] == pytest.approx(other.mean[0, 0], abs=1e-5)
    assert one.variance[0, 0] == pytest.approx(other.variance[0, 0], abs=1e-5)
    assert one.log_evidence[0, 0] == pytest.approx(other.log_evidence[0, 0], abs=1e-4)


def test_the_kernel_and_numpy_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    if contour._kernel is None:
        pytest.skip("the compiled kernel is not built on this machine")
    kind = PitmanYorComponent(0.25, SequencePrior(0.3), (0.25, 1.0, 3.0, 30.0))
    evidences = [
        Evidence(counts=(1,), floors=(1e-40,)),
        Evidence(counts=(3, 1), floors=(0.4, 0.05)),
        Evidence(counts=(2, 1)),
        Evidence(counts=(2, 3), floors=(0.2, 0.0)),
    ]
    seen = [Observations.of(evidence) for evidence in evidences]
    compiled = component_moments(seen, [kind])
    monkeypatch.setattr(contour, "_kernel", None)
    plain = component_moments(seen, [kind])
    np.testing.assert_allclose(compiled.mean, plain.mean, atol=1e-9)
    np.testing.assert_allclose(compiled.variance, plain.variance, rtol=1e-7)
    np.testing.assert_allclose(compiled.log_evidence, plain.log_evidence, atol=1e-8)


@pytest.mark.parametrize(
    ("concentration", "discount", "within"),
    [(0.5, 0.25, 0.01), (3.0, 0.25, 0.01), (12.0, 0.25, 0.015), (2.0, 0.5, 0.01)],
)
def test_the_distribution_is_that_of_stick_breaking(
    concentration: float, discount: float, within: float
) -> None:
    drawn = stick_breaking(concentration, discount, draws=20_000, sticks=400)
    levels = np.array([0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99])
    found = pitman_yor_table(concentration, discount).cdf(np.quantile(drawn, levels))
    np.testing.assert_allclose(found, levels, atol=within)
    centred = (drawn - drawn.mean()) / drawn.std()
    assert skewness(-discount, concentration) == pytest.approx((centred**3).mean(), abs=0.08)


@pytest.mark.parametrize("discount", [0.02, 0.05])
def test_a_small_discount_needs_few_tables(discount: float, monkeypatch: pytest.MonkeyPatch) -> None:
    concentrations = (0.01, 0.7, 3.0)
    pitman_yor_table.cache_clear()
    quick = [pitman_yor_table(c, discount) for c in concentrations]
    assert pitman_yor_table.cache_info().currsize == len(concentrations)
    monkeypatch.setattr(unseen_pitman_yor, "MOST_STEPS", 1000)
    pitman_yor_table.cache_clear()
    for c, table in zip(concentrations, quick, strict=True):
        above = [c]
        while above[-1] + discount < 8:
            above.append(above[-1] + discount)
        for higher in reversed(above):  # from the top, because the recursion would be too deep
            pitman_yor_table(higher, discount)
        points = np.linspace(0.0, table.high, 500)
        np.testing.assert_allclose(table.cdf(points), pitman_yor_table(c, discount).cdf(points), atol=1e-3)
    pitman_yor_table.cache_clear()


@pytest.mark.parametrize("concentration", [0.3, 1.0, 7.9, 8.1, 1000.0])
def test_the_distribution_has_the_exact_moments(concentration: float) -> None:
    table = pitman_yor_table(concentration, 0.25)
    mean, sd = block_moments(-0.25, concentration)
    x = np.linspace(0, table.high, 40_001)
    above = 1 - table.cdf(x)
    assert np.trapezoid(above, x) == pytest.approx(mean, abs=0.004 * sd)
    assert np.trapezoid(2 * x * above, x) - mean**2 == pytest.approx(sd**2, rel=0.02)


def test_a_mixture_with_a_pitman_yor_component_keeps_its_moments() -> None:
    kind, seen = (
        PitmanYorComponent(0.25, SequencePrior(0.3), (3.0,)),
        Observations.of(Evidence(counts=(2, 1), floors=(0.3, 0.02))),
    )
    exact = component_moments([seen], [kind])
    p, q = kind.sequences.powers(kind.alpha, seen)
    mean, variance = float(exact.mean[0, 0]), float(exact.variance[0, 0])
    mixture = Mixture((PosteriorComponent(1.0, p, q, seen.floors, 3.5, -0.25),))
    x = np.linspace(0, mixture.components[0].support()[1], 20_001)
    above = 1 - mixture.cdf(x)
    assert np.trapezoid(above, x) == pytest.approx(mean, abs=0.003)
    assert np.trapezoid(2 * x * above, x) - mean**2 == pytest.approx(variance, rel=0.02)
    assert mixture.quantile(0.05) < mean < mixture.quantile(0.95) < mixture.quantile(1.0)


def heavy_tailed_row(i: int) -> dict[str, object]:
    """Twenty draws of a question whose n-th meaning has a probability of about n^-2, one wording each."""
    rng = np.random.default_rng(i)
    p = np.arange(1, 2001.0) ** -2
    p /= p.sum()
    picks = rng.choice(p.size, 20, p=p)
    samples = [{"text": str(j), "logprob": float(np.log(p[j])), "meaning": int(j)} for j in picks]
    return {"id": str(i), "question": "?", "samples": samples}


def test_a_fit_finds_heavy_tails_and_survives_the_file(tmp_path) -> None:
    prior = Prior.fit([heavy_tailed_row(i) for i in range(40)])
    mixture = prior.samples
    tail = sum(
        sum(own) for each, own in zip(mixture.components, mixture.weights, strict=True) if each.alpha < 0
    )
    assert tail > 0.5
    prior.save(tmp_path / "prior.json")
    back = Prior.load(tmp_path / "prior.json")
    assert back.samples.components == prior.samples.components
    evidence = Evidence(counts=(2, 1), floors=(0.6, 0.02))
    one, other = (load_estimator("bayes", prior=own)(evidence) for own in (prior, back))
    assert one.mean == pytest.approx(other.mean, abs=1e-6)


@pytest.mark.parametrize(
    ("discount", "concentrations", "message"),
    [
        (0.0, (1.0,), "discount"),
        (1.0, (1.0,), "discount"),
        (0.5, (), "concentrations"),
        (0.5, (0.0,), "concentrations"),
    ],
)
def test_impossible_components_are_refused(
    discount: float, concentrations: tuple[float, ...], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        PitmanYorComponent(discount, SequencePrior(1.0), concentrations)
