"""Accounts and entries as rows for tables, CSV and JSON (pure)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from crestline.ledger.amount import Amount
from crestline.ledger.budget_fractions import epsilon_worth, fraction_of, how_often_fits, usual_share
from crestline.ledger.entries import ENDINGS, Entry, canonical_json
from crestline.periods.calendar_grid import calendar_grid

if TYPE_CHECKING:
    from crestline.ledger.storage.rows import Account

ACCOUNT_COLUMNS = {
    "whose": "data set / analyst",
    "budget": "budget",
    "used": "used",
    "left": "left",
    "pays": "pays for",
}
ACCOUNT_FIELDS = ("dataset", "analyst", "kind", "epsilon", "delta", "unit", "limit", "settled", "held", "remaining")
ENTRY_COLUMNS = {
    "sequence": "#",
    "time": "time",
    "kind": "what",
    "whose": "data set / analyst",
    "charge": "charge",
    "question": "question",
}
ENTRY_FIELDS = ("sequence", "time", "kind", "dataset", "analyst", "receipt", "mechanism", "charge", "question", "hash")
_LONGEST_QUESTION = 60


def account_row(account: Account) -> dict[str, str]:
    """One account for people; where the budget is by period, a calendar below says what is left."""
    balance = account.balance
    if balance.budget.calendar is not None and account.period is None:
        by_period = dict.fromkeys(("used", "left", "pays"), "by period")
        return {
            "whose": _account_name(account.dataset, account.analyst),
            "budget": str(balance.budget).replace(", ", "\n"),
            **by_period,
        }
    part, pays = fraction_used(account), usual_questions(account)
    return {
        "whose": _account_name(account.dataset, account.analyst),
        "budget": str(balance.budget).replace(", ", "\n"),
        "used": f"{part:.1%}",
        "left": f"{1 - part:.1%}, worth\nepsilon {epsilon_worth(balance.budget, balance.remaining):.3g}",
        "pays": "any number" if pays is None else f"{pays:,} usual\nquestions",
    }


def period_calendar(accounts: Sequence[Account]) -> tuple[list[str], list[list[str]]]:
    """The accounts of periods as a calendar: how much is left of each, and how much is reserved; windows left out."""
    return calendar_grid({one.period: _remaining_text(one) for one in accounts if one.period and one.span == 1})


def _remaining_text(account: Account) -> str:
    held = fraction_of(account.balance.held, account.balance.budget.limit)
    return f"{1 - fraction_used(account):.0%}" + (f", {held:.0%} reserved" if held else "")


def account_fields(account: Account) -> list[list[str]]:
    """One account for CSV: a line for each of its two units, exact."""
    balance = account.balance
    amounts = [amount.to_json() for amount in (balance.budget.limit, balance.settled, balance.held, balance.remaining)]
    budget = balance.budget.to_json()
    whose = [account.dataset, account.analyst or "", budget["kind"], budget["epsilon"], budget["delta"]]
    return [[*whose, unit, *(amount[unit] for amount in amounts)] for unit in balance.budget.limit.units]


def account_json(account: Account) -> dict[str, Any]:
    """One account for programs: exact numbers as text."""
    balance = account.balance
    amounts = {"settled": balance.settled, "held": balance.held, "remaining": balance.remaining}
    exact = {name: amount.to_json() for name, amount in amounts.items()}
    whose: dict[str, Any] = {"dataset": account.dataset, "analyst": account.analyst}
    if account.period is not None:
        whose |= {"period": account.period, "periods": account.span}
    epsilons = {
        "used_epsilon": epsilon_worth(balance.budget, balance.total_charged),
        "left_epsilon": epsilon_worth(balance.budget, balance.remaining),
    }
    return {
        **whose,
        "budget": balance.budget.to_json(),
        **exact,
        "used": round(fraction_used(account), 6),
        **{name: float(f"{epsilon:.6g}") for name, epsilon in epsilons.items()},
        "usual_questions": usual_questions(account),
    }


def account_decimals(account: Account) -> dict[str, Any]:
    """The same with decimals for programs that do not calculate exactly, and the exact numbers beside them."""
    exact = account_json(account)
    kept = {name: exact[name] for name in ("budget", "settled", "held", "remaining")}
    return {**exact, **{name: _decimals(value) for name, value in kept.items()}, "exact": kept}


def _decimals(written: Mapping[str, Any]) -> dict[str, Any]:
    """Exact numbers as the nearest decimals; the terms of a budget, which only a check needs, are left out."""
    found: dict[str, Any] = {}
    for name, value in written.items():
        if name == "cap":
            found[name] = _decimals(value)
        elif isinstance(value, str) and "/" in value:
            found[name] = float(Fraction(value))
        elif name != "terms":
            found[name] = value
    return found


def fraction_used(account: Account) -> float:
    """The part of the budget that is charged, by the unit that is nearer to its end."""
    return fraction_of(account.balance.total_charged, account.balance.budget.limit)


def usual_questions(account: Account) -> int | None:
    """How many questions at the usual share what is left pays for, if each returns all that it asks for."""
    return how_often_fits(usual_share(account.balance.budget), account.balance.remaining)


def entry_row(entry: Entry) -> dict[str, Any]:
    """One entry for people."""
    content = entry.content
    asked = (content.get("mechanism") or "", _question(content))
    return {
        "sequence": entry.sequence,
        "time": content["time"][:19].replace("T", " "),
        "kind": entry.kind,
        "whose": _account_name(entry.dataset, entry.analyst),
        "charge": _charge(entry),
        "question": " ".join(part for part in asked if part),
    }


def entry_fields(entry: Entry) -> list[Any]:
    """One entry for CSV: amounts exact, the question whole."""
    content = entry.content
    charged = content.get("charge") or content.get("requested") or content.get("budget") or ""
    asked = canonical_json(content["question"]) if "question" in content else ""
    who = [entry.dataset, entry.analyst or "", entry.receipt or "", content.get("mechanism") or ""]
    return [entry.sequence, content["time"], entry.kind, *who, charged and canonical_json(charged), asked, entry.hash]


def entry_json(entry: Entry) -> dict[str, Any]:
    """One entry for programs. The canonical text of all but `hash` is what was hashed, so the chain can be checked."""
    return {**entry.content, "hash": entry.hash}


def entry_line(entry: Entry) -> str:
    """One entry as one line of JSON."""
    return json.dumps(entry_json(entry), sort_keys=True)


def _account_name(dataset: str, analyst: str | None) -> str:
    return dataset if analyst is None else f"{dataset} / {analyst}"


def _charge(entry: Entry) -> str:
    """What the data set's account is charged, or what was asked for in vain; or the budget that was opened."""
    content = entry.content
    if entry.kind == "opened":
        from crestline.ledger.budget import Budget

        return str(Budget.from_json(content["budget"]))
    if "requested" in content:
        return f"refused: {Amount.from_entry(content['requested'])}"
    if entry.kind == "voided":
        return "nothing: given back, it was never asked"
    return str(entry.charge_of(None)) if "charge" in content else "nothing"


def _question(content: dict[str, Any]) -> str:
    """The question, cut to fit; escaped, so that nothing in it can reach the terminal."""
    if content["kind"] in ("begun", *ENDINGS, "answered"):
        return f"question {content['receipt']}"
    text = canonical_json(content["question"]) if content.get("question") else ""
    return text if len(text) <= _LONGEST_QUESTION else text[: _LONGEST_QUESTION - 1] + "…"
