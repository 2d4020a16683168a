"""`make bench`, or `python -m benchmarks [NAME ...]`: accuracy, speed and efficiency, as ratios within one run."""

from __future__ import annotations

import importlib
import sys
import time

ALL = (
    "accuracy",
    "speed",
    "efficiency",
    "verdict",
    "second",
    "wordings",
    "learning",
    "guarantee",
    "structured",
    "ends",
    "distribution",
    "live",
    "waiting",
    "meaning",
    "claims",
    "study",
    "gateway",
    "generation",
    "scale",
)


def main() -> int:
    names = sys.argv[1:] or ALL
    unknown = [name for name in names if name not in ALL]
    if unknown:
        print(f"no benchmark is called {unknown[0]!r}: choose from {', '.join(ALL)}", file=sys.stderr)
        return 2
    missed = []
    for name in names:
        print(f"\n## {name}\n", flush=True)
        start = time.perf_counter()
        sys.argv[1:] = []
        if importlib.import_module(
            f"benchmarks.{name}"
        ).main():  # a benchmark with a limit says that it missed it
            missed.append(name)
        print(f"\n({time.perf_counter() - start:.0f} s)", flush=True)
    if missed:
        print(f"limits missed: {', '.join(missed)}", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
