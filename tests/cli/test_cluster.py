"""`semtropy cluster` and `semtropy meanings` as a person runs them: real files, the real judge, Ctrl-C, a full disk."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from limited import limited
from semtropy.cli import main
from semtropy.recording import read_recording

HEADER = {"semtropy_recording": 1, "model": "m", "dataset": "d", "temperature": 1.0, "eos_included": True}
CITIES = ("Paris", "It is Paris.", "Rome", "I don't know.", "The answer is Rome.")
COMMAND = (sys.executable, "-c", "import sys; from semtropy.cli import main; sys.exit(main())")

ON_A_FULL_DISK = """
import signal
from semtropy.cli import main
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
sys.dont_write_bytecode = True  # a module compiled under the limit would be stored cut off
size = int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
sys.exit(main(sys.argv[2:]))
"""


Run = Callable[..., "subprocess.CompletedProcess[str]"]


def in_a_process(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "COLUMNS": "100", "PYTHONIOENCODING": "utf-8"}
    command = [*COMMAND, *(str(argument) for argument in arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300, check=False)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """The same in this process, which has loaded everything before."""
    monkeypatch.setenv("COLUMNS", "100")

    def do(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        words = [str(argument) for argument in arguments]
        code, said = main(words), capsys.readouterr()
        return subprocess.CompletedProcess(words, code, said.out, said.err)

    return do


def recorded(path: Path, questions: int, texts: tuple[str, ...] = CITIES) -> Path:
    rows = [
        {
            "id": str(n),
            "question": f"What is the capital of land {n}?",
            "samples": [{"text": t} for t in texts],
        }
        for n in range(questions)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in (HEADER, *rows)))
    return path


def figures(printed: str) -> dict[str, str]:
    """The report's lines by their labels."""
    lines = (line.strip().split("  ", 1) for line in printed.splitlines()[1:])
    return {label: value.strip() for label, value in lines}


class TestCluster:
    def test_groups_with_the_judge_that_ships_and_reports(self, tmp_path: Path) -> None:
        done = in_a_process("cluster", recorded(tmp_path / "in.jsonl", 3), tmp_path / "out.jsonl.gz")
        assert (done.returncode, done.stderr) == (0, "")
        made = read_recording(tmp_path / "out.jsonl.gz")
        assert [row.meanings for row in made] == [(0, 0, 1, 2, 1)] * 3
        assert made.header["meanings_by"]["judge"].startswith("builtin-3-")
        report = figures(done.stdout)
        assert done.stdout.splitlines()[0] == str(tmp_path / "out.jsonl.gz")
        assert report["questions"] == "3 (0 done before, 0 had meanings)"
        assert report["samples"] == "15 in 9 meanings"
        pairs, judgements = int(report["judged pairs"]), int(report["judgements"].split(",")[0])
        assert 0 < pairs <= judgements <= 2 * pairs <= 2 * 3 * 10
        assert 0 <= float(report["seconds"]) < 300

    @pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT for a child process there")
    def test_interrupted_it_goes_on_and_ends_alike(self, tmp_path: Path, run: Run) -> None:
        source, out = recorded(tmp_path / "in.jsonl", 60), tmp_path / "out.jsonl"
        journal = tmp_path / ".out.jsonl.clustering"
        arguments = ["cluster", str(source), str(out), "--window", "1"]
        with subprocess.Popen([*COMMAND, *arguments], stderr=subprocess.PIPE, text=True) as first:
            until = time.monotonic() + 120
            while not (journal.is_file() and journal.read_text().count("\n") > 3):
                assert first.poll() is None, first.stderr and first.stderr.read()
                assert time.monotonic() < until
                time.sleep(0.02)
            first.send_signal(signal.SIGINT)
            _, error = first.communicate(timeout=120)
        assert first.returncode == 130
        assert error.splitlines()[-1] == "semtropy: interrupted: run the same command again to continue"
        assert not out.exists()
        before = journal.read_text().count("\n") - 1
        again = run(*arguments)
        assert again.returncode == 0, again.stderr
        resumed = int(figures(again.stdout)["questions"].split("(")[1].split()[0])
        assert 3 <= resumed <= before < 60
        assert not journal.exists()
        assert [row.meanings for row in read_recording(out)] == [(0, 0, 1, 2, 1)] * 60

    def test_the_file_of_judgements_serves_another_run(self, tmp_path: Path, run: Run) -> None:
        source = recorded(tmp_path / "in.jsonl", 1)
        for hits in ("0", "all"):
            done = run("cluster", source, tmp_path / "out.jsonl", "--cache", tmp_path / "known.sqlite")
            asked, _, kept = figures(done.stdout)["judgements"].partition(", ")
            assert kept == f"{asked if hits == 'all' else 0} from the cache"

    def test_a_mode_by_name(self, tmp_path: Path, run: Run) -> None:
        source = recorded(tmp_path / "in.jsonl", 1, ("Berlin, a big city", "a big city"))
        for mode, groups in (("either", 1), ("strict", 2)):
            assert run("cluster", source, tmp_path / "out.jsonl", "--mode", mode, "--all").returncode == 0
            made = read_recording(tmp_path / "out.jsonl")
            assert len(set(made.rows[0].meanings)) == groups
            assert made.header["meanings_by"]["mode"] == mode

    @pytest.mark.parametrize(
        ("content", "said"),
        [
            ("", "header"),
            (json.dumps(HEADER) + "\n{\n", "line 2"),
            (json.dumps(HEADER) + '\n{"id": "1", "question": "?", "samples": [{}]}\n', "text"),
        ],
    )
    def test_a_wrong_file_is_one_line_and_leaves_nothing(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str, said: str
    ) -> None:
        source = tmp_path / "in.jsonl"
        source.write_text(content)
        assert main(["cluster", str(source), str(tmp_path / "out.jsonl"), "--judge", "exact"]) == 1
        error = capsys.readouterr().err
        assert error.count("\n") == 1
        assert "in.jsonl" in error
        assert said in error
        assert not (tmp_path / "out.jsonl").exists()

    @pytest.mark.skipif(
        not sys.platform.startswith("linux"), reason="reads the memory of a process as Linux tells it"
    )
    def test_a_full_disk_is_one_line(self, tmp_path: Path) -> None:
        source, out = recorded(tmp_path / "in.jsonl", 20), tmp_path / "out.jsonl"
        command = ["cluster", str(source), str(out), "--judge", "exact", "--all"]
        done = limited(ON_A_FULL_DISK, 500, *command, limit=4e9)
        assert done.returncode == 1, done.stderr
        [line] = done.stderr.splitlines()
        assert ".out.jsonl.clustering: cannot be written: " in line
        assert main(command) == 0  # goes on from a line that was cut short
        assert [file.name for file in sorted(tmp_path.iterdir())] == ["in.jsonl", "out.jsonl"]


class TestMeanings:
    def test_shows_what_cluster_made(self, tmp_path: Path, run: Run) -> None:
        out = tmp_path / "out.jsonl"
        run("cluster", recorded(tmp_path / "in.jsonl", 3), out)
        shown = run("meanings", out, "--id", "1")
        assert (shown.returncode, shown.stderr) == (0, "")
        assert shown.stdout.splitlines() == [
            "1  What is the capital of land 1?",
            "████████              40%  2  Paris",
            "                              It is Paris.",
            "████████              40%  2  Rome",
            "                              The answer is Rome.",
            "████                  20%  1  I don't know.",
            "",
        ]

    def test_many_wordings_and_questions_are_cut(self, tmp_path: Path, run: Run) -> None:
        source = recorded(tmp_path / "in.jsonl", 4, ("a", "A", "a.", "the a"))
        shown = run("meanings", source, "--judge", "normalised", "--limit", "2", "--wordings", "2")
        assert shown.stdout.count("capital of land") == 2
        assert shown.stdout.count("… and 2 more wordings") == 2

    def test_judging_for_a_look_writes_nothing(self, tmp_path: Path, run: Run) -> None:
        source = recorded(tmp_path / "in.jsonl", 1)
        before = source.read_bytes()
        assert run("meanings", source, "--judge", "builtin").returncode == 0
        assert source.read_bytes() == before
        assert list(tmp_path.iterdir()) == [source]
