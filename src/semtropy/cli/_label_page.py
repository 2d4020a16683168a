"""The page of `semtropy label --page`: answers to grade, in a browser on this machine."""

from __future__ import annotations

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ._text import say

if TYPE_CHECKING:
    from ..recording import Row

PAGE = Path(__file__).parent.parent / "server" / "page"
FILES = {
    "/": ("label.html", "text/html"),
    "/page/label.js": ("label.js", "text/javascript"),
    "/page/style.css": ("style.css", "text/css"),
    "/page/icon.svg": ("icon.svg", "image/svg+xml"),
}


class Grades(Protocol):
    """Answers that wait for a grade."""

    @property
    def current(self) -> Row | None: ...
    def press(self, key: str) -> bool: ...
    def progress(self) -> str: ...


def serve_page(grading: Grades, port: int) -> None:
    """Show the answers on a page that only this machine reaches, until all are graded or `q` is pressed."""
    handler = type("GradingHandler", (Handler,), {"grading": grading, "turn": threading.Lock()})
    with ThreadingHTTPServer(("127.0.0.1", port), handler) as server:
        say(f"Grade on http://127.0.0.1:{server.server_port} (Ctrl+C ends it too)")
        sys.stdout.flush()
        server.serve_forever(poll_interval=0.1)


class Handler(BaseHTTPRequestHandler):
    """Answers the page: its files, the answer to grade now, and keys."""

    grading: Grades
    turn: threading.Lock
    timeout = 60

    def do_GET(self) -> None:
        name, kind = FILES.get(self.path, ("", ""))
        if self._is_foreign():
            self._reply(421, {"error": "this host name is not served here"})
        elif self.path == "/api/answer":
            self._reply(200, _answer(self.grading))
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
            found = _answer(self.grading)
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


def _answer(grading: Grades) -> dict[str, Any]:
    """The answer to grade now, for the page; its id is None where all are graded."""
    row = grading.current
    shown: dict[str, Any] = {"id": None, "progress": grading.progress().strip("[]"), "ended": False}
    if row is None:
        return shown
    references = [str(each) for each in (row.get("references") or [])[:5]]
    text = {"question": row.question, "context": row.context, "answer": row["answer"]["text"]}
    return shown | {"id": row.id, "references": references, **text}
