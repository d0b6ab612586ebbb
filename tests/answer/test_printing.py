"""The printed answer: a table, then what came, what is promised and what it cost."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

from rich.cells import cell_len
from tests.answer.made import made

from crestline.answer.answer import Bill
from crestline.answer.explain import explain
from crestline.answer.printing import summary, table_lines
from crestline.histogram.coverage_counts import CoverageCounts

BILL = Bill("ledger.db", "rho 0.1", "rho 0.05", "rho 0.9", 3, 0.063, 0.937, 14, 1.94)
FULL = ("a", "b", "c", "d", "e")


def test_an_answer_prints_as_its_table_and_three_lines() -> None:
    answer = made(("Rivers", "Sa\x1blt"), counts=[2000, 7], spread=3.0, bill=BILL)
    assert str(answer).splitlines() == [
        "rank  venue     count    low   high",
        "   1  Rivers    2,000  1,997  2,003",
        "   2  Sa\\x1blt      7      4     10",
        "",
        "2 of 5: stopped on purpose, as one more name could depend on a single user; a name needs a lead of about 121 "
        "users over rank 26; counts are ±3 users.",
        "Promised: this answer changes the odds that any one 'user' is in the data at most 2.72-fold, except with "
        "probability 1e-08.",
        "Paid: 6.3% of the budget (ledger.db); 93.7% (worth epsilon 1.94) is left, about 14 more like it.",
    ]


def test_counts_with_intervals_of_their_own_say_what_they_count() -> None:
    known = made(("a",), counts=[20], intervals=((15, 30),), stopped=False)
    assert summary(known)[0] == "1 of 5; each count is of users, from low to high with 95% probability."
    bounded = replace(known, question=replace(known.question, contribution=3))
    assert "each count is of users, counting at most 3 of each 'user', from low" in summary(bounded)[0]


def test_an_empty_answer_has_no_table() -> None:
    assert str(made(())).startswith("(no item could be named)\n\n0 of 5: stopped on purpose")


def test_wide_characters_are_aligned() -> None:
    lines = table_lines(made(("東京タワー", "Rome", "Zürich"), counts=[300, 20, 1]))
    assert len({cell_len(line) for line in lines}) == 1, lines


def test_labels_are_to_the_left_and_numbers_to_the_right_whatever_their_type() -> None:
    head, first, second = table_lines(made((1234, 5), counts=[1000, 10]))
    assert (first, second) == ("   1  1234   1,000", "   2  5         10")
    assert head == "rank  venue  count"


def test_only_what_was_asked_for_is_said() -> None:
    """No unit of a budget, theorem or noisy query; these are in the explanation."""
    answer = made(FULL, bill=BILL, notes=("Warning: delta is large.", "Note: two counts contradict (P16.1)."))
    assert summary(answer)[3:] == ("Warning: delta is large.",)
    assert "Note: two counts" in explain(answer)
    assert not re.search(r"rho|ρ|P\d|zcdp|Noisy query|LimitedDomain", str(answer))
    assert len(summary(made(FULL, bill=BILL))) == 3


def test_replayed_randomness_is_never_silent() -> None:
    assert "Warning: made with replayable randomness" in str(made(FULL, replayed=True))


def test_a_set_and_a_coverage_are_said() -> None:
    answer = replace(made(frozenset(FULL)), coverage=CoverageCounts(900, 100, 20.0))
    assert summary(answer)[0] == "5 of 5; a set, so their order means nothing; 90.0% (±2.1%) of users have one of them."


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        assert attrs in ([], [("style", "text-align:left")], [("style", "text-align:right")])
        self.seen.add(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def test_html_is_escaped() -> None:
    evil = "<script>alert('x')</script><img src=x onerror=alert(1)>&amp;"
    answer = made((evil, '"quoted"'), item=("<b>venue",))
    reader = _Tags()
    reader.feed(answer._repr_html_())
    assert reader.seen == {
        *("table", "caption", "thead", "tbody", "tr", "th", "td", "p", "br", "details", "summary", "pre"),
    }
    assert evil in reader.text
    assert "<b>venue" in reader.text
    assert "2 of 5: stopped" in reader.text
