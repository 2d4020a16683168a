"""Answers in scripts that the built-in judge cannot read: kept apart by spelling, said so, and a judge that can."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import pytest

from scripted_endpoint import ScriptedEndpoint, serving
from semtropy import Budget, FixedSamples, acheck, check, score
from semtropy.cli import main
from semtropy.errors import InputError
from semtropy.meaning import cluster, load_judge
from semtropy.models import load_model
from semtropy.models.scripted import ScriptedModel

CITIES = {
    "Cyrillic": ("Москва", "Киев", "Минск"),
    "Chinese characters": ("北京", "上海", "南京"),
    "Arabic": ("القاهرة", "الجيزة", "الإسكندرية"),
    "Devanagari": ("नई दिल्ली", "मुंबई", "कोलकाता"),
    "Hangul": ("서울", "부산", "대구"),
    "Greek": ("Αθήνα", "Θεσσαλονίκη", "Πάτρα"),
}
# One city in two forms that no spelling rule makes equal, and another city.
FORMS = {
    "Cyrillic": ("Москва", "город Москва", "Киев"),
    "Chinese characters": ("北京", "北京市", "上海"),
    "Arabic": ("القاهرة", "مدينة القاهرة", "الجيزة"),
    "Devanagari": ("मुंबई", "मुंबई शहर", "कोलकाता"),
    "Hangul": ("서울", "서울특별시", "부산"),
    "Greek": ("Αθήνα", "πόλη της Αθήνας", "Πάτρα"),
}
QUESTION = "Which city is it?"
PLUG_IN = ("--estimator", "histogram")  # draws all samples


def spread(texts: tuple[str, ...]) -> dict[str, float]:
    return {text: 1 / len(texts) for text in texts}


def judging(texts: tuple[str, ...]) -> Any:
    """Answers of an endpoint that names the cities, and is asked whether two answers are the same."""

    def answers(prompt: str) -> dict[str, float]:
        found = re.search(r"^\{.*\}$", prompt, re.MULTILINE)
        if not found:
            return spread(texts)
        data = json.loads(found[0])
        lines = []
        for number, text in data["hypotheses"].items():
            known = text in texts
            same = known and texts.index(text) // 2 == texts.index(data["premise"]) // 2
            lines.append(f"{number}: {'supports' if same else 'contradicts' if known else 'silent'}")
        return {"\n".join(lines): 1.0}

    return answers


# A question, its answer in several wordings, and other answers.
SENTENCES = [
    (
        "Какой город является столицей Франции?",
        ("Париж", "Столица Франции — Париж.", "Париж является столицей Франции.", "Это Париж."),
        ("Лион", "Столица Франции — Марсель.", "Это не Париж."),
    ),
    (
        "Кто написал «Войну и мир»?",
        ("Лев Толстой", "«Войну и мир» написал Лев Толстой.", "Лев Николаевич Толстой"),
        ("Алексей Толстой", "«Войну и мир» написал Чехов."),
    ),
    ("Когда закончилась война?", ("В 1945 году", "Она закончилась в 1945 г."), ("В 1944 году", "1918")),
    ("Летают ли пингвины?", ("Нет", "Нет, пингвины не летают."), ("Да", "Да, летают.")),
    (
        "Ποια είναι η πρωτεύουσα της Ελλάδας;",
        ("Αθήνα", "Η πρωτεύουσα της Ελλάδας είναι η Αθήνα.", "Η Αθήνα είναι η πρωτεύουσα."),
        ("Θεσσαλονίκη", "Είναι η Πάτρα."),
    ),
    ("ما هي عاصمة مصر؟", ("القاهرة", "عاصمة مصر هي القاهرة."), ("الإسكندرية", "عاصمة مصر هي الجيزة.")),
    ("מהי בירת צרפת?", ("פריז", "בירת צרפת היא פריז."), ("ליון", "בירת צרפת היא מרסיי.")),
    ("भारत की राजधानी क्या है?", ("नई दिल्ली", "भारत की राजधानी नई दिल्ली है।"), ("मुंबई",)),
    (
        "日本の首都はどこですか？",
        (
            "東京",
            "日本の首都は東京です。",
            "東京です。",
            "首都は東京になります。",
            "日本の首都は東京都です。",
        ),
        ("大阪", "京都です。", "東京ではありません。"),
    ),
    (
        "中国的首都是哪里？",
        ("北京", "中国的首都是北京。", "北京是中国的首都。"),
        ("上海", "中国的首都是南京。"),
    ),
    (
        "日本で一番高い山は何ですか。一文で答えてください。",
        (
            "富士山",
            "日本一高い山は富士山です。",
            "最高峰は、富士山である。",
            "富士山は日本で一番高い山です。",
        ),
        ("北岳", "日本一高い山は北岳です。", "日本一高い山は富士山ではありません。"),
    ),
    (
        "世界上最高的山是什么？",
        ("珠穆朗玛峰", "地球最高峰是珠穆朗玛峰。"),
        ("最高峰是乔戈里峰。", "最高峰不是珠穆朗玛峰。"),
    ),
    (
        "대한민국의 수도는 어디입니까?",
        ("서울", "대한민국의 수도는 서울입니다."),
        ("부산", "수도는 인천입니다."),
    ),
    ("Как зовут автора?", ("Мария", "Автора зовут Мария."), ("Марина", "Автора зовут Марианна.")),
    ("Кто победил?", ("СССР", "Победил СССР."), ("СССР победил Германию", "Германия победила СССР")),
]


@pytest.mark.parametrize(("question", "same", "others"), SENTENCES, ids=lambda value: str(value)[:20])
def test_a_sentence_is_compared_by_what_it_adds_to_the_question(
    question: str, same: tuple[str, ...], others: tuple[str, ...]
) -> None:
    groups = cluster(question, [*same, *others])
    assert set(groups[: len(same)]) == {0}
    assert 0 not in groups[len(same) :]


class TestTheBuiltInJudgeSaysSo:
    @pytest.mark.parametrize("script", sorted(CITIES))
    def test_in_every_driver(self, script: str) -> None:
        texts = CITIES[script]
        options: dict[str, Any] = {
            "model": ScriptedModel(default=spread(texts)),
            "rule": FixedSamples(9),
            "rng": 1,
        }
        called = check(QUESTION, **options)
        awaited = asyncio.run(acheck(QUESTION, **options))
        for verdict in (called, awaited):
            assert {meaning.text for meaning in verdict.meanings} == set(texts)
            [warning] = [each for each in verdict.warnings if "--judge llm" in each]
            assert "All 10 answers are in a script that the built-in judge does not read" in warning
            assert script in warning
            assert "--judge llm:MODEL" in warning
            assert f"Note: a{warning[1:]}" in verdict.explain()
            assert warning in verdict.to_dict()["warnings"]

    def test_only_where_it_mattered(self) -> None:
        """Answers it reads, one answer alone, and answers that are all spelled alike need no warning."""
        for texts in (("Paris", "Rome"), ("Москва",), ("Москва", "москва.")):
            verdict = check(QUESTION, model=ScriptedModel(default=spread(texts)), rule=FixedSamples(6), rng=1)
            assert "llm" not in " ".join(verdict.warnings)
        alone = check(QUESTION, model=ScriptedModel(default={"Москва": 1.0}), budget=Budget(samples=0), rng=1)
        assert "llm" not in " ".join(alone.warnings)

    def test_score_says_so_too(self) -> None:
        [note] = [note for note in score(["Москва", "Киев"]).notes if "script" in note]
        assert "--judge llm:MODEL" in note
        assert not [note for note in score(["Paris", "Rome"]).notes if "script" in note]

    def test_on_the_command_line(self, capsys: pytest.CaptureFixture[str], tmp_path: Any) -> None:
        script = tmp_path / "script.json"
        script.write_text(json.dumps({"*": spread(CITIES["Greek"])}))
        main(["check", QUESTION, "--model", f"scripted:{script}", "--seed", "1", "--show-groups", *PLUG_IN])
        shown = capsys.readouterr().out
        assert "Note: " in shown
        assert "--judge llm:MODEL" in shown
        assert "Θεσσαλονίκη" in shown


class TestTheModelBeingChecked:
    @pytest.mark.parametrize("script", sorted(FORMS))
    def test_one_flag(self, script: str, capsys: pytest.CaptureFixture[str]) -> None:
        texts = FORMS[script]
        endpoint = ScriptedEndpoint(judging(texts))
        with serving(endpoint) as url:
            where = ["--model", "openai:m", "--base-url", url, "--max-samples", "8", "--seed", "1"]
            main(["check", QUESTION, *where, "--judge", "llm", "--json", *PLUG_IN])
        verdict = json.loads(capsys.readouterr().out)
        assert sorted(len(meaning["wordings"]) for meaning in verdict["meanings"]) == [1, 2]
        assert "built-in judge" not in " ".join(verdict["warnings"])

    def test_another_model_of_the_same_endpoint(self, capsys: pytest.CaptureFixture[str]) -> None:
        endpoint = ScriptedEndpoint(judging(FORMS["Greek"]))
        with serving(endpoint) as url:
            where = ["--model", "openai:m", "--base-url", url, "--max-samples", "6"]
            main(["check", QUESTION, *where, "--judge", "llm:openai:large", *PLUG_IN])
        asked = {request["model"]: str(request["messages"]) for request in endpoint.requests}
        assert set(asked) == {"m", "large"}
        assert "hypotheses" in asked["large"]

    @pytest.mark.parametrize("awaited", [False, True])
    def test_in_python(self, awaited: bool) -> None:
        async def wait() -> Any:
            async with model:
                return await acheck(QUESTION, **options)

        with serving(ScriptedEndpoint(judging(FORMS["Cyrillic"]))) as url:
            model: Any = load_model("openai:m", base_url=url)
            options: Any = {"model": model, "judge": "llm", "rule": FixedSamples(8), "rng": 1}
            verdict = asyncio.run(wait()) if awaited else check(QUESTION, **options)
            model.close()
        assert len(verdict.meanings) == 2

    def test_without_a_model_there_is_none_to_ask(self) -> None:
        with pytest.raises(InputError, match=r"llm asks the model that is checked.*llm:MODEL"):
            load_judge("llm")
        with pytest.raises(InputError, match="llm:MODEL"):
            score(["a", "b"], judge="llm")


class TestTheGateway:
    @pytest.fixture
    def gateway(self) -> Any:
        pytest.importorskip("fastapi")
        pytest.importorskip("uvicorn")
        from openai_upstream import Upstream, served
        from semtropy.server.app import create_app
        from semtropy.server.settings import Settings

        def asked(texts: tuple[str, ...], **settings: Any) -> Any:
            httpx = pytest.importorskip("httpx")
            upstream = Upstream(judging(texts))
            body = {"model": "m", "messages": [{"role": "user", "content": QUESTION}]}
            with (
                served(upstream) as base,
                served(create_app(Settings(upstream=f"{base}/v1", **settings))) as url,
            ):
                chat = httpx.post(f"{url}/v1/chat/completions", json=body, timeout=60).json()["semtropy"]
                plain = {"model": "m", "prompt": QUESTION, "rule": {"samples": 8}}
                return chat, httpx.post(f"{url}/v1/check", json=plain, timeout=60).json(), upstream

        return asked

    def test_the_built_in_judge_says_so(self, gateway: Any) -> None:
        chat, plain, _ = gateway(CITIES["Hangul"], estimator="histogram")
        for verdict in (chat, plain):
            assert "--judge llm:MODEL" in " ".join(verdict["warnings"])

    def test_the_upstream_judges(self, gateway: Any) -> None:
        cities = FORMS["Hangul"]
        chat, plain, upstream = gateway(cities, judge="llm", estimator="histogram")
        for verdict in (chat, plain):
            assert "script" not in " ".join(verdict["warnings"])
            groups = [{each["text"] for each in meaning["wordings"]} for meaning in verdict["meanings"]]
            assert all(group <= set(cities[:2]) or group == {cities[2]} for group in groups)
            assert len(groups) <= 2
        judged = [body for body in upstream.requests if "hypotheses" in body["messages"][-1]["content"]]
        assert judged
        assert {body["model"] for body in judged} == {"m"}
