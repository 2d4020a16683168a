"""`semtropy cluster` and `semtropy meanings`: whole recordings, resumed, reported, shown."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from semtropy.cli import main
from semtropy.errors import InputError
from semtropy.meaning import ScriptedJudge, load_judge
from semtropy.meaning.grouping import GroupingTask, cluster_many
from semtropy.meaning.judges import Exact, Numeric
from semtropy.recording import read_recording, write_recording
from semtropy.recording.store import RecordingStore
from semtropy.study.judging import JudgingReport, RowGrouping, judge_recording

if TYPE_CHECKING:
    from semtropy.nouns import Judge

ROWS = [
    {
        "id": "1",
        "question": "Capital of France?",
        "samples": [{"text": t} for t in ("Paris", "paris.", "Rome")],
    },
    {
        "id": "2",
        "question": "6 + 6?",
        "samples": [{"text": t} for t in ("12", "twelve", "bananas")],
        "note": "kept",
    },
    {
        "id": "3",
        "question": "Sky?",
        "samples": [{"text": "blue", "meaning": 4}, {"text": "red", "meaning": 4}],
    },
]
HEADER = {"semtropy_recording": 1, "model": "m", "dataset": "d", "temperature": 1.0, "eos_included": True}


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    path = tmp_path / "in.jsonl"
    write_recording(path, HEADER, ROWS)
    return path


def cluster_recording(source: Path, out: Path, judge: Judge, **options: Any) -> JudgingReport:
    return judge_recording(source, out, judge, RowGrouping(**options))


class TestCluster:
    def test_fills_what_is_missing_and_keeps_the_rest(self, recording: Path, tmp_path: Path) -> None:
        report = cluster_recording(recording, tmp_path / "out.jsonl", Exact())
        made = read_recording(tmp_path / "out.jsonl")
        assert [row.meanings for row in made] == [(0, 1, 2), (0, 1, 2), (4, 4)]
        assert made.rows[1]["note"] == "kept"
        assert made.header["meanings_by"] == {"judge": "exact", "mode": "strict"}
        assert (report.questions, report.kept, report.resumed, report.meanings) == (3, 1, 0, 6)
        assert (report.tally.samples, report.tally.pairs) == (6, 6)

    def test_all_groups_anew(self, recording: Path, tmp_path: Path) -> None:
        cluster_recording(recording, tmp_path / "out.jsonl.gz", Exact(), every=True)
        assert [row.meanings for row in read_recording(tmp_path / "out.jsonl.gz")][2] == (0, 1)

    def test_goes_on_where_it_stopped(self, recording: Path, tmp_path: Path) -> None:
        out = tmp_path / "out.jsonl"

        def fails_at_numbers(question: str, a: str, b: str) -> float:
            if "6" in question:
                raise RuntimeError("power cut")
            return 0.0

        with pytest.raises(RuntimeError):
            cluster_recording(recording, out, ScriptedJudge(fails_at_numbers), window=1)
        assert not out.exists()
        judge = ScriptedJudge(lambda q, a, b: 0.0)
        report = cluster_recording(recording, out, judge, window=1)
        assert report.resumed == 1
        assert {question for question, _, _ in judge.asked} == {"6 + 6?"}
        assert [row.meanings for row in read_recording(out)][:2] == [(0, 0, 1), (0, 0, 1)]
        assert [path.name for path in tmp_path.iterdir() if "clustering" in path.name] == []

    def test_another_judge_or_input_starts_over(self, recording: Path, tmp_path: Path) -> None:
        out = tmp_path / "out.jsonl"
        journal = tmp_path / ".out.jsonl.clustering"
        journal.write_text(json.dumps({"judge": "another"}) + "\n" + json.dumps(["1", [0, 1, 2]]) + "\n")
        assert cluster_recording(recording, out, Exact()).resumed == 0
        assert read_recording(out).rows[0].meanings == (0, 1, 2)

    def test_a_line_cut_short_is_done_again(self, recording: Path, tmp_path: Path) -> None:
        out = tmp_path / "out.jsonl"
        with pytest.raises(ZeroDivisionError):
            cluster_recording(
                recording, out, ScriptedJudge(lambda q, a, b: 0.0 if "Cap" in q else 1 / 0), window=1
            )
        journal = tmp_path / ".out.jsonl.clustering"
        journal.write_text(journal.read_text()[:-4])
        assert cluster_recording(recording, out, ScriptedJudge(lambda q, a, b: 0.0)).resumed == 0

    def test_a_folder_generated_anew_starts_over(self, tmp_path: Path) -> None:
        """Killed, the folder written again with other texts, clustered again: no text has two meanings."""
        folder, out = tmp_path / "run", tmp_path / "out.jsonl"

        def generate(texts: tuple[str, ...]) -> None:
            shutil.rmtree(folder, ignore_errors=True)
            with RecordingStore(folder, identity={"seed": len(set(texts))}, header=HEADER) as store:
                store.commit([{**row, "samples": [{"text": t} for t in texts]} for row in ROWS])

        generate(("Paris", "Rome", "Oslo", "Paris"))
        with pytest.raises(ZeroDivisionError):
            cluster_recording(
                folder,
                out,
                ScriptedJudge(lambda q, a, b: 0.0 if "Cap" in q else 1 / 0),
                window=1,
            )
        generate(("Rome", "Rome", "Oslo", "Oslo"))
        report = cluster_recording(folder, out, ScriptedJudge(lambda q, a, b: 0.0), every=True)
        assert report.resumed == 0
        assert [row.meanings for row in read_recording(out)] == [(0, 0, 1, 1)] * 3

    def test_the_answer_has_a_meaning_too(self, tmp_path: Path) -> None:
        source, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
        write_recording(source, HEADER, [{**ROWS[0], "answer": {"text": "Rome."}}])
        cluster_recording(source, out, load_judge("normalised"))
        [row] = read_recording(out).rows
        assert row.meanings == (0, 0, 1)
        assert row["answer"]["meaning"] == 1

    @pytest.mark.parametrize(
        ("damage", "line"),
        [
            (b"\xff\xfe not text\n", 3),
            (b"{not json\n", 3),
            (b'["2", "digest", [0, -1]]\n', 3),
            (b'["2", [0, 1]]\n', 3),
            (b"7\n", 3),
            (b"[" * 100_000 + b"\n", 3),
        ],
    )
    def test_a_damaged_journal_is_one_line(
        self, recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], damage: bytes, line: int
    ) -> None:
        out, journal = tmp_path / "out.jsonl", tmp_path / ".out.jsonl.clustering"
        key = {"version": 2, "judge": "exact", "mode": "strict"}
        journal.write_bytes((json.dumps(key) + '\n["1", "d", [0]]\n').encode() + damage)
        assert main(["cluster", str(recording), str(out), "--judge", "exact"]) == 1
        error = capsys.readouterr().err
        assert error.count("\n") == 1
        assert f".out.jsonl.clustering, line {line}: damaged journal" in error
        assert "delete this file" in error
        assert not out.exists()

    def test_not_onto_itself(self, recording: Path) -> None:
        with pytest.raises(InputError, match="the output is the input"):
            cluster_recording(recording, recording, Exact())

    @pytest.mark.parametrize("name", ["folder.jsonl", "out.txt", "missing/out.jsonl"])
    def test_an_output_that_cannot_be_written_is_told_before_the_work(
        self, name: str, recording: Path, tmp_path: Path
    ) -> None:
        (tmp_path / "folder.jsonl").mkdir()
        before = sorted(tmp_path.rglob("*"))
        judge = ScriptedJudge(lambda q, a, b: 1 / 0)
        with pytest.raises(InputError, match=r"folder|must end in"):
            cluster_recording(recording, tmp_path / name, judge, every=True)
        assert sorted(tmp_path.rglob("*")) == before

    def test_two_runs_cannot_share_an_output(self, recording: Path, tmp_path: Path) -> None:
        out, refused = tmp_path / "out.jsonl", []

        def judge(question: str, one: str, other: str) -> float:
            with pytest.raises(InputError, match="another process is writing"):
                cluster_recording(recording, out, Exact(), every=True)
            refused.append(question)
            return 0.0

        cluster_recording(recording, out, ScriptedJudge(judge), every=True)
        assert refused
        assert read_recording(out).header["meanings_by"]["judge"] != "exact"
        assert not list(tmp_path.glob(".out*"))

    def test_the_command_reports(
        self, recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        out, cache = tmp_path / "out.jsonl", tmp_path / "judgements.sqlite"
        for hits in (0, 1):
            assert main(["cluster", str(recording), str(out), "--cache", str(cache)]) == 0
            printed = capsys.readouterr().out
            assert "judged pairs      1" in printed
            assert f"judgements        1, {hits} from the cache" in printed

    def test_a_bad_name_is_one_line(
        self, recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["cluster", str(recording), str(tmp_path / "out.jsonl"), "--judge", "nobody"]) == 2
        assert "no judge is called 'nobody'" in capsys.readouterr().err


class TestMeanings:
    def test_shows_the_groups(self, recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["meanings", str(recording), "--judge", "normalised"]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert lines[0] == "1  Capital of France?"
        assert lines[1].split() == ["█" * 13, "67%", "2", "Paris"]
        assert lines[2].strip() == "paris."
        assert lines[3].split() == ["█" * 7, "33%", "1", "Rome"]

    def test_one_question_with_its_own_meanings(
        self, recording: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["meanings", str(recording), "--id", "3"]) == 0
        assert "100%  2  blue" in capsys.readouterr().out

    def test_why_each_pair_was_put_together_or_kept_apart(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        answers = {
            "money": ["$5", "€5", "5 dollars", "five pounds"],
            "name": ["Columbus", "Christopher Columbus", "", "I don't know.", "Nobody knows."],
            "city": ["Москва", "Киев"],
        }
        rows = [
            {"id": name, "question": "Who or what was it?", "samples": [{"text": text} for text in texts]}
            for name, texts in answers.items()
        ]
        path = tmp_path / "odd.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in (HEADER, *rows)))
        assert main(["meanings", str(path), "--pairs", "100"]) == 0
        said = capsys.readouterr()
        lines = [line.split(maxsplit=5) for line in said.out.splitlines()[1:]]
        reasons = {(by, result, pair) for _, _, result, by, _, pair in lines}
        assert ("arithmetic", "apart", "$5 | €5") in reasons
        assert ("script", "apart", "Москва | Киев") in reasons
        assert ("network", "same", "Columbus | Christopher Columbus") in reasons
        assert {line[0] for line in lines if line[5] == "$5 | €5"} == {"-"}
        assert (
            "note: 2 of 11 answers are in a script that the built-in judge does not read (Cyrillic)"
            in said.err
        )

    def test_silence_is_shown_as_such(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        row = {"id": "1", "question": "Who?", "samples": [{"text": ""}, {"text": " "}, {"text": "Bach"}]}
        path = tmp_path / "quiet.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in (HEADER, row)))
        assert main(["meanings", str(path)]) == 0
        assert "67%  2  (empty)" in capsys.readouterr().out

    def test_an_unknown_id_is_an_error(self, recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["meanings", str(recording), "--id", "99"]) == 2
        assert "it has no question with the id 99" in capsys.readouterr().err


class TestRealAnswers:
    @pytest.mark.parametrize("name", ["Llama-2-7b-chat--squad", "Llama-3.2-3B-Instruct--nq"])
    def test_few_pairs_and_the_same_partition(self, shared_data: Path, name: str) -> None:
        """At most 40% of the judgements of the Nature paper's procedure, and its very partitions."""
        from benchmarks.meaning import compare

        found = compare(shared_data / "texts" / f"{name}.jsonl.gz", Numeric(), 150)
        assert found.share <= 0.4
        # a year means the same as either of two days in it, and conversions, rounded, may chain
        assert found.transitive >= 145
        assert found.alike_where_transitive == found.transitive

    @pytest.mark.parametrize("name", ["Llama-2-7b-chat--squad", "Llama-3.2-3B-Instruct--nq"])
    def test_the_judge_that_ships(self, shared_data: Path, name: str) -> None:
        """The same, by a network: no partition differs where it is transitive."""
        from benchmarks.meaning import compare

        found = compare(shared_data / "texts" / f"{name}.jsonl.gz", load_judge(), 16)
        assert found.share <= 0.4
        assert found.alike_where_transitive == found.transitive >= 8

    def test_numbers_group_as_the_recordings_own_meanings(self, shared_data: Path) -> None:
        """SVAMP: the grouping of numbers agrees with that of a large NLI model on nearly every pair."""
        path = shared_data / "recordings" / "Llama-2-7b-chat--svamp.jsonl.gz"
        with gzip.open(path, "rt") as file:
            rows = [json.loads(line) for line in file][1:61]
        tasks = [GroupingTask(row["question"], [s["text"] for s in row["samples"]]) for row in rows]
        agree = []
        for row, grouped in zip(rows, cluster_many(tasks, "numeric"), strict=True):
            theirs = np.array([sample["meaning"] for sample in row["samples"]])
            ours = np.array(grouped.meanings)
            agree.append(((theirs[:, None] == theirs) == (ours[:, None] == ours)).mean())
        assert np.mean(agree) > 0.96  # its meanings keep "$90" and "90" apart
