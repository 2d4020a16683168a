"""The compiled kernel at its boundary: what it refuses, that it can be interrupted, and how it is built."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import semtropy.entropy.contour as contour
from semtropy.entropy.distribution import share_density

kernel: Any = contour._kernel
distribution: Any = share_density._distribution
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


@pytest.mark.parametrize("tolerance", [0.0, 1e-300, 1.0, np.nan, -1.0])
def test_senseless_tolerances_are_refused(tolerance: float) -> None:
    with pytest.raises(ValueError, match="tolerance"):
        solve(tolerance=tolerance)


def test_floors_without_room_have_no_answer() -> None:
    found = solve(floors=np.array([0.6, 0.6, 0.1]))
    assert found["error"][0] == np.inf
    assert found["error"][1] < 1e-9


SPLIT = {
    "own": (0.5, 1.0, 0.3),
    "base": (0.0, 2.0, 0.0),
    "x": np.array([-3.0, -1.0]),
    "y": np.zeros(2),
    "slope": np.zeros(2),
    "log_rest": np.array([-0.5, -0.4]),
    "bends": np.zeros(0),
    "log_v": np.zeros(2),
    "z": np.zeros((2, 65)),
    "z_slope": np.zeros((2, 65)),
}
TAKE = {
    "own": (0.5, 1.0, 0.3),
    "rows": np.array([-0.5, -0.4]),
    "z": np.tile(np.linspace(-16, 16, 65), (2, 1)),
    "z_slope": np.ones((2, 65)),
    "u": np.array([0.1, 0.5, 0.9]),
    "log_rest": np.full(3, -0.45),
    "entropy": np.zeros(3),
    "log_weight": np.zeros(3),
    "log_y": np.zeros(3),
}
CELLS = {name: np.full(4, 0.5) for name in ("start", "rise", "bow", "weight")} | {
    "points": np.zeros(2),
    "out": np.zeros(2),
}
STRETCHED = (
    {"value": np.linspace(0, 1, 5), "slope": np.full(5, 0.2), "low": 0.0, "high": 1.0}
    | {name: np.full(4, 0.5) for name in ("fixed", "scale", "weight")}
    | {"points": np.zeros(2), "out": np.zeros(2)}
)
CALLS = {"split": SPLIT, "take": TAKE, "cells": CELLS, "stretched": STRETCHED}
ARRAYS = [
    (call, name)
    for call, given in CALLS.items()
    for name, value in given.items()
    if isinstance(value, np.ndarray) and name != "bends"  # any number of bends is right
]


@pytest.mark.parametrize("call", CALLS)
def test_the_distribution_kernel_works(call: str) -> None:
    given = {name: v.copy() if isinstance(v, np.ndarray) else v for name, v in CALLS[call].items()}
    getattr(distribution, call)(*given.values())
    assert all(np.isfinite(v).all() for v in given.values() if isinstance(v, np.ndarray))


@pytest.mark.parametrize(("call", "name"), ARRAYS)
def test_the_distribution_kernel_refuses_other_types_and_lengths(call: str, name: str) -> None:
    for spoil in (
        lambda a: a.astype(np.float32),
        lambda a: a.astype(np.int64),
        lambda a: a.tobytes(),
        lambda a: np.append(a, 1.0),
        lambda a: np.zeros((1, 1, 1)),
    ):
        given = {key: v.copy() if isinstance(v, np.ndarray) else v for key, v in CALLS[call].items()}
        given[name] = spoil(given[name])
        with pytest.raises((TypeError, ValueError, BufferError)):
            getattr(distribution, call)(*given.values())


def test_a_nan_is_no_index() -> None:
    for call, given in CALLS.items():
        for name, value in given.items():
            if isinstance(value, np.ndarray) and value.size:
                spoiled = {key: v.copy() if isinstance(v, np.ndarray) else v for key, v in given.items()}
                spoiled[name][:] = np.nan
                getattr(distribution, call)(*spoiled.values())  # a sanitizer or a crash would tell


def test_all_mass_within_one_panel() -> None:
    """A density so narrow that no two points of it have mass on both sides; once a read out of bounds."""
    given = {name: v.copy() if isinstance(v, np.ndarray) else v for name, v in SPLIT.items()}
    given |= {"own": (0.0, 1e14, 0.0), "base": (0.0, 1e14, 0.0)}
    distribution.split(*given.values())
    assert np.isfinite(given["z"]).all()
    assert (given["z_slope"] > 0).all()


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
    text = (Path(__file__).parents[2] / "setup.py").read_text()
    flags = text[text.index("UNIX_FLAGS") : text.index("]", text.index("UNIX_FLAGS"))]
    assert "-ffast-math" not in flags
    assert "-Ofast" not in flags
    assert "finite-math-only" not in flags


NATIVE = Path(contour.__file__).parent / "_native"
STRICT = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Wno-unknown-pragmas", "-fsyntax-only"]
# What the headers without Python need of the C library, for a compiler whose library is not at hand.
MATHS = """
#define NAN (0.0f * 1e39f)
#define HUGE_VAL 1e999
#define isfinite(x) ((x) - (x) == 0)
double exp(double), log(double), cos(double), sin(double), atan2(double, double), sqrt(double), fabs(double);
double pow(double, double), expm1(double), log1p(double), frexp(double, int *), ldexp(double, int);
"""
MEMORY = """
typedef unsigned long long size_t;
#define NULL ((void *)0)
void *malloc(size_t), *realloc(void *, size_t), free(void *);
"""


def compile_only(compiler: str, *arguments: str) -> str:
    found = shutil.which(compiler)
    if found is None:
        pytest.skip(f"no {compiler} on this machine")
    done = subprocess.run([found, *arguments], capture_output=True, text=True, timeout=120)
    return done.stderr if done.returncode else ""


@pytest.mark.parametrize("compiler", ["gcc", "clang", "musl-gcc"])
@pytest.mark.parametrize("name", ["contour", "distribution"])
def test_other_compilers_take_it_without_a_warning(compiler: str, name: str, tmp_path: Path) -> None:
    headers = sysconfig.get_paths()["include"]
    python = ["-DPy_LIMITED_API=0x030B0000", "-isystem", headers, "-isystem", str(tmp_path)]
    machine = sysconfig.get_config_var("MULTIARCH")
    if machine and (own := Path(headers).parent / machine / Path(headers).name).is_dir():
        # Debian keeps pyconfig.h beside the C library's headers, which another C library must not see
        (tmp_path / machine).mkdir()
        (tmp_path / machine / own.name).symlink_to(own)
    assert not compile_only(compiler, *STRICT, *python, str(NATIVE / f"{name}.c"))


def test_nothing_in_the_headers_is_of_one_compiler(tmp_path: Path) -> None:
    """clang as MSVC: no `__GNUC__`, no attributes, no pragmas of OpenMP."""
    for name, text in {
        "math": MATHS,
        "stdlib": MEMORY,
        "string": "void *memset(void *, int, size_t);",
    }.items():
        (tmp_path / f"{name}.h").write_text(text)
    (tmp_path / "all.c").write_text('#include <stdlib.h>\n#include "path.h"\n')
    target = ["--target=x86_64-pc-windows-msvc", "-nostdinc", f"-I{tmp_path}", f"-I{NATIVE}", "-fsyntax-only"]
    assert not compile_only("clang", *target, str(tmp_path / "all.c"))
    (tmp_path / "all.c").write_text("#ifndef __GNUC__\n#error as expected\n#endif\n")
    assert "as expected" in compile_only("clang", *target, str(tmp_path / "all.c"))
