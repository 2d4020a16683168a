"""The built-in judge against the gate: pairs written before its training, with margins fixed then."""

from __future__ import annotations

import pytest
from training import gate

from semtropy.meaning import Cached
from semtropy.meaning.builtin import Builtin
from semtropy.meaning.judges import Numeric

ARITHMETIC = ("arithmetic", "scripts")


@pytest.fixture(scope="module")
def judge() -> Cached:
    return Cached(Builtin())


def test_the_gate_has_two_hundred_pairs_of_each_kind() -> None:
    kinds = [pair.kind.partition("/")[0] for pair in gate.pairs()]
    for kind in gate.MARGINS:
        assert kinds.count(kind) >= (8 if kind == "named" else 197), kind  # 200, and a few written twice


@pytest.mark.parametrize("kind", sorted(gate.MARGINS))
def test_within_the_margin(judge: Cached, kind: str) -> None:
    [result] = gate.run(judge, (kind,))
    assert result.passed, (result.merged, result.split)


def test_the_gate_can_fail() -> None:
    """A judge that merges everything it may, and one that merges nothing, fail where they should."""

    class Agreeable:
        def entails(self, batch: list[tuple[str, str, str]]) -> list[float]:
            return [1.0] * len(batch)

    kinds = ("related", "roles", "invented", "named")
    assert not any(result.passed for result in gate.run(Agreeable(), kinds))  # type: ignore[arg-type]
    assert not any(result.passed for result in gate.run(Numeric(), ("related", "roles")))
