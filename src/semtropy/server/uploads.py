"""Evaluation of an uploaded recording, in a child process with limits on memory and time.

    python -m semtropy.server.uploads RECORDING OUT MEGABYTES

is the child: it writes {"results": ...} or {"error": ..., "status": ...} to OUT.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import SemtropyError
from .errors import Problem
from .middleware import too_large
from .telemetry import log

if TYPE_CHECKING:
    from fastapi import Request

    from .settings import Settings

__all__ = ["evaluate_upload", "file_name", "receive_upload"]

SECONDS = 300.0
BUDGETS = (1, 2, 3, 5, 7, 10)
RESAMPLES = 200
RESULTS = ("rows", "adaptive", "saving", "tested", "notes")
TOO_MUCH_MEMORY = "the recording needs more memory than uploads may use: evaluate it with semtropy evaluate"
_NAMES = {b"\x1f\x8b": "recording.jsonl.gz", b"PA": "recording.parquet"}


def file_name(content: bytes) -> str:
    """A file name whose ending fits the format that the first bytes show.

    >>> file_name(b'PAR1...'), file_name(b'{"semtropy_recording": 1}')
    ('recording.parquet', 'recording.jsonl')
    """
    return _NAMES.get(content[:64].lstrip()[:2], "recording.jsonl")


async def receive_upload(request: Request, folder: Path, settings: Settings) -> Path:
    """Write the body of a request to a file as it arrives, within the limits on size and time."""
    partial, size, head = folder / "upload", 0, b""
    try:
        async with asyncio.timeout(settings.client_timeout):
            with partial.open("wb") as file:
                async for chunk in request.stream():
                    size += len(chunk)
                    if size > settings.max_upload:
                        raise too_large(settings.max_upload)
                    head += chunk[: 64 - len(head)]
                    file.write(chunk)
    except TimeoutError:
        raise Problem(408, "the recording did not arrive in time") from None
    if not head.strip():
        raise Problem(400, "the recording is empty")
    return partial.rename(folder / file_name(head))


async def evaluate_upload(recording: Path, megabytes: int) -> dict[str, Any]:
    """AUROC against budget for a recording, as in the JSON of `semtropy evaluate`."""
    out = recording.with_name("out.json")
    status = await _run_child(recording, out, megabytes)
    if not out.exists():  # it could not even write an error
        log.error("evaluation failed", extra={"fields": {"exit_status": status}})
        raise Problem(413, TOO_MUCH_MEMORY)
    found: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    if "results" in found:
        results: dict[str, Any] = found["results"]
        return results
    if found["status"] == 500:
        log.error("evaluation failed", extra={"fields": {"error": found["error"]}})
        raise Problem(500, "the evaluation failed; the gateway's log names the error", "server_error")
    raise Problem(found["status"], found["error"].replace(str(recording), "the recording"))


async def _run_child(recording: Path, out: Path, megabytes: int) -> int:
    """Run the child and return its exit status; it is killed when it takes too long or the client leaves."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", __name__, str(recording), str(out), str(megabytes)),
        stdin=asyncio.subprocess.PIPE,  # closes when the gateway ends, however it ends
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
        # Each thread of a numerical library reserves address space, and one is enough.
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "ARROW_NUM_THREADS": "1"},
    )
    try:
        async with asyncio.timeout(SECONDS):
            return await process.wait()
    except TimeoutError:
        message = f"the recording takes longer than {SECONDS:.0f} s: evaluate it with semtropy evaluate"
        raise Problem(413, message) from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def limit_memory(megabytes: int) -> None:
    """Limit the address space of this process, where the system can."""
    try:
        import resource
    except ImportError:  # Windows
        return
    limit = megabytes * 1_000_000
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def main(recording: str, out: str, megabytes: str) -> int:
    """The child: evaluate `recording` and write the results or the error to `out`."""
    limit_memory(int(megabytes))
    try:
        from ..study.evaluate import evaluate

        results = evaluate([recording], budgets=BUDGETS, seeds=2, folds=2, bootstrap=RESAMPLES)
        everything = json.loads(results.to_json())
        found: dict[str, Any] = {"results": {name: everything[name] for name in RESULTS}}
    except SemtropyError as error:
        found = {"error": str(error), "status": 400}
    except MemoryError:
        found = {"error": TOO_MUCH_MEMORY, "status": 413}
    except Exception as error:
        found = {"error": type(error).__name__, "status": 500}
    Path(out).write_text(json.dumps(found), encoding="utf-8")
    return 0


def _end_with_gateway() -> None:
    """End this process when standard input closes: a gateway that was killed cannot end it."""

    def watch() -> None:
        sys.stdin.buffer.read()
        os._exit(1)

    threading.Thread(target=watch, name="semtropy-gateway", daemon=True).start()


if __name__ == "__main__":
    _end_with_gateway()
    sys.exit(main(*sys.argv[1:]))
