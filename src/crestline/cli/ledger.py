"""`crestline ledger`: create a budget, show what is spent and what remains, verify the record."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from crestline.cli.ledger_tables import period_accounts, period_json, print_accounts, print_notes
from crestline.cli.options import WitnessOption
from crestline.cli.output import Format, FormatOption, print_csv, print_json, print_rows, resolve_format

if TYPE_CHECKING:
    from crestline.ledger.budget import Budget, Window
    from crestline.ledger.entries import Entry
    from crestline.ledger.storage.rows import Account
    from crestline.ledger.storage.store import Store

ledger_app = typer.Typer(
    help="Budgets and what was spent: open a budget, see what is left, verify that no entry was changed.",
    no_args_is_help=True,
)

Address = Annotated[str, typer.Argument(help="A file such as ledger.db, or a postgresql:// address.")]
Dataset = Annotated[str | None, typer.Option(help="Only this data set.")]
Form = FormatOption


class EntryFormat(StrEnum):
    JSONL = "jsonl"
    CSV = "csv"


@ledger_app.command()
def create(
    address: Address,
    epsilon: Annotated[str, typer.Option(help="The ε of everything that is ever asked, taken together.")],
    delta: Annotated[str, typer.Option(help="The δ of everything that is ever asked, taken together.")] = "0",
    kind: Annotated[str, typer.Option(help="zcdp, pure or homogeneous; cannot be changed later.")] = "zcdp",
    dataset: Annotated[str, typer.Option(help="The name of the data set.")] = "default",
    user: Annotated[
        str | None, typer.Option(help="The column that holds the user, in every question (default: the first's).")
    ] = None,
    analyst: Annotated[
        list[str] | None, typer.Option(help="NAME:EPSILON:DELTA, a budget of the same kind under it; repeatable.")
    ] = None,
    slack: Annotated[str | None, typer.Option(help="The part of δ for the conversion to ε (default: half).")] = None,
    items: Annotated[int | None, typer.Option(help="homogeneous: how many items may be drawn in all.")] = None,
    questions: Annotated[int | None, typer.Option(help="homogeneous: how many questions may be asked.")] = None,
    item_epsilon: Annotated[str | None, typer.Option(help="homogeneous: the ε of each drawn item.")] = None,
    question_delta: Annotated[str | None, typer.Option(help="homogeneous: the δ of each question.")] = None,
    per: Annotated[
        str | None, typer.Option(help="One account for each day, week, month, quarter or year; needs --time.")
    ] = None,
    time: Annotated[str | None, typer.Option(help="The column that says when a row happened.")] = None,
    zone: Annotated[str | None, typer.Option(help="The time zone in which a day begins (default: UTC).")] = None,
    cap: Annotated[
        str | None, typer.Option(help="PERIODS:EPSILON:DELTA: what this number of periods in a row may cost together.")
    ] = None,
    witness: WitnessOption = None,
    form: Form = Format.AUTO,
) -> None:
    """Open a budget. It is opened once, and never changed.

    Example: crestline ledger create ledger.db --epsilon 2 --delta 1e-7
    """
    from crestline.ledger.budget import Budget
    from crestline.ledger.ledger import Ledger

    budget = Budget(
        epsilon,
        delta,
        kind,
        slack=slack,
        items=items,
        questions=questions,
        item_epsilon=item_epsilon,
        question_delta=question_delta,
        per=per,
        time=time,
        zone=zone,
        cap=None if cap is None else _parse_cap(cap, kind),
    )
    analysts = dict(_parse_analyst_budget(text, budget) for text in analyst or ())
    with Ledger.create(address, budget, dataset=dataset, user=user, analysts=analysts, witness=witness) as ledger:
        print_accounts(ledger.accounts, form)


@ledger_app.command("add-analyst")
def add_analyst(
    address: Address,
    analyst: Annotated[str, typer.Argument(help="NAME:EPSILON:DELTA, such as ann:0.5:1e-8.")],
    dataset: Annotated[str | None, typer.Option(help="The data set, where the ledger has several.")] = None,
    witness: WitnessOption = None,
    form: Form = Format.AUTO,
) -> None:
    """Open a budget for an analyst under a data set's, before that analyst has been answered anything.

    Each of their questions must fit both budgets. From the first such budget on, analysts without one are refused.

    Example: crestline ledger add-analyst ledger.db ann:0.5:1e-8
    """
    from crestline.ledger.ledger import Ledger

    with Ledger.open(address, dataset=dataset, witness=witness) as ledger:
        ledger.add_analyst(*_parse_analyst_budget(analyst, ledger.budget))
        print_accounts(ledger.accounts, form)


@ledger_app.command()
def show(address: Address, dataset: Dataset = None, form: Form = Format.AUTO) -> None:
    """Show every budget: what is settled, what is reserved, what is left."""
    from crestline.ledger.report import account_json, entry_json

    with _open_store(address) as store:
        accounts, waiting = _find_accounts(store, dataset), store.open_reservations(dataset)
        if resolve_format(form) is Format.JSON:
            print_json(
                {
                    "ledger": store.address,
                    "checksum": store.checksum(),
                    "accounts": [account_json(account) for account in accounts],
                    "periods": [period_json(part) for whole in accounts for part in period_accounts(store, whole)],
                    "users": {account.dataset: account.user for account in accounts if account.analyst is None},
                    "open_reservations": [entry_json(entry) for entry in waiting],
                }
            )
            return
        print_accounts(accounts, form)
        if resolve_format(form) is Format.TABLE:
            print_notes(store, accounts, waiting)


@ledger_app.command()
def history(
    address: Address,
    dataset: Dataset = None,
    last: Annotated[int, typer.Option("-n", "--last", help="Only this number of entries, the last; 0 for all.")] = 50,
    form: Form = Format.AUTO,
) -> None:
    """Show the questions of all analysts, their cost, and refusals."""
    from crestline.ledger.report import ENTRY_COLUMNS, ENTRY_FIELDS, entry_fields, entry_json, entry_row

    with _open_store(address) as store:
        _find_accounts(store, dataset)
        entries = store.entries(dataset, last or None)
    if resolve_format(form) is Format.JSON:
        print_json([entry_json(entry) for entry in entries])
    elif resolve_format(form) is Format.CSV:
        print_csv(ENTRY_FIELDS, [entry_fields(entry) for entry in entries])
    else:
        print_rows(ENTRY_COLUMNS, [entry_row(entry) for entry in entries], form)


@ledger_app.command()
def verify(
    address: Address,
    checksum: Annotated[
        str | None,
        typer.Option("--checksum", help="A checksum (length:hash) that was kept outside the ledger."),
    ] = None,
    form: Form = Format.AUTO,
) -> None:
    """Check every hash, every link and every sum. Exit code 1 when something is found."""
    with _open_store(address) as store:
        found = store.verify(checksum)
    if resolve_format(form) is Format.TABLE:
        verdict = "The ledger holds." if found.ok else "The ledger does not hold:"
        typer.echo(f"{verdict} {found.entries} entries; checksum {found.checksum}")
        for finding in found.findings:
            typer.echo(f"  {finding}")
        if found.backwards:
            typer.echo(f"  (The clock went backwards {found.backwards} times. That is no error of the ledger.)")
    elif resolve_format(form) is Format.CSV:
        print_csv(["finding"], [[finding] for finding in found.findings])
    else:
        summary = {"ok": found.ok, "entries": found.entries, "checksum": found.checksum}
        print_json({**summary, "clock_backwards": found.backwards, "findings": list(found.findings)})
    raise typer.Exit(0 if found.ok else 1)


@ledger_app.command()
def accept(
    address: Address,
    witness: Annotated[str, typer.Argument(help="Where its checksum is kept: the path or address of the witness.")],
) -> None:
    """Take a ledger that was restored from a backup, as its owner. What was asked since the backup is not in it.

    Its witness then knows this ledger, and that it was accepted is an entry of it. It must verify.

    Example: crestline ledger accept ledger.db /elsewhere/ledger.witness
    """
    with _open_store(address) as store:
        before = store.accept(witness)
        typer.echo(f"The witness knew {before}; it knows {store.checksum()} now.")


@ledger_app.command()
def export(
    address: Address,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Write to this file.")] = None,
    form: Annotated[
        EntryFormat, typer.Option("--format", help="jsonl keeps all that is needed to check the chain.")
    ] = (EntryFormat.JSONL),
) -> None:
    """Write out every entry, one line each, for other programs."""
    with _open_store(address) as store:
        if output is None:
            _write(store, sys.stdout, form)
            return
        try:
            with output.open("w", newline="") as file:
                _write(store, file, form)
        except OSError as error:
            raise typer.BadParameter(f"{output} cannot be written: {error.strerror}", param_hint="--output") from None


def _write(store: Store, file: TextIO, form: EntryFormat) -> None:
    from crestline.ledger.report import ENTRY_FIELDS, entry_fields, entry_line

    def lines(entries: Iterator[Entry]) -> None:
        for entry in entries:
            file.write(entry_line(entry) + "\n")

    def rows(entries: Iterator[Entry]) -> None:
        writer = csv.writer(file)
        writer.writerow(ENTRY_FIELDS)
        writer.writerows(map(entry_fields, entries))

    store.read_all_entries(lines if form is EntryFormat.JSONL else rows)


@contextmanager
def _open_store(address: str) -> Iterator[Store]:
    """The ledger of all data sets at an address."""
    from datetime import UTC, datetime

    from crestline.ledger.storage.store import Store

    store = Store.open(address, lambda: datetime.now(UTC), timeout=30.0)
    try:
        yield store
    finally:
        store.close()


def _find_accounts(store: Store, dataset: str | None) -> list[Account]:
    from crestline.errors import LedgerError

    accounts = store.accounts(dataset)
    if not accounts and dataset is not None:
        raise LedgerError(f"ledger {store.address}: no budget is open for data set {dataset!r}")
    return accounts


def _parse_cap(text: str, kind: str) -> Window:
    from crestline.errors import ParameterError
    from crestline.ledger.budget import Window

    periods, *numbers = text.split(":")
    if len(numbers) != 2 or not periods.isdecimal():
        raise ParameterError(f"a cap is written PERIODS:EPSILON:DELTA, such as 12:4:1e-6, not {text!r}")
    return Window(int(periods), numbers[0], numbers[1], kind)


def _parse_analyst_budget(text: str, dataset: Budget) -> tuple[str, Budget]:
    """An analyst's name and budget, with the kind and periods of the data set's budget."""
    from crestline.errors import ParameterError
    from crestline.ledger.budget import Budget

    name, *numbers = text.rsplit(":", 2)
    if len(numbers) != 2 or not name:
        raise ParameterError(f"an analyst is written NAME:EPSILON:DELTA, such as ann:0.5:1e-8, not {text!r}")
    if dataset.kind == "homogeneous":
        raise ParameterError("analysts under a homogeneous budget are added from Python: Ledger.add_analyst")
    when = dataset.calendar
    if when is None:
        return name, Budget(numbers[0], numbers[1], dataset.kind)
    return name, Budget(numbers[0], numbers[1], dataset.kind, per=when.per, time=when.time, zone=when.zone)
