"""The report holds no number of its own, and is what the results of today say."""

from __future__ import annotations

import re

import pytest

from reproduction.report.__main__ import PAGE, TEMPLATE, main
from reproduction.report.figures import figures, section

TEXT = TEMPLATE.read_text(encoding="utf-8")


def test_every_name_of_the_template_has_a_value_and_none_is_left_over() -> None:
    assert set(re.findall(r"\{\{([\w.]+)\}\}", TEXT)) == set(figures())


def test_no_figure_is_typed_in() -> None:
    """Settings are whole numbers and powers of ten; what has a decimal point is a result, or a theorem."""
    prose = re.sub(r"\b[PB]\d+(?:\.\d+)?|#p[\d.]+|\{\{[\w.]+\}\}", "", TEXT)
    assert re.findall(r"\d+\.\d+", prose) == []


def test_a_table_is_found_below_its_heading() -> None:
    found = section("README.md", "Published numbers")
    assert found.startswith("| paper |")
    assert found.count("\n") >= 3


@pytest.mark.full
@pytest.mark.slow
def test_the_page_is_fresh(capsys: pytest.CaptureFixture[str]) -> None:
    assert PAGE.exists()
    assert main(["--check"]) == 0, capsys.readouterr().out
