"""Runs code in a child process with little memory and little time, for inputs that would take gigabytes or minutes."""

from __future__ import annotations

import atexit
import functools
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from threading import Timer


@functools.cache
def nursery() -> socket.socket:
    """To a process that has imported what children need and forks them: to import is most of what they would do."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        command = [sys.executable, str(Path(__file__).with_name("nursery.py")), str(theirs.fileno())]
        running = subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)

    def end() -> None:
        ours.close()
        running.wait()

    atexit.register(end)
    return ours


def limited(
    code: str, *arguments: object, limit: float = 1.5e9, seconds: float = 60.0
) -> subprocess.CompletedProcess[str]:
    """The finished child that ran `code` with `arguments` as sys.argv[1:]; one that takes longer is killed.

    `code` finds `sys`, `resource` and `peak`, which gives the most memory that the child had, in kB.
    """
    words = list(map(str, arguments))
    request = {"code": code, "arguments": words, "limit": int(limit)}
    request |= {"folder": str(Path.cwd()), "environment": dict(os.environ)}
    (out, to_out), (err, to_err) = os.pipe(), os.pipe()
    to_nursery = nursery()
    socket.send_fds(to_nursery, [json.dumps(request).encode()], [to_out, to_err])
    os.close(to_out)
    os.close(to_err)
    child = int(to_nursery.recv(100))
    patience = Timer(seconds, os.kill, (child, signal.SIGKILL))
    patience.start()
    with os.fdopen(out) as said, os.fdopen(err) as complaints:
        texts = said.read(), complaints.read()
    returncode = int(to_nursery.recv(100))
    patience.cancel()
    return subprocess.CompletedProcess(["-c", code, *words], returncode, *texts)
