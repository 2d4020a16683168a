"""The compiled kernel at its boundary: what it refuses, that it can be interrupted, and how it is built."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import semtropy.entropy.contour as contour

kernel: Any = contour._kernel
pytestmark = pytest.mark.skipif(kernel is None, reason="the compiled kernel is not built on this machine")

NAMES = ("p", "q", "floors", "offsets", "alpha", "mass", "mass_offsets")
OUTPUTS = ("mean", "variance", "log_z", "error")


def valid() -> dict[str, Any]:
    """Two problems, of two factors and one, with two masses and one."""
    return {
        "p": np.array([0.5, 1.5, 2.5]),
        "q": np.ones(3),
        "floors": np.array([0.3, 0.2, 0.1]),
        "offsets": np.array([0, 2, 3]),
        "alpha": np.array([0.5, 0.5]),
        "mass": np.array([0.5, 1.0, 2.0]),
        "mass_offsets": np.array([0, 2, 3]),
        "tolerance": 1e-9,
        "mean": np.zeros(3),
        "variance": np.zeros(3),
        "log_z": np.zeros(3),
        "error": np.zeros(2),
    }


def solve(**changed: Any) -> dict[str, Any]:
    given = valid() | changed
    kernel.solve(*given.values())
    return given


def screen(**changed: Any) -> dict[str, Any]:
    given = valid() | changed
    kernel.screen(*(given[name] for name in (*NAMES, "log_z")))
    return given


def test_a_valid_call_works() -> None:
    found = solve()
    assert (found["error"] < 1e-9).all()
    assert (found["mean"] > 0).all()
    assert np.isfinite(screen()["log_z"]).all()


@pytest.mark.parametrize("name", [*NAMES, *OUTPUTS])
@pytest.mark.parametrize(
    "spoil",
    [
        lambda a: a.astype(np.float32),
        lambda a: a.astype(np.int32),
        lambda a: a.astype(object),
        lambda a: a.astype(np.int64 if a.dtype == float else float),
        lambda a: a.reshape(1, -1),
        lambda a: np.repeat(a, 2)[::2],
        lambda a: a.tobytes(),
        lambda a: a.tolist(),
        lambda a: None,
    ],
)
def test_other_types_are_refused(name: str, spoil: Any) -> None:
    with pytest.raises((TypeError, ValueError, BufferError)):
        solve(**{name: spoil(valid()[name])})


@pytest.mark.parametrize("name", OUTPUTS)
def test_a_read_only_output_is_refused(name: str) -> None:
    fixed = np.zeros(valid()[name].size)
    fixed.flags.writeable = False
    with pytest.raises((ValueError, BufferError)):
        solve(**{name: fixed})


@pytest.mark.parametrize("name", [*NAMES, *OUTPUTS])
@pytest.mark.parametrize(
    "change", [lambda a: a[:-1].copy(), lambda a: np.append(a, a[-1]), lambda a: a[:0].copy()]
)
def test_other_lengths_are_refused(name: str, change: Any) -> None:
    with pytest.raises(ValueError, match=r"entries|offsets"):
        solve(**{name: change(valid()[name])})
    if name in NAMES:
        with pytest.raises(ValueError, match=r"entries|offsets"):
            screen(**{name: change(valid()[name])})


@pytest.mark.parametrize("name", ["p", "q", "floors", "alpha", "mass"])
@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf, 1e308, -1e308, -2.0])
def test_numbers_out_of_range_are_refused(name: str, number: float) -> None:
    if name == "p" and number == -2.0:
        return  # a power of -2 is a valid one
    values = valid()[name]
    values[-1] = number
    for ask in (solve, screen):
        with pytest.raises(ValueError, match="range"):
            ask(**{name: values})


@pytest.mark.parametrize("offsets", [[0, 3, 3], [0, 4, 3], [1, 2, 3], [0, -1, 3], [0, 2, 2**62], [0, 0, 3]])
def test_offsets_that_do_not_fit_are_refused(offsets: list[int]) -> None:
    for ask in (solve, screen):
        with pytest.raises(ValueError, match="offsets"):
            ask(offsets=np.array(offsets))
        if offsets not in ([0, 3, 3], [0, 0, 3]):  # a problem may have no masses
            with pytest.raises(ValueError, match="offsets"):
                ask(mass_offsets=np.array(offsets))


@pytest.mark.parametrize("tolerance", [0.0, 1.0, np.nan, -1.0])
def test_senseless_tolerances_are_refused(tolerance: float) -> None:
    with pytest.raises(ValueError, match="tolerance"):
        solve(tolerance=tolerance)


def test_floors_without_room_have_no_answer() -> None:
    found = solve(floors=np.array([0.6, 0.6, 0.1]))
    assert found["error"][0] == np.inf
    assert found["error"][1] < 1e-9


def test_ctrl_c_reaches_a_long_call() -> None:
    """A real SIGINT, sent while the kernel runs; the call alone would take minutes."""
    script = """
        import os, signal, threading, time
        import numpy as np
        from semtropy.entropy import moments_batch

        rng = np.random.default_rng(0)
        floors = [rng.dirichlet(np.ones(1000)) * 0.9 + 1e-9 for _ in range(2000)]
        counts = [np.ones(1000)] * 2000
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        start = time.perf_counter()
        try:
            moments_batch(counts, floors, [[1000]] * 2000)
        except KeyboardInterrupt:
            print("interrupted after", time.perf_counter() - start)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert "interrupted after" in done.stdout
    assert float(done.stdout.split()[-1]) < 10


def test_the_kernels_are_built_without_fast_math() -> None:
    """Under -ffast-math a compiler may drop every check for NaN."""
    text = (Path(__file__).parent.parent / "setup.py").read_text()
    flags = text[text.index("UNIX_FLAGS") : text.index("]", text.index("UNIX_FLAGS"))]
    assert "-ffast-math" not in flags
    assert "-Ofast" not in flags
    assert "finite-math-only" not in flags
