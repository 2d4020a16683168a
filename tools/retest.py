"""Run the tests that failed last once more, one after the other; more than a few are not a matter of chance."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

MOST = 3
LAST_FAILED = Path(".pytest_cache/v/cache/lastfailed")


def problem(failed: list[str]) -> str | None:
    """Why the tests are not tried again, or None.

    >>> problem(["tests/a.py::test_a"])
    >>> problem([])
    'no failed test is on record: the run itself broke off'
    >>> problem(["a", "b", "c", "d"])
    '4 tests failed, and at most 3 are tried again'
    """
    if not failed:
        return "no failed test is on record: the run itself broke off"
    if len(failed) > MOST:
        return f"{len(failed)} tests failed, and at most {MOST} are tried again"
    return None


def main() -> int:
    """The exit code of the second try, or 1 without one."""
    try:
        failed = sorted(json.loads(LAST_FAILED.read_text()))
    except FileNotFoundError:
        failed = []
    if reason := problem(failed):
        print(reason)
        return 1
    print("failed once, and tried again alone:", *failed, sep="\n  ", flush=True)
    return subprocess.run([sys.executable, "-m", "pytest", *failed], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
