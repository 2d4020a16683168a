"""The Ray engine on two nodes of one machine: the same recording as `local`, and a node that dies loses nothing."""

from __future__ import annotations

import functools
import os
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from semtropy.recording.parts import row_lines
from semtropy.recording.store_tools import verify
from semtropy.study.generate import generate
from semtropy.study.generate.datasets import load_dataset
from semtropy.study.generate.engines import load_engine
from semtropy.study.generate.prompts import BriefPrompt
from semtropy.study.generate.requests import GenerationPlan

if TYPE_CHECKING:
    from collections.abc import Iterator

    from semtropy.study.generate.run import Progress

ray = pytest.importorskip("ray", reason="the extra `ray` is not installed")
pytest.importorskip("ray.data", reason="the extra `ray` is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")  # Ray's own, many and changing

QUESTIONS = int(os.environ.get("SEMTROPY_RAY_QUESTIONS", "24"))


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    from ray.cluster_utils import Cluster

    here = str(Path(__file__).parent)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([here, *filter(None, sys.path)]))
    monkeypatch.setenv("RAY_DEDUP_LOGS", "0")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    node = {"num_cpus": 2, "object_store_memory": 80 << 20, "include_dashboard": False}
    # The head answers nothing itself: workers live on the nodes that can be lost.
    made = Cluster(initialize_head=True, head_node_args={**node, "num_cpus": 1, "resources": {"head": 1}})
    made.lost = made.add_node(**{k: v for k, v in node.items() if k != "include_dashboard"})
    ray.init(address=made.address, log_to_driver=False)
    yield made
    ray.shutdown()
    made.shutdown()


def make_model() -> Any:
    from counting_model import Counting

    return Counting(seconds=0.005)


def run(engine: str, folder: Path, watch: Any = None, **options: Any) -> Any:
    dataset = load_dataset("facts", limit=QUESTIONS)
    plan = GenerationPlan(BriefPrompt(dataset.examples), samples=10, p_true=())
    made = load_engine(engine, functools.partial(make_model), **options)
    return generate(dataset, plan, made, folder, model="counting", watch=watch)


def test_two_nodes_give_the_recording_of_one_process_though_one_dies(cluster: Any, tmp_path: Path) -> None:
    assert run("local", tmp_path / "local").complete
    assert sum(node["Alive"] for node in ray.nodes()) == 2
    killed = threading.Event()

    def kill_half_way(progress: Progress) -> None:
        if progress.done >= QUESTIONS // 2 and not killed.is_set():
            killed.set()
            cluster.remove_node(cluster.lost, allow_graceful=False)

    report = run("ray", tmp_path / "ray", kill_half_way, workers=2)
    assert killed.is_set()
    cluster.wait_for_nodes(timeout=30)
    assert sum(node["Alive"] for node in ray.nodes()) == 1
    assert report.complete
    assert not report.failures
    assert list(row_lines(tmp_path / "ray")) == list(row_lines(tmp_path / "local"))
    assert verify(tmp_path / "ray") == []
