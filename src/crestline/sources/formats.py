"""File formats, and what each says of its columns without a row being read.

Parquet files carry their types. CSV and JSON lines do not, and guessing types from rows would let one row change
every label: their columns are read as text, named by the header (CSV) or by the keys of the first line (JSON lines).
Lines that cannot be read are left out, so that no error depends on a row.
"""

from __future__ import annotations

import csv
import gzip
import json
import re
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from crestline.errors import QuestionError
from crestline.sources.engines import Expression

Reader: TypeAlias = Callable[[Any, list[str]], Expression]

_DELIMITERS = ",;\t|"
_LONGEST_LINE = 1 << 26


def reader(path: str) -> tuple[Reader, bool]:
    """How files of this name are read, and whether they carry their own types."""
    name = path.lower()
    if name.endswith((".parquet", ".pq")):
        return _read_parquet, True
    name = name.removesuffix(".gz")
    if name.endswith((".csv", ".tsv")):
        return _read_csv, False
    if name.endswith((".jsonl", ".ndjson", ".json")):
        return _read_json, False
    raise QuestionError(
        f"{path}: the name must end in .parquet, .csv, .tsv, .jsonl or .ndjson (the last four also with .gz); "
        "for a database give its URL and `table`"
    )


def _read_parquet(engine: Any, files: list[str]) -> Expression:
    """What `engine.read_parquet` does, without the Arrow library, which would take 30 MB to tell the columns' types."""
    import ibis
    from ibis.expr.operations import DatabaseTable

    found = engine.con.read_parquet(_literal(files))
    name = ibis.util.gen_name("parquet")
    found.create_view(name)
    kinds = {column: engine.compiler.type_mapper.from_string(str(kind)) for column, kind in _types(found)}
    return DatabaseTable(name, schema=ibis.schema(kinds), source=engine).to_expr()


def _types(found: Any) -> Iterator[tuple[str, Any]]:
    return zip(found.columns, found.types, strict=True)


def _read_csv(engine: Any, files: list[str]) -> Expression:
    header, delimiter = _same([_csv_header(file) for file in files])
    return engine.read_csv(
        _literal(files),
        columns=dict.fromkeys(header, "VARCHAR"),
        auto_detect=False,
        header=True,
        delim=delimiter,
        quote='"',
        escape='"',
        ignore_errors=True,
        max_line_size=_LONGEST_LINE,
    )


def _read_json(engine: Any, files: list[str]) -> Expression:
    return engine.read_json(
        _literal(files),
        columns=dict.fromkeys(_same([_json_keys(file) for file in files]), "VARCHAR"),
        format="newline_delimited",
        ignore_errors=True,
        maximum_object_size=_LONGEST_LINE,
    )


def _csv_header(file: str) -> tuple[tuple[str, ...], str]:
    """The column names and the delimiter, from the header line alone."""
    line = _first_line(file)
    rows = [(tuple(next(csv.reader([line], delimiter=mark), [])), mark) for mark in _DELIMITERS]
    header, delimiter = max(rows, key=lambda row: len(row[0]))
    if not all(header) or not header or len(set(header)) < len(header):
        raise QuestionError(f"{file}: the first line must name the columns, each once")
    return header, delimiter


def _json_keys(file: str) -> tuple[str, ...]:
    """The column names, from the first line alone."""
    try:
        first = json.loads(_first_line(file))
    except ValueError:
        first = None
    if not isinstance(first, dict) or not all(first):
        raise QuestionError(f"{file}: every line must be one JSON object; the first names the columns")
    return tuple(sorted(first))


def _first_line(file: str) -> str:
    opener: Any = gzip.open if file.lower().endswith(".gz") else open
    with opener(file, "rt", encoding="utf-8-sig", newline="") as lines:
        return str(lines.readline(_LONGEST_LINE))


def _same(schemas: list[Any]) -> Any:
    if any(schema != schemas[0] for schema in schemas):
        raise QuestionError("the files of a glob must have the same columns in the same order")
    return schemas[0]


def _literal(files: list[str]) -> list[str]:
    """Names in which DuckDB sees no pattern; an address from afar has none."""
    return [file if "://" in file else re.sub(r"([*?[])", r"[\1]", file) for file in files]
