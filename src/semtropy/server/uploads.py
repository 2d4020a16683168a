"""Evaluation of an uploaded recording, in a child process with limits on memory and time.

    python -m semtropy.server.uploads RECORDING OUT MEGABYTES

is the child: it writes {"results": ...} or {"error": ...} to OUT.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from ..errors import SemtropyError
from .errors import Problem
from .telemetry import log

__all__ = ["evaluate_upload", "file_name"]

SECONDS = 300.0
MEGABYTES = 2000
"""Address space of the child: its libraries take some 700 MB of it, most never touched."""
BUDGETS = (1, 2, 3, 5, 7, 10)
RESULTS = ("rows", "adaptive", "saving", "tested", "notes")
_NAMES = {b"\x1f\x8b": "recording.jsonl.gz", b"PA": "recording.parquet"}


def file_name(content: bytes) -> str:
    """A file name whose ending fits the format that the first bytes show.

    >>> file_name(b'PAR1...'), file_name(b'{"semtropy_recording": 1}')
    ('recording.parquet', 'recording.jsonl')
    """
    return _NAMES.get(content[:64].lstrip()[:2], "recording.jsonl")


async def evaluate_upload(content: bytes) -> dict[str, Any]:
    """AUROC against budget for a recording, as in the JSON of `semtropy evaluate`."""
    if not content.strip():
        raise Problem(400, "the recording is empty")
    with tempfile.TemporaryDirectory(prefix="semtropy-") as folder:
        recording, out = Path(folder, file_name(content)), Path(folder, "out.json")
        await asyncio.to_thread(recording.write_bytes, content)
        status = await _run_child(recording, out)
        if not out.exists():
            log.error("evaluation failed", extra={"fields": {"exit_status": status}})
            raise Problem(413, "the recording needs more memory than an upload may: use semtropy evaluate")
        found: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    if "error" in found:
        raise Problem(400, found["error"].replace(str(recording), "the recording"))
    results: dict[str, Any] = found["results"]
    return results


async def _run_child(recording: Path, out: Path) -> int:
    """Run the child and return its exit status; it is killed when it takes too long or the client leaves."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", __name__, str(recording), str(out), str(MEGABYTES)),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(SECONDS):
            return await process.wait()
    except TimeoutError:
        message = f"the recording takes longer than {SECONDS:.0f} s: use semtropy evaluate"
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
    from ..study.evaluate import evaluate

    try:
        results = evaluate([recording], budgets=BUDGETS, seeds=2, folds=2, bootstrap=0, processes=1)
    except SemtropyError as error:
        found: dict[str, Any] = {"error": str(error)}
    else:
        everything = json.loads(results.to_json())
        found = {"results": {name: everything[name] for name in RESULTS}}
    Path(out).write_text(json.dumps(found), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
