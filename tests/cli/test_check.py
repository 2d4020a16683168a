"""`semtropy check` and `semtropy models` as a user meets them: output, exit codes, Ctrl-C."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time

import pytest
from rich.console import Console

from scripted_endpoint import ScriptedEndpoint, serving
from semtropy import __version__
from semtropy.checking import Checker
from semtropy.cli import main
from semtropy.cli._terminal import draw_steps, draw_verdict
from semtropy.estimators import LearnedPrior, Prior
from semtropy.inquiry.conclusion import conclude
from semtropy.models.scripted import ScriptedModel
from semtropy.stopping import Budget, Rounds, VarianceBelow
from semtropy.verdict import Verdict

STEADY, SCATTERED = "Capital of France?", "Mayor of Timisoara in 1911?"


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "script.json"
    spread = {f"name {k}": 0.1 for k in range(10)}
    path.write_text(json.dumps({STEADY: {"Paris": 1.0}, SCATTERED: spread}))
    return f"scripted:{path}"


def run(script, *arguments, estimator="histogram"):
    return main(
        ["check", "--model", script, "--judge", "exact", "--estimator", estimator, "--seed", "1", *arguments]
    )


def test_steady_is_0_and_says_so(script, capsys):
    assert run(script, STEADY) == 0
    out = capsys.readouterr().out
    assert out.startswith('Looks steady: "Paris".')
    assert "repeats the same error every time" in out


def test_flagged_is_3(script, capsys):
    assert run(script, SCATTERED) == 3
    assert capsys.readouterr().out.startswith("Likely made up")


def test_json_is_the_verdict(script, capsys):
    assert run(script, SCATTERED, "--json", "--max-samples", "5") == 3
    out = capsys.readouterr().out
    verdict = Verdict.from_json(out)
    assert (verdict.samples, verdict.flagged) == (5, True)
    assert out == verdict.to_json() + "\n"


def test_the_threshold_is_the_users(script):
    assert run(script, SCATTERED, "--threshold", "3") == 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["  "], "prompt is empty"),
        ([STEADY, "--max-samples", "-1"], "samples is -1"),
        ([STEADY, "--variance", "-1"], "--variance is -1"),
        ([STEADY, "--confidence", "0.2"], "confidence is 0.2"),
        ([STEADY, "--estimator", "magic"], "no estimator is called 'magic'"),
        ([STEADY, "--judge", "magic"], "no judge is called 'magic'"),
        ([STEADY, "--model", "magic"], "unknown model 'magic'"),
        ([STEADY, "--base-url", "http://x"], "--base-url goes with openai"),
        (["--file", "no-such-file"], "no-such-file"),
    ],
)
def test_wrong_usage_is_2_and_named(script, capsys, arguments, says):
    assert run(script, *arguments) == 2
    assert says in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        [STEADY, "--file", "x"],
        [STEADY, "--variance", "1", "--confidence", "0.9"],
        [STEADY, "--max-samples", "ten"],
        [STEADY, "--modle", "m"],
    ],
)
def test_contradictions_are_2_and_one_line(script, capsys, arguments):
    with pytest.raises(SystemExit) as ended:
        run(script, *arguments)
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith("semtropy check: ")
    assert said.count("\n") == 1


def test_a_calibration_gives_a_probability_and_decides(script, capsys, tmp_path):
    calibration = pytest.importorskip("semtropy.calibration", reason="needs calibrations")
    curve = calibration.Logistic(slope=2.0, intercept=-1.0)
    path = tmp_path / "calibration.json"
    for threshold, code in ((0.9, 3), (0.99, 0)):
        calibration.Calibration(curve, estimator="histogram", threshold=threshold).save(path)
        assert run(script, SCATTERED, "--calibration", str(path), "--json") == code
        verdict = json.loads(capsys.readouterr().out)
        assert verdict["probability"] == pytest.approx(float(curve([verdict["entropy"]["mean"]])[0]))
        assert 0.9 < verdict["probability"] < 0.99


def test_a_model_that_fails_is_1(script, capsys):
    assert run(script, "Not in the script?") == 1
    assert "semtropy: the script has no answers" in capsys.readouterr().err


def test_a_file_of_prompts_in_order_each_with_its_own_outcome(script, capsys, tmp_path):
    prompts = [STEADY, "Not in the script?", SCATTERED] * 3
    path = tmp_path / "prompts.txt"
    path.write_text("\n\n".join(prompts))
    assert run(script, "--file", str(path), "--json") == 1
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["question"] for row in rows] == prompts
    assert ["error" in row for row in rows] == [False, True, False] * 3
    assert [row.get("flagged") for row in rows] == [False, None, True] * 3


def test_a_file_without_failures_is_3_if_one_is_flagged(script, capsys, tmp_path):
    path = tmp_path / "prompts.txt"
    path.write_text(f"{STEADY}\n{SCATTERED}\n")
    assert run(script, "--file", str(path)) == 3
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("steady ")
    assert second.startswith("flagged ")
    path.write_text(f"{STEADY}\n")
    assert run(script, "--file", str(path)) == 0


def test_an_empty_file_is_2(script, capsys, tmp_path):
    path = tmp_path / "prompts.txt"
    path.write_text("\n \n")
    assert run(script, "--file", str(path)) == 2
    assert "no prompts in it" in capsys.readouterr().err


def test_the_rows_of_a_file_of_json_lines_are_its_questions(script, capsys, tmp_path):
    path = tmp_path / "prompts.jsonl"
    path.write_text(
        json.dumps({"question": STEADY, "id": 7}) + "\n\n" + json.dumps({"prompt": STEADY}) + "\n"
    )
    assert run(script, "--file", str(path), "--json") == 0
    assert [json.loads(line)["question"] for line in capsys.readouterr().out.splitlines()] == [STEADY] * 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"question": "Who?"}\n{broken\n', "line 2"),
        ('{"text": "Who?"}\n', "line 1, question: is missing"),
        ("\x00\x01 binary", "line 1"),
    ],
)
def test_a_broken_file_of_json_lines_is_not_asked(script, capsys, tmp_path, text, said):
    path = tmp_path / "prompts.jsonl"
    path.write_text(text)
    assert run(script, "--file", str(path)) == 2
    assert said in capsys.readouterr().err


def checker() -> Checker:
    model = ScriptedModel(default={f"name {k}": 0.1 for k in range(10)})
    return Checker.load(model=model, judge="exact", estimator="histogram", rounds=Rounds())


def test_breaking_off_shows_what_is_known(script, capsys, monkeypatch):
    steps = list(checker().stream(SCATTERED, rng=1))

    def broken_off(self, prompt, *, answer=None, rng=None):
        yield from steps[:2]
        raise KeyboardInterrupt

    monkeypatch.setattr(Checker, "stream", broken_off)
    assert run(script, SCATTERED) == 130
    assert "Interrupted: the verdict rests on the samples drawn until then." in capsys.readouterr().out


def test_breaking_off_before_the_first_answer(script, capsys, monkeypatch):
    def broken_off(self, prompt, *, answer=None, rng=None):
        raise KeyboardInterrupt

    monkeypatch.setattr(Checker, "stream", broken_off)
    assert run(script, SCATTERED) == 130
    assert capsys.readouterr().err == "semtropy: interrupted\n"


def test_the_picture_shows_samples_meanings_and_the_interval():
    asking = checker()
    steps = list(asking.stream(SCATTERED, rng=1))
    console = Console(width=100, record=True, file=open(os.devnull, "w"))  # noqa: SIM115, PTH123
    with console.file:
        console.print(draw_steps(SCATTERED, [], asking.terms))
        console.print(draw_steps(SCATTERED, steps, asking.terms))
        console.print(draw_verdict(conclude(steps[-1], asking.terms)))
        text = console.export_text()
    assert "asking ..." in text
    assert "10 of at most 10" in text
    assert text.count("after ") == len(steps)
    assert "flagged above 0.69" in text
    assert "Likely made up" in text
    counts = [int(found) for found in re.findall(r"(\d+) × ", text)]
    assert counts == sorted(counts, reverse=True)
    assert sum(counts) == 10
    assert text.count("← the answer") == 1


@pytest.mark.parametrize("samples", [0, 4])
def test_the_picture_shows_agreement_also_without_samples(samples):
    budget = Budget(samples=samples)
    model = ScriptedModel({SCATTERED: {"left": 0.7, "Left.": 0.2, "right": 0.1}})
    asking = Checker.load(model=model, judge="exact", rule=VarianceBelow(0.0), budget=budget)
    steps = list(asking.stream(SCATTERED, rng=1))
    console = Console(width=100, record=True, file=open(os.devnull, "w"))  # noqa: SIM115, PTH123
    with console.file:
        console.print(draw_steps(SCATTERED, steps, asking.terms))
        text = console.export_text()
    assert re.search(r"agreement [·━●]+  .*\d+ in 100 \(\d+ to", text)
    assert f"{samples} of at most {samples}" in text
    assert "after 0" in text
    assert ("×" in text) == (samples > 0), "no meanings without samples"


def in_terminal(arguments, *, interrupt_at=None):
    """Run the command on a pseudo-terminal; returns what it wrote and its exit code."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "semtropy", *arguments]
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "100"}
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    written, end, pressed = b"", time.monotonic() + 120, None
    while time.monotonic() < end:
        if pressed is not None and time.monotonic() > pressed + 5:  # a person presses again
            pressed = time.monotonic()
            process.send_signal(signal.SIGINT)
        if select.select([ours], [], [], 0.1)[0]:
            try:
                chunk = os.read(ours, 65536)
            except OSError:
                break
            written += chunk
            if interrupt_at is not None and interrupt_at in written:
                interrupt_at, pressed = None, time.monotonic()
                process.send_signal(signal.SIGINT)
        elif process.poll() is not None:
            break
    os.close(ours)
    return written.decode("utf-8", "replace"), process.wait(timeout=60)


def test_in_a_terminal_it_draws(script):
    text, code = in_terminal(
        ["check", "--model", script, "--judge", "exact", "--estimator", "histogram", SCATTERED]
    )
    assert code == 3
    assert "●" in text
    assert "Likely made up" in text


def test_ctrl_c_in_a_terminal_ends_with_what_is_known(tiny_gguf):
    question = "Who was the mayor of Timisoara in 1911?"
    arguments = [
        "check",
        question,
        "--model",
        f"gguf-brief:{tiny_gguf}",
        "--judge",
        "exact",
        "--max-samples",
        "500",
        "--variance",
        "0",
        "--seed",
        "1",
    ]
    text, code = in_terminal(arguments, interrupt_at=b"after 2 ")
    assert code == 130
    assert "Interrupted: the verdict rests on the samples drawn until then." in text
    assert "Traceback" not in text


def test_models_lists_what_there_is(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("SEMTROPY_CACHE", str(tmp_path))
    assert main(["models"]) == 0
    out = capsys.readouterr().out
    assert "smollm2" in out
    assert "not fetched yet, 93 MB to download" in out
    assert "openai:MODEL" in out
    assert main(["models", "remove"]) == 0
    assert capsys.readouterr().out == "smollm2: was not there\n"
    assert main(["models", "fetch", "gpt-4"]) == 2


def test_models_fetch_says_where(capsys, smollm2):
    assert main(["models", "fetch"]) == 0
    assert capsys.readouterr().out == f"smollm2: {smollm2.path}\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["check", "x", "--modle", "smollm2"], "there is no option --modle: did you mean --model?"),
        (["check", "x", "--max-sampels=3"], "there is no option --max-sampels: did you mean --max-samples?"),
        (
            ["recording", "info", "x", "--zzzz"],
            "there is no option --zzzz (`semtropy recording info --help` lists",
        ),
        (["--verison"], "there is no option --verison: did you mean --version?"),
        (["--model", "smollm2", "check", "x"], "there is no option --model: options follow the command"),
        (["chekc", "x"], "there is no command chekc: did you mean check?"),
        (["Who wrote Faust?"], "to ask a question, write semtropy check 'Who wrote Faust?'"),
        (["check", "x", "--max-samples", "ten"], "--max-samples is 'ten': expected a whole number"),
        (["recording", "zzzz"], "there is no command zzzz: choose one of info, verify, merge, export"),
        (
            ["check", "Who", "wrote", "Faust?"],
            "'wrote' is one word too many: put a question in quotation marks",
        ),
    ],
)
def test_a_mistyped_command_or_option_is_told_the_one_meant(words, said, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(words)
    assert stopped.value.code == 2
    assert said in capsys.readouterr().err


def test_without_a_command_there_is_the_list_of_them(capsys):
    with pytest.raises(SystemExit) as stopped:
        main([])
    assert stopped.value.code == 0
    assert "see three verdicts on the built-in model" in " ".join(capsys.readouterr().out.split())


def test_a_second_model_that_disagrees_is_shown_and_flags(script, tmp_path, capsys):
    other = tmp_path / "other.json"
    other.write_text(json.dumps({STEADY: {"Lyon": 1.0}, SCATTERED: {"Ann": 1.0}}))
    options = ["--second", f"scripted:{other}"]
    assert run(script, STEADY, *options, estimator="bayes") == 3
    out = capsys.readouterr().out
    assert out.startswith('Looks steady, but another model disagrees: "Paris".')
    assert 'says otherwise: "Lyon"' in out
    assert run(script, STEADY, "--second", script, "--json", estimator="bayes") == 0
    assert json.loads(capsys.readouterr().out)["second"]["answers"] == ["Paris"]
    prompts = tmp_path / "prompts.txt"
    prompts.write_text(f"{STEADY}\n{SCATTERED}\n")
    assert run(script, "--file", str(prompts), *options, "--json", estimator="bayes") == 3
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert first["second"]["instead"] == "Lyon"
    assert "second" not in second  # flagged anyway: nobody else is asked


def test_the_first_providers_key_is_not_sent_to_the_second(script, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "first-key")
    endpoint = ScriptedEndpoint(lambda prompt: {"Paris": 1.0})
    with serving(endpoint) as url:
        options = ["--second", "openai:x", "--second-base-url", url]
        assert run(script, STEADY, *options, estimator="bayes") == 0
        monkeypatch.setenv("SECOND_API_KEY", "second-key")
        assert run(script, STEADY, *options, estimator="bayes") == 0
    assert endpoint.keys[0] != endpoint.keys[-1] == "Bearer second-key"
    assert not any("first-key" in str(key) for key in endpoint.keys)


def test_many_prompts_are_learned_from_and_kept(tmp_path, capsys):
    path, learned = tmp_path / "script.json", tmp_path / "learned.json"
    path.write_text(json.dumps({f"Question {k}?": dict.fromkeys("abcdefgh", 0.125) for k in range(4)}))
    prompts = tmp_path / "prompts.txt"
    prompts.write_text("".join(f"Question {k}?\n" for k in range(4)))
    for expected in (4, 8):
        run(f"scripted:{path}", "--file", str(prompts), "--learned", str(learned), estimator="bayes")
        assert f"prior: learned from {expected} questions" in capsys.readouterr().err
    held = json.loads(learned.read_text())
    assert held["questions"] == 8
    run(f"scripted:{path}", "--file", str(prompts), "--json", estimator="bayes")
    verdicts = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert verdicts[-1]["prior"].startswith("learned from")
    run(f"scripted:{path}", "Question 1?", "--json", estimator="bayes")
    assert json.loads(capsys.readouterr().out)["prior"] is None


def test_a_learned_prior_has_one_beginning(script, tmp_path, capsys):
    learned, fitted = tmp_path / "learned.json", tmp_path / "prior.json"
    LearnedPrior().save(learned)
    Prior.default().save(fitted)
    given = ("--learned", str(learned), "--prior", str(fitted))
    assert run(script, STEADY, *given, estimator="bayes") == 2
    assert "leave out one" in capsys.readouterr().err


def test_the_package_can_be_run() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "semtropy", "--version"], capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stdout.strip()) == (0, f"semtropy {__version__}")


def test_a_question_from_standard_input(script, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(f"{STEADY}\n".encode())))
    assert run(script, "-") == 0
    assert capsys.readouterr().out.startswith('Looks steady: "Paris".')


def test_no_question_is_told_how_to_give_one(script, capsys):
    assert run(script) == 2
    assert 'there is no question: add one in quotation marks, "Who wrote Faust?"' in capsys.readouterr().err
