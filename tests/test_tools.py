"""The tools that keep the project: the picture of the terminal, the word about the kernel, the Makefile."""

from __future__ import annotations

import doctest
import re
import sys
import tomllib
from importlib import import_module
from typing import TYPE_CHECKING

import pytest
from tools.integrations import ADAPTERS
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
    assert extras["all"] == ["semtropy[local,study,server]"]
    assert not re.search(
        r"torch|transformers|ray", " ".join(extras["all"] + extras["local"] + extras["study"])
    )
    assert "semtropy[all]" in extras["dev"]
    assert re.fullmatch(r"\d+\.\d+\.\d+", semtropy.__version__)


def test_make_has_what_is_promised(root: Path) -> None:
    targets = set(re.findall(r"^(\w+):", (root / "Makefile").read_text(), re.MULTILINE))
    assert {"demo", "test", "check", "bench", "fuzz", "docs", "site", "wheel", "integrations"} <= targets
