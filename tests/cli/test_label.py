"""`semtropy label`: keys, the order, resuming, and what is written."""

from __future__ import annotations

import io
import json
import queue
import re
import threading
import urllib.error
import urllib.request

import numpy as np
import pytest

from browser import chromium
from semtropy.cli import main
from semtropy.recording import Header, read_recording, write_recording
from semtropy.study.calibrate import graded_alike


@pytest.fixture
def recording(tmp_path):
    """Four steady questions and four that vary."""
    rows = [
        {
            "id": f"q{place}",
            "question": f"Question {place}?",
            "answer": {"text": f"answer {place}", "meaning": 0},
            "references": ["this"],
            "samples": [{"text": str(k), "meaning": k if place % 2 else 0} for k in range(8)],
        }
        for place in range(8)
    ]
    path = tmp_path / "run.jsonl"
    write_recording(path, Header.make(model="m"), rows)
    return path


@pytest.fixture
def label(monkeypatch, capsys):
    def run(path, keys, *options):
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{key}\n" for key in keys)))
        code = main(["label", str(path), *options])
        return code, capsys.readouterr().out

    return run


def grades(path):
    return {row.id: row["answer"].get("correct") for row in read_recording(path)}


def test_answers_that_pass_come_first_and_grades_are_written(recording, label, tmp_path):
    code, out = label(recording, "ynyyq")
    assert code == 0
    given = {each for each, correct in grades(tmp_path / "run.graded.jsonl").items() if correct is not None}
    assert given == {"q0", "q2", "q4", "q6"}
    assert "Expected: this" in out
    assert "of 4 that pass 1 wrong: at most 75% with 95% confidence" in out
    assert "4 of 8 answers are graded" in out


def test_a_later_run_goes_on(recording, label, tmp_path):
    label(recording, "yn")  # the input ends
    _, out = label(recording, "yyyyyy")
    assert out.count("Right?") == 6
    found = grades(tmp_path / "run.graded.jsonl")
    assert sorted(found.values()) == [False] + [True] * 7
    assert "Right?" not in label(recording, "")[1]


def test_undo_and_skip(recording, label, tmp_path):
    label(recording, "nuy" + "s" * 20 + "q")
    assert [correct for correct in grades(tmp_path / "run.graded.jsonl").values() if correct is not None] == [
        True
    ]


def test_unknown_keys_grade_nothing(recording, label, tmp_path):
    label(recording, ["x", "", "7", "q"])
    assert set(grades(tmp_path / "run.graded.jsonl").values()) == {None}


def test_verdicts_are_graded_too(tmp_path, label, capsys):
    script, prompts, verdicts = (tmp_path / name for name in ("script.json", "prompts.txt", "verdicts.jsonl"))
    script.write_text(json.dumps({f"Question {k}?": dict.fromkeys("abcdefgh", 0.125) for k in range(3)}))
    prompts.write_text("Question 0?\nQuestion 1?\nQuestion 2?\n")
    main(
        [
            "check",
            "--model",
            f"scripted:{script}",
            "--judge",
            "exact",
            "--file",
            str(prompts),
            "--json",
            "--seed",
            "1",
        ]
    )
    verdicts.write_text(capsys.readouterr().out)
    label(verdicts, "yny", "--out", str(tmp_path / "graded.jsonl"))
    read = read_recording(tmp_path / "graded.jsonl")
    assert sorted(row["answer"]["correct"] for row in read) == [False, True, True]
    held = [json.loads(line) for line in verdicts.read_text().splitlines()]
    assert [len(row.samples) for row in read] == [verdict["samples"] for verdict in held]


def test_what_cannot_be_graded_is_named(tmp_path, recording, label, capsys):
    path = tmp_path / "bare.jsonl"
    write_recording(
        path, Header.make(), [{"id": "1", "question": "?", "samples": [{"text": "a", "meaning": 0}]}]
    )
    assert main(["label", str(path)]) != 0
    assert "has no answer to grade" in capsys.readouterr().err
    (tmp_path / "run.jsonl.grades.jsonl").write_text("yes\n")
    assert main(["label", str(recording)]) != 0
    assert "line 1: not a grade" in capsys.readouterr().err


def test_a_guarantee_does_not_go_beyond_what_is_graded():
    """Only answers that pass at the first threshold are graded: no other can be promised."""
    passed = np.array([np.arange(100) < 40, np.arange(100) < 45, np.ones(100, dtype=bool)])
    assert len(graded_alike(passed, np.arange(100) < 40)) == 2  # five more are too few to tell
    assert len(graded_alike(passed, np.arange(100) % 2 == 0)) == 3


@pytest.fixture
def graded_on_a_page(recording, monkeypatch):
    """The address of the page, while the command runs in a thread; it has ended with the test."""
    codes, said = [], queue.Queue()
    monkeypatch.setattr("semtropy.cli.label.say", said.put)
    running = threading.Thread(
        target=lambda: codes.append(main(["label", str(recording), "--page"])), daemon=True
    )
    running.start()
    yield re.search(r"http://127\.0\.0\.1:\d+", said.get(timeout=60))[0], running
    running.join(10)
    assert codes == [0]


def ask(address, body=None, **headers):
    sent = None if body is None else json.dumps(body).encode()
    asked = urllib.request.Request(address, sent, {"Content-Type": "application/json", **headers})
    with urllib.request.urlopen(asked, timeout=10) as reply:
        return json.load(reply)


def test_the_page_grades_keeps_and_undoes(graded_on_a_page, tmp_path):
    address, running = graded_on_a_page
    first = ask(f"{address}/api/answer")
    second = ask(f"{address}/api/key", {"key": "n", "id": first["id"]})
    assert second["id"] != first["id"]
    assert ask(f"{address}/api/key", {"key": "n", "id": first["id"]})["id"] == second["id"], "pressed twice"
    assert ask(f"{address}/api/key", {"key": "u", "id": second["id"]})["id"] == first["id"]
    now = ask(f"{address}/api/key", {"key": "y", "id": first["id"]})
    assert "1 of 8 graded" in now["progress"]
    assert ask(f"{address}/api/key", {"key": "q", "id": now["id"]})["ended"]
    running.join(10)
    found = grades(tmp_path / "run.graded.jsonl")
    assert {each: correct for each, correct in found.items() if correct is not None} == {first["id"]: True}


def test_the_page_is_for_this_machine_alone(graded_on_a_page):
    address, _ = graded_on_a_page
    shown = ask(f"{address}/api/answer")
    for headers in ({"Host": "other.site"}, {"Content-Type": "text/plain"}):
        with pytest.raises(urllib.error.HTTPError):
            ask(f"{address}/api/key", {"key": "y", "id": shown["id"]}, **headers)
    with pytest.raises(urllib.error.HTTPError):
        ask(f"{address}/api/answer", Host="other.site")
    with pytest.raises(urllib.error.HTTPError):
        ask(f"{address}/page/../settings.py")
    assert ask(f"{address}/api/answer") == shown
    ask(f"{address}/api/key", {"key": "q", "id": shown["id"]})


@pytest.fixture
def browser():
    with chromium() as opened:
        yield opened


def test_keys_grade_in_a_browser(browser, graded_on_a_page, tmp_path):
    address, running = graded_on_a_page
    page = browser.new_page()
    page.goto(address)
    page.get_by_text("0 of 8 graded").wait_for()
    for k in range(7):
        page.keyboard.press("n" if k else "y")
        page.get_by_text(f"{k + 1} of 8 graded").wait_for()
    page.get_by_role("button", name="Right").click()
    page.get_by_text("All are graded.").wait_for()
    running.join(10)
    assert sorted(grades(tmp_path / "run.graded.jsonl").values()) == [False] * 6 + [True] * 2


def verdict_line(**changed):
    meanings = [
        {"text": "Paris", "count": 3, "wordings": [{"text": "Paris", "count": 3}], "has_answer": True}
    ]
    held = {"question": "Capital?", "answer": "Paris", "samples": 3, "meanings": meanings, **changed}
    return json.dumps(held) + "\n"


CLAIM = {"text": "He lived.", "outcome": "steady"}


def test_verdicts_that_cannot_be_graded_are_left_out_and_counted(label, tmp_path):
    """A long answer, a verdict without a sample, and an error among those that can; any name of the file will do."""
    path = tmp_path / "verdicts.txt"
    others = verdict_line(claims=[CLAIM], meanings=[]) + verdict_line(samples=0, meanings=[])
    path.write_text(others + json.dumps({"question": "?", "error": "refused"}) + "\n" + verdict_line())
    code, out = label(path, "y")
    assert code == 0
    assert "3 of 4 verdicts are left out: no answer, no sample, or a long answer" in out
    assert grades(tmp_path / "verdicts.txt.graded.jsonl") == {"4": True}


@pytest.mark.parametrize(
    ("written", "told"),
    [
        (verdict_line(claims=[CLAIM], meanings=[]), "no verdict has samples of a short answer to grade"),
        (verdict_line() + json.dumps({"question": "?", "samples": 3}) + "\n", "verdict 2: not one that"),
        (verdict_line(meanings=[{"text": "a"}]), "verdict 1: not one that"),
    ],
    ids=["claims", "no meanings", "odd meanings"],
)
def test_a_file_of_verdicts_that_cannot_be_graded_is_one_line(written, told, tmp_path, capsys):
    path = tmp_path / "verdicts.jsonl"
    path.write_text(written)
    assert main(["label", str(path)]) == 1
    said = capsys.readouterr().err
    assert told in said
    assert said.count("\n") == 1
