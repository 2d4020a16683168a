"""Recordings from the files of other tools."""

from __future__ import annotations

import csv
import json
import math
import pickle
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from semtropy.cli import main
from semtropy.cli.import_ import FORMATS as OFFERED
from semtropy.errors import InputError, RecordingError
from semtropy.recording import Recording, read_recording
from semtropy.recording.importers import FORMATS, import_recording

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"


def bring(kind: str, source: Path, **header: Any) -> Recording:
    target = source.with_name("out.jsonl")
    import_recording(kind, source, target, header=header)
    return read_recording(target)


def test_the_command_offers_every_format() -> None:
    assert tuple(FORMATS) == OFFERED
    with pytest.raises(InputError, match="no format is called 'xml': choose one of nature"):
        import_recording("xml", "a", "b")


# --- the Nature paper's runs -------------------------------------------------------------------------------------


def generation(question: str = "Capital of France?") -> dict[str, Any]:
    return {
        "question": question,
        "context": None,
        "most_likely_answer": {"response": "Paris", "token_log_likelihoods": [-0.1, 0.0], "accuracy": 1.0},
        "reference": {"answers": {"answer_start": [0], "text": ["Paris", "paris"]}, "id": "1"},
        "responses": [
            ("Paris", [-0.1, np.float32(-0.25)], np.zeros(4), 1.0),
            ("Rome", [-3.0], None, 0.0),
            ("Paris", [-0.5], None, None),
        ],
    }


def nature(folder: Path, generations: Any, measures: Any = None) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "validation_generations.pkl").write_bytes(pickle.dumps(generations))
    if measures is not None:
        (folder / "uncertainty_measures.pkl").write_bytes(pickle.dumps(measures))
    return folder


def test_a_nature_run(tmp_path: Path) -> None:
    measures = {
        "uncertainty_measures": {"p_false": [1.2], "p_false_fixed": [np.float64(0.25)]},
        "semantic_ids": [[0, 1, 2]],
    }
    folder = nature(tmp_path / "m--d", {"q1": generation(), "q2": generation("Capital of Italy?")}, measures)
    target = tmp_path / "out.jsonl.gz"
    done = import_recording("nature", folder, target)
    assert done.notes == ["1 samples were moved to the meaning of an identical answer"]
    recording = read_recording(target)
    assert (recording.header.model, recording.header.dataset) == ("m", "d")
    assert (
        recording.header.why_logprobs_unusable
        == "the log-probabilities leave out the end token (eos_included)"
    )
    first, second = recording
    assert (first.id, first.references, first.p_true) == ("q1", ("Paris", "paris"), 0.75)
    assert first.meanings == (0, 1, 0)
    assert first.samples[0].token_logprobs == (-0.1, -0.25)
    assert first["samples"][1] == {"text": "Rome", "token_logprobs": [-3.0], "accuracy": 0.0, "meaning": 1}
    assert first.answer is not None
    assert first.answer.correct is True
    assert (second.clustered, second.p_true) == (False, None)


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs ../shared/data")
def test_the_shared_nature_run(tmp_path: Path) -> None:
    target = tmp_path / "out.jsonl"
    import_recording("nature", SHARED / "pickles" / "llama-3.2-1b--trivia_qa", target)
    recording = read_recording(target)
    assert (len(recording), recording.header.model, recording.header.dataset) == (
        20,
        "Llama-3.2-1B",
        "trivia_qa",
    )
    assert all(len(row.samples) == 10 and row.clustered for row in recording)
    first = recording.rows[0]
    assert first.samples[0].text == "sheryl crow"
    assert first.samples[0].token_logprobs == (-1.852116584777832, -1.2220075130462646, -0.18420492112636566)
    assert first.partition.meanings == (0, 1, 2, 3, 4, 5, 6, 7, 4, 8)
    assert first.p_true == pytest.approx(1 - 0.6007679346660724, abs=1e-15)
    # The run's own discrete semantic entropy of these meanings.
    shares = np.array(first.evidence().counts) / 10
    assert -(shares * np.log(shares)).sum() == pytest.approx(2.163955656882057, abs=1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"question": 3}, r"\['q'\]\.question: expected text, found a int"),
        ({"responses": "Paris"}, r"\['q'\]\.responses: expected a list, found a str"),
        ({"responses": [("Paris",)]}, r"\['q'\]\.responses\[0\]: expected a tuple"),
        ({"responses": [(None, [-1.0])]}, r"\['q'\]\.responses\[0\]\[0\]: expected text, found nothing"),
        (
            {"responses": [("a", [-math.inf])]},
            r"responses\[0\]\[1\]\[0\]: expected a finite number, found -inf",
        ),
        ({"responses": [("a", ["x"])]}, r"responses\[0\]\[1\]\[0\]: expected a number, found a str"),
        (
            {"responses": [("a", [2.0])]},
            r"question 1, samples\[0\]\.token_logprobs\[0\]: is 2.0: a log-probability",
        ),
        ({"most_likely_answer": {}}, r"\['q'\]\.most_likely_answer\.response: is missing"),
    ],
)
def test_a_wrong_field_of_a_nature_run_is_named(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    folder = nature(tmp_path / "run", {"q": {**generation(), **change}})
    with pytest.raises(RecordingError, match=message):
        bring("nature", folder)
    assert not (tmp_path / "out.jsonl").exists()


def test_other_things_wrong_with_a_nature_run(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match=r"absent: cannot be read: No such file"):
        bring("nature", tmp_path / "absent")
    with pytest.raises(RecordingError, match="holds no questions"):
        bring("nature", nature(tmp_path / "empty", {}))
    with pytest.raises(RecordingError, match="expected a dict, found a list"):
        bring("nature", nature(tmp_path / "list", [1]))
    longer = {"semantic_ids": [[0, 0, 0], [0]]}
    with pytest.raises(
        RecordingError, match=r"uncertainty_measures\.pkl, semantic_ids: has 2 entries for 1 questions"
    ):
        bring("nature", nature(tmp_path / "longer", {"q": generation()}, longer))
    with pytest.raises(
        RecordingError, match=r"semantic_ids\[0\]\[1\]: expected a whole number from 0, found -1"
    ):
        bring("nature", nature(tmp_path / "negative", {"q": generation()}, {"semantic_ids": [[0, -1, 0]]}))


# --- the paper's result pickles ----------------------------------------------------------------------------------


def results() -> list[Any]:
    return [
        np.array([1.0, 0.0]),
        np.array([[0, 1], [0, 0]]),
        [["Paris", "Rome"], ["4", "four"]],
        [[[-0.5, -0.25], [-2.0]], [[-0.1], [-0.2]]],
        [np.float64(0.75), np.float64(0.125)],
        [{"response": "Paris", "token_log_likelihoods": [0.0], "accuracy": 0.0}, {"response": "4"}],
        ["Capital of Italy?", "2 + 2?"],
        ["A map.", ""],
    ]


def test_the_papers_results(tmp_path: Path) -> None:
    path = tmp_path / "nnnp-Llama-2-7b-chat--svamp--results.pickle"
    path.write_bytes(pickle.dumps(tuple(results())))
    recording = bring("paper", path)
    assert (recording.header.model, recording.header.dataset) == ("Llama-2-7b-chat", "svamp")
    assert recording.header.logprobs_usable
    first, second = recording
    assert (first.question, first.context, second.context) == ("Capital of Italy?", "A map.", None)
    assert first.answer is not None
    assert (first.answer.correct, first.p_true, second.p_true) == (False, 0.25, 0.875)
    assert first.samples[0].logprob == -0.75
    assert second.evidence().floors == (math.exp(-0.1) + math.exp(-0.2),)


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (3, [[[-0.5], [-2.0]]], "token_log_probs: has 1 entries, expected 2"),
        (1, np.array([[0], [0]]), r"semantic_ids\[0\]: has 1 entries, expected 2"),
        (6, "Capital?", "questions: expected a list, found a str"),
        (4, ["high", 0.1], r"p_false\[0\]: expected a number, found a str"),
    ],
)
def test_a_wrong_column_of_the_papers_results_is_named(
    place: int, value: Any, message: str, tmp_path: Path
) -> None:
    held = results()
    held[place] = value
    path = tmp_path / "run.pickle"
    path.write_bytes(pickle.dumps(tuple(held)))
    with pytest.raises(RecordingError, match=rf"run\.pickle, {message}"):
        bring("paper", path)
    path.write_bytes(pickle.dumps(tuple(held[:3])))
    with pytest.raises(RecordingError, match="expected a tuple of 8: is_hallucination, semantic_ids"):
        bring("paper", path)


# --- lm-polygraph ------------------------------------------------------------------------------------------------


def manager() -> dict[str, Any]:
    stats: dict[str, Any] = defaultdict(list)
    stats.update(
        input_texts=["Q: capital of France?", "Q: 2 + 2?"],
        target_texts=["Paris", ["4", "four"]],
        greedy_texts=["Paris", "5"],
        greedy_tokens=[[5, 2], [6, 2]],
        greedy_log_likelihoods=[[np.float32(-0.5), np.float32(-0.25)], [-1.0, -1.0]],
        sample_texts=[["Paris", "Rome"], ["4", "4"]],
        sample_log_probs=[[-0.875, -3.0], [-0.1, -0.1]],
        sample_log_likelihoods=[[[-0.5, -0.25], [-1.0, -2.0]], [[-0.05], [-0.05]]],
        sample_tokens=[[[5, 6], [7, 8]], [[9], [9]]],
    )
    scores: dict[Any, Any] = defaultdict(list)
    scores["sequence", "Accuracy"] = [1, 0]
    estimations = {
        ("sequence", "PTrue"): [0.5, np.nan],
        ("sequence", "SemanticEntropy"): [np.float64(1.5), np.nan],
        ("token", "Entropy"): [0.1, 0.2, 0.3],
    }
    return {
        "state": "Initialized",
        "metrics": {},
        "gen_metrics": scores,
        "estimations": estimations,
        "stats": stats,
    }


def test_a_saved_manager(tmp_path: Path) -> None:
    path = tmp_path / "ue_manager"
    path.write_bytes(pickle.dumps(manager(), protocol=2))
    recording = bring("lm-polygraph", path)
    assert not recording.header.logprobs_usable
    first, second = bring("lm-polygraph", path, temperature=1.0, model="gpt2")
    assert first.header.logprobs_usable
    assert first.header.model == "gpt2"
    assert (first.question, second.references) == ("Q: capital of France?", ("4", "four"))
    assert first.answer is not None
    assert (first.answer.text, first.answer.logprob, first.answer.correct) == ("Paris", -0.75, True)
    assert first["samples"][0] == {
        "text": "Paris",
        "logprob": -0.875,
        "token_logprobs": [-0.5, -0.25],
        "tokens": [5, 6],
    }
    assert [sample.complete for sample in first.samples] == [True, False]
    assert first.p_true == pytest.approx(math.exp(-0.5))
    assert second.p_true is None
    assert first["lm_polygraph"] == {"Accuracy": 1.0}
    assert first.scores == {"lm-polygraph/SemanticEntropy": 1.5}
    assert second.scores == {}


def test_a_manager_saved_by_torch(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    path = tmp_path / "ue_manager"
    torch.save(manager(), path)
    assert [row.question for row in bring("lm-polygraph", path)] == ["Q: capital of France?", "Q: 2 + 2?"]


def test_a_manager_without_samples_says_what_to_do(tmp_path: Path) -> None:
    held = manager()
    del held["stats"]["sample_texts"]
    path = tmp_path / "ue_manager"
    path.write_bytes(pickle.dumps(held))
    with pytest.raises(
        RecordingError, match=r"stats\.sample_texts: is missing: run lm-polygraph with save_stats="
    ):
        bring("lm-polygraph", path)
    held = manager()
    held["stats"]["sample_log_probs"] = [[-1.0]]
    path.write_bytes(pickle.dumps(held))
    with pytest.raises(RecordingError, match=r"stats\.sample_log_probs: has 1 entries, expected 2"):
        bring("lm-polygraph", path)


# --- uqlm --------------------------------------------------------------------------------------------------------


def tokens(*scores: float) -> list[dict[str, Any]]:
    return [{"token": f"t{n}", "logprob": score, "top_logprobs": []} for n, score in enumerate(scores)]


def uqlm_data() -> dict[str, Any]:
    return {
        "prompts": ["Capital of France?", "2 + 2?"],
        "responses": ["Paris", "4"],
        "logprob": [tokens(-0.5), tokens(math.nan)],
        "sampled_responses": [["Paris", "Rome"], ["4", "Unable to get response"]],
        "sampled_logprob": [[tokens(-0.25, -0.5), tokens(-2.0)], [tokens(math.nan), None]],
        "normalized_probability": [0.875, math.nan],
        "discrete_entropy_values": [1.25, 0.0],
        "judge_1": ["0.25", None],
        "num_semantic_sets": [1, 2],
        "note": ["none", "of these"],
    }


def check_uqlm(recording: Recording, question: str = "Capital of France?") -> None:
    first, second = recording
    assert not recording.header.logprobs_usable
    assert (first.question, first.samples[0].tokens) == (question, ("t0", "t1"))
    assert first.samples[0].token_logprobs == (-0.25, -0.5)
    assert first.answer is not None
    assert first.answer.token_logprobs == (-0.5,)
    assert [sample.text for sample in second.samples] == ["4"]
    assert second.samples[0].token_logprobs is None
    assert second.answer is not None
    assert second.answer.logprob is None
    assert first.scores == {
        "uqlm/normalized_probability": 0.125,  # a confidence, turned round
        "uqlm/discrete_entropy_values": 1.25,
        "uqlm/judge_1": 0.75,
    }
    counted = first["uqlm"].pop("num_semantic_sets")  # a number in a dict, text in a CSV file
    assert str(counted) == "1"
    assert first["uqlm"] == {"note": "none"}


def test_uqlm_results_as_a_dict(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    metadata = {"temperature": 0.2, "sampling_temperature": 1.0, "num_responses": 2}
    data = uqlm_data()
    path.write_text(json.dumps({"data": data, "metadata": metadata}))
    recording = bring("uqlm", path)
    check_uqlm(recording)
    assert recording.header.temperature == 1.0
    assert recording.rows[1].scores == {"uqlm/discrete_entropy_values": 0.0}
    del data["prompts"]  # as UQResult.to_dict() does
    path.write_text(json.dumps({"data": data, "metadata": {"parameters": {"sampling_temperature": 0.5}}}))
    done = import_recording("uqlm", path, tmp_path / "out.jsonl")
    assert [note for note in done.notes if "has no prompts" in note]
    recording = read_recording(tmp_path / "out.jsonl")
    check_uqlm(recording, question="")
    assert recording.header.temperature == 0.5


def test_uqlm_results_as_a_data_frame(tmp_path: Path) -> None:
    data = uqlm_data()
    frame = {
        name.removesuffix("s") if name in ("prompts", "responses") else name: data[name] for name in data
    }
    records = [dict(zip(frame, values, strict=True)) for values in zip(*frame.values(), strict=True)]
    (tmp_path / "records.json").write_text(json.dumps(records))
    check_uqlm(bring("uqlm", tmp_path / "records.json"))
    columns = {name: {str(n): value for n, value in enumerate(values)} for name, values in frame.items()}
    (tmp_path / "columns.json").write_text(json.dumps(columns))
    check_uqlm(bring("uqlm", tmp_path / "columns.json"))
    with (tmp_path / "frame.csv").open(
        "w", newline=""
    ) as stream:  # as pandas writes it: lists as Python prints them
        writer = csv.DictWriter(stream, frame)
        writer.writeheader()
        writer.writerows(records)
    assert "nan" in (tmp_path / "frame.csv").read_text()
    check_uqlm(bring("uqlm", tmp_path / "frame.csv"))


def test_uqlm_results_as_csv(tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    path.write_text(
        ",prompt,response,sampled_responses,semantic_negentropy\n"
        """0,Capital of France?,Paris,"['Paris', 'Rome\\nor so']",0.25\n"""
    )
    (row,) = bring("uqlm", path)
    assert (row.question, [sample.text for sample in row.samples]) == (
        "Capital of France?",
        ["Paris", "Rome\nor so"],
    )
    path.write_text("""prompt,sampled_responses\nq,"[__import__('os').getcwd()]"\n""")
    with pytest.raises(
        RecordingError, match=r"results\.csv, line 2, sampled_responses: expected a list as Python"
    ):
        bring("uqlm", path)
    path.write_text("prompt,response\nq,a\n")
    with pytest.raises(RecordingError, match=r"sampled_responses: is missing"):
        bring("uqlm", path)
    path.write_text('prompt,sampled_responses\nq,"[{{}}]"\n')  # a set of dicts, which Python cannot make
    with pytest.raises(RecordingError, match=r"line 2, sampled_responses: expected a list as Python"):
        bring("uqlm", path)


def test_uqlm_csv_lines_end_at_line_breaks_only(tmp_path: Path) -> None:
    """pandas does not quote a field for a form feed or a Unicode line separator in it."""
    path = tmp_path / "results.csv"
    text = "prompt,sampled_responses\nWho\u2028is\x0cit\x85?,['a']\n"
    path.write_text(text, encoding="utf-8")
    assert [row.question for row in bring("uqlm", path)] == ["Who\u2028is\x0cit\x85?"]


def test_uqlm_results_that_are_cut_short(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    path.write_text(json.dumps({"data": uqlm_data()})[:50])
    with pytest.raises(RecordingError, match=r"results\.json: is not JSON"):
        bring("uqlm", path)


# --- CSV ---------------------------------------------------------------------------------------------------------

TABLE = """id,question,references,answer,correct,p_true,text,logprob,meaning,model_run
q1,"Capital of ""France""?","[""Paris"", ""paris""]",Paris,true,0.75,Paris,-0.5,P,7
q2,2 + 2?,4,4,no,,4,,0,8
q1,"Capital of ""France""?","[""Paris"", ""paris""]",Paris,true,0.75,"Rome,
Italy",-2,R,7
q1,"Capital of ""France""?","[""Paris"", ""paris""]",Paris,true,0.75,Paris,-0.5,P,9
"""


def test_a_plain_table(tmp_path: Path) -> None:
    path = tmp_path / "run.csv"
    path.write_text(TABLE)
    first, second = bring("csv", path, temperature=1.0, eos_included=True)
    assert (first.id, first.question, first.references) == ("q1", 'Capital of "France"?', ("Paris", "paris"))
    assert [(s.text, s.logprob) for s in first.samples] == [
        ("Paris", -0.5),
        ("Rome,\nItaly", -2.0),
        ("Paris", -0.5),
    ]
    assert (first.meanings, first.p_true) == ((0, 1, 0), 0.75)
    assert first["samples"][2]["model_run"] == "9"
    assert second.answer is not None
    assert (second.answer.correct, second.references, second.p_true) == (False, ("4",), None)
    assert not bring("csv", path).header.logprobs_usable


def test_a_table_needs_no_ids(tmp_path: Path) -> None:
    path = tmp_path / "run.tsv"
    path.write_text("question\ttext\na?\t1\nb?\t2\na?\t3\n")
    assert [(row.id, len(row.samples)) for row in bring("csv", path)] == [("0", 2), ("1", 1)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1, question: is no column of the table"),
        ("question,answer\n", "line 1, text: is no column of the table"),
        ("question,text\n", "holds no questions"),
        ("question,text,logprob\nq,a,high\n", "line 2, logprob: expected a number, found 'high'"),
        ("question,text,logprob\nq,a,nan\n", r"question 1, samples\[0\]\.logprob: expected a number or null"),
        ("question,text\nq,a,b\n", "line 2: has more or fewer fields"),
        ("question,text\nq\n", "line 2: has more or fewer fields"),
        ("question,text,answer,correct\nq,a,a,perhaps\n", "line 2, correct: expected true or false"),
        ("id,question,text\n1,a?,x\n1,b?,y\n", r"line 3, question: differs from an earlier line .*'1'"),
        ("question,text,tokens\nq,a,1 2\n", "line 2, tokens: expected a list as JSON"),
    ],
)
def test_a_wrong_table_names_the_line(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "run.csv"
    path.write_text(text)
    with pytest.raises(RecordingError, match=message):
        bring("csv", path)


# --- the command -------------------------------------------------------------------------------------------------


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "run.csv"
    path.write_text(TABLE)
    out = tmp_path / "run.jsonl.gz"
    assert main(["import", "csv", str(path), str(out), "--set", "model=gpt", "--set", "temperature=0.5"]) == 0
    said = capsys.readouterr()
    assert said.out == f"{out}: 2 questions, 4 samples\n"
    assert "log-probabilities are kept but not used as floors" in said.err
    header = read_recording(out).header
    assert (header.model, header.temperature, header["imported"]) == (
        "gpt",
        0.5,
        {"format": "csv", "file": "run.csv"},
    )


def test_the_command_fails_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "out.jsonl")
    assert main(["import", "paper", str(tmp_path / "absent"), out]) == 1
    assert (
        capsys.readouterr().err
        == f"semtropy: {tmp_path / 'absent'}: cannot be read: No such file or directory\n"
    )
    with pytest.raises(SystemExit) as stopped:
        main(["import", "csv", "a", out, "--set", "temperature"])
    assert stopped.value.code == 2
