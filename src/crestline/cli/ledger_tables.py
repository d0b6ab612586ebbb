"""Output of `crestline ledger`: accounts, the periods of a budget, and notes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crestline.cli.output import Format, make_console, print_csv, print_json, print_rows, resolve_format

if TYPE_CHECKING:
    from crestline.ledger.entries import Entry
    from crestline.ledger.storage.rows import Account
    from crestline.ledger.storage.store import Store


def print_accounts(accounts: list[Account], form: Format) -> None:
    """Print one line for each account: settled, reserved and remaining."""
    from crestline.ledger.report import ACCOUNT_COLUMNS, ACCOUNT_FIELDS, account_fields, account_json, account_row

    if resolve_format(form) is Format.JSON:
        print_json([account_json(account) for account in accounts])
    elif resolve_format(form) is Format.CSV:
        print_csv(ACCOUNT_FIELDS, [line for account in accounts for line in account_fields(account)])
    else:
        print_rows(ACCOUNT_COLUMNS, [account_row(account) for account in accounts], form)


def period_accounts(store: Store, account: Account) -> list[Account]:
    """Accounts of the periods and windows of a budget by period."""
    by_period = account.balance.budget.calendar is not None
    return store.periods(account.dataset, account.analyst) if by_period else []


def period_json(account: Account) -> dict[str, Any]:
    """JSON values of the account of a period, without its budget, which is listed with the whole account."""
    from crestline.ledger.report import account_json

    return {name: value for name, value in account_json(account).items() if name != "budget"}


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
        for promise in promise_texts(whole.balance.budget, len(single)):
            make_console().print(promise, markup=False)


def _print_ahead(entries: list[Entry]) -> None:
    """Print the reservations for reports that are not due yet."""
    rows = [
        {"sequence": entry.sequence, "what": entry.content["data_version"], "charge": str(entry.charge_of(None))}
        for entry in entries
    ]
    title = "Reserved ahead, for reports that are not due yet"
    print_rows({"sequence": "#", "what": "for", "charge": "charge"}, rows, Format.TABLE, title)


def print_notes(store: Store, accounts: list[Account], waiting: list[Entry]) -> None:
    """Print notes on accounts: whose presence is hidden, unsettled reservations, and the checksum to keep elsewhere."""
    from crestline.ledger.report import ENTRY_COLUMNS, entry_row

    ahead = store.reserved_ahead()
    numbers = {entry.sequence for entry in ahead}
    ahead, hanging = [[entry for entry in waiting if (entry.sequence in numbers) is said] for said in (True, False)]
    if ahead:
        _print_ahead(ahead)
    if hanging:
        title = "Reserved and not settled: being answered now, or lost in a crash. They stay charged."
        print_rows(ENTRY_COLUMNS, [entry_row(entry) for entry in hanging], Format.TABLE, title)
    for account in accounts:
        _print_calendar(account, period_accounts(store, account))
    for account in accounts:
        if account.user is not None:
            make_console().print(f"data set {account.dataset!r}: the users of column {account.user!r}", markup=False)
    make_console().print(f"checksum {store.checksum()}", markup=False)
