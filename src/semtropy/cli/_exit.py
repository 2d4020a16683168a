"""The exit codes of `semtropy check`, so that a script can tell the outcomes apart."""

from __future__ import annotations

from ..verdict import Outcome

__all__ = ["EXIT_CODES"]

EXIT_CODES = {Outcome.STEADY: 0, Outcome.FLAGGED: 3, Outcome.UNDECIDED: 4, Outcome.NO_ANSWER: 5}
