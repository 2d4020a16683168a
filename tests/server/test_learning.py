"""The gateway learns from its checks: one prior per model, kept across restarts, as counts."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("fastapi")

from fastapi.testclient import TestClient

from semtropy.server.app import create_app
from semtropy.server.instruments import MOST_MODELS, Instruments
from semtropy.server.policy import Policy
from semtropy.server.schemas import CheckOptions
from semtropy.server.settings import Settings


class Answers:
    """A model without log-probabilities."""

    name = "repeats"

    def sample(self, prompt, n, *, temperature=1.0, rng=None):
        from semtropy import Sample

        return [Sample("a secret answer") for _ in range(n)]


@pytest.fixture
def client():
    def made(**settings):
        app = create_app(Settings(judge="exact", **settings), model=Answers())
        return TestClient(app, base_url="http://127.0.0.1:8080")

    return made


def checked(client, question, key=None):
    while client.get("/readyz").status_code == 503:
        pass
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    reply = client.post("/v1/check", json={"prompt": question}, headers=headers)
    assert reply.status_code == 200, reply.text
    return reply.json()


def test_checks_are_learned_from_and_kept_across_restarts(client, tmp_path):
    with client(learned=str(tmp_path)) as first:
        verdicts = [checked(first, f"question {i}?") for i in range(6)]
    assert verdicts[0]["samples"] > verdicts[-1]["samples"] == 3
    assert verdicts[-1]["prior"] == "learned from 6 questions"
    (kept,) = tmp_path.iterdir()
    assert kept.name.startswith("repeats-")
    assert "secret" not in kept.read_text()
    assert json.loads(kept.read_text())["questions"] == 6
    with client(learned=str(tmp_path)) as second:
        assert checked(second, "another?")["prior"] == "learned from 7 questions"


@pytest.mark.parametrize("prior", ["default"])
def test_learning_can_be_turned_off(client, tmp_path, prior):
    with client(learned=str(tmp_path), prior=prior) as one:
        assert checked(one, "question?")["prior"] is None
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_used_costs_no_check(client, tmp_path):
    (tmp_path / "file").write_text("")
    with client(learned=str(tmp_path / "file" / "below")) as one:
        assert checked(one, "question?")["outcome"] == "steady"


def test_a_damaged_file_is_begun_anew(client, tmp_path):
    with client(learned=str(tmp_path)) as one:
        checked(one, "question?")
    (kept,) = tmp_path.iterdir()
    kept.write_text("{")
    with client(learned=str(tmp_path)) as one:
        assert checked(one, "question?")["prior"] == "learned from 1 question"


def test_models_are_learned_apart_and_their_number_is_bounded():
    settings = Settings(judge="exact")
    policy = Policy(settings, Instruments(settings))
    one, other = (policy.terms(CheckOptions(), name).estimator for name in ("one", "other"))
    assert one is not other
    assert one is policy.terms(CheckOptions(), "one").estimator
    for i in range(MOST_MODELS + 5):
        policy.terms(CheckOptions(), f"model {i}")
    assert len(policy.instruments._learned) == MOST_MODELS
    assert policy.terms(CheckOptions(), "one more").estimator.state is None


@pytest.mark.parametrize("mode", ["block", "trim"])
def test_where_answers_are_withheld_no_tenant_teaches_another(client, tmp_path, mode):
    """Somebody who asks what a model always answers alike must not make others' answers look steady."""
    with client(learned=str(tmp_path), mode=mode) as one:
        for i in range(4):
            checked(one, f"question {i}?", key="first")
        assert checked(one, "question?", key="second")["prior"] == "learned from 1 question"
        assert checked(one, "question?", key="first")["prior"] == "learned from 5 questions"
    kept = [path.name for path in tmp_path.iterdir() if path.name != "salt"]
    assert len(kept) == 2
    assert not any("first" in name or "second" in name for name in kept)
    assert (tmp_path / "salt").stat().st_mode & 0o077 == 0
    with client(learned=str(tmp_path), mode=mode) as again:
        assert checked(again, "another?", key="first")["prior"] == "learned from 6 questions"


def test_where_nothing_is_withheld_all_learn_together(client, tmp_path):
    with client(learned=str(tmp_path)) as one:
        checked(one, "question 1?", key="first")
        assert checked(one, "question 2?", key="second")["prior"] == "learned from 2 questions"


def test_with_a_calibration_nothing_is_learned(tmp_path):
    """It holds for the prior that it was fitted with."""
    from semtropy.calibration import Calibration, Logistic

    Calibration(Logistic(2.0, -1.0), "bayes", 0.4).save(tmp_path / "c.json")
    settings = Settings(judge="exact", calibration=str(tmp_path / "c.json"))
    instruments = Instruments(settings)
    instruments.load()
    assert Policy(settings, instruments).terms(CheckOptions(), "m").estimator.state is None
