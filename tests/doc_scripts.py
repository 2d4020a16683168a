"""Runs the scripts that the pages of integrations show, and compares what they print."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tools.markdown import blocks

ROOT = Path(__file__).resolve().parent.parent


def shown_and_printed(page: str, folder: Path, **environment: str) -> tuple[str, str]:
    """The output that a page shows (its first `text` block) and that of its first `python` block, run in `folder`."""
    found = blocks((ROOT / "docs" / "integrations" / page).read_text(encoding="utf-8"))
    script = next(block.code for block in found if block.language == "python")
    shown = next(block.code for block in found if block.language == "text")
    paths = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": paths, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return shown.strip(), done.stdout.strip()
