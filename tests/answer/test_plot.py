"""The picture of an answer."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.answer.made import made

from crestline.errors import ParameterError

SVG = "{http://www.w3.org/2000/svg}"


def texts(svg: str) -> list[str]:
    return ["".join(node.itertext()) for node in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def test_a_list_shows_ranks_and_names() -> None:
    words = texts(made(("Shibuya", "Shinjuku")).plot().svg())
    assert words.index("Shibuya") < words.index("Shinjuku")
    assert {"1", "2"} <= set(words)


def test_a_set_shows_no_ranks() -> None:
    words = texts(made(frozenset({"Shibuya", "Shinjuku"})).plot().svg())
    assert {"Shibuya", "Shinjuku"} <= set(words)
    assert "1" not in words


def test_bars_have_whiskers_where_the_noise_is_known() -> None:
    plain = made(("a", "b"), counts=[300, 200]).plot().chart.to_dict()
    known = made(("a", "b"), counts=[300, 200], spread=20.0).plot().chart.to_dict()
    assert [layer["mark"]["type"] for layer in plain["layer"]] == ["bar", "text"]
    assert [layer["mark"]["type"] for layer in known["layer"]] == ["bar", "rule", "rule", "text"]
    assert [(row["low"], row["high"]) for row in known["data"]["values"]] == [(280, 320), (180, 220)]


def test_an_empty_answer_says_so() -> None:
    assert any("No item could be named" in word for word in texts(made(()).plot().svg()))


def test_labels_are_inert_text() -> None:
    svg = made(("<script>alert(1)</script>", "</text><a href='x'>y")).plot().svg()
    tree = ElementTree.fromstring(svg)
    assert not list(tree.iter(f"{SVG}script"))
    assert not list(tree.iter(f"{SVG}a"))
    assert "<script>alert(1)</script>" in texts(svg)


def test_labels_that_look_alike_stay_apart() -> None:
    words = texts(made((1, "1", "x" * 60 + "a", "x" * 60 + "b"), counts=[4, 3, 2, 1]).plot().svg())
    assert "1 (2)" in words
    assert "x" * 47 + "… (2)" in words


def test_what_is_replayable_says_so() -> None:
    assert any("not private" in word for word in texts(made(("a",), replayed=True).plot().svg()))


@pytest.mark.long
def test_saved_as_its_name_says(tmp_path: Path) -> None:
    answer = made(("a",))
    answer.plot(tmp_path / "top.svg")
    answer.plot(str(tmp_path / "top.PNG"))
    assert (tmp_path / "top.svg").read_text().startswith("<svg")
    assert (tmp_path / "top.PNG").read_bytes().startswith(b"\x89PNG")
    answer.plot(tmp_path / "top.pdf", title="Sales")
    assert (tmp_path / "top.pdf").read_bytes().startswith(b"%PDF")
    assert "Sales" in texts(answer.plot(title="Sales").svg())
    assert answer.plot()._repr_svg_() == (tmp_path / "top.svg").read_text()


@pytest.mark.parametrize("name", ["top.gif", "top", "top.html"])
def test_other_formats_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=re.escape("ends in .svg, .png or .pdf")):
        made(("a",)).plot(tmp_path / name)


def test_a_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="there is no folder"):
        made(("a",)).plot(tmp_path / "nowhere" / "top.svg")


def test_without_the_extra_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(ParameterError, match=re.escape("pip install 'crestline[plot]'")):
        made(("a",)).plot()
