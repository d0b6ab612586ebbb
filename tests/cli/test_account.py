"""`crestline account`: totals, parts and refusals."""

from __future__ import annotations

import csv
import io
import json
from fractions import Fraction

import pytest

from crestline.cli.main import run
from crestline.guarantees.accountants import total_epsilon
from crestline.guarantees.composition import optimal_composition
from crestline.guarantees.cost import repeat_step
from crestline.guarantees.guarantee import BoundedRange, GaussianDP, LossInterval, PureDP


def rows(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, float]:
    assert run(["account", *arguments, "--format", "json"]) == 0
    return {row["accountant"]: row["epsilon"] for row in json.loads(capsys.readouterr().out)}


def test_a_list_of_releases(capsys: pytest.CaptureFixture[str]) -> None:
    found = rows(
        capsys, "20xbr:0.05", "test:0.21,0.09", "interval:0.1,0.2", "pure:0.1", "2xgauss:0.01", "--slack", "1e-7"
    )
    cost = (
        repeat_step(BoundedRange("0.05"), 20)
        + repeat_step(LossInterval("0.09", "0.3"))
        + repeat_step(LossInterval("0.1", "0.2"))
        + repeat_step(PureDP("0.1"))
        + repeat_step(GaussianDP("0.01"), 2)
    )
    assert list(found) == ["zCDP", "Rényi", "optimum"]  # Gaussian noise cannot be added up plainly
    assert found["optimum"] == float(total_epsilon(cost, "1e-7"))


def test_draws_of_one_epsilon_under_every_theorem(capsys: pytest.CaptureFixture[str]) -> None:
    found = rows(capsys, "--steps", "10", "--epsilon", "0.1")
    printed = {"basic": 1.0, "bounded range": 0.88113, "Dong et al.": 0.84363, "zCDP": 0.70021, "Rényi": 0.65216}
    for name, epsilon in printed.items():
        assert found[name] == pytest.approx(epsilon, abs=5e-6)
    assert found["optimum"] == min(found.values())


def test_the_part_of_a_total_is_larger_with_a_better_theorem(capsys: pytest.CaptureFixture[str]) -> None:
    found = rows(capsys, "--total", "1", "--slack", "1e-6", "-k", "20")
    del found["advanced"]  # worse than plain addition for so few
    assert list(found.values()) == sorted(found.values())
    assert found["optimum"] > 1.25 * found["Dong et al."]


@pytest.mark.long
def test_tables_round_to_the_safe_side(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["account", "-k", "10", "--epsilon", "0.1", "--format", "table"]) == 0
    assert "0.700206" in capsys.readouterr().out  # 0.7002051… up
    assert run(["account", "-k", "10", "--total", "1", "--format", "table"]) == 0
    assert "0.139587" in capsys.readouterr().out  # 0.1395878… down


def test_csv(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["account", "3xpure:0.5", "--slack", "0", "--format", "csv"]) == 0
    (row,) = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert (row["accountant"], row["epsilon"], row["adaptive"]) == ("basic", "1.5", "True")


def test_only_filters_hold_for_adaptive_parameters(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["account", "-k", "3", "--epsilon", "0.5", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["accountant"] for row in found if row["adaptive"]] == ["basic", "zCDP"]


@pytest.mark.long
def test_bounded_range_costs_less_than_the_optimum_for_pure_steps(capsys: pytest.CaptureFixture[str]) -> None:
    found = rows(capsys, "-k", "60", "--epsilon", "0.1", "--slack", "1e-6")
    pure = float(optimal_composition(60, Fraction(1, 10), Fraction(1, 10**6)))
    assert found["optimum"] < found["Rényi"] < found["Dong et al."] < found["bounded range"] < pure < found["advanced"]


@pytest.mark.long
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "nothing to add up"),
        (["-k", "3"], "nothing to add up"),
        (["br=1"], "is not a release"),
        (["3xlap:1"], "is not a release"),
        (["br:1,2"], "takes 1 number"),
        (["test:1"], "takes 2 number"),
        (["br:-1"], "must not be negative"),
        (["br:1", "-k", "3"], "but not both"),
        (["--epsilon", "1"], "add -k"),
        (["-k", "3", "--epsilon", "1", "--total", "1"], "give one of them"),
        (["-k", "3", "--epsilon", "1", "--slack", "2"], "between 0 and 1"),
        (["-k", "0", "--total", "1"], "at least 1"),
        (["gauss:1", "--slack", "0"], "--slack"),
    ],
)
def test_a_call_that_cannot_be_meant_says_what_to_do(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["account", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert message in printed.err
