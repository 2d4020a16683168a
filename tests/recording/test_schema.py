"""The recording schema, its reader and its writer: exact both ways, and exact about what is wrong."""

from __future__ import annotations

import gzip
import json
import math
import subprocess
import sys
import time
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recording_rows import (
    HEADER,
    ROW,
    SHARED,
    bits,
    headers,
    rows,
)
from semtropy import Evidence, Partition, Sample
from semtropy.errors import InputError, RecordingError
from semtropy.recording import Header, Row, Writer, open_recording, read_recording, write_recording
from semtropy.recording.arrays import SampleArrays


def lines(path: Path, *objects: object) -> Path:
    path.write_text("".join(text if isinstance(text, str) else json.dumps(text) + "\n" for text in objects))
    return path


# --- nouns -------------------------------------------------------------------------------------------------------


def test_a_row_gives_nouns() -> None:
    row = Row({**ROW, "grader": {"name": "f1"}})
    assert (row.id, row.context, row.references, row.p_true) == ("q1", None, ("Paris",), 0.75)
    assert row.answer is not None
    assert (row.answer.text, row.answer.logprob, row.answer.correct) == ("Paris", -0.25, True)
    assert row.samples[1] == Sample("Rome", -2.0, (5,), (-2.0,), complete=False)
    assert row.samples[2] == Sample("Paris")
    assert row.partition == Partition((0, 1, 0))
    assert row.extra == {"grader": {"name": "f1"}}
    assert row.evidence() == Evidence.gather(
        row.samples, row.partition, row.judged_sample(), row.answer_meaning()
    )
    assert row == {**ROW, "grader": {"name": "f1"}}


def test_token_log_probabilities_stand_in_for_a_missing_sum() -> None:
    held = [
        {"text": "a", "token_logprobs": [-0.25, -0.5]},
        {"text": "b", "logprob": None, "token_logprobs": [-1.0]},
    ]
    row = Row({"id": 7, "question": "?", "samples": held})
    assert row.id == "7"
    assert [sample.logprob for sample in row.samples] == [-0.75, None]


@pytest.mark.parametrize(
    ("changes", "usable"),
    [
        ({}, True),
        ({"eos_included": False}, False),
        ({"eos_included": None}, False),
        ({"temperature": 0.7}, False),
        ({"temperature": None}, False),
        ({"temperature": 0.7, "logprobs_of_sampling": True}, True),
        ({"logprobs_of_sampling": False}, False),
        ({"top_p": 0.9}, False),
        ({"top_k": 50}, False),
        ({"top_p": 1.0, "top_k": 0}, True),
        ({"eos_included": False, "logprobs_of_sampling": True}, False),
    ],
)
def test_the_header_says_whether_log_probabilities_are_floors(
    changes: dict[str, object], usable: bool
) -> None:
    header = Header({**HEADER, **changes})
    row = Row(ROW, header=header)
    assert header.logprobs_usable is usable
    assert (header.why_logprobs_unusable is None) is usable
    assert row.samples[0].logprob == (-0.5 if usable else None)
    assert row.samples[0].token_logprobs == (-0.3, -0.2)
    assert row.evidence().no_logprob == ((1, 1) if usable else (2, 1))
    assert row["samples"][0]["logprob"] == -0.5


def test_a_header_without_claims_claims_the_rule_of_the_schema() -> None:
    assert Header({"semtropy_recording": 1}).logprobs_usable


def test_meanings_partly_missing_name_the_sample() -> None:
    row = Row({**ROW, "samples": [{"text": "a", "meaning": 0}, {"text": "b"}]}, path="run.jsonl", line=9)
    assert not row.clustered
    with pytest.raises(
        RecordingError,
        match=r"run\.jsonl, line 9, samples\[1\]\.meaning: is missing though other samples have one",
    ):
        row.evidence()
    assert row.with_meanings([4, 2]).partition == Partition((0, 1))
    assert row.with_meanings([4, 2]).meanings == (4, 2)


def test_no_samples_is_no_evidence() -> None:
    with pytest.raises(RecordingError, match="samples: is empty"):
        Row({"id": "1", "question": "?", "samples": []}).evidence()


# --- round trip --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["run.jsonl", "run.jsonl.gz"])
@given(header=headers, held=st.lists(rows, max_size=4, unique_by=lambda row: str(row["id"])))
@settings(max_examples=80, deadline=None)
def test_what_is_written_is_read_bit_for_bit(
    name: str,
    header: dict[str, object],
    held: list[dict[str, object]],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    path = tmp_path_factory.mktemp("trip") / name
    assert write_recording(path, header, held) == len(held)
    back = read_recording(path, allow_empty=True)
    assert bits(dict(back.header)) == bits(header)
    assert [bits(dict(row)) for row in back] == [bits(row) for row in held]
    again = path.with_name("again-" + name)
    write_recording(again, back.header, back)
    assert again.read_bytes() == path.read_bytes()


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs ../shared/data")
@pytest.mark.parametrize("name", ["recordings/Llama-2-7b-chat--svamp", "texts/Llama-3.2-3B-Instruct--nq"])
def test_the_papers_samples_survive_byte_for_byte(name: str, tmp_path: Path) -> None:
    source = SHARED / f"{name}.jsonl.gz"
    stream = open_recording(source)
    copy = tmp_path / "copy.jsonl"
    write_recording(copy, stream.header, stream.rows)
    assert copy.read_bytes() == gzip.decompress(source.read_bytes())


def test_the_same_recording_gives_the_same_gzip_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, now in (
        ("a.jsonl.gz", 1e9),
        ("b.jsonl.gz", 2e9),
    ):  # gzip files hold the time, unless it is left out
        monkeypatch.setattr(time, "time", lambda now=now: now)
        write_recording(tmp_path / name, HEADER, [ROW])
    assert (tmp_path / "a.jsonl.gz").read_bytes() == (tmp_path / "b.jsonl.gz").read_bytes()


def test_line_separators_inside_a_text_do_not_end_a_line(tmp_path: Path) -> None:
    text = "a\u2028b\x0bc\x85d"
    row = json.dumps({**ROW, "question": text}, ensure_ascii=False)
    path = tmp_path / "run.jsonl"
    path.write_text(json.dumps(HEADER) + "\n\n" + row, encoding="utf-8")
    (read,) = open_recording(path).rows
    assert (read.question, read.line) == (text, 3)


# --- errors ------------------------------------------------------------------------------------------------------


def sample(**fields: object) -> dict[str, object]:
    return {**ROW, "samples": [{"text": "a"}, {"text": "b", **fields}]}


@pytest.mark.parametrize(
    ("row", "place", "message"),
    [
        ({**ROW, "id": None}, "id", "expected text, found null"),
        ({key: ROW[key] for key in ROW if key != "question"}, "question", "is missing"),
        ({**ROW, "context": 3}, "context", r"expected text or null, found a number \(3\)"),
        ({**ROW, "references": "Paris"}, "references", "expected a list of texts"),
        ({**ROW, "references": [None]}, "references", "expected a list of texts"),
        ({**ROW, "answer": "Paris"}, "answer", "expected an object with a text"),
        ({**ROW, "answer": {"correct": True}}, r"answer\.text", "is missing"),
        ({**ROW, "answer": {"text": "a", "correct": 1}}, r"answer\.correct", "expected true, false or null"),
        ({**ROW, "answer": {"text": "a", "logprob": True}}, r"answer\.logprob", "expected a number or null"),
        ({**ROW, "samples": {}}, "samples", "expected a list of samples, found an object"),
        ({**ROW, "samples": ["a"]}, r"samples\[0\]", "expected an object with a text"),
        (sample(text=None), r"samples\[1\]\.text", "expected text, found null"),
        (sample(logprob="-1"), r"samples\[1\]\.logprob", r"expected a number or null, found text \('-1'\)"),
        (sample(logprob=0.9), r"samples\[1\]\.logprob", "is 0.9: a log-probability is at most 0"),
        (sample(token_logprobs=-1.0), r"samples\[1\]\.token_logprobs", "expected a list of numbers"),
        (
            sample(token_logprobs=[-1.0, None]),
            r"samples\[1\]\.token_logprobs\[1\]",
            "expected a number, found null",
        ),
        (sample(token_logprobs=[-1.0, 3]), r"samples\[1\]\.token_logprobs\[1\]", "is 3: a log-probability"),
        (sample(tokens=[1.5]), r"samples\[1\]\.tokens", "expected a list of token ids"),
        (sample(complete="yes"), r"samples\[1\]\.complete", "expected true, false or null"),
        (sample(meaning=-1), r"samples\[1\]\.meaning", "expected a whole number from 0"),
        (sample(meaning=True), r"samples\[1\]\.meaning", "expected a whole number from 0"),
        ({**ROW, "p_true": 1.5}, "p_true", "expected a probability between 0 and 1"),
        (sample(logprob=math.nan), r"samples\[1\]\.logprob", "nan is not a JSON number: write null"),
        ({**ROW, "run": {"scores": [1, -math.inf]}}, r"run\.scores\[1\]", "-inf is not a JSON number"),
    ],
)
def test_a_wrong_field_is_named_with_its_line(row: object, place: str, message: str, tmp_path: Path) -> None:
    path = lines(tmp_path / "run.jsonl", HEADER, ROW, row)
    with pytest.raises(RecordingError, match=rf"run\.jsonl, line 3, {place}: {message}"):
        list(open_recording(path).rows)


@pytest.mark.parametrize(
    ("objects", "message"),
    [
        ([], r"run\.jsonl: the file is empty"),
        ([ROW], "line 1, semtropy_recording: is missing"),
        (
            [{**HEADER, "semtropy_recording": 2}],
            "line 1, semtropy_recording: is 2: this semtropy reads version 1",
        ),
        ([{**HEADER, "semtropy_recording": True}], "semtropy_recording: is True"),
        ([{**HEADER, "temperature": "hot"}], "line 1, temperature: expected a number or null, found text"),
        ([{**HEADER, "eos_included": "yes"}], "line 1, eos_included: expected true, false or null"),
        ([HEADER], r"run\.jsonl: the recording holds no questions"),
        ([HEADER, ROW, {**ROW, "question": "again"}], "line 3, id: 'q1' is already the id of line 2"),
        ([HEADER, [1]], "line 2: expected an object"),
        (
            [HEADER, ROW, '{"id": "q2", "quest'],
            "line 3: is not JSON .*; the file ends here: was it truncated",
        ),
        ([HEADER, '{"id": }\n', ROW], r"line 2: is not JSON \(expecting value, column 8\)"),
        ([HEADER, '{"id": "1", "id": "2"}\n'], "line 2, id: the key is used twice"),
        ([HEADER, '{"id": "q"\n', ROW], r"line 2: is not JSON \(expecting ',' delimiter, column 11\)$"),
        ([HEADER, "[" * 100_000], "line 2: is not JSON that can be read"),
    ],
)
def test_a_wrong_file_is_named(objects: list[object], message: str, tmp_path: Path) -> None:
    path = lines(tmp_path / "run.jsonl", *objects)
    with pytest.raises(RecordingError, match=message):
        read_recording(path)


def test_a_cut_gzip_gives_the_rows_before_the_cut(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl.gz"
    rng = np.random.default_rng(1)
    held = [{**ROW, "id": str(i), "note": rng.random(200).tolist()} for i in range(50)]
    write_recording(path, HEADER, held)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    rows = open_recording(path).rows
    assert dict(next(rows)) == held[0]
    with pytest.raises(RecordingError, match=r"run\.jsonl\.gz, line \d+: the gzip data is truncated"):
        list(rows)
    damaged = bytearray(path.read_bytes())
    damaged[len(damaged) // 2] ^= 0xFF
    path.write_bytes(damaged)
    with pytest.raises(RecordingError, match=r"run\.jsonl\.gz, line \d+"):
        list(open_recording(path).rows)


def test_files_that_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match=r"absent\.jsonl: cannot be read: No such file"):
        open_recording(tmp_path / "absent.jsonl")
    with pytest.raises(RecordingError, match="cannot be written: No such file"):
        write_recording(tmp_path / "absent" / "run.jsonl", HEADER, [ROW])
    with pytest.raises(InputError, match=r"must end in \.jsonl, \.jsonl\.gz or \.parquet"):
        write_recording(tmp_path / "run.txt", HEADER, [ROW])
    (tmp_path / "latin.jsonl").write_bytes(json.dumps(HEADER).encode() + b'\n{"id": "\xe9"}\n')
    with pytest.raises(RecordingError, match="line 2: is not UTF-8 text"):
        read_recording(tmp_path / "latin.jsonl")


# --- writing -----------------------------------------------------------------------------------------------------


def test_a_failed_write_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    write_recording(path, HEADER, [ROW])
    before = path.read_bytes()
    with pytest.raises(RecordingError, match=r"line 3, note: nan is not a JSON number"):
        write_recording(path, HEADER, [ROW, {**ROW, "id": "q2", "note": math.nan}])
    with pytest.raises(RecordingError, match=r"id: 'q1' was already written"):
        write_recording(path, HEADER, [ROW, ROW])
    with pytest.raises(RecordingError, match=r"line 2, note: a set cannot be written as JSON"):
        write_recording(path, HEADER, [{**ROW, "note": {1}}])
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_the_writer_shows_nothing_until_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl.gz"
    with Writer(path, HEADER) as writer:
        writer.write(ROW)
        assert not path.exists()
    assert [row.id for row in open_recording(path).rows] == ["q1"]


WRITE_WITH_LITTLE_ROOM = """
import resource, sys
from semtropy.errors import RecordingError
from semtropy.recording import Writer
sys.dont_write_bytecode = True  # a module compiled under the limit would be stored cut off
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
try:
    with Writer(sys.argv[1], {"semtropy_recording": 1}) as writer:
        for i in range(int(sys.argv[2])):
            writer.write({"id": str(i), "question": "?" * 1000, "samples": []})
except RecordingError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits the size of files as only POSIX can")
@pytest.mark.parametrize("rows", [5, 100])
def test_a_full_disk_is_told_and_leaves_nothing(rows: int, tmp_path: Path) -> None:
    command = [sys.executable, "-c", WRITE_WITH_LITTLE_ROOM, str(tmp_path / "run.jsonl"), str(rows)]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert printed == f"{tmp_path / 'run.jsonl'}: cannot be written: File too large\n"
    assert list(tmp_path.iterdir()) == []


# --- subsampling -------------------------------------------------------------------------------------------------


@given(
    held=st.lists(
        st.builds(
            Sample,
            text=st.sampled_from("ab"),
            logprob=st.none() | st.sampled_from([-0.5, -0.7, -3.0]),
            tokens=st.none() | st.sampled_from([(1,), (1, 2)]),
            token_logprobs=st.none() | st.sampled_from([(-0.5,), (-0.3, -0.2)]),
            complete=st.booleans(),
        ),
        min_size=1,
        max_size=8,
    ),
    data=st.data(),
)
@settings(max_examples=300, deadline=None)
def test_draws_give_the_evidence_of_gather_bit_for_bit(held: list[Sample], data: st.DataObject) -> None:
    if any(sample.token_logprobs is None for sample in held) and data.draw(st.booleans()):
        held = [Sample(s.text, s.logprob, s.tokens, (-0.1,), s.complete) for s in held]
    labels = data.draw(st.lists(st.integers(0, 3), min_size=len(held), max_size=len(held)))
    order = data.draw(st.lists(st.integers(0, len(held) - 1), min_size=1, max_size=12))
    draws = SampleArrays.of(held, Partition.of(labels))
    expected = [
        Evidence.gather([held[i] for i in order[:n]], Partition.of([labels[i] for i in order[:n]]))
        for n in range(1, len(order) + 1)
    ]
    if draws.lengths is None:
        # The whole question says whether lengths are known: a subsample does not switch the method on and off.
        expected = [replace(evidence, length_weights=None) for evidence in expected]
    assert list(draws.path(order)) == expected
    assert draws.evidence(np.array(order)) == expected[-1]


# --- size and speed ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """1,000 questions of 100 samples."""
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("large") / "run.jsonl.gz"
    names = [f"answer number {i}" for i in range(20)]
    with Writer(path, HEADER) as writer:
        for i in range(1000):
            picks, scores = rng.integers(0, 20, 100).tolist(), (-10 * rng.random(100)).tolist()
            held = [
                {"text": names[pick], "logprob": score, "meaning": pick}
                for pick, score in zip(picks, scores, strict=True)
            ]
            writer.write({**ROW, "id": str(i), "samples": held})
    return path


READ_AND_MEASURE = """
import re, sys, time
from pathlib import Path
from semtropy.recording import read_recording
before = time.process_time()
recording = read_recording(sys.argv[1])
# Not getrusage: what it tells is inherited from the process that started this one.
peak = re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text()).group(1)
print(len(recording), time.process_time() - before, peak)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is counted in kilobytes on Linux only")
def test_a_thousand_questions_are_read_within_two_seconds_and_500_megabytes(large: Path) -> None:
    # A process of its own: the peak of this one belongs to every test before.
    command = [sys.executable, "-c", READ_AND_MEASURE, str(large)]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    questions, seconds, kilobytes = map(float, printed.split())
    assert (questions, seconds < 2, kilobytes < 500 * 1024) == (1000, True, True), printed


def test_rows_are_read_one_at_a_time(large: Path) -> None:
    tracemalloc.start()
    try:
        assert sum(len(row["samples"]) for row in open_recording(large).rows) == 100_000
        assert tracemalloc.get_traced_memory()[1] < 3_000_000
    finally:
        tracemalloc.stop()


def test_samples_without_replacement_are_refused(tmp_path: Path) -> None:
    path = lines(tmp_path / "r.jsonl", {**HEADER, "replacement": False}, ROW)
    with pytest.raises(RecordingError, match="replacement: is false"):
        read_recording(path)
