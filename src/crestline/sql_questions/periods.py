"""Conditions on the time column of a budget by period: they name whole periods, which pay."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta

from crestline.periods.calendar import Calendar
from crestline.sources.expression.where import Between, Compare, Condition, columns, parse_filter
from crestline.sql_questions.refusals import NOT_SUPPORTED, SqlError


def split_periods(conditions: Sequence[str], calendar: Calendar | None) -> tuple[list[str], dict[str, str]]:
    """The conditions on other columns, and the periods that those on the time column cover.

    Raises:
        SqlError: A condition is no filter, or one on the time column is no bound by a date.
        QuestionError: The bounds are not whole periods.
    """
    others, first, after = list[str](), list[date](), list[date]()
    for text in conditions:
        try:
            tree = parse_filter(text)
        except ValueError as failure:
            raise SqlError(NOT_SUPPORTED, str(failure)) from None
        if calendar is None or calendar.time not in columns(tree):
            others.append(text)
        else:
            low, high = _bounds(tree, calendar)
            first += [] if low is None else [low]
            after += [] if high is None else [high]
    if calendar is None or not (first or after):
        return others, {}
    if not first:
        raise SqlError(NOT_SUPPORTED, f"name the first {calendar.per}, too: {calendar.time} >= '2026-01-01'")
    if not after:
        label = calendar.covering_periods(max(first), _day_after_period(calendar, max(first))).labels[0]
        return others, {"since": label}
    periods = calendar.covering_periods(max(first), min(after))
    return others, {"since": periods.labels[0], "until": periods.labels[-1]}


def _day_after_period(calendar: Calendar, day: date) -> date:
    from crestline.periods.calendar import first_day, period_index

    return first_day(calendar.per, period_index(calendar.per, day) + 1)


def _bounds(tree: Condition, calendar: Calendar) -> tuple[date | None, date | None]:
    """The first day that a condition on the time column leaves, and the first day after the last."""
    one_day = timedelta(days=1)
    match tree:
        case Compare(calendar.time, ">=", value):
            return _day(value, calendar), None
        case Compare(calendar.time, "<", value):
            return None, _day(value, calendar)
        case Compare(calendar.time, "<=", value):
            return None, _day(value, calendar) + one_day
        case Between(calendar.time, low, high):
            return _day(low, calendar), _day(high, calendar) + one_day
    raise SqlError(
        NOT_SUPPORTED,
        f"the budget is by the {calendar.per} of {calendar.time!r}: conditions on it name whole {calendar.per}s, as in "
        f"{calendar.time} >= '2026-10-01' AND {calendar.time} < '2026-11-01', joined to others by AND",
    )


def _day(value: object, calendar: Calendar) -> date:
    try:
        return date.fromisoformat(str(value).removesuffix("T00:00:00").removesuffix(" 00:00:00"))
    except ValueError:
        raise SqlError(NOT_SUPPORTED, f"write days of {calendar.time!r} as '2026-10-01', not {value!r}") from None
