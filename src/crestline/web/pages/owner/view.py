"""What the owner's page says: data sets, analysts, tokens (pure: values in, HTML out)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from crestline.ledger.entries import stamp
from crestline.ledger.report import used
from crestline.ledger.storage.records import Account
from crestline.web.access.tokens import Token
from crestline.web.config import AnalystConfig, Config, DatasetConfig
from crestline.web.pages.parts.html import Html, join, table, tag, void
from crestline.web.pages.parts.layout import moment, note, section
from crestline.web.pages.past.budget_view import left

USUAL_LIFE = "90d"


def owner_page(
    config: Config, accounts: Sequence[Account], tokens: Sequence[Token], now: datetime, wrong: str | None = None
) -> Html:
    """Everything that is served, to whom, and who holds a token. `wrong` is what cannot be done with the form."""
    return join(
        [
            section("Data sets", _datasets(list(config.datasets.values()), accounts), name="datasets"),
            section("Analysts", _analysts(list(config.analysts.values()), accounts, tokens, now), name="analysts"),
            section("Tokens", _create(list(config.analysts), wrong), _tokens(tokens, now), name="tokens"),
        ]
    )


def secret_page(analyst: str, token: str, expires: datetime | None) -> Html:
    """A token that was just made: the only time it is shown."""
    end = "It does not end by itself." if expires is None else join(["It ends at ", moment(stamp(expires)), "."])
    return section(
        f"A token for {analyst}",
        note("Copy it now, and hand it over on a safe way: it is not shown again. ", end),
        tag("pre", tag("code", token), data_copy="text", tabindex="0", role="region", aria_label="The token"),
        tag("p", tag("a", "Back to the owner's page", href="/owner")),
        name="secret",
    )


def state_of(token: Token, now: datetime) -> str:
    """Whether a token holds."""
    if token.revoked is not None:
        return "revoked"
    return "holds" if token.expires is None or stamp(now) < token.expires else "expired"


def _datasets(datasets: Sequence[DatasetConfig], accounts: Sequence[Account]) -> Html:
    own = {account.dataset: account for account in accounts if account.analyst is None}
    rows = [
        (
            tag("a", part.name, href=f"/datasets/{part.name}"),
            part.user,
            ", ".join(part.items),
            ", ".join(dict.fromkeys((*part.filters, *part.sums, *part.groups))) or "none",
            part.version or "by the source",
            str(part.budget),
            _left(own.get(part.name)),
        )
        for part in datasets
    ]
    heads = ("Data set", "User", "Items", "Filters, sums, groups", "Version", "Budget", "Left")
    return table("What is served; the configuration says so, and a reload follows it", heads, rows)


def _analysts(
    analysts: Sequence[AnalystConfig], accounts: Sequence[Account], tokens: Sequence[Token], now: datetime
) -> Html:
    rows = []
    for person in analysts:
        own = [account for account in accounts if account.analyst == person.name]
        holds = sum(token.analyst == person.name and state_of(token, now) == "holds" for token in tokens)
        budgets = [f"{account.dataset}: {account.balance.budget}; {_left(account)}" for account in own]
        told = budgets or ["asks at the expense of the data sets"]
        rows.append((person.name, person.role, join(tag("div", one) for one in told), str(holds)))
    opened = tag("p", tag("a", "When budgets were opened", href="/history?find=opened"))
    heads = ("Name", "Role", "Budgets", "Tokens that hold")
    return join([table("Who may ask", heads, rows, numbers=(3,)), opened])


def _left(account: Account | None) -> str:
    if account is None or account.balance.budget.calendar is not None:
        return "by period"
    return f"{1 - used(account):.1%} left" if account.analyst is not None else left(account)


def _create(analysts: Sequence[str], wrong: str | None) -> Html:
    names = [tag("option", name, value=name) for name in analysts]
    error = () if wrong is None else (tag("p", wrong, class_="field-error", id="expires-error"),)
    hint = "Hours, days or weeks: 12h, 90d, 8w. Empty: it does not end by itself."
    described = "expires-hint" if wrong is None else "expires-hint expires-error"
    field = void(
        "input", type="text", id="expires", name="expires", value=USUAL_LIFE, maxlength="10",
        aria_describedby=described, aria_invalid=None if wrong is None else "true",
    )  # fmt: skip
    return tag(
        "form",
        tag("div", tag("label", "For", for_="analyst"), tag("select", *names, id="analyst", name="analyst")),
        tag(
            "div",
            tag("label", "Ends after", for_="expires"),
            field,
            *error,
            tag("p", hint, class_="hint", id="expires-hint"),
        ),
        tag("div", tag("button", "Make a token")),
        class_="ask narrow",
        method="post",
        action="/owner/tokens",
    )


def _tokens(tokens: Sequence[Token], now: datetime) -> Html:
    if not tokens:
        return tag("p", "There are no tokens so far.")
    rows = [
        (
            token.id,
            token.analyst,
            moment(token.created),
            "never" if token.expires is None else moment(token.expires),
            _state(token, now),
            _revoke(token) if state_of(token, now) == "holds" else "",
        )
        for token in reversed(tokens)
    ]
    heads = ("Number", "Analyst", "Made", "Ends", "State", "Revoke")
    return table("All tokens, the newest first; of the tokens themselves only hashes are kept", heads, rows)


def _state(token: Token, now: datetime) -> Html:
    state = state_of(token, now)
    return tag("span", state, class_="tag" if state == "holds" else "tag bad")


def _revoke(token: Token) -> Html:
    return tag(
        "form",
        void("input", type="hidden", name="number", value=token.id),
        tag("button", "Revoke", class_="quiet", aria_label=f"Revoke {token.id} of {token.analyst}"),
        method="post",
        action="/owner/revoke",
    )
