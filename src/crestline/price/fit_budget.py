"""Largest ε per item with which a whole batch of questions fits a budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from crestline.errors import BudgetExhausted, BudgetMismatch, ParameterError
from crestline.guarantees.accountants import Basic, ZeroConcentrated
from crestline.guarantees.cost import repeat_step
from crestline.guarantees.guarantee import BoundedRange
from crestline.guarantees.root_finding import largest_fitting, largest_within
from crestline.guarantees.rounding import round_down
from crestline.ledger.balance_rules import Balance
from crestline.ledger.budget_rules import PerItemRule
from crestline.price.batch import Batch, BatchQuestion, PayersOf, prepare_question, price_batch
from crestline.price.price import Charge, account_charges, sum_charges

_DIGITS = 4  # digits of an ε that people will type
_FINE = 9  # digits while searching, so that rounding does not mislead the search
_COARSEST = Fraction(1, 1024)  # part of the fair share below which no answer is useful
_NEVER = Fraction(10**9)


def fit_batch(questions: Sequence[BatchQuestion], payers_of: PayersOf) -> Batch:
    """The batch with the largest ε per item, the same for all, with which every question can be paid for.

    A question of k items gets the total that k items of this ε add up to, in place of the epsilon it gave. A δ that was
    not given is an equal share of the remaining δ.

    Raises:
        ParameterError: There is no question.
        BudgetExhausted: The questions do not fit at any useful epsilon, or no δ remains.
    """
    if not questions:
        raise ParameterError("there is no question to fit: give at least one")
    shared = [_add_delta(posed, len(questions), payers_of) for posed in questions]

    def load(item_epsilon: Fraction) -> Fraction:
        """Largest load of an account at this ε per item."""
        return _largest_load(_questions_at(shared, item_epsilon, _FINE), payers_of)

    fair = _fair_share(shared, payers_of)
    if load(fair * _COARSEST) > 1:
        raise BudgetExhausted(
            "these questions cannot be paid for together at any epsilon worth asking with: ask fewer, ask for fewer "
            "items, or give smaller deltas",
            remaining=payers_of(shared[0])[0].balance.remaining,
        )
    cap = _fixed_item_epsilon(shared, payers_of)
    if cap is None:
        found = largest_within(load, Fraction(1), start=fair, digits=_DIGITS - 1)
    else:
        found = largest_fitting(lambda size: load(size) <= 1, start=cap * Fraction(9, 10), high=cap, digits=_DIGITS - 1)
    found = round_down(found, _DIGITS)
    return replace(price_batch(_questions_at(shared, found, _DIGITS), payers_of), item_epsilon=found)


def epsilon_of_answer(k: int, item_epsilon: Fraction, delta: Fraction, digits: int = _DIGITS) -> Fraction:
    """Total that k items of this ε add up to, by basic composition or by zCDP, whichever is smaller (B1, B4)."""
    cost = repeat_step(BoundedRange(item_epsilon), k)
    bounds = [accountant.epsilon(cost, delta / 2) for accountant in (Basic(), ZeroConcentrated())]
    return round_down(
        min(bound for bound in bounds if bound), digits
    )  # zCDP gives none without δ, and zero for a large one


def _questions_at(questions: Sequence[BatchQuestion], item_epsilon: Fraction, digits: int) -> list[BatchQuestion]:
    """The questions, each with the total for this ε per item."""

    def total(posed: BatchQuestion) -> Fraction:
        drawn = (
            posed.question.k * posed.question.groups_per_user
        )  # items that one user affects, in all their groups (P15.1)
        return epsilon_of_answer(drawn, item_epsilon, posed.question.delta or Fraction(0), digits)

    return [_with_total(posed, epsilon=total(posed)) for posed in questions]


def _largest_load(questions: Sequence[BatchQuestion], payers_of: PayersOf) -> Fraction:
    """Largest part of an account's remaining budget that the questions take together; above 1 they do not fit."""
    charges: list[Charge] = []
    for posed in questions:
        payers = payers_of(posed)
        try:
            charges += account_charges(prepare_question(posed, payers), payers)
        except BudgetMismatch:  # a homogeneous budget pays for its own ε per item and no larger one
            return _NEVER
    return max(_share(charge) for charge in sum_charges(charges))


def _share(charge: Charge) -> Fraction:
    """Part of an account's remaining budget that a charge takes; `_NEVER` where it cannot be paid."""
    if charge.most.failure > charge.remaining.failure or charge.remaining.loss <= 0:
        return _NEVER
    return charge.most.loss / charge.remaining.loss


def _fixed_item_epsilon(questions: Sequence[BatchQuestion], payers_of: PayersOf) -> Fraction | None:
    """ε per item that a homogeneous budget fixed when it was opened; None without such a budget."""
    terms = [balance.budget.terms for posed in questions for _, balance, *_ in payers_of(posed)]
    return min((term.item_epsilon for term in terms if isinstance(term, PerItemRule)), default=None)


def _add_delta(posed: BatchQuestion, number: int, payers_of: PayersOf) -> BatchQuestion:
    """The question with a δ: its own, or the smallest share of its payers."""
    if posed.question.delta is not None:
        return posed
    shares = [_delta_share(balance, number) for _, balance, *_ in payers_of(posed)]
    return _with_total(posed, delta=round_down(min(shares), _DIGITS))


def _delta_share(balance: Balance, number: int) -> Fraction:
    """Equal share of the remaining δ of an account; raises BudgetExhausted where none remains."""
    terms = balance.budget.terms
    share = terms.question_delta if isinstance(terms, PerItemRule) else balance.remaining.failure / number
    if share <= 0:
        raise BudgetExhausted(
            "no delta is left for these questions: open a budget with a larger delta", remaining=balance.remaining
        )
    return share


def _fair_share(questions: Sequence[BatchQuestion], payers_of: PayersOf) -> Fraction:
    """First guess of the ε per item: the ε of the smallest budget, divided by all items."""
    items = sum(posed.question.k for posed in questions)
    return min(balance.budget.epsilon for posed in questions for _, balance, *_ in payers_of(posed)) / items


def _with_total(posed: BatchQuestion, **total: Fraction) -> BatchQuestion:
    """The question with another total."""
    return replace(posed, question=replace(posed.question, **total))  # type: ignore[arg-type] # ε or δ
