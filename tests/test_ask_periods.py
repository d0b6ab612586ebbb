"""Questions about periods from end to end: what is read, what is charged, what is promised, what is refused."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import crestline as cl
from crestline.errors import BudgetExhausted, BudgetMismatch, MechanismError, QuestionError
from crestline.ledger.ledger import Ledger
from crestline.ledger.periods import promise_per_person

pytestmark = pytest.mark.long

NOW = datetime(2026, 11, 18, tzinfo=UTC)
MONTHLY = cl.Budget(epsilon=4, delta="1e-6", per="month", time="day")
START = date(2026, 8, 1)
ROWS = [
    {"user": user, "item": "old" if shift < 31 else "new" if shift < 61 else "newest", "price": 3,
     "day": START + timedelta(days=shift)}
    for user in range(600) for shift in (user % 30, 31 + user % 30, 61 + user % 31)
]  # fmt: skip
TABLE = pa.table({name: [row[name] for row in ROWS] for name in ROWS[0]})


def ledger(budget: cl.Budget = MONTHLY) -> Ledger:
    return Ledger.in_memory(budget, user="user", clock=lambda: NOW)


@pytest.mark.parametrize(
    ("said", "items"),
    [({"period": "2026-08"}, {"old"}), ({"last": 1}, {"newest"}), ({"since": "2026-09"}, {"new", "newest"}),
     ({"since": "2026-08", "until": "2026-09"}, {"old", "new"})],
)  # fmt: skip
@pytest.mark.parametrize("mechanism", ["auto", "Observed"])
def test_only_the_rows_of_the_periods_are_read(said: dict[str, str], items: set[str], mechanism: str) -> None:
    paying = ledger()
    answer = cl.top_k(TABLE, k=3, ledger=paying, mechanism=mechanism, contribution=2, **said)  # type: ignore[arg-type]
    assert set(answer.items) == items
    charged = {account.period for account in paying.periods() if account.balance.total_charged.loss}
    assert len(charged) == len(items)
    assert paying.verify().findings == ()


def test_an_answer_states_both_promises() -> None:
    paying = ledger()
    answer = cl.top_k(TABLE, k=2, ledger=paying, since="2026-08")
    year, opened = promise_per_person(MONTHLY, 12), promise_per_person(MONTHLY, 3)
    (note,) = answer.notes
    assert f"{MONTHLY.guarantee()} for one user's rows of one month" in note
    assert f"{year} for a person who is in any 12 months" in note
    assert f"{opened} for a person who is in all 3 months that were asked about so far" in note
    assert "unless a sum over several months is asked for" in note
    assert "from August 2026 to October 2026" in answer.explain().replace("\n  ", " ")
    assert answer.guarantee.adjacency.value == "add or remove one user's rows of one period"
    assert cl.Answer.from_dict(answer.to_dict()) == replace(answer, number=None)  # of one ledger, so not of its values


def test_a_sum_over_several_periods_says_what_is_left_for_a_person() -> None:
    paying = ledger()
    one = cl.top_k(TABLE, k=1, ledger=paying, score="sum(price)", clip=5, last=1)
    several = cl.top_k(TABLE, k=1, ledger=paying, score="sum(price)", clip=5, last=2)
    assert (len(one.notes), len(several.notes)) == (1, 2)
    assert "nothing is promised to a person who is in 12 months" in several.notes[1]


def test_the_sieve_reads_several_periods_with_weights_for_each() -> None:
    paying = ledger(cl.Budget(4, "1e-6", per="month", time="day", cap=cl.Window(12, epsilon=6, delta="1e-5")))
    one = cl.top_k(TABLE, k=3, ledger=paying, last=1)
    several = cl.top_k(TABLE, k=3, ledger=paying, last=3)
    assert [answer.mechanism.name for answer in (one, several)] == ["Sieve", "Sieve"]
    assert "several" not in one.mechanism.parameters
    assert several.mechanism.parameters["several"] == "True"
    assert set(several.items) == {"old", "new", "newest"}
    assert paying.history()[-2].content["periods"]["person"] == "each"  # a cap over all three pays three times
    grouped = cl.top_k(TABLE, k=3, ledger=paying, last=3, by="month(day)", mechanism="Sieve", groups_per_user=2)
    assert {label: part.items for label, part in grouped.groups.items()} == {8: ("old",), 9: ("new",), 10: ("newest",)}
    assert {"several", "groups"} <= grouped.mechanism.parameters.keys()
    own: Any = cl.mechanisms.Sieve(3, 1, "1e-9", several=True)  # it looks at pairs
    assert cl.top_k(TABLE, k=3, ledger=paying, last=2, mechanism=own).items
    assert paying.verify().findings == ()


def test_stored_answers_are_those_of_the_same_periods() -> None:
    paying = ledger()
    first = cl.top_k(TABLE, k=1, ledger=paying, last=2, version="v")
    again = cl.top_k(TABLE, k=1, ledger=paying, since="2026-09", until="2026-10", version="v")
    other = cl.top_k(TABLE, k=1, ledger=paying, last=1, version="v")
    assert (first.stored, again.stored, other.stored) == (False, True, False)


@pytest.mark.long
def test_a_period_that_is_spent_stays_spent_and_the_next_is_fresh() -> None:
    paying = ledger()

    def ask_often() -> None:
        for number in range(20):
            cl.top_k(TABLE, k=1, ledger=paying, period="2026-09", where=f"price > -{number + 1}")

    with pytest.raises(BudgetExhausted, match="in 2026-09"):
        ask_often()
    assert cl.top_k(TABLE, k=1, ledger=paying, period="2026-10").items == ("newest",)
    with pytest.raises(BudgetExhausted):
        cl.top_k(TABLE, k=1, ledger=paying, last=2)


@pytest.mark.parametrize(
    ("asked", "error", "why"),
    [
        ({}, QuestionError, "name periods with period="),
        ({"period": "2026-11"}, QuestionError, "has not ended"),
        ({"last": 2, "mechanism": "Routed", "epsilon": 1}, MechanismError, "pairs of one period only"),
        ({"last": 2, "mechanism": cl.mechanisms.Sieve(1, 1, "1e-9")}, MechanismError, "pairs of one period only"),
        ({"last": 1, "user": "item"}, BudgetMismatch, "users of column 'user'"),
    ],
)
def test_what_is_refused_costs_nothing(asked: dict[str, str], error: type[Exception], why: str) -> None:
    paying = ledger()
    with pytest.raises(error, match=why):
        cl.top_k(TABLE, k=1, ledger=paying, **asked)  # type: ignore[arg-type] # on purpose
    assert paying.periods() == []


def test_the_sieve_reads_one_period() -> None:
    assert set(cl.top_k(TABLE, k=1, ledger=ledger(), last=1, mechanism="Sieve").items) <= {"newest"}


def test_without_a_budget_by_period_there_are_no_periods() -> None:
    with pytest.raises(QuestionError, match="need a budget by period"):
        cl.top_k(TABLE, k=1, epsilon=1, delta="1e-6", last=1)
    with pytest.raises(QuestionError, match="need a budget by period"):
        cl.top_k(TABLE, k=1, ledger=ledger(cl.Budget(1, "1e-6")), last=1)


def test_an_open_period_is_read_if_the_asker_says_so() -> None:
    paying = ledger()
    assert cl.top_k(TABLE, k=1, ledger=paying, period="2026-11", open=True).stopped
    assert [account.period for account in paying.periods()] == ["2026-11"]


def test_rows_without_a_time_are_left_out_whatever_the_file(tmp_path: Path) -> None:
    frame = TABLE.to_pandas()
    frame.loc[frame["item"] == "newest", "day"] = None
    frame.to_csv(tmp_path / "rows.csv", index=False)
    frame.to_json(tmp_path / "rows.jsonl", orient="records", lines=True, date_format="iso")
    frame.assign(day=pd.to_datetime(frame["day"]).dt.tz_localize("UTC")).to_parquet(tmp_path / "rows.parquet")
    for name in ("rows.csv", "rows.parquet", "rows.jsonl"):
        answer = cl.top_k(str(tmp_path / name), k=3, ledger=ledger(), since="2026-08", contribution=3)
        assert set(answer.items) == {"old", "new"}, name


def test_a_price_has_a_line_for_each_period_and_the_tightest_window() -> None:
    capped = cl.Budget(epsilon=4, delta="1e-6", per="month", time="day", cap=cl.Window(3, epsilon=5, delta="1e-6"))
    data = cl.connect(TABLE).dataset("rows", user="user", budget=capped)
    price = data.price(k=2, since="2026-08", until="2026-09", contribution=2)
    assert [charge.account for charge in price.listed_charges[:2]] == [
        "the data set in 2026-08",
        "the data set in 2026-09",
    ]
    assert price.listed_charges[2].account == "the data set in the 3 periods from 2026-07"
    assert (
        price.listed_charges[2].most.loss == 2 * price.listed_charges[0].most.loss
    )  # a bound for each period: paid for each
    assert len(price.charges) == 2 + 4
    answer = data.top(k=2, since="2026-08", until="2026-09", contribution=2)
    assert answer.bill is not None
    assert answer.bill.reserved == str(price.most)
