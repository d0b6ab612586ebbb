"""The page on which a question is asked: the form, and beside it what `forecast_view` says about the question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from crestline.periods.calendar import index_of, label_of
from crestline.question import AUTO
from crestline.web.config import DEFAULT_SHAPE, DatasetConfig
from crestline.web.pages.forecast import PER_USER, offered
from crestline.web.pages.forecast_view import SHAPES
from crestline.web.pages.parts.html import Html, tag, void
from crestline.web.pages.parts.layout import section

_NOT_YET = (
    "Press Forecast to see what this question would cost, which mechanism would answer it, and what to expect. "
    "That asks nothing, costs nothing and reads no row."
)


@dataclass(frozen=True)
class Given:
    """What was written into the form, and which field is wrong, and why."""

    values: Mapping[str, str]
    error: tuple[str, str] | None = None

    def get(self, name: str, default: str) -> str:
        """What was written into a field."""
        return self.values.get(name, default)

    def __contains__(self, name: str) -> bool:
        return name in self.values


def ask_page(dataset: DatasetConfig, given: Given, chosen: Sequence[str], key: str, said: Html | None) -> Html:
    """The form, and what is said about the question so far. `key` makes it count once, however often it is sent."""
    told = said or tag("p", _NOT_YET, class_="hint")
    return tag(
        "div",
        section("Your question", _form(dataset, given, chosen, key), name="question"),
        section(
            "Cost and forecast",
            tag("div", told, id="said", tabindex="-1", role="status", aria_live="polite"),
            name="forecast",
        ),
        class_="two",
    )


def _form(dataset: DatasetConfig, given: Given, chosen: Sequence[str], key: str) -> Html:
    listed = ", ".join(dataset.filters)
    hint = f"Optional. You may use: {listed}. Text and dates in single quotes." if listed else "No filters here."
    numbers = (
        _field(given, "epsilon", "ε of this answer", "", hint="Empty: a tenth of your budget."),
        _field(given, "delta", "δ of this answer", "", hint="Empty: a 500th of your budget's."),
    )
    names = {AUTO: "automatic", **{name: name for name in offered()}}
    return tag(
        "form",
        void("input", type="hidden", name="key", value=key),
        tag(
            "fieldset",
            tag("legend", "Items: one column, or several"),
            *(_box("item", name, name, checked=name in chosen) for name in dataset.items),
            *_error(given, "item"),
            data_field="item",
        ),
        *_groups(dataset, given, chosen),
        _field(given, "k", "How many", "10", "number", min="1", required=True),
        *_when(dataset, given),
        _field(given, "where", "Filter", "", hint=hint),
        tag("div", *numbers, class_="pair"),
        _box("counts", "yes", "Release noisy counts, too", checked="counts" in given),
        _box("coverage", "yes", "Release how many users the items reach, too", checked="coverage" in given),
        _box("set", "yes", "A set will do: their order does not matter", checked="set" in given),
        _box("once", "yes", "Read the table in one pass", checked="once" in given),
        *_sums(dataset, given),
        *_lists(dataset, given),
        _choice("mechanism", "Mechanism", names, given.get("mechanism", AUTO)),
        _guesses(dataset, given),
        tag(
            "div",
            tag("button", "Forecast", class_="second", name="do", value="forecast"),
            tag("button", "Ask", name="do", value="ask"),
            class_="buttons",
        ),
        class_="ask",
        method="post",
        action=f"/datasets/{dataset.name}#said",
        data_forecast=True,
    )


def _when(dataset: DatasetConfig, given: Given) -> tuple[Html, ...]:
    """Which periods are read, where the budget is by period."""
    calendar = dataset.budget.calendar
    if calendar is None:
        return ()
    example = label_of(calendar.per, index_of(calendar.per, date(2026, 10, 5)))
    named = (
        _field(given, "period", f"One {calendar.per}", "", hint=f"Such as {example}. Or:"),
        _field(given, "last", f"The last {calendar.per}s", "", "number", hint="That have ended. Or:", min="1"),
    )
    several = (_field(given, "since", "From", ""), _field(given, "until", "To", ""))
    still_open = f"Also a {calendar.per} that has not ended: its rows are not all there"
    return (
        tag(
            "fieldset",
            tag("legend", f"When: each {calendar.per} pays from its own budget"),
            tag("div", *named, class_="pair"),
            tag("div", *several, class_="pair"),
            _box("open", "yes", still_open, checked="open" in given),
        ),
    )


def _groups(dataset: DatasetConfig, given: Given, chosen: Sequence[str]) -> tuple[Html, ...]:
    """The top k of every group, where the owner allows it for some column."""
    if not dataset.groups:
        return ()
    hint = "Each user counts in so many groups, and so many releases are paid for, however many groups there are."
    boxes = (_box("by", name, f"by {name}", checked=f"by {name}" in chosen) for name in dataset.groups)
    return (
        tag("fieldset", tag("legend", "For every group (optional)"), *boxes),
        _field(given, "groups_per_user", "Groups of each user", "1", "number", hint=hint, min="1"),
    )


def _sums(dataset: DatasetConfig, given: Given) -> tuple[Html, ...]:
    """Ranking by a sum, where the owner allows it for some column."""
    if not dataset.sums:
        return ()
    names = {"": "number of users", **{name: f"sum of {name}" for name in dataset.sums}}
    hint = "For a sum: the most that one user may add to one item. A public number."
    return (
        _choice("sum", "Rank by", names, given.get("sum", "")),
        _field(given, "clip", "Clip", "", "number", hint=hint, min="1"),
    )


def _lists(dataset: DatasetConfig, given: Given) -> tuple[Html, ...]:
    """A public list of all items, where the owner gave one."""
    if not dataset.domains:
        return ()
    names = {"": "not publicly listed", **{name: name for name in dataset.domains}}
    return (_choice("domain", "All items are", names, given.get("domain", "")),)


def _guesses(dataset: DatasetConfig, given: Given) -> Html:
    public = dataset.public
    users, per_user = ("", "") if public is None else (str(public.users), str(public.per_user or PER_USER))
    shape = given.get("shape", DEFAULT_SHAPE if public is None else public.shape)
    known = SHAPES if shape in SHAPES else {shape: f"as published: {shape}", **SHAPES}
    fields = (
        _field(given, "users", "Users, roughly", users, "number", min="1"),
        _field(given, "per_user", "Items of each user", per_user or str(PER_USER), "number", min="1"),
    )
    return tag(
        "fieldset",
        tag("legend", "For the forecast only"),
        tag("p", "What is known in public, or guessed. It is not looked up, and changes no answer.", class_="hint"),
        tag("div", *fields, class_="pair"),
        _choice("shape", "Popularity, from rank to rank", known, shape),
    )


def _box(name: str, value: str, words: str, *, checked: bool) -> Html:
    box = void("input", type="checkbox", name=name, value=value, checked=True if checked else None)
    return tag("label", box, words, class_="inline")


def _choice(name: str, words: str, options: Mapping[str, str], value: str) -> Html:
    listed = [tag("option", text, value=key, selected=True if key == value else None) for key, text in options.items()]
    return tag("div", tag("label", words, for_=name), tag("select", *listed, id=name, name=name))


def _field(
    given: Given, name: str, words: str, value: str, kind: str = "text", hint: str | None = None, **more: object
) -> Html:
    """A field with what was written there (at first: `value`), and what is wrong with that, if something is."""
    wrong = _error(given, name)
    described = [f"{name}-hint"] * (hint is not None) + [f"{name}-error"] * len(wrong)
    field = void(
        "input", type=kind, id=name, name=name, value=given.get(name, value), **more,
        aria_describedby=" ".join(described) or None, aria_invalid="true" if wrong else None,
    )  # fmt: skip
    below = () if hint is None else (tag("p", hint, class_="hint", id=f"{name}-hint"),)
    return tag("div", tag("label", words, for_=name), field, *wrong, *below, data_field=name)


def _error(given: Given, name: str) -> tuple[Html, ...]:
    if given.error is None or given.error[0] != name:
        return ()
    return (tag("p", given.error[1], class_="field-error", id=f"{name}-error"),)
