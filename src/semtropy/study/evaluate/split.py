"""Which questions train the priors and which are tested."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...errors import InputError
from .resample import seed_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...recording import Row

__all__ = ["Split"]


@dataclass(frozen=True, slots=True)
class Split:
    """A train/test split, or cross-validation.

    The first `train` questions fit the priors and the rest are tested; with `folds`, each fold is tested with priors
    fitted on the others. The order is the natural order of ids, or random from the seed `shuffle`.
    """

    train: int = 200
    folds: int | None = None
    shuffle: int | None = None

    @property
    def pieces(self) -> int:
        """How many times priors are fitted: once, or once per fold."""
        return self.folds or 1

    def order(self, rows: Sequence[Row]) -> list[Row]:
        """The rows in the order of the split; it depends on the seed and each row's id alone."""
        if self.shuffle is None:
            return list(rows)
        return sorted(rows, key=lambda row: seed_words("shuffle", self.shuffle, row.id))

    def indices(self, count: int, where: str) -> list[tuple[list[int], list[int]]]:
        """(training, test) indices for each piece, of `count` questions; question i is in fold i modulo `folds`."""
        if self.folds is None:
            if self.train < 1:
                raise InputError(f"--train is {self.train}: a prior needs at least one training question")
            if self.train >= count:
                raise InputError(
                    f"{where}: {count} questions, and --train {self.train} leaves none to test: "
                    f"give a smaller --train, or --folds 5 to train and test on all"
                )
            return [(list(range(self.train)), list(range(self.train, count)))]
        if not 2 <= self.folds <= count:
            raise InputError(f"{where}: --folds is {self.folds}: from 2 to the number of questions, {count}")
        return [
            ([at for at in range(count) if at % self.folds != fold], list(range(fold, count, self.folds)))
            for fold in range(self.folds)
        ]
