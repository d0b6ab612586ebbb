"""Many questions at once, and what they cost together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeAlias

from crestline.choose import AUTO, Chosen, choose
from crestline.errors import CrestlineError, ParameterError
from crestline.ledger.budget import Budget
from crestline.parameters import Exact, exact, positive, probability
from crestline.price.price import Charge, Payers, Price, price, question_share, sum_of

PayersOf: TypeAlias = Callable[[str | None], Payers]  # the accounts that pay for an analyst, the data set's first

ARGUMENTS = frozenset(
    {
        *("source", "table", "user", "item", "where", "k", "k_bar", "epsilon", "delta", "mechanism", "contribution"),
        *("counts", "score", "clip", "domain", "version", "analyst"),
    }
)


@dataclass(frozen=True)
class Asked:
    """One question of a batch: the arguments of `top` that decide its price, and all arguments as they were given."""

    k: int
    epsilon: Fraction | None = None
    delta: Fraction | None = None
    mechanism: str = AUTO
    k_bar: int | None = None
    contribution: int | None = None
    counts: bool = False
    public_domain: bool = False
    scored: bool = False
    analyst: str | None = None
    given: Mapping[str, Any] = field(default_factory=dict, compare=False, hash=False)


@dataclass(frozen=True)
class Line:
    """A question of a batch with its price."""

    asked: Asked
    price: Price


@dataclass(frozen=True)
class Batch:
    """The prices of many questions, as the books stand. `item_epsilon` is set where it was fitted."""

    lines: tuple[Line, ...]
    item_epsilon: Fraction | None = None

    @property
    def charges(self) -> tuple[Charge, ...]:
        """What every account pays for all of them together."""
        return self._first(len(self.lines))

    @property
    def fits(self) -> bool:
        """Whether all of them can be asked, whatever they return."""
        return self.sure == len(self.lines)

    @property
    def sure(self) -> int:
        """How many can be asked, in this order, whatever they return."""
        count = 0
        while count < len(self.lines) and all(charge.fits for charge in self._first(count + 1)):
            count += 1
        return count

    def _first(self, count: int) -> tuple[Charge, ...]:
        return sum_of(charge for line in self.lines[:count] for charge in line.price.charges)


def batch(questions: Sequence[Asked], payers_of: PayersOf) -> Batch:
    """The price of every question. One that comes twice is paid twice: the data may change in between."""
    return Batch(tuple(_line(number, asked, payers_of) for number, asked in enumerate(questions, start=1)))


def chosen_for(asked: Asked, budget: Budget) -> Chosen:
    """The mechanism that would answer, chosen exactly as `top` chooses."""
    epsilon, delta = question_share(budget, asked.epsilon, asked.delta)
    total = exact(epsilon, "epsilon"), exact(delta, "delta")
    return _chosen(replace(asked, epsilon=total[0], delta=total[1], analyst=None, given={}))


def asked_from(given: Mapping[str, Any]) -> Asked:
    """A question from the arguments of `top`, checked; what is empty counts as not given."""
    found = {name: value for name, value in given.items() if value is not None and value != ""}
    unknown = sorted(found.keys() - ARGUMENTS)
    if unknown:
        raise ParameterError(f"{', '.join(unknown)}: no such argument of top; known: {', '.join(sorted(ARGUMENTS))}")
    if "k" not in found:
        raise ParameterError("every question needs k, the number of items wanted")
    if not isinstance(found.get("mechanism", AUTO), str):
        raise ParameterError("in a file of questions a mechanism is given by its name")
    return Asked(
        k=_number(found["k"], "k"),
        epsilon=_read(found, "epsilon", positive),
        delta=_read(found, "delta", probability),
        mechanism=found.get("mechanism", AUTO),
        k_bar=_read(found, "k_bar", _number),
        contribution=_read(found, "contribution", _number),
        counts=bool(_read(found, "counts", _truth)),
        public_domain="domain" in found,
        scored="score" in found,
        analyst=found.get("analyst"),
        given=found,
    )


def _line(number: int, asked: Asked, payers_of: PayersOf) -> Line:
    payers = payers_of(asked.analyst)
    try:
        return Line(asked, price(chosen_for(asked, payers[0][1].budget), payers))
    except CrestlineError as error:
        error.args = (f"question {number}: {error}", *error.args[1:])
        raise


@lru_cache(maxsize=4096)
def _chosen(asked: Asked) -> Chosen:
    """`choose`, remembered: batches repeat themselves, and mechanisms are values."""
    return choose(
        asked.mechanism,
        k=asked.k,
        k_bar=asked.k_bar,
        epsilon=asked.epsilon,
        delta=asked.delta,
        contribution=asked.contribution,
        counts=asked.counts,
        books=True,
        known_domain=asked.public_domain,
        scored=asked.scored,
    )


def _truth(value: Any, name: str) -> bool:
    """True or false, also where a file holds it as text."""
    known = {True: True, False: False, "true": True, "false": False, "yes": True, "no": False, "1": True, "0": False}
    found = known.get(value.lower() if isinstance(value, str) else value)
    if found is None:
        raise ParameterError(f"{name} must be true or false, not {value!r}")
    return found


def _read(found: Mapping[str, Any], name: str, read: Callable[[Any, str], Any]) -> Any:
    return read(found[name], name) if name in found else None


def _number(value: Exact, name: str) -> int:
    """A whole number, also where a file holds it as text."""
    number = exact(value, name)
    if number.denominator != 1 or number < 1:
        raise ParameterError(f"{name} must be a whole number of at least 1, not {value!r}")
    return int(number)
