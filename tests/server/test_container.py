"""The container file and the Kubernetes manifests, held to each other and to the gateway's own settings and routes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

from openai_upstream import served
from semtropy import __version__
from semtropy.cli import parser, serve
from semtropy.models.scripted import ScriptedModel
from semtropy.server.app import create_app
from semtropy.server.settings import Settings, environment_name

ROOT = Path(__file__).resolve().parents[2]
SECRETS = {environment_name(each.name) for each in fields(Settings) if each.metadata["secret"]}
KNOWN = {environment_name(each.name) for each in fields(Settings)}


def instructions() -> list[tuple[str, str]]:
    """The container file's lines as (instruction, rest), continuations joined."""
    text = (ROOT / "Containerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(word, rest.strip()) for word, _, rest in (line.partition(" ") for line in lines)]


def environment() -> dict[str, str]:
    """What the last stage sets."""
    pairs = [part for word, rest in instructions() if word == "ENV" for part in rest.split()]
    return dict(part.split("=", 1) for part in pairs)


def only(word: str) -> str:
    (found,) = [rest for each, rest in instructions() if each == word]
    return found


@pytest.fixture(scope="module")
def resources() -> dict[str, Any]:
    """The manifests by kind."""
    yaml = pytest.importorskip("yaml", reason="needs PyYAML: pip install pyyaml")
    files = sorted((ROOT / "deploy" / "kubernetes").glob("*.yaml"))
    return {
        each["kind"]: each for each in (yaml.safe_load(file.read_text(encoding="utf-8")) for file in files)
    }


def pod(resources: dict[str, Any]) -> Any:
    return resources["Deployment"]["spec"]["template"]["spec"]


def container(resources: dict[str, Any]) -> Any:
    (found,) = pod(resources)["containers"]
    return found


def test_the_settings_of_the_example_are_settings(resources: dict[str, Any]) -> None:
    plain, hidden = resources["ConfigMap"]["data"], resources["Secret"]["stringData"]
    assert set(plain) <= KNOWN - SECRETS
    assert set(hidden) <= SECRETS
    found = Settings.gather(environment={**environment(), **plain, **hidden})
    assert found.upstream == plain["SEMTROPY_UPSTREAM"]
    assert len(found.keys) == 2
    named = {next(iter(source.values()))["name"] for source in container(resources)["envFrom"]}
    assert named == {resources["ConfigMap"]["metadata"]["name"], resources["Secret"]["metadata"]["name"]}


def test_image_user_ports_and_folders_agree(resources: dict[str, Any]) -> None:
    inside = environment()
    assert set(inside) - {"PATH", "PYTHONUNBUFFERED"} <= KNOWN | {"SEMTROPY_CACHE"}
    settings = Settings.gather(environment=inside)
    assert settings.host == "0.0.0.0"
    (port,) = container(resources)["ports"]
    assert port["containerPort"] == settings.port == int(only("EXPOSE"))
    (offered,) = resources["Service"]["spec"]["ports"]
    assert offered["targetPort"] == port["name"]
    labels = resources["Deployment"]["spec"]["template"]["metadata"]["labels"]
    assert resources["Service"]["spec"]["selector"].items() <= labels.items()
    assert resources["Deployment"]["spec"]["selector"]["matchLabels"].items() <= labels.items()
    assert container(resources)["image"].endswith(f"/semtropy:{__version__}")
    assert pod(resources)["securityContext"]["runAsUser"] == int(only("USER"))
    mounts = {each["name"]: each["mountPath"] for each in container(resources)["volumeMounts"]}
    assert mounts == {"cache": inside["SEMTROPY_CACHE"], "tmp": "/tmp"}
    assert set(mounts) == {each["name"] for each in pod(resources)["volumes"]}


def test_probes_ask_routes_that_are_there(resources: dict[str, Any]) -> None:
    routes = create_app(Settings(judge="exact"), model=ScriptedModel(default={"yes": 1.0})).openapi()["paths"]
    one = container(resources)
    for probe, path in (("readinessProbe", "/readyz"), ("livenessProbe", "/healthz")):
        asked = one[probe]["httpGet"]
        assert asked == {"path": path, "port": one["ports"][0]["name"]}
        assert "get" in routes[path]
    marks = resources["Deployment"]["spec"]["template"]["metadata"]["annotations"]
    assert "get" in routes[marks["prometheus.io/path"]]
    assert int(marks["prometheus.io/port"]) == one["ports"][0]["containerPort"]


def test_there_is_time_to_finish(resources: dict[str, Any]) -> None:
    _, seconds = container(resources)["lifecycle"]["preStop"]["exec"]["command"]
    grace = Settings.gather(environment=resources["ConfigMap"]["data"]).grace_seconds
    assert pod(resources)["terminationGracePeriodSeconds"] > grace + int(seconds)


def test_the_address_of_the_service_is_not_read_as_a_setting(resources: dict[str, Any]) -> None:
    """A cluster tells every pod of a service `semtropy` that SEMTROPY_PORT is tcp://..., unless told not to."""
    told = f"{resources['Service']['metadata']['name'].upper()}_PORT"
    assert told not in KNOWN or pod(resources)["enableServiceLinks"] is False


def test_the_image_installs_extras_that_are_there_and_starts_the_gateway() -> None:
    (command,) = [rest for word, rest in instructions() if word == "RUN" and "pip install" in rest]
    (extras,) = re.findall(r"'\.\[(.*?)\]'", command)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(extras.split(",")) <= set(project["optional-dependencies"])
    program, *arguments = json.loads(only("ENTRYPOINT"))
    assert program in project["scripts"]
    assert parser().parse_args(arguments).run is serve.run
    kept = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    wanted = {"README.md", *project["license-files"], "pyproject.toml", "setup.py", "src"}
    assert {f"!{name}" for name in wanted} <= set(kept)


def test_the_health_check_tells_up_from_down() -> None:
    program, *arguments = json.loads(only("HEALTHCHECK").removeprefix("CMD"))
    assert program == "python"

    def healthy(address: str) -> bool:
        command = [sys.executable, *(each.replace("127.0.0.1:8080", address) for each in arguments)]
        return subprocess.run(command, capture_output=True, timeout=60, check=False).returncode == 0

    with served(create_app(Settings(judge="exact"), model=ScriptedModel(default={"yes": 1.0}))) as url:
        address = url.removeprefix("http://")
        assert healthy(address)
    assert not healthy(address)
