"""semtropy tells when a language model is making its answer up, for as few extra samples as possible."""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .calibration import Calibration
    from .check import Checker, acheck, astream, check, stream
    from .errors import SemtropyError
    from .estimators import Prior, load_estimator
    from .inquiry import Step
    from .nouns import Belief, Beliefs, Estimator, Evidence, Judge, Model, Partition, Sample
    from .recording import Recording, read_recording, write_recording
    from .score import score
    from .stopping import Budget, Decided, FixedSamples, Price, Reason, Rounds, Spent, VarianceBelow
    from .verdict import Verdict

__all__ = [
    "Belief",
    "Beliefs",
    "Budget",
    "Calibration",
    "Checker",
    "Decided",
    "Estimator",
    "Evidence",
    "FixedSamples",
    "Judge",
    "Model",
    "Partition",
    "Price",
    "Prior",
    "Reason",
    "Recording",
    "Rounds",
    "Sample",
    "SemtropyError",
    "Spent",
    "Step",
    "VarianceBelow",
    "Verdict",
    "acheck",
    "astream",
    "check",
    "load_estimator",
    "read_recording",
    "score",
    "stream",
    "write_recording",
]
__version__ = "0.2.0"

# Where each export lives. It is imported when first asked for, so `import semtropy` costs next to nothing.
_HOME = {
    "Belief": "nouns",
    "Beliefs": "nouns",
    "Budget": "stopping",
    "Calibration": "calibration",
    "Checker": "check",
    "Decided": "stopping",
    "Estimator": "nouns",
    "Evidence": "nouns",
    "FixedSamples": "stopping",
    "Judge": "nouns",
    "Model": "nouns",
    "Partition": "nouns",
    "Price": "stopping",
    "Prior": "estimators",
    "Reason": "stopping",
    "Recording": "recording",
    "Rounds": "stopping",
    "Sample": "nouns",
    "SemtropyError": "errors",
    "Spent": "stopping",
    "Step": "inquiry",
    "VarianceBelow": "stopping",
    "Verdict": "verdict",
    "acheck": "check",
    "astream": "check",
    "check": "check",
    "load_estimator": "estimators",
    "read_recording": "recording",
    "score": "score",
    "stream": "check",
    "write_recording": "recording",
}


class _Package(ModuleType):
    """Keeps an export its name when a submodule is called the same: importing `semtropy.check` from anywhere
    would otherwise put the module where the function `semtropy.check` belongs."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _HOME and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package

if not TYPE_CHECKING:  # hidden from type checkers, which would take it to mean that every name exists

    def __getattr__(name: str) -> object:
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(f".{_HOME[name]}", __name__), name)
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
