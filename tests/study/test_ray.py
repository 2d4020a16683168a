"""The Ray engine on two nodes of one machine: the same bytes as `local`, and a node that dies loses nothing."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from semtropy.cli import main, progress
from semtropy.errors import InputError, ModelError
from semtropy.recording import read_recording, write_recording
from semtropy.recording.formats import verify
from semtropy.recording.store import row_lines
from semtropy.study import example_recording
from semtropy.study.engines import RayEngine, load_work_engine
from semtropy.study.generate import generate
from semtropy.study.generate.datasets import load_dataset
from semtropy.study.generate.engines import load_engine
from semtropy.study.generate.requests import BriefPrompt, GenerationPlan
from skips import needs

if TYPE_CHECKING:
    from semtropy.study.generate.run import Progress

needs("ray", reason="the extra `ray` is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")  # Ray's own, many and changing

QUESTIONS = int(os.environ.get("SEMTROPY_RAY_QUESTIONS", "24"))
RAY = ["--engine", "ray", "--workers", "2"]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    import ray
    from ray.cluster_utils import Cluster

    here = str(Path(__file__).parents[1] / "helpers")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([here, *filter(None, sys.path)]))
        patch.setenv("RAY_DEDUP_LOGS", "0")
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        node = {"num_cpus": 1, "object_store_memory": 80 << 20, "include_dashboard": False}
        # A killed node, which refuses connections, is noticed within a second; a busy one may take its time.
        soon = {
            "health_check_initial_delay_ms": 0,
            "health_check_period_ms": 500,
            "health_check_failure_threshold": 2,
            "health_check_timeout_ms": 20_000,
            "worker_niceness": 0,  # not behind the other tests, whose end they would wait for
        }
        head = {**node, "resources": {"head": 1}, "_system_config": soon}
        made = Cluster(initialize_head=True, head_node_args=head)
        ray.init(address=made.address, log_to_driver=False)
        yield made
        ray.shutdown()
        made.shutdown()


@pytest.fixture
def kill(cluster: Any) -> Iterator[Callable[[], None]]:
    """A second node, with two of the three processors; call this to kill it."""
    import ray

    lost = [cluster.add_node(num_cpus=2, object_store_memory=80 << 20)]
    cluster.wait_for_nodes(timeout=30)
    assert sum(node["Alive"] for node in ray.nodes()) == 2

    def kill_once() -> None:
        if lost:
            cluster.remove_node(lost.pop(), allow_graceful=False)

    yield kill_once
    cluster.wait_for_nodes(timeout=30)
    assert sum(node["Alive"] for node in ray.nodes()) == 1
    assert not lost


@pytest.fixture
def dying(kill: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Two nodes, one of which is killed when half of the first batches are there."""
    whole = RayEngine._stream

    def stream(
        engine: RayEngine, make: Any, items: Sequence[Any], batch: int, workers: int
    ) -> Iterator[dict[str, Any]]:
        for done, row in enumerate(whole(engine, make, items, batch, workers), start=1):
            if 2 * done * batch >= len(items):
                kill()
            yield row

    monkeypatch.setattr(RayEngine, "_stream", stream)


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """Questions of the recording that ships, with ten samples each and no meanings."""
    held = read_recording(example_recording())
    copies = [{**row.fields, "id": f"{row.id}-{copy}"} for copy in range(QUESTIONS) for row in held.rows]
    rows = copies[:QUESTIONS]
    for row in rows:
        row["answer"] = {key: value for key, value in row["answer"].items() if key != "meaning"}
        row["samples"] = [{k: v for k, v in s.items() if k != "meaning"} for s in row["samples"][:10]]
    write_recording(tmp_path / "in.jsonl", held.header, rows)
    return tmp_path / "in.jsonl"


def make_model() -> Any:
    from counting_model import Counting

    return Counting(seconds=0.005)


def run(engine: str, folder: Path, watch: Any = None, **options: Any) -> Any:
    dataset = load_dataset("facts", limit=QUESTIONS)
    plan = GenerationPlan(BriefPrompt(dataset.examples), samples=10, p_true=())
    made = load_engine(engine, functools.partial(make_model), **options)
    return generate(dataset, plan, made, folder, model="counting", watch=watch)


def test_two_nodes_give_the_recording_of_one_process_though_one_dies(
    kill: Callable[[], None], tmp_path: Path
) -> None:
    assert run("local", tmp_path / "local").complete

    def kill_half_way(progress: Progress) -> None:
        if progress.done >= QUESTIONS // 2:
            kill()

    report = run("ray", tmp_path / "ray", kill_half_way, workers=2)
    assert report.complete
    assert not report.failures
    assert list(row_lines(tmp_path / "ray")) == list(row_lines(tmp_path / "local"))
    assert verify(tmp_path / "ray") == []


def test_cluster_on_two_nodes_though_one_dies(
    kill: Callable[[], None], recording: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command as users run it, with the judge that ships."""
    local, there = tmp_path / "local.jsonl.gz", tmp_path / "ray.jsonl.gz"
    assert main(["cluster", str(recording), str(local)]) == 0
    seen = []

    class Killing(progress.GroupingProgress):
        def __call__(self, done: int) -> None:
            seen.append(done)
            if done >= QUESTIONS // 2:
                kill()

    monkeypatch.setattr(progress, "GroupingProgress", Killing)
    assert main(["cluster", str(recording), str(there), "--window", "1", *RAY]) == 0
    assert seen == list(range(1, QUESTIONS + 1))
    assert there.read_bytes() == local.read_bytes()
    assert not list(tmp_path.glob(".*"))


def same_bytes(command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command gives on the cluster what it gives in this process: what it writes, and what it prints."""
    written, printed = [], []
    one = ["--processes", "1"] if command[0] == "evaluate" else []
    for name, engine in (("local", ["--engine", "local", *one]), ("ray", RAY)):
        out = tmp_path / f"{name}.jsonl"
        assert main([str(out) if word == "OUT" else word for word in [*command, *engine]]) == 0
        written.append(out.read_bytes() if out.exists() else b"")
        printed.append(capsys.readouterr().out)
    assert written[0] == written[1]
    assert "OUT" not in command or written[0]
    if command[0] != "relate":  # its report says how long it took
        assert printed[0] == printed[1]
        assert printed[0].count("\n") >= 10


def test_evaluate_on_two_nodes_though_one_dies(
    dying: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--folds", "2", "--budgets", "1-3", "--seeds", "2", "--bootstrap", "20"]
    same_bytes(["evaluate", str(example_recording()), "--json", "OUT", *options], tmp_path, capsys)


@pytest.mark.parametrize(
    "command",
    [
        ["relate", "IN", "OUT", "--first", "5"],
        ["score", "IN", "--json"],
        ["score", "IN", "--estimator", "p-true", "--judge", "exact"],
    ],
    ids=["relate", "score", "score-table"],
)
def test_the_same_bytes_as_on_one_machine(
    cluster: Any, recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    same_bytes([str(recording) if word == "IN" else word for word in command], tmp_path, capsys)


def squares(items: Iterable[int]) -> Iterator[int]:
    for item in items:
        if item == 17:
            raise InputError("17 is not for sale")
        yield item * item


def make_squares() -> Callable[[Iterable[int]], Iterator[int]]:
    return squares


def test_results_are_in_order_and_an_error_comes_after_them(cluster: Any) -> None:
    engine = load_work_engine("ray", workers=2)
    assert list(engine(make_squares, range(10), batch=3)) == [n * n for n in range(10)]
    found = engine(make_squares, iter(range(30)), batch=4)
    assert [next(found) for _ in range(17)] == [n * n for n in range(17)]
    with pytest.raises(InputError, match="17 is not for sale"):
        next(found)


def make_inverses() -> Callable[[Iterable[int]], Iterator[float]]:
    return lambda items: (1 / (item - 5) for item in items)


def test_what_goes_wrong_in_a_worker_is_named(cluster: Any) -> None:
    with pytest.raises(ModelError, match=r"a worker failed \(ZeroDivisionError: division by zero\)"):
        list(load_work_engine("ray", workers=1)(make_inverses, range(10)))


def make_nothing() -> Callable[[Iterable[int]], Iterator[int]]:
    raise InputError("this judge is not here")


def test_a_cluster_that_is_not_there_is_one_line(recording: Path, tmp_path: Path) -> None:
    """In a process without a cluster, and at once: Ray itself waits for minutes."""
    words = ["cluster", str(recording), str(tmp_path / "out.jsonl"), "--judge", "exact", "--engine", "ray"]
    command = [sys.executable, "-m", "semtropy", *words, "--address", "127.0.0.1:1"]
    said = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert said.returncode == 1
    assert said.stderr.startswith("semtropy: no Ray cluster at 127.0.0.1:1 (")
    assert said.stderr.count("\n") == 1


def test_what_a_worker_cannot_make_is_its_own_error(cluster: Any) -> None:
    with pytest.raises(InputError, match="this judge is not here"):
        list(load_work_engine("ray", workers=1)(make_nothing, [1]))
