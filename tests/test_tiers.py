"""Tests fall into the tiers they belong to."""

from __future__ import annotations

import pytest

from tests.tiers import tier


@pytest.mark.parametrize(
    ("name", "fixtures", "expected"),
    [
        ("tests/ledger/storage/test_store.py::test_it", {"postgres_database"}, "engines"),
        ("tests/sources/test_spark.py::test_it", set(), "engines"),
        ("tests/tools/house/test_house.py::test_it", set(), "mechanics"),
        ("tests/mechanisms/test_a.py::test_the_sampler_follows_the_law_and_the_test_has_power[1]", set(), "statistics"),
        ("tests/mechanisms/test_a.py::test_the_cost_is_the_stated_one", {"tmp_path"}, None),
    ],
)
def test_a_test_has_the_tier_of_what_it_is(name: str, fixtures: set[str], expected: str | None) -> None:
    assert tier(name, fixtures) == expected


def test_marks_are_given_before_tests_are_chosen(request: pytest.FixtureRequest, postgres_url: str) -> None:
    assert postgres_url
    assert request.node.get_closest_marker("engines")
