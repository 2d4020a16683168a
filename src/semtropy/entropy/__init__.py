"""The mathematics of semantic entropy: arrays in, arrays out, NumPy and SciPy only."""

from .dirichlet import dirichlet_moments
from .distribution import cdf, two_level_cdf
from .truncated_dirichlet import Moments, moments, moments_batch
from .two_level import two_level_moments

__all__ = [
    "Moments",
    "cdf",
    "dirichlet_moments",
    "moments",
    "moments_batch",
    "two_level_cdf",
    "two_level_moments",
]
