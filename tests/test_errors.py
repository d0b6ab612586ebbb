"""Wrong calls and the exact message each gets: it says what to do next, and none depends on the rows of the data."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import crestline as cl

RIGHT: dict[str, Any] = {
    "user": "reader", "item": "title", "k": 3, "epsilon": 1, "delta": "1e-6", "mechanism": "LimitedDomain"
}  # fmt: skip


def top(source: Any = "loans.csv", **changes: Any) -> Callable[[], object]:
    return lambda: cl.top_k(source, **{**RIGHT, **changes})


def nearly_broke() -> cl.Ledger:
    return cl.Ledger.in_memory(cl.Budget(epsilon="0.001", delta="1e-9"))


SIEVE = cl.mechanisms.Sieve(1, 1, "1e-6")
ONE = cl.mechanisms.LimitedDomain(1, 2, 1, "0.1")

CALLS: dict[str, Callable[[], object]] = {
    "epsilon zero": top(epsilon=0),
    "epsilon negative": top(epsilon=-1),
    "epsilon nan": top(epsilon=float("nan")),
    "epsilon inf": top(epsilon=float("inf")),
    "epsilon bool": top(epsilon=True),
    "epsilon text": top(epsilon="one"),
    "epsilon none": top(epsilon=None),
    "delta zero": top(delta=0),
    "delta one": top(delta=1),
    "delta text": top(delta="tiny"),
    "k zero": top(k=0),
    "k float": top(k=2.5),
    "k text": top(k="3"),
    "k_bar small": top(k_bar=2),
    "contribution zero": top(contribution=0),
    "contribution float": top(contribution=1.5),
    "mechanism unknown": top(mechanism="Magic"),
    "mechanism misspelt": top(mechanism="restrictedgumble"),
    "mechanism wrong type": top(mechanism=7),
    "folder": top("."),
    "k huge": top(k=1_000_000),
    "where double quotes": top(where='title = "Rivers"'),
    "where no quotes": top(where="title = Rivers"),
    "where two columns": top(where="titel = title"),
    "where no date": top(where="title = date '2026-13-01'"),
    "score calculation": top(score="sum(n*n)", clip=3),
    "driver missing": top("trino://nowhere/there", table="t"),
    "nobody there": top("postgresql://nobody:secret@localhost:1/shop", table="t"),
    "no file": top("no-such.parquet"),
    "no match": top("no-such-*.parquet"),
    "extension": top("notes.txt"),
    "broken file": top("broken.parquet"),
    "source type": top(42),
    "user column": top(user="readr"),
    "item column": top(item="titel"),
    "two item columns": top(item=["title", "titel"]),
    "item empty": top(item=[]),
    "item none": top(item=None),
    "counts text": top(counts="yes"),
    "entropy number": top(entropy=7),
    "table misspelt": top("sqlite:///shop.sqlite", table="laons"),
    "table unknown": top("sqlite:///shop.sqlite", table="people"),
    "budget number": lambda: cl.connect("loans.csv").dataset("loans", user="reader", budget=2),  # type: ignore[arg-type] # wrong on purpose
    "budget of a ledger": lambda: cl.Ledger.create("new.db", 2),  # type: ignore[arg-type] # wrong on purpose
    "budget of an analyst": lambda: nearly_broke().add_analyst("ann", 2),  # type: ignore[arg-type] # wrong on purpose
    "cap number": lambda: cl.Budget(1, "1e-6", per="month", time="day", cap=3),  # type: ignore[arg-type] # wrong on purpose
    "report of a table": lambda: cl.report("loans.csv", every="month", k=3),  # type: ignore[arg-type] # wrong on purpose
    "sieve of a histogram": lambda: SIEVE.release(cl.Histogram.from_counts({"a": 1}, 3), cl.entropy.system()),  # type: ignore[arg-type] # wrong on purpose
    "user empty": top(user=""),
    "where syntax": top(where="title ="),
    "where function": top(where="length(title) > 3"),
    "where subquery": top(where="title in (select title from loans)"),
    "where two": top(where="n > 1; drop table x"),
    "where column": top(where="country = 'DE'"),
    "where star": top(where="1 = 1"),
    "score form": top(score="max(n)", clip=3),
    "score without clip": top(score="sum(n)"),
    "clip without score": top(clip=3),
    "clip zero": top(score="sum(n)", clip=0),
    "score column": top(score="sum(price)", clip=3),
    "score and Laplace": top(score="sum(n)", clip=3, contribution=2, mechanism="LimitedDomainLaplace"),
    "table with file": top(table="sales"),
    "url without table": top("duckdb:///nothing.duckdb"),
    "url scheme": top("oracle9://x/y", table="t"),
    "ledger missing": top(ledger="no-such-ledger.db"),
    "ledger foreign": top(ledger="not_ledger.db"),
    "budget exhausted": lambda: cl.top_k("loans.csv", **RIGHT, ledger=nearly_broke()),
    "budget epsilon": lambda: cl.Budget(epsilon=0, delta=1e-6),
    "budget delta": lambda: cl.Budget(epsilon=1, delta=2),
    "budget kind": lambda: cl.Budget(epsilon=1, delta=1e-6, kind="gold"),
    "histogram negative": lambda: cl.Histogram.from_counts({"a": -1}, 2),
    "histogram float": lambda: cl.Histogram.from_counts({"a": 1.5}, 2),  # type: ignore[arg-type] # wrong on purpose
    "histogram twice": lambda: cl.Histogram.from_counts([("a", 1), ("a", 2)], 2),
    "histogram k_bar": lambda: cl.Histogram.from_counts({"a": 1}, 0),
    "histogram shape": lambda: ONE.release(cl.Histogram.from_counts({"a": 1}, 3), cl.entropy.system()),
    "known domain": lambda: ONE.release(cl.Histogram.from_multiplicities({1: 2}), cl.entropy.system()),
}

MESSAGES: dict[str, tuple[str, str]] = {
    "folder": (
        "QuestionError",
        ". is a folder with files of several kinds in it; write ./**/*.csv to read those files as one table",
    ),
    "k huge": ("ParameterError", "k must be at most 100,000: ask for less"),
    "where double quotes": (
        "QuestionError",
        "\"Rivers\" in double quotes is a column, and a column is compared with values; text goes in single quotes: 'Rivers'",
    ),
    "where no quotes": (
        "QuestionError",
        "Rivers without quotes is a column, and a column is compared with values; text goes in single quotes: 'Rivers'",
    ),
    "where two columns": (
        "QuestionError",
        "title without quotes is a column, and a column is compared with values; text goes in single quotes: 'title'",
    ),
    "item none": ("QuestionError", "item must name one or several columns"),
    "counts text": ("ParameterError", "counts must be true or false, not 'yes'"),
    "entropy number": ("ParameterError", "entropy is a source of random bits, such as crestline.entropy.system()"),
    "table misspelt": (
        "QuestionError",
        "there is no table 'laons' that this connection may read; did you mean 'loans'?",
    ),
    "table unknown": ("QuestionError", "there is no table 'people' that this connection may read; there are: loans"),
    "budget number": ("ParameterError", "a budget is written Budget(epsilon=2, delta=1e-7), not 2"),
    "budget of a ledger": ("ParameterError", "a budget is written Budget(epsilon=2, delta=1e-7), not 2"),
    "budget of an analyst": ("ParameterError", "a budget is written Budget(epsilon=2, delta=1e-7), not 2"),
    "cap number": ("ParameterError", "a cap is written Window(12, epsilon=4, delta=1e-6), not 3"),
    "report of a table": (
        "ParameterError",
        "a report asks a data set: report(connect(…).dataset(…), every='month', …)",
    ),
    "sieve of a histogram": (
        "HistogramError",
        "this mechanism looks at pairs of user and item: make a Relation of them, or ask with top_k",
    ),
    "where no date": (
        "QuestionError",
        "\"'2026-13-01'\" is no such moment: write date '2026-03-01' or timestamp '2026-03-01 12:00:00'",
    ),
    "score calculation": (
        "QuestionError",
        "sum() takes one column; make a view or an Ibis column for n*n, and sum that (a column of this name is "
        "written in double quotes)",
    ),
    "driver missing": ("SourceError", "trino: the driver is missing: pip install 'ibis-framework[trino]'"),
    "nobody there": (
        "SourceError",
        "postgresql: nobody answers there: check the host and the port, and whether the server is running",
    ),
    "epsilon zero": ("ParameterError", "epsilon must be larger than zero, not 0"),
    "epsilon negative": ("ParameterError", "epsilon must be larger than zero, not -1"),
    "epsilon nan": ("ParameterError", "epsilon must be finite, not nan"),
    "epsilon inf": ("ParameterError", "epsilon must be finite, not inf"),
    "epsilon bool": (
        "ParameterError",
        "epsilon must be a number (int, Fraction, Decimal, float or decimal string), not True",
    ),
    "epsilon text": ("ParameterError", "epsilon must be a number such as 0.5, 1e-8 or 1/3, not 'one'"),
    "epsilon none": (
        "MechanismError",
        "give epsilon and delta, the total of the answer: epsilon=1, delta=1e-8 (delta far below 1 divided by the number of users)",
    ),
    "delta zero": ("ParameterError", "delta must be larger than zero, not 0"),
    "delta one": ("ParameterError", "delta must be smaller than one, not 1"),
    "delta text": ("ParameterError", "delta must be a number such as 0.5, 1e-8 or 1/3, not 'tiny'"),
    "k zero": ("ParameterError", "k must be at least 1, not 0"),
    "k float": ("ParameterError", "k must be a whole number, not 2.5"),
    "k text": ("ParameterError", "k must be a whole number, not '3'"),
    "k_bar small": ("ParameterError", "k_bar must be at least k: k is 3, k_bar is 2"),
    "contribution zero": ("ParameterError", "contribution must be at least 1, not 0"),
    "contribution float": ("ParameterError", "contribution must be a whole number, not 1.5"),
    "mechanism unknown": ("MechanismError", "there is no mechanism 'Magic'; choose one of: LimitedDomain, "),
    "mechanism misspelt": (
        "MechanismError",
        "there is no mechanism 'restrictedgumble'; did you mean RestrictedGumbel?",
    ),
    "mechanism wrong type": (
        "MechanismError",
        "a mechanism is 'auto', a name of the catalogue, or an object with guarantee() and release()",
    ),
    "no file": ("QuestionError", "there is no file no-such.parquet"),
    "no match": ("QuestionError", "no file matches no-such-*.parquet"),
    "extension": (
        "QuestionError",
        "notes.txt: the name must end in .parquet, .csv, .tsv, .jsonl or .ndjson (the last four also with .gz); "
        "for a database give its URL and `table`",
    ),
    "broken file": (
        "QuestionError",
        "broken.parquet cannot be read: it is damaged, not of the kind its name says, or not readable by you",
    ),
    "source type": (
        "QuestionError",
        "a source is a path, glob, folder or list of files (Parquet, CSV, JSON lines), a database with `table`, "
        "a Delta or Iceberg table, an Ibis, pandas, Polars or Arrow table, or a Histogram; not int",
    ),
    "user column": (
        "QuestionError",
        "the header of loans.csv names no column 'readr'; the first line of a CSV file must name its columns",
    ),
    "item column": (
        "QuestionError",
        "the header of loans.csv names no column 'titel'; the first line of a CSV file must name its columns",
    ),
    "two item columns": (
        "QuestionError",
        "the header of loans.csv names no column 'titel'; the first line of a CSV file must name its columns",
    ),
    "item empty": ("QuestionError", "item must name one or several columns"),
    "user empty": ("QuestionError", "user must name the column that holds the user"),
    "where syntax": (
        "QuestionError",
        "where could not be read: write one boolean expression; text in 'single quotes', odd column names in \"double quotes\"",
    ),
    "where function": (
        "QuestionError",
        "where may not contain 'LENGTH(title)': only columns, or functions of one, compared with values, and, "
        "or, not, in, between, like, is null",
    ),
    "where subquery": (
        "QuestionError",
        "where may not contain 'title IN (SELECT title FROM loans)': only columns, or functions of one, compared "
        "with values, and, or, not, in, between, like, is null",
    ),
    "where two": (
        "QuestionError",
        "where could not be read: write one boolean expression; text in 'single quotes', odd column names in \"double quotes\"",
    ),
    "where column": (
        "QuestionError",
        "the header of loans.csv names no column 'country'; the first line of a CSV file must name its columns",
    ),
    "where star": (
        "QuestionError",
        "where may not contain '1': only columns, or functions of one, compared with values, and, or, not, in, "
        "between, like, is null",
    ),
    "score form": ("QuestionError", "score must be of the form sum(column); leave it out to count users"),
    "score without clip": (
        "QuestionError",
        "a score needs clip: the most that one user may add to one item (a public number)",
    ),
    "clip without score": ("QuestionError", "clip goes with score, as in score='sum(price)', clip=100"),
    "clip zero": ("ParameterError", "clip must be at least 1, not 0"),
    "score column": (
        "QuestionError",
        "the header of loans.csv names no column 'price'; the first line of a CSV file must name its columns",
    ),
    "score and Laplace": (
        "MechanismError",
        "Laplace noise is charged by the number of a user's items: with a score, take mechanism='auto' or "
        "another mechanism, or leave contribution or counts out",
    ),
    "table with file": (
        "QuestionError",
        "`table` goes with a database such as shop.duckdb or postgresql://host/shop; a file is one table",
    ),
    "url without table": (
        "QuestionError",
        "a database URL needs `table`: the name of the table to ask, or schema.table",
    ),
    "url scheme": (
        "SourceError",
        "oracle9: no such kind of database is known; one of athena, ",
    ),
    "ledger missing": (
        "LedgerError",
        "ledger no-such-ledger.db: there is no such file; make one with `crestline ledger create`",
    ),
    "ledger foreign": (
        "LedgerError",
        "ledger not_ledger.db: it is not a ledger: give the path of a file made by `crestline ledger create`",
    ),
    "budget exhausted": (
        "BudgetExhausted",
        "the budget of data set 'default' cannot pay for this: it asks for rho 0.0452966 and delta 5e-07, and "
        "rho 2.39307e-08 of 2.39307e-08 and delta 5e-10 of 5e-10 is left; ask with a smaller epsilon and with a smaller delta",
    ),
    "budget epsilon": ("ParameterError", "epsilon must be larger than zero, not 0"),
    "budget delta": ("ParameterError", "delta must lie between 0 and 1, not 2"),
    "budget kind": ("ParameterError", "kind must be one of zcdp, pure, homogeneous, not 'gold'"),
    "histogram negative": ("ParameterError", "counts must not be negative"),
    "histogram float": (
        "ParameterError",
        "counts must be whole numbers; for other scores give `unit` and scaled whole numbers",
    ),
    "histogram twice": ("ParameterError", "an item is listed twice; add up its counts first"),
    "histogram k_bar": ("ParameterError", "k_bar must be at least 1, not 0"),
    "histogram shape": (
        "HistogramError",
        "the histogram has k_bar=3, the mechanism k_bar=2: make both with the same k_bar",
    ),
    "known domain": (
        "HistogramError",
        "this mechanism names items by rank: list them, with Histogram.from_counts or over_domain",
    ),
}


@pytest.fixture(params=["with rows", "empty"])
def folder(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same table twice, once without a single row: no message may tell which."""
    monkeypatch.chdir(tmp_path)
    rows = [f"r{number},Rivers,{number}\n" for number in range(50)] if request.param == "with rows" else []
    Path("loans.csv").write_text("reader,title,n\n" + "".join(rows))
    Path("notes.txt").write_text("x")
    Path("broken.parquet").write_bytes(b"PAR1 no")
    Path("not_ledger.db").write_text("hello")
    with closing(sqlite3.connect("shop.sqlite")) as shop:
        shop.execute("CREATE TABLE loans (reader, title)")
    return tmp_path


def test_there_are_forty_of_them() -> None:
    assert CALLS.keys() == MESSAGES.keys()
    assert len(CALLS) >= 40


@pytest.mark.parametrize("name", CALLS)
def test_a_wrong_call_gets_its_message(name: str, folder: Path) -> None:
    kind, message = MESSAGES[name]
    with pytest.raises(cl.errors.CrestlineError) as wrong:
        CALLS[name]()
    assert type(wrong.value).__name__ == kind
    assert str(wrong.value).startswith(message) if message.endswith(", ") else str(wrong.value) == message
