"""The compiled kernels with address and undefined-behaviour sanitizers, in a folder of their own."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

__all__ = ["build", "load"]

ROOT = Path(__file__).parent.parent.parent
SOURCES = ROOT / "src/semtropy/entropy/_native"
FOLDER = ROOT / "build/fuzz"
PACKAGE = "semtropy.entropy._native"
NAMES = ("contour", "distribution")
VARIABLE = "SEMTROPY_FUZZ_KERNELS"
FLAGS = [
    *(
        "-std=c11",
        "-g",
        "-O2",
        "-fopenmp-simd",
        "-fno-math-errno",
        "-fno-trapping-math",
        "-fPIC",
        "-shared",
        "-fno-omit-frame-pointer",
        "-fno-sanitize-recover=all",
    ),
    *("-fsanitize=address,undefined,float-cast-overflow", "-DPy_LIMITED_API=0x030B0000"),
    # Forms for several processors are chosen by the dynamic linker, before a sanitizer is ready.
    "-DSEMTROPY_ONE_FORM",
]


def build() -> dict[str, str]:
    """Compile both kernels; returns the variables of a process that uses them."""
    compiler = os.environ.get("CC", "gcc")
    runtime = subprocess.check_output([compiler, "-print-file-name=libasan.so"], text=True).strip()
    if not Path(runtime).is_absolute():
        raise SystemExit(
            f"{compiler} has no address sanitizer: install gcc's libasan, or pass --here to go without"
        )
    FOLDER.mkdir(parents=True, exist_ok=True)
    include = sysconfig.get_path("include")
    for name in NAMES:
        target = FOLDER / f"{name}.abi3.so"
        command = [compiler, *FLAGS, f"-I{include}", str(SOURCES / f"{name}.c"), "-o", str(target), "-lm"]
        subprocess.run(command, check=True)
    # Python itself leaks a little at exit, and asks for memory that may not be had; neither is a fault of ours.
    options = "detect_leaks=0:allocator_may_return_null=1:handle_segv=1:abort_on_error=1"
    return {
        "LD_PRELOAD": runtime,
        "ASAN_OPTIONS": options,
        "UBSAN_OPTIONS": "print_stacktrace=1",
        VARIABLE: str(FOLDER),
    }


def load() -> bool:
    """Put the sanitized kernels in the place of the others, if this process was started for them."""
    folder = os.environ.get(VARIABLE)
    if folder is None:
        return False
    if "semtropy.entropy" in sys.modules:
        raise RuntimeError("semtropy.entropy was imported before the sanitized kernels")
    for name in NAMES:
        spec = importlib.util.spec_from_file_location(f"{PACKAGE}.{name}", Path(folder) / f"{name}.abi3.so")
        if spec is None or spec.loader is None:
            raise RuntimeError(f"no kernel in {folder}")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        sys.modules[f"{PACKAGE}.{name}"] = module
    return True
