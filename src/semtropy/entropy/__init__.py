"""The mathematics of semantic entropy: arrays in, arrays out, NumPy and SciPy only."""

from .dirichlet import dirichlet_moments
from .distribution import cdf, two_level_cdf
from .importance import importance_moments
from .kinds import Endless, Kind, Wordings
from .posterior import Moments, moments, moments_batch
from .seen import Seen
from .support import mix
from .two_level import evaluate, two_level_moments

__all__ = [
    "Endless",
    "Kind",
    "Moments",
    "Seen",
    "Wordings",
    "cdf",
    "dirichlet_moments",
    "evaluate",
    "importance_moments",
    "mix",
    "moments",
    "moments_batch",
    "two_level_cdf",
    "two_level_moments",
]
