"""Labels as they leave the program, in tables, terminals, pictures, HTML, CSV and JSON.

A label is a text of the data, and a user may have chosen it. None may steer a terminal, become a formula of a
spreadsheet, or end an element of a page. Only Arrow, pandas, Polars and `Answer.to_dict` give labels out as they are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING
from unicodedata import category

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

_FORMULA = re.compile(r"\s*[=+\-@＝＋－＠]")
_OTHER_LETTER = re.compile(r"[^ -~\n]")
_JOINERS = "\u200c\u200d"  # between letters, and within pictures


def printable_text(value: object) -> str:
    """Text of a value on one line, with characters that could steer a terminal or reorder a line escaped."""
    text = str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
    return text if text.isprintable() else "".join(c if _is_plain(c) else ascii(c)[1:-1] for c in text)


def printable_lines(text: str) -> str:
    """`printable_text` of every line."""
    return "\n".join(map(printable_text, text.split("\n")))


def label_text(label: object) -> str:
    """`printable_text` of a label; the parts of one with several columns beside each other."""
    return " · ".join(map(printable_text, label)) if isinstance(label, tuple) else printable_text(label)


def html_text(value: object) -> str:
    """`printable_text` of a value, escaped for HTML and SVG; nothing for None."""
    return "" if value is None else escape(printable_text(value))


class HasShortRepr:
    """Base of objects that a user holds: their repr is the first line of `str`, and their HTML has all its lines.

    A repr of fields would show private rows where a source is a table in memory, and fractions of a hundred digits.
    """

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {printable_text(str(self).split(chr(10), 1)[0])}>"

    def _repr_html_(self) -> str:
        return f"<p>{'<br>'.join(map(html_text, str(self).split(chr(10))))}</p>"


def write_csv(file: SupportsWrite[str], heads: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a header and rows as CSV, by `csv_cell`."""
    import csv

    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(map(csv_cell, heads))
    writer.writerows(map(csv_cell, row) for row in rows)


def csv_cell(value: object) -> object:
    """A value for CSV: text by `printable_text`, after an apostrophe where a spreadsheet would run it as a formula."""
    if not isinstance(value, str):
        return value
    text = printable_text(value)
    return f"'{text}" if _FORMULA.match(value) or value[:1] in ("\t", "\r", "\n") else text


def json_text(value: object, indent: int | None = None) -> str:
    r"""A value as JSON; characters that `printable_text` escapes are written as \u…, which programs read back."""
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    return _OTHER_LETTER.sub(lambda c: c[0] if _is_plain(c[0]) else json.dumps(c[0])[1:-1], text).replace(
        "\x7f", "\\u007f"
    )


def _is_plain(letter: str) -> bool:
    return letter.isprintable() or letter in _JOINERS or category(letter) == "Zs"
