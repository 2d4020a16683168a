"""`make demo`: two verdicts from the real model."""

from __future__ import annotations

import re
import runpy


def test_the_demo_ends_with_two_verdicts(root, smollm2, capsys):
    assert runpy.run_path(str(root / "examples" / "demo.py"))["main"](3) == 0
    out = capsys.readouterr().out
    assert out.count("Semantic entropy") == 2
    assert out.index("Looks steady") < out.index("Likely made up")
    answers, agreement, nats = (
        out.index(word) for word in ("Looks steady", "Asked again", "Semantic entropy")
    )
    assert answers < agreement < nats
    assert re.search(r"repeat its\s+first\s+answer\s+(more\s+than\s+)?\d+\s+times", out)
    assert "0 x" not in out
