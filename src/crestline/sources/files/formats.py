"""Text files as tables: the columns that a question names, as text, and one row for each line that can be read.

CSV and JSON lines carry no types, and guessing them from rows would let one row change every label. Nor do rows name
columns: in JSON lines a column is what a question names, and null in a line without that key. A CSV file has a header,
which is public by contract; only what a question names is looked for in it, and no error repeats what it holds.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

from crestline.errors import QuestionError
from crestline.sources.engine.connection import DuckDB
from crestline.sources.engine.engine_functions import Expression
from crestline.sources.files.csv_lines import Header, parse_header
from crestline.sources.files.lines import LONGEST, LineRules, ReadableFiles, first_line, is_utf8, replace_invalid_utf8

if TYPE_CHECKING:
    from ibis.expr.datatypes import DataType

_UTF_16 = (b"\xff\xfe", b"\xfe\xff")  # the first bytes of such a file, and of no UTF-8
_WIDEST = 8 * LONGEST
"""Bytes of the longest line of a copy: a byte may become three, and every quote two."""


class TextFormat(Protocol):
    """One kind of text file, as its first lines describe it."""

    @property
    def rules(self) -> LineRules: ...

    @property
    def columns(self) -> Sequence[str]:
        """The columns that the file itself names."""
        ...

    def table(self, engine: DuckDB, name: str, columns: Sequence[str]) -> Expression:
        """The columns of a question, on a view that need not exist yet; refuses what the file cannot have."""
        ...

    def view(self, engine: DuckDB, name: str, columns: Sequence[str], files: ReadableFiles) -> None:
        """Make the view."""
        ...


def is_parquet(path: str) -> bool:
    """Whether files of this name carry their own types; refuses names of no known kind."""
    name = path.lower()
    if name.endswith((".parquet", ".pq")):
        return True
    if not name.removesuffix(".gz").endswith((".csv", ".tsv", ".jsonl", ".ndjson", ".json")):
        raise QuestionError(
            f"{path}: the name must end in .parquet, .csv, .tsv, .jsonl or .ndjson (the last four also with .gz); "
            "for a database give its URL and `table`"
        )
    return False


def is_delimited(path: str) -> bool:
    """Whether files of this name are CSV."""
    return path.lower().removesuffix(".gz").endswith((".csv", ".tsv"))


def text(path: str, files: Sequence[str]) -> TextFormat:
    """The kind of the text files behind a path. Without any there is no header either: every column exists, as in JSON
    lines, and no row does."""
    if not files or not is_delimited(files[0]):
        return JsonText()
    lines = list(map(first_line, files))
    if any(line.startswith(_UTF_16) for line in lines):
        raise QuestionError(f'{path} is UTF-16, as Excel\'s "Unicode text" is: save it as CSV UTF-8')
    headers = {parse_header(line) for line in lines}
    if len(headers) > 1:
        raise QuestionError(f"{path}: the files of a glob must have the same columns in the same order")
    return DelimitedText(path, headers.pop())


@dataclass(frozen=True)
class DelimitedText:
    """CSV, whose files share one header.

    path     what the files were asked for by
    header   the names of the columns, and how lines are taken apart
    """

    path: str
    header: Header

    @property
    def rules(self) -> LineRules:
        return self.header.rules

    @property
    def columns(self) -> Sequence[str]:
        return self.header.names

    def table(self, engine: DuckDB, name: str, columns: Sequence[str]) -> Expression:
        for wanted in columns:
            times = self.header.names.count(wanted)
            if times != 1:
                says = "names no column" if times == 0 else "names more than one column"
                raise QuestionError(
                    f"the header of {self.path} {says} {wanted!r}; the first line of a CSV file must name its columns"
                )
        found = declare_table(engine, name, dict.fromkeys(self._names, "string"))
        return found.select(**{column: found[self._names[self.header.names.index(column)]] for column in columns})

    def view(self, engine: DuckDB, name: str, columns: Sequence[str], files: ReadableFiles) -> None:
        engine.read_csv(
            literal(files.names(engine)),
            table_name=name,
            columns=dict.fromkeys(self._names, "VARCHAR"),
            auto_detect=False,
            header=True,
            delim=self.header.delimiter.decode(),
            quote='"',
            escape='"',
            new_line=files.ending.replace("\r", "\\r").replace("\n", "\\n"),
            ignore_errors=True,
            max_line_size=_WIDEST,
            hive_partitioning=False,
        )

    @property
    def _names(self) -> list[str]:
        """Names of our own, among which no two are alike to an engine that makes no difference between A and a."""
        return [f"column_{number}" for number in range(len(self.header.names))]


@dataclass(frozen=True)
class JsonRules:
    """JSON lines: DuckDB's reader cuts at line feeds, and leaves out by itself what is no JSON object."""

    knows_mark: ClassVar[bool] = False

    def regular_line_ending(self, block: bytes) -> str | None:
        return "\n" if is_utf8(block) else None

    def rewrite_lines(self, block: bytes) -> bytes:
        return replace_invalid_utf8(block).removesuffix(b"\n") + b"\n"


@dataclass(frozen=True)
class JsonText:
    """JSON lines: every column exists, and is null where a line does not have it."""

    @property
    def rules(self) -> LineRules:
        return JsonRules()

    @property
    def columns(self) -> Sequence[str]:
        return ()

    def table(self, engine: DuckDB, name: str, columns: Sequence[str]) -> Expression:
        if len({column.lower() for column in columns}) < len(columns):
            raise QuestionError("two columns of a question may not differ in upper and lower case alone")
        return declare_table(engine, name, dict.fromkeys(columns, "string"))

    def view(self, engine: DuckDB, name: str, columns: Sequence[str], files: ReadableFiles) -> None:
        engine.read_json(
            literal(files.names(engine)),
            table_name=name,
            columns=dict.fromkeys(columns, "VARCHAR"),
            format="newline_delimited",
            ignore_errors=True,
            maximum_object_size=_WIDEST,
            hive_partitioning=False,
        )


def declare_table(engine: DuckDB, name: str, kinds: Mapping[str, DataType | str]) -> Expression:
    """A table of these columns and types under this name, without asking the engine for it."""
    import ibis
    from ibis.expr.operations import DatabaseTable

    return DatabaseTable(name, schema=ibis.schema(kinds), source=engine).to_expr()


def literal(files: Sequence[str]) -> list[str]:
    """Names in which DuckDB sees no pattern. In the address of a web page a question mark is none."""
    return [file if file.startswith(("http://", "https://")) else re.sub(r"([*?[])", r"[\1]", file) for file in files]
