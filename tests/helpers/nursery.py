"""`python nursery.py FD` imports what children of `limited` need and forks one for each request on the socket FD."""

from __future__ import annotations

import json
import os
import resource
import socket
import sys
import traceback
from pathlib import Path

import numpy as np  # noqa: F401 - reserves address space of its own

import semtropy.recording.importers  # noqa: F401 - what most children use


def peak() -> int:
    """The most memory the child had, in kB; `getrusage` would count what its parent had when it forked."""
    with Path("/proc/self/status").open() as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))


def run(code: str, arguments: list[str], limit: int, folder: str, environment: dict[str, str]) -> int:
    # Python's own were made for what the nursery writes to.
    sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w", buffering=1)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["-c", *arguments]
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    try:
        exec(code, {"__name__": "__main__", "sys": sys, "resource": resource, "peak": peak})
        sys.stdout.flush()
    except SystemExit as end:
        return int(end.code or 0)
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def main() -> None:
    asked = socket.socket(fileno=int(sys.argv[1]))
    while True:
        request, outputs, _, _ = socket.recv_fds(asked, 1 << 20, 2)
        if not request:
            return
        child = os.fork()
        if child == 0:
            asked.close()
            for place, output in enumerate(outputs, start=1):
                os.dup2(output, place)
                os.close(output)
            os._exit(run(**json.loads(request)))
        for output in outputs:
            os.close(output)
        asked.send(str(child).encode())
        asked.send(str(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])).encode())


if __name__ == "__main__":
    main()
