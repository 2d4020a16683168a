"""Runs the scripts that the pages of integrations show, and compares what they print."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tools.markdown import blocks

ROOT = Path(__file__).resolve().parents[2]


def code_and_text(page: str, section: str | None = None) -> tuple[str, str]:
    """The first `python` block of a page, or of one of its sections, and its first `text` block."""
    text = (ROOT / "docs" / "integrations" / page).read_text(encoding="utf-8")
    if section is not None:
        text = text.split(f"\n## {section}\n", 1)[1].split("\n## ", 1)[0]
    script, shown = (
        next(block.code for block in blocks(text) if block.language == kind) for kind in ("python", "text")
    )
    return script, shown.strip()


def shown_and_printed(
    page: str, folder: Path, section: str | None = None, **environment: str
) -> tuple[str, str]:
    """The output that a page shows and that of its script, run in `folder`."""
    script, shown = code_and_text(page, section)
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
    return shown, done.stdout.strip()
