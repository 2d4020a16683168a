"""Output files of the study: checked before the work, complete or as before, and explained where they fail."""

from __future__ import annotations

import errno
import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from ..errors import InputError, StoreError
from ..output_files import replacing

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "check_output_file",
    "check_output_folder",
    "explained",
    "make_folder",
    "new_file",
    "write_file",
]


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


def check_output_folder(path: str | os.PathLike[str]) -> None:
    """Raise an `InputError` where `path` exists and is not a folder."""
    target = Path(path)
    if target.exists() and not target.is_dir():
        raise InputError(f"{target} is a file: give the name of a folder")


def make_folder(path: str | os.PathLike[str]) -> Path:
    """Create a folder and its parents where they are missing."""
    check_output_folder(path)
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        _explain(Path(path), error)
    return Path(path)


@contextmanager
def new_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path that is renamed to `path` at the end; on failure it is removed and `path` is as before."""
    with explained(path), replacing(path) as partial:
        yield partial


@contextmanager
def explained(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn errors of the operating system while `path` is written into a `StoreError` that says what to do."""
    try:
        yield
    except OSError as error:
        _explain(Path(path), error)


def write_file(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write a whole file; text as UTF-8."""
    with new_file(path) as partial:
        partial.write_bytes(content.encode() if isinstance(content, str) else content)


def _explain(path: Path, error: OSError) -> NoReturn:
    """Raise an error that names the file and the way out."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        reason = "the disk is full: free some space and run the same command again"
    elif error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        reason = "no permission to write there: choose another place"
    elif error.errno in (errno.EISDIR, errno.ENOTEMPTY) or path.is_dir():
        reason = "it is a folder: give the name of a file"
    else:
        reason = error.strerror or str(error)
    raise StoreError(f"{path} cannot be written: {reason}") from None
