"""Which answers mean the same: the incremental partition, and the judges of entailment behind it."""

from .cached import Cached
from .exact import Exact, Normalised
from .grouping import Grouped, GroupingTask, cluster, cluster_many
from .normal import normalise
from .numeric import Numeric
from .partition import MODES, Grouper, Tally
from .quantity import Quantity, quantity
from .registry import NAMES, load_judge
from .scripted import ScriptedJudge

__all__ = [
    "MODES",
    "NAMES",
    "Cached",
    "Exact",
    "Grouped",
    "Grouper",
    "GroupingTask",
    "Normalised",
    "Numeric",
    "Quantity",
    "ScriptedJudge",
    "Tally",
    "cluster",
    "cluster_many",
    "load_judge",
    "normalise",
    "quantity",
]
