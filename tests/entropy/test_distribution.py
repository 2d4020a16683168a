"""The distribution of the entropy against quadrature, draws, exact moments, and itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import betainc, xlogy

from semtropy.entropy import (
    cdf,
    contour,
    dirichlet_moments,
    moments,
    shares,
    two_level,
    two_level_cdf,
    two_level_moments,
)
from semtropy.entropy.components import DirichletComponent, Observations, SequencePrior
from semtropy.entropy.distribution import Mixture, PosteriorComponent, sampling, share_density
from semtropy.entropy.distribution import interpolation as entropy_table
from semtropy.entropy.distribution import sampling as conditional
from semtropy.entropy.distribution import unseen as unseen_dirichlet
from semtropy.entropy.distribution.unseen import shared_table, symmetric_table
from semtropy.entropy.two_level import component_moments
from semtropy.errors import ConvergenceError, InputError


def entropy(x: np.ndarray) -> np.ndarray:
    return -xlogy(x, x).sum(axis=-1)


def moments_of(law, low: float, high: float) -> tuple[float, float]:
    """Mean and variance from a distribution function, by parts, around the middle."""
    steps = np.linspace(0, 1, 601)
    x = low + (high - low) * steps**2 * (3 - 2 * steps)
    f, off = law(x), x - (low + high) / 2
    mean = off[-1] - np.trapezoid(f, x)
    second = off[-1] ** 2 - np.trapezoid(2 * off * f, x)
    return mean + (low + high) / 2, second - mean**2


def component(
    floors: list[float], size: int, alpha: float, theta: float, weight: float = 1.0
) -> PosteriorComponent:
    m = len(floors)
    return PosteriorComponent(
        weight, np.full(m, alpha - theta), np.full(m, theta), np.array(floors), (size - m) * alpha, alpha
    )


@pytest.mark.parametrize("alpha", [0.05, 0.5, 3.0])
def test_two_meanings_are_two_tails(alpha: float) -> None:
    """K = 2 without floors: h <= t where the smaller probability is below the root w of H2(w) = t."""
    w = np.array([1e-3, 0.05, 0.2, 0.45])
    at = entropy(np.stack([w, 1 - w], axis=-1))
    expected = betainc(alpha + 1, alpha, w) + 1 - betainc(alpha + 1, alpha, 1 - w)
    np.testing.assert_allclose(cdf([1], [0.0], 2, at, alpha), expected, atol=1e-5)


def test_two_meanings_with_floors() -> None:
    """A density in one variable, summed on a fine grid of its share."""
    z = np.linspace(-80, 80, 400_001)
    y = 0.6 / (1 + np.exp(-z))
    density = (0.3 + y) ** -0.3 * y**0.5 * (0.1 + 0.6 - y) ** -0.3 * (0.6 / (1 + np.exp(z))) ** 0.5
    h = entropy(np.stack([0.3 + y, 0.7 - y], axis=-1))
    points = [0.4, 0.55, 0.65, 0.69]
    expected = [density[h <= t].sum() / density.sum() for t in points]
    np.testing.assert_allclose(two_level_cdf([0.3, 0.1], 2, points, 0.2, 0.5), expected, atol=3e-5)


@pytest.mark.parametrize("point", [0.9, 1.0, 1.07])
def test_three_meanings_by_a_fine_grid(point: float) -> None:
    floors = (0.2, 0.1, 0.05)

    grid = np.linspace(0, 0.65, 1301)[:-1] + 0.00025
    x, y = np.meshgrid(grid, grid)
    inside = x + y < 0.65
    b = np.stack([0.2 + x, 0.1 + y, np.maximum(0.7 - x - y, 1e-9)], axis=-1)
    weight = inside * b[..., 0] * b[..., 1] ** 0.5
    expected = (weight * (entropy(b) <= point)).sum() / weight.sum()
    powers = PosteriorComponent(1.0, np.array([1.0, 0.5, 0.0]), np.ones(3), np.array(floors), 0, 0.5)
    mixture = Mixture((powers,), draws=1 << 15)
    assert mixture.cdf([point])[0] == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize(
    ("counts", "size", "alpha"),
    [([1, 2], 5, 0.5), ([1, 2, 1], 4, 0.5), ([1, 2, 1], 3, 0.3), ([1], 20, 0.05), ([4, 1], 200, 0.1)],
)
def test_dirichlet_draws(counts: list[int], size: int, alpha: float) -> None:
    parameters = np.full(size, alpha)
    parameters[: len(counts)] += counts
    n = 200_000 if size < 50 else 40_000
    h = entropy(np.random.default_rng(1).dirichlet(parameters, n))
    levels = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
    found = cdf(counts, [0.0] * len(counts), size, np.quantile(h, levels), alpha, tolerance=1e-4)
    np.testing.assert_allclose(found, levels, atol=4 * 0.5 / np.sqrt(n))


def test_weighted_draws_above_floors() -> None:
    """The two-level model by importance: Dirichlet draws above the floors, weighted by b^(alpha - theta)."""
    floors, size, alpha, theta = np.array([0.3, 0.1]), 6, 0.3, 0.6
    rng = np.random.default_rng(2)
    y = 0.6 * rng.dirichlet([theta, theta, *[alpha] * 4], 400_000)
    b = y.copy()
    b[:, :2] += floors
    weight = (b[:, :2] ** (alpha - theta)).prod(axis=1)
    h, points = entropy(b), [0.7, 0.9, 1.1, 1.3]
    expected = [weight[h <= t].sum() / weight.sum() for t in points]
    np.testing.assert_allclose(
        two_level_cdf(floors, size, points, alpha, theta, tolerance=1e-4), expected, atol=4e-3
    )


CASES = [
    ([0.3], 7, 0.05, 0.1),
    ([0.3, 0.1], 2, 0.5, 0.5),
    ([0.3, 0.1, 0.05], 3, 0.5, 0.5),
    ([0.3, 0.1, 0.05], 4, 0.5, 0.5),
    ([0.3, 0.1, 0.05], 30, 0.1, 1.0),
    ([1e-300, 0.2], 10, 0.2, 0.3),
    ([0.02, 0.01], 1000, 0.5, 10.0),
    ([0.1, 0.0, 0.2], 12, 10.0, 30.0),
    ([0.1] * 8, 20, 0.3, 3.0),
]


@pytest.mark.parametrize(("floors", "size", "alpha", "theta"), CASES)
def test_moments_are_the_contours(floors: list[float], size: int, alpha: float, theta: float) -> None:
    exact = two_level_moments(floors, [1] * len(floors), [size], alpha, theta)
    sd = float(np.sqrt(exact.variance[0]))
    c = component(floors, size, alpha, theta)
    low, high = c.support()
    ends = max(low, exact.mean[0] - 12 * sd), min(high, exact.mean[0] + 12 * sd)
    for rough, near in ((False, 1), (True, 20)):  # as `two_level_cdf` has it, and as a belief does
        law = Mixture((c,), draws=1 << 13, rough=rough)
        mean, variance = moments_of(law.cdf, *ends)
        assert law.exact
        assert mean == pytest.approx(exact.mean[0], abs=near * (3e-4 * sd + 3e-5))
        assert variance == pytest.approx(exact.variance[0], rel=near * 4e-3)


def test_large_counts() -> None:
    exact = moments([5000, 3000, 10], [0.2, 0.1, 0.0], [9])
    sd = float(np.sqrt(exact.variance[0]))
    points = exact.mean[0] + sd * np.array([-2.0, 0.0, 2.0])
    found = cdf([5000, 3000, 10], [0.2, 0.1, 0.0], 9, points, tolerance=1e-3)
    np.testing.assert_allclose(found, [0.0228, 0.5, 0.9772], atol=0.01)


def test_full_floors() -> None:
    """Hardly any room: a sharp distribution around the entropy of the floors."""
    floors = [0.5, 0.5 - 1e-9]
    exact = two_level_moments(floors, [1, 1], [10], 0.2, 0.3)
    sd = float(np.sqrt(exact.variance[0]))
    found = two_level_cdf(
        floors, 10, exact.mean[0] + sd * np.array([-5.0, 0.0, 5.0]), 0.2, 0.3, tolerance=1e-3
    )
    assert found[0] < 0.05 < 0.3 < found[1] < 0.7 < 0.95 < found[2]
    nothing_left = two_level_cdf([0.5, 0.5], 10, [0.693, 0.694], 0.2, 0.3, tolerance=1e-3)
    np.testing.assert_allclose(nothing_left, [0.0, 1.0], atol=1e-6)


def test_one_meaning_has_no_entropy() -> None:
    np.testing.assert_array_equal(cdf([3], [0.2], 1, [-1.0, 0.0, 1.0]), [0.0, 1.0, 1.0])


@pytest.mark.parametrize(("meanings", "alpha"), [(3, 0.1), (8, 1.0), (50, 0.05), (1000, 0.5), (1000, 10.0)])
def test_symmetric_tables_keep_their_moments(meanings: int, alpha: float) -> None:
    mean, second = dirichlet_moments([alpha] * meanings)
    table = symmetric_table(meanings, alpha, 1024)
    found = moments_of(table.cdf, table.low, table.high)
    sd = np.sqrt(second - mean**2)
    assert found[0] == pytest.approx(mean, abs=1e-3 * sd)
    assert found[1] == pytest.approx(sd**2, rel=3e-3)


@pytest.mark.parametrize(("meanings", "alpha"), [(17, 0.02), (45, 0.02), (290, 0.02), (997, 1.0), (600, 0.2)])
def test_shared_tables_are_near(meanings: int, alpha: float) -> None:
    exact = symmetric_table(meanings, alpha, 4096)
    points = np.linspace(exact.low, exact.high, 200)
    np.testing.assert_allclose(shared_table(meanings, alpha).cdf(points), exact.cdf(points), atol=4e-3)


@settings(max_examples=25)
@given(
    st.lists(st.floats(0.0, 0.2), min_size=1, max_size=4),
    st.integers(0, 30),
    st.sampled_from([0.01, 0.1, 0.5, 2.0, 10.0]),
    st.sampled_from([0.01, 0.3, 1.0, 30.0]),
    st.randoms(),
)
def test_properties(floors: list[float], unseen: int, alpha: float, theta: float, random) -> None:
    size = len(floors) + unseen
    law = Mixture((component(floors, size, alpha, theta),))
    points = np.linspace(-0.1, np.log(size) + 0.1, 15)
    values = law.cdf(points)
    assert values[0] == 0.0
    assert values[-1] == 1.0
    assert np.all(np.diff(values) >= -1e-12)
    shuffled = list(floors)
    random.shuffle(shuffled)
    same = Mixture((component(shuffled, size, alpha, theta),))
    np.testing.assert_allclose(same.cdf(points), values, atol=1e-12)
    assert law.cdf([np.log(size)])[0] == 1.0


def test_quantiles_invert_and_rise() -> None:
    parts = tuple(component([0.3, 0.05], k, 0.2, 0.3, weight=1 / k) for k in (2, 3, 5, 10))
    law = Mixture((*parts, component([0.35], 1, 0.2, 0.3, weight=0.1)))
    levels = [0.1, 0.5, 0.9, 0.95]
    quantiles = [law.quantile(level) for level in levels]
    assert quantiles == sorted(quantiles)
    np.testing.assert_allclose(law.cdf(quantiles), levels, atol=1e-5)
    assert law.quantile(0.02) == 0.0  # within the mass of the one meaning
    assert law.quantile(1.0) == pytest.approx(-0.3 * np.log(0.3) - 0.7 * np.log(0.7 / 9), abs=2e-3)


def test_what_was_asked_before_changes_nothing() -> None:
    parts = tuple(component([0.3, 0.05, 0.01], k, 0.2, 0.3, weight=1 / k) for k in (3, 5, 10))
    fresh, used = Mixture(parts), Mixture(parts)
    used.cdf(np.linspace(0, 2, 50))
    assert fresh.quantile(0.05) == used.quantile(0.05)
    assert fresh.cdf([1.0])[0] == used.cdf([1.0])[0]


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.int8, np.int64, int])
def test_the_type_of_a_parameter_does_not_change_the_numbers(kind: Any) -> None:
    # In single precision the window of the unseen meanings' table was empty: [0.03, 0.05, 0.11, 1, 1] here.
    one, size = kind(1), 10**10
    symmetric_table.cache_clear()  # 1 and 1.0 are one key: another test may have made the table
    given = cdf([1], [0.3], size, points := moments_around([1], [0.3], size), one)
    symmetric_table.cache_clear()
    np.testing.assert_allclose(given, cdf([1], [0.3], size, points, 1.0), atol=1e-12)
    np.testing.assert_allclose(
        two_level_cdf([0.3], 2000, [3.0, 5.0], one, one), two_level_cdf([0.3], 2000, [3.0, 5.0], 1.0, 1.0)
    )
    for found, plain in (
        (moments([2], [0.3], [5, 2000], one), moments([2], [0.3], [5, 2000], 1.0)),
        (two_level_moments([0.3], [1], [5], one, one), two_level_moments([0.3], [1], [5], 1.0, 1.0)),
    ):
        assert found.mean.tolist() == plain.mean.tolist()


def moments_around(counts: list[int], floors: list[float], size: int) -> list[float]:
    """The mean of the entropy, and one and two standard deviations around it."""
    found = moments(counts, floors, [size], 1.0)
    return [float(found.mean[0] + k * found.variance[0] ** 0.5) for k in (-2, -1, 0, 1, 2)]


SHARP = (
    np.array([75.0, 3681.0, 2.0, 2803968.0, 1139.0, 82060.0, 5.0, 9.0]),
    np.array([0.0333, 0.0506, 0.0341, 0.0598, 0.0408, 0.0473, 0.0533, 0.0567]),
)


@pytest.mark.parametrize("size", [30_000, 253_178])
def test_counts_too_sharp_for_the_draws_are_told(size: int) -> None:
    # One of 8,192 draws had all the weight, and both halves of them agreed: P = 1 six deviations below the mean.
    counts, floors = SHARP
    found = moments(counts, floors, [size], 1.0)
    points = found.mean[0] + np.sqrt(found.variance[0]) * np.array([-6, 0, 6])
    with pytest.raises(ConvergenceError):
        cdf(counts, floors, size, points, 1.0)
    component = PosteriorComponent(1.0, counts, np.ones(8), floors, size - 8.0, 1.0)
    np.testing.assert_allclose(Mixture((component,)).cdf(points), [0, 0.5, 1], atol=0.02)


def test_very_many_meanings_fall_back_and_say_so() -> None:
    floors = [0.01] * 80
    c = component(floors, 100, 0.5, 1.0)
    exact = two_level_moments(floors, [1] * 80, [100], 0.5, 1.0)
    law = Mixture((c,))
    assert not law.exact
    assert law.quantile(0.5) == pytest.approx(exact.mean[0], abs=np.sqrt(exact.variance[0]))


def test_bad_input() -> None:
    with pytest.raises(InputError, match=r"size is 1: .* from 2"):
        cdf([1, 1], [0.1, 0.1], 1, [0.5])
    with pytest.raises(InputError, match="points"):
        cdf([1], [0.1], 2, [float("nan")])
    with pytest.raises(InputError, match="theta"):
        two_level_cdf([0.1], 2, [0.5], theta=0.0)
    with pytest.raises(InputError, match="level"):
        Mixture((component([0.1], 2, 0.5, 1.0),)).quantile(1.5)
    with pytest.raises(InputError, match="weights"):
        Mixture(()).cdf([0.5])


@pytest.mark.parametrize(
    "size", [float("inf"), float("nan"), 10**13, 10**30, 2.5, "7", None], ids=lambda size: str(size)
)
def test_a_size_out_of_range_is_an_input_error(size: object) -> None:
    with pytest.raises(InputError, match=r"size is .*whole number from 1"):
        cdf([1], [0.3], size, [0.5])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("counts", "floors", "size", "alpha"),
    [
        ([3], [0.2], 10**7, 0.5),
        ([3, 1], [0.2, 0.0], 10**9, 0.01),
        ([402], [0.9], 10**12, 1000.0),
        ([1], [1e-9], 10**12, 0.001),
        ([5000, 3000, 10], [0.2, 0.1, 0.0], 10**6, 0.5),
    ],
)
def test_very_many_meanings_are_a_bell(
    counts: list[int], floors: list[float], size: int, alpha: float
) -> None:
    exact = moments(counts, floors, [size], alpha)
    points = exact.mean[0] + np.sqrt(exact.variance[0]) * np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
    found = cdf(counts, floors, size, points, alpha, tolerance=1e-3)
    np.testing.assert_allclose(found, [0.0228, 0.1587, 0.5, 0.8413, 0.9772], atol=0.005)


@pytest.mark.parametrize(("meanings", "alpha"), [(200_000, 0.5), (10_000, 10.0), (100, 1000.0)])
def test_the_tables_of_large_masses_go_on_where_doubling_ends(
    meanings: int, alpha: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = symmetric_table(meanings, alpha, 8192)
    monkeypatch.setattr(unseen_dirichlet, "LARGE_MASS", np.inf)
    symmetric_table.cache_clear()
    doubled = symmetric_table(meanings, alpha, 8192)
    symmetric_table.cache_clear()
    points = np.linspace(table.low, table.high, 200)
    np.testing.assert_allclose(table.cdf(points), doubled.cdf(points), atol=5e-4)


@pytest.mark.parametrize("counts", [[402], [1]])
@pytest.mark.parametrize("size", [1, 2, 5, 10**9])
@pytest.mark.parametrize("alpha", [0.001, 0.5, 1000.0])
def test_floors_that_sum_to_one_leave_a_point(counts: list[int], size: int, alpha: float) -> None:
    np.testing.assert_array_equal(cdf(counts, [1.0], size, [-1e-9, 1e-6, 0.5], alpha), [0.0, 1.0, 1.0])
    two = cdf([1, *counts], [0.5, 0.5], size + 1, [np.log(2) - 1e-6, np.log(2) + 1e-6], alpha)
    np.testing.assert_array_equal(two, [0.0, 1.0])


def test_draws_that_are_not_finite_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables that fail leave the approximation from the exact moments, and say so."""
    c = component([0.3, 0.1], 12, 0.2, 0.3)
    whole = sampling._normalised
    monkeypatch.setattr(sampling, "_normalised", lambda *arrays: whole(*arrays) * np.nan)
    law = Mixture((c,))
    assert not law.exact
    assert np.isfinite(law.cdf([0.5, 1.0])).all()


def test_an_integral_that_fails_is_an_error() -> None:
    """Three meanings that share a room of 0.978 between them, under a prior that makes each as small as can be."""
    floors = [2.2e-2, 2.5e-35, 8.2e-17]
    seen = Observations(np.array(floors), np.ones(3), tuple((float(np.log(f)),) for f in floors), np.zeros(3))
    hopeless = DirichletComponent(0.2, SequencePrior(0.1, main=2, evenness=1.0), (3,))
    with pytest.raises(ConvergenceError, match="did not converge"):
        component_moments([seen], [hopeless], on_failure="raise")
    with pytest.raises(ConvergenceError, match="1 of 1 columns"):
        component_moments([seen], [hopeless])
    ordinary = DirichletComponent(0.2, SequencePrior(0.3), (3, 5))
    found = component_moments([seen], [ordinary, hopeless]).log_evidence[0]
    assert np.isfinite(found[:2]).all()
    assert found[2] == -np.inf, "it has no mass to speak of, so nothing is lost"


@pytest.mark.parametrize(("log_weight", "lost"), [(0.0, True), (-6.0, True), (-20.0, False)])
def test_what_fails_is_lost_only_where_it_does_not_matter(
    monkeypatch: pytest.MonkeyPatch, log_weight: float, lost: bool
) -> None:
    """One column of three is made to fail: as probable as the others, or much less so."""
    seen = Observations(np.array([0.3]), np.ones(1), ((-1.204,),), np.zeros(1))
    components = [
        DirichletComponent(0.5, SequencePrior(1.0), (2, 3)),
        DirichletComponent(0.5, SequencePrior(1.1), (3,)),
    ]
    real = two_level.solve

    def failing(problems: contour.Problems, *options: Any, **more: Any) -> contour.Solution:
        out = real(problems, *options, **more)
        out.log_z[2] = -np.inf
        return out

    monkeypatch.setattr(two_level, "solve", failing)
    prior = np.array([0.0, 0.0, log_weight])
    monkeypatch.setattr(two_level, "NEGLIGIBLE", -100.0)  # so that no column is left out beforehand
    if lost:
        with pytest.raises(ConvergenceError, match="question 1 of 1: 1 of 3 columns could not be integrated"):
            component_moments([seen], components, log_prior=prior)
    else:
        assert component_moments([seen], components, log_prior=prior).log_evidence[0, 2] == -np.inf


def test_a_share_whose_integral_fails_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """A numerator alone that fails would make the share 0."""
    c, real = component([0.3, 0.1], 12, 0.2, 0.3), shares.solve

    def failing(problems: contour.Problems, *options: Any, **more: Any) -> contour.Solution:
        out = real(problems, *options, **more)
        out.log_z[-1] = -np.inf
        return out

    monkeypatch.setattr(shares, "solve", failing)
    with pytest.raises(ConvergenceError, match="could not be integrated"):
        shares.share_distribution([c], 0)


@pytest.mark.parametrize("size", [3, 4, 12])
def test_numpy_and_compiled_forms_agree(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if sampling._distribution is None:
        pytest.skip("the compiled form was not built")
    c, points = component([0.3, 0.1, 0.02], size, 0.2, 0.3), np.linspace(0.5, 2.0, 7)
    compiled = Mixture((c,)).cdf(points)
    for module in (sampling, conditional, entropy_table, share_density):
        monkeypatch.setattr(module, "_distribution", None)
    symmetric_table.cache_clear()
    plain = Mixture((c,)).cdf(points)
    symmetric_table.cache_clear()
    np.testing.assert_allclose(plain, compiled, atol=1e-9)
