"""Every page: what it says is in a file of `texts`, nothing harmful gets through, and it stays small.

`CRESTLINE_WRITE_TEXTS=1` writes the files anew, for a person to read the difference.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from crestline.web.pages.rendering import day_text, time_text
from tests.web.pages.conftest import Page
from tests.web.pages.shop import HARM, every_page, shop

TEXTS = Path(__file__).parent / "texts"
LARGEST = 60_000
_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
_CHANGING = (
    (r"\bcl_[A-Za-z0-9_.-]+", "TOKEN"),
    (r"\b[a-z2-7]{13}\b", "NUMBER"),
    (r"\b[0-9a-f]{16}\b", "REQUEST"),
    (rf"\b({_MONTHS}|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\b( ’\d\d)?", "MONTH"),
    (r"−?\d+([.,]\d+)*(e-\d+)?", "#"),
    (r"± # to ± #", "± #"),  # of one width, or of several, as noise would have it
    (r"(?m)^# MONTH #\n", ""),  # the heading of a day: there are two around midnight
    (r"(?m)^#\n", ""),  # an axis has more numbers or fewer, as noise would have it
)


def steady(page: Page) -> str:
    """The words of a page, one piece a line, without numbers, times and names that differ from day to day."""
    text = "\n".join(" ".join(part.split()) for part in page.words if part.strip())
    for pattern, word in _CHANGING:
        text = re.sub(pattern, word, text)
    return text + "\n"


@pytest.mark.long
def test_every_page_says_what_its_file_says_and_harms_nobody(tmp_path: Path) -> None:
    different, seen = [], set()
    with shop(tmp_path) as service:
        for name, sent, page in every_page(service):
            seen.add(name)
            assert len(sent.encode()) <= LARGEST, (name, len(sent))
            assert not page.all("script") or {one["src"] for one in page.all("script")} == {"/script.js"}
            for harm in ("<img", "<u>", "<i>", "<b>", HARM):
                assert harm not in sent, name
            assert "\u202e" not in sent, name
            assert len(page.all("h1")) == 1, name
            for tag, attributes in page.elements:
                assert "style" not in attributes, (name, tag)
                assert not [one for one in attributes if one.startswith("on")], (name, tag)
            file, text = TEXTS / f"{name}.txt", steady(page)
            if os.environ.get("CRESTLINE_WRITE_TEXTS"):
                file.write_text(text, encoding="utf-8")
            if not file.exists() or file.read_text(encoding="utf-8") != text:
                different.append((name, text))
    assert different == []
    assert seen == {path.stem for path in TEXTS.glob("*.txt")}


def test_times_are_in_utc() -> None:
    assert time_text("2026-10-05T23:30:00+02:00") == "5 October 2026, 21:30"
    assert day_text("2026-10-05") == "5 October 2026"
