"""A model that counts its samples in a file, and a run of it that kills itself at a known point."""

from __future__ import annotations

import functools
import itertools
import math
import os
import signal
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
    """Draws one of four answers; `seconds` per sample; fails for good after `lifetime` samples.

    `kill_at` kills the process with SIGKILL in the middle of that sample, counted from 1. Finished samples leave a
    mark each in the file `marks`.
    """

    marks: str | None = None
    seconds: float = 0.0
    lifetime: float = math.inf
    name: str = "counting"
    kill_at: int | None = None
    drawn: int = 0

    def sample(
        self, prompt: str, n: int, *, temperature: float = 1.0, rng: np.random.Generator | None = None
    ) -> list[Sample]:
        generator = np.random.default_rng(rng)
        return [self._one(generator) for _ in range(n)]

    def _one(self, rng: np.random.Generator) -> Sample:
        self.lifetime -= 1
        if self.lifetime < 0:
            raise RuntimeError("the device is lost")
        self.drawn += 1
        if self.drawn == self.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
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


def kill_at_sync(number: int) -> None:
    """Kill this process with SIGKILL when it syncs a file or folder for that time, counted from 1.

    The store syncs twice per write: the file before it is renamed, and the folder afterwards.
    """
    sync, calls = os.fsync, itertools.count(1)

    def counting(descriptor: int) -> None:
        sync(descriptor)
        if next(calls) == number:
            os.kill(os.getpid(), signal.SIGKILL)

    os.fsync = counting


def main(folder: str, marks: str, questions: str, samples: str, event: str, number: str) -> None:
    """One session of a run in a process of its own, killed at the `number`-th `event` (sample, sync or never)."""
    from semtropy.study.generate import GenerationPlan, generate, load_dataset, load_engine
    from semtropy.study.generate.requests import BriefPrompt

    if event == "sync":
        kill_at_sync(int(number))
    dataset = load_dataset("facts", limit=int(questions))
    plan = GenerationPlan(BriefPrompt(dataset.examples), samples=int(samples), p_true=())
    kill_at = int(number) if event == "sample" else None
    engine = load_engine("local", functools.partial(Counting, marks, kill_at=kill_at))
    report = generate(dataset, plan, engine, folder, model="counting")
    print(f"done {report.progress.done}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
