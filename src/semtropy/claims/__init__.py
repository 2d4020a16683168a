"""Long answers, claim by claim.

`split` finds the claims of an answer, `relate` finds which samples support or contradict each, and `posterior` computes
how often the model would repeat each, given what the samples say about all of them.
"""

from .pooling import ClaimBelief, ClaimPrior, posterior
from .relating import relate
from .splitting import Claim, split

__all__ = ["Claim", "ClaimBelief", "ClaimPrior", "posterior", "relate", "split"]
