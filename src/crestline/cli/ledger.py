"""`crestline ledger`: create a budget, show what is spent and what remains, verify the record."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crestline.cli.options import DatasetOption, WitnessOption
from crestline.cli.output import Format, FormatOption, echo_lines, operator_name, print_result, print_rows
from crestline.errors import LedgerError, ParameterError

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
OneDataset = Annotated[str | None, typer.Option(help="Only this data set.")]


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
    form: FormatOption = Format.AUTO,
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
        _print_accounts(ledger.accounts, form)


@ledger_app.command("add-analyst")
def add_analyst(
    address: Address,
    analyst: Annotated[str, typer.Argument(help="NAME:EPSILON:DELTA, such as ann:0.5:1e-8.")],
    dataset: DatasetOption = None,
    witness: WitnessOption = None,
    form: FormatOption = Format.AUTO,
) -> None:
    """Open a budget for an analyst under a data set's, before that analyst has been answered anything.

    Each of their questions must fit both budgets. From the first such budget on, analysts without one are refused.

    Example: crestline ledger add-analyst ledger.db ann:0.5:1e-8
    """
    from crestline.ledger.ledger import Ledger

    with Ledger.open(address, dataset=dataset, witness=witness) as ledger:
        ledger.add_analyst(*_parse_analyst_budget(analyst, ledger.budget))
        _print_accounts(ledger.accounts, form)


@ledger_app.command()
def show(address: Address, dataset: OneDataset = None, form: FormatOption = Format.AUTO) -> None:
    """Show every budget: what is settled, what is reserved, what is left."""
    from crestline.ledger.report import account_json, entry_json

    with _open_store(address) as store:
        accounts, waiting = _find_accounts(store, dataset), store.open_reservations(dataset)
        parts = [part for account in accounts for part in _periods(store, account)]

        def values() -> object:
            return {
                "ledger": store.address,
                "checksum": store.checksum(),
                "accounts": [account_json(account) for account in accounts],
                "periods": [
                    {name: value for name, value in account_json(part).items() if name != "budget"} for part in parts
                ],
                "users": {account.dataset: account.user for account in accounts if account.analyst is None},
                "open_reservations": [entry_json(entry) for entry in waiting],
            }

        def text() -> str:
            _print_accounts(accounts, Format.TABLE)
            _print_reservations(store, waiting)
            for account in accounts:
                _print_calendar(account, _periods(store, account))
            users = [f"data set {one.dataset!r}: the users of column {one.user!r}" for one in accounts if one.user]
            return "\n".join([*users, f"checksum {store.checksum()}"])

        print_result(form, json=values, csv=lambda: _csv_accounts(accounts), text=text)


@ledger_app.command()
def history(
    address: Address,
    dataset: OneDataset = None,
    last: Annotated[
        int, typer.Option("-n", "--last", min=0, help="Only this number of entries, the last; 0 for all.")
    ] = 50,
    form: FormatOption = Format.AUTO,
) -> None:
    """Show the questions of all analysts, their cost, and refusals.

    Example: crestline ledger history ledger.db -n 20
    """
    from crestline.ledger.report import ENTRY_FIELDS, entry_fields, entry_json

    with _open_store(address) as store:
        _find_accounts(store, dataset)
        entries = store.entries(dataset, last or None)
    print_result(
        form,
        json=lambda: [entry_json(entry) for entry in entries],
        csv=lambda: (ENTRY_FIELDS, [entry_fields(entry) for entry in entries]),
        text=lambda: _print_entries(entries),
    )


@ledger_app.command()
def verify(
    address: Address,
    checksum: Annotated[
        str | None,
        typer.Option("--checksum", help="A checksum (length:hash) that was kept outside the ledger."),
    ] = None,
    form: FormatOption = Format.AUTO,
) -> None:
    """Check every hash, every link and every sum. Exit code 1 when something is found."""
    with _open_store(address) as store:
        found = store.verify(checksum)

    def text() -> str:
        verdict = "The ledger holds." if found.ok else "The ledger does not hold:"
        back = f"  (The clock went backwards {found.backwards} times. That is no error of the ledger.)"
        first = f"{verdict} {found.entries} entries; checksum {found.checksum}"
        return "\n".join([first, *(f"  {line}" for line in found.findings), *([back] if found.backwards else [])])

    summary = {"ok": found.ok, "entries": found.entries, "checksum": found.checksum}
    print_result(
        form,
        json=lambda: {**summary, "clock_backwards": found.backwards, "findings": list(found.findings)},
        csv=lambda: (["finding"], [[finding] for finding in found.findings]),
        text=text,
    )
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
        before = store.accept(witness, by=operator_name())
        typer.echo(f"The witness knew {before}; it knows {store.checksum()} now.")


@ledger_app.command()
def export(
    address: Address,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Write to this file.")] = None,
) -> None:
    """Write out every entry, one line of JSON each, with all that is needed to check the chain.

    Example: crestline ledger export ledger.db -o ledger.jsonl
    """
    from crestline.ledger.report import entry_line

    try:
        with _open_store(address) as store, output.open("w") if output else nullcontext(sys.stdout) as file:
            store.read_all_entries(lambda entries: file.writelines(f"{entry_line(entry)}\n" for entry in entries))
    except OSError as error:
        raise ParameterError(f"{output} cannot be written: {error.strerror}") from None


@contextmanager
def _open_store(address: str) -> Iterator[Store]:
    """The ledger of all data sets at an address."""
    from datetime import UTC, datetime

    from crestline.ledger.storage.store import Store

    with closing(Store.open(address, lambda: datetime.now(UTC), timeout=30.0)) as store:
        yield store


def _find_accounts(store: Store, dataset: str | None) -> list[Account]:
    accounts = store.accounts(dataset)
    if not accounts and dataset is not None:
        raise LedgerError(f"ledger {store.address}: no budget is open for data set {dataset!r}")
    return accounts


def _print_accounts(accounts: list[Account], form: Format) -> None:
    """Print one line for each account: settled, reserved and remaining."""
    from crestline.ledger.report import ACCOUNT_COLUMNS, account_json, account_row

    print_result(
        form,
        json=lambda: [account_json(account) for account in accounts],
        csv=lambda: _csv_accounts(accounts),
        text=lambda: print_rows(ACCOUNT_COLUMNS, [account_row(account) for account in accounts], Format.TABLE),
    )


def _csv_accounts(accounts: list[Account]) -> tuple[Sequence[str], list[list[str]]]:
    from crestline.ledger.report import ACCOUNT_FIELDS, account_fields

    return ACCOUNT_FIELDS, [line for account in accounts for line in account_fields(account)]


def _print_entries(entries: list[Entry], title: str = "") -> None:
    from crestline.ledger.report import ENTRY_COLUMNS, entry_row

    print_rows(ENTRY_COLUMNS, [entry_row(entry) for entry in entries], Format.TABLE, title)


def _print_reservations(store: Store, waiting: list[Entry]) -> None:
    """Print the reservations that are not settled: those for reports that are not due yet, and others."""
    ahead = store.reserved_ahead()
    numbers = {entry.sequence for entry in ahead}
    if ahead:
        rows = [
            {"sequence": entry.sequence, "what": entry.content["data_version"], "charge": str(entry.charge_of(None))}
            for entry in waiting
            if entry.sequence in numbers
        ]
        title = "Reserved ahead, for reports that are not due yet"
        print_rows({"sequence": "#", "what": "for", "charge": "charge"}, rows, Format.TABLE, title)
    hanging = [entry for entry in waiting if entry.sequence not in numbers]
    if hanging:
        _print_entries(hanging, "Reserved and not settled: being answered now, or lost in a crash. They stay charged.")


def _periods(store: Store, account: Account) -> list[Account]:
    """Accounts of the periods and windows of a budget by period."""
    by_period = account.balance.budget.calendar is not None
    return store.periods(account.dataset, account.analyst) if by_period else []


def _print_calendar(whole: Account, periods: list[Account]) -> None:
    """Print what remains of each period, and the promises of the budget."""
    from crestline.ledger.periods import promise_texts
    from crestline.ledger.report import period_calendar

    single = [account for account in periods if account.span == 1]
    if single:
        heads, rows = period_calendar(single)
        whose = whole.dataset if whole.analyst is None else f"{whole.dataset} / {whole.analyst}"
        cells = [dict(zip(heads, row, strict=True)) for row in rows]
        title = f"{whose}: what is left of each {whole.balance.budget.calendar.per}"  # type: ignore[union-attr] # by period
        print_rows({head: head for head in heads}, cells, Format.TABLE, title)
    if whole.analyst is None:
        echo_lines(*promise_texts(whole.balance.budget, len(single)))


def _parse_cap(text: str, kind: str) -> Window:
    from crestline.ledger.budget import Window

    periods, *numbers = text.split(":")
    if len(numbers) != 2 or not periods.isdecimal():
        raise ParameterError(f"a cap is written PERIODS:EPSILON:DELTA, such as 12:4:1e-6, not {text!r}")
    return Window(int(periods), numbers[0], numbers[1], kind)


def _parse_analyst_budget(text: str, dataset: Budget) -> tuple[str, Budget]:
    """An analyst's name and budget, with the kind and periods of the data set's budget."""
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
