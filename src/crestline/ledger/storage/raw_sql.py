"""The statements of every question, as the drivers take them. What they do is in `transaction`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

_ENTRY = "sequence, kind, dataset, analyst, receipt, answer_key, body, hash, number"
_TYPES = ("bigint", "text", "text", "text", "bigint", "text", "text", "text", "bigint")


@dataclass(frozen=True)
class Statements:
    """One text for each, with `?` for a parameter.

    any      how a list of values is looked up
    entry    the columns of an entry
    values   how entries are given
    """

    lock: str = "SELECT length, head FROM crestline_books"
    last: str = "SELECT {entry} FROM crestline_entries ORDER BY sequence DESC LIMIT 1"
    move_head: str = "UPDATE crestline_books SET length = ?, head = ?"
    payers: str = (
        "SELECT dataset, analyst, budget, settled, held, user_column FROM crestline_accounts "
        "WHERE dataset = ? AND analyst IN ('', ?) ORDER BY analyst"
    )
    analysts: str = "SELECT 1 FROM crestline_accounts WHERE dataset = ? AND analyst <> '' LIMIT 1"
    save: str = "UPDATE crestline_accounts SET settled = ?, held = ? WHERE dataset = ? AND analyst = ?"
    fix_user: str = "UPDATE crestline_accounts SET user_column = ? WHERE dataset = ? AND analyst = ''"
    periods: str = (
        "SELECT dataset, period, span, settled, held FROM crestline_periods "
        "WHERE dataset = ? AND analyst = ? AND period {any}"
    )
    save_period: str = (
        "INSERT INTO crestline_periods (settled, held, dataset, analyst, period, span) VALUES (?, ?, ?, ?, ?, ?) "
        "ON CONFLICT (dataset, analyst, period, span) DO UPDATE SET settled = excluded.settled, held = excluded.held"
    )
    reservations: str = "SELECT {entry} FROM crestline_entries WHERE sequence {any}"
    endings: str = "SELECT {entry} FROM crestline_entries WHERE receipt {any} AND kind IN ('settled', 'voided')"
    answers: str = "SELECT {entry} FROM crestline_entries WHERE answer_key {any} AND kind = 'settled' ORDER BY sequence"
    asked: str = "SELECT max(number) FROM crestline_entries WHERE analyst = ?"
    append: str = "INSERT INTO crestline_entries ({entry}) {values}"


def _sqlite_statements() -> Statements:
    return _fill_templates(
        {}, any="IN (SELECT value FROM json_each(?))", values=f"VALUES ({', '.join('?' * len(_TYPES))})"
    )


def _postgres_statements() -> Statements:
    """Writers wait for each other at the head row, and all entries of a batch are one statement."""
    special = {
        "lock": f"{Statements.lock} FOR UPDATE",
        "append": "INSERT INTO crestline_entries ({entry}) SELECT * FROM unnest({values})",
    }
    made = _fill_templates(special, any="= ANY(?)", values=", ".join(f"?::{one}[]" for one in _TYPES))
    return Statements(**{name: text.replace("?", "%s") for name, text in vars(made).items()})


def _fill_templates(special: dict[str, str], **parts: str) -> Statements:
    texts = {one.name: special.get(one.name, str(one.default)) for one in fields(Statements)}
    return Statements(**{name: text.format(entry=_ENTRY, **parts) for name, text in texts.items()})


SQLITE, POSTGRES = _sqlite_statements(), _postgres_statements()


def columns(rows: Sequence[Sequence[object]]) -> list[list[object]]:
    """Rows as columns, for a statement that takes arrays."""
    return [list(column) for column in zip(*rows, strict=True)]
