"""Coverage from end to end: what is released, what it costs, where it is refused, and what every face says of it."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import pandas as pd
import pytest
from typer.testing import CliRunner

import crestline as cl
from crestline.answer.promise_text import promise_in_formulas, promise_in_words
from crestline.cli.main import app
from crestline.errors import MechanismError, QuestionError
from crestline.ledger.ledger import Ledger
from crestline.prepare import prepare
from crestline.question import Question, QuestionFields
from crestline.session import Dataset
from crestline.sources import open_source

pytestmark = pytest.mark.long

# 600 of 1,000 users have "a" or "b", 300 of them both; everybody has an item of their own.
SALES = pd.DataFrame(
    [
        (user, item)
        for user in range(1000)
        for item in (f"own {user}", *("a" * (user < 450)), *("b" * (150 <= user < 600)))
    ],
    columns=["user", "item"],
)


def covered(table: pd.DataFrame = SALES, **more: Any) -> cl.Answer:
    asked: dict[str, Any] = {"k": 2, "epsilon": 8, "delta": "1e-8", "coverage": True, **more}
    return cl.top_k(table, **asked)


def near(answer: cl.Answer, users: int, everybody: int = 1000) -> bool:
    """Within what is not exceeded in one of 10^7 cases."""
    assert answer.coverage is not None
    far = answer.coverage.spread * 6
    return abs(answer.coverage.users - users) < far and abs(answer.coverage.all_users - everybody) < 2 * far


@pytest.mark.parametrize(
    "more",
    [{}, {"counts": True, "mechanism": "RestrictedGumbel"}, {"ordered": False, "passes": 1}, {"mechanism": "Sieve"},
     {"contribution": 1}, {"contribution": 2, "counts": True}, {"domain": ["a", "b", "c"]}],
    ids=str,
)  # fmt: skip
def test_the_users_of_the_named_items_are_counted_once(more: dict[str, Any]) -> None:
    answer = covered(**more)
    assert set(answer.items) == {"a", "b"}
    assert near(answer, 600)  # not 900, which is how many pairs there are
    assert answer.guarantee.epsilon is not None
    assert Fraction(79, 10) < answer.guarantee.epsilon <= 8
    assert answer.question.coverage
    assert cl.Answer.from_dict(answer.to_dict()) == answer


def test_with_a_filter_only_its_users_count() -> None:
    answer = covered(where="user < 300", k=1)
    assert list(answer) == ["a"]
    assert near(answer, 300, 300)


def test_where_nothing_is_named_noise_is_released_all_the_same() -> None:
    few = SALES[SALES.user < 40]
    answers = [covered(few, epsilon="0.01") for _ in range(3)]
    assert [len(answer) for answer in answers] == [0, 0, 0]
    assert len({(answer.coverage.users, answer.coverage.all_users) for answer in answers if answer.coverage}) == 3
    assert "have any of no items" in answers[0].explain()


@pytest.mark.parametrize("kind", ["zcdp", "pure"])
def test_a_ledger_is_charged_for_it_and_serves_it_again(kind: str) -> None:
    paying = Ledger.in_memory(cl.Budget(epsilon=20, delta="1e-6", kind=kind), user="user")
    plain: dict[str, Any] = {"k": 2, "epsilon": 4, "delta": "1e-8", "mechanism": "RestrictedGumbel"}
    first = cl.top_k(SALES, ledger=paying, version="v", coverage=True, **plain)
    entry = paying.history()[-1]
    prepared = prepare(Question.from_fields(cast(QuestionFields, {**plain, "coverage": True})), budget=paying.budget)
    assert prepared.coverage is not None
    assert paying.spent().loss == paying.budget.measure(prepared.cost).loss  # nothing of the coverage is given back
    assert prepared.cost.steps[-1:] == prepared.coverage.cost().steps
    again = cl.top_k(SALES, ledger=paying, version="v", coverage=True, **plain)
    assert again.stored
    assert again.coverage == first.coverage
    assert entry.kind == "settled"
    without = cl.top_k(SALES, ledger=paying, version="v", **plain)
    assert not without.stored
    assert without.coverage is None


def test_the_usual_share_of_a_budget_includes_it() -> None:
    data = dataset()
    costs = [data.price(k=2, item="item", coverage=coverage) for coverage in (False, True)]
    tenth = data.ledger.budget.limit.loss / 10
    assert all(cost.most.loss == pytest.approx(float(tenth), rel=0.01) for cost in costs)
    assert [cost.coverage_spread is None for cost in costs] == [True, False]
    assert "coverage: ±" in str(costs[1])
    answer = data.top(k=2, item="item", coverage=True)
    assert answer.coverage is not None
    assert answer.coverage.spread == costs[1].coverage_spread
    assert answer.bill is not None
    assert answer.bill.share == pytest.approx(0.1, rel=0.01)


def dataset() -> Dataset:
    return cl.connect(SALES).dataset("sales", user="user", budget=cl.Budget(epsilon=8, delta="1e-6"))


@pytest.mark.parametrize(
    ("said", "users", "scale"), [({"period": "2026-09"}, 100, 1), ({"since": "2026-08", "until": "2026-09"}, 300, 2)]
)
def test_over_several_periods_both_numbers_may_move(said: dict[str, str], users: int, scale: int) -> None:
    rows = [(user, "a", date(2026, 8, 5)) for user in range(250)]
    rows += [(user, "a", date(2026, 9, 5)) for user in range(200, 300)]
    table = pd.DataFrame(rows, columns=["user", "item", "day"])
    paying = Ledger.in_memory(
        cl.Budget(epsilon=60, delta="1e-6", per="month", time="day"), clock=lambda: datetime(2026, 11, 1, tzinfo=UTC)
    )
    answer = covered(table, k=1, ledger=paying, mechanism="RestrictedGumbel", **said)
    one = covered().coverage
    assert near(answer, users, users)
    assert answer.coverage is not None
    assert one is not None
    assert answer.coverage.spread == pytest.approx(scale * one.spread)


@pytest.mark.parametrize(
    ("asked", "error", "message"),
    [({"by": "country"}, QuestionError, "coverage is for one list of items"),
     ({"mechanism": cl.mechanisms.LimitedDomain(2, 4, 1, "1e-6")}, MechanismError, "a mechanism of your own"),
     ({"coverage": "yes"}, cl.errors.ParameterError, "coverage must be true or false")],
)  # fmt: skip
def test_what_cannot_be_covered_is_refused(asked: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        covered(**asked)


def test_a_ready_histogram_does_not_know_its_users() -> None:
    histogram = cl.Histogram.from_counts({"a": 450}, 20)
    with pytest.raises(QuestionError, match="does not know who has what"):
        open_source(histogram).check(Question(k=1, k_bar=5, coverage=True))


def test_the_explanation_the_table_and_the_review_say_so() -> None:
    answer = covered()
    assert answer.coverage is not None
    assert answer.coverage.share is not None
    said = " ".join(answer.explain().split())
    assert f"Coverage: {answer.coverage.share:.1%} (±" in said
    assert f"of {answer.coverage.all_users:,} users have at least one of these 2 items" in said
    assert answer.to_pandas().attrs["coverage"]["users"] == answer.coverage.users
    assert any("how many users have one of them" in line for line in promise_in_words(answer))
    assert any("Laplace noise, rounded" in line for line in promise_in_formulas(answer))


def test_the_command_line_prints_it(tmp_path: Path) -> None:
    file = tmp_path / "sales.parquet"
    SALES.to_parquet(file)
    command = ["top", str(file), "--user", "user", "--item", "item", "-k", "2", "--epsilon", "8", "--delta", "1e-8"]
    found = json.loads(CliRunner().invoke(app, [*command, "--coverage", "--format", "json"]).stdout)
    assert abs(found["coverage"]["users"] - 600) < 6 * found["coverage"]["spread"]
    assert found["coverage"]["share"] == pytest.approx(0.6, abs=0.1)
    printed = CliRunner().invoke(app, [*command, "--coverage", "--format", "csv"])
    assert "of users have one of them" in printed.stderr
    assert "of users have" not in printed.stdout
    priced = [
        "price",
        "-k",
        "2",
        "--epsilon",
        "1",
        "--delta",
        "1e-8",
        "--budget-epsilon",
        "4",
        "--budget-delta",
        "1e-6",
    ]
    lines = json.loads(CliRunner().invoke(app, [*priced, "--coverage", "--format", "json"]).stdout)["questions"]
    assert lines[0]["coverage_spread"] == pytest.approx(10 * 2.9957, rel=1e-3)
