"""Periods by the calendar and the clock: labels, edges, and what a question's words mean."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crestline.errors import ParameterError, QuestionError
from crestline.periods.calendar import KINDS, Calendar, Periods, first_day, label_days, period_index, period_label
from crestline.periods.requested import RequestedPeriods

DAYS = st.dates(date(1000, 1, 4), date(9998, 12, 20))
NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)  # a Wednesday
MONTHS = Calendar("month", "day")


@given(DAYS, st.sampled_from(KINDS))
def test_every_day_lies_in_one_period_whose_label_names_it(day: date, kind: str) -> None:
    index = period_index(kind, day)
    first, after = first_day(kind, index), first_day(kind, index + 1)
    assert first <= day < after
    assert period_index(kind, after) == index + 1
    assert label_days(period_label(kind, index)) == (first, after)


@pytest.mark.parametrize(
    ("kind", "label"),
    [("day", "2026-11-18"), ("week", "2026-W47"), ("month", "2026-11"), ("quarter", "2026-Q4"), ("year", "2026")],
)
def test_labels_are_those_that_people_write(kind: str, label: str) -> None:
    assert period_label(kind, period_index(kind, date(2026, 11, 18))) == label


def test_a_week_belongs_to_the_year_of_its_thursday() -> None:
    assert period_label("week", period_index("week", date(2027, 1, 1))) == "2026-W53"
    assert label_days("2026-W53") == (date(2026, 12, 28), date(2027, 1, 4))


@pytest.mark.parametrize(
    "label", ["", "2026-13", "2026-W54", "2025-W53", "2026-Q5", "26", "2026-2", "2026-02-30", "9999", "0999", "oct"]
)
def test_what_is_no_period_is_refused(label: str) -> None:
    with pytest.raises(QuestionError, match="is no period"):
        label_days(label)


def resolved(calendar: Calendar = MONTHS, now: datetime = NOW, **said: Any) -> str:
    span = RequestedPeriods.from_fields(said)
    assert span is not None
    return str(span.resolve(calendar, now))


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ({"period": "2026-10"}, "2026-10"),
        ({"period": "2026-Q3"}, "2026-07 to 2026-09"),
        ({"since": "2026-08"}, "2026-08 to 2026-10"),
        ({"since": "2026-08", "open": True}, "2026-08 to 2026-11"),
        ({"since": "2025", "until": "2026-01"}, "2025-01 to 2026-01"),
        ({"last": 3}, "2026-08 to 2026-10"),
        ({"last": 2, "open": True}, "2026-10 to 2026-11"),
        ({"period": "2026-11", "open": True}, "2026-11"),
    ],
)
def test_what_a_question_says_about_time(said: dict[str, Any], read: str) -> None:
    assert resolved(**said) == read


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"period": "2026-11"}, "has not ended"),
        ({"period": "2026"}, "has not begun"),
        ({"period": "2026-12", "open": True}, "has not begun"),
        ({"since": "2026-10", "until": "2026-08"}, "begins after"),
        ({"since": "2026-11"}, "begins after"),
        ({"period": "2026-10-05"}, r"no whole number of months.*'2026-10'"),
        ({"period": "2026-W40"}, "no whole number of months"),
        ({"period": "2026-10", "last": 3}, "in one way"),
        ({"period": "2026-10", "until": "2026-10"}, "until goes with since"),
        ({"until": "2026-10"}, "in one way"),
        ({"open": True}, "open goes with"),
        ({"since": "1500"}, "from 1 to 1000 periods"),
        ({"last": 1001}, "last must be at most"),
        ({"last": "3"}, "last must be a whole number"),
        ({"period": 2026}, "is no period"),
    ],
)
def test_what_cannot_be_asked(said: dict[str, Any], why: str) -> None:
    with pytest.raises((QuestionError, ParameterError), match=why):
        resolved(**said)


def test_nothing_said_is_nothing() -> None:
    assert RequestedPeriods.from_fields({"k": 3, "open": False}) is None


def test_a_day_begins_at_midnight_in_the_zone() -> None:
    """At 23:30 UTC on 31 October it is November in Berlin, and the first hour of November has begun there."""
    berlin = Calendar("month", "day", "Europe/Berlin")
    late = datetime(2026, 10, 31, 23, 30, tzinfo=UTC)
    assert resolved(berlin, late, last=1) == "2026-10"
    assert resolved(MONTHS, late, last=1) == "2026-09"
    assert berlin.start_of_day(date(2026, 11, 1)) == datetime(2026, 10, 31, 23, tzinfo=UTC)
    assert resolved(MONTHS, late.astimezone(timezone(timedelta(hours=9))), last=1) == "2026-09"


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("hour", "day"), "per must be one of day, week"),
        (("day", ""), "time must name"),
        (("day", "d", "Mars/Base"), "time zone"),
        (("day", "d", ""), "time zone"),
    ],
)
def test_a_calendar_is_checked(options: tuple[str, ...], why: str) -> None:
    with pytest.raises(ParameterError, match=why):
        Calendar(*options)


@given(st.sampled_from(KINDS), DAYS, st.integers(1, 40))
def test_periods_survive_the_way_to_json_and_back(kind: str, day: date, size: int) -> None:
    if day.year < 9000:
        periods = Periods(Calendar(kind, "day", "Europe/Berlin"), period_index(kind, day), size)
        assert Periods.from_json(periods.to_json()) == periods
        assert len(periods.edges) == len(periods.labels) + 1 == size + 1
