"""What engines have in common, and the engine of this process.

Work is a function from an iterable of items to an iterator over their results, one per item and in order. It is made
where it runs: what makes it is pickled, and what it holds, such as a judge or a model, is not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

__all__ = ["MakeWork", "WorkEngine", "work_here"]

A = TypeVar("A")
B = TypeVar("B")
MakeWork = Callable[[], Callable[[Iterable[A]], Iterator[B]]]


class WorkEngine(Protocol):
    """Applies work to items; the results come in the order of the items.

    An error that the work raises for an item is raised after the results of the items before it. `batch` is the number
    of items that a worker is given at a time, where there are several workers.
    """

    def __call__(self, make: MakeWork[A, B], items: Iterable[A], *, batch: int = 1) -> Iterator[B]: ...


def work_here(make: MakeWork[A, B], items: Iterable[A], *, batch: int = 1) -> Iterator[B]:
    """The engine of this process: the work reads the items as it needs them.

    >>> list(work_here(lambda: lambda items: (item + 1 for item in items), [1, 2]))
    [2, 3]
    """
    return make()(items)
