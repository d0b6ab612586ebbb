"""Every gate runs the tests that their marks say."""

from __future__ import annotations

import pytest

from tests.tiers import choose, tiers_of, together

pytest_plugins = ["pytester"]

TESTS = """
import pytest

@pytest.mark.parametrize("case", range(5))
@pytest.mark.sample(n=2)
def test_sampled(case): pass

@pytest.mark.sample
@pytest.mark.parametrize("case", range(4))
class TestOne:
    def test_first(self, case): pass
    @pytest.mark.sample(n=3)
    def test_more(self, case): pass

@pytest.mark.full
def test_full(): pass

@pytest.mark.long
@pytest.mark.sample
def test_long(): pass

def test_plain(): pass
"""


@pytest.fixture
def items(pytester: pytest.Pytester) -> list[pytest.Item]:
    items, _ = pytester.inline_genitems(pytester.makepyfile(TESTS), "-p", "no:cacheprovider")
    return items


def names(items: list[pytest.Item]) -> list[str]:
    return [item.nodeid.partition("::")[2] for item in items]


def functions(items: list[pytest.Item]) -> list[str]:
    return [name.partition("[")[0] for name in names(items)]


def test_make_test_runs_as_many_cases_as_a_sample_says(items: list[pytest.Item]) -> None:
    chosen = choose(items, "test", 0)
    first, more = ["TestOne::test_first"], ["TestOne::test_more"] * 3
    assert functions(chosen.run) == ["test_sampled"] * 2 + first + more + ["test_long", "test_plain"]
    assert len(chosen.run) + len(chosen.left_out) == len(items)
    assert "test_full" in functions(chosen.left_out)


def test_the_quick_tier_has_no_marks(items: list[pytest.Item]) -> None:
    assert set(functions(choose(items, "quick", 0).run)) == {
        "test_sampled",
        "TestOne::test_first",
        "TestOne::test_more",
        "test_plain",
    }


def test_every_case_has_its_turn(items: list[pytest.Item]) -> None:
    by_turn = [set(names(choose(items, "test", turn).run)) for turn in range(5)]
    assert set.union(*by_turn) == {name for name in names(items) if name != "test_full"}
    assert by_turn[0] == set(names(choose(items, "test", 0).run))
    assert by_turn[0] != by_turn[1]


def test_four_quarters_are_all_that_make_test_leaves_out(items: list[pytest.Item]) -> None:
    """At one number of commits; of the next the sample is another."""
    quarters = [names(choose(items, "quarter", 7, quarter).run) for quarter in range(4)]
    assert sorted(name for quarter in quarters for name in quarter) == sorted(names(choose(items, "test", 7).left_out))
    assert names(choose(items, "quarter", 7).run) == quarters[3]


def test_a_folder_marks_its_tests(request: pytest.FixtureRequest, postgres_url: str) -> None:
    assert postgres_url
    assert tiers_of(request.node) == {"engines"}
    assert request.node.get_closest_marker("engines")  # before tests are chosen by `-m`


@pytest.mark.parametrize(
    ("name", "group"),
    [
        ("tests/web/pages/browser/test_path.py::test_it", "tests/web/pages/browser"),
        ("tests/sources/test_spark.py::TestIt::test_it[a::b]", "tests/sources/test_spark.py"),
        ("tests/audit/test_ours.py::test_it[a]", "tests/audit/test_ours.py::test_it[a]"),
    ],
)
def test_tests_that_share_something_costly_are_one_group(name: str, group: str) -> None:
    assert together(name) == group


def test_slow_tests_come_first(request: pytest.FixtureRequest) -> None:
    slow = [item.get_closest_marker("slow") is not None for item in request.session.items]
    assert slow == sorted(slow, reverse=True)
