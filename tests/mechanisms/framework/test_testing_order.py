"""From selections to the orders that are tested."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

import pytest
from scipy.stats import chisquare

from crestline.errors import MechanismError
from crestline.mechanisms.framework.testing_order import chosen_slots, order_law, orders_to_test
from crestline.mechanisms.selection import Selection
from crestline.mechanisms.slot_checks import NO_SLOT
from crestline.randomness.entropy import replay

SLOTS = {"x": 0, "y": 1, "z": 2}


def test_a_tuple_keeps_its_order_and_short_rows_are_filled() -> None:
    drawn = [Selection(("z", "x"), False), Selection(("y",), True), Selection((), True)]
    orders, wanted = orders_to_test(drawn, [SLOTS] * 3, replay(0))
    assert orders.tolist() == [[2, 0], [1, NO_SLOT], [NO_SLOT, NO_SLOT]]
    assert wanted.tolist() == [2, 2, 1]


def test_no_selections_are_an_empty_table() -> None:
    orders, wanted = orders_to_test([], [], replay(0))
    assert (orders.shape, wanted.shape) == ((0, 0), (0,))


@pytest.mark.statistics
def test_a_set_gets_every_order_alike() -> None:
    """Significance 1e-9; one order preferred by 10% is rejected."""
    drawn = [Selection(frozenset("xyz"), False)] * 40_000
    orders, _ = orders_to_test(drawn, [SLOTS] * 40_000, replay("sets"))
    seen = Counter(map(tuple, orders.tolist()))
    counts = [seen[order] for order in permutations(range(3))]
    assert chisquare(counts).pvalue > 1e-9
    assert chisquare(counts, [40_000 * share / 6.1 for share in (1.1, 1, 1, 1, 1, 1)]).pvalue < 1e-9


def test_sets_beside_tuples_leave_the_tuples_alone() -> None:
    drawn = [Selection(frozenset("xy"), False), Selection(("z", "y", "x"), False)] * 20
    orders, _ = orders_to_test(drawn, [SLOTS] * 40, replay("mixed"))
    assert orders[1::2].tolist() == [[2, 1, 0]] * 20
    assert {tuple(row) for row in orders[::2].tolist()} == {(0, 1, NO_SLOT), (1, 0, NO_SLOT)}


def test_the_law_shares_a_set_among_its_orders() -> None:
    law = {Selection(frozenset("xy"), False): 0.5, Selection(("z",), True): 0.3, Selection(frozenset(), True): 0.2}
    given = order_law(law, SLOTS)
    found = dict(zip(map(tuple, given.orders.tolist()), given.chances.tolist(), strict=True))
    assert found == {(0, 1): 0.25, (1, 0): 0.25, (2, NO_SLOT): 0.3, (NO_SLOT, NO_SLOT): 0.2}
    assert given.wanted.tolist() == [2, 2, 2, 1]


def test_what_is_chosen_must_be_slots() -> None:
    assert chosen_slots(Selection(("y", "x"), False), SLOTS) == [1, 0]
    assert chosen_slots(Selection(frozenset("yx"), False), SLOTS) == [0, 1]
    for items in (("q",), ("x", "x")):
        with pytest.raises(MechanismError, match="each at most once"):
            chosen_slots(Selection(items, False), SLOTS)
    with pytest.raises(MechanismError, match="must return a Selection"):
        chosen_slots(("x",), SLOTS)  # type: ignore[arg-type] # what a third party may get wrong
