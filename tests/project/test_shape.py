"""The shape of the code: one home for each class name, short functions, portable calls, plain words.

Each check has a control that shows it can fail.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

import semtropy
from imports import graph, read

ROOT = Path(__file__).resolve().parents[2]
SOURCE = Path(semtropy.__file__).parent

LONG = 50  # lines of a function
MOST_LONG = 4
SAME_LINES = 6
MOST_FILES_OF_A_WAY = 30
MOST_SINGLE_IMPORTERS = 40


# Not on Windows, or on Linux only. A use of one needs a fallback: `hasattr`, `os.name`, `sys.platform` or `except`.
PLATFORM_MODULES = {"fcntl", "grp", "msvcrt", "pty", "pwd", "resource", "termios", "tty"}
PLATFORM_CALLS = {
    "os.fork", "os.getegid", "os.geteuid", "os.getgid", "os.getloadavg", "os.getpgid", "os.getuid", "os.kill",
    "os.killpg", "os.memfd_create", "os.mkfifo", "os.nice", "os.posix_fadvise", "os.posix_fallocate",
    "os.register_at_fork", "os.sched_getaffinity", "os.sched_setaffinity", "os.sendfile", "os.setsid",
    "os.statvfs", "os.sync", "os.uname", "os.wait", "os.waitpid", "signal.SIGALRM", "signal.SIGHUP",
    "signal.SIGKILL", "signal.SIGUSR1", "signal.SIGUSR2", "signal.alarm", "signal.pthread_kill",
    "signal.pthread_sigmask", "signal.setitimer", "signal.sigwait", "socket.AF_UNIX", "socket.SO_REUSEPORT",
    "time.clock_gettime", "time.pthread_getcpuclockid",
}  # fmt: skip
# Places that are not portable yet: none.
NOT_PORTABLE: set[str] = set()
PLATFORM_PATHS = re.compile(r"^/(proc|dev|sys|run)/(?!null$)")
GUARD = re.compile(r"hasattr\(|os\.name|sys\.platform|platform\.system|getattr\(|WINDOWS|POSIX")
RESCUES = {
    "AttributeError",
    "Exception",
    "ImportError",
    "ModuleNotFoundError",
    "NotImplementedError",
    "OSError",
}

MADE_PAGES = {"api.md", "cli.md"}
# Phrases that readers stumbled over, as regular expressions. None may stand in src, docs or the pages at the top.
WORDS = (
    r"\btold\b",
    r"\b[Hh](?:ear|ears|eard)\b",
    r"\bcomes? by\b",
    r"\bso many\b",
    r"\bwithout (?:an )?end\b",
    r"\bof (?:its|their) own\b",
    r"\b(?:a|one) \w+ an? (?:answer|command|file|line|meaning|prompt|question|round|row|sample|step)\b",
    r"\bone an? (?:command|meaning|question|row|sample)\b",
    r"\bsets? no floor",
    r"\bunpriced\b",
    r"\b(?:Kind|Seen|Columns)(?=[(\[.])",
    r"\b(?:Endless|Wordings|_told|_heard)\b",
)


@cache
def parsed(text: str) -> ast.Module:
    """The tree of a file, which several checks walk."""
    return ast.parse(text)


def python_files(folder: Path = SOURCE) -> dict[str, str]:
    """Every Python file below `folder`: its path from there, and its text."""
    return code_files({".py"}, folder)


def code_files(suffixes: Collection[str], folder: Path = SOURCE) -> dict[str, str]:
    """Every file below `folder` with one of `suffixes`: its path from there, and its text."""
    found = [file for file in sorted(folder.rglob("*")) if file.suffix in suffixes]
    return {file.relative_to(folder).as_posix(): file.read_text() for file in found}


def homes(files: Mapping[str, str]) -> dict[str, list[str]]:
    """Class names that are defined in more than one place, private ones included."""
    found = defaultdict(list)
    for path, text in files.items():
        for node in ast.walk(parsed(text)):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(f"{path}:{node.lineno}")
    return {name: places for name, places in found.items() if len(places) > 1}


def long_functions(files: Mapping[str, str]) -> list[str]:
    """Functions of more than `LONG` lines, decorators and docstring included."""
    return [
        f"{path}:{node.lineno} {node.name} has {length} lines"
        for path, text in files.items()
        for node in ast.walk(parsed(text))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        if (length := (node.end_lineno or node.lineno) - node.lineno + 1) > LONG
    ]


def unguarded(path: str, text: str) -> Iterator[str]:
    """Uses of what only some systems have, outside anything that looks for it first or survives its absence."""
    yield from _unguarded(path, parsed(text), guarded=False)


def _unguarded(path: str, node: ast.AST, *, guarded: bool) -> Iterator[str]:
    match node:
        case ast.Import(names=aliases):
            used = [alias.name for alias in aliases if alias.name in PLATFORM_MODULES]
        case ast.ImportFrom(module=module):
            used = [module] if module in PLATFORM_MODULES else []
        case ast.Attribute(value=ast.Name(id=base), attr=name):
            used = [f"{base}.{name}"] if f"{base}.{name}" in PLATFORM_CALLS else []
        case ast.Constant(value=str(value)):
            used = [value] if PLATFORM_PATHS.search(value) else []
        case _:
            used = []
    if not guarded:
        yield from (f"{path}:{node.lineno}: {name}" for name in used)  # type: ignore[attr-defined]
    inside = guarded or _guards(node)
    for _, value in ast.iter_fields(node):
        behind = inside
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _unguarded(path, child, guarded=behind)
                behind = behind or _turns_away(child)


def _guards(node: ast.AST) -> bool:
    """Whether what stands inside `node` is run only where it can be, or may fail."""
    match node:
        case ast.If(test=test) | ast.IfExp(test=test):
            return bool(GUARD.search(ast.unparse(test)))
        case ast.Try(handlers=handlers):
            caught = {
                name for each in handlers for name in re.findall(r"\w+", ast.unparse(each.type or node))
            }
            return bool(caught & RESCUES)
        case (
            ast.Call(func=ast.Attribute(attr="suppress"), args=errors)
            | ast.Call(func=ast.Name(id="suppress"), args=errors)
        ):
            return bool({ast.unparse(error) for error in errors} & RESCUES)
    return False


def _turns_away(node: ast.AST) -> bool:
    """`if os.name == "nt": return`: what follows runs only elsewhere."""
    return isinstance(node, ast.If) and _guards(node) and isinstance(node.body[-1], (ast.Return, ast.Raise))


def same_lines(files: Mapping[str, str]) -> list[str]:
    """Pairs of places with the same `SAME_LINES` lines of code; argument parsers all look alike and are left out."""
    seen: dict[tuple[str, ...], str] = {}
    found = []
    for path, text in files.items():
        rows = [(number, row.strip()) for number, row in enumerate(text.splitlines(), start=1)]
        rows = [
            (number, row)
            for number, row in rows
            if len(row) > 3 and not re.match(r"# |#include|import |from ", row)
        ]
        for start in range(len(rows) - SAME_LINES + 1):
            window = tuple(row for _, row in rows[start : start + SAME_LINES])
            place = f"{path}:{rows[start][0]}"
            if "add_argument(" in "".join(window):
                continue
            if (first := seen.setdefault(window, place)) != place:
                found.append(f"{first} and {place}")
    return found


@cache
def prose_files() -> dict[str, str]:
    """What people read: the source with its page, and the documentation, but not the pages made from the source."""
    suffixes = {".py", ".pyi", ".c", ".h", ".js", ".html", ".md"}
    places = [*SOURCE.rglob("*"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md")]
    return {
        file.relative_to(ROOT).as_posix(): file.read_text()
        for file in places
        if file.suffix in suffixes and file.name not in MADE_PAGES
    }


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    return python_files()


def test_no_class_name_has_two_homes(files: Mapping[str, str]) -> None:
    assert not homes(files)


def test_functions_are_short(files: Mapping[str, str]) -> None:
    found = long_functions(files)
    assert len(found) <= MOST_LONG, "\n".join(found)


def test_no_call_needs_one_system(files: Mapping[str, str]) -> None:
    found = [place for path, text in files.items() for place in unguarded(path, text)]
    assert not found, "\n".join(found)


def test_no_lines_stand_twice() -> None:
    found = same_lines(code_files({".py", ".c", ".h", ".js", ".css", ".html"}))
    assert not found, "\n".join(found)


@pytest.mark.parametrize("word", WORDS)
def test_plain_words(word: str) -> None:
    found = [
        f"{path}:{number}: {row.strip()}"
        for path, text in prose_files().items()
        for number, row in enumerate(text.splitlines(), start=1)
        for _ in re.findall(word, row)
    ]
    assert not found, "\n".join(found)


def test_a_second_home_is_found() -> None:
    assert set(homes({"a.py": "class A: ...\nclass B: ...", "b.py": "def f():\n    class A: ..."})) == {"A"}


def test_a_long_function_is_found() -> None:
    body = "\n".join("    x = 1" for _ in range(LONG))
    assert len(long_functions({"a.py": f"def f():\n{body}\n\ndef g():\n    pass"})) == 1


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import os\nos.sched_getaffinity(0)", 1),
        ("import fcntl", 1),
        ("from resource import getrusage", 1),
        ("open('/proc/self/status')", 1),
        ("open('/dev/null')", 0),
        ("import os\ncores = os.sched_getaffinity(0) if hasattr(os, 'sched_getaffinity') else {0}", 0),
        ("import os\nif os.name == 'posix':\n    import fcntl", 0),
        ("try:\n    import fcntl\nexcept ImportError:\n    fcntl = None", 0),
        ("try:\n    import fcntl\nexcept ValueError:\n    fcntl = None", 1),
        ("import os\ndef f():\n    if os.name == 'nt':\n        return 1\n    return os.getuid()", 0),
        ("import os\ndef f():\n    os.getuid()\n    if os.name == 'nt':\n        return 1", 1),
    ],
)
def test_an_unguarded_call_is_found(source: str, found: int) -> None:
    assert len(list(unguarded("a.py", source))) == found


def test_the_same_lines_are_found() -> None:
    rows = "\n".join(f"value_{number} = {number}" for number in range(SAME_LINES))
    other = "\n".join(f"value_{number} = {number + 1}" for number in range(SAME_LINES))
    assert len(same_lines({"a.py": rows, "b.py": f"import os\n{rows}\n"})) == 1
    assert not same_lines({"a.py": rows, "b.py": other})


def sleeps(path: str, text: str) -> Iterator[str]:
    """Sleeps for a set or a random time. Polling in a `while` is fine, and so is a class that plays a slow part."""
    if "sleep" in text:  # most files need not be read closely
        yield from _sleeps(path, parsed(text))


def _sleeps(path: str, node: ast.AST, *, polls: bool = False) -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.Call(func=ast.Attribute(attr="sleep")):
                if not polls or re.search(r"uniform|random", ast.unparse(child)):
                    yield f"{path}:{child.lineno}"
            case ast.ClassDef():
                continue
        yield from _sleeps(path, child, polls=polls or isinstance(child, ast.While))


def test_no_test_waits_by_sleeping() -> None:
    tests = python_files(ROOT / "tests")
    found = [place for path, text in tests.items() for place in sleeps(path, text)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import time\ndef test():\n    time.sleep(1)", 1),
        ("import asyncio\nasync def test():\n    await asyncio.sleep(0.1)", 1),
        ("import time\ndef test():\n    while not ready():\n        time.sleep(0.01)", 0),
        ("import time\ndef test():\n    while kills < 10:\n        time.sleep(rng.uniform(0, 1))", 1),
        ("import time\nclass Slow:\n    def sample(self):\n        time.sleep(1)", 0),
    ],
)
def test_a_sleep_is_found(source: str, found: int) -> None:
    assert len(list(sleeps("a.py", source))) == found


def ways(page: str) -> dict[str, list[str]]:
    """The ways through the code that CONTRIBUTING.md lists: their files in order."""
    part = page.partition("### Four ways through the code")[2].partition("\n## ")[0]
    found = re.findall(r"^\*\*(.+?)\*\*: ((?:.+\n)+)", part, re.MULTILINE)
    return {name: re.findall(r"`([\w/]+\.py)`", files) for name, files in found}


def test_each_way_through_the_code_is_short() -> None:
    listed = ways((ROOT / "CONTRIBUTING.md").read_text())
    assert len(listed) >= 4
    for name, steps in listed.items():
        assert 5 < len(steps) <= MOST_FILES_OF_A_WAY, name
        assert len(set(steps)) == len(steps), name
        assert not [step for step in steps if not (SOURCE / step).exists()], name


def single_importers(imports: Mapping[str, Mapping[str, int]]) -> list[str]:
    """Modules that one other module imports; adapters and commands are found by name and do not count."""
    users = defaultdict(set)
    for name, targets in imports.items():
        for target in targets:
            users[target].add(name)
    return [
        name
        for name, own in users.items()
        if len(own) == 1 and not re.search(r"\.(cli|integrations)\.", name)
    ]


def test_few_modules_have_a_single_importer() -> None:
    found = single_importers(graph(read(SOURCE)))
    assert len(found) <= MOST_SINGLE_IMPORTERS, "\n".join(found)


def test_a_single_importer_is_found() -> None:
    assert single_importers({"s.a": {"s.b": 1, "s.c": 1}, "s.d": {"s.c": 2}}) == ["s.b"]
