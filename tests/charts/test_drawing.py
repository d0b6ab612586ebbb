"""Charts draw what they are given: lengths follow numbers, names are escaped, colours are those of the style sheet."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from importlib.resources import files
from itertools import pairwise

import pytest

from crestline.charts.drawing import Bar, Column, balance, blocks, rank_file, rank_lines, ranking, round_ticks
from crestline.charts.tokens import tokens
from tests.web.pages.conftest import Page

HOSTILE = '<script>alert("x")</script>'
WEEKS = (Column("W1", ("a", "b", HOSTILE)), Column("W2", ("b", "a")), Column("W3", (HOSTILE, "a", "c")))


def lengths(page: Page, name: str) -> list[float]:
    return [float(bar["width"][:-1]) for bar in page.all("rect") if bar["class"] == name]


def test_bars_have_the_length_of_their_numbers() -> None:
    page = Page(ranking([Bar("a", 100, 90, 110), Bar("b", 50, 40, 60), Bar("c", -3, -13, 7)], "users"))
    first, second, third = lengths(page, "bar")
    assert abs(first - 2 * second) <= 0.02
    assert third == 0.0
    spans = [[float(line[end][:-1]) for end in ("x1", "x2")] for line in page.all("line") if line["class"] == "whisker"]
    assert abs(spans[0][1] - spans[0][0] - first / 5) <= 0.02
    assert spans[0][1] < 100
    assert spans[2][0] == 0.0
    assert "users" in page.words
    assert "−3" in page.words


def test_names_without_numbers_have_no_bars() -> None:
    page = Page(ranking([Bar("a"), Bar("b")]))
    assert not page.all("svg")
    assert [word for word in page.words if word.strip()] == ["1", "a", "2", "b"]


def test_neighbours_that_are_too_close_are_joined() -> None:
    rows = [Bar("a", 10, near=True), Bar("b", 9, near=True), Bar("c", 8), Bar("d", 1)]
    kinds = [line.get("class") for line in Page(ranking(rows)).all("li")]
    assert kinds == ["axis", "near near-first", "near near-middle", "near near-last", None]


def test_what_is_left_adds_up() -> None:
    kinds = [block["class"] for block in Page(blocks(7, 2)).all("rect")]
    assert kinds == ["left"] * 5 + ["now"] * 2 + ["used"] * 3
    drawn = Page(balance(0.4, 0.1))
    assert lengths(drawn, "left") == [60.0]
    assert lengths(drawn, "reserved") == [10.0]


@pytest.mark.parametrize("highest", [4, 7, 99.5, 1500, 3e6, 1e9])
def test_ticks_are_few_and_round(highest: float) -> None:
    found = round_ticks(highest)
    assert 2 <= len(found) <= 5
    assert found[0] == 0
    assert found[-1] <= highest
    assert len({round(after - before, 9) for before, after in pairwise(found)}) == 1


@pytest.mark.parametrize("columns", [WEEKS, WEEKS[:1]])
def test_ranks_over_time_are_drawn_once_for_each_item(columns: Sequence[Column]) -> None:
    for text in (rank_lines(columns, 3, HOSTILE), rank_lines(columns, 3, "words", small=True)):
        drawn = ET.fromstring(text)
        assert not [one for one in drawn.iter() if one.tag.endswith("script")]
        marks = [one for one in drawn.iter() if one.tag.endswith("circle")]
        assert len(marks) == sum(len(column.items) for column in columns)
    gaps = [one for one in ET.fromstring(rank_lines(WEEKS, 3, "w")).iter() if "gap" in one.get("class", "")]
    assert len(gaps) == 1  # the hostile name was missing for a week
    assert "2 of 3" in rank_lines(WEEKS, 3, "w")


def test_a_file_has_its_colours_inside() -> None:
    text = rank_file(WEEKS, 3, HOSTILE, ("note",), "words")
    ET.fromstring(text)
    assert "<script" not in text
    assert {tokens()["light"]["series-1"], tokens()["dark"]["series-1"]} <= set(re.findall("#[0-9a-f]{6}", text))


def test_the_style_sheet_has_the_same_colours() -> None:
    sheet = (files("crestline.web") / "static" / "style.css").read_text(encoding="utf-8")
    blocks_of_colours = re.findall(r":root \{([^}]*)\}", sheet)[:2]
    light, dark = (dict(re.findall(r"--([a-z0-9-]+): (#[0-9a-f]{6});", block)) for block in blocks_of_colours)
    assert light == tokens()["light"]
    assert dark == tokens()["dark"]
