"""The samples that `benchmarks.compare` gives to every method: chosen, grouped and related once by one judge."""

from __future__ import annotations

from pathlib import Path

from semtropy.meaning import load_judge
from semtropy.recording import read_recording, write_recording
from semtropy.study.evaluate.resampling import natural_key, seed_words
from semtropy.study.judging import RowGrouping, RowRelating, judge_recording

__all__ = ["JUDGE", "POOL", "recording_name", "samples_of"]

JUDGE, POOL = "builtin", 20


def recording_name(path: Path) -> str:
    """The name of a recording without its folder and suffixes.

    >>> recording_name(Path("runs/facts--smollm2.jsonl.gz"))
    'facts--smollm2'
    """
    return path.name.removesuffix(".gz").removesuffix(".jsonl")


def samples_of(path: Path, work: Path, most: int, judge: str = JUDGE) -> Path:
    """At most `most` questions of a recording, with the judge's meanings and its relations of the first samples.

    Each of the three steps leaves its file in `work`, and one that was interrupted goes on where it stopped.
    """
    name = recording_name(path)
    chosen, grouped, related = (work / f"{name}.{step}.jsonl.gz" for step in ("chosen", "grouped", "related"))
    if related.exists():
        return related
    if not chosen.exists():
        choose_questions(path, chosen, most)
    judging = load_judge(judge, cache=work / "judgements.sqlite")
    if not grouped.exists():
        judge_recording(chosen, grouped, judging, RowGrouping(every=True))
    judge_recording(grouped, related, judging, RowRelating(first=POOL))
    return related


def choose_questions(path: Path, out: Path, most: int) -> None:
    """Write `most` questions of a recording, chosen by a hash of their ids, in the order of their ids."""
    recording = read_recording(path)
    rows = sorted(recording, key=lambda row: seed_words("compare", row.id))[:most]
    write_recording(out, recording.header, sorted(rows, key=lambda row: natural_key(row.id)))
