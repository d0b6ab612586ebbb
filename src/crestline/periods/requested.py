"""Requested periods, and their resolution by the clock, never by the rows (P16.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from crestline.errors import QuestionError
from crestline.exact_numbers import whole_number
from crestline.periods.calendar import (
    MOST_PERIODS,
    Calendar,
    Periods,
    label_days,
    period_in_words,
    period_label,
)


@dataclass(frozen=True)
class RequestedPeriods:
    """Periods as a question requests them: one, a range, or the last ones that have ended.

    Attributes:
        period: Label of the only period.
        since: Label of the first period.
        until: Label of the last period; without it, the last that has ended.
        last: Number of the last periods.
        open: Whether a period that has not ended is allowed, although its rows are not all there.
    """

    period: str | None = None
    since: str | None = None
    until: str | None = None
    last: int | None = None
    open: bool = False

    def __post_init__(self) -> None:
        if sum(part is not None for part in (self.period, self.since, self.last)) != 1:
            raise QuestionError("name the periods in one way: period='2026-10', or since= and until=, or last=3")
        if self.until is not None and self.since is None:
            raise QuestionError("until goes with since: since='2026-08', until='2026-10'")
        for label in (self.period, self.since, self.until):
            if label is not None:
                label_days(label)
        if self.last is not None:
            whole_number(self.last, "last", at_most=MOST_PERIODS)

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> RequestedPeriods | None:
        """Requested periods from the fields of a question; None where it has none of them.

        Raises QuestionError for fields that do not go together.
        """
        given = {name: fields.get(name) for name in ("period", "since", "until", "last")}
        if all(value is None for value in given.values()):
            if fields.get("open"):
                raise QuestionError("open goes with period, since or last: it allows a period that has not ended")
            return None
        return cls(**given, open=bool(fields.get("open")))

    def resolve(self, calendar: Calendar, now: datetime) -> Periods:
        """The periods, by the clock alone.

        Raises:
            QuestionError: A period has not begun, or has not ended and is not `open`; or they are not whole periods.
        """
        running = calendar.running_period(now)
        latest = running if self.open else running - 1
        if self.last is not None:
            return Periods(calendar, latest - self.last + 1, self.last)
        first = self.since or self.period or ""
        final = (
            period_label(calendar.per, latest) if self.since and self.until is None else self.until or self.period or ""
        )
        found = Periods.from_labels(calendar, first, final)
        final_label, final_index = found.labels[-1], found.indices[-1]
        if final_index > running:
            raise QuestionError(f"{final_label} has not begun: ask when it has ended")
        if final_index > latest:
            raise QuestionError(
                f"{final_label} has not ended, and its rows are not all there: ask when it has, or with open=True; "
                "what is asked of it stays charged to it"
            )
        return found

    def in_words(self) -> str:
        """The periods as a clause, before the clock resolves them: "in the last 3 periods", "from May 2026 on"."""
        if self.last is not None:
            return "in the last period" if self.last == 1 else f"in the last {self.last:,} periods"
        if self.since is not None:
            since = f"from {period_in_words(self.since)}"
            return f"{since} on" if self.until is None else f"{since} to {period_in_words(self.until)}"
        label = self.period or ""
        return f"{'on' if len(label) == len('2026-10-05') else 'in'} {period_in_words(label)}"

    def to_fields(self) -> dict[str, object]:
        """The fields of a question that request these periods."""
        fields: dict[str, object] = {"period": self.period, "since": self.since, "until": self.until, "last": self.last}
        return {name: value for name, value in fields.items() if value is not None} | (
            {"open": True} if self.open else {}
        )

    to_json = to_fields


def resolve_periods(
    requested: RequestedPeriods | Periods | None, calendar: Calendar | None, now: datetime | None
) -> Periods | None:
    """Periods that a question reads under a budget with this calendar; None for a budget that is not by period.

    Raises QuestionError if the question requests periods without such a budget, or none with it.
    """
    if calendar is None:
        if requested is not None:
            raise QuestionError(
                "period, since and last need a budget by period, such as Budget(epsilon=1, delta='1e-7', per='month', "
                "time='day'): without one, filter by time with where"
            )
        return None
    if requested is None:
        raise QuestionError(f"the budget is for {calendar}: name periods with period=, since= and until=, or last=")
    if isinstance(requested, Periods):
        return requested
    return requested.resolve(calendar, now or datetime.now(UTC))
