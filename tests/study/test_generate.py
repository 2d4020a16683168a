"""Generation: killed and resumed, failing models, both ways of driving a question, the command."""

from __future__ import annotations

import asyncio
import functools
import json
import math
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from counting_model import Counting, Flaky
from semtropy.cli import main
from semtropy.errors import InputError, MissingExtra, ModelError, RecordingError, StoreError
from semtropy.models.function import as_model
from semtropy.models.scripted import ScriptedModel
from semtropy.nouns import Partition, Question, Sample
from semtropy.recording import read_recording
from semtropy.recording.formats import verify
from semtropy.recording.store import row_lines
from semtropy.study.generate import generate
from semtropy.study.generate.datasets import Dataset, load_dataset
from semtropy.study.generate.engines import Failed, LocalEngine, QuestionTask, TaskBackend, drive, load_engine
from semtropy.study.generate.requests import (
    BriefPrompt,
    GenerationPlan,
    p_true_prompt,
    question_steps,
    seed_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable

HELPER = Path(__file__).parents[1] / "helpers" / "counting_model.py"


QUESTIONS, SAMPLES = 40, 20
REHEARSAL = 1 + 10  # samples of a worked example of P(True), of which there are 20
ROW = 1 + SAMPLES + 10  # samples of a question: the answer, its samples, and ten votes for P(True)
# Where each session is killed, how many rows are stored afterwards, and how many samples were drawn in vain.
KILLS = [
    ("sample", 9 * REHEARSAL + 1, 0, 0),  # nine worked examples are done
    ("sync", 1, 0, REHEARSAL),  # before the tenth is renamed
    ("sync", 2, 0, 0),  # after the tenth is renamed
    ("sample", 10 * REHEARSAL + 4 * ROW + 17, 4, 16),  # among the samples of a question
    ("sync", 1, 4, ROW),  # before a row is renamed
    ("sync", 2, 5, 0),  # after it is renamed
    ("sample", 1, 5, 0),  # before anything is drawn
    ("sample", 11 * ROW, 15, ROW - 1),  # at the last sample of a question
    ("sync", 9, 19, ROW),  # before the fifth row of a session is renamed
    ("sample", 1 + SAMPLES + 1, 19, SAMPLES + 1),  # at the first vote for P(True)
]


def session(folder: Path, marks: Path, event: str = "never", number: int = 0) -> tuple[int, str]:
    """The exit status and output of one session, killed at the given point."""
    settings = [folder, marks, QUESTIONS, SAMPLES, event, number]
    done = subprocess.run(
        [sys.executable, str(HELPER), *map(str, settings)], stdout=subprocess.PIPE, text=True
    )
    return done.returncode, done.stdout


@pytest.mark.skipif(os.name != "posix", reason="SIGKILL is POSIX")
def test_killed_at_ten_points_a_run_loses_nothing_and_repeats_only_what_was_under_way(tmp_path: Path) -> None:
    folder, marks = tmp_path / "run", tmp_path / "marks"
    before: list[bytes] = []
    for event, number, rows, _ in KILLS:
        assert session(folder, marks, event, number) == (-signal.SIGKILL, "")
        lines = list(row_lines(folder))
        assert lines[: len(before)] == before
        assert len(lines) == rows, (event, number)
        before = lines
    assert session(folder, marks) == (0, f"done {QUESTIONS}\n")
    assert session(tmp_path / "whole", tmp_path / "whole marks") == (0, f"done {QUESTIONS}\n")
    assert list(row_lines(folder)) == list(row_lines(tmp_path / "whole"))
    assert len({json.loads(line)["id"] for line in row_lines(folder)}) == QUESTIONS
    drawn, whole = (path.stat().st_size for path in (marks, tmp_path / "whole marks"))
    assert whole == 20 * REHEARSAL + QUESTIONS * ROW
    assert drawn == whole + sum(lost for *_, lost in KILLS)
    assert verify(folder) == []


@pytest.fixture
def dataset() -> Dataset:
    return load_dataset("facts", limit=12)


def plan_of(dataset: Dataset, **changes: Any) -> GenerationPlan:
    return GenerationPlan(BriefPrompt(dataset.examples), **{"samples": 5, **changes})


def go(dataset: Dataset, folder: Path, model: Any, **changes: Any) -> Any:
    engine = changes.pop("engine", None) or LocalEngine(lambda: model, **changes.pop("options", {}))
    return generate(dataset, plan_of(dataset, **changes), engine, folder, model=model.name)


def test_what_a_row_holds(dataset: Dataset, tmp_path: Path) -> None:
    report = go(dataset, tmp_path, Counting(), p_true=())
    assert report.complete
    assert report.progress.samples == 12 * 6
    recording = read_recording(tmp_path)
    assert recording.header.logprobs_usable
    for question, row in zip(dataset.questions, recording, strict=True):
        assert (row.id, row.question, row.references) == (question.id, question.text, question.references)
        rng = np.random.default_rng(seed_of(10, question.id, "samples"))
        drawn = [
            (each.text, round(each.logprob or 0, 6), each.tokens)
            for each in Counting().sample("", 5, rng=rng)
        ]
        assert [(sample.text, sample.logprob, sample.tokens) for sample in row.samples] == drawn
        assert row["answer"]["temperature"] == 0.1
        assert row.answer is not None
        assert row.answer.correct is (row.answer.text in question.references)
        assert row["seeds"]["samples"] == seed_of(10, question.id, "samples")
        assert row.p_true is None or 0 <= row.p_true <= 1


def test_meanings_in_the_same_run(dataset: Dataset, tmp_path: Path) -> None:
    go(dataset, tmp_path, Counting(), judge="exact")
    for row in read_recording(tmp_path):
        texts = [sample.text for sample in row.samples]
        assert row.partition.meanings == Partition.of(texts).meanings


def test_an_engine_that_is_not_installed_names_its_extra(
    dataset: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtra, match=r"semtropy\[ray\]"):
        go(dataset, tmp_path, Counting(), engine=load_engine("ray", Counting))


def test_a_larger_limit_goes_on(tmp_path: Path) -> None:
    for limit in (3, 8):
        report = go(load_dataset("facts", limit=limit), tmp_path, Counting())
    assert (report.progress.resumed, report.progress.done) == (3, 8)
    assert [row["index"] for row in read_recording(tmp_path)] == list(range(8))


@pytest.mark.parametrize(
    ("changes", "word"),
    [({"temperature": 0.7}, "temperature"), ({"samples": 6}, "samples"), ({"grader": "exact"}, "grader")],
)
def test_another_plan_is_refused(dataset: Dataset, tmp_path: Path, changes: Any, word: str) -> None:
    go(dataset, tmp_path, Counting())
    with pytest.raises(StoreError, match=f"{word} was"):
        go(dataset, tmp_path, Counting(), **changes)


def test_another_prompt_dataset_or_model_is_refused(dataset: Dataset, tmp_path: Path) -> None:
    go(dataset, tmp_path, Counting())
    engine = LocalEngine(Counting)
    terse = GenerationPlan(BriefPrompt(dataset.examples, instruction="Be terse."), samples=5)
    with pytest.raises(StoreError, match="prompt was"):
        generate(dataset, terse, engine, tmp_path, model="counting")
    with pytest.raises(StoreError, match="model was"):
        generate(dataset, plan_of(dataset), engine, tmp_path, model="another")
    other = load_dataset("facts", limit=12, seed=11)
    with pytest.raises(StoreError, match="examples was"):
        generate(other, plan_of(dataset), engine, tmp_path, model="counting")


def test_a_question_that_fails_is_left_for_the_next_run(dataset: Dataset, tmp_path: Path) -> None:
    report = go(dataset, tmp_path, Flaky(refused=("Suriname",)))
    assert not report.complete
    assert report.failures == {"capital/Suriname": "the endpoint hung up"}
    assert report.progress.failures == 1
    report = go(dataset, tmp_path, Flaky())
    assert report.complete
    assert (report.progress.resumed, report.progress.samples) == (11, 6)


def test_a_model_that_dies_ends_the_run_with_what_is_done_safe(
    dataset: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("semtropy.study.generate.run.MAX_FAILURES_IN_ROW", 5)
    with pytest.raises(
        ModelError, match=r"the device is lost.*4 of 12 questions are stored.*run the same command"
    ):
        go(dataset, tmp_path, Counting(lifetime=6 * 4 + 3))
    assert [row.id for row in read_recording(tmp_path)] == [each.id for each in dataset.questions[:4]]
    assert go(dataset, tmp_path, Counting()).complete


def test_a_model_that_gives_too_few_answers_is_an_error(
    dataset: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stingy(Counting):
        def sample(self, prompt: str, n: int, **options: Any) -> list[Sample]:
            return super().sample(prompt, max(1, n - 1), **options)

    monkeypatch.setattr("semtropy.study.generate.run.MAX_FAILURES_IN_ROW", 5)
    with pytest.raises(ModelError, match="gave 4 answers where 5 were asked for"):
        go(dataset, tmp_path, Stingy())


def test_batches_and_concurrency_give_the_same_recording(dataset: Dataset, tmp_path: Path) -> None:
    model = ScriptedModel(default={"Paris": 0.6, "Lyon": 0.3, "Nice": 0.1})
    ways: dict[str, dict[str, int]] = {"one": {}, "batch": {"batch": 5}, "async": {"concurrency": 4}}
    for name, options in ways.items():
        assert go(dataset, tmp_path / name, model, p_true=(), options=options).complete
    one, batch, awaited = (list(row_lines(tmp_path / name)) for name in ways)
    assert one == batch == awaited


def test_never_more_questions_under_way_than_allowed(dataset: Dataset, tmp_path: Path) -> None:
    class Busy(ScriptedModel):
        under_way = most = 0

        async def asample(self, *arguments: Any, **options: Any) -> list[Sample]:
            self.under_way += 1
            self.most = max(self.most, self.under_way)
            await asyncio.sleep(0)  # lets the other questions start
            self.under_way -= 1
            return self.sample(*arguments, **options)

    model = Busy(default={"Paris": 1.0})
    go(dataset, tmp_path, model, options={"concurrency": 3})
    assert model.most == 3


def test_like_requests_of_a_batch_share_one_call(dataset: Dataset) -> None:
    calls: list[tuple[int, int]] = []
    shared: list[str] = []

    class Batching(Counting):
        def complete_many(self, prompts: Any, n: int, *, temperature: float, rngs: Any) -> list[list[Sample]]:
            calls.append((len(prompts), n))
            return [self.sample(p, n, rng=rng) for p, rng in zip(prompts, rngs, strict=True)]

        def share_prefix(self, text: str) -> None:
            shared.append(text)

        def continuation_logprobs(self, pairs: Any) -> list[float]:
            assert all(prompt.startswith(shared[-1]) for prompt, _ in pairs)
            calls.append((len(pairs), 0))
            return [math.log(0.25)] * len(pairs)

    plan = plan_of(dataset, p_true=("an example",))
    tasks = [QuestionTask(question, k) for k, question in enumerate(dataset.questions[:4])]
    outcomes = drive(tasks, plan, TaskBackend(Batching(), plan))
    assert calls == [(4, 1), (4, 5), (4, 0)]
    assert shared == ["an example\n\n"]
    assert all(outcome.row["p_true"] == pytest.approx(0.25) for outcome in outcomes)  # type: ignore[union-attr]


def test_the_worked_examples_share_the_head_of_their_prompt_and_questions_do_not(dataset: Dataset) -> None:
    heads: list[str] = []

    class Sharing(Counting):
        def share_head(self, text: str) -> None:
            heads.append(text)

        def complete(self, prompt: str, n: int, **options: Any) -> list[Sample]:
            assert prompt.startswith(heads[-1])
            return self.sample(prompt, n, **options)

    plan = plan_of(dataset)
    backend = TaskBackend(Sharing(), plan)
    drive([QuestionTask(dataset.rehearsals[0], 0, rehearsal=True)], plan, backend)
    assert heads == [plan.prompt.head] * 2
    assert heads[0].endswith("\n\n")
    drive([QuestionTask(dataset.questions[0], 0)], plan, backend)
    assert heads[2:] == ["", ""]


def test_one_bad_question_does_not_spoil_its_batch(dataset: Dataset) -> None:
    class Picky(Counting):
        def complete(self, prompt: str, n: int, **options: Any) -> list[Sample]:
            return self.sample(prompt, n, **options)

    plan = plan_of(dataset, grader="f1")
    good = [QuestionTask(question, k) for k, question in enumerate(dataset.questions[:2])]
    outcomes = drive(good, plan, TaskBackend(Picky(lifetime=1), plan))
    assert [type(outcome) for outcome in outcomes] == [Failed, Failed]
    assert drive([], plan, TaskBackend(Picky(), plan)) == []


def test_the_code_path_of_a_question_needs_no_model() -> None:
    question = Question("1", "Capital of Peru?", references=("Lima",))
    steps = question_steps(question, 0, GenerationPlan(samples=2, p_true=("example",), judge="exact"))
    draw = next(steps)
    assert (draw.n, draw.temperature) == (1, 0.1)  # type: ignore[union-attr]
    many = steps.send([Sample("Lima", -0.1, sampling_logprob=-0.6, token_entropies=(0.5, 1.25))])
    assert (many.n, many.temperature, many.prompt) == (2, 1.0, draw.prompt)  # type: ignore[union-attr]
    grade = steps.send([Sample("Lima", -0.5), Sample("Cusco", -2.0, complete=False)])
    assert grade.answer == "Lima"  # type: ignore[union-attr]
    weigh = steps.send(True)
    expected = p_true_prompt(("example",), question, "Lima", ["Lima", "Cusco"])
    assert weigh.prompt == expected  # type: ignore[union-attr]
    assert weigh.continuation == " A"  # type: ignore[union-attr]
    group = steps.send(0.75)
    assert group.texts == ("Lima", "Lima", "Cusco")  # type: ignore[union-attr]
    with pytest.raises(StopIteration) as done:
        steps.send([0, 0, 1])
    row = done.value.value
    assert [sample["meaning"] for sample in row["samples"]] == [0, 1]
    answer = row["answer"]
    assert (answer["meaning"], answer["logprob"], answer["sampling_logprob"]) == (0, -0.1, -0.6)
    assert answer["token_entropies"] == [0.5, 1.25]
    assert row["samples"][1]["complete"] is False
    assert (row["p_true"], row["answer"]["correct"]) == (0.75, True)


def test_seeds_differ_by_use_and_question_and_fit_json() -> None:
    seeds = {seed_of(s, q, use) for s in (1, 2) for q in ("a", "b") for use in ("answer", "samples")}
    assert len(seeds) == 8
    assert all(0 <= seed < 2**53 for seed in seeds)


def test_the_examples_of_p_true_are_made_once(dataset: Dataset, tmp_path: Path) -> None:
    go(load_dataset("facts", limit=2), tmp_path, Counting(), p_true=())
    kept = json.loads((tmp_path / "p_true.json").read_text())
    assert list(kept) == [question.id for question in dataset.rehearsals]
    rng = np.random.default_rng(seed_of(10, dataset.rehearsals[0].id, "rehearsal"))
    others = [sample.text for sample in Counting().sample("", 10, rng=rng)]
    assert kept[dataset.rehearsals[0].id]["others"] == others
    model = Counting()
    report = go(dataset, tmp_path, model, p_true=())
    assert report.complete
    assert json.loads((tmp_path / "p_true.json").read_text()) == kept


@pytest.mark.parametrize(
    ("kept", "words"),
    [
        ('["Question: ...", "Question: ..."]', "does not hold the examples of P.True."),
        ('{"capital/Peru": "Question: ..."}', "does not hold the examples"),
        (
            '{"capital/Peru": {"answer": "Lima", "others": "Lima", "correct": true}}',
            "does not hold the examples",
        ),
        (
            '{"capital/Peru": {"answer": "Lima", "others": [], "correct": "yes"}}',
            "does not hold the examples",
        ),
        ('{"capital/Peru"', "not JSON"),
        ("\0", "not JSON"),
    ],
)
def test_examples_of_p_true_that_another_version_kept_are_named(
    dataset: Dataset, tmp_path: Path, kept: str, words: str
) -> None:
    go(dataset, tmp_path, Counting(), p_true=())
    (tmp_path / "p_true.json").write_text(kept)
    with pytest.raises(RecordingError, match=rf"p_true\.json: {words}"):
        go(dataset, tmp_path, Counting(), p_true=())


@pytest.fixture
def script(tmp_path: Path) -> str:
    path = tmp_path / "script.json"
    path.write_text(json.dumps({"*": {"Paris": 0.5, "Rome": 0.5}}))
    return f"scripted:{path}"


def test_the_command(tmp_path: Path, script: str, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "run")
    command = ["generate", "--dataset", "facts", "--model", script, "--out", out, "--samples", "4"]
    assert main([*command, "--limit", "3"]) == 0
    assert "3 of 3 questions" in capsys.readouterr().out
    assert main([*command, "--limit", "5", "--concurrency", "2"]) == 0
    assert "5 of 5 questions" in capsys.readouterr().out
    assert main([*command, "--seed", "4"]) == 1
    assert "holds another run" in capsys.readouterr().err
    assert main(["recording", "verify", out]) == 0
    assert main(["recording", "info", out, "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["questions"] == 5
    assert main(["recording", "info", out]) == 0
    assert "questions            5" in capsys.readouterr().out
    assert main(["recording", "export", out, str(tmp_path / "run.jsonl")]) == 0
    assert main(["recording", "merge", out, "--out", str(tmp_path / "all")]) == 0
    assert capsys.readouterr().out.endswith(f"5 questions in {tmp_path / 'all'}\n")
    part = next((tmp_path / "run").glob("part-*"))
    part.write_bytes(part.read_bytes()[:-2])
    assert main(["recording", "verify", out]) == 1
    assert "the file has changed since it was written" in capsys.readouterr().err


def test_a_disk_that_fills_up_under_the_command(
    mount: Callable[[str], Path], script: str, capsys: pytest.CaptureFixture[str]
) -> None:
    place = mount("size=200k")
    out = str(place / "run")
    command = ["generate", "--dataset", "facts", "--model", script, "--out", out, "--limit", "40"]
    assert main(command) == 1
    said = capsys.readouterr().err
    assert (
        "the disk is full. What was finished is safe: free some space and run the same command again" in said
    )
    before = list(row_lines(out))
    assert 0 < len(before) < 40
    subprocess.run(["mount", "-o", "remount,size=8m", str(place)], check=True)
    assert main(command) == 0
    assert f"40 of 40 questions in {out}, {len(before)} of them from before" in capsys.readouterr().out
    assert list(row_lines(out))[: len(before)] == before
    assert verify(out) == []


def test_a_folder_on_a_read_only_disk(
    mount: Callable[[str], Path], script: str, capsys: pytest.CaptureFixture[str]
) -> None:
    place = mount("ro")
    command = ["generate", "--dataset", "facts", "--model", script, "--out", str(place / "run")]
    assert main(command) == 1
    assert "read-only, or there is no permission: choose another place" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--samples", "0"], "--samples is 0"),
        (["--limit", "0"], "limit is 0"),
        (["--model-option", "max_tokens"], "KEY=VALUE"),
        (["--grader", "taste"], "no grader is called 'taste'"),
        (["--dataset", "nothing"], "no set is called 'nothing'"),
        (["--batch", "0"], "batch is 0"),
    ],
)
def test_wrong_options(
    tmp_path: Path, script: str, arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["generate", "--dataset", "facts", "--model", script, "--out", str(tmp_path / "run")]
    assert main([*command, *arguments]) == 2
    assert words in capsys.readouterr().err


def test_an_open_question_is_exit_code_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    make = functools.partial(Flaky, refused=("copper",))
    monkeypatch.setattr("semtropy.models.load_model", lambda name, **options: make())
    command = [
        "generate",
        "--dataset",
        "facts",
        "--model",
        "x",
        "--limit",
        "4",
        "--samples",
        "2",
        "--no-p-true",
    ]
    assert main([*command, "--out", str(tmp_path / "run")]) == 1
    said = capsys.readouterr()
    assert "question number/copper failed: the endpoint hung up" in said.err
    assert "1 questions are open: run the same command again" in said.err
    assert "3 of 4 questions" in said.out


def test_an_unknown_engine() -> None:
    with pytest.raises(InputError, match="choose one of local, ray"):
        load_engine("slurm", Counting)


def test_votes_stand_in_where_a_model_cannot_weigh() -> None:
    plan = GenerationPlan(samples=2, p_true=("example",))
    model = ScriptedModel(default={"A": 0.7, "B": 0.2, "maybe": 0.1})
    [outcome] = drive([QuestionTask(Question("1", "Who?"), 0)], plan, TaskBackend(model, plan))
    assert 0 < outcome.row["p_true"] <= 1  # type: ignore[union-attr]
    assert outcome.row["p_true"] * 10 == pytest.approx(round(outcome.row["p_true"] * 10))  # type: ignore[union-attr]
    assert np.isfinite(outcome.row["p_true"])  # type: ignore[union-attr]


def test_a_question_that_changed_under_its_id_is_not_resumed(tmp_path: Path) -> None:
    file, folder = tmp_path / "mine.jsonl", tmp_path / "run"
    questions = [{"id": str(n), "question": f"What is {n} plus 1?", "answer": str(n + 1)} for n in range(3)]
    file.write_text("\n".join(map(json.dumps, questions)))
    assert go(load_dataset(str(file)), folder, Counting()).complete
    assert go(load_dataset(str(file)), folder, Counting()).progress.resumed == 3
    for change in ({"question": "What is 1 plus 2?"}, {"answer": "7"}, {"context": "We count."}):
        file.write_text(
            "\n".join(json.dumps(each | (change if each["id"] == "1" else {})) for each in questions)
        )
        with pytest.raises(StoreError, match="question '1' is not the one that was answered"):
            go(load_dataset(str(file)), folder, Counting())


def test_zeros_of_a_server_that_computes_no_log_probabilities_are_not_recorded(tmp_path: Path) -> None:
    """Read back they would make an answer certain that all samples repeat. Cold answers keep theirs: it may be so."""
    zeros = Sample("4", 0.0, token_logprobs=(0.0, 0.0), sampling_logprob=0.0)
    dataset = load_dataset("facts", limit=1)
    engine = LocalEngine(lambda: as_model(lambda messages, n, t: [zeros] * n))
    generate(dataset, GenerationPlan(samples=12), engine, tmp_path / "run", model="zeros")
    row = read_recording(tmp_path / "run").rows[0]
    assert row["samples"][0] == {"text": "4", "token_count": 2}
    assert (row["answer"]["logprob"], row["answer"].get("sampling_logprob")) == (0.0, None)


def test_another_endpoint_is_another_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["generate", "--dataset", "facts", "--limit", "2", "--samples", "2", "--no-p-true", "--out"]
    command += [str(tmp_path / "run"), "--model", "openai:m", "--model-option", "api_key=very-secret"]
    monkeypatch.setattr("semtropy.models.load_model", lambda name, **options: Counting())
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1/")
    assert main(command) == 0
    assert main(command) == 0
    assert "very-secret" not in (tmp_path / "run" / "manifest.json").read_text()
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:2/v1")
    capsys.readouterr()
    assert main(command) == 1
    said = capsys.readouterr().err
    assert 'holds another run: endpoint was "http://127.0.0.1:1/v1", is "http://127.0.0.1:2/v1"' in said


def test_a_folder_without_an_endpoint_is_continued(tmp_path: Path) -> None:
    """Runs of version 0.2 did not say where they asked."""
    dataset = load_dataset("facts", limit=2)
    assert go(dataset, tmp_path, Counting()).complete
    engine = LocalEngine(Counting)
    report = generate(
        dataset, plan_of(dataset), engine, tmp_path, model=Counting().name, endpoint="http://127.0.0.1/v1"
    )
    assert report.progress.resumed == 2


@pytest.mark.parametrize(
    ("dataset", "option", "asked"),
    [
        ("facts", [], True),
        ("facts", ["--no-p-true"], False),
        ("file", [], False),
        ("file", ["--p-true"], True),
    ],
)
def test_p_true_is_for_named_datasets_and_on_demand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dataset: str, option: list[str], asked: bool
) -> None:
    monkeypatch.setattr("semtropy.models.load_model", lambda name, **options: Counting())
    file = tmp_path / "mine.txt"
    file.write_text("What is 1 plus 1?\n")
    command = ["generate", "--dataset", dataset if dataset == "facts" else str(file), "--limit", "1"]
    command += ["--samples", "2", "--model", "smollm2", "--out", str(tmp_path / "run"), *option]
    assert main(command) == 0
    [row] = read_recording(tmp_path / "run")
    assert ("p_true" in row) == asked
