"""A total: what `for_budget` was given, exact, and how it is divided."""

from __future__ import annotations

import inspect
from fractions import Fraction

import pytest

import crestline as cl
from crestline.errors import CrestlineError, MechanismError, ParameterError
from crestline.mechanisms.catalogue import CATALOGUE
from crestline.mechanisms.coverage.coverage import Coverage
from crestline.mechanisms.mechanism import BuiltIn
from crestline.mechanisms.privacy_total import PrivacyTotal


def test_it_is_exact() -> None:
    total = PrivacyTotal(3, 0.1, "1e-6", k_bar=5, contribution=2)
    assert (total.k, total.epsilon, total.delta) == (3, Fraction(1, 10), Fraction(1, 10**6))
    assert (total.k_bar, total.contribution) == (5, 2)
    assert (PrivacyTotal(3, 1, 0).k_bar, PrivacyTotal(3, 1, 0).contribution) == (None, None)
    for wrong in ({"k": 0}, {"epsilon": 0}, {"delta": 2}, {"k_bar": 0}, {"contribution": 0}):
        name = next(iter(wrong))
        with pytest.raises(ParameterError, match=f"^{name} must"):
            PrivacyTotal(**{"k": 1, "epsilon": 1, "delta": 0, **wrong})


def test_what_may_be_left_out_is_said_by_name() -> None:
    """A fourth number could be either, so nobody may write one."""
    for kind, first in ((PrivacyTotal, 3), (Coverage, 2)):
        given = inspect.signature(kind).parameters.values()
        assert [one.kind is one.POSITIONAL_OR_KEYWORD for one in given] == [
            place < first for place in range(len(given))
        ], kind


def test_slots_are_k_bar_or_a_multiple_of_k() -> None:
    assert PrivacyTotal(3, 1, 0).slots(5) == 15
    assert PrivacyTotal(3, 1, 0, k_bar=4).slots(5) == 4
    with pytest.raises(ParameterError, match="k is 3, k_bar is 2"):
        PrivacyTotal(3, 1, 0, k_bar=2).slots(5)


def test_delta_is_divided_without_a_rest() -> None:
    failure, slack = PrivacyTotal(1, 1, "1e-6").split_delta(Fraction(2, 5))
    assert (failure, slack) == (Fraction(4, 10**7), Fraction(6, 10**7))
    assert PrivacyTotal(1, 1, "1e-6").split_delta() == (Fraction(1, 10**6), 0)
    for delta in (0, 1):
        with pytest.raises(ParameterError, match=r"delta must be (larger than zero|smaller than one), not [01]$"):
            PrivacyTotal(1, 1, delta).split_delta()


@pytest.mark.parametrize("line", [line for line in CATALOGUE if line.selects_items], ids=lambda line: line.name)
def test_for_budget_is_fit_as_people_spell_it(line: cl.mechanisms.catalogue.CatalogueEntry) -> None:
    kind: type[BuiltIn] = line.load()
    bound = 2 if line.contribution == "bounded" else None
    if kind.needs_a_part:
        with pytest.raises(MechanismError, match="of your own"):
            kind.for_budget(k=1, epsilon=1, delta="1e-6")
        return
    made = kind.for_budget(k=1, epsilon=1, delta="1e-6", contribution=bound)
    assert made == kind.fit(PrivacyTotal(1, "1", 1e-6, contribution=bound))
    with pytest.raises(TypeError, match=r"for_budget\(\) got an unexpected keyword argument 'nonsense'"):
        kind.for_budget(k=1, epsilon=1, delta="1e-6", nonsense=3)  # type: ignore[call-arg] # that is the test


def test_a_mechanism_that_cannot_be_made_from_a_total_says_so() -> None:
    with pytest.raises(CrestlineError, match="BuiltIn cannot be made from a total"):
        BuiltIn.fit(PrivacyTotal(1, 1, 0))


def test_a_misspelt_option_is_reported_by_the_name_that_was_called() -> None:
    with pytest.raises(TypeError, match=r"Canonical\.for_budget\(\) got an unexpected keyword argument 'gama'"):
        cl.mechanisms.Canonical.for_budget(k=1, epsilon=1, delta=0, gama=1)  # type: ignore[call-arg] # the test
    with pytest.raises(TypeError, match=r"Canonical\.for_budget\(\) missing 1 required positional argument: 'delta'"):
        cl.mechanisms.Canonical.for_budget(k=1, epsilon=1)  # type: ignore[call-arg] # that is the test
