"""`python smoke.py EXPECTED` tries an installed semtropy where there is no source tree.

EXPECTED is `kernel` (compiled), `numpy` (not compiled), and with `+judge` added the built-in judge runs too. It needs
nothing but the package: the environments that `make wheel` makes have no pytest.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import tempfile
from importlib.metadata import distribution, version
from importlib.resources import files
from pathlib import Path

MODULES = ("semtropy.entropy._native.contour", "semtropy.entropy._native.distribution")


def command(*arguments: str) -> str:
    """What `semtropy ARGUMENTS` prints; it must succeed."""
    program = [sys.executable, "-m", "semtropy", *arguments]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"semtropy {' '.join(arguments)}: {done.stderr}"
    return done.stdout


def smoke(expected: str) -> None:
    """Import, compute, score the shipped recording, check a scripted model; the judge where it is expected."""
    import semtropy

    here = Path(semtropy.__file__).resolve()
    assert here.is_relative_to(Path(sys.prefix).resolve()), f"{here} is not the installed package"
    assert version("semtropy") == semtropy.__version__
    assert any(each.name == "semtropy" for each in distribution("semtropy").entry_points)
    compiled = [importlib.util.find_spec(name) is not None for name in MODULES]
    assert compiled == [expected.startswith("kernel")] * len(MODULES), f"compiled modules: {compiled}"

    belief = semtropy.score(["Paris", "Paris", "Lyon"], logprobs=[-0.2, -0.2, -2.0], meanings=[0, 0, 1])
    low, high = belief.interval(0.9) or (0.0, 0.0)
    assert 0 < low < belief.mean < high < 2, (low, belief.mean, high)

    assert semtropy.__version__ in command("--version")
    recording = str(files("semtropy") / "data" / "facts--smollm2.jsonl.gz")
    assert len(command("score", recording, "--json").splitlines()) > 40
    judge = "builtin" if expected.endswith("+judge") else "exact"
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "script.json")
        script.write_text(json.dumps({"*": {"Paris": 0.6, "It is Paris.": 0.4}}))
        asked = ("check", "What is the capital of France?", "--model", f"scripted:{script}", "--judge", judge)
        verdict = json.loads(command(*asked, "--json", "--seed", "1"))
    assert verdict["outcome"] == "steady" or judge == "exact", verdict


if __name__ == "__main__":
    smoke(sys.argv[1])
    print(f"semtropy {version('semtropy')} on Python {sys.version.split()[0]}: {sys.argv[1]}, works")
