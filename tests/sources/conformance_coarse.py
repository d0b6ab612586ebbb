"""What every engine must do alike with coarser values: functions of a column, as items and in filters."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from crestline.errors import QuestionError
from tests.sources.conformance import ask, question
from tests.sources.engines import Engine

DAYS = [date(2024, 12, 30), date(2026, 10, 5), date(1, 1, 2), date(9999, 12, 30), None]
MOMENTS = [datetime(2024, 12, 30, 23, 59, 59, 999_999), datetime(2026, 10, 5, 0), datetime(1, 1, 2), None]
AWARE = [None if moment is None else moment.replace(tzinfo=UTC) for moment in MOMENTS]
TEXTS = ["Ab c ", " ab", "AB", "", "x" * 9, "éé!", None]
WHOLE = [-(2**63), -11, -10, -1, 0, 9, 10, 2**63 - 1, None]
FLOATS = [-math.inf, -1e300, -10.5, -1e-320, 0.0, 1e-320, 9.999, 10.0, 1e300, math.inf, math.nan, None]
DECIMALS = [Decimal("-10.000001"), Decimal("9.999999"), Decimal("10"), Decimal("0.000001"), None]

PARTS: dict[str, Any] = {
    "year(v)": lambda t: t.year,
    "quarter(v)": lambda t: (t.month + 2) // 3,
    "month(v)": lambda t: t.month,
    "week(v)": lambda t: t.isocalendar()[1],
    "date(v)": lambda t: t.date() if isinstance(t, datetime) else t,
    "hour(v)": lambda t: t.hour,
}
LOWEST = -(2**63 // 10) * 10


def whole(value: int) -> int:
    return max(LOWEST, math.floor(value // 10) * 10)


def real(value: float) -> float | None:
    if math.isnan(value):
        return None
    return value if abs(value) >= 1e15 else float(math.floor(value / 10) * 10) if abs(value) > 1e-100 else _tiny(value)


def _tiny(value: float) -> float:
    return -10.0 if value < 0 else 0.0


CASES: dict[str, tuple[pa.DataType, list[Any], str, Any]] = {
    **{f"{call} of a date": (pa.date32(), DAYS, call, part) for call, part in PARTS.items() if call != "hour(v)"},
    **{f"{call} of a moment": (pa.timestamp("us"), MOMENTS, call, part) for call, part in PARTS.items()},
    **{f"{call} with a zone": (pa.timestamp("us", "UTC"), AWARE, call, part) for call, part in PARTS.items()},
    "lower": (pa.string(), [text for text in TEXTS if text != "éé!"], "lower(v)", lambda text: text.lower()),
    "trim": (pa.string(), TEXTS, 'TRIM( "v" )', lambda text: text.strip()),
    "prefix": (pa.string(), TEXTS, "prefix(v, 2)", lambda text: text[:2]),
    "bucket of whole numbers": (pa.int64(), WHOLE, "bucket(v, 10)", whole),
    "bucket of floats": (pa.float64(), FLOATS, "bucket(v, 10)", real),
    "bucket of decimals": (pa.decimal128(20, 6), DECIMALS, "bucket(v,10)", lambda v: float(math.floor(v / 10) * 10)),
}


class CoarseConformance:
    """Inherit, and provide `engine`."""

    @pytest.mark.parametrize("case", CASES)
    def test_each_function_is_defined_for_every_value(self, engine: Engine, case: str) -> None:
        kind, values, call, part = CASES[case]
        table = pa.table({"user": list(range(len(values))), "v": pa.array(values, kind)})
        source = engine.source(table)
        found = ask(source, question(20, item=(call,)))
        counted = {item: count for item, count in zip(found.items, found.counts, strict=True) if count}
        expected: dict[Any, int] = {}
        for value in values:
            label = None if value is None else part(value)
            if label is not None:
                expected[label] = expected.get(label, 0) + 1
        assert counted == expected
        label = next(iter(expected))
        if not isinstance(label, float) or math.isfinite(label):
            written = f"'{label}'" if isinstance(label, str | date) else str(label)
            kept = ask(source, question(20, item=(call,), where=f"{call} = {written}"))
            assert {item for item, count in zip(kept.items, kept.counts, strict=True) if count} == {label}

    @pytest.mark.parametrize("call", ["lower(v)", "prefix(v, 1)", "year(v)", "hour(v)"])
    def test_a_column_of_another_kind_is_refused(self, engine: Engine, call: str) -> None:
        source = engine.source(pa.table({"user": [1], "v": [5]}))
        with pytest.raises(QuestionError, match=r"\(\) is for"):
            source.check(question(1, item=(call,)))
        with pytest.raises(QuestionError, match="is for numbers"):
            engine.source(pa.table({"user": [1], "v": [True]})).check(question(1, item=("bucket(v, 2)",)))
