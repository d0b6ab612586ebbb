"""A plan: every mechanism side by side for one question, and one sentence of advice."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from crestline.choose import automatic
from crestline.errors import ParameterError
from crestline.histogram.histogram import Histogram
from crestline.mechanisms.catalogue import entry
from crestline.parameters import Exact, decimal_text, positive, probability, whole
from crestline.plan.advice import advice
from crestline.plan.candidates import Skipped, Wish
from crestline.plan.forecast import TRIALS, Forecast, Watch, forecast
from crestline.plan.shapes import Shape, kept, multiplicities, ranked
from crestline.randomness.entropy import Entropy


@dataclass(frozen=True)
class Plan:
    """What each mechanism would return, best first; `auto` is what `mechanism="auto"` takes, `notes` what to mind."""

    wish: Wish
    rows: tuple[Forecast, ...]
    skipped: tuple[Skipped, ...]
    auto: str
    notes: tuple[str, ...] = ()

    @property
    def advice(self) -> str:
        """One sentence."""
        return advice(self.wish, self.rows, self.auto)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values, for pipes and for the service."""
        return {
            "k": self.wish.k,
            "epsilon": decimal_text(self.wish.epsilon, 12),
            "delta": decimal_text(self.wish.delta, 12),
            "contribution": self.wish.contribution,
            "advice": self.advice,
            "auto": self.auto,
            "mechanisms": [{**asdict(row), "parameters": dict(row.parameters)} for row in self.rows],
            "left_out": [asdict(line) for line in self.skipped],
            "notes": list(self.notes),
        }


def wish_for(
    k: int,
    epsilon: Exact,
    delta: Exact,
    contribution: int | None = None,
    k_bar: int | None = None,
    mechanisms: Sequence[str] = (),
) -> Wish:
    """The wish behind loose numbers, checked."""
    if k_bar is not None and whole(k_bar, "k_bar") < whole(k, "k"):
        raise ParameterError(f"k_bar must be at least k: k is {k}, k_bar is {k_bar}")
    bound = None if contribution is None else whole(contribution, "contribution")
    names = tuple(entry(name).name for name in mechanisms)
    return Wish(whole(k, "k"), positive(epsilon, "epsilon"), probability(delta, "delta"), bound, k_bar, names)


def plan_shape(
    shape: Shape,
    wish: Wish,
    *,
    users: int,
    entropy: Entropy,
    public_items: bool = False,
    trials: int = TRIALS,
    watch: Watch = lambda done, of: None,
) -> Plan:
    """A plan for data of a public shape. With `public_items` the list of all items is public, counts apart."""
    counts = kept(shape.counts(), users=users, contribution=wish.contribution)
    histogram = ranked(counts, max(wish.k_bars))
    domain = multiplicities(counts) if public_items else None
    return plan_histogram(histogram, wish, users=users, entropy=entropy, domain=domain, trials=trials, watch=watch)


def plan_histogram(
    histogram: Histogram,
    wish: Wish,
    *,
    entropy: Entropy,
    users: int | None = None,
    domain: Histogram | None = None,
    trials: int = TRIALS,
    watch: Watch = lambda done, of: None,
) -> Plan:
    """A plan for a public histogram: never call it with private data, because a plan shows what it was made from."""
    rows, skipped = forecast(histogram, wish, entropy=entropy, domain=domain, trials=trials, watch=watch)
    auto = automatic(wish.k, wish.contribution, books=False, known_domain=domain is not None)
    return Plan(wish, rows, skipped, auto.name, _notes(wish.delta, users))


def _notes(delta: Fraction, users: int | None) -> tuple[str, ...]:
    if users is None or delta * users < 1:
        return ()
    limit = decimal_text(Fraction(1, 10 ** math.ceil(math.log10(10 * users))))
    return (f"delta is not small against one in {users:,} users: choose {limit} or less.",)
