"""A model for runs that are killed: it takes its time over every sample and leaves a mark for each in a file."""

from __future__ import annotations

import math
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from semtropy.errors import ModelError
from semtropy.nouns import Sample

TEXTS = ("Lima", "Rome", "Oslo", "Cairo")


@dataclass
class Counting:
    """Draws one of four answers; `seconds` a sample; dies for good after `lifetime` samples."""

    marks: str | None = None
    seconds: float = 0.0
    lifetime: float = math.inf
    name: str = "counting"

    def sample(
        self, prompt: str, n: int, *, temperature: float = 1.0, rng: np.random.Generator | None = None
    ) -> list[Sample]:
        generator = np.random.default_rng(rng)
        return [self._one(generator) for _ in range(n)]

    def _one(self, rng: np.random.Generator) -> Sample:
        self.lifetime -= 1
        if self.lifetime < 0:
            raise RuntimeError("the device is lost")
        if self.seconds:
            time.sleep(self.seconds)
        if self.marks is not None:
            with Path(self.marks).open("ab", buffering=0) as file:
                file.write(b".")
        k = int(rng.integers(len(TEXTS)))
        return Sample(TEXTS[k], math.log(0.25), (k, 9), (math.log(0.25), 0.0))


@dataclass
class Flaky(Counting):
    """Fails on the questions whose prompt holds one of `refused`."""

    refused: tuple[str, ...] = ()

    def sample(
        self, prompt: str, n: int, *, temperature: float = 1.0, rng: np.random.Generator | None = None
    ) -> list[Sample]:
        if any(word in prompt.rsplit("Question:", 1)[-1] for word in self.refused):
            raise ModelError("the endpoint hung up")
        return super().sample(prompt, n, temperature=temperature, rng=rng)


def main(folder: str, marks: str, seconds: str, questions: str, samples: str, p_true: str) -> None:
    """One session of a run, in a process of its own."""
    import functools

    from semtropy.study.generate import generate
    from semtropy.study.generate.datasets import load_dataset
    from semtropy.study.generate.engines import load_engine
    from semtropy.study.generate.prompts import BriefPrompt
    from semtropy.study.generate.requests import GenerationPlan

    dataset = load_dataset("facts", limit=int(questions))
    plan = GenerationPlan(
        BriefPrompt(dataset.examples), samples=int(samples), p_true=() if p_true == "yes" else None
    )
    engine = load_engine("local", functools.partial(Counting, marks, float(seconds)))
    print("began", flush=True)
    report = generate(dataset, plan, engine, folder, model="counting")
    print(f"done {report.progress.done}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
    os._exit(0)
