"""Which answers mean the same: judges of entailment by name, and the grouping of answers by meaning."""

from .cached import Cached
from .grouping import cluster
from .judges import NAMES, ScriptedJudge, load_judge

__all__ = ["NAMES", "Cached", "ScriptedJudge", "cluster", "load_judge"]
