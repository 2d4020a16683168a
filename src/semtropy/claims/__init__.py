"""Long answers, claim by claim.

`split` finds the claims of an answer, `relate` says which samples support or contradict each, and `posterior` says how
often the model would repeat each, given what the samples say of all of them.
"""

from .pooling import ClaimBelief, ClaimPrior, posterior
from .relating import relate
from .splitting import Claim, split

__all__ = ["Claim", "ClaimBelief", "ClaimPrior", "posterior", "relate", "split"]
