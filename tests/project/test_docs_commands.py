"""Every `semtropy` command that the docs show is run as it stands, or its block says why not.

The commands of a page run in order, in a folder that has the files they name. Endpoints are a scripted one on
loopback, and the built-in model itself answers on the pages in `REAL`. A block after `<!-- not run: REASON -->` is
left out; so are lines for other programs.
"""

from __future__ import annotations

import functools
import gzip
import io
import json
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tools.checks import SHELLS, pages
from tools.markdown import blocks

from scripted_endpoint import ScriptedEndpoint, serving
from semtropy.cli import main
from semtropy.models import llama_cpp
from semtropy.models.scripted import ScriptedModel
from semtropy.study import example_recording

ROOT = Path(__file__).resolve().parents[2]
NOT_RUN = re.compile(r"<!-- not run: .+ -->\s*$")
# What needs torch, a cluster, a set of questions that is not shipped, or a second machine; test_demo.py runs the demo.
ELSEWHERE = re.compile(r"hf:|ray|--data |gpu-1|localhost|merge shard|completions:my-model|semtropy demo$")
# Commands that need a shell: pipes, variables.
SHELL = re.compile(r"[|<>;&$`]")
REAL = ("docs/start.md", "docs/checking.md", "docs/structured.md")
"""Pages whose commands ask the built-in model itself: plainly, and with every option that changes what it is asked."""
ASKED_OTHERWISE = re.compile(r"--(system|max-tokens|schema|tools|choices|messages)\b")
REDIRECTED = re.compile(r" > (\S+)$")
OUTCOMES = {0, 3, 4, 5}
STORE = "semtropy generate --dataset facts --limit 8 --samples 5 --model smollm2 --no-p-true --out runs/facts"


def shown(text: str) -> list[str]:
    """The `semtropy` commands of a page that are to be run."""
    found: list[str] = []
    rows = text.splitlines()
    for block in blocks(text):
        before = "\n".join(rows[: block.line - 2]).rstrip()
        if block.language not in SHELLS or NOT_RUN.search(before):
            continue
        lines = block.code.replace("\\\n", " ").splitlines()
        prompted = [row.removeprefix("$ ") for row in lines if row.startswith("$ ")]
        found += [
            re.sub(r"\s+#.*", "", line)
            for line in prompted or ([] if block.language == "console" else lines)
            if line.startswith("semtropy ") and not ELSEWHERE.search(line)
        ]
    return found


COMMANDS = {page.relative_to(ROOT).as_posix(): shown(page.read_text()) for page in pages(ROOT)}


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with serving(ScriptedEndpoint(lambda prompt: {"Paris": 0.9, "Lyon": 0.1})) as url:
        yield url


@functools.cache
def recordings() -> tuple[str, str]:
    """The recording that ships, with numbers as ids, and its beginning, which is quick to relate and to evaluate."""
    header, *rows = gzip.decompress(example_recording().read_bytes()).decode().splitlines()
    numbered = [{**json.loads(row), "id": str(place)} for place, row in enumerate(rows)]
    fewer = [{**row, "samples": row["samples"][:10]} for row in numbered[:7]]
    whole, few = ("\n".join([header, *map(json.dumps, rows)]) for rows in (numbered, fewer))
    return whole, few


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with every file that a command of the docs reads."""
    whole, few = recordings()
    for name in ("run.jsonl", "mine.jsonl"):
        (tmp_path / name).write_text(few)
    (tmp_path / "graded.jsonl.gz").write_bytes(gzip.compress(whole.encode(), 1))
    for name in ("run.jsonl.gz", "my-recording.jsonl.gz"):
        (tmp_path / name).write_bytes(gzip.compress(few.encode()))
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "one.jsonl.gz").write_bytes(gzip.compress(few.encode()))
    (tmp_path / "questions.txt").write_text("What is the capital of France?\nWho wrote Hamlet?\n")
    (tmp_path / "questions.csv").write_text("id,question,answer\n1,Who wrote Hamlet?,Shakespeare\n")
    (tmp_path / "answers.csv").write_text("id,prompt,response\n1,Capital?,Paris\n1,Capital?,Lyon\n")
    (tmp_path / "script.json").write_text('{"*": {"Paris": 0.9, "Lyon": 0.1}}')
    country = {"capital": {"type": "string"}, "continent": {"enum": ["Africa", "Europe"]}}
    schema = {"type": "object", "properties": country, "required": list(country)}
    (tmp_path / "country.json").write_text(json.dumps(schema))
    turns = [{"role": "user", "content": "What is the capital of France?"}]
    (tmp_path / "chat.json").write_text(json.dumps(turns))
    return tmp_path


@pytest.fixture
def run(
    folder: Path, endpoint: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[str], tuple[int, str]]:
    """Runs a command and gives its exit code and what it said of errors; `generate` draws from a script."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    for name, value in {"OPENAI_BASE_URL": endpoint, "OPENAI_API_KEY": "none", "NO_COLOR": "1"}.items():
        monkeypatch.setenv(name, value)

    def do(command: str) -> tuple[int, str]:
        command = command.replace("openai:MODEL", "openai:m")
        if command.startswith("semtropy generate"):
            command = command.replace("--model smollm2", "--model scripted:script.json")
        redirected = REDIRECTED.search(command)
        command = REDIRECTED.sub("", command)
        if SHELL.search(command):
            program = f"{shlex.quote(sys.executable)} -m semtropy"
            line = re.sub(r"^semtropy", program, command)
            done = subprocess.run(line, shell=True, capture_output=True, text=True, timeout=300, check=False)
            return done.returncode, done.stderr
        words = []
        for word in shlex.split(command)[1:]:
            words += sorted(map(str, Path().glob(word))) if "*" in word else [word]
        if words[0] == "evaluate" and "--processes" not in words and "--help" not in words:
            words += ["--processes", "1"]  # the same results without the time that others take to start
        try:
            code = main(words)
        except SystemExit as error:  # wrong usage, or --help
            code = int(error.code or 0)
        said = capsys.readouterr()
        if redirected:
            Path(redirected[1]).write_text(said.out)
        return code, said.err

    return do


def starts(command: str, folder: Path, endpoint: str) -> None:
    """A gateway that says it is ready, and ends when asked to."""
    words = shlex.split(re.sub(r"(--upstream) \S+", rf"\1 {endpoint}", command))[1:]
    given = words if "--port" in words else [*words, "--port", "0"]
    given = ["0" if before == "--port" else word for before, word in zip(["", *given], given, strict=False)]
    started = subprocess.Popen(
        [sys.executable, "-m", "semtropy", *given],
        cwd=folder,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert started.stderr is not None
        said = ""
        while "http://" not in said:
            line = started.stderr.readline()
            assert line, f"{command} ended: {said}"
            said += line
        started.send_signal(signal.SIGTERM)
        assert started.wait(60) == 0
    finally:
        started.kill()
        started.communicate()


@pytest.fixture(scope="module")
def served() -> set[str]:
    """The `serve` commands that have been started: the same one stands on several pages."""
    return set()


@pytest.mark.parametrize("page", [page for page, commands in COMMANDS.items() if commands])
def test_commands_run(
    page: str,
    folder: Path,
    endpoint: str,
    smollm2: Any,
    run: Callable[[str], tuple[int, str]],
    served: set[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if page not in REAL:
        script = ScriptedModel(default={"Paris": 0.9, "Lyon": 0.1})
        monkeypatch.setattr(llama_cpp, "smollm2", lambda **options: script)
    if page == "docs/store.md":
        assert run(STORE)[0] == 0
    for command in COMMANDS[page]:
        if command.startswith("semtropy serve"):
            if command not in served:
                starts(command, folder, endpoint)
                served.add(command)
            continue
        code, said = run(command)
        allowed = OUTCOMES if command.startswith("semtropy check") else {0}
        assert code in allowed, f"{page}: {command}\n{said}"


def asks_built_in(command: str) -> bool:
    return command.startswith("semtropy check") and "--model" not in command


def test_only_commands_that_ask_plainly_are_answered_by_a_script() -> None:
    for page in REAL:
        assert any(map(asks_built_in, COMMANDS[page])), page
    scripted = [
        line for page in COMMANDS.keys() - set(REAL) for line in COMMANDS[page] if asks_built_in(line)
    ]
    assert scripted
    assert not [line for line in scripted if ASKED_OTHERWISE.search(line)]
    assert ASKED_OTHERWISE.search('semtropy check "Who?" --choices yes,no')


def test_the_docs_have_commands_and_marked_ones_are_left_out() -> None:
    assert sum(map(len, COMMANDS.values())) > 20
    text = "```sh\nsemtropy a # b\nmake test\n```\n<!-- not run: needs a key -->\n```sh\nsemtropy c\n```\n"
    assert shown(text) == ["semtropy a"]
    assert shown("```console\n$ semtropy a\nsemtropy said\n```\n") == ["semtropy a"]
