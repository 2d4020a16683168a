"""The distribution function of the entropy: credible intervals and P(h > x) without Monte Carlo noise."""

from .mixture import Known, Mixture, PosteriorComponent, cdf, mix, significant, two_level_cdf

__all__ = ["Known", "Mixture", "PosteriorComponent", "cdf", "mix", "significant", "two_level_cdf"]
