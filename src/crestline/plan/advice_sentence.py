"""Sentence of advice from the rows of a plan."""

from __future__ import annotations

from crestline.plan.forecast import Forecast
from crestline.question import Question

_NOTICEABLE = 0.005


def advice_sentence(question: Question, rows: tuple[Forecast, ...], auto: str) -> str:
    """Which mechanism to take and what it would return; among equally good ones, the one that `auto` takes."""
    if not rows:
        return "No mechanism can answer this: see why below."
    best = rows[0]
    if best.returned.value < 1:
        return (
            f"Expect nothing at this price: the best, {best.mechanism}, names {best.returned.value:.1f} of "
            f"{question.k} items; raise epsilon, ask for fewer items, or bound the items per user."
        )
    equals = [row for row in rows if _is_as_good(row, best)]
    taken = advised_row(rows, auto)
    text = f"Take {taken.mechanism}{_k_bar_text(taken)}: about {taken.returned.value:.1f} of {question.k} items"
    reach = f", {taken.ratio.value:.1%} of the score of the true top {question.k}"
    others = [row.mechanism for row in equals if row is not taken]
    if others:
        return f"{text}{reach}; {_join_names(others)} would do as well."
    return (
        f"{text}{reach}; the next best, {rows[1].mechanism}, {rows[1].ratio.value:.1%}."
        if rows[1:]
        else f"{text}{reach}."
    )


def advised_row(rows: tuple[Forecast, ...], auto: str) -> Forecast:
    """The row that is advised: the one that `auto` takes if it is as good as the best, else the best."""
    return next((row for row in rows if row.mechanism == auto and _is_as_good(row, rows[0])), rows[0])


def _is_as_good(row: Forecast, best: Forecast) -> bool:
    """Whether a row is within the simulation error of the best, or worse by less than half a percentage point."""
    return row.ratio.value + row.ratio.error >= best.ratio.value - best.ratio.error - _NOTICEABLE


def _k_bar_text(row: Forecast) -> str:
    """The number of slots as a clause; empty where the mechanism reads a whole list."""
    return "" if row.k_bar is None else f" with k_bar={row.k_bar}"


def _join_names(names: list[str]) -> str:
    """The first name, and the number of the others."""
    if len(names) < 3:
        return " and ".join(names)
    return f"{names[0]} and {len(names) - 1} others"
