"""Text files as lines: every physical line stands for itself, whatever the lines beside it hold.

A line ends at a line feed. Nothing that one line holds (an open quote, bytes that are no UTF-8, too much of anything)
may change how another is read, because one line is one user's. DuckDB's fast reader keeps to that only on files
without surprises. So a file is looked through once: if every line is regular, it is read as it is; otherwise a copy is
made in which every line is, and that is read in its place. What is read is the same both ways.
"""

from __future__ import annotations

import gzip
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO, ClassVar, Protocol, cast

LONGEST = 1 << 21
"""Bytes of the longest line that is read."""
_BLOCK = 1 << 20
_BOM = b"\xef\xbb\xbf"
REPLACEMENT = "\N{REPLACEMENT CHARACTER}".encode()


class LineRules(Protocol):
    """What a kind of file takes for a regular line.

    knows_mark   whether a fast reader skips the mark that some programs put before the first line
    """

    knows_mark: ClassVar[bool]

    def regular_line_ending(self, block: bytes) -> str | None:
        """Whether a fast reader reads each line of a block by itself: None if not, otherwise how its lines end."""
        ...

    def rewrite_lines(self, block: bytes) -> bytes:
        """The same lines made regular, each ended by a line feed, without those that cannot be read."""
        ...


class TempFolder:
    """A temporary folder that only its owner may enter, and that goes when nobody holds it any more."""

    def __init__(self) -> None:
        self.path = tempfile.mkdtemp(prefix="crestline-")
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


@dataclass(frozen=True)
class ReadableFiles:
    """Files in which every line is regular: the files themselves, or copies that go when nobody holds this any more."""

    files: list[str]
    ending: str
    folder: TempFolder | None = None


def make_readable(files: Sequence[str], rules: LineRules, *, copied: bool = False) -> ReadableFiles:
    """The files, or copies of all of them where one has a line that is not regular (or where `copied` asks for it)."""
    endings = set[str | None]()
    for file in files:
        endings |= {None} if copied else _line_endings(file, rules)
        if None in endings or len(endings) > 1:
            return _copy_lines(files, rules)
    return ReadableFiles([*files], next(iter(endings), None) or "\n")


def _line_endings(file: str, rules: LineRules) -> set[str | None]:
    """How the lines of a file end; with None among them when one is not regular."""
    found = set[str | None]()
    if not rules.knows_mark and _has_byte_order_mark(file):
        return {None}
    with open_unpacked(file) as stream:
        for block, whole in read_blocks(stream):
            if not block.endswith((b"\n", b"\r")):  # the last line may lack its end
                block += (next(iter(found), None) or "\n").encode()
            found.add(rules.regular_line_ending(block) if whole else None)
            if None in found:
                break
    return found


def _copy_lines(files: Sequence[str], rules: LineRules) -> ReadableFiles:
    folder = TempFolder()
    copies = [os.path.join(folder.path, str(number)) for number in range(len(files))]
    for file, copy in zip(files, copies, strict=True):
        with open_unpacked(file) as stream, open(copy, "wb") as target:
            target.writelines(rules.rewrite_lines(block) for block, _ in read_blocks(stream) if block)
    return ReadableFiles(copies, "\n", folder)


def open_unpacked(file: str) -> BinaryIO:
    """The bytes of a file, unpacked."""
    return cast(BinaryIO, gzip.open(file, "rb") if file.lower().endswith(".gz") else open(file, "rb"))


def _has_byte_order_mark(file: str) -> bool:
    with open_unpacked(file) as stream:
        return stream.read(len(_BOM)) == _BOM


def first_line(file: str) -> bytes:
    """The first line without its end; nothing where it is longer than any line that is read."""
    with open_unpacked(file) as stream:
        line = stream.readline(LONGEST + len(_BOM) + 2)
    line = line.removeprefix(_BOM).removesuffix(b"\n").removesuffix(b"\r")
    return line if len(line) <= LONGEST else b""


def read_blocks(stream: BinaryIO) -> Iterator[tuple[bytes, bool]]:
    """All lines, about a megabyte at a time, and whether none had to be left out for its length.

    Blocks end where lines end, so only the first line of one can be longer than what is read at once. The mark that
    some programs put before the first line is taken off.
    """
    rest, skipping, start = b"", False, True
    while block := stream.read(_BLOCK):
        if start:
            block, start = block.removeprefix(_BOM), False
        if skipping:
            if b"\n" not in block:
                continue
            block, skipping = block[block.find(b"\n") + 1 :], False
        lines = rest + block
        whole = (first := lines.find(b"\n")) <= LONGEST
        end = lines.rfind(b"\n") + 1
        rest = lines[end:]
        if end:
            yield lines[0 if whole else first + 1 : end], whole
        if len(rest) > LONGEST:
            rest, skipping = b"", True
            yield b"", False
    if rest:
        yield rest, True


def replace_invalid_utf8(block: bytes) -> bytes:
    """The same bytes, with the replacement character for those that are no UTF-8. No line feed is ever among them."""
    if is_utf8(block):
        return block
    return block.decode(errors="replace").encode()


def is_utf8(block: bytes) -> bool:
    if block.isascii():
        return True
    try:
        block.decode()
    except UnicodeDecodeError:
        return False
    return True
