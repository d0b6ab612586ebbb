"""The page on which a question is asked: the form, and beside it what `forecast_view` says about the question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from crestline.periods.calendar import period_index, period_label
from crestline.question import AUTO
from crestline.web.config import DEFAULT_SHAPE, DatasetConfig
from crestline.web.pages.forecast import PER_USER, offered_mechanisms
from crestline.web.pages.forecast_view import SHAPES
from crestline.web.pages.parts.html import Html, element, void
from crestline.web.pages.parts.layout import section

_NOT_YET = (
    "Press Forecast to see what this question would cost, which mechanism would answer it, and what to expect. "
    "That asks nothing, costs nothing and reads no row."
)


@dataclass(frozen=True)
class FormState:
    """What was written into the form, and which field is wrong, and why."""

    values: Mapping[str, str]
    error: tuple[str, str] | None = None

    def get(self, name: str, default: str) -> str:
        """What was written into a field."""
        return self.values.get(name, default)

    def __contains__(self, name: str) -> bool:
        return name in self.values


def ask_page(dataset: DatasetConfig, state: FormState, chosen: Sequence[str], key: str, said: Html | None) -> Html:
    """The form, and what is said about the question so far. `key` makes it count once, however often it is sent."""
    told = said or element("p", _NOT_YET, class_="hint")
    return element(
        "div",
        section("Your question", _question_form(dataset, state, chosen, key), name="question"),
        section(
            "Cost and forecast",
            element("div", told, id="said", tabindex="-1", role="status", aria_live="polite"),
            name="forecast",
        ),
        class_="two",
    )


def _question_form(dataset: DatasetConfig, state: FormState, chosen: Sequence[str], key: str) -> Html:
    listed = ", ".join(dataset.filters)
    hint = f"Optional. You may use: {listed}. Text and dates in single quotes." if listed else "No filters here."
    numbers = (
        _text_field(state, "epsilon", "ε of this answer", "", hint="Empty: a tenth of your budget."),
        _text_field(state, "delta", "δ of this answer", "", hint="Empty: a 500th of your budget's."),
    )
    names = {AUTO: "automatic", **{name: name for name in offered_mechanisms()}}
    return element(
        "form",
        void("input", type="hidden", name="key", value=key),
        element(
            "fieldset",
            element("legend", "Items: one column, or several"),
            *(_checkbox("item", name, name, checked=name in chosen) for name in dataset.items),
            *_field_error(state, "item"),
            data_field="item",
        ),
        *_groups(dataset, state, chosen),
        _text_field(state, "k", "How many", "10", "number", min="1", required=True),
        *_period_fields(dataset, state),
        _text_field(state, "where", "Filter", "", hint=hint),
        element("div", *numbers, class_="pair"),
        _checkbox("counts", "yes", "Release noisy counts, too", checked="counts" in state),
        _checkbox("coverage", "yes", "Release how many users the items reach, too", checked="coverage" in state),
        _checkbox("set", "yes", "A set will do: their order does not matter", checked="set" in state),
        _checkbox("once", "yes", "Read the table in one pass", checked="once" in state),
        *_sums(dataset, state),
        *_public_list_field(dataset, state),
        _select_field("mechanism", "Mechanism", names, state.get("mechanism", AUTO)),
        _guess_fields(dataset, state),
        element(
            "div",
            element("button", "Forecast", class_="second", name="do", value="forecast"),
            element("button", "Ask", name="do", value="ask"),
            class_="buttons",
        ),
        class_="ask",
        method="post",
        action=f"/datasets/{dataset.name}#said",
        data_forecast=True,
    )


def _period_fields(dataset: DatasetConfig, state: FormState) -> tuple[Html, ...]:
    """Which periods are read, where the budget is by period."""
    calendar = dataset.budget.calendar
    if calendar is None:
        return ()
    example = period_label(calendar.per, period_index(calendar.per, date(2026, 10, 5)))
    named = (
        _text_field(state, "period", f"One {calendar.per}", "", hint=f"Such as {example}. Or:"),
        _text_field(state, "last", f"The last {calendar.per}s", "", "number", hint="That have ended. Or:", min="1"),
    )
    several = (_text_field(state, "since", "From", ""), _text_field(state, "until", "To", ""))
    still_open = f"Also a {calendar.per} that has not ended: its rows are not all there"
    return (
        element(
            "fieldset",
            element("legend", f"When: each {calendar.per} pays from its own budget"),
            element("div", *named, class_="pair"),
            element("div", *several, class_="pair"),
            _checkbox("open", "yes", still_open, checked="open" in state),
        ),
    )


def _groups(dataset: DatasetConfig, state: FormState, chosen: Sequence[str]) -> tuple[Html, ...]:
    """The top k of every group, where the owner allows it for some column."""
    if not dataset.groups:
        return ()
    hint = "Each user counts in so many groups, and so many releases are paid for, however many groups there are."
    boxes = (_checkbox("by", name, f"by {name}", checked=f"by {name}" in chosen) for name in dataset.groups)
    return (
        element("fieldset", element("legend", "For every group (optional)"), *boxes),
        _text_field(state, "groups_per_user", "Groups of each user", "1", "number", hint=hint, min="1"),
    )


def _sums(dataset: DatasetConfig, state: FormState) -> tuple[Html, ...]:
    """Ranking by a sum, where the owner allows it for some column."""
    if not dataset.sums:
        return ()
    names = {"": "number of users", **{name: f"sum of {name}" for name in dataset.sums}}
    hint = "For a sum: the most that one user may add to one item. A public number."
    return (
        _select_field("sum", "Rank by", names, state.get("sum", "")),
        _text_field(state, "clip", "Clip", "", "number", hint=hint, min="1"),
    )


def _public_list_field(dataset: DatasetConfig, state: FormState) -> tuple[Html, ...]:
    """A public list of all items, where the owner gave one."""
    if not dataset.domains:
        return ()
    names = {"": "not publicly listed", **{name: name for name in dataset.domains}}
    return (_select_field("domain", "All items are", names, state.get("domain", "")),)


def _guess_fields(dataset: DatasetConfig, state: FormState) -> Html:
    public = dataset.public
    users, per_user = ("", "") if public is None else (str(public.users), str(public.per_user or PER_USER))
    shape = state.get("shape", DEFAULT_SHAPE if public is None else public.shape)
    known = SHAPES if shape in SHAPES else {shape: f"as published: {shape}", **SHAPES}
    fields = (
        _text_field(state, "users", "Users, roughly", users, "number", min="1"),
        _text_field(state, "per_user", "Items of each user", per_user or str(PER_USER), "number", min="1"),
    )
    return element(
        "fieldset",
        element("legend", "For the forecast only"),
        element("p", "What is known in public, or guessed. It is not looked up, and changes no answer.", class_="hint"),
        element("div", *fields, class_="pair"),
        _select_field("shape", "Popularity, from rank to rank", known, shape),
    )


def _checkbox(name: str, value: str, words: str, *, checked: bool) -> Html:
    box = void("input", type="checkbox", name=name, value=value, checked=True if checked else None)
    return element("label", box, words, class_="inline")


def _select_field(name: str, words: str, options: Mapping[str, str], value: str) -> Html:
    listed = [
        element("option", text, value=key, selected=True if key == value else None) for key, text in options.items()
    ]
    return element("div", element("label", words, for_=name), element("select", *listed, id=name, name=name))


def _text_field(
    state: FormState, name: str, words: str, value: str, kind: str = "text", hint: str | None = None, **more: object
) -> Html:
    """A field with what was written there (at first: `value`), and what is wrong with that, if something is."""
    wrong = _field_error(state, name)
    described = [f"{name}-hint"] * (hint is not None) + [f"{name}-error"] * len(wrong)
    field = void(
        "input", type=kind, id=name, name=name, value=state.get(name, value), **more,
        aria_describedby=" ".join(described) or None, aria_invalid="true" if wrong else None,
    )  # fmt: skip
    below = () if hint is None else (element("p", hint, class_="hint", id=f"{name}-hint"),)
    return element("div", element("label", words, for_=name), field, *wrong, *below, data_field=name)


def _field_error(state: FormState, name: str) -> tuple[Html, ...]:
    if state.error is None or state.error[0] != name:
        return ()
    return (element("p", state.error[1], class_="field-error", id=f"{name}-error"),)
