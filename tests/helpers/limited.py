"""Runs code in a child process with little memory and little time, for inputs that would take gigabytes or minutes."""

from __future__ import annotations

import subprocess
import sys

# `peak` is the most memory the child had, in kB; `getrusage` would count what its parent had when it forked.
PREAMBLE = """
import resource, sys
import numpy  # reserves address space of its own
resource.setrlimit(resource.RLIMIT_AS, (int(LIMIT), int(LIMIT)))


def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))


"""


def limited(
    code: str, *arguments: object, limit: float = 1.5e9, seconds: float = 60.0
) -> subprocess.CompletedProcess[str]:
    """The finished child that ran `code` with `arguments` as sys.argv[1:]; a time-out is an error."""
    command = [sys.executable, "-c", PREAMBLE.replace("LIMIT)", f"{limit!r})") + code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
