"""Time and accuracy of the distribution of the entropy, and the gain of its compiled form."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import process_time

import numpy as np

from semtropy import Evidence
from semtropy.entropy import two_level_cdf
from semtropy.entropy.distribution import Mixture, PosteriorComponent, sampling, share_density
from semtropy.entropy.distribution import interpolation as entropy_table
from semtropy.entropy.distribution import sampling as conditional
from semtropy.entropy.distribution.unseen import _ladder, pitman_yor_table, shared_table, symmetric_table
from semtropy.estimators import load_estimator

PAIRS = ((0.05, 0.1), (0.05, 0.3), (0.1, 0.3), (0.2, 0.1), (0.5, 1.0), (0.1, 1.0))
BELIEFS = {
    "1 sample": Evidence(counts=(1,), floors=(0.3,)),
    "3 samples": Evidence(counts=(1, 2), floors=(0.3, 0.05)),
    "10 samples": Evidence(counts=(5, 2, 1, 1, 1), floors=(0.3, 0.1, 0.02, 0.001, 1e-5)),
}
COMPILED = (conditional, entropy_table, sampling, share_density)
TABLES = (shared_table, symmetric_table, pitman_yor_table, _ladder)


def component(floors: list[float], size: int, alpha: float, theta: float) -> PosteriorComponent:
    """A component of the two-level model."""
    m = len(floors)
    return PosteriorComponent(
        1.0, np.full(m, alpha - theta), np.full(m, theta), np.array(floors), (size - m) * alpha, alpha
    )


def milliseconds(call: Callable[[], object], times: int = 10) -> float:
    """The least time of several calls, after one that fills the caches."""
    call()
    spent = []
    for _ in range(times):
        start = process_time()
        call()
        spent.append(process_time() - start)
    return 1e3 * min(spent)


def interval(components: tuple[PosteriorComponent, ...]) -> tuple[float, float]:
    """A 90% interval, computed anew."""
    mixture = Mixture(components)
    return mixture.quantile(0.05), mixture.quantile(0.95)


@contextmanager
def numpy_form() -> Iterator[None]:
    """Without the compiled module, and without the tables it made."""
    held = [module._distribution for module in COMPILED]
    try:
        for module in COMPILED:
            module._distribution = None
        clear()
        yield
    finally:
        for module, own in zip(COMPILED, held, strict=True):
            module._distribution = own
        clear()


def clear() -> None:
    """Empty the caches of tables."""
    for table in TABLES:
        table.cache_clear()


def main() -> None:
    """Print all of it."""
    one, three, sizes = [0.3], [0.3, 0.1, 0.02], (4, 6, 10, 16, 28)
    cases = {
        "1 meaning seen, one K": (component(one, 7, 0.05, 0.1),),
        "1 meaning seen, eight K": tuple(component(one, k, 0.05, 0.1) for k in (2, 3, 4, 6, 10, 16, 28, 50)),
        "3 seen, six (alpha, theta)": tuple(component(three, 12, a, t) for a, t in PAIRS),
        "3 seen, six (alpha, theta), five K": tuple(
            component(three, k, a, t) for a, t in PAIRS for k in sizes
        ),
    }
    for name, components in cases.items():
        print(f"90% interval, {name}: {milliseconds(lambda c=components: interval(c)):.1f} ms")  # type: ignore[misc]
    for alpha, theta in ((0.5, 1.0), (0.05, 0.1)):
        accuracy(three, alpha, theta)
    for name, evidence in BELIEFS.items():
        compiled_gain(name, evidence)


def accuracy(floors: list[float], alpha: float, theta: float) -> None:
    """The error of a mixture's few draws, its own estimate of it, and the time for a small tolerance."""
    points = np.linspace(0.6, 2.0, 15)
    best = two_level_cdf(floors, 12, points, alpha, theta, tolerance=1e-6)
    mixture = Mixture((component(floors, 12, alpha, theta),))
    off = np.abs(mixture.cdf(points) - best).max()
    print(f"alpha {alpha}, theta {theta}: error {off:.1e}, estimated {mixture.error(points):.1e}")
    spent = milliseconds(lambda: two_level_cdf(floors, 12, points, alpha, theta), 2)
    print(f"  two_level_cdf at 15 points, tolerance 1e-5: {spent:.0f} ms")


def compiled_gain(name: str, evidence: Evidence) -> None:
    """The time of an interval of `bayes` with and without the compiled module, tables cached and not."""
    bayes = load_estimator("bayes")

    def call() -> object:
        return bayes(evidence).interval(0.9)

    def cold() -> float:
        clear()
        start = process_time()
        call()
        return 1e3 * (process_time() - start)

    compiled, compiled_cold = milliseconds(call, 5), cold()
    with numpy_form():
        plain, plain_cold = milliseconds(call, 3), cold()
    print(
        f"interval of bayes, {name}: {compiled:.1f} ms compiled, {plain:.0f} ms in NumPy "
        f"({plain / compiled:.0f} times); with empty caches {compiled_cold:.0f} ms and {plain_cold:.0f} ms"
    )


if __name__ == "__main__":
    main()
