"""pandas: verdicts as a data frame, one row each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import needs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..verdict import Verdict

__all__ = ["to_frame"]


def to_frame(verdicts: Iterable[Verdict]) -> Any:
    """The verdicts as a frame: question, answer, outcome, score, entropy, agreement, cost; unknown is missing."""
    with needs("pandas", extra="pandas"):
        import pandas
    frame = pandas.DataFrame([verdict.to_row() for verdict in verdicts])
    return frame.convert_dtypes()
