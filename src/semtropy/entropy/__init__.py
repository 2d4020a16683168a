"""The mathematics of semantic entropy: arrays in, arrays out, NumPy and SciPy only."""

from .dirichlet import dirichlet_moments
from .distribution import cdf, two_level_cdf
from .importance import importance_moments
from .posterior import Moments, moments, moments_batch
from .support import mix
from .two_level import Kind, Seen, Wordings, evaluate, two_level_moments

__all__ = [
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
