"""semtropy tells when a language model is making its answer up, for as few extra samples as possible."""

from .nouns import Belief, Beliefs, Estimator, Evidence, Judge, Model, Partition, Sample

__all__ = ["Belief", "Beliefs", "Estimator", "Evidence", "Judge", "Model", "Partition", "Sample"]
__version__ = "0.1.0"
