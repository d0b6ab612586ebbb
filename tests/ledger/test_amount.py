from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crestline.errors import ParameterError
from crestline.ledger import amount
from crestline.ledger.amount import Amount, check_length, fraction_text, round_up_if_too_long, zero_amount
from crestline.ledger.budget_rules import BudgetRule, PerItemRule, PureRule, ZcdpRule

UNITS = ("rho", "delta")
FRACTIONS = st.fractions(min_value=0, max_value=10)


@pytest.mark.long
@given(FRACTIONS, FRACTIONS)
def test_text_and_back_is_exact(loss: Fraction, failure: Fraction) -> None:
    amount = Amount(UNITS, loss, failure)
    assert Amount.from_json(amount.to_json(), UNITS) == amount


@pytest.mark.parametrize("kind", [ZcdpRule, PureRule, PerItemRule])
def test_an_amount_of_an_entry_names_its_units(kind: type[BudgetRule]) -> None:
    amount = Amount(kind.units, Fraction(1, 3), Fraction(1, 7))
    assert Amount.from_entry(amount.to_json()) == amount


def test_a_part_that_is_too_large_does_not_fit() -> None:
    room = Amount(UNITS, Fraction(1), Fraction(1, 2))
    assert room.fits_in(room)
    assert not Amount(UNITS, Fraction(2), Fraction(0)).fits_in(room)
    assert not Amount(UNITS, Fraction(0), Fraction(1)).fits_in(room)


def test_amounts_of_two_kinds_do_not_mix() -> None:
    with pytest.raises(AssertionError):
        zero_amount(UNITS) + zero_amount(("epsilon", "delta"))


def test_every_number_has_one_spelling() -> None:
    assert fraction_text(Fraction(4, 2)) == "2/1"


def test_numbers_with_absurdly_many_digits_are_refused() -> None:
    with pytest.raises(ParameterError, match="digits"):
        check_length(Amount(UNITS, Fraction(1, 3**400), Fraction(0)))
    with pytest.raises(ParameterError, match="digits"):
        check_length(Amount(UNITS, Fraction(0), Fraction(2**600)))


def test_ever_new_denominators_do_not_make_the_ledger_grow_without_end() -> None:
    total = exact = zero_amount(UNITS)
    for denominator in range(10**9 + 1, 10**9 + 2000, 2):
        charge = Amount(UNITS, Fraction(1, denominator), Fraction(0))
        total = total + round_up_if_too_long(charge, total)
        exact = exact + charge
    assert len(fraction_text(total.loss)) < 3000
    assert 0 <= total.loss - exact.loss < Fraction(1, 10**70)  # rounded up, and by nothing that matters
    with pytest.raises(ValueError, match="digits"):  # Python itself refuses to write the exact sum down
        fraction_text(exact.loss)


def test_an_ordinary_sum_is_exact() -> None:
    third = Amount(UNITS, Fraction(1, 3), Fraction(1, 7))
    total = zero_amount(UNITS)
    for _ in range(3):
        total = total + round_up_if_too_long(third, total)
    assert total.loss == 1


def test_text_for_people_survives_tiny_remains() -> None:
    assert str(Amount(UNITS, Fraction(1, 2**3000), Fraction(0))) == "rho under 1e-300, delta 0"


def test_only_less_than_nothing_is_negative() -> None:
    half = Fraction(1, 2)
    for loss, failure in ((0, 0), (half, half), (0, half), (half, 0)):
        assert not Amount(UNITS, Fraction(loss), Fraction(failure)).is_negative
    for loss, failure in ((-half, 0), (0, -half), (-half, 1), (1, -half), (-half, -half)):
        assert Amount(UNITS, Fraction(loss), Fraction(failure)).is_negative


def test_sums_and_differences_are_of_both_parts() -> None:
    first, second = Amount(UNITS, Fraction(5), Fraction(1, 2)), Amount(UNITS, Fraction(2), Fraction(1, 3))
    assert first + second == Amount(UNITS, Fraction(7), Fraction(5, 6))
    assert first - second == Amount(UNITS, Fraction(3), Fraction(1, 6))
    assert zero_amount(UNITS) + first == first


def test_what_is_said_of_tiny_remains_is_true() -> None:
    for tiny in (Fraction(1, 2 * 10**300), Fraction(1, 10**301), Fraction(-1, 10**400)):
        assert str(Amount(UNITS, tiny, tiny)) == "rho under 1e-300, delta under 1e-300"
    for visible in (Fraction(1, 10**300), Fraction(-1, 10**300), Fraction(1, 10**299), Fraction(1, 3)):
        assert "under" not in str(Amount(UNITS, visible, Fraction(0)))


def test_the_longest_number_is_charged_and_the_next_is_not() -> None:
    for part in (Fraction(1, 2 ** (amount._LONGEST - 1)), Fraction(2 ** (amount._LONGEST - 1))):
        assert check_length(Amount(UNITS, part, part)) == Amount(UNITS, part, part)
        longer = part / 2 if part < 1 else part * 2
        for loss, failure in ((longer, part), (part, longer)):
            with pytest.raises(ParameterError, match="digits"):
                check_length(Amount(UNITS, loss, failure))


def test_a_sum_is_exact_as_long_as_it_can_be_written_down() -> None:
    exact = Amount(UNITS, Fraction(1, 2 ** (amount._LARGEST_SUM - 1)), Fraction(0))
    assert round_up_if_too_long(exact, zero_amount(UNITS)) == exact
    longer = Amount(UNITS, exact.loss / 2, Fraction(0))
    assert round_up_if_too_long(longer, zero_amount(UNITS)).loss == Fraction(1, amount._GRID)  # rounded up to the grid
    assert round_up_if_too_long(longer, exact).failure == 0
