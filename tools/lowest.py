"""`python -m tools.lowest [GROUP ...]` runs the tests with exactly the lower bounds that pyproject.toml states.

Each group of extras gets an environment made for it. What an extra needs directly has the lowest version allowed; what
that needs in turn has the newest. Ends with a table, and with status 1 if something failed.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["GROUPS", "Group", "lowest", "main"]

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".venv" / "lowest"
PIP = ("-m", "pip", "install", "--quiet", "--no-compile", "--disable-pip-version-check")
NEEDED = ("pytest", "hypothesis", "mpmath")
# Old versions warn of what newer ones of other packages have deprecated; those of the newest are errors in `make test`.
QUIET = ("-W", "ignore::DeprecationWarning", "-W", "ignore::PendingDeprecationWarning")


@dataclass(frozen=True, slots=True)
class Group:
    """Extras that are tried together, the tests that need them, and packages for the tests alone."""

    extras: tuple[str, ...]
    tests: tuple[str, ...]
    packages: tuple[str, ...] = ()


GROUPS = {
    "base": Group((), ("entropy/moments", "estimators/estimators", "checking/stopping", "project/bare_import")),
    "all": Group(
        ("local", "study", "server"),
        (
            "checking/checking", "project/faults", "checking/samples_hostile", "checking/time_budget",
            "models/openai", "models/hostile_replies", "models/llama_cpp", "meaning/builtin", "recording/schema",
            "recording/parquet", "study/evaluate", "server/routes", "server/faults",
        ),
        ("openai",),
    ),
    "transformers": Group(
        ("transformers", "local"), ("models/transformers", "models/transformers_gguf", "models/conformance")
    ),
    "ray": Group(("ray", "local", "study"), ("study/ray",)),
    "hub": Group(("hub", "local", "study"), ("study/datasets", "recording/parquet")),
    "langchain": Group(("langchain", "local"), ("integrations/langchain",)),
    "inspect": Group(("inspect", "local"), ("integrations/inspect",), ("openai",)),
    "deepeval": Group(("deepeval", "local"), ("integrations/deepeval",)),
    "ragas": Group(("ragas", "local"), ("integrations/ragas",), ("pyarrow<24",)),  # later ones need NumPy 2
    "mlflow": Group(("mlflow", "local"), ("integrations/mlflow",), ("pyarrow<24",)),
    "opentelemetry": Group(
        ("opentelemetry", "server"),
        ("integrations/opentelemetry",),
        ("opentelemetry-sdk", "opentelemetry-exporter-otlp-proto-http"),
    ),
}  # fmt: skip


def lowest(extras: Iterable[str]) -> list[str]:
    """What the base and these extras need, each at its lower bound.

    >>> [each for each in lowest(["hub"]) if each.startswith("datasets")]
    ['datasets==4.0']
    """
    known = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted, waiting = list(known["dependencies"]), list(extras)
    while waiting:
        for each in known["optional-dependencies"][waiting.pop()]:
            ours = re.fullmatch(r"semtropy\[(.*)\]", each)
            if ours:
                waiting += ours[1].split(",")
            else:
                wanted.append(each)
    exact = sorted({re.sub(r">=([^,;\s]+)(,<[\d.]+)?", r"==\1", each) for each in wanted}, key=_version)
    return sorted({each.partition("==")[0]: each for each in exact}.values())  # the highest of several bounds


def _version(exact: str) -> list[int]:
    """The version in `name==version`, to sort by.

    >>> _version("numpy==1.26.2") > _version("numpy==1.26") > _version("numpy==1.9")
    True
    """
    return [int(each) for each in re.findall(r"\d+", exact.partition("==")[2])]


def prepare(name: str, group: Group) -> Path:
    """The interpreter of a new environment with the lower bounds of a group."""
    home = FOLDER / name
    shutil.rmtree(home, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
    python = home / ("Scripts" if os.name == "nt" else "bin") / "python"
    subprocess.run([str(python), *PIP, *lowest(group.extras), *group.packages, *NEEDED], check=True)
    return python


def tried(name: str) -> str:
    """What came of one group, in a few words; "ok" at the beginning if nothing failed."""
    group = GROUPS[name]
    try:
        python = prepare(name, group)
    except subprocess.CalledProcessError as error:
        return f"could not be installed (status {error.returncode})"
    tests = ["tests/{}/test_{}.py".format(*each.split("/")) for each in group.tests]
    source = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    command = [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", *QUIET, *tests]
    done = subprocess.run(command, cwd=ROOT, env=source, capture_output=True, text=True, check=False)
    last = (done.stdout.strip().splitlines() or ["nothing was said"])[-1].strip("= ")
    if done.returncode:
        print(done.stdout[-4000:], done.stderr[-2000:], sep="\n")
    return f"ok, {last}" if done.returncode == 0 else last


def main(argv: Sequence[str] | None = None) -> int:
    """Try the groups named, or all of them."""
    parser = argparse.ArgumentParser(prog="tools.lowest", description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "groups", nargs="*", metavar="GROUP", help=f"of {', '.join(GROUPS)} (default: every one)"
    )
    names = parser.parse_args(argv).groups or list(GROUPS)
    unknown = [name for name in names if name not in GROUPS]
    if unknown:
        parser.error(f"there is no group {unknown[0]}: choose from {', '.join(GROUPS)}")
    found = {name: tried(name) for name in names}
    for name, result in found.items():
        print(f"{name:14} {result}")
    return int(any(not result.startswith("ok") for result in found.values()))


if __name__ == "__main__":
    sys.exit(main())
