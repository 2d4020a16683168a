"""Runs the fuzzers, each in a process with the variables and libraries it needs."""

from __future__ import annotations

import argparse
import importlib
import os
import subprocess
import sys
import time

from tools.fuzz import FUZZERS


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.fuzz", description="Attack semtropy with random inputs."
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"which of {', '.join(FUZZERS)}; all by default"
    )
    parser.add_argument("--cases", type=int, help="how many cases of each")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=600.0, help="time allowed for each fuzzer")
    parser.add_argument("--here", action="store_true", help="in this process, without sanitizers")
    given = parser.parse_args()
    unknown = [name for name in given.names if name not in FUZZERS]
    if unknown:
        parser.error(f"no fuzzer is called {unknown[0]!r}: choose from {', '.join(FUZZERS)}")
    failed = [name for name in given.names or FUZZERS if not _run(name, given)]
    return 1 if failed else 0


def _run(name: str, given: argparse.Namespace) -> bool:
    module = importlib.import_module(FUZZERS[name])
    cases = given.cases or module.CASES
    start = time.monotonic()
    if given.here:
        module.fuzz(cases, given.seed)
    else:
        extra = module.environment() if hasattr(module, "environment") else {}
        command = [sys.executable, "-X", "faulthandler", "-m", "tools.fuzz", "--here", name]
        command += ["--cases", str(cases), "--seed", str(given.seed)]
        try:
            status = subprocess.run(command, env=os.environ | extra, timeout=given.seconds).returncode
        except subprocess.TimeoutExpired:
            print(f"{name}: not done after {given.seconds:.0f} s", flush=True)
            return False
        if status:
            print(f"{name}: failed with exit status {status}", flush=True)
            return False
        print(f"{name}: {cases} cases, clean, {time.monotonic() - start:.0f} s", flush=True)
    return True


if __name__ == "__main__":
    raise SystemExit(main())
