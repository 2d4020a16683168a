"""A small graded recording in which wrong answers have more meanings."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path


def graded_recording(path: Path, questions: int = 80, samples: int = 12) -> Path:
    """Write it to `path`."""
    rng = random.Random(5)
    lines: list[dict[str, object]] = [
        {
            "semtropy_recording": 1,
            "model": "a-model",
            "dataset": "a-set",
            "temperature": 1.0,
            "eos_included": True,
        }
    ]
    for number in range(questions):
        right = number % 2 == 0
        weights = [0.85, 0.1, 0.05] if right else [0.3, 0.25, 0.2, 0.15, 0.1]
        drawn = rng.choices(range(len(weights)), weights, k=samples)
        order: dict[int, int] = {}
        made = [
            {
                "text": f"answer {k}",
                "logprob": math.log(weights[k]),
                "meaning": order.setdefault(k, len(order)),
            }
            for k in drawn
        ]
        answer = {"text": "answer 0", "correct": right if rng.random() < 0.9 else not right}
        row = {"id": str(number), "question": f"q{number}?", "context": None, "references": ["answer 0"]}
        lines.append({**row, "answer": answer, "samples": made})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path
