"""The answer in a few lines for analysts; `promise_text` has the promise in words and formulas.

Every line depends only on the answer and the question.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from textwrap import fill

from crestline.answer.answer import SIEVE, Answer
from crestline.answer.belief_bounds import as_approximate_dp
from crestline.answer.group_answers import GroupItems, groups_per_user_text, items_found_text
from crestline.answer.warnings import number_of_close_pairs, smallest_clear_difference
from crestline.exact_numbers import decimal_text
from crestline.histogram.coverage_counts import CoverageCounts
from crestline.periods.calendar import Periods


def explain(answer: Answer, width: int = 100) -> str:
    """Lines on the result, the margin, the error of counts, the promise and the payment, and the notes."""
    parts = [
        _result_line(answer),
        _look_line(answer),
        _need_line(answer),
        _counts(answer),
        "" if answer.coverage is None else coverage_line(answer.coverage, len(answer)),
        promise_line(answer),
        payment_line(answer),
        *answer.notes,
    ]
    if answer.replayed:
        parts.append("WARNING: made with replayable randomness, for tests and simulations. It is not private.")
    return "\n".join(
        fill(part, width, subsequent_indent="  ", break_on_hyphens=False, break_long_words=False)
        for part in parts
        if part
    )


def question_text(answer: Answer) -> str:
    """The question and its source inside a sentence: the 10 values of 'sku' with the most users, in sales."""
    return f"{answer.heading[:1].lower()}{answer.heading[1:]}, in {answer.source}"


def _result_line(answer: Answer) -> str:
    if answer.by_group is not None:
        return _groups_line(answer, answer.by_group)
    number, wanted = len(answer), answer.question.k
    if not answer.stopped:
        came = "the one asked for" if wanted == 1 else f"all {wanted}"
        return f"Answered: {came} ({question_text(answer)}){_order_text(answer)}."
    return (
        f"Answered: {number or 'none'} of {question_text(answer)}{_order_text(answer)}; then it stopped on "
        f"purpose, because the "
        "next name could have shown whether some single user is in the data."
    )


def _groups_line(answer: Answer, groups: Sequence[GroupItems]) -> str:
    question = answer.question
    text = (
        f"Answered: {items_found_text(groups, question.k)} ({question_text(answer)}; {groups_per_user_text(question)})"
    )
    if question.floor > 1:
        few = f"fewer than {question.floor} users"
        # The queries of a sieve use all pairs of a group that is read.
        by_sieve = f"reading groups or naming items of {few}"
        text += f", without {by_sieve if answer.answered_by == SIEVE else f'looking at what {few} have'}"
    if question.groups is not None:
        return f"{text}. Every group of the public list is there, also where nothing in it could be named."
    return f"{text}. Of a group in which nothing could be named nothing is said, not even that it exists."


def _order_text(answer: Answer) -> str:
    if len(answer) < 2:
        return ""
    if isinstance(answer.items, tuple):
        return ", the most popular first as far as noise allows"
    return ", as a set: their order means nothing"


def _look_line(answer: Answer) -> str:
    """What was released besides the items: the noisy query that decided how they were found."""
    route, question = answer.route, answer.question
    if route is None:
        return ""
    return (
        f"Noisy query: item {question.k:,} leads rank {question.slots + 1:,} by {max(0, route.lead):,} "
        f"(±{route.spread:,}) {question.unit}. The promise includes this query, which decided how items were found."
    )


def _need_line(answer: Answer) -> str:
    if answer.needs is None:
        return ""
    group, origin = " in its group" if answer.question.by else "", "the parameters, not from the data"
    if answer.answered_by == SIEVE:
        group, origin = f"{group}, or fewer" if group else "", "noisy queries, which the promise includes"
    return f"Needed: {answer.needs}{group}, to be named with 95% probability. It follows from {origin}."


def _counts(answer: Answer) -> str:
    bound = smallest_clear_difference(answer)
    if answer.spread is not None and bound is not None:
        text = f"Counts: ±{rounded_users(answer.spread)} {answer.count_unit} (95% of the noise stays within)"
    elif answer.intervals:
        # Noise, the selection of the items and the weights of users: each count has an interval of its own.
        shares = sorted((high - low) / 2 / max(1, float(count)) for (low, high), count in _intervals_of_counts(answer))
        text = (
            f"Counts: {answer.count_unit}, each within its interval with 95% probability "
            f"(±{shares[len(shares) // 2]:.0%} in the middle of the list). They cost nothing: they follow from what "
            "named the items"
        )
    else:
        return ""
    if len(answer) < 2:
        return text + "."
    if isinstance(answer.items, frozenset):
        return (
            f"{text}. Of two items whose counts are less than {rounded_users(bound or 0)} apart, either may be the "
            "more popular."
        )
    close = number_of_close_pairs(answer)
    pairs = {0: "no two neighbours are", 1: "1 pair of neighbours is"}.get(close, f"{close} pairs of neighbours are")
    return f"{text}. Ranks follow the counts: {pairs} too close to be sure of their order."


def _intervals_of_counts(answer: Answer) -> Iterator[tuple[tuple[float, float], Fraction]]:
    """Interval and count of each item."""
    return zip(answer.intervals or (), answer.counts or (), strict=True)


def coverage_line(coverage: CoverageCounts, number: int) -> str:
    """Users with a named item, and their share of all users; without a named item the number is noise around zero."""
    them = {0: "any of no items", 1: "this item"}.get(number, f"at least one of these {number} items")
    text = f"{coverage.users:,} (±{rounded_users(coverage.spread)}) of {coverage.all_users:,} users have {them}"
    if coverage.share is None or coverage.share_spread is None:
        return f"Coverage: {text}, too few to speak of a share (95% of the noise in either part stays within ±)."
    return f"Coverage: {share_text(coverage)}. {text} (95% of the noise stays within)."


def share_text(coverage: CoverageCounts) -> str:
    """The share of users with a named item, with its error."""
    if coverage.share is None or coverage.share_spread is None:
        return "too few to speak of a share"
    return f"{coverage.share:.1%} (±{math.ceil(1000 * coverage.share_spread) / 10:.1f}%)"


def promise_line(answer: Answer) -> str:
    """The promise as one sentence, which every page and picture repeats."""
    epsilon, delta = as_approximate_dp(answer.guarantee)
    factor = odds_factor_text(float(epsilon))
    period = answer.question.period
    data = f"the data of any one {period.calendar.per}" if isinstance(period, Periods) else "the data"
    text = f"Promised: this answer changes the odds that any one '{answer.question.user}' is in {data} at most {factor}"
    return text + (f", except with probability {decimal_text(delta)}." if delta else ".")


def odds_factor_text(epsilon: float) -> str:
    """`exp(epsilon)` in words; written as a power from ε = 12, where the digits tell a reader nothing."""
    return f"{math.exp(epsilon):,.3g}-fold" if epsilon < 12 else f"e^{epsilon:.3g}-fold"


def payment_line(answer: Answer) -> str:
    """What the answer cost and what is left, as one sentence."""
    if answer.stored:
        return "Paid: nothing, because this is the stored answer to the same question on the same data."
    if answer.bill is None:
        return "Paid: nothing was recorded, because no ledger was given. Promises add up with every answer."
    return f"Paid: {answer.bill.summary}."


def rounded_users(number: float) -> str:
    """A number of users as text, rounded up."""
    return f"{math.ceil(number):,}"
