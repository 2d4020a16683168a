"""`make bench`, or `python -m benchmarks [NAME ...]`: accuracy, speed and efficiency, as ratios within one run."""

from __future__ import annotations

import importlib
import sys
import time

ALL = ("accuracy", "speed", "efficiency", "distribution", "live", "meaning", "study", "gateway", "generation")


def main() -> int:
    names = sys.argv[1:] or ALL
    unknown = [name for name in names if name not in ALL]
    if unknown:
        print(f"no benchmark is called {unknown[0]!r}: choose from {', '.join(ALL)}", file=sys.stderr)
        return 2
    for name in names:
        print(f"\n## {name}\n", flush=True)
        start = time.perf_counter()
        sys.argv[1:] = []
        importlib.import_module(f"benchmarks.{name}").main()
        print(f"\n({time.perf_counter() - start:.0f} s)", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
