"""Which answers mean the same: judges of entailment by name, and the grouping of answers by meaning."""

from .cached import Cached
from .grouping import cluster
from .registry import NAMES, load_judge
from .scripted import ScriptedJudge

__all__ = ["NAMES", "Cached", "ScriptedJudge", "cluster", "load_judge"]
