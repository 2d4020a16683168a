"""Tables of samples: any delimiter, JSON, other names of columns, and errors that list the columns."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from semtropy.cli import main
from semtropy.errors import InputError, RecordingError
from semtropy.recording import Recording, read_recording
from semtropy.recording.importers import import_recording

LINES = [("q", "a", "-0.5"), ("q", "b, or c", "-2.5"), ("r", "d", "-0.25")]
EXPECTED = [("q", [("a", -0.5), ("b, or c", -2.5)]), ("r", [("d", -0.25)])]


def bring(path: Path, **columns: str) -> Recording:
    target = path.with_name("out.jsonl")
    import_recording("csv", path, target, header={"temperature": 1.0, "eos_included": True}, columns=columns)
    return read_recording(target)


def contents(recording: Recording) -> list[tuple[str, list[tuple[str, float | None]]]]:
    return [(row.question, [(each.text, each.logprob) for each in row.samples]) for row in recording]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(tmp_path: Path, delimiter: str) -> None:
    path = tmp_path / "run.csv"
    rows = [("question", "text", "logprob"), *LINES]
    path.write_text("".join(delimiter.join(f'"{value}"' for value in row) + "\n" for row in rows))
    assert contents(bring(path)) == EXPECTED


@pytest.mark.parametrize("name", ["run.json", "run.jsonl"])
def test_json_one_object_per_sample(tmp_path: Path, name: str) -> None:
    records = [{"question": q, "text": text, "logprob": float(value), "run": 7} for q, text, value in LINES]
    path = tmp_path / name
    path.write_text(json.dumps(records) if name == "run.json" else "\n".join(map(json.dumps, records)))
    assert contents(bring(path)) == EXPECTED
    assert bring(path).rows[0]["samples"][0]["run"] == "7"


def test_json_one_object_per_question(tmp_path: Path) -> None:
    records = [
        {"prompt": "q", "responses": ["a", "b, or c"], "logprob": [-0.5, -2.5], "references": ["a", "x"]},
        {"prompt": "r", "responses": ["d"], "logprob": [-0.25], "references": []},
    ]
    path = tmp_path / "run.json"
    path.write_text(json.dumps(records))
    recording = bring(path, question="prompt", text="responses")
    assert contents(recording) == EXPECTED
    assert [row.references for row in recording] == [("a", "x"), ()]
    records[0]["logprob"] = [-0.5]
    path.write_text(json.dumps(records))
    with pytest.raises(RecordingError, match=r"run\.json, line 1, logprob: has 1 entries, and text has 2"):
        bring(path, question="prompt", text="responses")


def test_columns_with_other_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "run.csv", tmp_path / "out.jsonl"
    path.write_text("prompt;question;reply\nwho?;7;me\n")
    command = ["import", "csv", str(path), str(out), "--map", "question=prompt", "--map", "text=reply"]
    assert main(command) == 0
    assert "note: columns: prompt, question, reply\n" in capsys.readouterr().err
    assert contents(read_recording(out)) == [("who?", [("me", None)])]


@pytest.mark.parametrize(
    ("name", "text", "columns", "words"),
    [
        (
            "t.csv",
            "prompt,reply\na,b\n",
            {},
            r"question: is no column.*has prompt, reply. Use --map question=",
        ),
        ("t.csv", "question,reply\na,b\n", {}, r"text: is no column of the table: it has question, reply"),
        ("t.csv", "", {}, r"question: is no column of the table: it has none"),
        ("t.csv", "question,text\na,b\n", {"text": "reply"}, r"reply: is no column of the table: it has"),
        (
            "t.csv",
            "question,text\na,b\n",
            {"words": "text"},
            r"words: is no column of a recording: map one of",
        ),
        ("t.json", '{"a": 1}', {}, r"expected a list of objects"),
        ("t.json", "[1]", {}, r"line 1: expected an object"),
        ("t.jsonl", '{"question": "a", "text": "b"}\n{', {}, r"line 2: is not JSON"),
        ("t.jsonl", '{"question": "a", "text": "b"}\n{"text": "c"}', {}, r"line 2, question: is missing"),
        ("t.json", "[" * 100_000, {}, r"is not JSON"),
        ("t.csv", "question,text\ra,b\rc,d\r", {}, r"line 1: is not CSV"),
        ("t.csv", "question,text,text\na,b,c\n", {}, r"line 1, text: is the name of two columns"),
    ],
)
def test_errors_name_the_place_and_list_the_columns(
    tmp_path: Path, name: str, text: str, columns: dict[str, str], words: str
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(RecordingError, match=words):
        bring(tmp_path / name, **columns)


def test_only_tables_are_mapped(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="for the format csv only, not for uqlm"):
        import_recording("uqlm", tmp_path / "a", tmp_path / "b.jsonl", columns={"text": "reply"})
    with pytest.raises(SystemExit):
        main(["import", "csv", "a", "b.jsonl", "--map", "question"])
