"""Delimited text (CSV): what one line means, and when DuckDB's fast reader reads a block of lines to the same effect.

A field that begins with a quote ends with one, and two quotes within it stand for one. In any other field a quote is
a letter like any other. A line is read if all its quoted fields end where a field may end and it has as many fields as
the header. A carriage return at the end of a line belongs to the line's end; one within it, like a byte that is no
UTF-8, is replaced. A field without a letter is null.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from crestline.sources.files.lines import REPLACEMENT, is_utf8, replace_invalid_utf8
from crestline.sources.files.regular_csv import regular_line_ending

_DELIMITERS = (b",", b";", b"\t", b"|")
_QUOTED = re.compile(rb'"([^"]*+(?:""[^"]*+)*+)"')


@dataclass(frozen=True)
class Header:
    """The first line of a file: the names of its columns, and the delimiter under which it has most of them."""

    names: tuple[str, ...]
    delimiter: bytes

    @property
    def rules(self) -> DelimitedRules:
        return DelimitedRules(self.delimiter, len(self.names))


def parse_header(line: bytes) -> Header:
    """What the first line says. One that cannot be read names nothing."""
    line = replace_invalid_utf8(line.replace(b"\r", REPLACEMENT))
    found = [(split_fields(line, delimiter) or [], delimiter) for delimiter in _DELIMITERS]
    names, delimiter = max(found, key=lambda one: len(one[0]))
    return Header(tuple(name.decode() for name in names), delimiter)


def split_fields(line: bytes, delimiter: bytes) -> list[bytes] | None:
    """The fields of one line, or None when it cannot be read."""
    found, place = [], 0
    while True:
        quoted = _QUOTED.match(line, place)
        if quoted:
            found.append(quoted[1].replace(b'""', b'"'))
            place = quoted.end()
        elif line.startswith(b'"', place):
            return None
        else:
            end = line.find(delimiter, place)
            found.append(line[place : len(line) if end < 0 else end])
            place += len(found[-1])
        if place == len(line):
            return found
        if not line.startswith(delimiter, place):
            return None
        place += 1


@dataclass(frozen=True)
class DelimitedRules:
    """Lines of `width` fields."""

    delimiter: bytes
    width: int
    knows_mark: ClassVar[bool] = True

    def regular_line_ending(self, block: bytes) -> str | None:
        """How the lines of a block end, if all end alike and all are rectangular; otherwise None."""
        return regular_line_ending(block, self.delimiter, self.width) if is_utf8(block) else None

    def rewrite_lines(self, block: bytes) -> bytes:
        if b"\r" in block:
            block = block.replace(b"\r\n", b"\n").removesuffix(b"\r").replace(b"\r", REPLACEMENT)
        block = replace_invalid_utf8(block).removesuffix(b"\n") + b"\n"  # the last line may lack its end
        if regular_line_ending(block, self.delimiter, self.width):
            return block
        return b"".join(map(self._rewrite_line, block.split(b"\n")[:-1]))

    def _rewrite_line(self, line: bytes) -> bytes:
        """One line in the form in which every field that needs quotes has them; nothing when it cannot be read."""
        found = split_fields(line, self.delimiter)
        if found is None or len(found) != self.width:
            return b""
        return self.delimiter.join(map(self._quote_field, found)) + b"\n"

    def _quote_field(self, value: bytes) -> bytes:
        if b'"' in value or self.delimiter in value:
            return b'"' + value.replace(b'"', b'""') + b'"'
        return value
