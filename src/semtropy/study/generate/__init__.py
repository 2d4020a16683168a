"""Generate recordings: ask a model every question of a set, grade its answers, resume after an interruption."""

from __future__ import annotations

from .datasets import Dataset, load_dataset
from .engines import load_engine
from .prompts import BriefPrompt
from .requests import GenerationPlan
from .run import GenerationReport, Progress, generate

__all__ = [
    "BriefPrompt",
    "Dataset",
    "GenerationPlan",
    "GenerationReport",
    "Progress",
    "generate",
    "load_dataset",
    "load_engine",
]
