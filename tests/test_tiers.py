"""Every gate runs the tests that their marks say."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import pytest

from tests.quick_tier import broken_rule
from tests.tiers import choose, summary, tiers_of, together


@dataclass(frozen=True)
class Parameters:
    indices: dict[str, int]


@dataclass(frozen=True, eq=False)
class Item:
    """A test as far as a choice looks at it; its nearest mark comes first."""

    nodeid: str
    marks: tuple[pytest.Mark, ...] = ()
    callspec: Parameters = Parameters({})

    def iter_markers(self) -> tuple[pytest.Mark, ...]:
        return self.marks

    def get_closest_marker(self, name: str) -> pytest.Mark | None:
        return next((mark for mark in self.marks if mark.name == name), None)


def cases(function: str, many: int, *marks: pytest.MarkDecorator) -> list[Any]:
    return [Item(f"tests/test_a.py::{function}[{case}]", tuple(one.mark for one in marks)) for case in range(many)]


@pytest.fixture
def items() -> list[Any]:
    mark = pytest.mark
    return [
        *cases("test_sampled", 5, mark.sample(n=2)),
        *cases("TestOne::test_first", 4, mark.sample),
        *cases("TestOne::test_more", 4, mark.sample(n=3), mark.sample),
        Item("tests/test_a.py::test_full", (mark.full.mark,)),
        Item("tests/test_a.py::test_long", (mark.long.mark, mark.sample.mark)),
        Item("tests/test_a.py::test_plain"),
    ]


def names(items: list[Any]) -> list[str]:
    return [item.nodeid.partition("::")[2] for item in items]


def functions(items: list[Any]) -> list[str]:
    return [name.partition("[")[0] for name in names(items)]


def test_make_test_runs_as_many_cases_as_a_sample_says(items: list[Any]) -> None:
    chosen = choose(items, "test", 0)
    first, more = ["TestOne::test_first"], ["TestOne::test_more"] * 3
    assert functions(chosen.run) == ["test_sampled"] * 2 + first + more + ["test_long", "test_plain"]
    assert len(chosen.run) + len(chosen.left_out) == len(items)
    assert "test_full" in functions(chosen.left_out)


def test_the_quick_tier_has_no_marks(items: list[Any]) -> None:
    assert set(functions(choose(items, "quick", 0).run)) == {
        "test_sampled",
        "TestOne::test_first",
        "TestOne::test_more",
        "test_plain",
    }


def test_a_sample_of_one_parameter_has_every_combination_of_the_others() -> None:
    mark = (pytest.mark.sample(of="way").mark,)
    items: list[Any] = [
        Item(f"tests/test_a.py::test_read[{way}-{line}]", mark, Parameters({"way": way, "line": line}))
        for way in range(2)
        for line in range(6)
    ]
    names_of = [set(names(choose(items, "test", turn).run)) for turn in (0, 1)]
    for chosen in names_of:
        assert sorted(name[-2] for name in chosen) == list("012345")
        assert {name.partition("[")[2][0] for name in chosen} == {"0", "1"}
    assert not names_of[0] & names_of[1]


def test_every_case_has_its_turn(items: list[Any]) -> None:
    by_turn = [set(names(choose(items, "test", turn).run)) for turn in range(5)]
    assert set.union(*by_turn) == {name for name in names(items) if name != "test_full"}
    assert by_turn[0] == set(names(choose(items, "test", 0).run))
    assert by_turn[0] != by_turn[1]


def test_four_quarters_are_all_that_make_test_leaves_out(items: list[Any]) -> None:
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


def test_a_summary_says_what_was_left_out() -> None:
    assert summary("quick", 0, Counter()) == ["The quick tier: tests without a mark."]
    assert summary("quarter", 6, Counter("a"))[0].startswith("Quarter 3 of 4")
    lines = summary("test", 6, Counter({f"tests/test_{one}.py": 1000 + one for one in range(10)}))
    assert lines[0] == "What `make test` runs, with the samples of commit 6."
    assert "10,045 tests" in lines[1]
    assert lines[2] == "1,009  tests/test_9.py"
    assert lines[-1] == "2,001  in 2 other files"


@pytest.mark.parametrize(
    ("spent", "started", "fixtures", "fault"),
    [
        (0.29, [], {"tmp_path"}, None),
        (0.31, [], set(), "took 0.31 s of processor time, and 0.30 is the limit"),
        (0.01, ["subprocess.Popen"], set(), "starts a process (subprocess.Popen)"),
        (0.01, [], {"postgres_url"}, "uses postgres_url"),
    ],
)
def test_a_test_without_a_mark_takes_little_time_and_starts_nothing(
    spent: float, started: list[str], fixtures: set[str], fault: str | None
) -> None:
    assert broken_rule(spent, 0.3, started, fixtures) == fault


def test_slow_tests_come_first(request: pytest.FixtureRequest) -> None:
    slow = [item.get_closest_marker("slow") is not None for item in request.session.items]
    assert slow == sorted(slow, reverse=True)
