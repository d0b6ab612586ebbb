"""What the owner's page says: data sets, analysts, tokens (pure: values in, HTML out)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from crestline.access.tokens import Token
from crestline.config import AnalystConfig, Config, DatasetConfig
from crestline.ledger.entries import utc_text
from crestline.ledger.report import fraction_used
from crestline.ledger.storage.rows import Account
from crestline.web.pages.history.budget_view import remaining_text
from crestline.web.pages.parts.html import Html, element, join_html, table, void
from crestline.web.pages.parts.layout import note_box, section, time_html

USUAL_LIFE = "90d"


def owner_page(
    config: Config, accounts: Sequence[Account], tokens: Sequence[Token], now: datetime, wrong: str | None = None
) -> Html:
    """Everything that is served, to whom, and who holds a token. `wrong` is what cannot be done with the form."""
    return join_html(
        [
            section("Data sets", _datasets_table(list(config.datasets.values()), accounts), name="datasets"),
            section(
                "Analysts", _analysts_table(list(config.analysts.values()), accounts, tokens, now), name="analysts"
            ),
            section("Tokens", _create_form(list(config.analysts), wrong), _tokens(tokens, now), name="tokens"),
        ]
    )


def new_token_page(analyst: str, token: str, expires: datetime | None) -> Html:
    """A token that was just made: the only time it is shown."""
    end = (
        "It does not end by itself."
        if expires is None
        else join_html(["It ends at ", time_html(utc_text(expires)), "."])
    )
    return section(
        f"A token for {analyst}",
        note_box("Copy it now, and hand it over on a safe way: it is not shown again. ", end),
        element("pre", element("code", token), data_copy="text", tabindex="0", role="region", aria_label="The token"),
        element("p", element("a", "Back to the owner's page", href="/owner")),
        name="secret",
    )


def token_state(token: Token, now: datetime) -> str:
    """Whether a token holds."""
    if token.revoked is not None:
        return "revoked"
    return "holds" if token.expires is None or utc_text(now) < token.expires else "expired"


def _datasets_table(datasets: Sequence[DatasetConfig], accounts: Sequence[Account]) -> Html:
    own = {account.dataset: account for account in accounts if account.analyst is None}
    rows = [
        (
            element("a", part.name, href=f"/datasets/{part.name}"),
            part.user,
            ", ".join(part.items),
            ", ".join(dict.fromkeys((*part.filters, *part.sums, *part.groups))) or "none",
            part.version or "by the source",
            str(part.budget),
            _remaining_text(own.get(part.name)),
        )
        for part in datasets
    ]
    heads = ("Data set", "User", "Items", "Filters, sums, groups", "Version", "Budget", "Left")
    return table("What is served; the configuration says so, and a reload follows it", heads, rows)


def _analysts_table(
    analysts: Sequence[AnalystConfig], accounts: Sequence[Account], tokens: Sequence[Token], now: datetime
) -> Html:
    rows = []
    for person in analysts:
        own = [account for account in accounts if account.analyst == person.name]
        holds = sum(token.analyst == person.name and token_state(token, now) == "holds" for token in tokens)
        budgets = [f"{account.dataset}: {account.balance.budget}; {_remaining_text(account)}" for account in own]
        told = budgets or ["asks at the expense of the data sets"]
        rows.append((person.name, person.role, join_html(element("div", one) for one in told), str(holds)))
    opened = element("p", element("a", "When budgets were opened", href="/history?find=opened"))
    heads = ("Name", "Role", "Budgets", "Tokens that hold")
    return join_html([table("Who may ask", heads, rows, numbers=(3,)), opened])


def _remaining_text(account: Account | None) -> str:
    if account is None or account.balance.budget.calendar is not None:
        return "by period"
    return f"{1 - fraction_used(account):.1%} left" if account.analyst is not None else remaining_text(account)


def _create_form(analysts: Sequence[str], wrong: str | None) -> Html:
    names = [element("option", name, value=name) for name in analysts]
    error = () if wrong is None else (element("p", wrong, class_="field-error", id="expires-error"),)
    hint = "Hours, days or weeks: 12h, 90d, 8w. Empty: it does not end by itself."
    described = "expires-hint" if wrong is None else "expires-hint expires-error"
    field = void(
        "input", type="text", id="expires", name="expires", value=USUAL_LIFE, maxlength="10",
        aria_describedby=described, aria_invalid=None if wrong is None else "true",
    )  # fmt: skip
    return element(
        "form",
        element(
            "div", element("label", "For", for_="analyst"), element("select", *names, id="analyst", name="analyst")
        ),
        element(
            "div",
            element("label", "Ends after", for_="expires"),
            field,
            *error,
            element("p", hint, class_="hint", id="expires-hint"),
        ),
        element("div", element("button", "Make a token")),
        class_="ask narrow",
        method="post",
        action="/owner/tokens",
    )


def _tokens(tokens: Sequence[Token], now: datetime) -> Html:
    if not tokens:
        return element("p", "There are no tokens so far.")
    rows = [
        (
            token.id,
            token.analyst,
            time_html(token.created),
            "never" if token.expires is None else time_html(token.expires),
            _state_tag(token, now),
            _revoke_button(token) if token_state(token, now) == "holds" else "",
        )
        for token in reversed(tokens)
    ]
    heads = ("Number", "Analyst", "Made", "Ends", "State", "Revoke")
    return table("All tokens, the newest first; of the tokens themselves only hashes are kept", heads, rows)


def _state_tag(token: Token, now: datetime) -> Html:
    state = token_state(token, now)
    return element("span", state, class_="tag" if state == "holds" else "tag bad")


def _revoke_button(token: Token) -> Html:
    return element(
        "form",
        void("input", type="hidden", name="number", value=token.id),
        element("button", "Revoke", class_="quiet", aria_label=f"Revoke {token.id} of {token.analyst}"),
        method="post",
        action="/owner/revoke",
    )
