"""Pages from templates: values in, text out.

A template escapes every value; what is no text of ours is also made printable, so no label can steer what shows it.
Where a person's own words stand in a field, `as_typed` leaves them as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache, wraps
from html import escape
from importlib.resources import files
from typing import ParamSpec

from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from crestline.charts import drawing
from crestline.label_text import label_text
from crestline.web.permissions import Caller

P = ParamSpec("P")

# Nothing but our own files, and no script, style or handler inside a page.
POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'"
)
KINDS = {"style.css": "text/css", "script.js": "text/javascript", "icon.svg": "image/svg+xml"}


@cache
def asset(name: str) -> str:
    """The text of one of `KINDS`."""
    return (files("crestline.web") / "static" / name).read_text(encoding="utf-8")


def page_response(
    template: str, *, who: Caller | None, status: int = 200, here: str | None = None, **values: object
) -> HTMLResponse:
    """A page with its headers, from its template and what that needs; `here` is its place in the menu."""
    text = _environment().get_template(template).render(who=who, here=here, status=status, **values)
    return HTMLResponse(text, status_code=status, headers={"Content-Security-Policy": POLICY})


def time_text(time: datetime | str) -> str:
    """A time as people write it, to the minute, in UTC."""
    return f"{day_text(time)}, {_in_utc(time):%H:%M}"


def day_text(time: datetime | str) -> str:
    """The day of a time, in UTC: 5 October 2026."""
    moment = _in_utc(time)
    return f"{moment.day} {moment:%B %Y}"


def _in_utc(time: datetime | str) -> datetime:
    moment = datetime.fromisoformat(time) if isinstance(time, str) else time
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def capitalize_first(text: str) -> str:
    """A sentence of the core, as a page begins one."""
    return text[:1].upper() + text[1:]


@cache
def _environment() -> Environment:
    """The templates, and the few functions that they draw with."""
    made = Environment(
        loader=PackageLoader("crestline.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_show_value,
        auto_reload=False,
    )
    drawn = (drawing.ranking, drawing.blocks, drawing.balance, drawing.period_balance, drawing.rank_lines)
    made.globals.update({one.__name__: _as_markup(one) for one in drawn}, script=False)
    made.filters.update(
        time=time_text,
        day=day_text,
        label=label_text,
        capitalize_first=capitalize_first,
        as_typed=lambda value: Markup(escape(str(value))),  # noqa: S704 -- it is escaped here
    )
    return made


def _show_value(value: object) -> object:
    """A value as a page shows it: nothing for None, and no character that steers or reorders what stands around it."""
    if value is None:
        return ""
    return value if isinstance(value, Markup) else label_text(value)


def _as_markup(draw: Callable[P, str]) -> Callable[P, Markup]:
    """The same function for templates: what it returns is HTML already, with every name escaped."""

    @wraps(draw)
    def draw_markup(*args: P.args, **named: P.kwargs) -> Markup:
        return Markup(draw(*args, **named))  # noqa: S704 -- `charts.drawing` escapes what it is given

    return draw_markup
