"""What all pages share: the frame, and what is said when something happened (pure: values in, HTML out)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import NamedTuple, TypedDict, Unpack

from crestline.ledger.amount import Amount
from crestline.web.pages.parts.html import Html, element, join_html, void

PLACES = {
    "/": "Data sets",
    "/budget": "Budget",
    "/history": "History",
    "/reports": "Reports",
    "/mechanisms": "Mechanisms",
}

FOR_OWNERS = {"/owner": "Owner"}


class Visitor(NamedTuple):
    """Who is signed in, and whether they own the data."""

    name: str
    is_owner: bool


class Frame(TypedDict, total=False):
    """What stands around a page: its place in the navigation, a line below the title, and whether our script is there,
    for a page that is quicker with it."""

    here: str | None
    lead: str | None
    script: bool


def page(title: str, *body: object, who: Visitor | None, **frame: Unpack[Frame]) -> Html:
    """A whole page; `who` is signed in, or nobody is."""
    here, lead = frame.get("here"), frame.get("lead")
    head = element(
        "head",
        void("meta", charset="utf-8"),
        void("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", f"{title} – crestline"),
        void("link", rel="icon", href="/icon.svg", type="image/svg+xml"),
        void("link", rel="stylesheet", href="/style.css"),
        element("script", src="/script.js", defer=True) if frame.get("script") else "",
    )
    skip = element("a", "Skip to the content", class_="skip", href="#content")
    below = () if lead is None else (element("p", lead, class_="lead"),)
    main = element("main", element("h1", title), *below, *body, id="content", tabindex="-1")
    return Html(
        "<!DOCTYPE html>" + element("html", head, element("body", skip, _page_header(who, here), main), lang="en")
    )


def _page_header(who: Visitor | None, here: str | None) -> Html:
    parts = [element("a", "crestline", href="/", class_="brand")]
    if who is not None:
        leave = element("form", element("button", "Sign out", class_="quiet"), method="post", action="/sign-out")
        places = {**PLACES, **FOR_OWNERS} if who.is_owner else PLACES
        parts += [_navigation(places, here), element("div", element("span", who.name), leave, class_="who")]
    return element("header", element("div", *parts, class_="bar-inner"))


def _navigation(places: Mapping[str, str], here: str | None) -> Html:
    links = [
        element("li", element("a", words, href=place, aria_current="page" if place == here else None))
        for place, words in places.items()
    ]
    return element("nav", element("ul", *links), aria_label="Pages")


def section(title: str, *body: object, name: str) -> Html:
    """A part of a page, which a screen reader can jump to by its title; `name` must be unique on the page."""
    return element("section", element("h2", title, id=name), *body, aria_labelledby=name)


def alert_box(message: str) -> Html:
    """Something went wrong."""
    return element("p", message, class_="alert", role="alert")


def note_box(*message: object) -> Html:
    """Something to know."""
    return element("p", *message, class_="note", role="status")


def error_footer(number: str) -> Html:
    """The number to tell the owner, and a way out."""
    return element("p", f"Request {number}. ", element("a", "Back to the data sets", href="/"))


def definition_list(*lines: tuple[str, object]) -> Html:
    """Names and values."""
    return element("dl", *(part for name, value in lines for part in (element("dt", name), element("dd", value))))


def amount_html(spent: Amount) -> Html:
    """So much of a budget; a line may end between its two units, and nowhere else."""
    return join_html([part for word in str(spent).split(", ") for part in (element("span", word, class_="unit"), " ")])


def capitalize_first(text: str) -> str:
    """A sentence of the core, as a page begins one."""
    return text[:1].upper() + text[1:]


def time_html(time: str) -> Html:
    """A time of the ledger, in UTC."""
    return element("time", minute_text(datetime.fromisoformat(time)) + " UTC", datetime=time)


def minute_text(time: datetime) -> str:
    """A time to the minute."""
    return time.astimezone(UTC).strftime("%Y-%m-%d %H:%M")
