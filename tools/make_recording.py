"""Make the recording that ships with the package, by the product's own commands: `python -m tools.make_recording`.

Some of the project's own questions (the set `facts`), a hundred samples each from the built-in model, graded, with
P(True). It takes some minutes on one core; stopped, it goes on where it was.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from semtropy.cli import main as semtropy

TARGET = Path(__file__).resolve().parent.parent / "src" / "semtropy" / "data" / "facts--smollm2.jsonl.gz"
LARGEST = 500_000  # bytes; more than a package should carry for an example
GENERATE = ("generate", "--dataset", "facts", "--limit", "43", "--samples", "100", "--model", "smollm2")
MEANINGS = ("--judge", "numeric")


def main(folder: str | None = None) -> int:
    """Generate into `folder` (a temporary one unless given), then write the one file that ships."""
    with tempfile.TemporaryDirectory() as temporary:
        place = folder or temporary
        failed = semtropy([*GENERATE, *MEANINGS, "--out", place])
        failed = failed or semtropy(["recording", "export", place, str(TARGET)])
    if failed:
        return failed
    if TARGET.stat().st_size > LARGEST:
        print(f"{TARGET.name} has {TARGET.stat().st_size} bytes, more than {LARGEST}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:2]))
