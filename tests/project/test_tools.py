"""The tools that keep the project: the picture of the terminal, the word about the kernel, the Makefile."""

from __future__ import annotations

import doctest
import re
import sys
import time
import tomllib
from importlib import import_module
from typing import TYPE_CHECKING

import pytest
from tools.integrations import ADAPTERS, Adapter, Workshop, rows
from tools.kernel import message

import semtropy

if TYPE_CHECKING:
    from pathlib import Path

LIVE = """
from rich.live import Live
with Live("starting", auto_refresh=False) as live:
    for step in range(4):
        live.update(f"step {step}\\n[green]line two[/] of {step}", refresh=True)
print("the end")
"""


@pytest.mark.parametrize(
    "name",
    [
        "api",
        "checks",
        "docstrings",
        "examples",
        "figures",
        "front",
        "markdown",
        "picture",
        "release",
        "retest",
        "site",
        "wheel",
    ],
)
def test_examples(name: str) -> None:
    tested = doctest.testmod(import_module(f"tools.{name}"))
    assert tested.attempted > 0
    assert tested.failed == 0


def test_the_picture_shows_the_last_screen() -> None:
    picture = import_module("tools.picture")
    written, code = picture.run_in_terminal([sys.executable, "-c", LIVE], columns=60)
    screen = picture.last_screen(written)
    plain = re.sub(r"\x1b\[[\d;]*m", "", screen)
    assert code == 0
    assert plain.splitlines() == ["step 3", "line two of 3", "the end"]
    drawn = picture.draw(["semtropy", "a question"], screen, columns=60)
    assert "the&#160;end" in drawn
    assert "@font-face" not in drawn, "a picture must not ask a server for a font"


def test_a_missing_kernel_is_said() -> None:
    assert message(source=True, built=True) is None
    assert message(source=False, built=False) is None
    assert "could not be built" in (message(source=True, built=False) or "")


def test_extras(root: Path) -> None:
    """The extras the design names, and one per adapter; `all` leaves out torch, Ray and adapters."""
    extras = tomllib.loads((root / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    adapters = {extra for each in ADAPTERS for extra in each.extras} - {"local", "study", "server", "hub"}
    assert set(extras) - adapters == {"local", "study", "server", "transformers", "ray", "hub", "all", "dev"}
    assert extras["all"] == ["semtropy[local,server]"]
    assert not re.search(
        r"torch|transformers|ray", " ".join(extras["all"] + extras["local"] + extras["study"])
    )
    assert "semtropy[all,study]" in extras["dev"]
    assert re.fullmatch(r"\d+\.\d+\.\d+", semtropy.__version__)


def test_make_has_what_is_promised(root: Path) -> None:
    targets = set(re.findall(r"^(\w+):", (root / "Makefile").read_text(), re.MULTILINE))
    assert {"demo", "test", "check", "bench", "fuzz", "docs", "site", "wheel", "integrations"} <= targets


GOOD, BAD, LARGE = Adapter("good", (), quick=True), Adapter("bad", (), quick=True), Adapter("large", ())


@pytest.mark.parametrize(
    ("quick", "why", "expected"),
    [
        (True, "", ["1 passed", "FAILED: 1 failed", "left out: it takes long to install"]),
        (False, "", ["1 passed", "FAILED: 1 failed", "1 passed"]),
        (True, "no network", ["left out: no network"] * 2 + ["left out: it takes long to install"]),
        (False, "no network", ["FAILED: no network"] * 3),
    ],
)
def test_what_cannot_be_installed_is_said_and_what_fails_fails(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, quick: bool, why: str, expected: list[str]
) -> None:
    said = {"good": "1 passed", "bad": "FAILED: 1 failed", "large": "1 passed"}
    monkeypatch.setattr(Workshop, "prepare", lambda *_: (None if why else tmp_path, why))
    monkeypatch.setattr(Workshop, "test", lambda _, python, adapter: said[adapter.name])
    shop = Workshop(tmp_path, time.monotonic() + 60)
    assert [row[2] for row in rows(shop, [GOOD, BAD, LARGE], quick=quick)] == expected


def test_nothing_is_begun_when_the_time_is_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(Workshop, "prepare", lambda *_: (tmp_path, ""))
    shop = Workshop(tmp_path, time.monotonic() - 1)
    assert [row[2] for row in rows(shop, [GOOD], quick=True)] == ["left out: no time left"]


def test_a_program_that_is_missing_or_slow_is_no_traceback(tmp_path: Path) -> None:
    shop = Workshop(tmp_path, time.monotonic() + 60)
    assert shop._run(["no-such-program"]) == "there is no program no-such-program"
    assert shop._run([sys.executable, "-c", "import sys; sys.exit('no network')"]) == "no network"
    late = Workshop(tmp_path, time.monotonic() - 1)
    assert (
        late._run([sys.executable, "-c", "import time; time.sleep(60)"])
        == "not installed in the time there was"
    )


def test_ci_runs_the_quick_ones_last(root: Path) -> None:
    commands = re.findall(r"^make .+$", (root / ".ci" / "run").read_text(), re.MULTILINE)
    assert commands == ["make check", "make test || make retest", "make integrations QUICK=1"]
