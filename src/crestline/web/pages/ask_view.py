"""The page on which a question is asked: the form, and beside it what `forecast_view` says about the question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from crestline.config import DEFAULT_SHAPE, DatasetConfig
from crestline.periods.calendar import period_index, period_label
from crestline.question import AUTO
from crestline.question_fields import FIELDS, ValueKind
from crestline.score import Sum
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
        _field(state, "epsilon", hint="Empty: a tenth of your budget."),
        _field(state, "delta", hint="Empty: a 500th of your budget's."),
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
        _field(state, "k", "10", required=True),
        *_period_fields(dataset, state),
        _field(state, "where", hint=hint),
        element("div", *numbers, class_="pair"),
        _flag(state, "counts"),
        _flag(state, "coverage"),
        _checkbox("ordered", "no", "A set will do: their order does not matter", checked="ordered" in state),
        *_sums(dataset, state),
        *_public_list_field(dataset, state, "domain", "not publicly listed"),
        _select_field("mechanism", "Mechanism", names, state.get("mechanism", AUTO)),
        _more_fields(dataset, state),
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
        _field(state, "period", label=f"One {calendar.per}", hint=f"Such as {example}. Or:"),
        _field(state, "last", label=f"The last {calendar.per}s", hint="That have ended. Or:"),
    )
    several = (_field(state, "since"), _field(state, "until"))
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
        _field(state, "groups_per_user", "1", hint=hint),
        *_public_list_field(dataset, state, "groups", "not publicly listed: only groups in which an item is named"),
    )


def _sums(dataset: DatasetConfig, state: FormState) -> tuple[Html, ...]:
    """Ranking by a sum, where the owner allows it for some column."""
    if not dataset.sums:
        return ()
    names = {"": "number of users", **{str(Sum(name, 1)): f"sum of {name}" for name in dataset.sums}}
    return (
        _select_field("score", FIELDS["score"].in_form, names, state.get("score", "")),
        _field(state, "clip", hint="For a sum: the most that one user may add to one item. A public number."),
    )


def _public_list_field(dataset: DatasetConfig, state: FormState, name: str, none: str) -> tuple[Html, ...]:
    """A choice of the owner's public lists, where there are any."""
    if not dataset.domains:
        return ()
    names = {"": none, **{one: one for one in dataset.domains}}
    return (_select_field(name, FIELDS[name].in_form, names, state.get(name, "")),)


def _more_fields(dataset: DatasetConfig, state: FormState) -> Html:
    """What few questions need, folded; open where one of these fields is filled in, or wrong."""
    names = ["contribution", "k_bar", "passes", *(["floor"] if dataset.groups else [])]
    used = any(state.get(name, "") for name in names) or (state.error is not None and state.error[0] in names)
    return element(
        "details",
        element("summary", "More"),
        *(_flag(state, name, "1") if FIELDS[name].at_most == 1 else _field(state, name) for name in names),
        open=True if used else None,
    )


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


def _field(
    state: FormState, name: str, value: str = "", *, label: str = "", hint: str | None = None, required: bool = False
) -> Html:
    """The control of a field of a question: its label and its bounds are those of the table."""
    row = FIELDS[name]
    whole = row.kind is ValueKind.COUNT
    bounds = {"min": "1", "max": str(row.at_most)} if whole else {}
    return _text_field(
        state,
        name,
        label or row.in_form,
        value,
        "number" if whole else "text",
        hint,
        required=required or None,
        **bounds,
    )


def _flag(state: FormState, name: str, value: str = "yes") -> Html:
    return _checkbox(name, value, FIELDS[name].in_form, checked=name in state)


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
