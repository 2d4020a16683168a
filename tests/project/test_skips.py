"""The gate on skipped tests: what the list allows passes, anything else fails the run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import skips
from skips import Allowed, Skip, holds, read_list, unexpected

TORCH = Allowed("module torch", "tests/models/test_transformers.py*", "not installed")
SKIPPED = Skip("tests/models/test_transformers.py::test_a", "Skipped: the extra is not installed")


@pytest.mark.parametrize(
    ("skip", "absent", "said"),
    [
        (SKIPPED, True, None),
        (SKIPPED, False, "it has to run"),
        (Skip("tests/models/test_transformers.py::test_a", "Skipped: not today"), True, "does not allow"),
        (Skip("tests/checking/test_checking.py::test_a", SKIPPED.reason), True, "does not allow"),
    ],
)
def test_a_skip_needs_its_line_and_its_condition(skip: Skip, absent: bool, said: str | None) -> None:
    found = list(unexpected([skip], [TORCH], lambda condition: absent))
    assert (said in found[0]) if said else not found


def test_conditions(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(skips, "SHARED", tmp_path)
    monkeypatch.delenv("SEMTROPY_NOTHING", raising=False)
    assert holds("data recordings")
    assert not holds("data .")
    assert holds("module no_such_module_here")
    assert not holds("module pytest")
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    assert not holds(f"program {Path(sys.executable).name} no-such-program")
    assert holds("program no-such-program")
    assert holds("unset SEMTROPY_NOTHING")
    assert holds("module pytest or unset SEMTROPY_NOTHING")
    with pytest.raises(ValueError, match="no condition 'weather'"):
        holds("weather")


def test_every_line_of_the_list_can_be_read() -> None:
    lines = read_list(skips.LIST.read_text())
    assert lines
    for line in lines:
        assert isinstance(holds(line.condition), bool)


ALLOWED = """
import pytest
def test_allowed():
    pytest.skip("needs ../shared/data")
@pytest.mark.xfail(raises=ValueError)
def test_fails_as_expected():
    raise ValueError
"""
OTHER = """
import pytest
def test_other():
    pytest.skip("not today")
"""
FILE = """
import pytest
pytest.importorskip("no_such_module_here")
"""
CONFTEST = """
import skips
from pathlib import Path
skips.LIST, skips.SHARED = Path("list.txt"), Path("nowhere")
def pytest_configure(config):
    skips.install(config)
"""


@pytest.mark.parametrize(
    ("more", "ci", "workers", "said"),
    [
        ({}, "1", 0, []),
        ({}, "1", 2, []),
        ({"other": OTHER, "file": FILE}, "1", 0, ["test_other.py::test_other", "test_file.py"]),
        ({"other": OTHER, "file": FILE}, "1", 2, ["test_other.py::test_other", "test_file.py"]),
        ({"other": OTHER, "file": FILE}, "", 0, []),
    ],
    ids=["allowed", "allowed, xdist", "unexpected", "unexpected, xdist", "not in CI"],
)
def test_a_run(tmp_path: Path, more: dict[str, str], ci: str, workers: int, said: list[str]) -> None:
    (tmp_path / "list.txt").write_text("data . | test_allowed.py::* | needs \\.\\./shared/data\n")
    (tmp_path / "conftest.py").write_text(CONFTEST)
    for name, text in {"allowed": ALLOWED, **more}.items():
        (tmp_path / f"test_{name}.py").write_text(text)
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(__file__).parents[1] / "helpers"),
        "CI": ci,
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # the gate needs none of them, and they take seconds to load
    }
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "xdist", "-n", str(workers)],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == (1 if said else 0), run.stdout + run.stderr
    assert ("unexpected skips" in run.stdout) == bool(said)
    assert all(f"{place} was skipped" in run.stdout for place in said)
