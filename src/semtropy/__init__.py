"""semtropy tells when a language model is making its answer up, for as few extra samples as possible."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .calibration import Calibration
    from .checking import Checker, acheck, astream, check, checked, stream
    from .errors import SemtropyError
    from .estimators import Prior, load_estimator
    from .inquiry.steps import Step
    from .meaning.judges import load_judge
    from .models import load_model
    from .nouns import Belief, Beliefs, Estimator, Evidence, Judge, Model, Partition, Sample
    from .recording import Recording, read_recording, write_recording
    from .scoring import score
    from .stopping import Budget, Decided, FixedSamples, Price, Reason, Rounds, Spent, VarianceBelow
    from .verdict import Outcome, Verdict

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
    "Outcome",
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
    "checked",
    "load_estimator",
    "load_judge",
    "load_model",
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
    "Checker": "checking",
    "Decided": "stopping",
    "Estimator": "nouns",
    "Evidence": "nouns",
    "FixedSamples": "stopping",
    "Judge": "nouns",
    "Model": "nouns",
    "Outcome": "verdict",
    "Partition": "nouns",
    "Price": "stopping",
    "Prior": "estimators",
    "Reason": "stopping",
    "Recording": "recording",
    "Rounds": "stopping",
    "Sample": "nouns",
    "SemtropyError": "errors",
    "Spent": "stopping",
    "Step": "inquiry.steps",
    "VarianceBelow": "stopping",
    "Verdict": "verdict",
    "acheck": "checking",
    "astream": "checking",
    "check": "checking",
    "checked": "checking",
    "load_estimator": "estimators",
    "load_judge": "meaning.judges",
    "load_model": "models",
    "read_recording": "recording",
    "score": "scoring",
    "stream": "checking",
    "write_recording": "recording",
}

if not TYPE_CHECKING:  # hidden from type checkers, which would take it to mean that every name exists

    def __getattr__(name: str) -> object:
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(f".{_HOME[name]}", __name__), name)
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
