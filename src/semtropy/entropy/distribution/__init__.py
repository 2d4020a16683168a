"""The distribution function of the entropy: credible intervals and P(h > x) without Monte Carlo noise."""

from .adaptive import cdf, two_level_cdf
from .component import PosteriorComponent
from .mixture import Known, Mixture, mix, significant

__all__ = ["Known", "Mixture", "PosteriorComponent", "cdf", "mix", "significant", "two_level_cdf"]
