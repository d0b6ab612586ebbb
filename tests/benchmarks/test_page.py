"""The page's tables, plots and words say what the figures say."""

from __future__ import annotations

import math

import pytest
from benchmarks.bearing import _row
from benchmarks.figures import picture, slopes
from benchmarks.measuring import Row, human, in_words, interleaved, slope, spread
from benchmarks.page import cell, table

from benchmarks import full_domain, peers, restricted


def row(who: str, seconds: float, **setting: int) -> Row:
    return Row(who, setting, seconds, 0.9 * seconds, 1.1 * seconds, 5, exact=True, cryptographic=False)


def test_a_table_has_a_column_for_each_setting_across() -> None:
    lines = table([row("a", 1.0, d=10**6), row("a", 2e-3, d=500), Row("b", {"d": 500}, note="> 20 s")], ("d",)).split(
        "\n"
    )
    assert lines[0] == "|  | d = 10^6 | d = 500 | exact | cryptographic |"
    assert lines[2] == "| a | 1 s ± 10% | 2 ms ± 10% | yes | no |"
    assert lines[3] == "| b |  | > 20 s |  |  |"


def test_figures_of_a_script_are_told_apart_by_their_sizes() -> None:
    figures: list[dict[str, object]] = [
        {"ledger": "sqlite", "writers": n, "per_second": 400.0 / n, "more": {}} for n in (1, 8)
    ]
    lines = table([_row(one) for one in figures], ()).split("\n")
    assert lines[0] == "|  | writers | per_second |"
    assert lines[2:4] == ["| sqlite | 1 | 400 |", "| sqlite | 8 | 50 |"]


def test_a_single_run_has_no_spread() -> None:
    assert cell(Row("a", {}, 3.0, 3.0, 3.0, 1)) == "3 s (once)"


@pytest.mark.parametrize(
    ("seconds", "text"), [(1.234, "1.23 s"), (2.5e-4, "250 µs"), (0.0123, "12.3 ms"), (3e-8, "0.03 µs")]
)
def test_seconds_are_said_in_three_digits(seconds: float, text: str) -> None:
    assert human(seconds) == text


@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0, 2.0])
def test_a_slope_is_the_exponent_of_the_power_law(exponent: float) -> None:
    sizes = [10.0, 100.0, 1000.0]
    assert math.isclose(slope(sizes, [3e-6 * size**exponent for size in sizes]), exponent, abs_tol=1e-12)


def test_slopes_are_said_in_words() -> None:
    assert in_words(0.02).startswith("hardly grows")
    assert "less than proportionally" in in_words(0.5)
    assert "proportionally: ten times as much takes 10.0 times" in in_words(1.0)
    assert "more than proportionally" in in_words(1.5)
    rows = [row("a", 1e-6 * d, d=d) for d in (10, 100, 1000)]
    assert slopes(rows, "d") == [f"a, against d, {in_words(1.0)}."]


def test_a_plot_wants_three_sizes() -> None:
    rows = [row("a", 1e-6 * d, d=d) for d in (10, 100, 1000)]
    assert picture(rows[:2], "d", "t") is None
    drawn = picture(rows, "d", "t")
    assert drawn is not None
    assert "<svg" in drawn.svg()


def test_works_take_turns_and_a_long_round_is_the_only_one() -> None:
    seen: list[str] = []
    works = {name: lambda name=name: seen.append(name) for name in "ab"}
    assert {name: len(times) for name, times in interleaved(works, 2).items()} == {"a": 2, "b": 2}
    rounds = ["".join(seen)[2 + 6 * i : 8 + 6 * i] for i in range(2)]
    assert seen[:2] == ["a", "b"]  # warms up; then every round has every work, a short one three times in its turn
    assert all(sorted((one[:3], one[3:])) == ["aaa", "bbb"] for one in rounds)
    assert {name: len(times) for name, times in interleaved(works, 2, seconds=-1.0).items()} == {"a": 1, "b": 1}
    assert spread([2.0]) == {"median": 2.0, "low": 2.0, "high": 2.0, "runs": 1}


def test_bounds_are_held_against_the_figures() -> None:
    names = {restricted.PLAIN: 1e-4, restricted.OURS: 1.5e-4, restricted.LOOP: 1.2e-4, restricted.MANY: 1e-5}
    said = restricted.words([row(who, seconds, k=100, k_bar=5000) for who, seconds in names.items()])
    assert "1.50 times plain NumPy" in said[0]
    assert "15.0 times faster" in said[1]
    rows = [row(full_domain.GROUPS, 1e-3, d=10**6), row(full_domain.PLAIN, 0.1, d=10**6)]
    assert "takes 100 times as long" in full_domain.words(rows)[0]


def test_a_peer_that_cannot_be_installed_is_said_to_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(peer: str) -> None:
        raise OSError

    monkeypatch.setattr(peers, "environment", refuse)
    assert peers.run("opendp", 10, 1, runs=1, seconds=1.0, limit=1.0).note == "not installed"
