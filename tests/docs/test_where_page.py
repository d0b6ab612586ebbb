"""The page on `where` says what the parser does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from crestline.errors import QuestionError
from crestline.sources.expression.where import parse_filter

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "reference" / "where.md").read_text()


def lines(fence: str) -> list[str]:
    found = re.search(rf"```{fence}\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    return found[1].splitlines()


@pytest.mark.parametrize("text", lines("where-taken"))
def test_what_the_page_offers_is_taken(text: str) -> None:
    parse_filter(text)


@pytest.mark.parametrize("text", lines("where-refused"))
def test_what_the_page_excludes_is_refused(text: str) -> None:
    with pytest.raises(QuestionError):
        parse_filter(text)
