"""The overhead of generation over the model, and the time to read a large recording.

With a model that answers at once, the time per question is that of prompts, grades, seeds and the synced store. A
recording of 1,000 questions x 100 samples with tokens and log-probabilities is written through the store, and read back
in a separate process, whose memory is measured. With the built-in model, P(True) is timed against the rest of a
question: its examples are made and read once for a run, and are reported apart.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from semtropy.models import load_model, weights
from semtropy.nouns import Sample
from semtropy.recording.formats import export
from semtropy.recording.store import RecordingStore
from semtropy.study.generate import generate
from semtropy.study.generate.datasets import load_dataset
from semtropy.study.generate.engines import LocalEngine, QuestionTask
from semtropy.study.generate.requests import BriefPrompt, GenerationPlan, seed_of

QUESTIONS, SAMPLES = 1000, 100
LIMIT_SECONDS, LIMIT_MEGABYTES = 2.0, 500.0
LIMIT_RATIO = 1.5  # of a run of 100 questions with P(True) to one without
READ = """
import json, resource, sys, time
from semtropy.recording import read_recording
began, busy = time.perf_counter(), time.process_time()
rows = len(read_recording(sys.argv[1]))
spent = {"rows": rows, "seconds": time.perf_counter() - began, "cpu_seconds": time.process_time() - busy}
spent["megabytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps(spent))
"""


class Instant:
    """Answers at once, from a hundred answers made beforehand."""

    name = "instant"

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self._answers = [
            Sample(f"answer {k % 9}", -1.5, tuple(rng.integers(0, 49152, 6).tolist()), (-0.25,) * 6)
            for k in range(SAMPLES)
        ]

    def sample(
        self, prompt: str, n: int, *, temperature: float = 1.0, rng: np.random.Generator | None = None
    ) -> list[Sample]:
        """The first `n` answers."""
        return self._answers[:n]


def overhead(folder: Path) -> dict[str, float]:
    """Milliseconds per question and per sample."""
    dataset = load_dataset("facts", limit=100)
    plan = GenerationPlan(BriefPrompt(dataset.examples), samples=SAMPLES)
    began = time.perf_counter()
    generate(dataset, plan, LocalEngine(Instant), folder, model="instant")
    spent = time.perf_counter() - began
    return {"ms_a_question": 1e3 * spent / 100, "ms_of_it_a_sample": 1e3 * spent / 100 / SAMPLES}


def p_true_ratio(folder: Path, questions: int = 6, samples: int = 50) -> dict[str, float] | None:
    """How much longer a question takes with P(True), and what its examples take once; None without the weights.

    Both are processor seconds of this process, in which the built-in model runs, so that other work counts for nothing.
    """
    if weights.where(weights.SMOLLM2) is None:
        return None
    spent = {}
    for name, asked in (("without", 0), ("first", 1), ("with", questions)):
        dataset = load_dataset("facts", limit=asked or questions)
        plan = GenerationPlan(BriefPrompt(dataset.examples), samples=samples, p_true=() if asked else None)
        engine = LocalEngine(partial(load_model, "smollm2"))
        next(iter(engine.run([QuestionTask(dataset.questions[0], 0)], replace(plan, samples=1, p_true=None))))
        began = time.process_time()
        generate(dataset, plan, engine, folder / ("with" if asked else name), model="smollm2")
        spent[name] = time.process_time() - began
    a_question = spent["without"] / questions
    with_p_true = spent["with"] / (questions - 1)  # it resumes after the first
    return {
        "ratio_a_question": with_p_true / a_question,
        "seconds_a_question_without": a_question,
        "seconds_of_the_examples": spent["first"] - with_p_true,
        "ratio_of_100_questions": (spent["first"] + 99 * with_p_true) / (100 * a_question),
    }


def made_up_row(index: int, rng: np.random.Generator) -> dict[str, Any]:
    """A question with answers of two to eight tokens."""
    samples = []
    for _ in range(SAMPLES):
        scores = np.round(-rng.exponential(1.0, int(rng.integers(2, 9))), 6).tolist()
        tokens = rng.integers(0, 49152, len(scores)).tolist()
        text = f"answer {int(rng.integers(30))}"
        samples.append(
            {"text": text, "logprob": math.fsum(scores), "tokens": tokens, "token_logprobs": scores}
        )
    answer = {"text": "answer 0", "logprob": -0.5, "correct": bool(index % 2)}
    seeds = {"samples": seed_of(10, str(index), "samples")}
    named = {
        "id": str(index),
        "index": index,
        "question": "Who?",
        "context": None,
        "references": ["answer 0"],
    }
    return {**named, "answer": answer, "samples": samples, "seeds": seeds, "p_true": 0.5}


def write(folder: Path) -> float:
    """Seconds to commit the large recording, question by question, each synced to the disk."""
    rng = np.random.default_rng(0)
    rows = [made_up_row(index, rng) for index in range(QUESTIONS)]
    header = {"semtropy_recording": 1, "model": "m", "dataset": "d", "temperature": 1.0, "eos_included": True}
    began = time.perf_counter()
    with RecordingStore(folder, identity={}, header=header) as store:
        for row in rows:
            store.commit([row])
    return time.perf_counter() - began


def read_back(path: Path) -> dict[str, float]:
    """What a fresh process spends on reading it all; its own seconds count where others share the machine."""
    done = subprocess.run([sys.executable, "-c", READ, str(path)], capture_output=True, text=True, check=True)
    measured: dict[str, float] = json.loads(done.stdout)
    return measured


def main() -> int:
    """Print the figures; 1 when reading back misses its limits."""
    missed = False
    with tempfile.TemporaryDirectory() as place:
        print("generation, over the model:", json.dumps(overhead(Path(place) / "run")))
        found = p_true_ratio(Path(place))
        if found is not None:
            missed |= found["ratio_of_100_questions"] > LIMIT_RATIO
            print("P(True), built-in model:", ", ".join(f"{key} {value:.2f}" for key, value in found.items()))
        folder, file = Path(place) / "large", Path(place) / "large.jsonl.gz"
        print(f"store: {QUESTIONS} synced commits of {SAMPLES} samples in {write(folder):.2f} s")
        export(folder, file)
        for path in (folder, file):
            found = read_back(path)
            missed |= found["cpu_seconds"] > LIMIT_SECONDS or found["megabytes"] > LIMIT_MEGABYTES
            print(f"read back {path.name}:", ", ".join(f"{key} {value:.2f}" for key, value in found.items()))
    return int(missed)


if __name__ == "__main__":
    raise SystemExit(main())
