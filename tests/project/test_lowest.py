"""Lower bounds: every dependency has one, and the groups that are tried have every extra of the package."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest
from tools.lowest import GROUPS, lowest, main

ROOT = Path(__file__).resolve().parents[2]
KNOWN = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = KNOWN["optional-dependencies"]
# Read off SciPy 1.11.4, the lowest allowed. One that is not here is to be looked for there before it is added.
IN_THE_LOWEST_SCIPY = {
    "optimize": {"minimize"},
    "sparse.csgraph": {"shortest_path"},
    "special": {
        *("bdtr", "betainc", "betaincinv", "betaln", "digamma", "entr", "expit", "gammainc", "gammaincc"),
        *("gammaln", "logit", "logsumexp", "ndtr", "polygamma", "xlog1py", "xlogy"),
    },
}


@pytest.mark.parametrize("extra", [None, *EXTRAS])
def test_every_dependency_has_a_lower_bound(extra: str | None) -> None:
    for each in KNOWN["dependencies"] if extra is None else EXTRAS[extra]:
        assert re.search(r"[>=]=\d|^semtropy\[|<\d", each), each


def test_bounds_become_exact_versions() -> None:
    found = lowest(["all"])
    assert "numpy==1.26" in found
    assert any(each.startswith("starlette==") for each in found)
    assert not any(">=" in each or each.startswith("semtropy") for each in found)
    assert len({re.split(r"[=;\[<]", each)[0] for each in found}) == len(found)  # one bound per package


def test_of_several_bounds_the_highest_is_taken() -> None:
    """langchain-community wants a later NumPy than semtropy does."""
    assert [each for each in lowest(["ragas"]) if each.startswith("numpy")] == ["numpy==1.26.2"]


def test_the_lowest_scipy_has_what_is_used_of_it() -> None:
    """`make lowest` shows the same, but in minutes."""
    missing = [
        f"{path.relative_to(ROOT)}: {node.module}.{each.name}"
        for path in (ROOT / "src").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").startswith("scipy.")
        for each in node.names
        if each.name not in IN_THE_LOWEST_SCIPY.get((node.module or "").removeprefix("scipy."), ())
    ]
    assert not missing


def test_what_ships_in_a_release_is_tried() -> None:
    tried = {extra for group in GROUPS.values() for extra in group.extras}
    assert tried >= {"local", "study", "server", "transformers", "ray", "hub"}
    missing = [
        name
        for group in GROUPS.values()
        for name in group.tests
        if not (ROOT / "tests/{}/test_{}.py".format(*name.split("/"))).exists()
    ]
    assert not missing


def test_an_unknown_group_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["evrything"])
    assert "there is no group evrything: choose from base, all" in capsys.readouterr().err
