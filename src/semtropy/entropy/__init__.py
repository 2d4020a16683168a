"""The mathematics of semantic entropy: arrays in, arrays out, NumPy and SciPy only."""

from .dirichlet import dirichlet_moments
from .distribution import cdf, two_level_cdf
from .importance import importance_moments
from .posterior import Moments, moments, moments_batch, two_level_batch, two_level_moments
from .support import mix

__all__ = [
    "Moments",
    "cdf",
    "dirichlet_moments",
    "importance_moments",
    "mix",
    "moments",
    "moments_batch",
    "two_level_batch",
    "two_level_cdf",
    "two_level_moments",
]
