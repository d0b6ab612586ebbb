"""The periods of a question as expressions: which rows lie in them, and in which one a row lies (P16.1).

Both are comparisons of the time column with moments that are computed here, in the time zone of the calendar. So no
engine needs to know a zone, and nothing can fail on a row (`comparing`). A row without a time lies in no period.

    date                        the day itself
    timestamp with a zone       the moment
    timestamp without           what a clock on the wall of the calendar's zone showed; on Spark, whose two kinds of
                                timestamp cannot be told apart here, a moment in UTC
    text (files, DuckDB)        an ISO date or time; one without an offset is in UTC
"""

from __future__ import annotations

from datetime import date

from crestline.errors import QuestionError
from crestline.periods.calendar import Calendar, Periods
from crestline.sources.engine.engine_functions import Expression, dialect, total_cast, try_else_null
from crestline.sources.expression.column_keys import column
from crestline.sources.expression.comparisons import comparison

_MICROSECONDS = 6


def period_conditions(table: Expression, periods: Periods, engine: str) -> list[Expression]:
    """Conditions that a row meets if it lies in one of the periods."""
    moment = _row_time(table, periods.calendar, engine)
    first, *_, after = periods.edges
    return [moment.compare_with_day(">=", first), moment.compare_with_day("<", after)]


def period_index(table: Expression, periods: Periods, engine: str) -> Expression:
    """For a row that lies in one of the periods, which: 0, 1, 2, …"""
    import ibis

    moment = _row_time(table, periods.calendar, engine)
    branches = [(moment.compare_with_day("<", edge), number) for number, edge in enumerate(periods.edges[1:-1])]
    return ibis.cases(*branches, else_=periods.size - 1)


class _RowTime:
    """The time of a row, and how the beginning of a day is written to be compared with it."""

    def __init__(self, value: Expression, calendar: Calendar, engine: str, *, in_utc: bool) -> None:
        self._value, self._calendar, self._engine, self._in_utc = value, calendar, engine, in_utc

    def compare_with_day(self, sign: str, day: date) -> Expression:
        kind = self._value.type()
        midnight = self._calendar.start_of_day(day)
        if kind.is_date() or (kind.is_timestamp() and not kind.timezone and not self._in_utc):
            written = day.isoformat()
        else:
            written = (midnight if kind.is_timestamp() and kind.timezone else midnight.replace(tzinfo=None)).isoformat()
        found = comparison(self._value, sign, written, self._engine) if kind.is_date() or kind.is_timestamp() else None
        if found is None:
            raise QuestionError(
                f"column {self._calendar.time!r} is of type {kind}; the column that says when holds dates or timestamps"
            )
        return found


def _row_time(table: Expression, calendar: Calendar, engine: str) -> _RowTime:
    from ibis.expr import datatypes as types

    value = column(table, calendar.time)
    if not (dialect(engine).reads_text and value.type().is_string()):
        return _RowTime(value, calendar, engine, in_utc=dialect(engine).unmarked_is_utc)
    read = try_else_null(total_cast(value, types.Timestamp(scale=_MICROSECONDS), engine), engine)
    return _RowTime(read, calendar, engine, in_utc=True)
