"""What `make wheel` refuses to ship, and how the build is configured. `make wheel` itself builds and tries."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tools.wheel import LARGEST, LICENCES, NEEDED, sdist_problems, wheel_problems

from semtropy import __version__

ROOT = Path(__file__).resolve().parents[2]
GOOD = dict.fromkeys([*NEEDED, *(f"semtropy-1.0.dist-info/licenses/{name}" for name in LICENCES)], 1)
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
        (dict.fromkeys(NEEDED, 1), 1_000, False, "NOTICE is missing"),
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


def given_to_setup(wanted: str, **environment: str) -> str:
    """What setup.py gives to setuptools, as `wanted` prints it."""
    code = (
        "import setuptools, sys, runpy; found = {}\n"
        "setuptools.setup = lambda **given: found.update(given)\n"
        f"runpy.run_path('setup.py'); {wanted}"
    )
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GITHUB_")}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**clean, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_the_description_leads_to_the_files_of_the_release() -> None:
    """An index shows README.md without the files it links to."""
    show = "print(found['long_description']); print(found['project_urls'])"
    text = given_to_setup(show, GITHUB_REPOSITORY="someone/semtropy")
    links = re.findall(r"\]\((.+?)\)", text)
    assert len(links) > 15
    assert all(link.startswith("https://") for link in links)
    assert f"](https://github.com/someone/semtropy/raw/v{__version__}/docs/images/check.svg)" in text
    assert f"](https://github.com/someone/semtropy/blob/v{__version__}/docs/cost.md)" in text
    assert "'Source': 'https://github.com/someone/semtropy'" in text
    plain = given_to_setup(show)
    assert plain == f"{(ROOT / 'README.md').read_text(encoding='utf-8')}\n{{}}\n"


def test_the_container_of_a_release_knows_the_address() -> None:
    linux = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["cibuildwheel"]["linux"]
    assert linux["environment-pass"] == ["GITHUB_SERVER_URL", "GITHUB_REPOSITORY"]


def test_the_licences_reach_the_build_of_the_image() -> None:
    about = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert about["license-files"] == list(LICENCES)
    assert {f"!{name}" for name in LICENCES} <= set((ROOT / ".dockerignore").read_text().splitlines())


def test_all_that_is_made_from_the_work_of_others_is_in_the_notice() -> None:
    notice, package = (ROOT / "NOTICE").read_text(encoding="utf-8"), ROOT / "src" / "semtropy"
    learned = [path for path in package.rglob("*") if path.suffix in (".onnx", ".npz", ".gz", ".gguf")]
    assert len(learned) >= 5
    assert [path.name for path in learned if path.relative_to(package).as_posix() not in notice] == []


@pytest.mark.parametrize(("kernel", "optional"), [("on", "False"), ("optional", "True"), ("off", None)])
def test_the_kernel_is_asked_for_by_one_variable(kernel: str, optional: str | None) -> None:
    names = ("contour", "distribution")
    expected = [] if optional is None else [f"semtropy.entropy._native.{name}:{optional}" for name in names]
    show = "print(*(f'{each.name}:{each.optional}' for each in found['ext_modules']))"
    assert given_to_setup(show, SEMTROPY_KERNEL=kernel).split() == expected


def test_release_wheels_must_have_their_kernels() -> None:
    """A wheel for a platform whose compiler failed would be slow without saying so."""
    asked = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["cibuildwheel"]
    assert asked["environment"]["SEMTROPY_KERNEL"] == "on"
    assert asked["macos"]["environment"]["SEMTROPY_KERNEL"] == "on"
    assert asked["test-command"].endswith("smoke.py kernel")
    assert asked["build"] == ["cp311-*"]
