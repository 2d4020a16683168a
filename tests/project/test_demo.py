"""`make demo`: three verdicts from the real model."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from semtropy.cli import demo, main
from semtropy.cli.demo import next_steps


def test_the_demo_shows_three_verdicts(smollm2, capsys, monkeypatch):
    monkeypatch.setattr(demo, "PARAGRAPH_TOKENS", 32)  # a shorter paragraph has claims too
    assert main(["demo", "--seed", "3"]) == 0
    out = capsys.readouterr().out
    assert out.count("Semantic entropy") == 2
    assert out.index("Looks steady") < out.index("Likely made up")
    answers, agreement, nats = (
        out.index(word) for word in ("Looks steady", "Asked again", "Semantic entropy")
    )
    assert answers < agreement < nats
    assert re.search(r"repeat its\s+first\s+answer\s+(more\s+than\s+)?\d+\s+times", out)
    assert "0 x" not in out
    assert " claims" in out
    assert out.count("$ semtropy check ") == 3
    assert "  | " in out  # the paragraph itself


def test_the_demo_says_how_to_type_semtropy():
    """The commands it ends with work in a shell: `semtropy` is the program of this environment."""
    steps = next_steps()
    assert steps[-1].startswith("semtropy check ")
    folder = Path(sys.executable).parent
    if os.name == "nt" or sys.prefix == sys.base_prefix or not (folder / "semtropy").exists():
        return
    script = "\n".join([*steps[:-1], "command -v semtropy"])
    plain = {name: value for name, value in os.environ.items() if name != "PATH"} | {"PATH": os.defpath}
    found = subprocess.run(["sh", "-c", script], capture_output=True, text=True, env=plain, check=False)
    assert found.stdout.strip() == str(folder / "semtropy"), found.stderr
