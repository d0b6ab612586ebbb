"""Lines of text: what DuckDB reads, from the file or from its copy, is what each line says when it is read alone."""

from __future__ import annotations

import gzip
import itertools
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from crestline.sources.engine.engine_functions import embedded_duckdb
from crestline.sources.files import lines
from crestline.sources.files.lines import LONGEST, read_blocks
from crestline.sources.files.open_table import find_text_files

pytestmark = pytest.mark.statistics

PIECES = [
    b"a",
    b"b7",
    b",",
    b",",
    b'"',
    b'"',
    b'""',
    b"\n",
    b"\n",
    b"\r",
    b"\r\n",
    b"\x00",
    b" ",
    b";",
    b"'",
    b"\\",
    b"#",
]
ODD = [b"\xff", b"\xc3", "é".encode(), "\ufeff".encode(), b"\xed\xa0\x80", "😀".encode(), b"\x85", "\u2028".encode()]
QUOTED = [b'"a,b"', b'"x""y"', b'""', b'"z"', b"\xc3\xa9", b"w"]
RAGGED = st.lists(st.sampled_from([*PIECES, *ODD]), max_size=40).map(b"".join)
TIDY = st.lists(st.tuples(*[st.sampled_from(QUOTED)] * 2).map(b",".join), max_size=30)
NAMES = itertools.count()
ENGINE: list[Any] = []


def read(path: Path, columns: tuple[str, ...], copied: bool) -> list[tuple[str | None, ...]]:
    """The rows that DuckDB reads: from the file if it is regular, or from a copy."""
    if not ENGINE:
        ENGINE.append(embedded_duckdb())
    engine, name = ENGINE[0], f"view_{next(NAMES)}"
    found = find_text_files(str(path), [str(path)])
    table = found.kind.table(engine, name, columns)
    kept = found.lazy_scan(copied)()
    found.kind.view(engine, name, columns, kept)
    assert not copied or kept.copies is not None
    return engine.con.sql(engine.compile(table)).fetchall()


def parsed(line: bytes, delimiter: str = ",") -> list[str] | None:
    """One line of CSV, letter by letter."""
    text = line.removesuffix(b"\r").replace(b"\r", "\ufffd".encode()).decode(errors="replace")
    fields, state = [""], "start"
    for letter in text:
        if state == "start" and letter == '"':
            state = "quoted"
        elif state == "quoted":
            if letter == '"':
                state = "closed"
            else:
                fields[-1] += letter
        elif letter == delimiter:
            fields.append("")
            state = "start"
        elif state == "closed":
            if letter != '"':
                return None
            fields[-1] += letter
            state = "quoted"
        else:
            fields[-1] += letter
            state = "plain"
    return None if state == "quoted" else fields


def expected(content: bytes) -> list[tuple[str | None, ...]]:
    """What the lines after the header say, each by itself."""
    rows = [parsed(line) for line in content.split(b"\n")[1:]]
    return [tuple(field or None for field in row) for row in rows if row and len(row) == 2]


def written(folder: Path, content: bytes, ending: str = "csv") -> Path:
    path = folder / f"{next(NAMES)}.{ending}"
    path.write_bytes(content)
    return path


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(RAGGED, st.booleans())
@example(b'mallory,"tea\nu,b\nv,c\n', False)
@example(b'x,"a"b\nu,b\n', False)
@example(b"a,b\rc\nu,v\r\nw,x\n", False)
@example(b'a,"b\nc",d\nu,v', False)
@example(b"a,b\r", False)
def test_every_line_of_csv_is_read_as_if_it_were_alone(tmp_path: Path, content: bytes, copied: bool) -> None:
    content = b"user,item\n" + content
    assert read(written(tmp_path, content), ("user", "item"), copied) == expected(content)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(TIDY, st.sampled_from([b"\n", b"\r\n"]), st.booleans(), st.sampled_from([b"", "\ufeff".encode()]))
def test_regular_files_are_read_as_they_are(
    tmp_path: Path, rows: list[bytes], end: bytes, last: bool, mark: bytes
) -> None:
    content = b"user,item" + end + end.join(rows) + (end if last and rows else b"")
    path = written(tmp_path, mark + content)
    found = find_text_files(str(path), [str(path)])
    assert found.lazy_scan()().files == [str(path)]
    assert read(path, ("user", "item"), copied=False) == expected(content)
    assert read(path, ("user", "item"), copied=True) == expected(content)


JSON = [
    b'{"user": 1, "item": "x"}', b'{"item": "y", "user": 2}', b'{"user": 3}', b"broken", b"[1]", b"5", b"", b"{",
    b'{"user": "\xff", "item": 1}', b'{"user": "\\ud800", "item": 1}', b'{"user": "\\u0000", "item": 1}',
    b'{"user": 1, "user": 2, "item": 3}', b'{"user": 1}{"user": 2}', b'{"user": "open', b'"', b"}", b"\x00", b"\r",
    b'{"user": 4, "item": {"a": [1, null]}}', b'{"user": 1e999, "item": -0.0}', b'{"user": NaN, "item": 1}',
    b'{"user": null, "item": true}\r', b'{"user": 7,\r"item": 8}', b'{"User": 7, "ITEM": 8}', b"\xef\xbb\xbf{}",
    b'{"user": 1, "item": ' + b"[" * 10**5 + b"]" * 10**5 + b"}", b'{"user": 1, "item": ' + b"[" * 10**5,
    b'/* {"user": 1} */', b'{"user": 1, "item": 1,}', b'[{"user": 1, "item": 1}, {"user": 2, "item": 2}]',
]  # fmt: skip


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(JSON), max_size=12), st.booleans())
def test_every_json_line_is_read_as_if_it_were_alone(tmp_path: Path, found: list[bytes], copied: bool) -> None:
    columns = ("user", "item")
    alone = {line: kept(read(written(tmp_path, b"{}\n" + line, "jsonl"), columns, False)) for line in set(found)}
    together = read(written(tmp_path, b"\n".join([b"{}", *found]), "jsonl"), columns, copied)
    assert kept(together) == [row for line in found for row in alone[line]]


def kept(rows: list[tuple[str | None, ...]]) -> list[tuple[str | None, ...]]:
    """Rows that hold anything: lines that cannot be read come as rows of nulls, which are counted nowhere."""
    return [row for row in rows if any(row)]


def test_a_json_line_says_what_it_says(tmp_path: Path) -> None:
    path = written(tmp_path, b"\xef\xbb\xbf" + b"\n".join(JSON), "jsonl")
    rows = kept(read(path, ("user", "item"), False))
    assert rows[:3] == [("1", "x"), ("2", "y"), ("3", None)]
    assert ("\ufffd", "1") in rows
    assert ("4", '{"a":[1,null]}') in rows


@pytest.mark.parametrize("ending", ["csv", "jsonl", "csv.gz"])
@pytest.mark.parametrize("excess", [0, 1, 1 << 20, 40 << 20])
def test_a_line_that_is_too_long_costs_only_itself(tmp_path: Path, ending: str, excess: int) -> None:
    json = ending == "jsonl"
    form = b'{"user": "%s", "item": "x"}' if json else b"%s,x"
    before, after, empty = form % b"u", form % b"w", len(form % b"")
    long = form % (b"v" * (LONGEST - empty + excess))
    content = b"\n".join([b"{}" if json else b"user,item", before, long, after, before])
    path = written(tmp_path, gzip.compress(content, 1) if ending.endswith("gz") else content, ending)
    users = [user and user[0] for user, _ in kept(read(path, ("user", "item"), False))]
    assert users == (["u", "v", "w", "u"] if not excess else ["u", "w", "u"])


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_blocks_do_not_depend_on_where_they_are_cut(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, size: int) -> None:
    content = b"\xef\xbb\xbfshort\n\nexactly9!\ntoo long a line\n\ntoo long again and again\nend\nlast"
    monkeypatch.setattr(lines, "LONGEST", 9)
    monkeypatch.setattr(lines, "_BLOCK", size + 2)
    with open(written(tmp_path, content), "rb") as stream:
        found = b"".join(block for block, _ in read_blocks(stream))
    assert found == b"short\n\nexactly9!\n\nend\nlast"
