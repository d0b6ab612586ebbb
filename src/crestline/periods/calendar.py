"""Periods of time, their labels, and the calendar that assigns moments to them (P16.1).

    day       2026-10-05
    week      2026-W41, from Monday to Sunday (ISO 8601)
    month     2026-10
    quarter   2026-Q4
    year      2026

A period begins at midnight in the calendar's time zone. Midnights are computed here, so engines only compare moments.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo

from crestline.errors import ParameterError, QuestionError

KINDS = ("day", "week", "month", "quarter", "year")
MOST_PERIODS = 1000  # periods that one question may read: nearly three years of days

_LABEL = re.compile(r"(?P<year>[1-9]\d{3})(-(W(?P<week>\d\d)|Q(?P<quarter>[1-4])|(?P<month>\d\d)(-(?P<day>\d\d))?))?")
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_LAST_YEAR = 9998  # the first day after it is still a `date`


def period_index(kind: str, day: date) -> int:
    """Number of the period that contains a day; consecutive periods have consecutive numbers."""
    if kind == "day":
        return day.toordinal()
    if kind == "week":
        return (day.toordinal() - 1) // 7  # ordinal 1 is a Monday
    if kind == "year":
        return day.year
    months = day.year * 12 + day.month - 1
    return months if kind == "month" else months // 3


def first_day(kind: str, index: int) -> date:
    """First day of a period."""
    if kind == "day":
        return date.fromordinal(index)
    if kind == "week":
        return date.fromordinal(index * 7 + 1)
    if kind == "year":
        return date(index, 1, 1)
    months = index if kind == "month" else index * 3
    return date(months // 12, months % 12 + 1, 1)


def period_label(kind: str, index: int) -> str:
    """Label of a period.

    >>> period_label("quarter", period_index("quarter", date(2026, 11, 18)))
    '2026-Q4'
    """
    day = first_day(kind, index)
    if kind == "week":
        year, week, _ = day.isocalendar()
        return f"{year:04d}-W{week:02d}"
    quarter = f"{day.year:04d}-Q{(day.month + 2) // 3}"
    return {"day": day.isoformat(), "month": day.isoformat()[:7], "quarter": quarter, "year": f"{day.year:04d}"}[kind]


def label_days(label: str) -> tuple[date, date]:
    """First day of the period with a label, and the first day after it; raises QuestionError for other text."""
    match = _LABEL.fullmatch(label) if isinstance(label, str) else None
    try:
        if match is None or int(match["year"]) > _LAST_YEAR:
            raise ValueError
        kind = next((kind for kind in ("day", "week", "quarter", "month") if match[kind]), "year")
        index = period_index(kind, _first_day_of_match(match))
    except ValueError:
        raise QuestionError(
            f"{label!r} is no period: write a day as 2026-10-05, a week as 2026-W41, a month as 2026-10, a quarter as "
            "2026-Q4, a year as 2026"
        ) from None
    return first_day(kind, index), first_day(kind, index + 1)


def period_in_words(label: str) -> str:
    """The period with a label, as people say it.

    >>> period_in_words("2026-10"), period_in_words("2026-W41"), period_in_words("2026-10-05")
    ('October 2026', 'week 41 of 2026', '5 October 2026')
    """
    match = _LABEL.fullmatch(label)
    assert match is not None, "a period has a label"
    if match["week"]:
        return f"week {int(match['week'])} of {match['year']}"
    if match["quarter"]:
        return f"Q{match['quarter']} {match['year']}"
    month = f"{_MONTHS[int(match['month']) - 1]} " if match["month"] else ""
    return f"{int(match['day'])} {month}{match['year']}" if match["day"] else f"{month}{match['year']}"


def _first_day_of_match(match: re.Match[str]) -> date:
    """First day of a parsed label; raises ValueError for a day that does not exist."""
    year = int(match["year"])
    if match["week"]:
        return date.fromisocalendar(year, int(match["week"]), 1)
    if match["quarter"]:
        return date(year, int(match["quarter"]) * 3 - 2, 1)
    return date(year, int(match["month"] or 1), int(match["day"] or 1))


@dataclass(frozen=True)
class Calendar:
    """Assigns rows to periods; fixed when a ledger is created.

    Attributes:
        per: day, week, month, quarter or year.
        time: Column with the time of a row; rows without one are left out.
        zone: Time zone in which a day begins.
    """

    per: str
    time: str
    zone: str = "UTC"

    def __post_init__(self) -> None:
        if self.per not in KINDS:
            raise ParameterError(f"per must be one of {', '.join(KINDS)}, not {self.per!r}")
        if not isinstance(self.time, str) or not self.time:
            raise ParameterError("time must name the column with the time of a row: time='day'")
        _time_zone(self.zone)

    def start_of_day(self, day: date) -> datetime:
        """The moment at which a day begins, in UTC."""
        return datetime(day.year, day.month, day.day, tzinfo=_time_zone(self.zone)).astimezone(UTC)

    def running_period(self, now: datetime) -> int:
        """Number of the period that has begun and not ended."""
        return period_index(self.per, now.astimezone(_time_zone(self.zone)).date())

    def covering_periods(self, first: date, after: date) -> Periods:
        """Periods from the day `first` to the day before `after`; raises QuestionError if they are not whole."""
        start, end = period_index(self.per, first), period_index(self.per, after - timedelta(days=1))
        if first_day(self.per, start) != first or first_day(self.per, end + 1) != after:
            raise QuestionError(
                f"from {first} to {after - timedelta(days=1)} is no whole number of {self.per}s, and this budget is by "
                f"the {self.per}: name {self.per}s, such as {period_label(self.per, start)!r}"
            )
        return Periods(self, start, end - start + 1)

    def to_json(self) -> dict[str, str]:
        """The calendar as JSON values."""
        return {"per": self.per, "time": self.time, "zone": self.zone}

    def __str__(self) -> str:
        return f"each {self.per} of {self.time!r}" + ("" if self.zone == "UTC" else f" in {self.zone}")


@dataclass(frozen=True)
class Periods:
    """Consecutive periods of one calendar, which a question reads and whose accounts pay.

    Attributes:
        calendar: Calendar of the budget.
        first: Number of the first period.
        size: Number of periods, at most 1000.
    """

    calendar: Calendar
    first: int
    size: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.size <= MOST_PERIODS:
            raise QuestionError(f"a question reads from 1 to {MOST_PERIODS} periods: name fewer of them")

    @property
    def indices(self) -> range:
        """Numbers of the periods."""
        return range(self.first, self.first + self.size)

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels of the periods."""
        return tuple(period_label(self.calendar.per, index) for index in self.indices)

    @property
    def edges(self) -> tuple[date, ...]:
        """First day of each period, and the first day after the last."""
        return tuple(first_day(self.calendar.per, index) for index in (*self.indices, self.first + self.size))

    @classmethod
    def from_labels(cls, calendar: Calendar, first: str, last: str) -> Periods:
        """Periods from one label to another, both included; a label may be that of a longer period than the calendar's.

        Raises QuestionError if they do not begin and end with whole periods, or end before they begin.
        """
        start, end = label_days(first)[0], label_days(last)[1]
        if start >= end:
            raise QuestionError(f"{first!r} begins after {last!r} has ended")
        return calendar.covering_periods(start, end)

    @classmethod
    def from_json(cls, value: Mapping[str, str]) -> Periods:
        """Periods from the result of `to_json`."""
        calendar = Calendar(value["per"], value["time"], value["zone"])
        return cls.from_labels(calendar, value["first"], value["last"])

    def to_json(self) -> dict[str, str]:
        """The periods as JSON values."""
        labels = self.labels
        return {**self.calendar.to_json(), "first": labels[0], "last": labels[-1]}

    def to_fields(self) -> dict[str, object]:
        """The fields of a question that name these periods."""
        labels = self.labels
        return {"period": labels[0]} if self.size == 1 else {"since": labels[0], "until": labels[-1]}

    def in_words(self) -> str:
        """The periods as a clause: "in October 2026", "from May 2026 to October 2026"."""
        first, last = self.labels[0], self.labels[-1]
        if self.size > 1:
            return f"from {period_in_words(first)} to {period_in_words(last)}"
        return f"{'on' if self.calendar.per == 'day' else 'in'} {period_in_words(first)}"

    def __str__(self) -> str:
        labels = self.labels
        return labels[0] if self.size == 1 else f"{labels[0]} to {labels[-1]}"


def _time_zone(name: str) -> tzinfo:
    """Time zone of this name; raises ParameterError for an unknown one. UTC needs no time zone database."""
    from zoneinfo import ZoneInfo

    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError, TypeError):
        raise ParameterError(f"zone must be the name of a time zone, such as Europe/Berlin, not {name!r}") from None
