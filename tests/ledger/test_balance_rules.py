from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crestline.errors import BudgetError, BudgetExhausted
from crestline.guarantees.cost import Cost, repeat_step
from crestline.guarantees.guarantee import BoundedRange
from crestline.ledger import amount as amounts
from crestline.ledger import balance_rules
from crestline.ledger.balance_rules import Balance
from crestline.ledger.budget import Budget

DELTA = Fraction(1, 10**9)
EPSILON = Fraction(1, 10)


def drawn(times: int, delta: Fraction = DELTA) -> Cost:
    return repeat_step(BoundedRange(EPSILON), times, delta=delta)


def but(left: str) -> Cost:
    """All of an ε of 1 but this."""
    return repeat_step(BoundedRange(1 - Fraction(left)), delta=DELTA)


def balance(epsilon: str = "1") -> Balance:
    return Balance.open_account(Budget(epsilon, 10 * DELTA, "pure"))


@given(st.integers(1, 10), st.data())
def test_steps_that_were_not_drawn_come_back_exactly(k: int, data: st.DataObject) -> None:
    paid_for = data.draw(st.integers(1, k))
    held, reserved = balance_rules.reserve(balance(), drawn(k))
    assert held.remaining.loss == 1 - k * EPSILON
    after, paid = balance_rules.settle(held, reserved, drawn(paid_for))
    assert paid.loss == paid_for * EPSILON
    assert after.remaining.loss - held.remaining.loss == (k - paid_for) * EPSILON
    assert after.held.loss == 0


def test_the_probability_of_failure_is_never_given_back() -> None:
    held, reserved = balance_rules.reserve(balance(), drawn(5))
    after, paid = balance_rules.settle(held, reserved, drawn(1, delta=Fraction(0)))
    assert paid.failure == DELTA == after.total_charged.failure


def test_a_refusal_says_what_was_asked_and_what_is_left() -> None:
    held, _ = balance_rules.reserve(balance(), drawn(9))
    with pytest.raises(BudgetExhausted) as refused:
        balance_rules.reserve(held, drawn(2))
    assert refused.value.requested.loss == Fraction(2, 10)
    assert refused.value.remaining.loss == Fraction(1, 10)
    assert balance_rules.cost_fits(held, drawn(1))
    assert not balance_rules.cost_fits(held, drawn(2))


def test_either_unit_alone_can_be_exhausted() -> None:
    with pytest.raises(BudgetExhausted):
        balance_rules.reserve(balance(), drawn(1, delta=11 * DELTA))


@pytest.mark.parametrize(
    ("spent", "cost", "said"),
    [
        (drawn(9), drawn(2), "asks for epsilon 0.2, and epsilon 0.1 of 1 is left; ask with a smaller epsilon"),
        (drawn(1), drawn(1, delta=10 * DELTA), "ask with a smaller delta"),
        (drawn(9), drawn(2, delta=10 * DELTA), "ask with a smaller epsilon and with a smaller delta"),
        (drawn(10), drawn(1), "epsilon 0 of 1 is left, too little for any question"),
        (but("0.001"), drawn(1), "epsilon 0.001 of 1 is left; ask with a smaller epsilon"),
        (but("0.00099"), drawn(1), "epsilon 0.00099 of 1 is left, too little for any question"),
    ],
)
def test_a_refusal_names_the_unit_that_ran_out_and_what_helps(spent: Cost, cost: Cost, said: str) -> None:
    held, _ = balance_rules.reserve(balance(), spent)
    with pytest.raises(BudgetExhausted) as refused:
        balance_rules.reserve(held, cost)
    assert said in str(refused.value)


def test_a_refusal_of_counted_items_speaks_of_items_and_questions() -> None:
    budget = Budget(epsilon=1, delta="1e-6", kind="homogeneous", items=5, questions=2)
    one = repeat_step(BoundedRange(Fraction(1, 100)), 4)
    held, _ = balance_rules.reserve(balance_rules.Balance.open_account(budget), one)
    with pytest.raises(BudgetExhausted, match=r"items 1 of 5 is left; ask for fewer items$"):
        balance_rules.reserve(held, one)
    held, _ = balance_rules.reserve(held, repeat_step(BoundedRange(Fraction(1, 100)), 1))
    with pytest.raises(BudgetExhausted, match="only answers that are stored"):
        balance_rules.reserve(held, repeat_step(BoundedRange(Fraction(1, 100)), 1))


def test_a_settlement_never_exceeds_its_reservation() -> None:
    held, reserved = balance_rules.reserve(balance(), drawn(3))
    with pytest.raises(BudgetError, match="stays charged"):
        balance_rules.settle(held, reserved, drawn(4))
    with pytest.raises(BudgetError, match="stays charged"):
        balance_rules.settle(held, reserved, drawn(3, delta=2 * DELTA))


def test_a_stop_is_charged_as_one_step() -> None:
    held, reserved = balance_rules.reserve(balance(), drawn(3))
    with pytest.raises(BudgetError, match="at least one step"):
        balance_rules.settle(held, reserved, Cost(delta=DELTA))
    after, _ = balance_rules.settle(held, reserved, drawn(1))
    assert after.total_charged.loss == EPSILON


@given(st.integers(1, 40), st.integers(0, 10), st.integers(0, 10))
def test_the_largest_k_fits_and_the_next_does_not(k: int, spent: int, spent_below: int) -> None:
    accounts = [balance(), balance()]
    for place, amount in enumerate((spent, spent_below)):
        accounts[place], _ = balance_rules.reserve(accounts[place], drawn(amount))
    size = balance_rules.largest_k(drawn, k, [(account, 1) for account in accounts])
    assert size == min(k, 10 - max(spent, spent_below))


def test_what_a_settlement_gives_back_does_not_make_its_sum_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    """1/127 can be written down beside nothing, and could not beside the 1/101 that was held for it."""
    monkeypatch.setattr(amounts, "_LARGEST_SUM", 8)
    held, reserved = balance_rules.reserve(balance(), repeat_step(BoundedRange(Fraction(1, 101)), 1))
    after, paid = balance_rules.settle(held, reserved, repeat_step(BoundedRange(Fraction(1, 127)), 1))
    assert paid.loss == after.total_charged.loss == Fraction(1, 127)


def test_rounded_charges_settle_within_their_reservation() -> None:
    account = Balance.open_account(Budget(1000, "1/2", "pure"))
    for denominator in range(10**9 + 1, 10**9 + 600, 2):
        step = BoundedRange(Fraction(1, denominator))
        account, reserved = balance_rules.reserve(account, repeat_step(step, 7))
        account, paid = balance_rules.settle(account, reserved, repeat_step(step, 3))
        assert paid.loss >= Fraction(3, denominator)
        assert paid.fits_in(reserved)
    assert account.held.loss == 0
    assert account.settled.loss.denominator.bit_length() < 5000
