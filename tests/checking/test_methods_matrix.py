"""Every method in every place: it works there, or is refused in one clear line before a request is paid for."""

from __future__ import annotations

import json

import pytest
from fastapi.testclient import TestClient

from recordings_made import graded_recording
from semtropy import Prior, check, read_recording, score
from semtropy.errors import InputError, RecordingError
from semtropy.estimators import NAMES as ESTIMATORS
from semtropy.estimators import PaperPrior, load_estimator
from semtropy.meaning import load_judge
from semtropy.models.scripted import ScriptedModel
from semtropy.recording import Row
from semtropy.scorers import NAMES as SCORERS
from semtropy.scorers import load_scorer
from semtropy.scoring import row_scoring
from semtropy.server.app import create_app
from semtropy.server.settings import Settings
from semtropy.study.evaluate import evaluate
from semtropy.study.judging import RowRelating

SCORES = (*SCORERS, "agreement")
KNOWN = {"Paris": 0.8, "Lyon": 0.15, "Nice": 0.05}


class Paid:
    """A model that counts its requests."""

    name = "paid"

    def __init__(self) -> None:
        self.requests, self._model = 0, ScriptedModel(default=KNOWN)

    def sample(self, prompt, n, *, temperature=1.0, rng=None):
        self.requests += 1
        return self._model.sample(prompt, n, temperature=temperature, rng=rng)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_check_works_with_every_estimator(name):
    verdict = check("?", model=Paid(), judge="exact", estimator=name, rng=1)
    assert verdict.entropy.mean >= 0


@pytest.mark.parametrize("name", [*SCORES, "magic"])
def test_check_refuses_scores_before_a_request(name):
    model = Paid()
    with pytest.raises(InputError, match=name) as caught:
        check("?", model=model, judge="exact", estimator=name)
    assert "\n" not in str(caught.value)
    assert model.requests == 0


@pytest.mark.parametrize(
    ("estimator", "prior"),
    [("bayes", PaperPrior()), ("bayes-paper", Prior.default()), ("histogram", Prior.default()), ("bayes", 3)],
)
def test_a_prior_of_the_wrong_kind_is_refused_before_a_request(estimator, prior):
    model = Paid()
    with pytest.raises(InputError, match="prior"):
        check("?", model=model, judge="exact", estimator=estimator, prior=prior)
    assert model.requests == 0


@pytest.mark.parametrize("name", ESTIMATORS)
def test_score_works_with_every_estimator_its_samples_have_the_columns_for(name):
    texts, logprobs = ["Paris", "Paris", "Lyon"], [-0.2, -0.2, -2.0]
    if name == "rescaled-length":
        with pytest.raises(InputError, match="token log-probabilities"):
            score(texts, logprobs=logprobs, meanings=[0, 0, 1], estimator=name)
    else:
        assert score(texts, logprobs=logprobs, meanings=[0, 0, 1], estimator=name).mean > 0


@pytest.mark.parametrize("name", SCORES)
def test_score_refuses_scores_of_an_answer(name):
    with pytest.raises(InputError, match=name):
        score(["Paris"], meanings=[0], estimator=name)


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    path = graded_recording(tmp_path_factory.mktemp("made") / "made.jsonl", questions=30)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines[1:]:
        line["p_true"] = 0.5 + 0.3 * bool(line["answer"]["correct"])
        line["answer"]["logprob"] = -0.5
        for sample in line["samples"]:
            sample["token_logprobs"] = [sample["logprob"]]
        [(_, line["relations"], _)] = RowRelating().find([Row(line)], load_judge("exact"))
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.mark.parametrize("name", [*ESTIMATORS, *SCORERS])
def test_rows_are_scored_with_every_method(name, recording):
    lines = list(row_scoring(name)(read_recording(recording).rows[:3]))
    assert len(lines) == 3
    no_entropy = name in SCORERS and not load_scorer(name).in_nats
    assert all((line.flagged is None) == no_entropy for line in lines)


@pytest.mark.parametrize("name", SCORERS)
def test_a_missing_column_is_named_with_the_question(name, tmp_path):
    row = Row(
        {"id": "7", "question": "?", "samples": [{"text": "Paris", "meaning": 0}]}, path="made.jsonl", line=2
    )
    with pytest.raises(RecordingError) as caught:
        list(row_scoring(name)([row]))
    assert load_scorer(name).columns[0] in str(caught.value)
    assert "made.jsonl" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_scores_are_refused_by_name_where_estimators_are_asked_for():
    for name in SCORES:
        with pytest.raises(InputError, match=f"{name} needs more than the evidence"):
            load_estimator(name)


@pytest.mark.parametrize("name", [*ESTIMATORS, *SCORES])
def test_evaluate_works_with_every_method(name, recording):
    results = evaluate([recording], estimators=[name], budgets=[1, 2], folds=2, seeds=1, bootstrap=0)
    assert {cell.estimator for cell in results.cells} == {name}


@pytest.mark.parametrize("name", [*ESTIMATORS, *SCORES, "magic"])
def test_the_gateway_takes_estimators_and_refuses_the_rest(name):
    model = Paid()
    with TestClient(create_app(Settings(judge="exact"), model=model), base_url="http://127.0.0.1") as client:
        while client.get("/readyz").status_code == 503:
            pass
        reply = client.post("/v1/check", json={"prompt": "?", "estimator": name, "judge": "exact", "seed": 1})
    if name in ESTIMATORS:
        assert reply.status_code == 200, reply.text
        assert reply.json()["entropy"]["mean"] >= 0
    else:
        assert reply.status_code == 400
        assert model.requests == 0
