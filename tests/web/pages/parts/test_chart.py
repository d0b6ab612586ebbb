"""The chart and the pages around it escape what is not theirs, and draw what was released."""

from __future__ import annotations

from dataclasses import replace

from tests.answer.made import made
from tests.web.pages.conftest import Page

from crestline.web.pages.parts.chart import answer_chart
from crestline.web.pages.parts.html import element
from crestline.web.pages.simple_pages import answer_page

HOSTILE = '<script>alert("x")</script>'


def test_bars_have_the_length_of_their_counts() -> None:
    answer = made(("a", "b", "c"), counts=(100, 50, -3), spread=10.0)
    drawn = answer_chart(answer)
    assert drawn is not None
    page = Page(drawn)
    first, second, third = (float(bar["width"][:-1]) for bar in page.all("rect") if bar["class"] == "bar")
    assert abs(first - 2 * second) <= 0.02
    assert third == 0.0
    spans = [[float(line[end][:-1]) for end in ("x1", "x2")] for line in page.all("line") if line["y1"] == line["y2"]]
    assert abs(spans[0][1] - 100) <= 0.01
    assert abs(spans[0][1] - spans[0][0] - first / 5) <= 0.02
    assert "Users. The line across the end of a bar is a 95% interval." in page.text


def test_without_counts_there_is_nothing_to_draw() -> None:
    assert answer_chart(made(("a",))) is None
    assert answer_chart(made((), counts=())) is None


def test_labels_are_escaped_everywhere() -> None:
    answer = replace(made((HOSTILE,), counts=(5,)), source=HOSTILE)
    text = answer_page(answer, HOSTILE, "2026-11-01T00:00:00")
    assert "<script" not in text
    Page(text)
    assert element("a", HOSTILE, href='"><b>') == (
        '<a href="&quot;&gt;&lt;b&gt;">&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;</a>'
    )
