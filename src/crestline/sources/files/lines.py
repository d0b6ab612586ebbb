"""Text files as lines, each of which is read by itself, whatever the other lines hold.

A line ends at a line feed. Nothing that one line holds (an open quote, bytes that are not UTF-8, too many bytes) may
change how another is read, because a line belongs to one user. DuckDB's reader guarantees that only where all lines
are regular. So a file is scanned once. If every line is regular, the file is read in place; otherwise a copy in which
every line is regular is read instead. Both ways give the same rows.

The copy is a temporary file without a name. The operating system removes it with the process, whatever ends it. It is
made before the first line is scanned, so that the folder for temporary files does not depend on lines even on systems
where such a file has a name for an instant.
"""

from __future__ import annotations

import gzip
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import BinaryIO, ClassVar, Protocol, cast

from crestline.sources.engine.connection import DuckDB

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


@dataclass(frozen=True)
class CopiedLines:
    """The copies of all files, one behind the other in one temporary file without a name.

    stream   the temporary file
    sizes    the size of each copy in bytes
    """

    stream: BinaryIO
    sizes: tuple[int, ...]


@dataclass(frozen=True)
class ReadableFiles:
    """Files in which every line is regular.

    files    the files
    ending   how their lines end
    copies   what is read in their place; None where the files themselves are
    """

    files: list[str]
    ending: str
    copies: CopiedLines | None = None

    def names(self, engine: DuckDB) -> list[str]:
        """The names by which an engine reads the files, or their copies."""
        if self.copies is None:
            return self.files
        from crestline.sources.files.engine_files import register_parts

        return register_parts(engine, self.copies.stream, self.copies.sizes)


def make_readable(files: Sequence[str], rules: LineRules, *, copied: bool = False) -> ReadableFiles:
    """The files, or copies of all of them where a line of one is not regular or `copied` is set."""
    with ExitStack() as unused:
        target = unused.enter_context(tempfile.TemporaryFile(prefix="crestline-"))
        endings = set[str | None]()
        for file in files:
            endings |= {None} if copied else _line_endings(file, rules)
            if None in endings or len(endings) > 1:
                copies = _copy_lines(files, rules, target)
                unused.pop_all()
                return ReadableFiles([*files], "\n", copies)
    return ReadableFiles([*files], next(iter(endings), None) or "\n")


def _line_endings(file: str, rules: LineRules) -> set[str | None]:
    """The endings of a file's lines; None is among them where a line is not regular."""
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


def _copy_lines(files: Sequence[str], rules: LineRules, target: BinaryIO) -> CopiedLines:
    sizes = []
    for file in files:
        start = target.tell()
        with open_unpacked(file) as stream:
            target.writelines(rules.rewrite_lines(block) for block, _ in read_blocks(stream) if block)
        sizes.append(target.tell() - start)
    target.flush()
    copies = CopiedLines(target, tuple(sizes))
    weakref.finalize(copies, target.close)
    return copies


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
