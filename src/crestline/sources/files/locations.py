"""Where files are: paths, globs, lists of them and folders on this machine, or addresses from afar.

Names of files and folders are public, and so is which of them there are: the rows in them decide nothing here.
"""

from __future__ import annotations

import glob
import hashlib
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import BinaryIO, Protocol, cast

from crestline.errors import QuestionError
from crestline.sources.engine.connection import DuckDB
from crestline.sources.files.formats import is_delimited, is_parquet
from crestline.sources.files.remote import RemoteFiles, is_remote_file
from crestline.sources.files.s3 import S3

_KINDS = ("parquet", "pq", "csv", "tsv", "jsonl", "ndjson")


class FileLocation(Protocol):
    """Files that are one table.

    name    what the source is called
    typed   whether the files carry their own types (Parquet)
    store   the way into S3, if one was given: public lists may be there as well
    """

    @property
    def name(self) -> str: ...

    @property
    def has_types(self) -> bool: ...

    @property
    def store(self) -> S3 | None: ...

    def files(self) -> list[str]:
        """The files as they are now, in a fixed order; refuses where there is none."""
        ...

    def state(self) -> str:
        """What tells whether the files are still the same."""
        ...

    def version(self) -> str | None:
        """A label for the state that answers may be stored under, or None."""
        ...

    def attach(self, engine: DuckDB) -> list[str]:
        """Let an engine read the files, and return the names by which it does."""
        ...

    def open_stream(self, file: str) -> BinaryIO:
        """One of the files, opened to be read from any place."""
        ...


def file_location(paths: Sequence[str], store: S3 | None = None) -> FileLocation:
    """The place behind one or several paths, globs, folders or addresses; those of S3 are reached as `store` says."""
    if not paths:
        raise QuestionError("the list of files is empty; give at least one path")
    name = ", ".join(paths)
    if any(map(is_remote_file, paths)):
        if not all(map(is_remote_file, paths)):
            raise QuestionError(f"{name}: give files of this machine, or addresses, but not both in one list")
        return RemoteFiles(tuple(paths), store)
    found = tuple(_expand_folder(os.path.expanduser(path)) for path in paths)
    typed = [is_parquet(path) for path in found]
    if len(set(zip(typed, map(is_delimited, found), strict=True))) > 1:
        raise QuestionError(f"{name}: a list of files must be all Parquet, or all CSV, or all JSON lines")
    return LocalFiles(name, found, typed[0], store)


@dataclass(frozen=True)
class LocalFiles:
    """Paths and globs of this machine."""

    name: str
    paths: tuple[str, ...]
    has_types: bool
    store: S3 | None = None

    def files(self) -> list[str]:
        return list(dict.fromkeys(file for path in self.paths for file in matching_files(path)))

    def state(self) -> str:
        """What the file system knows, and what cannot be set by hand: a file that was put in the place of another is
        seen in any case."""
        return self._hash_state(lambda status: [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino])

    def version(self) -> str:
        return self._hash_state(lambda status: [status.st_size, status.st_mtime_ns])

    def attach(self, engine: DuckDB) -> list[str]:
        return self.files()  # an engine reads files of this machine by their names

    def open_stream(self, file: str) -> BinaryIO:
        return cast(BinaryIO, open(file, "rb", buffering=0))

    def _hash_state(self, known: Callable[[os.stat_result], list[int]]) -> str:
        state = hashlib.sha256()
        for file in self.files():
            state.update(json.dumps([os.path.abspath(file), *known(os.stat(file))]).encode())
        return state.hexdigest()


def fingerprint(path: str) -> str:
    """What the file system knows of the files behind a path or glob: names, sizes, times of change."""
    return LocalFiles(path, (os.path.expanduser(path),), has_types=False).version()


def matching_files(path: str) -> list[str]:
    """The files behind a path or glob, in the order of their names."""
    if os.path.isfile(path):
        return [path]
    files = sorted(
        file for file in glob.glob(path, recursive=True) if os.path.isfile(file) and not _is_hidden(file, path)
    )
    if files:
        return files
    what = "no file matches" if glob.has_magic(path) else "there is no file"
    raise QuestionError(f"{what} {path}")


def _expand_folder(path: str) -> str:
    """A path as it is, and for a folder the glob of its files: all those below it, which must be of one kind."""
    if not os.path.isdir(path):
        if not (os.path.splitext(path)[1] or glob.has_magic(path) or os.path.exists(path)):
            raise QuestionError(f"there is no file or folder {path}")
        return path
    below = glob.glob(os.path.join(glob.escape(path), "**", "*"), recursive=True)
    names = [file for file in below if os.path.isfile(file) and not _is_hidden(file, os.path.join(path, "**"))]
    kinds = {kind for kind in _KINDS if any(_has_ending(file, kind) for file in names)}
    if not kinds:
        raise QuestionError(
            f"{path} is a folder with no Parquet, CSV or JSON lines below it: their names must end in "
            f"{', '.join(f'.{kind}' for kind in _KINDS)}"
        )
    if len(kinds) > 1:
        example = os.path.join(path, "**", f"*.{sorted(kinds)[0]}")
        raise QuestionError(
            f"{path} is a folder with files of several kinds in it; write {example} to read those files as one table"
        )
    packed = ".gz" if all(file.lower().endswith(".gz") for file in names if _has_ending(file, *kinds)) else ""
    return os.path.join(glob.escape(path), "**", f"*.{kinds.pop()}{packed}")


def _has_ending(file: str, kind: str) -> bool:
    return file.lower().removesuffix(".gz").endswith(f".{kind}")


def _is_hidden(file: str, pattern: str) -> bool:
    """What other programs keep beside the data in folders that ** goes through: _SUCCESS, _temporary, _delta_log."""
    if "**" not in pattern:
        return False
    return any(part.startswith("_") for part in set(file.split(os.sep)) - set(pattern.split(os.sep)))
