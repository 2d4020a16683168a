"""Output files: written under a temporary name and renamed, so that a file is complete or as before."""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["lock", "replacing"]


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
        file = partial.open("wb")
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
            with path.open("rb") as file:
                if lock(file) and _names(path, file):
                    path.unlink()


def _names(path: Path, file: IO[bytes]) -> bool:
    """Whether `path` still names the open file."""
    try:
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False
