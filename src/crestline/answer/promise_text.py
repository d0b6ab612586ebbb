"""The promise of an answer and its limits, in words for an owner or a lawyer, in formulas for a reviewer."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from crestline.answer.answer import SIEVE, Answer
from crestline.answer.belief_bounds import as_approximate_dp, best_guess_rate
from crestline.exact_numbers import decimal_text
from crestline.guarantees.guarantee import ApproxDP, PureDP

# The view of mechanisms whose view is not slots.
_READ = {
    "Observed": "the scores of all items that users have",
    SIEVE: "all pairs of a user and an item, through noisy queries",
}


def promise_in_words(answer: Answer) -> tuple[str, ...]:
    """The promise in sentences, for a reader who is responsible for it."""
    question = answer.question
    epsilon, delta = as_approximate_dp(answer.guarantee)
    counts = "no counts" if answer.counts is None else "a noisy count for each"
    parts = [
        f"Released: {_number_of_things(len(answer), 'name')} of {_columns(answer)}, {_size_clause(answer)}; "
        f"{counts}{_coverage_clause(answer)}.",
        f"Protected: every single user, that is, every value of the column '{question.user}', with everything that "
        "the data hold about them.",
        "Promised: with or without any one user's data, this answer would have been almost "
        f"as likely: at most {_odds_factor(epsilon)} times more likely, at most {_odds_factor(epsilon)} times less"
        f"{_exception_clause(delta)}.",
        "This holds whatever the reader of the answer knows from elsewhere, however much they compute, now and later, "
        "and whatever is done with the answer afterwards.",
        _randomness_sentence(answer),
    ]
    if answer.stopped:
        parts.append("That the answer stopped before the number asked for is part of the protection, not a fault.")
    parts.append(_charge_sentence(answer))
    return tuple(parts)


def _coverage_clause(answer: Answer) -> str:
    return "" if answer.coverage is None else "; how many users have one of them, and how many have items, with noise"


def _size_clause(answer: Answer) -> str:
    """Number of items requested, and the number of groups if there are any."""
    if answer.by_group is None:
        return f"of {answer.question.k} asked for"
    labels_clause = (
        "which are all of a public list" if answer.question.groups is not None else "whose labels are released, too"
    )
    return f"at most {answer.question.k} in each of {_number_of_things(len(answer.by_group), 'group')}, {labels_clause}"


def promise_in_formulas(answer: Answer) -> tuple[str, ...]:
    """The promise in formulas, for a reader who verifies it."""
    guarantee, question = answer.guarantee, answer.question
    epsilon, delta = as_approximate_dp(guarantee)
    parameters = ", ".join(f"{name}={value}" for name, value in answer.mechanism.parameters.items())
    score = "distinct users" if question.score is None else f"{question.score}, clipped at {question.clip}"
    slots = f"the {question.slots} largest counts and the next one"
    lines = [
        f"M = {answer.mechanism.name}({parameters}); {answer.mechanism.reason}.",
        f"h(item) = {score}; M reads {_READ.get(answer.mechanism.name, slots)}.",
        f"D ~ D' iff one is the other plus one user (a value of '{question.user}').",
    ]
    if answer.coverage is not None:
        lines.append(
            "Then, of the users with an item, the number of those who have a named item and of those who have none, "
            f"each with Laplace noise, rounded: one pure step ({answer.guarantee.theorem}), in epsilon below."
        )
    if question.by:
        lines.append(
            f"h and M are those of one group by {' and '.join(question.by)}; M is run in every group, with independent "
            f"noise. Each user keeps at most {question.groups_per_user} of their groups, chosen by a keyed hash, so "
            "that at most as many of the runs differ between D and D' (P15.1)."
        )
    if question.floor > 1:
        lines.append(_floor_formula(answer))
    lines += _route(answer)
    if not isinstance(guarantee, ApproxDP | PureDP):
        lines.append(f"M is {guarantee}; so, by P10.2:")
    lines += [
        "For all D ~ D' and all sets S of answers: Pr[M(D) in S] <= exp(epsilon) Pr[M(D') in S] + delta, with "
        f"epsilon = {_exact_and_decimal(epsilon)}, delta = {_exact_and_decimal(delta)}.",
        f"Theorem: {guarantee.theorem}.",
        "Belief p before, with odds o = p/(1-p): after the answer, odds between o exp(-epsilon) and o exp(epsilon), "
        "unless the answer differs from that of an ideal epsilon-DP procedure, which has probability at most "
        "delta/(1 + exp(epsilon)).",
        "Guessing whether a user is in, at even odds: right with probability at most "
        f"(exp(epsilon) + delta)/(exp(epsilon) + 1) = {percent_rounded_up(best_guess_rate(guarantee))}.",
    ]
    if answer.margin is not None:
        lead = f"h(item) - h(rank {question.slots + 1})" if "lead" in (answer.needs or "") else "h(item)"
        private = "" if lead == "h(item)" else "; the count at that rank is private and is not shown"
        chance = "about 0.95, estimated by noisy queries" if answer.answered_by == SIEVE else "at least 0.95"
        lines.append(f"An item with {lead} >= {answer.margin:.6g} is named with probability {chance}{private}.")
    if answer.bill is not None:
        lines.append(f"Charged: {answer.bill.paid}; reserved {answer.bill.reserved}; left {answer.bill.remaining}.")
    if question.contribution is not None:
        where = " in each group" if question.by else ""
        lines.append(f"Each user keeps at most {question.contribution} items{where}, chosen by a keyed hash (P0.3).")
    return tuple(lines)


def _floor_formula(answer: Answer) -> str:
    """Effect of a public floor: it is subtracted from counts or added to the threshold, each less one."""
    floor = answer.question.floor
    if answer.answered_by not in _READ:
        return f"h is what a count exceeds {floor - 1} by: a public floor (P15.3)."
    read = "; groups of fewer users are not read" if answer.answered_by == SIEVE else ""
    return (
        f"An item is observed in a group if at least {floor} users keep it there, and {floor - 1} is added to the "
        f"threshold of M: a public floor (P17.6){read}."
    )


def _route(answer: Answer) -> list[str]:
    """Of a mechanism that chooses between two, the noisy query and its result; what the next best would have needed."""
    route, instead = answer.route, answer.mechanism.instead
    if route is None:
        return [f"{instead[:1].upper()}{instead[1:]}."] if instead else []
    sign = ">=" if route.lead >= route.needed else "<"
    looked_at = f"h(rank {answer.question.k}) - h(rank {answer.question.slots + 1})"
    return [
        f"Noisy query: {looked_at} = {route.lead} (±{route.spread}) {sign} {route.needed}, so "
        f"{route.taken} answered, not {route.other}; the query is a step of M."
        + (f" {instead[:1].upper()}{instead[1:]}." if instead else "")
    ]


def exclusions(answer: Answer) -> tuple[str, ...]:
    """What the promise does not include."""
    question = answer.question
    lines = [
        "Not k-anonymity: no named item is promised to be shared by some least number of users.",
        "Not groups: users who move together (a family, a company, one person with two values of "
        f"'{question.user}') are protected less; for g of them, epsilon counts g times, and delta more than that.",
        "Not what others give away: what can be inferred about a user from everybody else's data, or from facts that "
        "hold with or without them, is not hidden.",
        "Not completeness: popular items may be missing, and the order may be wrong.",
        "Not the question: its columns, filter and parameters, who asked and when, are not hidden.",
        "Not side channels: how long the answer took, what the database logged or cached, and what other users of the "
        "machine can observe are outside the proofs.",
    ]
    if question.contribution is not None:
        lines.append(
            f"Not all items of a user: at most {question.contribution} count, chosen at random, so counts are lower "
            "than the truth where users have many items."
        )
    return (*_leading_exclusions(answer), *lines)


def _leading_exclusions(answer: Answer) -> list[str]:
    if answer.replayed:
        return ["NOTHING: this answer was made with replayable randomness; anyone who has its key can undo it."]
    if answer.bill is None and not answer.stored:
        return [
            "Not repetition: no ledger wrote this answer down. Each further answer about the same users adds its own "
            "epsilon and delta."
        ]
    return ["Not other releases: what is answered without this ledger is not recorded in it, and adds up with it."]


def percent_rounded_up(share: float) -> str:
    """A probability in percent with three digits, rounded up."""
    return _rounded_percent(share, math.ceil)


def percent_rounded_down(share: float) -> str:
    """A probability in percent with three digits, rounded down."""
    return _rounded_percent(share, math.floor)


def _rounded_percent(share: float, rounding: Callable[[float], int]) -> str:
    if share <= 0:
        return "0%"
    step = 10.0 ** (math.floor(math.log10(100 * share)) - 2)
    return f"{rounding(round(100 * share / step, 6)) * step:.3g}%"


def _randomness_sentence(answer: Answer) -> str:
    if answer.replayed:
        return "It does NOT hold here: the random numbers can be replayed, which is for tests and simulations only."
    return (
        "It rests on chance: random numbers of the operating system's cryptographic generator decided what could be "
        "named. Asking again may give another answer."
    )


def _charge_sentence(answer: Answer) -> str:
    if answer.stored:
        return "This is a stored answer, served again: nothing new was released, and nothing was charged."
    if answer.bill is None:
        return "No ledger kept count: this promise is for this one answer alone."
    return (
        f"Charged to the ledger {answer.bill.ledger}: {answer.bill.paid}. For all of its answers taken together, the "
        "promise of its budget holds (`crestline ledger show`)."
    )


def _exception_clause(delta: Fraction) -> str:
    if not delta:
        return ""
    return f", except with a probability of at most {decimal_text(delta)} (1 in {math.floor(1 / delta):,})"


def _odds_factor(epsilon: Fraction) -> str:
    factor = float(epsilon)
    return f"{math.exp(factor):,.3g}" if factor < 700 else f"e^{factor:g}"


def _exact_and_decimal(number: Fraction) -> str:
    """The exact number, followed by a decimal if it has no short one."""
    short = decimal_text(number)
    return short if Fraction(short) == number else f"{number} (at most {short})"


def _columns(answer: Answer) -> str:
    return " and ".join(f"'{name}'" for name in answer.question.item)


def _number_of_things(number: int, thing: str) -> str:
    return {0: f"no {thing}", 1: f"1 {thing}"}.get(number, f"{number} {thing}s")
