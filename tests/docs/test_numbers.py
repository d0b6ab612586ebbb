"""Every number that code and pages cite is told somewhere, and leads from its statement to proof, code and test."""

from __future__ import annotations

import re
from itertools import chain

from crestline.mechanisms.catalogue import CATALOGUE
from tools.book.numbers import DOCS, HOMES, ROOT, anchors, cited, unresolved

SOURCES = sorted(chain((ROOT / "src").rglob("*.py"), (ROOT / "reproduction").rglob("*.py")))
PAGES = sorted(chain(DOCS.rglob("*.md"), ROOT.glob("*.md")))
THEOREMS = (DOCS / "reference" / "theorems.md").read_text(encoding="utf-8")
ROWS = re.findall(r'^\| (?:<a id="[^"]+"></a>)+(\S+) \| (.+) \| (.+) \| (.+) \| (.+) \|$', THEOREMS, re.MULTILINE)
# Documents that no user has.
ELSEWHERE = re.compile(r"\b(?:PRIVACY|DESIGN|HOUSE|STYLE)(?:\.md|\s+(?:§|[PDEKBU]\d))")


def test_every_citation_has_a_place() -> None:
    assert unresolved(chain(SOURCES, PAGES)) == []


def test_numbers_are_found_where_they_are_cited() -> None:
    """The test above would be worth nothing if it saw no numbers."""
    kinds = {number[0] for path in chain(SOURCES, PAGES) for number in cited(path.read_text(encoding="utf-8"))}
    assert kinds == set(HOMES)
    text = "by P1.3 (K2), E-A10; D9: B6. TV-8.1-exp, P10.5–P10.7 and U6, `P4.1`"
    assert list(cited(text)) == ["P1.3", "K2", "E-A10", "D9", "B6", "TV-8.1-exp", "P10.5", "P10.7", "U6"]
    assert list(cited("D2(x), P5_a, XP3, 3.P1 and D'")) == []


def test_nothing_points_to_a_document_that_users_do_not_have() -> None:
    pointing = [path for path in (*SOURCES, *PAGES) if ELSEWHERE.search(path.read_text(encoding="utf-8"))]
    assert [str(path.relative_to(ROOT)) for path in pointing] == []


def test_the_code_and_the_test_of_a_theorem_exist() -> None:
    assert len(ROWS) > 100
    for number, _, _, code, test in ROWS:
        for path in re.findall(r"`([^`]+)`", code):
            assert (ROOT / "src" / "crestline" / path).exists(), f"{number}: {path}"
        for path in re.findall(r"`([^`]+)`", test):
            assert (ROOT / path).exists(), f"{number}: {path}"


def test_a_theorem_leads_to_a_proof() -> None:
    for number, _, proof, code, _ in ROWS:
        for page, anchor in re.findall(r"\]\(([^)#]+)#?([^)]*)\)", proof):
            found = DOCS / "reference" / page
            assert found.exists(), number
            assert not anchor or anchor in anchors(found), f"{number}: {page}#{anchor}"
        assert "](" in proof or code == "–", f"{number} is in the code and proven nowhere"


def test_no_number_has_two_anchors() -> None:
    for page in set(HOMES.values()):
        found = re.findall(r'<a id="([^"]+)"></a>', (DOCS / page).read_text(encoding="utf-8"))
        assert len(found) == len(set(found)), page


def test_every_mechanism_states_a_theorem_of_the_reference() -> None:
    from crestline import mechanisms

    told = anchors(DOCS / "reference" / "theorems.md")
    for line in CATALOGUE:
        stated = list(cited(getattr(mechanisms, line.name).theorem))
        assert stated, line.name
        assert {number.lower() for number in stated} <= told
