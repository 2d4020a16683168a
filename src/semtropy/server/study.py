"""A recording uploaded to the page: evaluated in a process of its own, which ends with the request."""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from .failures import Problem
from .logs import log

__all__ = ["evaluated", "name_for"]

SECONDS = 300.0
BUDGETS = "1,2,3,5,7,10"
_MAGIC = {b"\x1f\x8b": "recording.jsonl.gz", b"PA": "recording.parquet", b'{"': "recording.jsonl"}


def name_for(content: bytes) -> str:
    """The file name whose ending tells the format, by the first bytes.

    >>> name_for(b'PAR1...'), name_for(b'{"semtropy_recording": 1}')
    ('recording.parquet', 'recording.jsonl')
    """
    start = content[:64].lstrip()
    return _MAGIC.get(start[:2], "recording.jsonl")


async def evaluated(content: bytes) -> dict[str, Any]:
    """AUROC against budget of a recording, as `semtropy evaluate --json` gives it."""
    if not content.strip():
        raise Problem(400, "the recording is empty")
    with tempfile.TemporaryDirectory(prefix="semtropy-") as folder:
        recording, out = Path(folder, name_for(content)), Path(folder, "out.json")
        await asyncio.to_thread(recording.write_bytes, content)
        options = [
            "--json",
            str(out),
            "--seeds",
            "2",
            "--budgets",
            BUDGETS,
            "--bootstrap",
            "0",
            "--processes",
            "1",
            "--folds",
            "2",
        ]
        status, said = await _run("evaluate", str(recording), *options)
        if status != 0:
            raise Problem(400, said.replace(str(recording), "the recording").removeprefix("semtropy: "))
        results = json.loads(out.read_text(encoding="utf-8"))
    return {name: results[name] for name in ("rows", "adaptive", "saving", "tested", "notes")}


async def _run(*arguments: str) -> tuple[int, str]:
    """`semtropy` with these arguments: its exit code and what it said on standard error, its last lines."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "semtropy.cli",
        *arguments,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(SECONDS):
            _, said = await process.communicate()
    except TimeoutError:
        raise Problem(
            413, f"the recording takes longer than {SECONDS:.0f} s: use semtropy evaluate"
        ) from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    lines = said.decode("utf-8", "replace").strip().splitlines()
    told = [line for line in lines if line.startswith("semtropy:")]
    if process.returncode and not told:  # a fault of ours, not of the recording
        log.error(
            "evaluation failed", extra={"facts": {"said": [line for line in lines if "File" in line][-3:]}}
        )
        raise Problem(500, "the evaluation failed; the gateway's log names the place", "server_error")
    return process.returncode or 0, told[-1] if told else ""
