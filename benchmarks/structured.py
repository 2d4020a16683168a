"""Structured answers on recordings: is a wrong field named and a right one not, at the samples of one plain check?

Two recorded questions make one structured one: each answer and each sample of the pair is a JSON object with two
fields. One field is answered right, the other wrong, in either order. Every field is checked as part of the object and,
for comparison, as a plain question with the same samples in the same order. Then one question makes an object whose
second field repeats the first and is certain given it, as a value that follows from another is: it deserves the verdict
on the first. `python -m benchmarks.structured [--pairs 100] [--only RECORDING]`.

Limits: of the fields that are right and that a plain check calls steady, at most 5% are named without
log-probabilities, where both checks see the same evidence; of those that are wrong and that a plain check flags, at
least 95% are named; with log-probabilities, at most 0.5 samples more are drawn than in the longer of two plain checks.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from semtropy import Sample
from semtropy.checking import Checker
from semtropy.recording import Row, read_recording
from semtropy.verdict import Outcome

if TYPE_CHECKING:
    from semtropy.verdict import Verdict

__all__ = [
    "PairResult",
    "PairedQuestions",
    "Stored",
    "check_followers",
    "check_pairs",
    "labelled_judge",
    "main",
    "pairs_of",
    "summary",
]

SHARED = Path(__file__).parents[2] / "shared" / "data" / "recordings"
NAMES = {
    "Llama-2 SVAMP": "Llama-2-7b-chat--svamp",
    "Llama-3.2 SVAMP": "Llama-3.2-3B-Instruct--svamp",
    "Qwen SVAMP": "Qwen2.5-Coder-1.5B-Instruct--svamp",
    "Qwen TriviaQA": "Qwen2.5-Coder-1.5B-Instruct--trivia_qa",
}
FIELDS = ("first", "second")
SCHEMA = {
    "type": "object",
    "properties": {name: {"type": "string"} for name in FIELDS},
    "required": list(FIELDS),
}
MOST_FALSE, LEAST_FOUND, MOST_EXTRA = 0.05, 0.95, 0.5
LEAST_DOUBT = -1e-6  # recordings round what is nearly certain to 0, which a check takes for a placeholder


@dataclass(frozen=True)
class Stored:
    """One recorded question: its answer and its samples in the order in which they are dealt."""

    row: Row
    order: tuple[int, ...]

    @classmethod
    def of(cls, row: Row, rng: np.random.Generator) -> Stored:
        return cls(row, tuple(rng.permutation(len(row["samples"])).tolist()))

    @cached_property
    def samples(self) -> tuple[Sample, ...]:
        recorded = self.row.samples
        return tuple(_doubted(recorded[k]) for k in self.order)

    @property
    def answer(self) -> Sample:
        return _doubted(self.row.judged_sample())

    @property
    def correct(self) -> bool:
        return self.row.answer is not None and self.row.answer.correct is True


def _doubted(sample: Sample) -> Sample:
    """The sample with a probability just below 1 where the recording rounds it to 1."""
    whole, weighed = sample.logprob, sample.sampling_logprob
    return replace(
        sample,
        logprob=None if whole is None else min(whole, LEAST_DOUBT),
        sampling_logprob=None if weighed is None else min(weighed, LEAST_DOUBT),
    )


class Dealt:
    """A model that deals the samples of one question in order; `logprobs` tells whether it gives log-probabilities."""

    name = "dealt"

    def __init__(self, answer: Sample, samples: Sequence[Sample], *, logprobs: bool) -> None:
        self._answer, self._waiting, self._logprobs = answer, list(samples), logprobs

    def sample(self, prompt: Any, n: int, *, temperature: float = 1.0, rng: Any = None) -> list[Sample]:
        if temperature < 1:
            return [self._shown(self._answer)] * n
        drawn, self._waiting = self._waiting[:n], self._waiting[n:]
        return [self._shown(each) for each in drawn]

    def _shown(self, sample: Sample) -> Sample:
        return sample if self._logprobs else Sample(sample.text, complete=sample.complete)


class PairedQuestions:
    """Two questions as one with structured answers, as an endpoint would send them: pieces with log-probabilities.

    The last piece of a value is its closing quote, with the log-probability of the whole recorded answer, end included.
    With `follows` the second field is certain given the first.
    """

    def __init__(self, one: Stored, two: Stored, *, follows: bool = False) -> None:
        self._follows = follows
        self.spellings: dict[object, int] = {}
        pairs = zip(one.samples, two.samples, strict=False)
        self.samples = tuple(self._joined((a, b), (a.logprob, b.logprob)) for a, b in pairs)
        answers = one.answer, two.answer
        made = self._joined(answers, tuple(answer.sampling_logprob for answer in answers))
        self.answer = replace(made, logprob=None, sampling_logprob=made.logprob)

    def _joined(self, values: tuple[Sample, Sample], logprobs: Sequence[float | None]) -> Sample:
        """The JSON object of two values; the probability of each is that of its pieces, the rest is certain."""
        if self._follows and None not in logprobs:
            logprobs = logprobs[0], LEAST_DOUBT
        pieces: list[str] = []
        known: list[float] = []
        for name, sample, logprob in zip(FIELDS, values, logprobs, strict=True):
            spelled = self._spelled(name, sample, logprob)
            pieces += [f'{"{" if name == FIELDS[0] else ", "}"{name}": ', *spelled]
            known += [0.0] * len(spelled) + [0.0 if logprob is None else logprob]
        text, complete = "".join((*pieces, "}")), all(value.complete for value in values)
        if None in logprobs:
            return Sample(text, complete=complete)
        made = Sample(text, math.fsum(known), (*pieces, "}"), (*known, 0.0), complete)
        entropies = [max(value.token_entropies) for value in values if value.token_entropies]
        if len(entropies) < len(values):
            return made
        entropies[1] = 0.0 if self._follows else entropies[1]
        return replace(made, token_entropies=(0.0, 0.0, entropies[0], 0.0, 0.0, entropies[1], 0.0))

    def _spelled(self, name: str, sample: Sample, logprob: float | None) -> list[str]:
        """The value in pieces; two token sequences of one text are cut at different places."""
        quoted = json.dumps(sample.text, ensure_ascii=False)
        key = name, sample.text, logprob if sample.tokens is None else sample.tokens
        same = sum(other[:2] == key[:2] for other in self.spellings)  # type: ignore[index]
        cut = self.spellings.setdefault(key, min(same, len(quoted)))
        return [quoted[:cut], quoted[cut:]]


def labelled_judge(stored: Sequence[Stored]) -> Any:
    """A judge that knows the meanings of the recording: two texts of one question are one if their labels are."""
    labels: dict[str, dict[str, object]] = {}
    for each in stored:
        own = labels.setdefault(each.row.id, {})
        answer = each.row.get("answer", {})
        for entry in (answer, *each.row["samples"]):
            if entry.get("meaning") is not None:
                own.setdefault(entry["text"].strip(), entry["meaning"])

    class Labelled:
        name = "labelled"

        def entails(self, batch: Sequence[tuple[str, str, str]]) -> Any:
            return np.array([self._same(*triple) for triple in batch])

        def _same(self, question: str, a: str, b: str) -> float:
            own = next(known for known in labels.values() if a.strip() in known and b.strip() in known)
            return float(own[a.strip()] == own[b.strip()])

    return Labelled()


def pairs_of(rows: Sequence[Row], count: int, seed: int = 0) -> Iterator[tuple[Stored, Stored]]:
    """A question answered right and one answered wrong, the wrong one first in every other pair."""
    rng = np.random.default_rng(seed)
    graded = [
        Stored.of(row, rng) for row in rows if row.answer is not None and row.answer.correct is not None
    ]
    right = [each for each in graded if each.correct]
    wrong = [each for each in graded if not each.correct]
    for place in range(min(count, len(wrong)) if right else 0):
        pair = right[int(rng.integers(len(right)))], wrong[place]
        yield pair if place % 2 == 0 else pair[::-1]


@dataclass(frozen=True)
class PairResult:
    """The outcomes of one pair: by field, and of the two plain checks."""

    correct: tuple[bool, bool]
    fields: tuple[Outcome, Outcome]
    alone: tuple[Outcome, Outcome]
    samples: int
    samples_alone: tuple[int, int]


def check_pairs(pairs: Sequence[tuple[Stored, Stored]], *, logprobs: bool) -> list[PairResult]:
    """Check each pair as one structured question, and both of its questions alone."""
    results = []
    for pair in pairs:
        judge = labelled_judge(pair)
        joint = PairedQuestions(*pair)
        verdict = _checked(joint.answer, joint.samples, judge, logprobs=logprobs, schema=SCHEMA)
        alone = [_checked(each.answer, each.samples, judge, logprobs=logprobs) for each in pair]
        results.append(
            PairResult(
                correct=(pair[0].correct, pair[1].correct),
                fields=tuple(field.outcome for field in verdict.fields),  # type: ignore[arg-type]
                alone=(alone[0].outcome, alone[1].outcome),
                samples=verdict.samples,
                samples_alone=(alone[0].samples, alone[1].samples),
            )
        )
    return results


def check_followers(pairs: Sequence[tuple[Stored, Stored]], results: Sequence[PairResult]) -> tuple[int, int]:
    """Of fields that follow from another and whose question a plain check flags, those that are named; and how many.

    `results` are those of `check_pairs` with log-probabilities.
    """
    flagged = [
        each
        for pair, result in zip(pairs, results, strict=True)
        for each, outcome in zip(pair, result.alone, strict=True)
        if outcome is Outcome.FLAGGED
    ]
    named = 0
    for each in flagged:
        joint = PairedQuestions(each, each, follows=True)
        judge = labelled_judge([each])
        verdict = _checked(joint.answer, joint.samples, judge, logprobs=True, schema=SCHEMA)
        named += verdict.fields[1].flagged
    return named, len(flagged)


def _checked(
    answer: Sample, samples: Sequence[Sample], judge: Any, *, logprobs: bool, **options: Any
) -> Verdict:
    model = Dealt(answer, samples, logprobs=logprobs)
    return Checker.load(model=model, judge=judge, **options).check("Answer.")


def _share(
    results: Sequence[PairResult], chosen: Callable[[PairResult, int], bool], column: str
) -> tuple[int, int]:
    """How many of the chosen fields are flagged, and how many were chosen."""
    found = [getattr(each, column)[k] for each in results for k in (0, 1) if chosen(each, k)]
    return sum(outcome is Outcome.FLAGGED for outcome in found), len(found)


def summary(results: Sequence[PairResult]) -> dict[str, Any]:
    """The figures of one recording."""
    judged = [each for each in results if len(each.fields) == 2]
    return {
        "pairs": len(judged),
        "wrong": _share(judged, lambda r, k: not r.correct[k], "fields"),
        "wrong alone": _share(judged, lambda r, k: not r.correct[k], "alone"),
        "right": _share(judged, lambda r, k: r.correct[k], "fields"),
        "right alone": _share(judged, lambda r, k: r.correct[k], "alone"),
        "steady right": _share(judged, lambda r, k: r.correct[k] and r.alone[k] is Outcome.STEADY, "fields"),
        "flagged wrong": _share(
            judged, lambda r, k: not r.correct[k] and r.alone[k] is Outcome.FLAGGED, "fields"
        ),
        "same outcome": (sum(r.fields[k] is r.alone[k] for r in judged for k in (0, 1)), 2 * len(judged)),
        "samples": float(np.mean([each.samples for each in judged])),
        "one plain check": float(np.mean([max(each.samples_alone) for each in judged])),
        "two plain checks": float(np.mean([sum(each.samples_alone) for each in judged])),
    }


def _percent(share: tuple[int, int]) -> str:
    return f"{share[0]} of {share[1]} ({share[0] / max(1, share[1]):.0%})"


def _print(name: str, found: dict[str, Any]) -> None:
    print(
        f"{name}: {found['pairs']} pairs\n"
        f"  wrong fields named {_percent(found['wrong'])}; flagged alone {_percent(found['wrong alone'])}\n"
        f"  right fields named {_percent(found['right'])}; flagged alone {_percent(found['right alone'])}\n"
        f"  right and steady alone, named {_percent(found['steady right'])}; "
        f"wrong and flagged alone, named {_percent(found['flagged wrong'])}; "
        f"same outcome {_percent(found['same outcome'])}\n"
        f"  samples {found['samples']:.2f}; the longer of two plain checks {found['one plain check']:.2f}, "
        f"both together {found['two plain checks']:.2f}",
        flush=True,
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.structured")
    parser.add_argument("--pairs", type=int, default=100)
    parser.add_argument("--only", choices=NAMES, help="one recording instead of all of them")
    options = parser.parse_args()
    if not SHARED.is_dir():
        print("needs the recordings in ../shared/data")
        return 0
    missed = False
    for name in [options.only] if options.only else NAMES:
        file = NAMES[name]
        pairs = list(pairs_of(list(read_recording(SHARED / f"{file}.jsonl.gz")), options.pairs))
        for logprobs in (False, True):
            results = check_pairs(pairs, logprobs=logprobs)
            found = summary(results)
            _print(f"{name}, {'with' if logprobs else 'without'} log-probabilities", found)
            (false, steady), (named, flagged) = found["steady right"], found["flagged wrong"]
            missed |= named < LEAST_FOUND * flagged
            missed |= found["samples"] > found["one plain check"] + MOST_EXTRA
            missed |= not logprobs and false > MOST_FALSE * steady
        followers = check_followers(pairs, results)
        print(f"  fields that follow from one that a plain check flags, named {_percent(followers)}")
    return int(missed)


if __name__ == "__main__":
    raise SystemExit(main())
