"""Answers as tables: every label arrives unharmed, and none of them can do harm."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date
from fractions import Fraction
from pathlib import Path

import pytest
from tests.answer.made import made

from crestline.answer.answer import Answer
from crestline.answer.tabular import columns
from crestline.guarantees.guarantee import ApproxDP


def test_an_ordered_answer_has_ranks() -> None:
    assert columns(made(("b", "a"))) == {"rank": [1, 2], "venue": ["b", "a"]}


def test_a_set_has_no_ranks_and_is_listed_in_byte_order() -> None:
    assert columns(made(frozenset({"b", "a"}))) == {"venue": ["a", "b"]}


def test_items_of_several_columns_are_taken_apart() -> None:
    answer = made((("tools", "acme"), ("toys", "bmce")), item=("category", "brand"), counts=["10.5", 7])
    assert columns(answer) == {
        "rank": [1, 2],
        "category": ["tools", "toys"],
        "brand": ["acme", "bmce"],
        "count": [10.5, 7.0],
    }


def test_an_item_column_keeps_its_name() -> None:
    assert list(columns(made(("x",), item=("rank",)))) == ["rank_", "rank"]
    assert list(columns(made(("x",), item=("count",), counts=[1]))) == ["rank", "count", "count_"]


def test_labels_that_do_not_match_the_columns_are_kept() -> None:
    assert columns(made(("whole",), item=("a", "b"))) == {"rank": [1], "a": ["whole"], "b": [None]}


def test_arrow_and_pandas_hold_what_the_answer_holds() -> None:
    answer = made((3, 1), counts=[20, 10])
    assert answer.to_arrow().to_pydict() == {"rank": [1, 2], "venue": [3, 1], "count": [20, 10]}
    assert str(answer.to_arrow().schema.field("count").type) == "int64"
    frame = answer.to_pandas()
    assert list(frame.columns) == ["rank", "venue", "count"]
    assert frame["venue"].tolist() == [3, 1]
    assert answer.to_polars().to_dict(as_series=False) == {"rank": [1, 2], "venue": [3, 1], "count": [20, 10]}


def test_a_count_that_noise_took_beyond_64_bits_is_kept() -> None:
    assert made(("a",), counts=[10**25]).to_arrow()["count"].to_pylist() == [1e25]


def test_items_can_be_iterated_over() -> None:
    assert list(made(("b", "a"))) == ["b", "a"]
    assert list(made(frozenset({"b", "a"}))) == ["a", "b"]


def test_json_has_whole_numbers_and_decimals_with_the_exact_fraction_beside_them(tmp_path: Path) -> None:
    promise = ApproxDP(Fraction(217411761445329, 250000000000000), Fraction(1, 10**8), theorem="P3.2")
    answer = replace(made(("a", "b"), counts=[20, "1/3"]), guarantee=promise)
    text = answer.to_json(tmp_path / "answer.json")
    assert (tmp_path / "answer.json").read_text() == text
    value = json.loads(text)
    assert value["counts"] == [20, "1/3"]
    assert value["guarantee"]["epsilon"] == 0.869647045781316
    assert value["guarantee"]["epsilon_exact"] == "217411761445329/250000000000000"
    assert value["guarantee"]["delta"] == 1e-8
    assert Answer.from_dict(value) == answer


def test_answers_of_the_first_format_are_read() -> None:
    value = made(("a",), counts=[3]).to_dict()
    value["counts"] = ["3"]
    value["guarantee"] = {name: text for name, text in value["guarantee"].items() if not name.endswith("_exact")}
    value["guarantee"] |= {"epsilon": "1", "delta": "1/100000000"}
    value["question"] = {name: text for name, text in value["question"].items() if not name.endswith("_exact")}
    assert Answer.from_dict(value) == made(("a",), counts=[3])


def test_an_empty_answer_has_the_same_types() -> None:
    schema = made((), counts=[]).to_arrow().schema
    assert [str(kind) for kind in schema.types] == ["int64", "null", "int64"]


@pytest.mark.parametrize("items", [(1, "1"), (2**70, 5), ({"a"}, "b")])
def test_labels_that_arrow_cannot_hold_together_become_text(items: tuple[object, ...]) -> None:
    assert made(items).to_arrow()["venue"].to_pylist() == [str(item) for item in items]


def test_dates_stay_dates() -> None:
    assert made((date(2026, 1, 2),)).to_arrow()["venue"].to_pylist() == [date(2026, 1, 2)]


def test_spread_survives_json() -> None:
    answer = made(("a",), counts=["1/3"], spread=9.5)
    assert Answer.from_dict(json.loads(json.dumps(answer.to_dict()))) == answer


def test_answers_written_before_there_was_a_spread_are_read() -> None:
    value = made(("a",)).to_dict()
    del value["spread"]
    assert Answer.from_dict(value) == made(("a",))
