"""`python -m tools.wheel` builds the source distribution and two wheels of it, and tries each in a bare environment.

One wheel has the compiled kernels and serves Python 3.11 and later (abi3); the other has none and serves every
platform. Both are built from the source distribution, not from the checkout, so that a file missing there is noticed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import venv
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

__all__ = ["main", "sdist_problems", "wheel_problems"]

ROOT = Path(__file__).resolve().parent.parent
MB = 1_000_000
LARGEST = 60 * MB
# Without these a user's first command fails.
NEEDED = (
    "semtropy/py.typed",
    "semtropy/data/facts--smollm2.jsonl.gz",
    "semtropy/estimators/default_prior.json",
    "semtropy/meaning/builtin/judge.json",
    "semtropy/meaning/builtin/judge.onnx",
    "semtropy/meaning/builtin/large.npz",
    "semtropy/meaning/builtin/large.onnx",
    "semtropy/meaning/builtin/sentences.onnx",
    "semtropy/meaning/builtin/tokenizer.json",
    "semtropy/server/page/index.html",
    "semtropy/server/page/main.js",
)
LICENCES = ("LICENSE", "NOTICE")
NOT_IN_A_WHEEL = (".c", ".h", ".gguf", ".parquet", ".pkl")
IN_THE_SOURCE = (
    *LICENCES,
    "Makefile",
    "README.md",
    "setup.py",
    "docs/index.md",
    "tests/conftest.py",
    "tools/docs.py",
    "src/semtropy/entropy/_native/contour.c",
    "src/semtropy/meaning/builtin/judge.onnx",
)


def wheel_problems(sizes: Mapping[str, int], total: int, *, compiled: bool) -> Iterator[str]:
    """What is wrong with a wheel, given its files with their sizes and its own size.

    >>> good = [*NEEDED, *(f"semtropy-1.0.dist-info/licenses/{name}" for name in LICENCES)]
    >>> list(wheel_problems(dict.fromkeys(good, 1), 1_000, compiled=False))
    []
    """
    yield from (f"{name} is missing" for name in NEEDED if not sizes.get(name) and name != NEEDED[0])
    if NEEDED[0] not in sizes:
        yield f"{NEEDED[0]} is missing"
    licences = {Path(name).name for name in sizes if ".dist-info/licenses/" in name}
    yield from (f"{name} is missing" for name in LICENCES if name not in licences)
    for name in sizes:
        top = name.partition("/")[0]
        if not (top == "semtropy" or (top.startswith("semtropy-") and top.endswith(".dist-info"))):
            yield f"{name} is outside the package"
        if name.endswith(NOT_IN_A_WHEEL) or _is_a_test(Path(name)):
            yield f"{name} does not belong in a wheel"
    modules = [name for name in sizes if name.endswith((".so", ".pyd"))]
    if compiled != bool(modules):
        yield f"compiled modules expected: {compiled}; found: {modules}"
    if total > LARGEST:
        yield f"{total / MB:.1f} MB is more than {LARGEST / MB:.0f} MB"


def _is_a_test(path: Path) -> bool:
    """Whether a file is a test or of one; `testing/` and the plugin for pytest are parts of the package.

    >>> _is_a_test(Path("semtropy/data/test_run.jsonl")), _is_a_test(Path("semtropy/integrations/pytest.py"))
    (True, False)
    """
    return path.name.startswith("test_") or path.name == "conftest.py" or "tests" in path.parts


def sdist_problems(names: list[str], total: int) -> Iterator[str]:
    """What is wrong with a source distribution, given the paths in it and its size."""
    held = {name.partition("/")[2] for name in names}
    yield from (f"{name} is missing" for name in IN_THE_SOURCE if name not in held)
    wrong = (".so", ".pyd", ".pyc", ".gguf", ".parquet")
    yield from (f"{name} does not belong in a source distribution" for name in held if name.endswith(wrong))
    if total > LARGEST:
        yield f"{total / MB:.1f} MB is more than {LARGEST / MB:.0f} MB"


def run(*command: str | Path, **environment: str) -> None:
    done = subprocess.run(
        list(map(str, command)),
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")


def compiler() -> bool:
    """Whether there is a C compiler where Python looks for one."""
    named = (sysconfig.get_config_var("CC") or "").split()
    return os.name == "nt" or bool(named and shutil.which(os.environ.get("CC", named[0])))


def build_wheel(source: Path, out: Path, **environment: str) -> Path:
    """Build the wheel of a source distribution."""
    with tempfile.TemporaryDirectory() as empty:
        wheel = ["-m", "pip", "wheel", "--no-deps", "--quiet", "--wheel-dir", empty]
        run(sys.executable, *wheel, source, **environment)
        (made,) = Path(empty).glob("*.whl")
        return made.replace(out / made.name)


def build(out: Path) -> tuple[Path, Path | None, Path]:
    """Build into `out`: the source distribution, the wheel with kernels (None without a compiler), and without."""
    run(sys.executable, "-m", "build", "--sdist", "--outdir", out, ROOT)
    (source,) = out.glob("*.tar.gz")
    with (
        tempfile.TemporaryDirectory() as aside
    ):  # a user's `pip install` of the source, where there is no compiler
        made = build_wheel(source, Path(aside), CC="no-such-compiler", SEMTROPY_KERNEL="optional")
        if any(name.endswith(".so") for name in zipfile.ZipFile(made).namelist()):
            raise SystemExit("the build without a compiler has compiled modules: the trial is no trial")
    print(f"{source.name}: builds without a compiler", flush=True)
    compiled = build_wheel(source, out, SEMTROPY_KERNEL="on") if compiler() else None
    return source, compiled, build_wheel(source, out, SEMTROPY_KERNEL="off")


def inspect(file: Path, *, compiled: bool) -> list[str]:
    """What is wrong with a built file."""
    if file.suffix == ".whl":
        with zipfile.ZipFile(file) as held:
            sizes = {each.filename: each.file_size for each in held.infolist()}
        return list(wheel_problems(sizes, file.stat().st_size, compiled=compiled))
    with tarfile.open(file) as packed:
        return list(sdist_problems(packed.getnames(), file.stat().st_size))


def install_and_try(wheel: Path, expected: str, *, extras: str = "") -> None:
    """Install a wheel in a new environment and run smoke.py there, away from the checkout."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = Path(folder, "Scripts" if os.name == "nt" else "bin", "python")
        run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", f"{wheel}{extras}")
        run(python, "-I", ROOT / "tools" / "smoke.py", expected)
        print(f"{wheel.name}{extras}: {expected}, works in a bare environment", flush=True)


def main(arguments: list[str] | None = None) -> int:
    """Build, inspect, try; 1 when something is wrong."""
    asked = argparse.ArgumentParser(prog="python -m tools.wheel", description=__doc__)
    asked.add_argument("--out", type=Path, default=ROOT / "dist", help="where the files go")
    options = asked.parse_args(arguments)
    options.out.mkdir(exist_ok=True)
    for stale in (*options.out.glob("*.whl"), *options.out.glob("*.tar.gz")):
        stale.unlink()
    source, compiled, plain = build(options.out)
    problems = []
    for file in (source, compiled, plain):
        if file is not None:
            problems += [f"{file.name}: {problem}" for problem in inspect(file, compiled=file is compiled)]
            print(f"{file.name}: {file.stat().st_size / MB:.1f} MB", flush=True)
    if problems:
        print(*problems, sep="\n", file=sys.stderr)
        return 1
    if compiled is None:
        print("no compiler here: the wheel with kernels was not built", flush=True)
    else:
        install_and_try(compiled, "kernel")
        install_and_try(compiled, "kernel+judge", extras="[local]")
    install_and_try(plain, "numpy")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
