"""Time and accuracy of the entropy's distribution: `python benchmarks/distribution.py`."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time

import numpy as np

from semtropy.entropy import two_level_cdf
from semtropy.entropy.distribution import Mixture, PosteriorComponent

PAIRS = ((0.05, 0.1), (0.05, 0.3), (0.1, 0.3), (0.2, 0.1), (0.5, 1.0), (0.1, 1.0))


def component(floors: list[float], size: int, alpha: float, theta: float) -> PosteriorComponent:
    m = len(floors)
    return PosteriorComponent(
        1.0, np.full(m, alpha - theta), np.full(m, theta), np.array(floors), (size - m) * alpha, alpha
    )


def milliseconds(ask: Callable[[], object], times: int = 10) -> float:
    """The least time of several, the tables of unseen meanings being there already."""
    ask()
    spent = []
    for _ in range(times):
        start = process_time()
        ask()
        spent.append(process_time() - start)
    return 1e3 * min(spent)


def interval(components: tuple[PosteriorComponent, ...]) -> Callable[[], object]:
    def ask() -> object:
        law = Mixture(components)
        return law.quantile(0.05), law.quantile(0.95)

    return ask


def main() -> None:
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
        print(f"90% interval, {name}: {milliseconds(interval(components)):.1f} ms")
    for alpha, theta in ((0.5, 1.0), (0.05, 0.1)):
        accuracy(three, alpha, theta)


def accuracy(floors: list[float], alpha: float, theta: float) -> None:
    points = np.linspace(0.6, 2.0, 15)
    best = two_level_cdf(floors, 12, points, alpha, theta, tolerance=1e-6)
    law = Mixture((component(floors, 12, alpha, theta),))
    off = np.abs(law.cdf(points) - best).max()
    print(f"alpha {alpha}, theta {theta}: a mixture is off by {off:.1e} and says {law.error(points):.1e}")
    spent = milliseconds(lambda: two_level_cdf(floors, 12, points, alpha, theta), 2)
    print(f"  two_level_cdf at 15 points, tolerance 1e-5: {spent:.0f} ms")


if __name__ == "__main__":
    main()
