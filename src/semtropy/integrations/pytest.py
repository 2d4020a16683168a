"""A pytest plugin: `assert_steady`, the marker `semtropy` for its options, and a line about what was spent.

It loads with pytest wherever semtropy is installed, and imports nothing else before its first check.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..verdict import Verdict
    from .bridge import Bridge

__all__ = ["AssertSteady", "assert_steady"]

SPENT = pytest.StashKey["Spending"]()


@dataclass(slots=True)
class Spending:
    """What the checks of a test run have spent."""

    checks: int = 0
    samples: int = 0
    tokens: int = 0
    failed: int = 0
    bridges: dict[str, Bridge] = field(default_factory=dict)

    def add(self, verdict: Verdict, *, failed: bool) -> None:
        """Count a verdict."""
        self.checks += 1
        self.samples += verdict.samples
        self.tokens += verdict.spent.tokens or 0
        self.failed += failed

    def line(self) -> str:
        """The line of the report.

        >>> Spending(checks=2, samples=7, tokens=40, failed=1).line()
        'semtropy: 2 checks, 7 samples, 40 tokens; 1 answer not steady'
        """
        plural = "s" * (self.checks != 1)
        said = f"semtropy: {self.checks} check{plural}, {self.samples} samples, {self.tokens} tokens"
        return (
            said if not self.failed else f"{said}; {self.failed} answer{'s' * (self.failed != 1)} not steady"
        )


class AssertSteady:
    """Fails a test whose answer is not steady; returns the verdict of one that is.

    Options come from the marker `semtropy`, and from the call.
    """

    def __init__(self, spending: Spending, options: dict[str, Any]) -> None:
        self._spending, self._options = spending, options

    def __call__(
        self,
        prompt: Any,
        *,
        answer: str,
        ask: Callable[..., Any] | None = None,
        undecided: bool = False,
        **options: Any,
    ) -> Verdict:
        """Check `answer` to `prompt`, a question or messages.

        ask        draws samples: `(messages, n, temperature)`; without it `model` does
        undecided  whether an undecided verdict passes
        options    those of `semtropy.check`, and `max_samples`
        """
        __tracebackhide__ = True
        from .bridge import Bridge

        chosen = {**self._options, **options}
        bridge = self._spending.bridges.setdefault(repr(sorted(chosen.items())), Bridge(**chosen))
        verdict = bridge.check(prompt, answer=answer, ask=ask)
        good = ("steady", "undecided") if undecided else ("steady",)
        failed = str(verdict.outcome) not in good
        self._spending.add(verdict, failed=failed)
        if failed:
            pytest.fail(
                f"the answer is not steady\n{verdict.explain()}\n{verdict.show_groups()}", pytrace=False
            )
        return verdict


@pytest.fixture
def assert_steady(request: pytest.FixtureRequest) -> AssertSteady:
    """`assert_steady(prompt, answer=..., ask=...)` fails the test unless the model would give this answer again."""
    marker = request.node.get_closest_marker("semtropy")
    options = dict(marker.kwargs) if marker else {}
    model = request.config.getoption("--semtropy-model")
    if model is not None:
        options.setdefault("model", model)
    return AssertSteady(request.config.stash[SPENT], options)


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--semtropy-model` names the model of every check that brings no `ask`."""
    group = parser.getgroup("semtropy")
    group.addoption(
        "--semtropy-model", metavar="MODEL", help="the model that assert_steady asks, such as openai:MODEL"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker, and start counting."""
    line = (
        "semtropy(**options): options of assert_steady in this test, such as max_samples=6 or judge='exact'"
    )
    config.addinivalue_line("markers", line)
    config.stash[SPENT] = Spending()


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Say what the checks spent, where there were any."""
    spending = config.stash.get(SPENT, None)
    if spending is not None and spending.checks:
        terminalreporter.write_line(spending.line())
