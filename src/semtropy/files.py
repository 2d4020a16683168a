"""Files that a user names: read with every fault in one line, written so that they are complete or as before."""

from __future__ import annotations

import errno
import io
import json
import os
import stat
import tomllib
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from .errors import InputError, StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def safe_children() -> Iterator[None]:
    """Processes that Python starts inside the block import nothing from the working directory.

    A child of multiprocessing would: a file there that is called pickle.py runs before anything else does.
    """
    before = os.environ.get("PYTHONSAFEPATH")
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONSAFEPATH"]
        else:
            os.environ["PYTHONSAFEPATH"] = before


def kept_secret(path: Path, made: bytes) -> bytes:
    """The bytes that a file of ours keeps, for its owner alone; `made` where there was none yet."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return path.read_bytes()[:64] or made
    with os.fdopen(descriptor, "wb") as file:
        file.write(made)
    return made


# Text and JSON files that a user names: every fault is one `InputError` that names the file.


def cannot_read(error: OSError) -> str:
    """What an error of the operating system means for somebody reading a file."""
    return f"cannot be read: {error.strerror or error}"


def toml_table(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The contents of a TOML file."""
    text = read_text(path)
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # no TOML, a number of thousands of digits
        raise InputError(f"{path}: is not TOML: {error}") from None


def cannot_write(error: OSError) -> str:
    """What it means for somebody writing a file or a folder, and the way out.

    >>> cannot_write(IsADirectoryError(errno.EISDIR, "Is a directory"))
    'cannot be written: it is a folder: give the name of a file'
    """
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        reason = "the disk is full. What was finished is safe: free some space and run the same command again"
    elif error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        reason = "it is read-only, or there is no permission: choose another place"
    elif error.errno in (errno.EISDIR, errno.ENOTEMPTY):
        reason = "it is a folder: give the name of a file"
    elif error.errno in (errno.ENOTDIR, errno.EEXIST):
        reason = "it is a file, not a folder: choose another place"
    else:
        reason = error.strerror or str(error)
    return f"cannot be written: {reason}"


MOST_FROM_A_STREAM = 64 << 20  # bytes of a pipe or a device, which may have no end


def read_text(path: str | os.PathLike[str], name: str | None = None) -> str:
    """The text of a UTF-8 file, without a byte order mark.

    path  the file
    name  what errors call it; by default its path
    """
    return decode_text(read_bytes(path, name), name or str(path))


def read_json(path: str | os.PathLike[str], name: str | None = None) -> Any:
    """The value in a JSON file."""
    return decode_json(read_text(path, name), name or str(path))


def read_bytes(path: str | os.PathLike[str], name: str | None = None) -> bytes:
    """The bytes of a file; a pipe or a device may give 64 MB."""
    called = name or str(path)
    try:
        with Path(path).open("rb") as file:
            if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return file.read()
            return _bounded(file, called)
    except OSError as error:
        raise InputError(f"{called}: {cannot_read(error)}") from None


def _bounded(file: IO[bytes], name: str) -> bytes:
    data = file.read(MOST_FROM_A_STREAM + 1)
    if len(data) > MOST_FROM_A_STREAM:
        raise InputError(f"{name}: gives more than 64 MB and is not a file: write it to a file first")
    return data


def decode_text(data: bytes, name: str) -> str:
    """UTF-8 text, without a byte order mark.

    >>> decode_text(b"\\xef\\xbb\\xbfWho?", "questions.txt")
    'Who?'
    """
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"{name}, line {line}: is not UTF-8 text: save the file as UTF-8") from None


def text_lines(text: str) -> list[str]:
    """The lines of a text without white space around them; blank ones are empty.

    A line ends where an editor ends it. `str.splitlines` would also end it at a form feed or U+2028 inside a question.

    >>> text_lines("Who\\u2028is it?\\r\\n\\r\\nWhere?")
    ['Who\\u2028is it?', '', 'Where?']
    """
    return [line.strip() for line in io.StringIO(text, newline=None)]


def decode_json(text: str, name: str) -> Any:
    """The value of a JSON text.

    >>> decode_json("[1, 2]", "pairs.json")
    [1, 2]
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise InputError(f"{name}: is not JSON ({error.msg.lower()}, {place})") from None
    except RecursionError:
        raise InputError(f"{name}: is not JSON that can be read (nested too deeply)") from None
    except ValueError as error:  # a number of thousands of digits
        raise InputError(f"{name}: is not JSON that can be read ({error})") from None


def check_output_file(path: str | os.PathLike[str], *others: str | os.PathLike[str]) -> None:
    """Raise an `InputError` where a file could not be written at `path`, before any work is done for it.

    others  files that it must not replace: the inputs, and other outputs
    """
    target = Path(path)
    if any(os.path.realpath(other) == os.path.realpath(path) for other in others):
        raise InputError(f"{target} would be replaced by another file of this command: choose another name")
    if target.is_dir():
        raise InputError(f"{target} is a folder: give the name of a file")
    if not target.parent.is_dir():
        raise InputError(f"{target.parent} is not a folder: create it, or write {target.name} elsewhere")


def make_folder(path: str | os.PathLike[str]) -> Path:
    """Create a folder and its parents where they are missing."""
    check_output_folder(path)
    with explained(path):
        Path(path).mkdir(parents=True, exist_ok=True)
    return Path(path)


def check_output_folder(path: str | os.PathLike[str]) -> None:
    """Raise an `InputError` where `path` exists and is not a folder."""
    target = Path(path)
    if target.exists() and not target.is_dir():
        raise InputError(f"{target} is a file: give the name of a folder")


@contextmanager
def explained(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn errors of the operating system while `path` is written into a `StoreError` that says what to do."""
    try:
        yield
    except OSError as error:
        raise StoreError(f"{path}: {cannot_write(error)}") from error


def write_file(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write a whole file; text as UTF-8, where a lone surrogate becomes "?". On failure the file is as before."""
    with explained(path), replacing(path) as partial:
        partial.write_bytes(content.encode(errors="replace") if isinstance(content, str) else content)


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path that is renamed to `path` at the end; after an error it is removed and `path` is as before.

    A link is followed: the file that it names is replaced. A device or a pipe (`/dev/stdout`) is written as it is. What
    a killed process had begun to write to the same path is removed. Errors of the operating system are passed on.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "out.json")
    >>> with replacing(path) as partial:
    ...     _ = partial.write_text("{}")
    >>> path.read_text(), len(list(path.parent.iterdir()))
    ('{}', 1)
    """
    target = Path(os.path.realpath(path))
    if _is_special(target):
        yield Path(path)
        return
    _remove_leftovers(target)
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    # Windows has no such locks, and does not rename a file that is open.
    with _create_locked(partial) if os.name == "posix" else nullcontext():
        try:
            yield partial
            partial.replace(target)
        finally:
            with suppress(OSError):
                partial.unlink()


def open_own(path: Path, *, new: bool = False) -> IO[bytes]:
    """A file that semtropy keeps under a name of its choosing, for reading and writing; created where it is missing.

    What else lies there, in a folder from others say, is an error: a link would be written through, and a pipe waited
    for. With `new`, whatever lies there is removed first.
    """
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0)
    flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    if new:
        path.unlink(missing_ok=True)
        flags |= os.O_EXCL
    elif path.is_symlink():
        raise OSError(errno.ELOOP, "it is a link, and not followed: delete it", str(path))
    descriptor = os.open(path, flags, 0o666)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is not a file: delete it", str(path))
    return os.fdopen(descriptor, "r+b")


def lock(file: IO[bytes]) -> bool:
    """Lock an open file until it is closed, or its process ends; False where another holds the lock.

    True also where the system has no such locks.
    """
    try:
        import fcntl
    except ImportError:  # Windows
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True


def _is_special(path: Path) -> bool:
    """Whether this is a device or a pipe."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _create_locked(partial: Path) -> IO[bytes]:
    """The new file, locked, so that no other process takes it for what a killed one left."""
    while True:
        file = open_own(partial, new=True)
        lock(file)
        if _names(partial, file):
            return file
        file.close()  # removed between the two steps


def _remove_leftovers(target: Path) -> None:
    """Remove what killed processes left beside `target`: the files whose lock nobody holds."""
    if os.name != "posix":
        return
    with suppress(OSError):
        begun = [
            path
            for path in target.parent.iterdir()
            if path.name.startswith(f".{target.name}.") and path.name.endswith(".partial")
        ]
        for path in begun:
            if path.is_symlink() or not path.is_file():
                continue  # nothing that was left here by semtropy; a pipe would be waited for
            with path.open("rb") as file:
                if lock(file) and _names(path, file):
                    path.unlink()


def _names(path: Path, file: IO[bytes]) -> bool:
    """Whether `path` still names the open file."""
    try:
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False
