"""Columns of every type with the values at its ends, and what to compare them with: the same in plain Python."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa

from crestline.question import Question
from crestline.sources.expression import where
from crestline.sources.expression.filter_conditions import Filter
from crestline.sources.table import TableSource

SIGNS: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}
NUMBERS = [
    Decimal(text)
    for text in (
        "0", "1", "-1", "2.5", "-2.5", "0.1", "0.00012345678901234567", "127", "128", "-128", "-129", "255", "256",
        "32767", "2147483648", "9007199254740993", "9223372036854775807", "9223372036854775808",
        "-9223372036854775808", "-9223372036854775809", "9223372036854775806.5", "18446744073709551615", "1e19",
        "99999999999999999999999999999999999999", "1e38", "-1e38", "99999999999999999999.999999", "1e300", "-1e300",
        "1e-300", "1e-7", "0.10000000000000000000000000001", "170141183460469231731687303715884105727",
    )
]  # fmt: skip
DATES = ["0001-01-01", "1677-09-21", "2026-01-31", "2500-01-01", "9999-12-31"]
MOMENTS = [
    *DATES, "2262-04-11T23:47:16.854775", "2262-04-11T23:47:16.854776", "1677-09-21T00:12:43.145225",
    "1677-09-21T00:12:43.145224", "2026-01-31T12:00:00.123456", "2026-01-31T12:00:00.5",
]  # fmt: skip
TEXTS = ["", "a", "A", "é", "😀", "5", "nan"]


def whole(bits: int, *, signed: bool) -> list[int]:
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    return [low, low + 1, 0, 1, 2, 3, high - 1, high]


def decimals(precision: int, scale: int) -> list[Decimal]:
    last = 10**precision - 1
    return [
        Decimal(f"{units}e-{scale}") for units in (-last, -1, 0, 1, 10 ** min(scale, precision - 1), last - 1, last)
    ]


FLOATS = [math.nan, 0.0, -0.0, 0.1, 1.0, -2.5, 2.5, 2.0**53, 1e300, -1e300, 5e-324, math.inf, -math.inf]
SEEN = [datetime(2026, 1, 31, 12, 0, 0), datetime(1969, 7, 20, 20, 17, 40), datetime(2026, 1, 31)]
COLUMNS: dict[str, tuple[pa.DataType, list[Any], list[Any]]] = {
    # every engine has these
    "int16": (pa.int16(), whole(16, signed=True), NUMBERS),
    "int32": (pa.int32(), whole(32, signed=True), NUMBERS),
    "int64": (pa.int64(), whole(64, signed=True), NUMBERS),
    "decimal(4,2)": (pa.decimal128(4, 2), decimals(4, 2), NUMBERS),
    "decimal(20,6)": (pa.decimal128(20, 6), decimals(20, 6), NUMBERS),
    "decimal(38,0)": (pa.decimal128(38, 0), decimals(38, 0), NUMBERS),
    "decimal(38,7)": (pa.decimal128(38, 7), decimals(38, 7), NUMBERS),
    "decimal(38,38)": (pa.decimal128(38, 38), decimals(38, 38), NUMBERS),
    "float64": (pa.float64(), FLOATS, NUMBERS),
    "float32": (pa.float32(), [math.nan, 0.0, 0.5, 0.10000000149011612, 3.4028234663852886e38, -math.inf], NUMBERS),
    "date": (pa.date32(), [date(1, 1, 1), date(2026, 1, 31), date(9999, 12, 31)], DATES),
    "timestamp": (pa.timestamp("us"), [*SEEN, datetime(1, 1, 1), datetime(9999, 12, 31)], MOMENTS),
    "text": (pa.string(), [*TEXTS, "z\u200d"], TEXTS),
    "boolean": (pa.bool_(), [True, False], [True, False]),
}
ONLY_DUCKDB: dict[str, tuple[pa.DataType, list[Any], list[Any]]] = {
    "int8": (pa.int8(), whole(8, signed=True), NUMBERS),
    "uint8": (pa.uint8(), whole(8, signed=False), NUMBERS),
    "uint16": (pa.uint16(), whole(16, signed=False), NUMBERS),
    "uint32": (pa.uint32(), whole(32, signed=False), NUMBERS),
    "uint64": (pa.uint64(), whole(64, signed=False), NUMBERS),
    "timestamp in ns": (pa.timestamp("ns"), SEEN, MOMENTS),
    "timestamp in ms": (pa.timestamp("ms"), [*SEEN, 2**62, -(2**62), datetime(9999, 12, 31)], MOMENTS),
    "timestamp in s": (pa.timestamp("s"), [*SEEN, 2**55, -(2**55), datetime(1, 1, 1)], MOMENTS),
}


def literal_of(kind: pa.DataType, value: Any) -> Any:
    """What a value of the question stands for beside a column of this type."""
    if pa.types.is_floating(kind):
        return float(value)
    if pa.types.is_date(kind):
        return date.fromisoformat(value)
    if pa.types.is_timestamp(kind):
        return datetime.fromisoformat(value)
    return value.encode() if isinstance(value, str) else value


def expected(kind: pa.DataType, cell: Any, sign: str, value: Any) -> bool | None:
    """What the comparison says of one cell; nan is missing, and a moment that no timestamp in microseconds can hold."""
    if cell is None or cell != cell or (pa.types.is_timestamp(kind) and isinstance(cell, int)):
        return None
    return SIGNS[sign](cell.encode() if isinstance(cell, str) else cell, literal_of(kind, value))


def trees(kind: pa.DataType, values: list[Any]) -> list[tuple[where.Condition, Callable[[Any], bool | None]]]:
    """Every sign with every value, and the other forms, each with what it says of a cell."""
    found: list[tuple[where.Condition, Callable[[Any], bool | None]]] = [
        (where.Compare("v", sign, value), lambda cell, sign=sign, value=value: expected(kind, cell, sign, value))
        for sign in SIGNS
        for value in values
    ]

    def among(cell: Any, chosen: list[Any]) -> bool | None:
        each = [expected(kind, cell, "=", value) for value in chosen]
        return None if None in each else any(each)

    def inside(cell: Any, low: Any, high: Any) -> bool | None:
        above, below = expected(kind, cell, ">=", low), expected(kind, cell, "<=", high)
        return None if above is None or below is None else above and below

    def opposite(answer: bool | None) -> bool | None:
        return None if answer is None else not answer

    for chosen in (values, values[::2], values[-1:]):
        found.append((where.In("v", tuple(chosen)), lambda cell, chosen=chosen: among(cell, chosen)))
        found.append(
            (where.Not(where.In("v", tuple(chosen))), lambda cell, chosen=chosen: opposite(among(cell, chosen)))
        )
    for low, high in itertools.pairwise(values):
        found.append((where.Between("v", low, high), lambda cell, low=low, high=high: inside(cell, low, high)))
    return found


def agrees_on_every_value(source: TableSource, kind: pa.DataType, cells: list[Any], values: list[Any]) -> None:
    """Put all comparisons to a table of (row, v) at once, and hold every one of them against Python."""
    counting = source._counting(Question(user="row", item=("v",), k=1, k_bar=1))
    filters = Filter(counting.table, counting.engine, counting.untyped)
    asked = trees(kind, values)
    columns = {f"c{i}": filters.condition(tree) for i, (tree, _) in enumerate(asked)}
    rows = source._runner.rows(counting.table.select(counting.table["row"], **columns))
    assert len(rows) == len(cells)
    for row, *answers in rows:
        for (tree, oracle), answer in zip(asked, answers, strict=True):
            assert (tree, cells[row], answer) == (tree, cells[row], oracle(cells[row]))


def verdicts(source: TableSource, texts: list[str]) -> dict[int, tuple[Any, ...]]:
    """What each filter says of each row of a table, all of them in one statement, by the row's `user`."""
    counting = source._counting(Question(user="user", item=("item",), k=1, k_bar=1))
    filters = Filter(counting.table, counting.engine, counting.untyped)
    columns = {f"c{i}": filters.condition(where.parse_filter(text)) for i, text in enumerate(texts)}
    rows = source._runner.rows(counting.table.select(counting.table["user"], **columns))
    return {user: tuple(answers) for user, *answers in rows}


def table(kind: pa.DataType, cells: list[Any]) -> pa.Table:
    """The cells, with the number of each; whole numbers stand for moments outside Python's calendar."""
    if pa.types.is_timestamp(kind):
        whole_numbers = [_units(kind, cell) if isinstance(cell, datetime) else cell for cell in cells]
        return pa.table({"row": range(len(cells)), "v": pa.array(whole_numbers, pa.int64()).cast(kind)})
    return pa.table({"row": range(len(cells)), "v": pa.array(cells, kind)})


def _units(kind: pa.DataType, moment: datetime) -> int:
    seconds = (moment - datetime(1970, 1, 1)).total_seconds()
    return int(seconds) * {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[kind.unit]
