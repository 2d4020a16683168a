"""The core runs with NumPy and SciPy alone, and importing semtropy pulls in next to nothing.

A fresh interpreter in which every other third-party package is refused stands for a bare install.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

REFUSE_ALL_BUT = """
import importlib.abc, sys

class Refuse(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        own = top in sys.stdlib_module_names or top.startswith("_sysconfigdata")
        if top not in allowed and not own:
            raise ModuleNotFoundError(f"No module named {name!r} on a bare install", name=name)

allowed = {"semtropy", *%r}
sys.meta_path.insert(0, Refuse())
started = set(sys.modules)
"""
IMPORT_EVERYTHING_IN = """
import importlib, pkgutil
for package in %r:
    package = importlib.import_module(package)
    for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        importlib.import_module(found.name)
"""
HEAVY = {"fastapi", "httpx", "matplotlib", "onnxruntime", "pyarrow", "ray", "rich", "tokenizers"}
HEAVY |= {"torch", "transformers", "uvicorn", "xllamacpp", "scipy.stats"}


def fresh(code: str, *allowed: str) -> subprocess.CompletedProcess[str]:
    """Run `code` where only the standard library, semtropy and `allowed` can be imported."""
    whole = REFUSE_ALL_BUT % (allowed,) + code
    return subprocess.run([sys.executable, "-c", whole], capture_output=True, text=True, check=False)


def succeeds(code: str, *allowed: str) -> str:
    done = fresh(code, *allowed)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_refusal_refuses() -> None:
    """The control: what is installed here is really kept out."""
    assert "No module named 'hypothesis'" in fresh("import hypothesis").stderr
    assert "No module named 'numpy'" in fresh("import numpy").stderr


def test_core_imports_on_numpy_and_scipy() -> None:
    code = IMPORT_EVERYTHING_IN % (["semtropy.entropy", "semtropy.estimators"],)
    succeeds("import semtropy\n" + code, "numpy", "scipy")


def test_core_estimates_on_numpy_and_scipy() -> None:
    code = (
        "from semtropy import Evidence\n"
        "from semtropy.estimators import load_estimator\n"
        "print(round(load_estimator('histogram')(Evidence(counts=(3, 1))).mean, 6))"
    )
    assert succeeds(code, "numpy", "scipy").strip() == "0.562335"


def test_every_export_can_be_had_on_numpy_and_scipy() -> None:
    succeeds("import semtropy\nfor name in semtropy.__all__: getattr(semtropy, name)", "numpy", "scipy")


def test_the_command_line_explains_itself_on_numpy_and_scipy() -> None:
    help_text = succeeds("from semtropy.cli import main; main(['--help'])", "numpy", "scipy")
    assert "usage: semtropy" in help_text


@pytest.mark.parametrize("terminal", [False, True])
@pytest.mark.parametrize("given", [["What?"], ["What?", "--json"], ["--file", "{prompts}"]], ids=" ".join)
def test_a_check_runs_on_numpy_and_scipy(given: list[str], terminal: bool, tmp_path: Path) -> None:
    """In a terminal too, where without rich it prints what it prints elsewhere."""
    script, prompts = tmp_path / "script.json", tmp_path / "prompts.txt"
    script.write_text('{"*": {"Paris": 1.0}}')
    prompts.write_text("What?\nWhich?\n")
    words = ["check", *(word.format(prompts=prompts) for word in given)]
    words += ["--model", f"scripted:{script}", "--judge", "exact"]
    code = f"sys.stdout.isatty = sys.stderr.isatty = lambda: {terminal}\n"
    code += f"from semtropy.cli import main; assert main({words}) == 0"
    assert "Paris" in succeeds(code, "numpy", "scipy")


@pytest.mark.parametrize(
    ("module", "without"),
    [
        ("semtropy", HEAVY | {"numpy", "scipy"}),
        ("semtropy.entropy", HEAVY),
        ("semtropy.estimators", HEAVY),
        ("semtropy.cli", HEAVY),
    ],
)
def test_import_is_light(module: str, without: set[str]) -> None:
    """`scipy.stats` alone would take longer to import than all of semtropy may."""
    code = f"import sys, {module}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert module in done.stdout.split()
    assert not without & set(done.stdout.split())


@pytest.mark.parametrize(
    ("words", "without"),
    [
        (["--version"], HEAVY | {"numpy", "asyncio", "semtropy.options", "semtropy.cli.check"}),
        (["check", "--help"], HEAVY | {"numpy", "scipy", "asyncio", "semtropy.cli.serve"}),
        (["score", "--help"], HEAVY | {"numpy", "scipy", "asyncio", "semtropy.cli.serve"}),
    ],
    ids=["--version", "check --help", "score --help"],
)
def test_what_explains_itself_is_light(words: list[str], without: set[str]) -> None:
    """NumPy and asyncio alone take as long to import as all that the help of a command needs."""
    code = f"import sys\nfrom semtropy.cli import main\ntry: main({words})\nfinally: print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "semtropy.cli" in done.stdout.split()
    assert not without & set(done.stdout.split())
