"""The estimator in lm-polygraph's own manager, beside its own estimator, on statistics written down."""

from __future__ import annotations

import math
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("lm_polygraph", reason="needs lm-polygraph: pip install 'semtropy[lm-polygraph]'")

from lm_polygraph.estimators import SemanticEntropy
from lm_polygraph.stat_calculators import SemanticClassesCalculator, StatCalculator
from lm_polygraph.utils.builder_enviroment_stat_calculator import BuilderEnvironmentStatCalculator
from lm_polygraph.utils.dataset import Dataset
from lm_polygraph.utils.factory_stat_calculator import StatCalculatorContainer
from lm_polygraph.utils.manager import UEManager
from lm_polygraph.utils.model import BlackboxModel

from doc_scripts import shown_and_printed
from semtropy import score
from semtropy.errors import InputError
from semtropy.integrations.lm_polygraph import BayesianSemanticEntropy

pytestmark = pytest.mark.filterwarnings("ignore")

SAMPLES = {"Capital?": ["Paris"] * 4, "Mayor?": ["A", "B", "B", "C"]}


class Written(StatCalculator):  # type: ignore[misc]
    """Samples written down, compared by spelling."""

    @staticmethod
    def meta_info() -> tuple[list[str], list[str]]:
        names = ["greedy_texts", "sample_texts", "sample_log_probs", "sample_tokens"]
        return [*names, "semantic_matrix_entail", "semantic_matrix_classes", "entailment_id"], []

    def __call__(self, dependencies: Any, texts: list[str], model: Any, max_new_tokens: int = 100) -> Any:
        samples = [SAMPLES[text] for text in texts]
        same = np.array([[[int(a == b) for b in row] for a in row] for row in samples])
        return {
            "greedy_texts": [row[0] for row in samples],
            "sample_texts": samples,
            "sample_log_probs": [[math.log(0.25 if len(set(row)) > 1 else 0.9)] * 4 for row in samples],
            "sample_tokens": [[[ord(text[0]), 2] for text in row] for row in samples],
            "semantic_matrix_entail": same.astype(float),
            "semantic_matrix_classes": same,
            "entailment_id": 1,
        }


def calculators(monkeypatch: pytest.MonkeyPatch) -> list[StatCalculatorContainer]:
    """How lm-polygraph builds them: from a module with `load_stat_calculator`."""
    made = []
    for calculator in (Written, SemanticClassesCalculator):
        module = types.ModuleType(f"builder_of_{calculator.__name__}")
        module.load_stat_calculator = lambda cfg, environment, made=calculator: made()  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, module.__name__, module)
        stats, dependencies = calculator.meta_info()
        made.append(
            StatCalculatorContainer(
                name=calculator.__name__, stats=stats, dependencies=dependencies, builder=module.__name__
            )
        )
    return made


def test_it_runs_in_the_manager_beside_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = [BayesianSemanticEntropy(), BayesianSemanticEntropy(logprobs=True)]
    theirs = SemanticEntropy(class_probability_estimation="frequency")
    model = BlackboxModel(openai_api_key="none", model_path="none")
    manager = UEManager(
        Dataset(list(SAMPLES), ["Paris", "D"], batch_size=2),
        model,
        [*ours, theirs],
        BuilderEnvironmentStatCalculator(model),
        calculators(monkeypatch),
        [],
        [],
        [],
        ignore_exceptions=False,
        verbose=False,
    )
    manager()
    found = {name: values for (_, name), values in manager.estimations.items()}
    assert set(found) == {str(each) for each in (*ours, theirs)}
    counted, priced = found[str(ours[0])], found[str(ours[1])]
    assert counted[0] < counted[1], "higher is less sure"
    assert priced[0] < counted[0], "a sample with probability 0.9 leaves little"
    for values, row in zip(counted, SAMPLES.values(), strict=True):
        assert values == pytest.approx(score(row, meanings=row).mean)


def test_another_estimator_has_another_name() -> None:
    assert str(BayesianSemanticEntropy()) == "BayesianSemanticEntropy(bayes)"
    assert str(BayesianSemanticEntropy("histogram")) == "BayesianSemanticEntropy(histogram)"


def test_a_missing_statistic_is_named() -> None:
    with pytest.raises(InputError, match="stats has no semantic_classes_entail"):
        BayesianSemanticEntropy()({"sample_texts": [["Paris"]]})


def test_the_script_of_the_page_prints_what_it_shows(tmp_path: Path) -> None:
    shown, printed = shown_and_printed("lm-polygraph.md", tmp_path)
    assert printed == shown
