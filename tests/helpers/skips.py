"""Counts skipped tests in CI: a skip that expected_skips.txt does not allow fails the run.

Without CI in the environment a skip stays a skip. Works with and without xdist: workers report their skips to the
controlling process, and only that one decides.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

LIST = Path(__file__).resolve().parents[1] / "expected_skips.txt"
SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"


def needs(*modules: str, reason: str) -> None:
    """Skip a file of tests where a module is not installed; importing it, which may take seconds, is left to them."""
    if not all(map(_installed, modules)):
        pytest.skip(reason, allow_module_level=True)


@dataclass(frozen=True)
class Skip:
    """One skipped test, or one skipped file."""

    nodeid: str
    reason: str


@dataclass(frozen=True)
class Allowed:
    """One line of the list: these tests may skip for this reason while the condition holds."""

    condition: str
    tests: str
    reason: str

    def covers(self, skip: Skip) -> bool:
        return fnmatchcase(skip.nodeid, self.tests) and bool(re.search(self.reason, skip.reason))


def read_list(text: str) -> list[Allowed]:
    """The lines of the list; comments and blank lines are left out."""
    rows = [row for row in text.splitlines() if row.strip() and not row.startswith("#")]
    return [Allowed(*(part.strip() for part in row.split(" | ", 2))) for row in rows]


def holds(condition: str) -> bool:
    """Whether a condition of the list is true on this machine."""
    return any(_holds(one.strip()) for one in condition.split(" or "))


def _holds(condition: str) -> bool:
    match condition.split():
        case ["data", name]:
            return not (SHARED / name).exists()
        case ["module", name]:
            return not _installed(name)
        case ["program", *names]:
            return not any(shutil.which(name) for name in names)
        case ["unset", name]:
            return name not in os.environ
        case ["larger", "judge"]:
            from semtropy.meaning import large

            return large.where() is None
        case ["kernel"]:
            return find_spec("semtropy.entropy._kernel") is None
        case ["mount"]:
            return not _may_mount()
        case ["root"]:
            return hasattr(os, "geteuid") and os.geteuid() == 0
        case ["windows"]:
            return sys.platform == "win32"
        case ["not", "linux"]:
            return sys.platform != "linux"
    raise ValueError(f"{LIST.name}: there is no condition {condition!r}")


def _installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # the package that would hold it is missing
        return False


def _may_mount() -> bool:
    if not hasattr(os, "geteuid") or os.geteuid() != 0 or shutil.which("mount") is None:
        return False
    with tempfile.TemporaryDirectory() as place:
        command = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", place]
        if subprocess.run(command, capture_output=True, check=False).returncode:
            return False
        subprocess.run(["umount", place], check=True)
    return True


def unexpected(
    skips: Iterable[Skip], allowed: list[Allowed], holds: Callable[[str], bool] = holds
) -> Iterator[str]:
    """Skips the list does not allow, as sentences."""
    for skip in skips:
        lines = [line for line in allowed if line.covers(skip)]
        if not lines:
            yield f"{skip.nodeid} was skipped ({skip.reason}), which {LIST.name} does not allow"
        elif not any(holds(line.condition) for line in lines):
            conditions = " or ".join(dict.fromkeys(line.condition for line in lines))
            yield f"{skip.nodeid} was skipped ({skip.reason}), but `{conditions}` does not hold here: it has to run"


@dataclass(eq=False)  # pytest keeps plugins in a set
class SkipGate:
    """The pytest plugin: collects skips, and fails the run at its end."""

    allowed: list[Allowed]
    skips: list[Skip] = field(default_factory=list)
    found: list[str] = field(default_factory=list)

    def _note(self, report: Any) -> None:
        if report.skipped and not hasattr(report, "wasxfail"):
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
            self.skips.append(Skip(report.nodeid, reason))

    def pytest_collectreport(self, report: Any) -> None:
        self._note(report)

    def pytest_runtest_logreport(self, report: Any) -> None:
        self._note(report)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        self.found = list(unexpected(self.skips, self.allowed))
        if self.found and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self.found:
            terminalreporter.section("unexpected skips", red=True, bold=True)
            terminalreporter.write_line("\n".join(self.found))


def install(config: pytest.Config) -> None:
    """Register the gate where CI is set, in the controlling process only."""
    if os.environ.get("CI") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(SkipGate(read_list(LIST.read_text())), "skip-gate")
