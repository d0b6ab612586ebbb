"""Fuzzing of files that are read: the service's configuration and ledgers. Understood, or refused with our errors."""

from __future__ import annotations

import json
import sqlite3
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as some

import crestline as cl
from crestline.config import Config, load_config
from crestline.errors import CrestlineError, ParameterError
from crestline.guarantees.cost import repeat_step
from crestline.ledger.ledger import Ledger

SERVED = """
ledger = "ledger.db"

[datasets.visits]
source = "visits.parquet"
user = "user"
items = ["venue"]
filters = ["country"]
contribution = 3
budget = { epsilon = "4", delta = "1e-6" }

[analysts.ada.budgets]
visits = { epsilon = "1", delta = "1e-7" }

[limits]
k = 50
"""
VALUES = (
    some.integers(-(10**20), 10**20)
    | some.booleans()
    | some.floats()
    | some.text(max_size=6)
    | some.lists(some.text(max_size=3), max_size=2)
    | some.dictionaries(some.text(max_size=4), some.integers(), max_size=2)
)


def toml(value: Any) -> str:
    """As TOML writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {toml(part)}" for key, part in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value) if isinstance(value, str) else repr(value)


def read(text: str) -> Config | None:
    """What is understood, or None; any other error than ours is a fault."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "crestline.toml"
        file.write_text(text, encoding="utf-8", errors="surrogatepass")
        with suppress(ParameterError):
            return load_config(file)
    return None


@given(some.text(max_size=60))
def test_any_text_is_a_configuration_or_refused(text: str) -> None:
    read(text)


@given(line=some.integers(0, SERVED.count("\n") - 1), value=VALUES)
@settings(max_examples=200)
def test_a_configuration_with_one_odd_value_is_read_or_refused(line: int, value: Any) -> None:
    lines = SERVED.splitlines()
    name, equals, _ = lines[line].partition("=")
    if equals:
        lines[line] = f"{name}= {toml(value)}"
    found = read("\n".join(lines))
    if found is not None:
        assert found.limits.k >= 1
        assert all(part.budget.epsilon > 0 for part in found.datasets.values())


@given(start=some.integers(0, len(SERVED)), length=some.integers(0, 40), more=some.text(max_size=8))
def test_a_damaged_configuration_is_read_or_refused(start: int, length: int, more: str) -> None:
    read(SERVED[:start] + more + SERVED[start + length :])


@cache
def books() -> bytes:
    """A ledger of a few entries, as a file."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "ledger.db"
        with Ledger.create(file, cl.Budget(epsilon=4, delta="1e-5")) as ledger:
            for number in range(3):
                receipt = ledger.reserve(
                    repeat_step(cl.BoundedRange("0.1"), 2), question={"k": number}, data_version="1"
                )
                ledger.settle(receipt, repeat_step(cl.BoundedRange("0.1"), 1), answer={"items": ["a"]})
        raw = sqlite3.connect(file)
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        raw.execute("PRAGMA journal_mode=DELETE")
        raw.close()
        return file.read_bytes()


def opened(content: bytes) -> tuple[bool, tuple[str, ...]]:
    """Whether the ledger could be opened and read at all, and what was found in it."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "ledger.db"
        file.write_bytes(content)
        with suppress(CrestlineError), Ledger.open(file) as ledger:
            ledger.history()
            return True, ledger.verify().findings
    return False, ()


def test_the_ledger_itself_is_in_order() -> None:
    assert opened(books()) == (True, ())


@given(data=some.data())
@settings(max_examples=60)
def test_damaged_ledgers_are_read_or_refused(data: some.DataObject) -> None:
    content = bytearray(books())
    for _ in range(data.draw(some.integers(1, 4))):
        content[data.draw(some.integers(0, len(content) - 1))] = data.draw(some.integers(0, 255))
    opened(bytes(content))


def test_a_damaged_schema_that_is_no_text_is_refused() -> None:
    content = bytearray(books())
    content[content.index(b"CREATE TABLE crestline_books") + 5] = 0x80
    assert opened(bytes(content)) == (False, ())


@given(length=some.integers(0, 40_000))
@settings(max_examples=25)
def test_truncated_ledgers_are_read_or_refused(length: int) -> None:
    opened(books()[:length])


@given(data=some.data())
@settings(max_examples=40)
def test_one_changed_letter_of_an_entry_is_found(data: some.DataObject) -> None:
    """Any byte of the text of any entry: the chain of hashes notices, or the file is refused."""
    content = bytearray(books())
    texts = [place for place in range(len(content)) if content.startswith(b'"previous":"', place)]
    assert texts
    place = data.draw(some.sampled_from(texts)) + data.draw(some.integers(0, 60))
    before = content[place]
    content[place] = data.draw(some.integers(32, 126).filter(lambda byte: byte != before))
    readable, findings = opened(bytes(content))
    assert findings or not readable
