"""Which questions are the same, and which answers are served again."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import duckdb
import ibis
import pandas
import polars
import pyarrow
import pytest

import crestline as cl
from crestline.answer_key import Identity
from crestline.errors import ParameterError
from crestline.prepare import prepare
from crestline.question import Question
from crestline.randomness.entropy import replay, system
from crestline.sources import open_source

pytestmark = pytest.mark.long

ITEMS = ["Rivers", "Bridges", "Ponds"]


@pytest.fixture
def ledger() -> cl.Ledger:
    return cl.Ledger.in_memory(cl.Budget(epsilon=50, delta="1e-4"))


@pytest.fixture
def loans(tmp_path: Path) -> Path:
    path = tmp_path / "loans.csv"
    path.write_text("reader,title\n" + "".join(f"r{reader},Rivers\n" for reader in range(600)))
    return path


@pytest.fixture
def shop(tmp_path: Path) -> str:
    """A database with a table of loans and a table that lists all titles."""
    file = tmp_path / "shop.duckdb"
    with duckdb.connect(str(file)) as raw:
        raw.execute("create table loans as select 'r' || n as reader, 'Rivers' as title from range(600) t(n)")
        raw.execute("create table titles as select * from (values ('Rivers'), ('Bridges'), ('Ponds')) v(title)")
    return f"duckdb:///{file}"


def top(source: Any, ledger: cl.Ledger, **changes: Any) -> cl.Answer:
    call: dict[str, Any] = {"user": "reader", "item": "title", "k": 1, "epsilon": "0.5", "delta": "1e-7"}
    return cl.top_k(source, ledger=ledger, **{**call, **changes})


def touch(path: Path) -> None:
    """The same rows, written again."""
    status = path.stat()
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 10**9))


def test_with_a_stated_version_a_touched_file_changes_nothing(loans: Path, ledger: cl.Ledger) -> None:
    assert not top(loans, ledger, version="2026-11").stored
    loans.write_text(loans.read_text() + "r9,Bridges\n")
    assert top(loans, ledger, version="2026-11").stored
    assert not top(loans, ledger, version="2026-12").stored
    assert not top(loans, ledger).stored


def test_with_a_stated_version_the_price_depends_on_no_row(loans: Path) -> None:
    def prices(version: str | None) -> list[bool]:
        data = cl.connect(loans).dataset(
            "loans", user="reader", budget=cl.Budget(epsilon=2, delta="1e-5"), version=version
        )
        data.top(k=1, item="title")
        before = data.price(k=1, item="title").stored
        touch(loans)
        return [before, data.price(k=1, item="title").stored]

    assert prices("2026-11") == [True, True]
    assert prices(None) == [True, False]  # documented in SECURITY.md: who may ask for a price sees that it was touched


def test_with_a_stated_version_the_source_is_not_asked_for_its_own() -> None:
    class Silent:
        name = "silent"

        def version(self) -> str:
            raise AssertionError("the source was looked at")

    asked = prepare(
        Question.from_fields({"k": 1, "k_bar": 5, "epsilon": 1, "delta": "1e-6", "mechanism": "LimitedDomain"})
    )
    known = Identity(asked, Silent(), system(), "1")  # type: ignore[arg-type] # a part of one
    assert known.version == "1"


def test_with_a_stated_version_tables_and_databases_are_served_again(shop: str, ledger: cl.Ledger) -> None:
    assert not top(shop, ledger, table="loans").stored
    assert not top(shop, ledger, table="loans").stored
    assert not top(shop, ledger, table="loans", version="1").stored
    assert top(shop, ledger, table="loans", version="1").stored


@pytest.mark.parametrize("version", ["", "x" * 201, "line\nbreak", 7])
def test_a_version_is_a_short_text(loans: Path, ledger: cl.Ledger, version: Any) -> None:
    before = ledger.remaining()
    with pytest.raises(ParameterError, match="version must be a text"):
        top(loans, ledger, version=version)
    with pytest.raises(ParameterError, match="version must be a text"):
        cl.connect(loans).dataset("loans", user="reader", budget=cl.Budget(epsilon=2, delta="1e-5"), version=version)
    assert ledger.remaining() == before


@pytest.mark.parametrize("version", [None, "2026-11"])
def test_a_list_file_that_changed_is_another_question(loans: Path, ledger: cl.Ledger, version: str | None) -> None:
    titles = loans.with_name("titles.csv")
    titles.write_text("title\n" + "".join(f"{item}\n" for item in ITEMS))
    asked = {"domain": str(titles), "mechanism": "auto", "version": version}
    assert not top(loans, ledger, **asked).stored
    assert top(loans, ledger, **asked).stored
    titles.write_text("title\nLakes\nPonds\n")
    changed = top(loans, ledger, **asked)
    assert not changed.stored
    assert set(changed.items) <= {"Lakes", "Ponds"}


def test_a_list_in_a_table_is_served_again_with_a_stated_version_only(shop: str, ledger: cl.Ledger) -> None:
    asked = {"table": "loans", "domain": "titles.title", "mechanism": "auto"}
    assert [top(shop, ledger, **asked).stored for _ in range(2)] == [False, False]
    assert [top(shop, ledger, **asked, version="1").stored for _ in range(2)] == [False, True]


@pytest.mark.parametrize(
    "listed",
    [pandas.DataFrame({"title": ITEMS}), polars.DataFrame({"title": ITEMS}), pyarrow.table({"title": ITEMS})],
    ids=["pandas", "polars", "arrow"],
)
def test_a_list_in_memory_is_never_served_again(loans: Path, ledger: cl.Ledger, listed: Any) -> None:
    """Under one label, two of them would share one answer: nothing tells them apart."""
    asked = {"domain": listed, "mechanism": "auto", "version": "1"}
    assert [top(loans, ledger, **asked).stored for _ in range(2)] == [False, False]


def test_a_list_that_is_an_expression_is_never_served_again(shop: str, ledger: cl.Ledger) -> None:
    engine = ibis.duckdb.connect(shop.removeprefix("duckdb:///"), read_only=True)
    titles = engine.table("titles")
    asked = {"mechanism": "auto", "version": "1"}
    for listed in (titles, titles, titles.filter(titles.title != "Rivers")):
        assert not top(engine.table("loans"), ledger, domain=listed, **asked).stored


def test_a_set_is_a_list_like_a_list(loans: Path, ledger: cl.Ledger) -> None:
    assert not top(loans, ledger, domain=set(ITEMS), mechanism="auto").stored
    assert top(loans, ledger, domain=frozenset(reversed(ITEMS)), mechanism="auto").stored
    assert not top(loans, ledger, domain={*ITEMS, "Lakes"}, mechanism="auto").stored


def test_items_that_cannot_be_told_apart_are_never_served_again() -> None:
    class Label:
        def __repr__(self) -> str:
            return "label"

    source = open_source(pandas.DataFrame({"u": ["a"], "i": ["b"]}))
    for domain, served in (([Label()], False), ([("a", Label())], False), ([("a", 1)], True)):
        asked = Question.from_fields(
            {"k": 1, "epsilon": 1, "delta": "1e-6", "mechanism": "Lipschitz", "domain": domain}
        )
        known = Identity(prepare(asked), source, system(), "1")
        assert (known.version is not None) == served


CHANGES: list[dict[str, Any]] = [
    {"item": ["title", "title2"]},
    {"k": 2},
    {"k_bar": 7},
    {"where": "title <> 'Ponds'"},
    {"contribution": 2},
    {"counts": True},
    {"score": "sum(pages)", "clip": 5},
    {"score": "sum(pages)", "clip": 6},
    {"score": "sum(pages2)", "clip": 5},
    {"epsilon": "0.6"},
    {"delta": "2e-7"},
    {"mechanism": "CanonicalBottom"},
    {"mechanism": "auto", "domain": ITEMS},
]


@pytest.mark.long
def test_whatever_changes_the_answer_changes_the_question(tmp_path: Path, ledger: cl.Ledger) -> None:
    path = tmp_path / "loans.csv"
    rows = "".join(f"r{reader},Rivers,Rivers,3,4\n" for reader in range(50))
    path.write_text("reader,title,title2,pages,pages2\n" + rows)
    base = {"mechanism": "LimitedDomain", "k_bar": 5, "version": "1"}
    for change in ({}, *CHANGES):
        assert not top(path, ledger, **{**base, **change}).stored, change
    for change in ({}, *CHANGES):
        assert top(path, ledger, **{**base, **change}).stored, change


def test_an_answer_with_replayable_entropy_is_not_served_again(loans: Path, ledger: cl.Ledger) -> None:
    """The key of replayable entropy reveals the noise, so its answer must not be served to others."""
    assert top(loans, ledger, entropy=replay("known")).replayed
    real = top(loans, ledger)
    assert not real.stored
    assert not real.replayed
    again = top(loans, ledger, entropy=replay("known"))
    assert again.replayed
    assert not again.stored
    assert top(loans, ledger).stored


def test_a_replayed_answer_that_an_earlier_version_stored_is_not_served(loans: Path, ledger: cl.Ledger) -> None:
    real = top(loans, ledger)
    entry = ledger.history()[-1]
    asked = next(old for old in ledger.history() if old.kind == "reserved").content
    cost = cl.mechanisms.LimitedDomain(1, 10, "0.1", "1e-9").cost()
    receipt = ledger.reserve(cost, question=asked["question"], data_version=asked["data_version"])
    ledger.settle(receipt, cost, answer={**entry.content["answer"], "replayed": True})
    before = len(ledger.history())
    anew = top(loans, ledger)
    assert not anew.stored
    assert anew.items == real.items
    assert [entry.kind for entry in ledger.history()[before:]] == ["reserved", "settled"]
