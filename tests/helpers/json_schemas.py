"""Files that are not code, held to the schemas that their tools publish."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def validate(schema: str, *files: Path) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-m",
        "check_jsonschema",
        "--builtin-schema",
        f"vendor.{schema}",
        "--force-filetype",
        "yaml",
    ]
    return subprocess.run([*command, *map(str, files)], capture_output=True, text=True, check=False)
