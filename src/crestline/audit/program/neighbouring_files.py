"""Two neighbouring tables as files: with the rows of one user and without, otherwise identical.

The columns are `user`, `item` and `value`, or one of every type for filters. Items of ordinary users are popular, so an
honest program gives the same answer with near certainty, and a program that loses rows of others does not.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crestline.audit.program.broken_rows import CSV_LINES, JSON_LINES, BrokenRow
from crestline.audit.program.failing_filters import COLUMNS, USER, Column

if TYPE_CHECKING:
    import pyarrow as pa

TABLE = "events"
OTHERS = 3
"""Number of kinds of ordinary users in a table for filters."""

# Prefixes of types that a format cannot store: Parquet has no seconds, DuckDB has zones with microseconds only.
_FOREIGN = {
    "parquet": ("timestamp[s",),
    "duckdb": ("timestamp[s, tz", "timestamp[ms, tz", "timestamp[ns, tz"),
}


@dataclass(frozen=True)
class NeighbouringFiles:
    """Paths or globs of two tables that differ by one user, and what is special about that user's rows (`why`)."""

    kind: str
    why: str
    with_user: str
    without: str


def arrow_type(words: str) -> pa.DataType:
    """The Arrow type with this name."""
    import pyarrow as pa

    name, _, inner = words.rstrip(")]").partition("(" if "(" in words else "[")
    if name == "decimal128":
        return pa.decimal128(*(int(part) for part in inner.split(",")))
    if name == "timestamp":
        unit, _, zone = inner.partition(", tz=")
        return pa.timestamp(unit, tz=zone or None)
    return pa.type_for_alias(name)


def arrow_column(words: str, values: Sequence[Any]) -> pa.Array:
    """A column of this type; timestamps and dates are integers since 1970 in their unit."""
    import pyarrow as pa

    kind = arrow_type(words)
    if words.startswith("timestamp"):
        return pa.array(values, pa.int64()).cast(kind)
    if words.startswith("date32"):
        return pa.array(values, pa.int32()).cast(kind)
    if words.startswith("decimal"):
        return pa.array([None if value is None else Decimal(value) for value in values], kind)
    return pa.array(values, kind)


def typed_table(with_user: bool, columns: Sequence[Column] = COLUMNS, users: int = 3) -> pa.Table:
    """A table with these columns and `users` ordinary users, and perhaps with the one user's extreme values.

    All ordinary users have the item `tea`, every third of them also `coffee`; the one user has `tea` and `cocoa`.
    """
    import pyarrow as pa

    most = max(len(column.ends) for column in columns) if with_user else 0
    people = [(f"u{n}", item, n % OTHERS) for n in range(users) for item in ("tea", "coffee")[: 1 + (n % 3 == 0)]]
    names = [user for user, _, _ in people] + [USER] * most
    items = [item for _, item, _ in people] + [("tea", "cocoa")[n % 2] for n in range(most)]
    arrays = {"user": pa.array(names, pa.string()), "item": pa.array(items, pa.string())}
    for column in columns:
        usual = [column.usual[place] for _, _, place in people]
        arrays[column.name] = arrow_column(
            column.kind, usual + [column.ends[n % len(column.ends)] for n in range(most)]
        )
    return pa.table(arrays)


def ordinary_rows(users: int) -> list[tuple[str, str, int]]:
    """Rows of ordinary users: all have `tea`, every second one also `coffee`."""
    rows = [(f"u{n}", "tea", n) for n in range(users)]
    return [*rows, *((f"u{n}", "coffee", n) for n in range(0, users, 2))]


def csv_bytes(broken_row: BrokenRow | None, users: int) -> bytes:
    """A CSV file of ordinary users, and the broken row if there is one."""
    return _lines(
        [",".join(map(str, row)).encode() + b"\n" for row in ordinary_rows(users)], broken_row, b"user,item,value\n"
    )


def json_bytes(broken_row: BrokenRow | None, users: int) -> bytes:
    """JSON lines of ordinary users, and the broken row if there is one."""
    objects = (dict(zip(("user", "item", "value"), row, strict=True)) for row in ordinary_rows(users))
    return _lines([json.dumps(row).encode() + b"\n" for row in objects], broken_row, b"")


def _lines(lines: list[bytes], broken_row: BrokenRow | None, header: bytes) -> bytes:
    """The header, and the lines with the broken row among them; a row without a line end comes last."""
    if broken_row is None:
        return header + b"".join(lines)
    if broken_row.first:
        return header + broken_row.line + b"".join(lines)
    place = 3 if broken_row.line.endswith(b"\n") else len(lines)
    return header + b"".join(lines[:place]) + broken_row.line + b"".join(lines[place:])


def write_line_files(folder: Path, kind: str, users: int) -> list[NeighbouringFiles]:
    """Write a pair of files for every broken row of a kind, `csv` or `jsonl`; the first row is well-formed."""
    return _write_line_pairs(folder, kind, users, None)


def _write_line_pairs(folder: Path, kind: str, users: int, most: int | None) -> list[NeighbouringFiles]:
    """Write the first `most` pairs of `write_line_files`, or all."""
    pairs = []
    for number, broken in enumerate((CSV_LINES if kind == "csv" else JSON_LINES)[:most]):
        write = csv_bytes if kind == "csv" else json_bytes
        paths = [_make_folder_for(folder, f"{kind}-{number}", side, f"{TABLE}.{kind}") for side in ("with", "without")]
        for path, row in zip(paths, (broken, None), strict=True):
            path.write_bytes(write(row, users))
        pairs.append(NeighbouringFiles(kind, broken.why, str(paths[0]), str(paths[1])))
    return pairs


def write_plain_files(folder: Path, kind: str, users: int) -> NeighbouringFiles:
    """Write a pair of files, `csv` or `jsonl`, whose rows are all well-formed."""
    (pair, *_) = _write_line_pairs(folder, kind, users, 1)
    return pair


def columns_of(kind: str) -> tuple[Column, ...]:
    """The columns whose type `parquet` or `duckdb` can store unchanged."""
    return tuple(column for column in COLUMNS if not column.kind.startswith(_FOREIGN[kind]))


def write_typed_files(folder: Path, kind: str, users: int) -> NeighbouringFiles:
    """Write a pair of tables with a column of every type, `parquet` or `duckdb`."""
    paths = [_make_folder_for(folder, f"types-{kind}", side, f"{TABLE}.{kind}") for side in ("with", "without")]
    for path, with_user in zip(paths, (True, False), strict=True):
        write_table(path, typed_table(with_user, columns_of(kind), users))
    return NeighbouringFiles(kind, "a column of every type", str(paths[0]), str(paths[1]))


# Filters over moments of 96 bits that half of the readers know to end in 2262. The column of the one user's broken text
# is in all of them, so that every reader reads it.
OLD_MOMENTS = tuple(
    f"place <> 'nowhere' and until {condition}" for condition in ("> '2300-01-01'", "< '2300-01-01'", "= '9999-12-31'")
)


def write_old_moments(folder: Path, users: int) -> NeighbouringFiles:
    """A pair of Parquet files as Spark wrote them for long, with moments of 96 bits; the one user's text is not UTF-8.

    Every ordinary user has `tea` until 9999-12-31, and `coffee` until 2026-01-31.
    """
    import pyarrow as pa
    from pyarrow.parquet import write_table as write

    paths = [_make_folder_for(folder, "old-moments", side, f"{TABLE}.parquet") for side in ("with", "without")]
    for path, added in zip(paths, (1, 0), strict=True):
        names = [f"u{n}" for n in range(users)]
        until = [253_402_214_400 * 10**6] * users + [1_769_817_600 * 10**6] * users + [0] * added
        columns = {
            "user": pa.array(names + names + [USER] * added),
            "item": pa.array(["tea"] * users + ["coffee"] * users + ["cocoa"] * added),
            "place": pa.array([b"here"] * 2 * users + [b"\xff"] * added, pa.binary()).view(pa.string()),
            "until": arrow_column("timestamp[us]", until),
        }
        write(pa.table(columns), path, use_deprecated_int96_timestamps=True)
    return NeighbouringFiles("parquet", "text that is not UTF-8 beside moments of 96 bits", *map(str, paths))


def write_table(path: Path, table: pa.Table) -> None:
    """Write an Arrow table as a Parquet file, or else as the table `events` of a DuckDB file, by the suffix."""
    if path.suffix == ".parquet":
        from pyarrow.parquet import write_table as write

        write(table, path)
        return
    import duckdb

    with duckdb.connect(str(path)) as connection:
        connection.register("arrow", table)
        connection.execute(f"create table {TABLE} as select * from arrow")  # noqa: S608 -- our own constant


def _make_folder_for(folder: Path, pair: str, side: str, name: str) -> Path:
    """Create the folder of one side of a pair, and return the path of a file in it."""
    place = folder / pair / side
    place.mkdir(parents=True, exist_ok=True)
    return place / name
