"""Tests fall into the tiers they belong to."""

from __future__ import annotations

import pytest

from tests.tiers import tier, together


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


@pytest.mark.parametrize(
    ("name", "shared"),
    [
        ("tests/docs/test_site.py::test_it[a::b]", "tests/docs/test_site"),
        ("tests/sources/test_spark.py::TestSpark::test_it", "tests/sources/test_spark"),
        ("tests/web/pages/browser/test_path.py::test_it", "tests/web/pages/browser"),
    ],
)
def test_tests_that_share_something_costly_stay_together(name: str, shared: str) -> None:
    assert together(name) == shared


def test_the_tests_of_a_file_stay_together_unless_they_are_long() -> None:
    assert together("tests/sources/test_sparkle.py::TestIt::test_it") == "tests/sources/test_sparkle.py"
    assert together("tests/audit/test_ours.py::test_it[a]") == "tests/audit/test_ours.py::test_it[a]"


def test_slow_tests_come_first(request: pytest.FixtureRequest) -> None:
    slow = [item.get_closest_marker("slow") is not None for item in request.session.items]
    assert slow == sorted(slow, reverse=True)


def test_marks_are_given_before_tests_are_chosen(request: pytest.FixtureRequest, postgres_url: str) -> None:
    assert postgres_url
    assert request.node.get_closest_marker("engines")
