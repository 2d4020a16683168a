"""Importers that make recordings from the files of other tools: one module per format, listed in `FORMATS`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from ...errors import InputError, RecordingError, unknown
from ..formats import check_recording_output, write_recording
from ..schema import Header, Row
from .common import Imported

FORMATS = {
    "nature": ("nature", "read_nature"),
    "paper": ("nature", "read_paper"),
    "lm-polygraph": ("lm_polygraph", "read_lm_polygraph"),
    "uqlm": ("uqlm", "read_uqlm"),
    "inspect": ("inspect_log", "read_inspect"),
    "csv": ("table", "read_table"),
    "selfcheckgpt": ("long_answers", "read_selfcheckgpt"),
    "factscore": ("long_answers", "read_factscore"),
}


def import_recording(
    kind: str,
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    header: Mapping[str, Any] | None = None,
    columns: Mapping[str, str] | None = None,
) -> Imported:
    """Write the recording `target` from the file `source` of another tool.

    `header` adds fields to the header or overrides those found in the file. `columns` maps columns of a recording to
    those of a table with other names, for the format `csv`. No code in a pickle is run.
    """
    if kind not in FORMATS:
        raise unknown("format", kind, FORMATS)
    if columns and kind != "csv":
        raise InputError(f"columns can be mapped for the format csv only, not for {kind}: leave --map out")
    check_recording_output(target, source)
    module, function = FORMATS[kind]
    options = {"columns": columns} if columns else {}
    try:
        found: Imported = getattr(import_module(f".{module}", __name__), function)(Path(source), **options)
    except (RecursionError, MemoryError) as error:
        raise RecordingError(f"is nested too deeply or too large ({error})", path=str(source)) from None
    if not found.rows:
        raise RecordingError("holds no questions", path=str(source))
    said = {**found.header, **(header or {}), "imported": {"format": kind, "file": Path(source).name}}
    made = Header.make(**said)
    rows = [
        Row(row, header=made, path=f"{source}, question {place}")
        for place, row in enumerate(found.rows, start=1)
    ]
    write_recording(target, made, rows)
    return Imported(dict(made), found.rows, found.notes)
