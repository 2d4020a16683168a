"""What `make wheel` refuses to ship, and how the build is configured. `make wheel` itself builds and tries."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tools.wheel import LARGEST, NEEDED, sdist_problems, wheel_problems

ROOT = Path(__file__).resolve().parents[2]
GOOD = dict.fromkeys(NEEDED, 1)
KERNEL = "semtropy/entropy/_native/contour.abi3.so"


@pytest.mark.parametrize(
    ("sizes", "total", "compiled", "said"),
    [
        (GOOD, 1_000, False, None),
        (GOOD | {KERNEL: 1}, 1_000, True, None),
        (GOOD, 1_000, True, "compiled modules expected"),
        (GOOD | {KERNEL: 1}, 1_000, False, "compiled modules expected"),
        (GOOD | {"tests/test_x.py": 1}, 1_000, False, "outside the package"),
        (GOOD | {"semtropy/entropy/_native/contour.c": 1}, 1_000, False, "does not belong"),
        (GOOD | {"semtropy/data/test_run.jsonl": 1}, 1_000, False, "does not belong"),
        (GOOD | {"semtropy/integrations/pytest.py": 1, "semtropy/testing/faults.py": 1}, 1_000, False, None),
        (GOOD | {"semtropy/meaning/builtin/judge.onnx": 0}, 1_000, False, "judge.onnx is missing"),
        (GOOD, LARGEST + 1, False, "is more than 60 MB"),
    ],
)
def test_wheels_are_inspected(sizes: dict[str, int], total: int, compiled: bool, said: str | None) -> None:
    found = list(wheel_problems(sizes, total, compiled=compiled))
    assert (found == []) if said is None else any(said in each for each in found)


def test_source_distributions_are_inspected() -> None:
    assert list(sdist_problems(["semtropy-1/setup.py", "semtropy-1/src/x.so"], 1))[-1].endswith(
        "source distribution"
    )


def metadata(tmp_path: Path, kernel: str) -> list[str]:
    """The extensions that setup.py would build."""
    code = (
        "import setuptools, sys, runpy; found = []\n"
        "setuptools.setup = lambda **k: found.extend(k['ext_modules'])\n"
        "runpy.run_path('setup.py'); print(*(f'{e.name}:{e.optional}' for e in found))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, "SEMTROPY_KERNEL": kernel},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


@pytest.mark.parametrize(("kernel", "optional"), [("on", "False"), ("optional", "True"), ("off", None)])
def test_the_kernel_is_asked_for_by_one_variable(tmp_path: Path, kernel: str, optional: str | None) -> None:
    names = ("contour", "distribution")
    expected = [] if optional is None else [f"semtropy.entropy._native.{name}:{optional}" for name in names]
    assert metadata(tmp_path, kernel) == expected


def test_release_wheels_must_have_their_kernels() -> None:
    """A wheel for a platform whose compiler failed would be slow without saying so."""
    asked = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["cibuildwheel"]
    assert asked["environment"]["SEMTROPY_KERNEL"] == "on"
    assert asked["macos"]["environment"]["SEMTROPY_KERNEL"] == "on"
    assert asked["test-command"].endswith("smoke.py kernel")
    assert asked["build"] == ["cp311-*"]
