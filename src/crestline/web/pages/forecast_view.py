"""What a question would cost and get, before it is asked."""

from __future__ import annotations

import math
from collections.abc import Sequence

from crestline.config import DEFAULT_SHAPE
from crestline.plan.forecast import Estimate
from crestline.web.pages.forecast import PER_USER, ForecastLine, ForecastTable
from crestline.web.pages.parts.html import Html, element, join_html, table
from crestline.web.pages.parts.layout import alert_box, amount_html, capitalize_first, definition_list

SHAPES = {
    "power:0.5": "fairly even (1, 0.7, 0.6, …)",
    DEFAULT_SHAPE: "usual (1, 0.5, 0.33, …)",
    "power:1.5": "steep (1, 0.35, 0.19, …)",
}


def forecast_section(forecast: ForecastTable) -> Html:
    """What the question would cost and get."""
    return join_html(
        [_verdict_note(forecast), _choice_terms(forecast), _price_table(forecast), _expectation_section(forecast)]
    )


def _verdict_note(forecast: ForecastTable) -> Html:
    if forecast.price.fits:
        more = (
            "" if forecast.complete else " The data set's own budget, which others draw on too, must cover it as well."
        )
        return element("p", f"Nothing was asked yet. It fits what is left.{more}", class_="note")
    return alert_box("Nothing was asked yet. It does not fit what is left: it would be refused.")


def _choice_terms(forecast: ForecastTable) -> Html:
    choice, first = forecast.prepared.choice, forecast.lines[0]
    margin = "not known for this mechanism"
    if first.margin is not None:
        margin = (
            f"about {math.ceil(first.margin):,} users more than the first item left out (rank {first.k_bar + 1}), to "
            "be named with 95% probability; this follows from the parameters alone"
        )
    name = first.name if choice.name == first.name else f"{first.name} with {choice.name}"
    return definition_list(
        ("Mechanism", f"{name}: {choice.reason}"),
        ("Promise", str(forecast.price.guarantee)),
        ("An item needs", margin),
        *_noise_terms(forecast),
    )


def _noise_terms(forecast: ForecastTable) -> list[tuple[str, str]]:
    """How sure the numbers of users would be, where coverage is asked for; and what is wrong with the parameters."""
    spread = forecast.price.coverage_spread
    covered = [] if spread is None else [("Coverage", f"±{math.ceil(spread):,} users (95% of the noise stays within)")]
    return [*covered, *(("Warning", capitalize_first(warning)) for warning in forecast.price.warnings)]


def _price_table(forecast: ForecastTable) -> Html:
    rows = [
        (
            capitalize_first(charge.account),
            f"{charge.share} of the budget",
            capitalize_first(str(charge)),
            amount_html(charge.most),
        )
        for charge in forecast.price.listed_charges
    ]
    heads = ("Who pays", "At most", "In words", "At most, in its units")
    return join_html([element("h3", "What it costs"), table("What each budget would pay", heads, rows)])


def _expectation_section(forecast: ForecastTable) -> Html:
    guess, k = forecast.guess, forecast.question.k
    title = element("h3", "What to expect")
    if guess is None:
        return join_html([title, element("p", "Write roughly how many users there are, and press Forecast again.")])
    rows = [
        (line.name, _margin_text(line), _estimate_text(line.returned, "{:.1f}"), _estimate_text(line.ratio, "{:.0%}"))
        for line in forecast.lines
    ]
    per_user = guess.per_user or PER_USER
    assumed = f"if {guess.users:,} users had about {per_user} items each, and popularity is {_shape_text(guess.shape)}"
    heads = ("Mechanism", "Needs", "Names", "Score")
    listed = table(f"At the same ε and δ, {assumed}", heads, rows, numbers=(1, 2, 3), marked=0)
    how = (
        f"The marked line would answer. Needs: by how many users an item must be ahead. Names: items of {k}. Score: "
        "their users, as a share of those of the true best. All for made-up data of that kind, never for yours."
    )
    return join_html([title, element("p", _advice(forecast.lines, k)), listed, element("p", how, class_="hint")])


def _advice(lines: Sequence[ForecastLine], k: int) -> str:
    first = lines[0]
    assert first.returned is not None, "there are figures where there is a guess"
    if max(_estimate_value(line.returned) for line in lines) < 1:
        return "Expect nothing at this price: raise ε, ask for fewer items, or filter less."
    text = f"Expect about {first.returned.value:.1f} of {k} items."
    best = max(lines, key=lambda line: _estimate_value(line.ratio))
    if _estimate_value(best.ratio) > _estimate_value(first.ratio) + 0.02:
        text += f" {best.name} would name about {_estimate_value(best.returned):.1f}; you may choose it."
    return text


def _estimate_value(estimate: Estimate | None) -> float:
    return 0.0 if estimate is None else estimate.value


def _margin_text(line: ForecastLine) -> str:
    return "" if line.margin is None else f"+{math.ceil(line.margin):,}"


def _estimate_text(estimate: Estimate | None, form: str) -> str:
    assert estimate is not None, "there are figures where there is a guess"
    text = form.format(estimate.value)
    error = form.format(estimate.error)
    return text if not estimate.simulated or error == form.format(0) else f"{text} ± {error}"


def _shape_text(shape: str) -> str:
    return SHAPES.get(shape, f"as in {shape}")
