"""`python -m tools.integrations [NAME ...]` tries each adapter with its package, in an environment made for it.

Ends with a table. `--quick` takes only those that install fast, all into one environment on top of this one, and says
which it left. What cannot be installed then, for want of a network, is said and is no failure. A test that fails is.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import sysconfig
import time
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["ADAPTERS", "Adapter", "Workshop", "main"]

ROOT = Path(__file__).resolve().parent.parent
PIP = ("-m", "pip", "install", "--quiet", "--no-compile", "--disable-pip-version-check")
NEEDED = ("pytest", "hypothesis")
LONGEST = 3600.0  # seconds for everything
TESTING = 180.0  # seconds for the tests of one adapter, which take less than a minute


@dataclass(frozen=True, slots=True)
class Adapter:
    """What an adapter needs beside semtropy's own extras, and its tests.

    name      of the test file, tests/integrations/test_NAME.py, or of the test in that of the recipes
    extras    of semtropy
    packages  for the tests alone
    programs  of npm, for the tests alone
    quick     whether it installs in seconds, beside the other quick ones
    recipe    whether it is a recipe of the docs, without a module
    client    whether it is also tried as a client of the gateway, in tests/server/test_NAME.py
    """

    name: str
    extras: tuple[str, ...]
    packages: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    quick: bool = False
    recipe: bool = False
    client: bool = False

    @property
    def tests(self) -> tuple[str, ...]:
        """Its test files, or its test."""
        if self.recipe:
            return (f"tests/integrations/test_recipes.py::test_{self.name}",)
        own = f"tests/integrations/test_{self.name}.py"
        return (own, f"tests/server/test_{self.name}.py") if self.client else (own,)


ADAPTERS = (
    Adapter(
        "opentelemetry",
        ("opentelemetry", "server"),
        ("opentelemetry-sdk", "opentelemetry-exporter-otlp-proto-http"),
        quick=True,
    ),
    Adapter("langchain", ("langchain", "server"), ("langchain-openai",), quick=True, client=True),
    Adapter("litellm", ("litellm", "server"), ("openai",), client=True),
    Adapter("pytest", ("local",), quick=True),
    Adapter("inspect", ("inspect", "local"), ("openai",), quick=True),
    Adapter(
        "tables", ("pandas", "hub", "local"), ("uqlm", "pyarrow<24")
    ),  # uqlm wants NumPy 1, pyarrow 24 does not
    Adapter("promptfoo", ("local",), programs=("promptfoo", "node@22")),
    Adapter("deepeval", ("deepeval", "local")),
    Adapter("ragas", ("ragas", "local")),
    Adapter("mlflow", ("mlflow", "local")),
    Adapter("lm_polygraph", ("lm-polygraph", "local")),
    Adapter("openai_agents", ("local",), ("openai-agents",), quick=True, recipe=True),
    Adapter("pydantic_ai", ("local",), ("pydantic-ai-slim[openai]",), quick=True, recipe=True),
    Adapter("dspy", ("local",), ("dspy",), recipe=True),
    Adapter("nemo_guardrails", ("local",), ("nemoguardrails",), recipe=True),
    Adapter("open_webui", ("local",), ("pydantic",), quick=True, recipe=True),
)


@dataclass(slots=True)
class Workshop:
    """The folder of the environments, and the time there is.

    folder    of the environments and of the wheel they install
    deadline  after which nothing is begun any more, on the monotonic clock
    layered   whether environments are made on top of the running one, so that only what it lacks is installed
    wheel     of semtropy, once it is built
    """

    folder: Path
    deadline: float
    layered: bool = False
    wheel: Path | None = None

    def left(self) -> float:
        """Seconds until the deadline."""
        return max(self.deadline - time.monotonic(), 0.0)

    def prepare(self, name: str, adapters: Sequence[Adapter]) -> tuple[Path | None, str]:
        """The interpreter of an environment with what the adapters need; None and the reason where there is none."""
        home = self.folder / name
        python = home / ("Scripts" if os.name == "nt" else "bin") / "python"
        shutil.rmtree(home, ignore_errors=True)
        if why := self._run([sys.executable, "-m", "venv", str(home)]):
            return None, why
        if not self.layered and (why := self._build()):
            return None, why
        extras = sorted({extra for each in adapters for extra in each.extras})
        ours = self._on_top(home, extras) if self.layered else [f"{self.wheel}[{','.join(extras)}]"]
        packages = sorted({package for each in adapters for package in each.packages})
        why = self._run([str(python), *PIP, *ours, *NEEDED, *packages])
        programs = [program for each in adapters for program in each.programs]
        if programs and not why:
            npm = [shutil.which("npm") or "npm", "install", "--silent", "--no-fund", "--no-audit"]
            why = self._run([*npm, "--prefix", str(home), *programs])
        return (None, why) if why else (python, "")

    def _on_top(self, home: Path, extras: Sequence[str]) -> list[str]:
        """Let the environment see the packages of the running one; what the extras need beside them."""
        site = Path(sysconfig.get_path("purelib", vars={"base": str(home)}))
        (site / "base.pth").write_text(f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n")
        known = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        wanted = [each for extra in extras for each in known["optional-dependencies"][extra]]
        return [each for each in wanted if not each.startswith("semtropy[")]

    def _build(self) -> str:
        """Build the wheel that all environments install, once; empty, or what went wrong."""
        if self.wheel is None:
            place = self.folder / "wheel"
            shutil.rmtree(place, ignore_errors=True)
            command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check"]
            if why := self._run([*command, "--no-deps", "--wheel-dir", str(place), str(ROOT)]):
                return why
            (self.wheel,) = place.glob("*.whl")
        return ""

    def _run(self, command: list[str]) -> str:
        """Empty, or the last line of what went wrong."""
        # pip would take a semtropy found on PYTHONPATH for an installed one
        clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        try:
            done = subprocess.run(
                command, env=clean, capture_output=True, text=True, check=False, timeout=self.left()
            )
        except subprocess.TimeoutExpired:
            return "not installed in the time there was"
        except FileNotFoundError:
            return f"there is no program {command[0]}"
        if not done.returncode:
            return ""
        said = [row for row in done.stderr.splitlines() if row.strip() and not row.startswith("WARNING")]
        return said[-1] if said else "cannot be installed"

    def test(self, python: Path, adapter: Adapter) -> str:
        """The last line of its tests; skips count as failures here, where everything is installed."""
        paths = os.pathsep.join(map(str, (ROOT, ROOT / "tests" / "helpers")))
        programs = python.parent.parent / "node_modules" / ".bin"
        environment = {**os.environ, "PYTHONPATH": paths}
        environment["PATH"] = os.pathsep.join([str(python.parent), str(programs), os.environ.get("PATH", "")])
        environment.pop("CI", None)
        command = [str(python), "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", "-p", "no:asyncio"]
        try:
            done = subprocess.run(
                [*command, *adapter.tests],
                cwd=ROOT,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
                timeout=TESTING,
            )
        except subprocess.TimeoutExpired:
            return f"FAILED: not done in {TESTING:.0f} s"
        last = done.stdout.strip().splitlines()[-1] if done.stdout.strip() else done.stderr.strip()
        if done.returncode or "skipped" in last:
            print(done.stdout, done.stderr, sep="\n", file=sys.stderr)
            return f"FAILED: {last}"
        return last


def rows(shop: Workshop, chosen: Sequence[Adapter], *, quick: bool) -> Iterator[tuple[str, str, str]]:
    """A row of the table for each adapter: name, seconds to install, what its tests said."""
    taken = [each for each in chosen if each.quick or not quick]
    groups = {"quick": taken} if quick else {each.name: [each] for each in taken}
    for name, adapters in groups.items():
        started = time.monotonic()
        python, why = shop.prepare(name, adapters)
        spent = f"{time.monotonic() - started:.0f} s"
        for each in adapters:
            missing = why or ("" if shop.left() else "no time left")
            if python is None or missing:
                yield each.name, spent, f"left out: {missing}" if quick else f"FAILED: {missing}"
            else:
                yield each.name, spent, shop.test(python, each)
    for each in chosen:
        if each not in taken:
            yield each.name, "", "left out: it takes long to install"


def main(arguments: list[str] | None = None) -> int:
    """Try the adapters; 1 where one fails."""
    asked = argparse.ArgumentParser(prog="python -m tools.integrations", description=__doc__)
    known = [each.name for each in ADAPTERS]
    asked.add_argument("names", nargs="*", metavar="NAME", help=f"which: {', '.join(known)} (default: all)")
    asked.add_argument("--quick", action="store_true", help="those that install fast, in one environment")
    asked.add_argument("--within", type=float, default=LONGEST, metavar="SECONDS", help="time for all of it")
    asked.add_argument(
        "--folder", type=Path, default=ROOT / "build" / "integrations", help="where the environments are made"
    )
    options = asked.parse_args(arguments)
    if unknown := set(options.names) - set(known):
        asked.error(f"there is no adapter {', '.join(sorted(unknown))}: choose from {', '.join(known)}")
    chosen = [each for each in ADAPTERS if not options.names or each.name in options.names]
    shop = Workshop(options.folder.resolve(), time.monotonic() + options.within, layered=options.quick)
    table = []
    for row in rows(shop, chosen, quick=options.quick):
        table.append(row)
        print(f"{row[0]}: {row[2]}", flush=True)
    print("\n| adapter | installed in | tests |\n|---|---|---|")
    print(*(f"| {' | '.join(row)} |" for row in table), sep="\n")
    return int(any(said.startswith("FAILED") for _, _, said in table))


if __name__ == "__main__":
    raise SystemExit(main())
