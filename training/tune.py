"""The calibration of the judge on the tune side of the judged answers: shift, hints and prior odds.

The network is run once on every pair that some calibration asks about; after that a calibration takes seconds.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from semtropy.meaning.builtin import FOLDER, Builtin, form
from semtropy.meaning.spelling import wording_hint

from .agreement import Agreement, agreement, judges_groups, strings_groups, teachers_groups
from .sources import judged

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from semtropy.nouns import Floats

Triple = tuple[str, str, str]


class Recalibrated:
    """The judge with another shift of phrases and weight of hints; the network's log-odds are remembered."""

    def __init__(self, judge: Builtin, odds: dict[Triple, float], shift: float, hint: float) -> None:
        self._judge, self._odds, self._shift, self._hint = judge, odds, shift, hint

    def entails(self, batch: Sequence[Triple]) -> Floats:
        """The probabilities under this calibration."""
        fresh = [triple for triple in dict.fromkeys(batch) if triple not in self._odds]
        if fresh:
            p = self._judge.entails(fresh).clip(1e-12, 1 - 1e-12)
            self._odds.update(zip(fresh, (np.log(p) - np.log1p(-p)).tolist(), strict=True))
        moved = [self._odds[triple] + self._moved(triple) for triple in batch]
        return np.asarray(1 / (1 + np.exp(-np.array(moved))))

    def _moved(self, triple: Triple) -> float:
        if abs(self._odds[triple]) > 20:  # settled without the network
            return 0.0
        if form(*triple[1:]) != "phrase":
            return 0.0
        network = self._judge._networks["phrase"]()
        return self._shift - network.shifts["phrase"] + (self._hint - network.hint) * wording_hint(*triple)


def calibrations(
    path: Path,
    shifts: Sequence[float],
    hints: Sequence[float],
    priors: Sequence[float],
    folder: Path = FOLDER,
) -> Iterator[tuple[float, float, float, Agreement]]:
    """Shift, weight of hints, weight of the prior odds, and how the groups agree with the teacher's on tune."""
    judged.check_split(path)
    rows = judged.read(path, "tune")
    judge, odds, teacher = Builtin(folder), dict[Triple, float](), teachers_groups(rows)
    for shift, hint, prior in product(shifts, hints, priors):
        made = judges_groups(rows, Recalibrated(judge, odds, shift, hint), prior=prior)
        yield shift, hint, prior, agreement(rows, made, teacher)


def figures(path: Path, side: str, folder: Path = FOLDER) -> Iterator[str]:
    """The lines of the model card: exact strings and the judge, all questions and by set."""
    judged.check_split(path)
    rows = judged.read(path, side)
    groups = {"exact strings": strings_groups(rows), "judge": judges_groups(rows, Builtin(folder))}
    teacher = teachers_groups(rows)
    for source in ("all", *sorted({row.source for row in rows})):
        chosen = [n for n, row in enumerate(rows) if source in ("all", row.source)]
        for name, made in groups.items():
            found = agreement(
                [rows[n] for n in chosen], [made[n] for n in chosen], [teacher[n] for n in chosen]
            )
            yield f"{side}, {source}, {name}: {found.line()}"
