"""Notes that a reader must know before using an answer. They depend on the answer and public numbers alone."""

from __future__ import annotations

import math
from fractions import Fraction

from crestline.answer.answer import Answer
from crestline.answer.belief_bounds import as_approximate_dp
from crestline.exact_numbers import decimal_text

# Above these a promise protects a single user little, or fails too often.
LARGE_EPSILON = 10
LARGE_DELTA = Fraction(1, 10**5)
# Spreads within which the noises of two counts differ, with the probability of the spread: √2 for Gaussian noise, less
# for Laplace noise.
PAIR = math.sqrt(2)
REPLACED = "\N{REPLACEMENT CHARACTER}"


def with_warnings(answer: Answer, users: int | None = None) -> Answer:
    """The answer with its warnings and notes; `users` is the approximate number of users, if that is public."""
    _, delta = as_approximate_dp(answer.guarantee)
    few = tuple(f"Warning: {note}" for note in delta_warnings(delta, users))
    notes = (*_large_parameter_warnings(answer), *few, *_unreadable_name_notes(answer))
    return answer.replace_fields(notes=(*answer.notes, *notes))


def delta_warnings(delta: Fraction, users: int | None) -> tuple[str, ...]:
    """Warning about a δ that is not far below 1 divided by the number of users; none if that number is not known."""
    if users is None or delta * users < 1:
        return ()
    limit = decimal_text(Fraction(1, 10 ** math.ceil(math.log10(10 * users))))
    return (f"delta is not small against one in {users:,} users: choose {limit} or less.",)


def smallest_clear_difference(answer: Answer) -> float | None:
    """Difference of two counts that noise alone exceeds in about 5% of cases; None without counts or spread."""
    return None if answer.counts is None or answer.spread is None else PAIR * answer.spread


def number_of_close_pairs(answer: Answer) -> int:
    """Number of neighbours in the list whose counts are too close to be sure of their order."""
    lists = [answer] if answer.by_group is None else answer.by_group
    return sum(last > rank for part in lists for rank, (_, last) in enumerate(part.rank_intervals or (), start=1))


def _large_parameter_warnings(answer: Answer) -> list[str]:
    """Warnings about an ε or δ at which the promise is weak."""
    epsilon, delta = as_approximate_dp(answer.guarantee)
    notes = []
    if epsilon > LARGE_EPSILON:
        notes.append(
            f"Warning: epsilon {decimal_text(epsilon)} is above {LARGE_EPSILON}, so the promise says next to nothing "
            "about a single user. Ask with 1 or less where you can."
        )
    if delta > LARGE_DELTA:
        notes.append(
            f"Warning: delta {decimal_text(delta)} is above {decimal_text(LARGE_DELTA)}. It is a probability that the "
            "promise fails, and must stay far below 1 divided by the number of users."
        )
    return notes


def _unreadable_name_notes(answer: Answer) -> list[str]:
    """Note on labels that were not UTF-8.

    A source must not mention them, because that would reveal a row; for released labels the note may.
    """
    if not any(map(_holds_replacement_character, answer.items)):
        return []
    return [
        f"Note: {REPLACED} in a name replaces bytes that are not UTF-8. If the file is in Latin-1, convert it before "
        "you ask: iconv -f latin1 -t utf-8 old.csv > new.csv."
    ]


def _holds_replacement_character(label: object) -> bool:
    if isinstance(label, tuple):
        return any(map(_holds_replacement_character, label))
    return isinstance(label, str) and REPLACED in label
