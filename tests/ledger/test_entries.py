from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crestline.errors import ParameterError
from crestline.ledger.amount import Amount
from crestline.ledger.entries import (
    GENESIS,
    Draft,
    Entry,
    answer_key,
    canonical_json,
    chain_entry,
    entry_hash,
    utc_text,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@pytest.mark.long
@settings(max_examples=30)
@given(st.dictionaries(st.text(), JSON))
def test_a_value_has_one_spelling_whatever_the_order_of_its_keys(value: dict[str, Any]) -> None:
    backwards = dict(reversed(value.items()))
    assert canonical_json(value) == canonical_json(backwards)
    assert canonical_json(value).isascii()


def test_exact_numbers_are_text_and_other_things_are_refused() -> None:
    assert canonical_json({"epsilon": Fraction(1, 3)}) == '{"epsilon":"1/3"}'
    for wrong in ({1, 2}, float("nan"), {"a": b"x"}, {("a",): 1}):
        with pytest.raises(ParameterError, match="JSON"):
            canonical_json(wrong)


def test_an_entry_is_bound_to_the_one_before_it() -> None:
    time = datetime(2026, 1, 1, tzinfo=UTC)
    draft = Draft("refused", "sales", details={"question": {"k": 1}, "previous": "forged", "sequence": 99})
    first = chain_entry(draft, sequence=1, previous=GENESIS, time=time)
    assert first.content["previous"] == GENESIS  # details cannot overwrite what makes the chain
    assert first.content["sequence"] == 1
    assert first.hash == entry_hash(first.body)
    assert chain_entry(draft, sequence=1, previous=first.hash, time=time).hash != first.hash


def test_a_charge_is_found_by_who_pays_it() -> None:
    data_set, own = {"rho": "1/4", "delta": "0/1"}, {"epsilon": "1/2", "delta": "1/8"}  # budgets of two kinds
    time = datetime(2026, 1, 1, tzinfo=UTC)

    def charged(analyst: str | None, *charges: dict[str, str]) -> Entry:
        draft = Draft("reserved", "sales", analyst, details={"charge": list(charges)})
        return chain_entry(draft, sequence=1, previous=GENESIS, time=time)

    both = charged("ann", data_set, own)
    assert both.charge_of(None) == Amount(("rho", "delta"), Fraction(1, 4), Fraction(0))
    assert both.charge_of("ann") == Amount(("epsilon", "delta"), Fraction(1, 2), Fraction(1, 8))
    assert charged(None, data_set).charge_of(None) == both.charge_of(None)
    assert charged("ann", data_set).charge_of("ann") == both.charge_of(None)  # no budgets for analysts are kept
    with pytest.raises(AssertionError, match="other analysts"):
        both.charge_of("bob")


def test_times_are_kept_in_utc() -> None:
    east = timezone(timedelta(hours=5))
    assert utc_text(datetime(2026, 1, 1, 5, tzinfo=east)) == "2026-01-01T00:00:00+00:00"


def test_what_makes_two_questions_the_same() -> None:
    key = answer_key("sales", {"k": 1, "item": ["a"]}, "v1", None)
    assert key == answer_key("sales", {"item": ["a"], "k": 1}, "v1", None)
    others = [
        answer_key("visits", {"k": 1, "item": ["a"]}, "v1", None),
        answer_key("sales", {"k": 2, "item": ["a"]}, "v1", None),
        answer_key("sales", {"k": 1, "item": ["a"]}, "v2", None),
        answer_key("sales", {"k": 1, "item": ["a"]}, "v1", "ann"),
    ]
    assert key not in others
    assert len(set(others)) == 4
    assert answer_key("sales", {"k": 1}, None, None) is None
