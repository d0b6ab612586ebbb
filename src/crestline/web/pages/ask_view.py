"""The page on which a question is asked: the form, and beside it what the question would cost and get."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from crestline.periods.calendar import index_of, label_of
from crestline.plan.forecast import Estimate
from crestline.question import AUTO
from crestline.web.config import DEFAULT_SHAPE, DatasetConfig
from crestline.web.pages.forecast import PER_USER, Forecast, Line, offered
from crestline.web.pages.parts.html import Html, join, table, tag, void
from crestline.web.pages.parts.layout import alert, amount, capital, facts, section

SHAPES = {
    "power:0.5": "fairly even (1, 0.7, 0.6, …)",
    DEFAULT_SHAPE: "usual (1, 0.5, 0.33, …)",
    "power:1.5": "steep (1, 0.35, 0.19, …)",
}
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


def forecast_part(forecast: Forecast) -> Html:
    """What the question would cost and get."""
    return join([_verdict(forecast), _terms(forecast), _prices(forecast), _expectation(forecast)])


def _verdict(forecast: Forecast) -> Html:
    if forecast.price.fits:
        more = (
            "" if forecast.complete else " The data set's own budget, which others draw on too, must cover it as well."
        )
        return tag("p", f"Nothing was asked yet. It fits what is left.{more}", class_="note")
    return alert("Nothing was asked yet. It does not fit what is left: it would be refused.")


def _terms(forecast: Forecast) -> Html:
    choice, first = forecast.prepared.choice, forecast.lines[0]
    margin = "not known for this mechanism"
    if first.margin is not None:
        margin = (
            f"about {math.ceil(first.margin):,} users more than the first item left out (rank {first.k_bar + 1}), to "
            "be named with 95% probability; this follows from the parameters alone"
        )
    name = first.name if choice.name == first.name else f"{first.name} with {choice.name}"
    return facts(
        ("Mechanism", f"{name}: {choice.reason}"),
        ("Promise", str(forecast.price.guarantee)),
        ("An item needs", margin),
        *_noise(forecast),
    )


def _noise(forecast: Forecast) -> list[tuple[str, str]]:
    """How sure the numbers of users would be, where coverage is asked for; and what is wrong with the parameters."""
    spread = forecast.price.coverage_spread
    covered = [] if spread is None else [("Coverage", f"±{math.ceil(spread):,} users (95% of the noise stays within)")]
    return [*covered, *(("Warning", capital(warning)) for warning in forecast.price.warnings)]


def _prices(forecast: Forecast) -> Html:
    rows = [
        (capital(charge.account), f"{charge.share} of the budget", capital(str(charge)), amount(charge.most))
        for charge in forecast.price.listed
    ]
    heads = ("Who pays", "At most", "In words", "At most, in its units")
    return join([tag("h3", "What it costs"), table("What each budget would pay", heads, rows)])


def _expectation(forecast: Forecast) -> Html:
    guess, k = forecast.guess, forecast.question.k
    title = tag("h3", "What to expect")
    if guess is None:
        return join([title, tag("p", "Write roughly how many users there are, and press Forecast again.")])
    rows = [
        (line.name, _needed(line), _text(line.returned, "{:.1f}"), _text(line.ratio, "{:.0%}"))
        for line in forecast.lines
    ]
    per_user = guess.per_user or PER_USER
    assumed = f"if {guess.users:,} users had about {per_user} items each, and popularity is {_shape(guess.shape)}"
    heads = ("Mechanism", "Needs", "Names", "Score")
    listed = table(f"At the same ε and δ, {assumed}", heads, rows, numbers=(1, 2, 3), marked=0)
    how = (
        f"The marked line would answer. Needs: by how many users an item must be ahead. Names: items of {k}. Score: "
        "their users, as a share of those of the true best. All for made-up data of that kind, never for yours."
    )
    return join([title, tag("p", _advice(forecast.lines, k)), listed, tag("p", how, class_="hint")])


def _advice(lines: Sequence[Line], k: int) -> str:
    first = lines[0]
    assert first.returned is not None, "there are figures where there is a guess"
    if max(_value(line.returned) for line in lines) < 1:
        return "Expect nothing at this price: raise ε, ask for fewer items, or filter less."
    text = f"Expect about {first.returned.value:.1f} of {k} items."
    best = max(lines, key=lambda line: _value(line.ratio))
    if _value(best.ratio) > _value(first.ratio) + 0.02:
        text += f" {best.name} would name about {_value(best.returned):.1f}; you may choose it."
    return text


def _value(estimate: Estimate | None) -> float:
    return 0.0 if estimate is None else estimate.value


def _needed(line: Line) -> str:
    return "" if line.margin is None else f"+{math.ceil(line.margin):,}"


def _text(estimate: Estimate | None, form: str) -> str:
    assert estimate is not None, "there are figures where there is a guess"
    text = form.format(estimate.value)
    error = form.format(estimate.error)
    return text if not estimate.simulated or error == form.format(0) else f"{text} ± {error}"


def _shape(shape: str) -> str:
    return SHAPES.get(shape, f"as in {shape}")


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
