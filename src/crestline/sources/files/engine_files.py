"""Files that DuckDB reads through this process: Parquet files with another footer, and files without a name."""

from __future__ import annotations

import itertools
import os
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import BinaryIO, Protocol

from fsspec import AbstractFileSystem

from crestline.sources.engine.connection import DuckDB
from crestline.sources.files.parquet_footer import ENDING, MAGIC, plain_footer

_SOME_TIME = datetime(2000, 1, 1, tzinfo=UTC)
_NUMBERS = itertools.count()


class ByteSource(Protocol):
    """Bytes that can be read from any place."""

    @property
    def size(self) -> int: ...

    def read_at(self, place: int, count: int) -> bytes:
        """At most `count` bytes from `place` on; fewer at the end only."""
        ...

    def close(self) -> None: ...


class StreamPart:
    """Part of a stream. Several threads may read it at once if `lock` is the one lock of the stream."""

    def __init__(self, stream: BinaryIO, lock: threading.Lock, start: int, size: int, *, owned: bool = False) -> None:
        self._stream, self._lock, self._start, self.size, self._owned = stream, lock, start, size, owned

    def read_at(self, place: int, count: int) -> bytes:
        wanted = min(count, self.size - place)
        found = bytearray()
        with self._lock:
            self._stream.seek(self._start + place)
            while len(found) < wanted and (read := self._stream.read(wanted - len(found))):
                found += read
        return bytes(found)

    def close(self) -> None:
        if self._owned:
            self._stream.close()


@dataclass(frozen=True)
class OtherEnding:
    """Bytes whose end, from `start` on, is replaced."""

    inner: ByteSource
    start: int
    ending: bytes

    @property
    def size(self) -> int:
        return self.start + len(self.ending)

    def read_at(self, place: int, count: int) -> bytes:
        before = self.inner.read_at(place, min(count, self.start - place)) if place < self.start else b""
        skipped = max(place - self.start, 0)
        return before + self.ending[skipped : skipped + count - len(before)]

    def close(self) -> None:
        self.inner.close()


def open_physical_parquet(stream: BinaryIO, change: Callable[[bytes], bytes] = plain_footer) -> ByteSource:
    """A Parquet file whose footer is changed, by default so that its text, times of day and moments in milliseconds are
    read as bytes and whole numbers, without its statistics.

    Raises:
        ValueError: the stream is not a Parquet file, or its footer is damaged or encrypted.
    """
    size = stream.seek(0, os.SEEK_END)
    whole = StreamPart(stream, threading.Lock(), 0, size, owned=True)
    ending = whole.read_at(max(size - ENDING, 0), ENDING)
    length = int.from_bytes(ending[:4], "little")
    start = size - ENDING - length
    if ending[4:] != MAGIC or start < 0:
        raise ValueError("the file does not end like a Parquet file")
    footer = change(whole.read_at(start, length))
    return OtherEnding(whole, start, footer + len(footer).to_bytes(4, "little") + MAGIC)


def register_files(engine: DuckDB, openers: Mapping[str, Callable[[], ByteSource]]) -> list[str]:
    """Let the engine read these files, and return the names by which it does, in the same order; each ends in a key."""
    system = _FileSystem(f"crestline{next(_NUMBERS)}", openers)
    engine.con.register_filesystem(system)
    return list(system.openers)


def register_parts(engine: DuckDB, stream: BinaryIO, sizes: Sequence[int]) -> list[str]:
    """Let the engine read parts of these sizes of one stream, and return the names by which it does."""
    lock, starts = threading.Lock(), itertools.accumulate(sizes, initial=0)
    places = zip(starts, sizes, strict=False)  # the last start is the end of the last part
    parts = {str(number): StreamPart(stream, lock, *place) for number, place in enumerate(places)}
    return register_files(engine, {name: partial(_same, part) for name, part in parts.items()})


def _same(part: ByteSource) -> ByteSource:
    return part


class _FileSystem(AbstractFileSystem):  # type: ignore[misc]  # fsspec has no types
    """What DuckDB asks of a file system, for files that can only be read."""

    cachable = False

    def __init__(self, protocol: str, openers: Mapping[str, Callable[[], ByteSource]]) -> None:
        super().__init__()
        self.protocol = protocol
        self.openers = {f"{protocol}://{name}": opener for name, opener in openers.items()}

    def open(self, path: str, mode: str = "rb", **_: object) -> _Handle:
        return _Handle(self.openers[path]())

    def info(self, path: str, **_: object) -> dict[str, object]:
        source = self.openers[path]()
        try:
            return {"name": path, "size": source.size, "type": "file"}
        finally:
            source.close()

    def glob(self, path: str, **_: object) -> list[str]:
        return [path]

    def exists(self, path: str, **_: object) -> bool:
        return path in self.openers

    def modified(self, path: str) -> datetime:
        return _SOME_TIME

    def unstrip_protocol(self, name: str) -> str:
        return name


class _Handle:
    """An open file. Each thread has its own place in it: DuckDB seeks and reads in two calls, from several threads.
    It need not be closed, because DuckDB does not."""

    def __init__(self, source: ByteSource) -> None:
        self._source = source
        weakref.finalize(self, source.close)
        self._place = threading.local()

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self.tell(), os.SEEK_END: self._source.size}[whence]
        self._place.value = start + offset
        return self.tell()

    def tell(self) -> int:
        return int(getattr(self._place, "value", 0))

    def read(self, count: int = -1) -> bytes:
        place = self.tell()
        found = self._source.read_at(place, self._source.size - place if count < 0 else count)
        self._place.value = place + len(found)
        return found

    def close(self) -> None:
        self._source.close()
