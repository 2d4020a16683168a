"""The mathematics of semantic entropy: arrays in, arrays out, NumPy and SciPy only."""

from .components import DirichletComponent, PitmanYorComponent, SequencePrior
from .dirichlet import dirichlet_moments
from .distribution import cdf, mix, two_level_cdf
from .importance import importance_moments
from .observations import Observations
from .posterior import Moments, moments, moments_batch
from .two_level import component_moments, two_level_moments

__all__ = [
    "DirichletComponent",
    "Moments",
    "Observations",
    "PitmanYorComponent",
    "SequencePrior",
    "cdf",
    "component_moments",
    "dirichlet_moments",
    "importance_moments",
    "mix",
    "moments",
    "moments_batch",
    "two_level_cdf",
    "two_level_moments",
]
