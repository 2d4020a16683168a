"""Generate recordings: ask a model every question of a set, grade its answers, resume after an interruption."""

from __future__ import annotations

from .datasets import load_dataset
from .engines import load_engine
from .requests import GenerationPlan
from .run import generate

__all__ = ["GenerationPlan", "generate", "load_dataset", "load_engine"]
