"""`semtropy label FILE`: grade answers in the terminal or on a page, one key for each."""

from __future__ import annotations

import json
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError, RecordingError
from ..files import read_text, text_lines
from ._text import one_line, printable, say

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ..recording import Recording, Row

KEYS = "y right, n wrong, s skip, u undo, q quit"
PASSES = 0.7  # nats: answers up to this entropy pass by default, and are graded first
CONFIDENCE = 0.95


def register(commands: Any) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "label",
        help="grade answers in the terminal or on a page, for calibrate",
        description="Grade the answers of a recording, or of the lines that `semtropy check --json` prints, one key "
        f"for each: {KEYS}. Answers that pass come first, in random order. Grades are kept as they are given, in "
        "FILE.grades.jsonl, and a later run goes on from there.",
    )
    add = parser.add_argument
    add("file", metavar="FILE", help="a recording with meanings, or verdicts as JSON lines")
    add("--out", metavar="FILE", help="the graded recording to write (default: FILE.graded.jsonl)")
    add("--page", action="store_true", help="grade in a browser on this machine instead of the terminal")
    add("--port", type=int, default=0, metavar="N", help="port of the page (default: a free one)")
    add("--seed", type=int, default=0, metavar="N", help="seed of the order (default: 0)")
    parser.set_defaults(run=run, resumes=True)


def run(arguments: argparse.Namespace) -> int:
    """Ask for grades until all are given or the user quits; write the recording with what there is."""
    from ..recording import write_recording
    from ..recording.formats import check_recording_output

    source = Path(arguments.file)
    stem = source.name.removesuffix(".gz").removesuffix(".jsonl").removesuffix(".parquet")
    out = Path(arguments.out) if arguments.out else source.with_name(f"{stem}.graded.jsonl")
    check_recording_output(out, source)
    recording = _answers(source)
    journal = source.with_name(f"{source.name}.grades.jsonl")
    grades = _given(journal, {row.id for row in recording})
    rows, passing = _order(recording, arguments.seed)
    grading = Grading(rows, passing, grades, journal)
    try:
        if arguments.page:
            serve_page(grading, arguments.port)
        else:
            with _keys() as key:
                _grade(grading, key)
    except (KeyboardInterrupt, EOFError):
        say("")
    graded = [_with_grade(row, grades) for row in recording]
    write_recording(out, recording.header, graded)
    known = sum(row["answer"].get("correct") is not None for row in graded)
    say(f"{out}: {known} of {len(graded)} answers are graded")
    return 0


class Grading:
    """Answers that wait for a grade, in order; grades are kept in the journal as they are given."""

    def __init__(
        self, rows: Sequence[Row], passing: set[str], grades: dict[str, bool], journal: Path
    ) -> None:
        self.rows, self._passing, self._grades, self._journal = rows, passing, grades, journal
        self._waiting = [row for row in rows if row.id not in grades and row["answer"].get("correct") is None]
        self._done: list[Row] = []

    @property
    def current(self) -> Row | None:
        """The answer to grade now; None where all are graded."""
        return self._waiting[0] if self._waiting else None

    def press(self, key: str) -> bool:
        """Do what a key stands for; False where grading is to end."""
        row = self.current
        if row is not None and key in ("y", "n"):
            self._grades[row.id] = key == "y"
            _keep(self._journal, row.id, self._grades[row.id])
            self._done.append(self._waiting.pop(0))
        elif row is not None and key == "s":
            self._waiting.append(self._waiting.pop(0))
        elif key == "u" and self._done:
            self._waiting.insert(0, self._done.pop())
            del self._grades[self._waiting[0].id]
            _keep(self._journal, self._waiting[0].id, None)
        return key != "q"

    def progress(self) -> str:
        """How many are graded, and what follows for those that pass."""
        from ..calibration import upper_bound

        known = {row.id: row["answer"].get("correct") for row in self.rows} | self._grades
        passed = [each for name, each in known.items() if each is not None and name in self._passing]
        n, wrong = len(passed), sum(not correct for correct in passed)
        graded = sum(correct is not None for correct in known.values())
        said = f"{graded} of {len(self.rows)} graded"
        if n:
            bound = upper_bound(wrong, n, CONFIDENCE)
            said += f"; of {n} that pass {wrong} wrong: at most {bound:.0%} with {CONFIDENCE:.0%} confidence"
        return said


def _grade(grading: Grading, key: Callable[[], str]) -> None:
    while (row := grading.current) is not None:
        say(_shown(row, grading.progress()))
        if not grading.press(key()):
            return


def _shown(row: Row, progress: str) -> str:
    references = row.get("references") or []
    lines = [f"\n[{progress}]", f"Question: {row.question}"]
    lines += [f"Context:  {one_line(row.context, 500)}"] if row.context else []
    lines += [f"Expected: {' / '.join(map(str, references[:5]))}"] if references else []
    return "\n".join([*lines, f"Answer:   {row['answer']['text']}", f"Right? ({KEYS})"])


def _order(recording: Recording, seed: int) -> tuple[list[Row], set[str]]:
    """The rows in the order in which they are graded, and the ids of those that pass.

    A guarantee counts answers that pass. Within them the order is random: the grades are to be like those of all.
    """
    import numpy as np

    from ..estimators import load_estimator

    rows = [recording.rows[i] for i in np.random.default_rng(seed).permutation(len(recording.rows))]
    bayes = load_estimator("bayes")
    means = bayes.batch([row.arrays().evidence(range(min(10, len(row.samples)))) for row in rows]).mean
    passing = {row.id for row, mean in zip(rows, means.tolist(), strict=True) if mean <= PASSES}
    return sorted(rows, key=lambda row: row.id not in passing), passing


def _answers(path: Path) -> Recording:
    """The recording, or one made of verdicts; an error where an answer is missing."""
    from ..recording import Header, Recording, Row, read_recording

    verdicts = _verdicts(path)
    if verdicts is None:
        recording = read_recording(path)
        missing = next((row.id for row in recording if row.get("answer") is None), None)
        if missing is not None:
            raise RecordingError(f"question {missing!r} has no answer to grade", path=str(path))
        return recording
    header = Header.make(dataset=path.name)
    rows = []
    for number, verdict in enumerate(verdicts, start=1):
        try:
            fields = _row(number, verdict)
            rows += [] if fields is None else [Row(fields, header=header)]
        except (KeyError, TypeError, RecordingError):
            raise RecordingError(
                "not one that `semtropy check --json` prints", path=str(path), field=f"verdict {number}"
            ) from None
    left_out = len(verdicts) - len(rows)
    why = "no answer, no sample, or a long answer that was judged claim by claim"
    if not rows:
        raise RecordingError(f"no verdict has samples of a short answer to grade ({why})", path=str(path))
    if left_out:
        say(f"{left_out} of {len(verdicts)} verdicts are left out: {why}")
    return Recording(header, tuple(rows))


def _verdicts(path: Path) -> list[dict[str, Any]] | None:
    """The verdicts in a file; None where it holds a recording."""
    if path.is_dir() or path.name.endswith((".gz", ".parquet")):
        return None
    try:
        held = [json.loads(line) for line in text_lines(read_text(path)) if line.strip()]
    except ValueError:
        return None
    is_verdicts = bool(held) and all(isinstance(each, dict) and "question" in each for each in held)
    return held if is_verdicts else None


def _row(number: int, verdict: Mapping[str, Any]) -> dict[str, Any] | None:
    """The row of a recording that holds a verdict; None without an answer, samples or their meanings."""
    nothing = verdict.get("missing") or verdict.get("claims") or not verdict.get("samples")
    if "error" in verdict or nothing:
        return None
    samples, own = [], None
    for place, meaning in enumerate(verdict["meanings"]):
        own = place if meaning["has_answer"] else own
        wordings = [each for each in meaning["wordings"] if each["count"]] or [meaning]
        samples += [
            {"text": each["text"], "meaning": place} for each in wordings for _ in range(each["count"])
        ]
    answer = {"text": verdict["answer"], "correct": None, **({} if own is None else {"meaning": own})}
    return {"id": str(number), "question": verdict["question"], "answer": answer, "samples": samples}


def _with_grade(row: Row, grades: Mapping[str, bool]) -> Mapping[str, Any]:
    if row.id not in grades:
        return row
    return {**row.fields, "answer": {**row["answer"], "correct": grades[row.id]}}


def _given(journal: Path, ids: set[str]) -> dict[str, bool]:
    """The grades that were kept; later lines replace earlier ones."""
    grades: dict[str, bool] = {}
    if journal.exists():
        for number, line in enumerate(text_lines(read_text(journal)), start=1):
            if not line.strip():
                continue
            try:
                held = json.loads(line)
                question, correct = str(held["id"]), held["correct"]
            except (ValueError, TypeError, KeyError):
                raise RecordingError("not a grade; remove the line", path=str(journal), line=number) from None
            if isinstance(correct, bool) and question in ids:
                grades[question] = correct
            else:
                grades.pop(question, None)
    return grades


def _keep(journal: Path, question: str, correct: bool | None) -> None:
    with journal.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"id": question, "correct": correct}) + "\n")


@contextmanager
def _keys() -> Iterator[Callable[[], str]]:
    """Read one key at a time from a terminal; the first letter of a line where there is none."""

    def from_line() -> str:
        line = sys.stdin.readline()
        if not line:
            raise EOFError
        return line.strip().lower()[:1] or " "

    if not sys.stdin.isatty():
        yield from_line
        return
    try:
        import termios
        import tty
    except ImportError:  # Windows: a letter and Enter
        yield from_line
        return
    before = termios.tcgetattr(sys.stdin)

    def pressed() -> str:
        found = sys.stdin.read(1).lower()
        if not found:
            raise EOFError
        return printable(found)

    try:
        tty.setcbreak(sys.stdin)
        yield pressed
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


# The page of `--page`: answers to grade, in a browser on this machine.


PAGE = Path(__file__).parent.parent / "server" / "page"
PAGE_FILES = {
    "/": ("label.html", "text/html"),
    "/page/label.js": ("label.js", "text/javascript"),
    "/page/style.css": ("style.css", "text/css"),
    "/page/icon.svg": ("icon.svg", "image/svg+xml"),
}


def serve_page(grading: Grading, port: int) -> None:
    """Show the answers on a page that only this machine reaches, until all are graded or `q` is pressed."""
    handler = type("GradingHandler", (PageHandler,), {"grading": grading, "turn": threading.Lock()})
    try:
        server = ThreadingHTTPServer(("127.0.0.1", port), handler)
    except (OSError, OverflowError) as error:
        raise InputError(
            f"--port {port}: cannot listen there ({error}): leave it out for a free one"
        ) from None
    with server:
        say(f"Grade on http://127.0.0.1:{server.server_port} (Ctrl+C ends it too)")
        server.serve_forever(poll_interval=0.1)


class PageHandler(BaseHTTPRequestHandler):
    """Answers the page: its files, the answer to grade now, and keys."""

    grading: Grading
    turn: threading.Lock
    timeout = 60

    def do_GET(self) -> None:
        name, kind = PAGE_FILES.get(self.path, ("", ""))
        if self._is_foreign():
            self._reply(421, {"error": "this host name is not served here"})
        elif self.path == "/api/answer":
            self._reply(200, _page_answer(self.grading))
        elif name:
            self._send(200, f"{kind}; charset=utf-8", (PAGE / name).read_bytes())
        else:
            self._reply(404, {"error": "there is nothing here"})

    def do_POST(self) -> None:
        # A page of another site cannot send this type without asking.
        kind, length = self.headers.get("Content-Type", ""), self.headers.get("Content-Length", "")
        if self._is_foreign() or kind != "application/json" or not length.isdigit() or int(length) > 10_000:
            self._reply(400, {"error": "send a key as JSON"})
            return
        try:
            sent = json.loads(self.rfile.read(int(length)))
            key, shown = str(sent["key"]), sent["id"]
        except (ValueError, TypeError, KeyError):
            self._reply(400, {"error": "send a key as JSON"})
            return
        with self.turn:
            now = self.grading.current
            # A key meant for an answer that is gone, as after a double press, does nothing.
            more = self.grading.press(key) if shown == (now and now.id) else True
            found = _page_answer(self.grading)
        self._reply(200, found | {"ended": not more})
        if not more or self.grading.current is None:
            threading.Thread(target=self.server.shutdown, daemon=True).start()

    def _is_foreign(self) -> bool:
        """Whether the host is named otherwise: a name of another site may lead here (DNS rebinding)."""
        return self.headers.get("Host", "").partition(":")[0] not in ("127.0.0.1", "localhost")

    def _reply(self, status: int, body: dict[str, Any]) -> None:
        self._send(status, "application/json", json.dumps(body).encode())

    def _send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Security-Policy", "default-src 'self'; frame-ancestors 'none'")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: Any) -> None:
        """Nothing: the terminal is for the user."""


def _page_answer(grading: Grading) -> dict[str, Any]:
    """The answer to grade now, for the page; its id is None where all are graded."""
    row = grading.current
    shown: dict[str, Any] = {"id": None, "progress": grading.progress(), "ended": False}
    if row is None:
        return shown
    references = [str(each) for each in (row.get("references") or [])[:5]]
    text = {"question": row.question, "context": row.context, "answer": row["answer"]["text"]}
    return shown | {"id": row.id, "references": references, **text}
