"""The exact moments: against an independent reference, their closed forms, their limits and their symmetries."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from benchmarks.reference import one_seen, two_seen
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import digamma, polygamma

import semtropy.entropy.contour as contour
from semtropy import Evidence
from semtropy.entropy import dirichlet_moments, moments, moments_batch, two_level_moments
from semtropy.entropy.components import Observations, SequencePrior, placement
from semtropy.entropy.dirichlet import trigamma
from semtropy.entropy.distribution import mix
from semtropy.errors import InputError, SemtropyError
from semtropy.estimators import load_estimator

EXTREME = [
    (1, 0.3, 0.5, 7),
    (1, 1e-300, 0.01, 2),
    (10_000, 0.2, 0.5, 5),
    (3, 0.99, 0.1, 1000),
    (1, 1 - 1e-12, 0.5, 3),
    (50, 1e-9, 10.0, 20),
    # Large counts with large floors: the series for log(x / x0) was once used where it does not converge.
    (400, 0.845, 0.5, 100),
    (513, 0.93, 0.5, 20),
    (690, 0.93, 0.5, 20),
    (10_000, 0.99, 0.5, 7),
    (10_000, 0.5, 0.01, 1000),
]


@pytest.fixture(params=["compiled", "numpy"])
def form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each form of the contour integral in turn."""
    if request.param == "numpy":
        monkeypatch.setattr(contour, "_kernel", None)
    elif contour._kernel is None:
        pytest.skip("the compiled kernel is not built on this machine")
    return str(request.param)


@pytest.mark.parametrize(("count", "floor", "alpha", "size"), EXTREME)
@pytest.mark.usefixtures("form")
def test_moments_agree_with_real_integrals(count: int, floor: float, alpha: float, size: int) -> None:
    mean, variance, log_z = one_seen(alpha + count - 1, 1, floor, alpha, size - 1)
    found = moments([count], [floor], [size], alpha)
    assert abs(float(found.mean[0] - mean)) < 1e-9
    assert abs(float(found.variance[0] / variance - 1)) < 1e-7
    placed = placement(np.array([float(size)]), 1, alpha)[0]
    assert abs(float(found.log_evidence[0] - log_z - placed)) < 1e-7


@pytest.mark.usefixtures("form")
def test_no_count_of_a_run_is_wrong() -> None:
    """Counts 508 to 690 at a floor of 0.93 and 20 meanings: 103 of the means were wrong, and NaN in `bayes-paper`."""
    counts = np.arange(500, 700)
    found = np.concatenate([m.mean for m in moments_batch(counts[:, None], [[0.93]] * 200, [[20]] * 200)])
    assert (np.diff(found) < 0).all()
    assert (np.diff(found, 2) > -1e-8).all()
    assert np.isfinite(load_estimator("bayes-paper")(Evidence(counts=(510,), floors=(0.93,))).mean)


@pytest.mark.usefixtures("form")
def test_a_thousand_meanings() -> None:
    """Products of a thousand factors leave the range of doubles; equal meanings and no room have the entropy log K."""
    for m in (300, 1000):
        found = moments([1] * m, [(1 - 1e-9) / m] * m, [m])
        assert found.mean[0] == pytest.approx(np.log(m), abs=1e-9)
        no_floors, tiny_floors = moments([1] * m, [0.0] * m, [m]), moments([1] * m, [1e-290] * m, [m])
        assert tiny_floors.mean[0] == pytest.approx(no_floors.mean[0], abs=1e-9)
        assert tiny_floors.variance[0] == pytest.approx(no_floors.variance[0], rel=1e-6)
        assert tiny_floors.log_evidence[0] == pytest.approx(no_floors.log_evidence[0], abs=1e-6)


@pytest.mark.usefixtures("form")
@pytest.mark.parametrize("count", [10**6, 10**8])
def test_a_floor_far_below_the_probability_changes_nothing(count: int) -> None:
    without = moments([count], [0.0], [20])
    for floor in (0.3, 0.7, 0.93):
        found = moments([count], [floor], [20])
        assert found.mean[0] == pytest.approx(without.mean[0], rel=1e-7)
        assert found.variance[0] == pytest.approx(without.variance[0], rel=1e-7)
        assert found.log_evidence[0] == pytest.approx(without.log_evidence[0], abs=1e-5)


@pytest.mark.parametrize(("floors", "counts"), [((0.4, 0.55), (1, 100)), ((0.5, 0.5 - 1e-12), (1, 1))])
def test_two_seen_meanings_and_none_else(floors: tuple[float, float], counts: tuple[int, int]) -> None:
    mean, variance, log_z = two_seen((counts[0] - 0.5, counts[1] - 0.5), (1, 1), floors)
    found = moments(counts, floors, [2])
    assert abs(float(found.mean[0] - mean)) < 1e-9
    assert abs(float(found.variance[0] / variance - 1)) < 1e-6
    placed = placement(np.array([2.0]), 2, 0.5)[0]
    assert abs(float(found.log_evidence[0] - log_z - placed)) < 1e-6


@pytest.mark.parametrize(
    ("floor", "alpha", "theta", "size"),
    [(0.3, 0.05, 0.1, 7), (1e-8, 0.02, 30, 100), (0.9, 2, 0.01, 3), (0.3, 0.5, 100, 7), (0.05, 0.2, 300, 12)],
)
def test_the_two_level_model_agrees_with_real_integrals(
    floor: float, alpha: float, theta: float, size: int
) -> None:
    mean, variance, _ = one_seen(alpha - theta, theta, floor, alpha, size - 1)
    found = two_level_moments([floor], [1], [size], alpha, theta)
    assert abs(float(found.mean[0] - mean)) < 1e-9
    assert abs(float(found.variance[0] / variance - 1)) < 1e-7


def test_no_floors_is_appendix_a1() -> None:
    for alpha, counts, size in [(0.5, [1], 7), (0.01, [3, 1], 5), (10.0, [10_000, 1, 2], 1000)]:
        parameters = [alpha + c for c in counts] + [alpha] * (size - len(counts))
        mean, second = dirichlet_moments(parameters)
        found = moments(counts, [0.0] * len(counts), [size], alpha)
        assert found.mean[0] == pytest.approx(mean, abs=1e-12)
        assert found.variance[0] == pytest.approx(second - mean**2, abs=1e-12)


def test_appendix_a1_against_draws() -> None:
    rng = np.random.default_rng(0)
    b = np.maximum(rng.dirichlet([0.5, 1.5, 3.0, 0.2], 200_000), 1e-300)
    h = -(b * np.log(b)).sum(axis=1)
    mean, second = dirichlet_moments([0.5, 1.5, 3.0, 0.2])
    assert h.mean() == pytest.approx(mean, abs=4 * h.std() / 200_000**0.5)
    assert h.var() == pytest.approx(second - mean**2, rel=0.02)


cases = st.integers(1, 5).flatmap(
    lambda m: st.tuples(
        st.lists(st.integers(1, 50), min_size=m, max_size=m),
        st.lists(st.floats(1e-6, 1.0), min_size=m, max_size=m),
        st.floats(0.01, 0.99),
        st.integers(0, 30),
        st.floats(0.05, 5.0),
    )
)


@settings(max_examples=60, deadline=None)
@given(cases, st.randoms())
def test_permuting_meanings_changes_nothing(case: tuple, random: object) -> None:
    counts, shares, total, unseen, alpha = case
    floors = np.array(shares) / sum(shares) * total
    order = list(range(len(counts)))
    random.shuffle(order)  # type: ignore[attr-defined]
    size = len(counts) + max(unseen, 1)
    one = moments(counts, floors, [size], alpha)
    other = moments(np.array(counts)[order], floors[order], [size], alpha)
    assert one.mean[0] == pytest.approx(other.mean[0], abs=2e-9)
    assert one.variance[0] == pytest.approx(other.variance[0], rel=2e-7)
    assert one.log_evidence[0] == pytest.approx(other.log_evidence[0], abs=1e-7)


@settings(max_examples=40, deadline=None)
@given(cases)
def test_moments_lie_where_entropies_can(case: tuple) -> None:
    counts, shares, total, unseen, alpha = case
    floors = np.array(shares) / sum(shares) * total
    size = len(counts) + max(unseen, 1)
    found = moments(counts, floors, [size], alpha)
    top = np.log(size)
    assert 0 <= found.mean[0] <= top
    assert 0 < found.variance[0] <= found.mean[0] * (top - found.mean[0]) + 1e-9


def test_floors_that_sum_to_one_leave_their_entropy() -> None:
    shares = np.array([0.5, 0.3, 0.2])
    exact = -(shares * np.log(shares)).sum()
    gaps = [
        abs(moments([1, 1, 1], shares * (1 - room), [3, 6]).mean - exact).max() for room in (1e-2, 1e-5, 1e-9)
    ]
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[-1] < 1e-7


def test_one_meaning_has_no_entropy() -> None:
    found = moments([3], [0.4], [1])
    assert (found.mean[0], found.variance[0]) == (0, 0)
    assert two_level_moments([0.4], [2], [1], theta=0.3).log_evidence[0] == pytest.approx(
        2 * np.log(0.3) + (0.3 - 1) * np.log(0.6), abs=1e-9
    )


@given(st.lists(st.tuples(st.floats(0.01, 1), st.floats(0, 5), st.floats(0, 1)), min_size=1, max_size=8))
def test_law_of_total_variance(rows: list[tuple[float, float, float]]) -> None:
    weights, means, variances = np.array(rows).T
    mean, variance = mix(weights, means, variances)
    share = weights / weights.sum()
    second = (share * (variances + means**2)).sum()
    assert variance == pytest.approx(second - mean**2, abs=1e-9)


def test_a_batch_is_its_singles() -> None:
    rng = np.random.default_rng(1)
    counts, floors, sizes = [], [], []
    for _ in range(40):
        m = int(rng.integers(1, 6))
        counts.append(rng.integers(1, 9, m))
        floors.append(rng.dirichlet(np.ones(m)) * rng.uniform(0, 0.99))
        sizes.append(np.arange(m, 9))
    for i, found in enumerate(moments_batch(counts, floors, sizes)):
        alone = moments(counts[i], floors[i], sizes[i])
        np.testing.assert_allclose(found.mean, alone.mean, atol=1e-12)
        np.testing.assert_allclose(found.log_evidence, alone.log_evidence, atol=1e-12)


def test_the_kernel_and_numpy_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    if contour._kernel is None:
        pytest.skip("the compiled kernel is not built on this machine")
    asked = [
        lambda: moments([2, 1], [0.3, 0.2], range(2, 8), 0.8),
        lambda: moments([2, 1], [0.3, 0.0], range(2, 8), 0.8),
        lambda: moments([2, 1], [0.0, 0.0], range(2, 8), 0.8),
        lambda: moments([1], [0.3], range(1, 8), 0.1),
        lambda: two_level_moments([0.3, 0.1], [2, 1], [2, 5, 50, 500], 0.05, 5.0),
        lambda: two_level_moments([0.3, 0.1], [2, 1], [2, 5, 50], 0.05, 5.0, no_logprob=[0, 2]),
    ]
    compiled = [ask() for ask in asked]
    monkeypatch.setattr(contour, "_kernel", None)
    for one, ask in zip(compiled, asked, strict=True):
        other = ask()
        np.testing.assert_allclose(one.mean, other.mean, atol=1e-9)
        np.testing.assert_allclose(one.variance, other.variance, atol=1e-9)
        np.testing.assert_allclose(one.log_evidence, other.log_evidence, atol=1e-8)


def test_screens_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    """The saddle-point estimates of log Z are the same compiled and in NumPy, and come near log Z."""
    if contour._kernel is None:
        pytest.skip("the compiled kernel is not built on this machine")
    rng = np.random.default_rng(5)
    sequences = (
        SequencePrior(0.03, main=2, evenness=1.0),
        SequencePrior(0.5, discount=0.5),
        SequencePrior(0.3),
    )
    for turn in range(60):
        m = int(rng.integers(1, 9))
        floors = rng.dirichlet(np.ones(m)) * rng.uniform(0, 0.999) * (rng.random(m) < 0.8)
        powers = rng.uniform(0.5, rng.choice([30, 3000]), m), 10 ** rng.uniform(-1, 1, m)
        alpha = float(10 ** rng.uniform(-2, 1))
        mass = np.arange(0, 40, 4) * alpha
        if turn % 2:  # as the two-level model has them: p + q down to -1, sequences of any probability
            floors = np.clip(10.0 ** rng.uniform(-20, 0, m), 0, 0.9 / m)
            found = rng.integers(1, 4, m).astype(float)
            seen = Observations(floors, found, tuple(() for _ in range(m)), np.zeros(m))
            alpha = float(rng.choice([1.0, -0.02, -0.5]))
            powers = sequences[turn % 3].powers(alpha, seen)
            mass = np.array([0.0, 1, 5, 30]) if alpha > 0 else np.array([0.1, 1, 5, 30]) - alpha * m
        ends = np.array([0, m]), np.array([0, mass.size])
        problems = contour.Problems(*powers, floors, ends[0], np.array([alpha]), mass, ends[1])
        monkeypatch.undo()
        compiled, log_z = contour.screen(problems), contour.solve(problems, 1e-6).log_z
        monkeypatch.setattr(contour, "_kernel", None)
        np.testing.assert_allclose(contour.screen(problems), compiled, rtol=1e-12, atol=1e-9)
        np.testing.assert_allclose(compiled, log_z, atol=4)
        np.testing.assert_allclose(compiled[mass > 0], log_z[mass > 0], atol=1)


def test_the_importance_sampler_comes_near() -> None:
    drawn = moments(
        [2, 1], [0.3, 0.2], [2, 4], 0.8, method="importance", rng=np.random.default_rng(0), draws=100_000
    )
    exact = moments([2, 1], [0.3, 0.2], [2, 4], 0.8)
    np.testing.assert_allclose(drawn.mean, exact.mean, atol=0.01)
    np.testing.assert_allclose(drawn.log_evidence, exact.log_evidence, atol=0.02)


@pytest.mark.parametrize(
    ("counts", "floors", "sizes", "says"),
    [
        ([1, 1], [0.6, 0.6], [2], "sum to 1.2"),
        ([-1], [0.1], [2], "counts"),
        ([1.5], [0.1], [2], "whole"),
        ([1, 1], [0.1, 0.1], [1], "at least"),
        ([1], [float("nan")], [2], "finite"),
        ([1], [0.1, 0.1], [2], "one( entry)? for each meaning"),
        ([[1]], [0.1], [2], "shape"),
        ([1], [-0.1], [2], "probability"),
        ([], [], [2], "at least one"),
        ([1], [0.1], [2.5], "whole"),
        ([1], [0.1], [3, 2], "rise"),
        (["a"], [0.1], [2], "numbers"),
        ([1e20], [0.3], [7], "counts contains 1e\\+20; the largest"),
        ([1e200], [0.3], [7], "largest"),
        ([1e308], [0.3], [7], "largest"),
        ([10**400], [0.3], [7], "numbers"),
        ([1], [0.3], [1e300], "sizes contains 1e\\+300; the largest"),
        ([1], [0.3], [float("inf")], "finite"),
    ],
)
def test_impossible_input_is_told(counts: list, floors: list, sizes: list, says: str) -> None:
    with pytest.raises(InputError, match=says):
        moments(counts, floors, sizes)


def test_rounding_above_one_is_clipped() -> None:
    assert moments([1], [1 + 1e-8], [3]).mean[0] < 1e-5


def test_the_importance_sampler_needs_a_generator() -> None:
    with pytest.raises(SemtropyError, match="rng"):
        moments([1], [0.1], [2], method="importance")


@pytest.mark.parametrize(
    ("counts", "floors", "sizes", "says"),
    [
        ([], [], [], "counts"),
        ([[1], []], [[0.1], []], [[2], [2]], "counts"),
        ([["a"]], [[0.1]], [[2]], "counts"),
        ([[1]], [[0.1, 0.2]], [[2]], "one( entry)? for each meaning"),
        ([[1, 1]], [[0.1, 0.1]], [[1]], "below"),
        ([[1], [1]], [[0.1], [0.1]], [[3, 2], [2]], "rise"),
        ([[1]], [[1.5]], [[2]], "sum to"),
        ([[1e20]], [[0.3]], [[7]], "largest"),
        ([[float("nan")]], [[0.3]], [[7]], "counts"),
        ([[1]], [[0.3]], [[1e300]], "largest"),
        ([[1]], [[0.3]], [[2.5]], "whole"),
        ([[1]], [[float("nan")]], [[7]], "finite"),
    ],
)
def test_an_impossible_batch_is_told(counts: list, floors: list, sizes: list, says: str) -> None:
    with pytest.raises(InputError, match=says):
        moments_batch(counts, floors, sizes)


@pytest.mark.parametrize("tolerance", [1.0, 2.0, 0.0, -1.0, float("nan"), 0.1])
@pytest.mark.usefixtures("form")
def test_a_senseless_tolerance_is_refused(tolerance: float) -> None:
    with pytest.raises(InputError, match="tolerance"):
        moments([1], [0.3], [7], tolerance=tolerance)
    with pytest.raises(InputError, match="tolerance"):
        moments_batch([[1]], [[0.3]], [[7]], tolerance=tolerance)


@pytest.mark.parametrize("alphas", [[], [0.0, 1.0], [1e308, 1.0], [float("nan")], ["a"], [10**400], [[1.0]]])
def test_impossible_dirichlets_are_refused(alphas: list) -> None:
    with pytest.raises(InputError, match="alphas"):
        dirichlet_moments(alphas)


def test_dirichlet_moments_are_finite_at_the_limits() -> None:
    for alphas in ([1e-100, 1e-100], [1e-100, 1e15], [1e15, 1e15], [1e-3] * 10_000):
        mean, second = dirichlet_moments(alphas)
        assert 0 <= mean**2 <= second * (1 + 1e-12) < np.inf


@pytest.mark.parametrize(
    ("counts", "floors", "sizes", "alpha", "draws", "says"),
    [
        ([1], [0.3], [10**9], 0.5, 1000, "too many"),
        ([1], [0.3], [7], 0.5, 0, "draws"),
        ([1], [0.3], [7], 0.5, 2.5, "draws"),
        ([1e20], [0.3], [7], 0.5, 1000, "largest"),
        ([1], [float("nan")], [7], 0.5, 1000, "finite"),
        ([1], [0.3], [7], float("nan"), 1000, "alpha"),
        ([1, 1], [0.3, 0.1], [1], 0.5, 1000, "at least"),
    ],
)
def test_impossible_importance_sampling_is_refused(
    counts: list, floors: list, sizes: list, alpha: float, draws: int, says: str
) -> None:
    with pytest.raises(InputError, match=says):
        moments(counts, floors, sizes, alpha, method="importance", rng=np.random.default_rng(0), draws=draws)


def test_importance_sampling_at_the_corner_of_the_simplex_is_finite() -> None:
    for counts, floors, alpha in (([10**8], [0.999999], 1e-3), ([1, 1], [0.5, 0.5], 1e3), ([1], [0.0], 1e-3)):
        found = moments(counts, floors, [2, 50], alpha, method="importance", rng=np.random.default_rng(0))
        assert np.isfinite([found.mean, found.variance, found.log_evidence]).all()
        assert np.min(found.variance) >= 0


def wide_case(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Counts to 10^8, floors from 1e-300 to all but 1e-13 of the mass, sizes to 10^12, alpha over its whole range."""
    m = int(rng.choice([1, 1, 2, 3, 5, 10]))
    counts = np.rint(10 ** rng.uniform(0, rng.choice([1, 4, 8]), m))
    share = rng.dirichlet(np.full(m, rng.choice([0.1, 1, 10])))
    floors = [share * (1 - 10 ** rng.uniform(-13, 0)), 10 ** rng.uniform(-300, -1, m) / m, rng.random(m) / m]
    sizes = np.unique(np.rint(m + 10 ** rng.uniform(0, rng.choice([1, 3, 11.9]), int(rng.integers(1, 5)))))
    chosen = np.where(rng.random(m) < 0.1, 0.0, floors[int(rng.choice(3, p=[0.6, 0.2, 0.2]))])
    return counts, chosen, sizes, float(10 ** rng.uniform(-3, 3))


def test_the_kernel_and_numpy_agree_over_the_whole_range(monkeypatch: pytest.MonkeyPatch) -> None:
    if contour._kernel is None:
        pytest.skip("the compiled kernel is not built on this machine")
    rng = np.random.default_rng(11)
    for _ in range(150):
        counts, _floors, sizes, alpha = case = wide_case(rng)
        monkeypatch.undo()
        one = moments(*case)
        monkeypatch.setattr(contour, "_kernel", None)
        other = moments(*case)
        # Two units in the last place of the largest log-gamma, which is about x log x.
        total = counts.sum() + sizes[-1] * alpha
        last_place = 2 * np.spacing(total * np.log(total + 2))
        np.testing.assert_allclose(one.mean, other.mean, atol=1e-9)
        np.testing.assert_allclose(one.variance, other.variance, rtol=1e-7, atol=1e-20)
        np.testing.assert_allclose(one.log_evidence, other.log_evidence, rtol=1e-13, atol=1e-7 + last_place)
        assert np.isfinite([one.mean, one.variance, one.log_evidence]).all()
        assert one.variance.min() >= 0
        assert (one.mean <= np.log(sizes) + 1e-9).all()


def test_trigamma() -> None:
    for x in 10 ** np.random.default_rng(3).uniform(-8, 13, 300):
        exact = float(mpmath.polygamma(1, mpmath.mpf(float(x))))
        assert float(trigamma(x)) == pytest.approx(exact, rel=2e-15)
    grid = np.linspace(0.1, 40, 24).reshape(2, 3, 4)
    np.testing.assert_allclose(trigamma(grid), polygamma(1, grid), rtol=2e-15)


def test_one_meaning_without_bounds_needs_no_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """The NumPy form failed where one meaning is all there is and nothing bounds it from below."""
    monkeypatch.setattr(contour, "_kernel", None)
    found = moments([3], [0.0], [1])
    assert found.mean.tolist() == [0.0]
    assert found.variance.tolist() == [0.0]


@pytest.mark.parametrize("theta", [100.0, 400.0, 1000.0])
@pytest.mark.parametrize(("alpha", "size"), [(0.5, 2), (0.05, 7), (2.0, 40)])
@pytest.mark.parametrize("floor", [0.05, 0.6])
def test_large_concentrations_against_quadrature(theta: float, alpha: float, size: int, floor: float) -> None:
    """One meaning seen: with x = exp(-v) the share of what is left, its density is smooth in v."""
    rest = (size - 1) * alpha
    v = np.linspace(1e-9, np.log1p(theta / rest) + 60 / rest, 400_001)
    left = (1 - floor) * np.exp(-v)
    log_density = (alpha - theta) * np.log1p(-left) + (theta - 1) * np.log(-np.expm1(-v)) - rest * v
    entropy = -(1 - left) * np.log1p(-left) - left * np.log(left)
    entropy += left * (digamma(rest + 1) - digamma(alpha + 1))  # the mean over how the others share it
    expected = np.average(entropy, weights=np.exp(log_density - log_density.max()))
    assert two_level_moments([floor], [1], [size], alpha, theta).mean[0] == pytest.approx(expected, abs=1e-6)
