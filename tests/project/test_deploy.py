"""What deploy/ holds: manifests and the compose file by their schemas, and the dashboard by the metrics there are."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("prometheus_client")

from prometheus_client.parser import text_string_to_metric_families

from json_schemas import validate
from semtropy import __version__
from semtropy.server.settings import Settings
from semtropy.server.telemetry import PARTS, Metrics
from semtropy.verdict import Outcome

yaml = pytest.importorskip("yaml", reason="needs PyYAML: pip install pyyaml")

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
MANIFESTS = sorted(
    set((DEPLOY / "kubernetes").glob("*.yaml")) - {DEPLOY / "kubernetes" / "kustomization.yaml"}
)
COMPOSE = DEPLOY / "compose" / "compose.yml"
DASHBOARD = DEPLOY / "compose" / "grafana" / "dashboards" / "semtropy.json"
KUBERNETES = ("1.31", "1.34")


def load(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("version", KUBERNETES)
@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.stem)
def test_manifests_are_valid(path: Path, version: str) -> None:
    checker = pytest.importorskip("kubernetes_validate", reason="needs kubernetes-validate")
    checker.validate(load(path), version, strict=True)


def test_an_invalid_manifest_is_found() -> None:
    checker = pytest.importorskip("kubernetes_validate", reason="needs kubernetes-validate")
    wrong = copy.deepcopy(load(DEPLOY / "kubernetes" / "autoscaling.yaml"))
    wrong["spec"]["maxReplica"] = wrong["spec"].pop("maxReplicas")
    with pytest.raises(checker.ValidationError, match="maxReplica"):
        checker.validate(wrong, KUBERNETES[0], strict=True)


def test_the_kustomization_lists_every_manifest() -> None:
    listed = load(DEPLOY / "kubernetes" / "kustomization.yaml")["resources"]
    assert sorted(listed) == [path.name for path in MANIFESTS]


def test_autoscaler_budget_and_policy_mean_the_deployment() -> None:
    kinds = {found["kind"]: found for found in map(load, MANIFESTS)}
    assert len(kinds) == len(MANIFESTS) == 7
    deployment = kinds["Deployment"]
    labels = deployment["spec"]["selector"]["matchLabels"]
    target = kinds["HorizontalPodAutoscaler"]["spec"]["scaleTargetRef"]
    named = (deployment["apiVersion"], deployment["kind"], deployment["metadata"]["name"])
    assert (target["apiVersion"], target["kind"], target["name"]) == named
    assert "replicas" not in deployment["spec"]
    assert kinds["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"] == labels
    policy = kinds["NetworkPolicy"]["spec"]
    assert policy["podSelector"]["matchLabels"] == labels
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    (port,) = policy["ingress"][0]["ports"]
    assert port["port"] in {each["name"] for each in container["ports"]}
    upstream = kinds["ConfigMap"]["data"]["SEMTROPY_UPSTREAM"]
    assert re.search(r":(\d+)/", upstream)[1] in {
        str(p["port"]) for rule in policy["egress"] for p in rule["ports"]
    }  # type: ignore[index]


def test_the_compose_file_is_valid_and_fits_the_gateway() -> None:
    found = validate("compose-spec", COMPOSE)
    assert found.returncode == 0, found.stdout + found.stderr
    gateway = load(COMPOSE)["services"]["gateway"]
    assert gateway["image"] == f"semtropy:{__version__}"
    assert (COMPOSE.parent / gateway["build"]["context"] / gateway["build"]["dockerfile"]).is_file()
    # Left out, ${NAME:-} is empty, which has to mean the same as not set.
    assert Settings.gather(environment=dict.fromkeys(gateway["environment"], "")) == Settings()
    for service in load(COMPOSE)["services"].values():
        mounted = [each.split(":")[0] for each in service.get("volumes", ()) if each.startswith("./")]
        assert all((COMPOSE.parent / each).exists() for each in mounted)


def test_an_invalid_compose_file_is_found(tmp_path: Path) -> None:
    wrong = tmp_path / "compose.yml"
    wrong.write_text(COMPOSE.read_text(encoding="utf-8").replace("services:", "service:"))
    assert validate("compose-spec", wrong).returncode != 0


def test_prometheus_asks_the_gateway() -> None:
    (job,) = load(COMPOSE.parent / "prometheus.yml")["scrape_configs"]
    assert job["static_configs"][0]["targets"] == ["gateway:8080"]
    assert "gateway" in load(COMPOSE)["services"]
    assert job["metrics_path"] == "/metrics"


def exported() -> set[str]:
    """Every name that `/metrics` has, once each counter has counted something."""
    metrics = Metrics()
    metrics.requests.labels("route", "200").inc()
    metrics.errors.labels("kind").inc()
    families = text_string_to_metric_families(metrics.exposition().decode())
    return {sample.name for family in families for sample in family.samples}


def expressions() -> list[str]:
    board = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    return [target["expr"] for panel in board["panels"] for target in panel["targets"]]


def strangers(texts: list[str], names: set[str]) -> set[str]:
    """Metrics that the expressions name and the gateway does not export."""
    return {name for text in texts for name in re.findall(r"\bsemtropy_\w+", text)} - names


def test_every_metric_of_the_dashboard_is_exported() -> None:
    assert len(expressions()) > 10
    assert strangers(expressions(), exported()) == set()
    assert strangers(["rate(semtropy_answers_total[5m])"], exported()) == {"semtropy_answers_total"}


def test_every_counter_is_on_the_dashboard() -> None:
    counters = {name for name in exported() if name.endswith("_total")}
    assert counters <= {name for text in expressions() for name in re.findall(r"\bsemtropy_\w+", text)}


def test_labels_of_the_dashboard_are_values_there_are() -> None:
    values = {value for text in expressions() for value in re.findall(r'=\s*"(\w+)"', text)}
    assert values <= {*PARTS, *map(str, Outcome), "new", "shared", "cached"}


def test_the_dashboard_reads_the_source_that_is_provided() -> None:
    board = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    (source,) = load(DEPLOY / "compose/grafana/provisioning/datasources/prometheus.yml")["datasources"]
    assert {panel["datasource"]["uid"] for panel in board["panels"]} == {source["uid"]}
    (provider,) = load(DEPLOY / "compose/grafana/provisioning/dashboards/semtropy.yml")["providers"]
    mounts = load(COMPOSE)["services"]["grafana"]["volumes"]
    assert any(each.startswith(f"./grafana/dashboards:{provider['options']['path']}") for each in mounts)
