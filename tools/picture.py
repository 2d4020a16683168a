"""`python -m tools.picture OUT.svg -- COMMAND...` runs a command in a terminal and draws its last screen as SVG.

The command sees a real terminal (a pseudo-terminal), so what is drawn is what a user sees.
"""

from __future__ import annotations

import argparse
import fcntl
import io
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

from rich.console import Console
from rich.text import Text

__all__ = ["draw", "last_screen", "main", "run_in_terminal"]

CONTROL = re.compile(r"\x1b\[(\??[\d;]*)([A-Za-z])|\x1b\][^\x07]*\x07|\r\n|[\r\n]|[^\x1b\r\n]+")
FONT = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
COLUMNS, ROWS = 100, 40


def run_in_terminal(command: list[str], *, columns: int = COLUMNS) -> tuple[str, int]:
    """What `command` wrote to a terminal of that width, control sequences and all, and its exit code."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, columns, 0, 0))
    beside = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"}
    environment = {**os.environ, **beside, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
    environment.pop("NO_COLOR", None)
    process = subprocess.Popen(command, stdout=theirs, stderr=theirs, stdin=theirs, env=environment)
    os.close(theirs)
    received = bytearray()
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # the other end is closed: how Linux says that the command is done
            break
        if not piece:
            break
        received += piece
    os.close(ours)
    return received.decode("utf-8", "replace"), process.wait()


def last_screen(written: str) -> str:
    """The lines that remain of what was written, colours kept.

    Knows what live displays use: carriage return, cursor up, erase line, erase below. They clear a line before they
    write it anew, so text is only ever appended to a line.

    >>> last_screen("one\\r\\ntwo\\r\\x1b[2K\\x1b[1A\\x1b[2Kthree\\r\\n")
    'three'
    """
    rows, at = [""], 0
    for match in CONTROL.finditer(written):
        piece, (argument, letter) = match[0], (match[1], match[2])
        if piece == "\n" or piece == "\r\n":
            at += 1
            rows += [""] * (at + 1 - len(rows))
        elif letter == "A":
            at = max(0, at - int(argument or 1))
        elif letter == "K":
            rows[at] = ""
        elif letter == "J":
            del rows[at + 1 :]
            rows[at] = ""
        elif letter == "m" or (letter is None and not piece.startswith(("\r", "\x1b"))):
            rows[at] += piece
    return "\n".join(rows).rstrip()


def draw(command: list[str], screen: str, *, columns: int = COLUMNS) -> str:
    """The screen under the prompt that made it, as SVG."""
    console = Console(record=True, width=columns, file=io.StringIO(), color_system="truecolor")
    shown = " ".join(f'"{word}"' if " " in word else word for word in command)
    console.print(Text.assemble(("$ ", "green"), shown))
    console.print(Text.from_ansi(screen))
    drawn = console.export_svg(title=command[0], unique_id="semtropy")
    return FONT.sub("", drawn)  # rich points at a font on a server; any monospaced one does


def main(arguments: list[str] | None = None) -> int:
    """Draw one command; its exit code does not matter, as a flagged answer has one of its own."""
    asked = argparse.ArgumentParser(prog="python -m tools.picture", description=__doc__)
    asked.add_argument("out", type=Path, help="the SVG file to write")
    asked.add_argument("command", nargs="+", help="the command to run, after --")
    asked.add_argument("--columns", type=int, default=COLUMNS, help="the width of the terminal")
    given = asked.parse_args(arguments)
    written, _ = run_in_terminal(given.command, columns=given.columns)
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(draw(given.command, last_screen(written), columns=given.columns))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
