"""Files and globs through an embedded DuckDB."""

from __future__ import annotations

import glob
import hashlib
import json
import os
from typing import Any

from crestline.errors import QuestionError
from crestline.sources.empty import EmptySource
from crestline.sources.engines import Expression, embedded
from crestline.sources.formats import reader
from crestline.sources.running import refused_as
from crestline.sources.source import Source
from crestline.sources.table import TableSource

_REMOTE = ("s3://", "gs://", "gcs://", "r2://", "az://", "abfss://", "hf://", "http://", "https://")


def is_remote_file(text: str) -> bool:
    """Whether DuckDB would fetch this address as a file."""
    return text.startswith(_REMOTE)


def file_source(path: str, timeout: float) -> Source:
    """A path or glob as a source. All files of a glob must have the same columns."""
    _, typed = reader(path)
    if is_remote_file(path):
        if not typed:
            raise QuestionError(f"{path}: only Parquet is read from afar; fetch the file first, or convert it")
        files, version = [path], None
    else:
        files, version = _matches(path), lambda: fingerprint(path)
        if not typed:  # a file without a single line has no columns yet: that is legal, and empty
            files = [file for file in files if os.path.getsize(file)]
    if not files:
        return EmptySource(path, timeout, version)
    engine = embedded()
    table = _read(engine, path, files)
    return TableSource(
        table,
        engine,
        name=path,
        timeout=timeout,
        untyped=not typed,
        embedded=True,
        lookup=lambda other: _read(engine, other, _matches(other)),
        version=version,
        close=engine.disconnect,
    )


def _read(engine: Any, path: str, files: list[str]) -> Expression:
    advice = f"{path} cannot be read: it is damaged, not of the kind its name says, or not readable by you"
    return refused_as(advice, lambda: reader(path)[0](engine, files))


def fingerprint(path: str) -> str:
    """What the file system knows of the files behind a path or glob: names, sizes, times of change."""
    state = hashlib.sha256()
    for file in _matches(path):
        status = os.stat(file)
        state.update(json.dumps([os.path.abspath(file), status.st_size, status.st_mtime_ns]).encode())
    return state.hexdigest()


def _matches(path: str) -> list[str]:
    if os.path.isfile(path):
        return [path]
    files = sorted(file for file in glob.glob(path, recursive=True) if os.path.isfile(file))
    if files:
        return files
    if os.path.isdir(path):
        raise QuestionError(f"{path} is a directory; give a glob such as {os.path.join(path, '*.parquet')}")
    what = "no file matches" if glob.has_magic(path) else "there is no file"
    raise QuestionError(f"{what} {path}")
