"""A colour and a marker for each method of a figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["DASHES", "styles"]

# Okabe and Ito's colours, distinct under every kind of colour vision; markers repeat the distinction in grey.
STYLES: dict[str, tuple[str, str]] = {
    "bayes": ("#0072B2", "D"),
    "agreement": ("#7A5AF8", "D"),
    "bayes-paper": ("#D55E00", "D"),
    "histogram": ("#000000", "o"),
    "rescaled": ("#009E73", "s"),
    "rescaled-length": ("#56B4E9", "^"),
    "log-likelihood": ("#CC79A7", "v"),
    "p-true": ("#E69F00", "v"),
    "length": ("#7F7F7F", "v"),
}
BLACK, WHITE = "#000000", "#E6EAEE"  # what is black on paper, on a dark page
# For the others, in the order of the tables.
COLOURS = ("#117733", "#AA3377", "#88CCEE", "#AA4499", "#BBAA33", "#44AA99", "#CC6677", "#996633")
MARKERS = ("P", "X", "<", ">", "p", "h", "*", "d")
DASHES = ((5, 2), (2, 1.5), (7, 2, 1.5, 2), (3, 1, 1, 1), (9, 3))


def styles(names: Sequence[str], *, dark: bool = False) -> dict[str, tuple[str, str]]:
    """A colour and a marker for each method: its own where it has one, else the next that is free.

    >>> styles(["histogram", "a stored score"])
    {'histogram': ('#000000', 'o'), 'a stored score': ('#117733', 'P')}
    """
    count = len(COLOURS)
    free = ((COLOURS[at % count], MARKERS[(at + at // count) % count]) for at in range(count * count))
    chosen = {name: STYLES.get(name) or next(free, ("#7F7F7F", "o")) for name in names}
    if not dark:
        return chosen
    return {name: (WHITE if colour == BLACK else colour, marker) for name, (colour, marker) in chosen.items()}
