"""What the operator decides: options that are locked or bounded, and what a request may loosen."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

httpx = pytest.importorskip("httpx")
pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

from openai_upstream import Upstream, served  # noqa: E402
from semtropy.errors import InputError  # noqa: E402
from semtropy.server.app import create_app  # noqa: E402
from semtropy.server.settings import Settings  # noqa: E402

UNSURE = {f"Dr {name}": 0.05 for name in "ABCDEFGHIJKLMNOPQRST"}
STRICTER: list[dict[str, Any]] = [
    {"mode": "block"},
    {"threshold": 0.1},
    {"rule": {"samples": 10}},
    {"rule": {"confidence": 0.99}},
    {"budget": {"samples": 50, "seconds": 60}},
    {"estimator": "bayes"},
    {"judge": "exact"},
    {"cache": False},
    {"place": "headers"},
    {"one_by_one": True},
]


@pytest.fixture(scope="module")
def upstream() -> Iterator[str]:
    with served(Upstream(lambda prompt: UNSURE)) as url:
        yield f"{url}/v1"


def gateway(url: str, **settings: Any) -> Any:
    return served(create_app(Settings(upstream=url, judge="exact", upstream_model="m", **settings)))


@pytest.fixture(scope="module")
def blocking(upstream: str) -> Iterator[str]:
    with gateway(upstream, mode="block") as url:
        yield url


def ask(url: str, options: dict[str, Any] | None = None, **fields: Any) -> Any:
    body = {"model": "m", "messages": [{"role": "user", "content": "Who?"}], **fields}
    return httpx.post(
        f"{url}/v1/chat/completions", json=body | ({"semtropy": options} if options else {}), timeout=60
    )


def test_the_header_is_no_way_around_it(blocking: str) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "Who?"}]}
    reply = httpx.post(
        f"{blocking}/v1/chat/completions", json=body, headers={"X-Semtropy": '{"mode": "off"}'}
    )
    assert reply.status_code == 403


@pytest.mark.parametrize("options", STRICTER, ids=str)
def test_in_mode_block_a_request_may_be_stricter(blocking: str, options: dict[str, Any]) -> None:
    reply = ask(blocking, options)
    assert reply.status_code == 200
    assert reply.headers["x-semtropy-blocked"] == "true"


def test_what_may_be_loosened_is_a_setting(upstream: str) -> None:
    with gateway(upstream, mode="block", loosen="threshold,budget", max_threshold=2.0, min_samples=2) as url:
        assert ask(url, {"threshold": 1.5}).status_code == 200
        assert ask(url, {"budget": {"samples": 3}}).status_code == 200
        assert ask(url, {"mode": "off"}).status_code == 403
        above = ask(url, {"threshold": 3.0})
        assert above.status_code == 403
        assert above.json()["error"]["message"] == "semtropy: threshold 3 is above the operator's limit 2"
        fewer = ask(url, {"budget": {"samples": 1}})
        assert fewer.status_code == 403
        assert "fewer than the operator's limit 2" in fewer.json()["error"]["message"]
    with gateway(upstream, loosen="none") as url:
        assert ask(url, {"mode": "off"}).status_code == 403
        assert ask(url).status_code == 200


def test_the_kind_of_rule_is_the_operators(upstream: str) -> None:
    with gateway(upstream, mode="block", variance=0.1) as url:
        assert ask(url, {"rule": {"variance": 0.05}}).status_code == 200
        assert ask(url, {"rule": {"variance": 0.2}}).status_code == 403
        assert ask(url, {"rule": {"confidence": 0.99}}).status_code == 403
    with gateway(upstream, loosen="rule", min_confidence=0.8) as url:
        assert ask(url, {"rule": {"confidence": 0.85}}).status_code == 200
        assert ask(url, {"rule": {"confidence": 0.7}}).status_code == 403


def test_an_answer_that_cannot_be_checked_is_withheld_where_errors_are(upstream: str) -> None:
    """A request without a question in text would otherwise be a way around the check."""
    image = [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:,"}}]}]
    with gateway(upstream, mode="block") as url:
        assert "Dr " in ask(url, messages=image).text
    with gateway(upstream, mode="block", on_error="block") as url:
        reply = ask(url, messages=image)
        assert "Dr " not in reply.text
        assert reply.json()["semtropy"]["blocked"] is True


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"locked": ("colour",)}, "locked names 'colour': choose one of mode, threshold"),
        ({"loosen": "mode,colour"}, "loosen names 'colour': choose one of mode, threshold"),
        ({"min_samples": -1}, "min_samples is -1: at least 0"),
    ],
)
def test_a_wrong_setting_names_itself(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Settings(**settings)
