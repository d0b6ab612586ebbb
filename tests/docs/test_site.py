"""The site builds strictly, holds what the pages hold, asks no other server for anything, and has every address that
`crestline explain` prints."""

from __future__ import annotations

import json
import re
import tomllib
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.answer.made import made

from crestline.cli.explain import theorem_links
from tools.book.__main__ import build, main
from tools.book.linking import with_links
from tools.book.mathematics import mathml

pytestmark = pytest.mark.mechanics

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
LOADED = {"script": "src", "img": "src", "iframe": "src", "link": "href", "source": "srcset"}


class Page(HTMLParser):
    """What a page loads, links to, and has a place for."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.links: list[str] = []
        self.places: set[str] = set()
        self.titles = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.places |= {values["id"]} if "id" in values else set()
        self.titles += tag in ("h1", "h2", "h3", "h4")
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        stated = tag == "link" and values.get("rel") in ("canonical", "prev", "next")
        if tag in LOADED and values.get(LOADED[tag]) and not stated:
            self.loaded.append(values[LOADED[tag]])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    build(folder)  # fails on a link or an anchor that leads nowhere
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, Page]:
    found = [path for path in sorted(site.rglob("*.html")) if path.name != "404.html"]
    return {path.relative_to(site).as_posix(): Page(path.read_text(encoding="utf-8")) for path in found}


def built(page: Path) -> str:
    """Where the page of a Markdown file is."""
    name = page.relative_to(DOCS).with_suffix("")
    folder = name.parent if name.name in ("index", "README") else name
    return (folder / "index.html").as_posix().removeprefix("./")


def test_every_page_is_there_with_all_its_headings(pages: dict[str, Page]) -> None:
    for page in DOCS.rglob("*.md"):
        text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        headings = re.findall(r"^#{1,4} ", text, re.MULTILINE)
        assert pages[built(page)].titles == len(headings), page.name


def test_no_page_loads_anything_from_another_server(pages: dict[str, Page]) -> None:
    for name, page in pages.items():
        assert [place for place in page.loaded if urlsplit(place).netloc] == [], name


def test_links_within_the_site_lead_to_places(pages: dict[str, Page], site: Path) -> None:
    """MkDocs looks at links in Markdown; those of the theme and of cited numbers are looked at here."""
    for name, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.netloc or parts.scheme:
                continue
            target = (site / name).parent / parts.path if parts.path else site / name
            target = target / "index.html" if target.is_dir() else target
            assert target.resolve().exists(), f"{name} links to {link}"
            place = target.resolve().relative_to(site.resolve()).as_posix()
            if parts.fragment and place in pages and parts.fragment != "__skip":
                assert parts.fragment in pages[place].places, f"{name} links to {link}"


def test_no_formula_is_left_as_it_was_typed(site: Path) -> None:
    for path in (site / "proofs" / "foundations").rglob("index.html"):
        text = path.read_text(encoding="utf-8")
        assert "arithmatex" not in text
        if path.parent.name not in ("foundations", "assumptions"):
            assert "<math " in text, path.parent.name


def test_the_search_finds_the_transfer_theorem(site: Path) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    assert any("Transfer theorem" in entry["title"] for entry in index["docs"])


def test_the_addresses_that_explain_prints_are_places_of_the_site(pages: dict[str, Page]) -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        base = tomllib.load(file)["project"]["urls"]["Documentation"].rstrip("/")
    assert f"site_url: {base}/" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    told = theorem_links(made(("a", "b")))
    assert told
    for number, address in told.items():
        page, _, place = address.removeprefix(f"{base}/").partition("#")
        assert place == number.lower()
        assert place in pages[f"{page}index.html"].places


def test_numbers_become_links_outside_of_links_code_and_titles() -> None:
    page = "<h2>P1.3 x</h2><p>by P1.3, <code>P1.3</code>, <a href='#'>P1.3</a> and E-A2.</p>"
    linked = with_links(page, "index.md", lambda place: place.removesuffix(".md") + "/")
    assert linked == (
        '<h2>P1.3 x</h2><p>by <a href="reference/theorems/#p1.3">P1.3</a>, <code>P1.3</code>, '
        "<a href='#'>P1.3</a> and <a href=\"errata/#e-a2\">E-A2</a>.</p>"
    )
    assert with_links(page, "reference/theorems.md", str).count("p1.3") == 0


def test_a_formula_keeps_its_source_for_those_who_cannot_see_it() -> None:
    made = mathml("h'(u) \\le b")
    assert 'aria-label="h&#x27;(u) \\le b"' in made
    assert "&#x02032;" in made
    assert "msup" not in made


def test_a_link_that_leads_nowhere_fails_the_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The power of the first test: a page with a broken anchor."""
    from tools.book import __main__ as command

    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text("# A\n\n[there](#nowhere)\n")
    settings = "site_name: a\nstrict: true\nvalidation: {links: {anchors: warn}}\n"
    (tmp_path / "mkdocs.yml").write_text(settings)
    monkeypatch.setattr(command, "ROOT", tmp_path)
    assert main([str(tmp_path / "out")]) == 1
    (tmp_path / "docs" / "index.md").write_text("# A\n\n[there](#a)\n")
    assert main([str(tmp_path / "out")]) == 0
