"""The usual share of a budget: a tenth of what it is counted in, and a δ that does not run out first."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

import crestline as cl
from crestline.errors import ParameterError
from crestline.ledger.amount import Amount
from crestline.ledger.budget import Budget
from crestline.ledger.budget_fractions import epsilon_worth, how_often_fits, usual_delta, usual_share
from crestline.prepare import prepare
from crestline.question import Limits, Question, QuestionFields

BUDGET = Budget(epsilon=2, delta="1e-7")


@pytest.mark.parametrize(
    "fields",
    [
        {"k": 10},
        {"k": 1},
        {"k": 10, "contribution": 5, "counts": True},
        {"k": 10, "mechanism": "CanonicalBottom"},
        {"k": 10, "delta": "1e-12"},
    ],
)
def test_a_question_takes_a_tenth_of_rho(fields: QuestionFields) -> None:
    cost = prepare(Question.from_fields(fields), budget=BUDGET).cost
    assert Fraction("0.095") * BUDGET.limit.loss < cost.rho <= BUDGET.limit.loss / 10
    assert cost.delta <= BUDGET.delta / 500


def test_delta_lasts_longer_than_rho() -> None:
    made = prepare(Question(k=10), budget=BUDGET)
    assert BUDGET.limit.failure / made.cost.delta >= 10 * BUDGET.limit.loss / made.cost.rho


def test_a_pure_budget_gives_a_tenth_of_its_epsilon() -> None:
    budget = Budget(epsilon=2, delta="1e-7", kind="pure")
    epsilon = prepare(Question(k=10), budget=budget).cost.epsilon
    assert epsilon is not None
    assert Fraction("0.19") < epsilon <= Fraction("0.2")


@pytest.mark.long
def test_a_homogeneous_budget_gives_what_it_fixed() -> None:
    budget = Budget(epsilon=2, delta="1e-6", kind="homogeneous", items=50, questions=10)
    made = prepare(Question(k=5), budget=budget)
    step = made.cost.steps[0].step.epsilon
    fixed = budget.to_json()["terms"]["item_epsilon"]
    assert step is not None
    assert Fraction("0.98") * Fraction(fixed) < step <= Fraction(fixed)
    assert budget.measure(made.cost).loss == 5


@pytest.mark.long
def test_what_is_given_stays() -> None:
    given = prepare(Question(k=3, epsilon=Fraction(1, 3)), budget=BUDGET)
    assert given.promise.epsilon is not None
    assert Fraction("0.333") < given.promise.epsilon <= Fraction(1, 3)
    slotted = prepare(Question(k=3, passes=1), budget=BUDGET, limits=Limits(slots=7))
    assert slotted.question.k_bar == 7
    assert slotted.cost.rho <= BUDGET.limit.loss / 10


@pytest.mark.parametrize("kind", ["zcdp", "pure"])
def test_the_usual_share_is_a_tenth_and_a_five_hundredth(kind: str) -> None:
    budget = Budget(epsilon=2, delta="1e-7", kind=kind)
    share = usual_share(budget)
    assert (share.loss, share.failure) == (budget.limit.loss / 10, budget.delta / 500)
    assert usual_delta(budget) == budget.delta / 500


def test_the_usual_share_of_counted_questions_is_a_tenth_of_the_items_and_one_question() -> None:
    counted = Budget(epsilon=2, delta="1e-6", kind="homogeneous", items=50, questions=10)
    share = usual_share(counted)
    assert (share.loss, share.failure) == (5, 1)
    assert how_often_fits(share, counted.limit) == 10


def test_without_delta_there_is_no_share() -> None:
    with pytest.raises(ParameterError, match="no delta"):
        usual_delta(Budget(epsilon=1, kind="pure"))


@pytest.fixture
def loans(tmp_path: Path) -> Path:
    path = tmp_path / "loans.csv"
    path.write_text("user,item\n" + "".join(f"u{user},Rivers\n" for user in range(500)))
    return path


@pytest.mark.long
def test_top_k_and_data_sets_have_the_same_defaults(loans: Path) -> None:
    whole, own = cl.Budget(epsilon=2, delta="1e-7"), cl.Budget(epsilon=1, delta="1e-8")
    with cl.Ledger.create(loans.with_name("ledger.db"), whole, analysts={"ann": own}) as ledger:
        ours = cl.top_k(loans, k=1, ledger=ledger)
        hers = cl.top_k(loans, k=1, ledger=ledger, analyst="ann")
        paid = ledger.spent("ann")
    sales = cl.connect(str(loans)).dataset("loans", user="user", budget=whole)
    assert ours.guarantee == sales.top(k=1, item="item").guarantee
    assert hers.guarantee != ours.guarantee
    assert paid.loss <= own.limit.loss / 10  # of the analyst's own budget, not of the data set's


def test_what_is_left_is_an_amount_that_people_can_read(loans: Path) -> None:
    data = cl.connect(str(loans)).dataset("loans", user="user", budget=cl.Budget(epsilon=2, delta="1e-7"))
    assert str(data.remaining) == "100.0% left, worth epsilon 2"
    assert data.remaining == data.ledger.budget.limit
    answer = data.top(k=1, item="item")
    assert answer.bill is not None
    assert str(data.remaining).endswith(f"; about {answer.bill.more} more like the last one")
    assert data.remaining == data.ledger.remaining()
    assert hash(data.remaining) == hash(data.remaining)
    assert (data.ledger.budget.limit - data.remaining).loss > 0
    assert data.remaining != 3


@pytest.mark.parametrize("budget", [BUDGET, Budget(epsilon=2, delta="1e-7", kind="pure")], ids=["zcdp", "pure"])
def test_what_is_overdrawn_is_worth_nothing_and_pays_for_nothing(budget: Budget) -> None:
    limit = budget.limit
    overdrawn = limit - limit - limit
    assert epsilon_worth(budget, overdrawn) == epsilon_worth(budget, limit - limit)
    assert how_often_fits(usual_share(budget), overdrawn) == 0


def test_what_an_amount_is_worth() -> None:
    whole = BUDGET.limit
    assert epsilon_worth(BUDGET, whole) == pytest.approx(2, abs=1e-6)
    assert (
        epsilon_worth(BUDGET, Amount(whole.units, whole.loss / 10, whole.failure)) > 0.2
    )  # ρ grows like the square of ε
    pure = Budget(epsilon=2, kind="pure")
    assert epsilon_worth(pure, pure.limit) == 2
    counted = Budget(epsilon=2, delta="1e-6", kind="homogeneous", items=50, questions=10)
    assert 1.9 < epsilon_worth(counted, counted.limit) <= 2.0001
    assert how_often_fits(Amount(whole.units, Fraction(0), Fraction(0)), whole) is None
