"""The look at 64 bytes in one step finds what a walk from letter to letter finds."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from crestline.sources.files.regular_csv import regular_line_ending

FIELD = rb'(?:"(?:[^"\n\r]|"")*"|[^",\n\r]*)'
SOUND = [b"", b"a", b'"a"', b'""', b'"a,b"', b'"a""b"', b'""""', b"x" * 61, b'"' + b"y" * 62 + b'"', b'"",""']
FAULTY = [b'"', b'a"b', b'"a"b', b'"a', b"\r", b'"a\nb"', b',"', b'""a""']


def slow(block: bytes, width: int) -> str | None:
    """The same, line by line."""
    line = re.compile(FIELD + b"(?:," + FIELD + b"){%d}" % (width - 1))
    lines = block.split(b"\n")[:-1]
    ends = {one.endswith(b"\r") for one in lines}
    sound = len(ends) < 2 and all(line.fullmatch(one.removesuffix(b"\r")) for one in lines)
    return ("\r\n" if True in ends else "\n") if sound else None


def lines(fields: list[bytes]) -> st.SearchStrategy[bytes]:
    return st.lists(
        st.lists(st.sampled_from(fields), min_size=1, max_size=3).map(b",".join), min_size=1, max_size=12
    ).map(lambda found: b"\n".join(found) + b"\n")


@pytest.mark.long
@given(lines(SOUND) | lines([*SOUND, *FAULTY]), st.integers(1, 3), st.booleans())
@example(b"x" * 62 + b',"' + b"y" * 63 + b'"\n', 2, False)
@example(b"x" * 63 + b'"\n', 1, False)
def test_it_agrees_with_a_walk_line_by_line(block: bytes, width: int, windows: bool) -> None:
    block = block.replace(b"\n", b"\r\n") if windows else block
    assert regular_line_ending(block, b",", width) == slow(block, width)


@pytest.mark.parametrize("place", range(120, 136))
def test_one_quote_too_many_is_found_wherever_it_stands(place: int) -> None:
    block = bytearray(b"a,b\n" * 64)
    assert regular_line_ending(bytes(block), b",", 2) == "\n"
    block[place] = ord('"')
    assert regular_line_ending(bytes(block), b",", 2) is None
