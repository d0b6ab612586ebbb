"""Budgets by period: every account of a question pays or none does, windows are filters of their own (P16)."""

from __future__ import annotations

import json
import sqlite3
from fractions import Fraction
from pathlib import Path

import pytest
from tests.ledger.conftest import DELTA, EPSILON, MakeLedger, drawn

from crestline.errors import BudgetExhausted, BudgetMismatch, ParameterError
from crestline.guarantees.conversion import zcdp_epsilon
from crestline.ledger.budget import Budget, Window
from crestline.ledger.ledger import Ledger
from crestline.ledger.periods import (
    PeriodCharge,
    Person,
    account_shares,
    promise_per_person,
    promise_texts,
    promise_with_sums,
)
from crestline.periods.calendar import Calendar, Periods

CALENDAR = Calendar("month", "day")


def monthly(items: int = 10, cap: Window | None = None) -> Budget:
    """Room for so many drawn items in each month."""
    return Budget(items * EPSILON, 1000 * DELTA, "pure", per="month", time="day", cap=cap)


def months(first: str, last: str | None = None, person: Person = "each") -> PeriodCharge:
    return PeriodCharge(Periods.from_labels(CALENDAR, first, last or first), person)


def left(ledger: Ledger, *labels: str, analyst: str | None = None) -> list[Fraction]:
    return [ledger.remaining(analyst, period=label).loss / EPSILON for label in labels]


def test_each_period_has_an_account_of_its_own(make_ledger: MakeLedger) -> None:
    ledger = make_ledger(monthly())
    receipt = ledger.reserve(drawn(6), reach=months("2026-09", "2026-10"))
    assert left(ledger, "2026-08", "2026-09", "2026-10", "2026-11") == [10, 4, 4, 10]
    ledger.settle(receipt, drawn(2), answer=["a"])
    ledger.settle(ledger.reserve(drawn(5), reach=months("2026-10", "2026-12")), drawn(5))
    assert left(ledger, "2026-09", "2026-10", "2026-11", "2026-12") == [8, 3, 5, 5]
    assert [account.period for account in ledger.periods()] == ["2026-09", "2026-10", "2026-11", "2026-12"]
    assert ledger.verify().findings == ()


def test_all_accounts_are_charged_or_none(make_ledger: MakeLedger) -> None:
    ledger = make_ledger(monthly())
    ledger.reserve(drawn(8), reach=months("2026-10"))
    with pytest.raises(BudgetExhausted, match="data set 'default' in 2026-10 cannot pay"):
        ledger.reserve(drawn(3), reach=months("2026-08", "2026-11"))
    assert left(ledger, "2026-08", "2026-09", "2026-10", "2026-11") == [10, 10, 2, 10]
    assert [account.period for account in ledger.periods()] == ["2026-10"]
    assert ledger.verify().findings == ()


def test_the_largest_k_is_what_every_period_can_pay(make_ledger: MakeLedger) -> None:
    ledger = make_ledger(monthly())
    ledger.reserve(drawn(7), reach=months("2026-10"))
    assert ledger.reserve_largest(drawn, 9, reach=months("2026-09", "2026-10")).k == 3


def test_an_analyst_pays_in_the_same_periods(make_ledger: MakeLedger) -> None:
    ledger = make_ledger(monthly(), analysts={"ann": monthly(4)})
    receipt = ledger.reserve(drawn(3), reach=months("2026-09", "2026-10"), analyst="ann")
    with pytest.raises(BudgetExhausted, match="'ann' for data set 'default' in 2026-10"):
        ledger.reserve(drawn(2), reach=months("2026-10"), analyst="ann")
    ledger.settle(receipt, drawn(1))
    assert left(ledger, "2026-09", "2026-10") == [9, 9]
    assert left(ledger, "2026-09", "2026-10", analyst="ann") == [3, 3]
    assert ledger.verify().findings == ()
    with pytest.raises(BudgetMismatch, match="for each month of 'day': open the analyst's budget in the same way"):
        ledger.add_analyst("bob", Budget(1, "1e-7"))


def test_a_cap_is_a_filter_for_every_window(make_ledger: MakeLedger) -> None:
    """Ten items in each month, twelve in any three months together."""
    ledger = make_ledger(monthly(10, Window(3, 12 * EPSILON, 1000 * DELTA, kind="pure")))
    ledger.settle(ledger.reserve(drawn(8), reach=months("2026-08")), drawn(8))
    with pytest.raises(BudgetExhausted, match="the cap on the 3 periods from 2026-08"):
        ledger.reserve(drawn(5), reach=months("2026-10"))
    ledger.reserve(drawn(5), reach=months("2026-11"))
    ledger.settle(ledger.reserve(drawn(4), reach=months("2026-09")), drawn(1))
    ledger.reserve(drawn(3), reach=months("2026-09"))  # three of the four were given back, to the windows as well
    with pytest.raises(BudgetExhausted):
        ledger.reserve(drawn(1), reach=months("2026-10"))
    assert ledger.verify().findings == ()


@pytest.mark.parametrize(("person", "sure"), [("once", 12), ("each", 4)])
def test_a_window_pays_once_or_for_each_period(make_ledger: MakeLedger, person: Person, sure: int) -> None:
    ledger = make_ledger(monthly(20, Window(3, 12 * EPSILON, 1000 * DELTA, kind="pure")))
    assert ledger.reserve_largest(drawn, 20, reach=months("2026-08", "2026-10", person)).k == sure
    assert ledger.verify().findings == ()


def test_sums_over_several_periods_are_not_paid_from_a_cap(make_ledger: MakeLedger) -> None:
    ledger = make_ledger(monthly(10, Window(3, 12 * EPSILON, 1000 * DELTA, kind="pure")))
    ledger.reserve(drawn(1), reach=months("2026-10", person="sum"))
    with pytest.raises(BudgetMismatch, match=r"P16\.3"):
        ledger.reserve(drawn(1), reach=months("2026-09", "2026-10", "sum"))
    without = Ledger.in_memory(monthly())
    without.reserve(drawn(1), reach=months("2026-09", "2026-10", "sum"))


def test_a_window_meets_as_much_of_a_question_as_lies_in_it() -> None:
    budget = monthly(cap=Window(3, 1, DELTA, kind="pure"))
    found = [
        (share.period, share.times) for share in account_shares(budget, months("2026-09", "2026-11")) if share.span == 3
    ]
    assert found == [("2026-07", 1), ("2026-08", 2), ("2026-09", 3), ("2026-10", 2), ("2026-11", 1)]


def test_a_question_and_a_budget_must_agree_on_periods(make_ledger: MakeLedger) -> None:
    ledger = make_ledger(monthly())
    with pytest.raises(BudgetMismatch, match="for each month of 'day': name the periods"):
        ledger.reserve(drawn(1))
    other = PeriodCharge(Periods.from_labels(Calendar("month", "returned"), "2026-10", "2026-10"))
    with pytest.raises(BudgetMismatch, match="this is about each month of 'returned'"):
        ledger.reserve(drawn(1), reach=other)
    with pytest.raises(BudgetMismatch, match="say which period"):
        ledger.remaining()
    plain = Ledger.in_memory(Budget(1, kind="pure"))
    with pytest.raises(BudgetMismatch, match="is not by period"):
        plain.reserve(drawn(1), reach=months("2026-10"))
    with pytest.raises(BudgetMismatch, match="is not by period"):
        plain.remaining(period="2026-10")


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"time": "day"}, "time goes with per"),
        ({"zone": "UTC", "cap": Window(3, 1, kind="pure")}, "zone, cap goes with per"),
        ({"per": "month"}, "per needs time"),
        ({"per": "hour", "time": "day"}, "per must be one of"),
        (
            {"per": "month", "time": "day", "cap": Window(3, 1, kind="pure")},
            "kind 'pure' and the budget of kind 'zcdp'",
        ),
        ({"per": "month", "time": "day", "kind": "homogeneous", "items": 1, "questions": 1}, "'zcdp' or 'pure'"),
    ],
)
def test_budgets_that_cannot_be_opened(options: dict[str, object], why: str) -> None:
    with pytest.raises(ParameterError, match=why):
        Budget(1, "1e-7", **options)  # type: ignore[arg-type] # on purpose


def test_a_window_has_at_least_two_periods() -> None:
    with pytest.raises(ParameterError, match="at least 2"):
        Window(1, 1)
    with pytest.raises(ParameterError, match="like the budget"):
        Window(3, 1, "1e-6", kind="homogeneous")


def test_a_budget_by_period_is_opened_once_and_never_changed(tmp_path: Path) -> None:
    budget = monthly(cap=Window(3, 1, DELTA, kind="pure"))
    path = tmp_path / "ledger.db"
    Ledger.create(path, budget).close()
    Ledger.open_or_create(path, budget).close()
    for other in (monthly(), Budget(1, 1000 * DELTA, "pure")):
        with pytest.raises(BudgetMismatch, match="never changed"):
            Ledger.open_or_create(path, other)


def test_a_person_in_n_periods_is_promised_what_p16_says() -> None:
    budget = Budget(1, "1e-6", per="month", time="day")
    rho, delta, slack = (getattr(budget.terms, name) for name in ("rho", "delta", "slack"))
    one, year = promise_per_person(budget, 1), promise_per_person(budget, 12)
    assert one is not None
    assert year is not None
    assert (one.delta, year.delta) == (budget.delta, 12 * delta + slack)
    assert float(one.epsilon) == pytest.approx(1)
    assert year.epsilon == zcdp_epsilon(12 * rho, slack)
    assert 3 < year.epsilon < 5  # less than twelve times one month
    plain = promise_per_person(Budget("0.5", kind="pure", per="month", time="day"), 12)
    assert plain is not None
    assert (plain.epsilon, plain.delta) == (6, 0)
    assert promise_per_person(Budget(1, "0.2", "pure", per="year", time="day"), 5) is None


def test_within_a_window_the_cap_promises_too() -> None:
    budget = Budget(1, "1e-6", per="month", time="day", cap=Window(12, 2, "1e-6"))
    for periods, theorem in ((1, "P16.1"), (12, "P16.3"), (13, "P16.1")):
        promise = promise_per_person(budget, periods)
        assert promise is not None
        assert promise.theorem == theorem


def test_with_sums_over_several_periods_group_privacy_is_left() -> None:
    promise = promise_with_sums(Budget(1, "1e-9", per="month", time="day"), 3)
    assert promise is not None
    assert promise.epsilon == 3
    assert float(promise.delta) == pytest.approx(1e-9 * (20.0855369 - 1) / (2.7182818 - 1), rel=1e-6)
    assert promise_with_sums(Budget(1, "1e-9", per="month", time="day"), 40) is None


def test_promises_in_words_are_those_in_numbers() -> None:
    assert promise_texts(Budget(1, "1e-6"), 3) == ()
    plain = Budget("0.5", "1e-9", "pure", per="month", time="day")
    month, year, three = (str(promise_per_person(plain, many)) for many in (1, 12, 3))
    first, second = promise_texts(plain, 3)
    assert first.startswith(
        f"All answers together, at the budget: {plain.guarantee()} for one user's rows of one month"
    )
    assert first.split("; ")[1:] == [
        f"{year} for a person who is in any 12 months",
        f"{three} for a person who is in all 3 months that were asked about so far, unless a sum over several months "
        "is asked for (P16.1).",
    ]
    assert second == f"Where one is, only {promise_with_sums(plain, 12)} is promised to a person who is in 12 months."
    assert "asked about so far" in promise_texts(plain, 2)[0]
    for opened in (0, 1):  # one month is what the first promise is about
        assert "asked about so far" not in promise_texts(plain, opened)[0]
    assert month in first
    wide = Budget(1, "0.3", "pure", per="year", time="day")  # a δ that is nothing worth over twelve years
    assert "for a person" not in promise_texts(wide, 1)[0]
    assert promise_texts(wide, 1)[1].startswith("Where one is, nothing is promised")
    capped = Budget(1, "1e-6", per="month", time="day", cap=Window(12, 2, "1e-6"))
    (only,) = promise_texts(capped, 1)
    assert only.endswith(f"{promise_per_person(capped, 12)} for a person who is in any 12 months (P16.1, P16.3).")


def test_a_budget_says_its_periods_and_its_cap() -> None:
    amount = "epsilon 1, delta 1e-06 (zcdp)"
    assert str(Budget(1, "1e-6")) == amount
    by_month = Budget(1, "1e-6", per="month", time="day")
    assert str(by_month) == f"{amount} for {by_month.calendar}"
    capped = Budget(1, "1e-6", per="month", time="day", cap=Window(12, 2, "1e-6"))
    assert str(capped) == f"{by_month}, any 12 together epsilon 2, delta 1e-06"


def tampered(path: Path, statement: str, *values: str) -> list[str]:
    with sqlite3.connect(path) as raw:
        raw.execute(statement, values)
    raw.close()
    with Ledger.open(path) as ledger:
        return list(ledger.verify().findings)


@pytest.mark.parametrize(
    ("statement", "values"),
    [
        ("UPDATE crestline_periods SET settled = ? WHERE period = '2026-09'", (json.dumps({"epsilon": "0/1"}),)),
        ("UPDATE crestline_periods SET held = '{' WHERE period = '2026-09'", ()),
        ("DELETE FROM crestline_periods WHERE period = '2026-09'", ()),
        ("UPDATE crestline_periods SET period = '2026-07' WHERE period = '2026-09' AND span = 1", ()),
        ("UPDATE crestline_periods SET span = 7 WHERE span = 2", ()),
        ("INSERT INTO crestline_periods SELECT dataset, analyst, '2020-01', 1, settled, held FROM crestline_periods"
         " LIMIT 1", ()),
    ],
)  # fmt: skip
def test_an_edited_period_is_found(tmp_path: Path, statement: str, values: tuple[str, ...]) -> None:
    path = tmp_path / "ledger.db"
    with Ledger.create(path, monthly(cap=Window(2, 1, 1000 * DELTA, kind="pure"))) as ledger:
        ledger.settle(ledger.reserve(drawn(3), reach=months("2026-09", "2026-10")), drawn(2))
        assert ledger.verify().findings == ()
    assert any("in" in finding and "balance" in finding for finding in tampered(path, statement, *values))
