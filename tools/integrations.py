"""`python -m tools.integrations [NAME ...]` tries each adapter with its package, in an environment made for it.

Ends with a table. `--quick` takes only those that install fast, all into one environment, and says which it left.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

__all__ = ["ADAPTERS", "Adapter", "main"]

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "build" / "integrations"
PIP = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check")
NEEDED = ("pytest", "hypothesis")


@dataclass(frozen=True, slots=True)
class Adapter:
    """What an adapter needs beside semtropy's own extras, and its tests.

    name      of the test file, tests/test_integrations_NAME.py
    extras    of semtropy
    packages  for the tests alone
    quick     whether it installs in seconds
    """

    name: str
    extras: tuple[str, ...]
    packages: tuple[str, ...] = ()
    quick: bool = False

    @property
    def test(self) -> str:
        """Its test file."""
        return f"tests/test_integrations_{self.name}.py"


ADAPTERS = (
    Adapter(
        "opentelemetry",
        ("opentelemetry", "server"),
        ("opentelemetry-sdk", "opentelemetry-exporter-otlp-proto-http"),
        quick=True,
    ),
    Adapter("langchain", ("langchain", "local")),
    Adapter("litellm", ("litellm", "local"), ("openai",)),
    Adapter("pytest", ("local",), quick=True),
    Adapter("inspect", ("inspect", "local"), ("openai",)),
    Adapter("tables", ("pandas", "hub", "local"), ("uqlm",)),
    Adapter("promptfoo", ("local",)),
    Adapter("deepeval", ("deepeval", "local")),
    Adapter("ragas", ("ragas", "local")),
    Adapter("mlflow", ("mlflow", "local")),
)


def prepare(name: str, adapters: list[Adapter]) -> tuple[Path | None, str]:
    """An environment with what the adapters need; None and the reason where it cannot be made."""
    folder = WORK / name
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    extras = ",".join(sorted({extra for each in adapters for extra in each.extras}))
    packages = sorted({package for each in adapters for package in each.packages})
    commands = [
        [sys.executable, "-m", "venv", "--clear", str(folder)],
        [str(python), *PIP, f"{ROOT}[{extras}]", *NEEDED, *packages],
    ]
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            said = [row for row in done.stderr.splitlines() if not row.startswith("WARNING")]
            return None, said[-1] if said else "cannot be installed"
    return python, ""


def run_tests(python: Path, adapter: Adapter) -> str:
    """The last line of its tests; skips count as failures here, where everything is installed."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "tests")))}
    environment.pop("CI", None)
    command = [
        str(python),
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:asyncio",
        "-rs",
        adapter.test,
    ]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    last = done.stdout.strip().splitlines()[-1] if done.stdout.strip() else done.stderr.strip()
    if done.returncode or "skipped" in last:
        print(done.stdout, done.stderr, sep="\n", file=sys.stderr)
        return f"FAILED: {last}"
    return last


def main(arguments: list[str] | None = None) -> int:
    """Try the adapters; 1 where one fails."""
    asked = argparse.ArgumentParser(prog="python -m tools.integrations", description=__doc__)
    known = [each.name for each in ADAPTERS]
    asked.add_argument("names", nargs="*", metavar="NAME", help=f"which: {', '.join(known)} (default: all)")
    asked.add_argument(
        "--quick", action="store_true", help="only those that install fast, in one environment"
    )
    options = asked.parse_args(arguments)
    if unknown := set(options.names) - set(known):
        asked.error(f"there is no adapter {', '.join(sorted(unknown))}: choose from {', '.join(known)}")
    chosen = [each for each in ADAPTERS if not options.names or each.name in options.names]
    taken = [each for each in chosen if each.quick or not options.quick]
    groups = {"quick": taken} if options.quick else {each.name: [each] for each in taken}
    rows = []
    for name, adapters in groups.items():
        started = time.monotonic()
        python, why = prepare(name, adapters)
        spent = f"{time.monotonic() - started:.0f} s"
        for each in adapters:
            said = f"FAILED: {why}" if python is None else run_tests(python, each)
            rows.append((each.name, spent, said))
            print(f"{each.name}: {said}", flush=True)
    rows += [(each.name, "", "left out: it takes long to install") for each in chosen if each not in taken]
    print("\n| adapter | installed in | tests |\n|---|---|---|")
    print(*(f"| {' | '.join(row)} |" for row in rows), sep="\n")
    return int(any(said.startswith("FAILED") for _, _, said in rows))


if __name__ == "__main__":
    raise SystemExit(main())
